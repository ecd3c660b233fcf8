"""All metrics: functions from the texts of one response set, or the outputs of models for them, to a number.

Each is a pure function with its `Metric` line and card, in the file of its family. Parameters are bound in that line,
so `METRICS` shows every variant that is scored. A changed definition is a new version.
"""

from benchmark.metrics import (
    distance_graphs,
    distances,
    embedding,
    internals,
    kernels,
    learned_diversity,
    lexical,
    pairwise,
    partition,
    reported,
    surprisal,
    syntax,
    text_overlap,
    valid,
)
from benchmark.metrics.metric import FAMILIES, Family, Metric, Reads, Unscorable, Version

METRICS: tuple[Metric, ...] = (
    *valid.METRICS,
    *partition.METRICS,
    *reported.METRICS,
    *learned_diversity.METRICS,
    *embedding.METRICS,
    *distances.METRICS,
    *distance_graphs.METRICS,
    *kernels.METRICS,
    *pairwise.METRICS,
    *surprisal.METRICS,
    *internals.METRICS,
    *lexical.METRICS,
    *text_overlap.METRICS,
    *syntax.METRICS,
)

__all__ = ["FAMILIES", "METRICS", "Family", "Metric", "Reads", "Unscorable", "Version"]
