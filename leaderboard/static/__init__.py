"""Plain HTML pages, which the application serves and `board export --html` writes, and the folder of a Space."""
