"""What can be chosen of models and of how they read, as names. Imports nothing heavy: command-line options read it."""

from typing import Literal

Dtype = Literal["float32", "bfloat16", "float16"]
Attention = Literal["sdpa", "eager"]
Format = Literal["instruct", "completion"]
Boundaries = Literal["exact", "paper"]
OrderKind = Literal["balanced", "uniform", "exact", "endpoint"]
Algorithm = Literal["greedy", "components", "complete", "average"]
