"""Boards and studies in; tables and texts of the pages out, shared by the application and the static export."""
