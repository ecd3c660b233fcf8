"""Turns boards and studies into the tables and texts of the pages, for the application and the static export."""
