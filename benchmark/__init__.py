"""Score the data: metrics as pure functions, the models they need, and the scorer that brings them together.

In: a checked submission and its suite. Out: a result folder, `result.json + per_prompt.parquet`.
"""

from typing import Any

__all__ = ["METRICS", "score_set"]


def __getattr__(name: str) -> Any:
    """The public names, imported when first asked for, so that importing the package costs nothing."""
    if name == "METRICS":
        from benchmark.metrics import METRICS

        return METRICS
    if name == "score_set":
        from benchmark.scoring.inputs import score_set

        return score_set
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
