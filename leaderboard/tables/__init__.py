"""What the pages show, as tables: pure functions that the application, the static export and the API share."""
