"""Models: texts in; log-probabilities, embeddings, scores of pairs, rewards and tokens out; the names of options.

Imports nothing heavy, because command-line options use it.
"""

from typing import Literal

Dtype = Literal["float32", "bfloat16", "float16"]
Attention = Literal["sdpa", "eager"]
OuterSpace = Literal["stripped", "kept"]
Format = Literal["instruct", "completion"]
Boundaries = Literal["exact", "paper"]
OrderKind = Literal["balanced", "uniform", "exact", "endpoint"]
Algorithm = Literal["greedy", "components", "complete", "average"]
EQUIVALENCE_NAMES = (
    "rouge-1, embedding, learned, deberta=MODEL, deberta-full=MODEL, nli=MODEL, nli-lax=MODEL, judge=NAME@URL (MODEL: "
    "ORG/NAME@COMMIT or a folder; URL: of a server that speaks OpenAI's chat completions)"
)
