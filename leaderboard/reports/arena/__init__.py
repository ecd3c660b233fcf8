"""A store of votes in; what they say, and a dataset of them, out."""
