"""The tools of all other packages: errors, files, tables, random streams, the console; it imports none of them."""
