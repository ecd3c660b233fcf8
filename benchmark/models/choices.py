"""Names of the options of models and of how they read. Imports nothing heavy, because command-line options use it."""

from typing import Literal

Dtype = Literal["float32", "bfloat16", "float16"]
Attention = Literal["sdpa", "eager"]
Format = Literal["instruct", "completion"]
Boundaries = Literal["exact", "paper"]
OrderKind = Literal["balanced", "uniform", "exact", "endpoint"]
Algorithm = Literal["greedy", "components", "complete", "average"]
