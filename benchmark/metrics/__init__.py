"""All metrics: functions from the texts of one response set, or the outputs of models for them, to a number.

Each is a pure function with its `Metric` line and card, in the file of its family. Parameters are bound in that line,
so `METRICS` shows every variant that is scored. A changed definition is a new version.
"""

from benchmark.metrics import (
    distances,
    embedding,
    internals,
    learned_diversity,
    lexical,
    partition,
    similarities,
    surprisal,
    syntax,
    text_overlap,
)
from benchmark.metrics.metric import FAMILIES, Family, Metric, Reads, Unscorable, Version

METRICS: tuple[Metric, ...] = (
    *partition.METRICS,
    *learned_diversity.METRICS,
    *embedding.METRICS,
    *distances.METRICS,
    *similarities.METRICS,
    *surprisal.METRICS,
    *internals.METRICS,
    *lexical.METRICS,
    *text_overlap.METRICS,
    *syntax.METRICS,
)

__all__ = ["FAMILIES", "METRICS", "Family", "Metric", "Reads", "Unscorable", "Version"]
