"""Shards and a Ray cluster come in; the shards' tables come out, with the bytes that one process would have made.

Each actor loads the models of a profile once, on one GPU (or several, or one core), and scores one shard at a time. The
process that started them reads submissions, hands out shards and alone writes files.
Shards of a lost actor are retried.
"""
