"""In comes a store of votes, out go a report of their results and a dataset of the votes."""
