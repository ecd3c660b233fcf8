"""Scores shards on a Ray cluster, with the same bytes as in one process."""
