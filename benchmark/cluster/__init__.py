"""The scorer on many GPUs and machines: the same shards, scored by actors of Ray, and the same bytes of a result.

Each actor holds the models of a profile, one replica on a GPU (or several, or a core), and scores one shard at a time.
The process that was started reads submissions, hands shards out, the largest at hand first, and alone writes files; so
no other machine needs more than the package and the models. What an actor was doing when it was lost is done again.
"""
