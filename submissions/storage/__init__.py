"""Write submission folders, and make atomic commits to a store (a folder or a Hub repository)."""
