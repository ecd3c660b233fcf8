"""A board in; the same pages as files that open without a server, or a Space for the Hub, out."""
