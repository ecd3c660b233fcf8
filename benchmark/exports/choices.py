"""Names of the choices in export commands. Imports nothing heavy, because command-line options read it."""

from typing import Literal

DiversityName = Literal["looe", "nll", "embedding"]
PoolUnit = Literal["range", "percentile"]
Relationship = Literal["first_party", "third_party", "collaborative", "other"]
