"""What can be chosen of exports, as names. Imports nothing heavy: command-line options read it."""

from typing import Literal

DiversityName = Literal["looe", "nll", "embedding"]
PoolUnit = Literal["range", "percentile"]
Relationship = Literal["first_party", "third_party", "collaborative", "other"]
