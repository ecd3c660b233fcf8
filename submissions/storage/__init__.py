"""Files in; files out: a folder or a repository on the Hub that changes by whole commits."""
