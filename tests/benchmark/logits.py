"""The scores of a response by their definition, from its logits: what models' own sums are tested against."""

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import entr, logsumexp

from benchmark.metrics.internals import ResponseScores

Integers = NDArray[np.int64]
Logits = NDArray[np.floating]


def read_logits(logits: Logits, tokens: Integers | None = None, warped: Logits | None = None) -> ResponseScores:
    """The scores of one response from its logits, in float64, one step at a time.

    Args:
        logits: [T, V]; raw, before temperature and cut-offs, which would change their logsumexp.
        tokens: [T]; the response's. None for a greedy response, whose tokens have the largest logits.
        warped: [T, V]; what the tokens were drawn from, −inf for what was cut off. None where that is `logits`.

    Raises:
        Unscorable: As `ResponseScores`.
        ValueError: Shapes that do not fit.
    """
    drawn_from = logits if warped is None else warped
    if (
        logits.ndim != 2
        or drawn_from.shape != logits.shape
        or (tokens is not None and tokens.shape != logits.shape[:1])
    ):
        raise ValueError(f"logits, tokens and warped do not fit together: {logits.shape}")
    picked = np.argmax(logits, axis=1) if len(logits) and tokens is None else tokens
    made: list[tuple[float, float, float, float]] = []
    for step in range(len(logits)):
        # Only one step is widened: 256 steps of 152 thousand logits would be 300 MB more.
        raw, warm = logits[step].astype(np.float64), drawn_from[step].astype(np.float64)
        normaliser = float(logsumexp(raw))
        chosen = float(raw[0 if picked is None else picked[step]]) - normaliser
        entropy = float(np.sum(entr(np.exp(raw - normaliser))))
        made.append((chosen, float(warm.max() - logsumexp(warm)), normaliser, entropy))
    sums = [math.fsum(column) for column in zip(*made, strict=True)] or [0.0] * 4
    return ResponseScores(len(logits), *sums)
