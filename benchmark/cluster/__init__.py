"""Scores shards on a Ray cluster, with the same bytes as in one process.

Each actor loads the models of a profile once, on one GPU or one core, and scores one shard at a time. Only the process
that started the actors reads submissions, distributes shards and writes files. If an actor is lost, its shard is
scored again.
"""
