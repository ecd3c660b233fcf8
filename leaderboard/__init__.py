"""Show results: as tables, in a web application, in the terminal, and as exported files."""
