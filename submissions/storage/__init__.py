"""Files in; submission folders, and whole commits of a store (a folder or a Hub repository), out."""
