"""The matrix of surprise reductions between response sets (arXiv:2606.01811, section B.4)."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmark.metrics.metric import Unscorable

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class CrossMode:
    """Surprise reductions between m sets, in bits, and their summary."""

    reduction: Floats  # [m, m]; M_ij, by how many bits a text of set i costs less after a text of set j
    diagonal: float  # mean M_ii
    off_diagonal: float  # mean M_ij, i ≠ j
    share_positive: float  # share of M_ij > 0, i ≠ j
    asymmetry: float  # mean |M_ij − M_ji|, i ≠ j


def cross_mode(alone: Floats, given: Floats) -> CrossMode:
    """Compute the matrix M_ij = alone_i − given_ij of surprise reductions, and its summary. Section B.4.

    Args:
        alone: [m]; mean bits of the texts of set i.
        given: [m, m]; mean bits of the same texts after a text of set j; on the diagonal, after another text of the
            set, because a repeat would otherwise be measured. Empty texts must be left out of both.

    Raises:
        Unscorable: Fewer than two sets.
        ValueError: The shapes do not match, or a number is not finite.
    """
    m = len(alone)
    if alone.shape != (m,) or given.shape != (m, m):
        raise ValueError(f"alone and given do not fit together: {alone.shape}, {given.shape}")
    if m < 2:
        raise Unscorable("fewer than two sets")
    reduction = alone[:, None] - given
    if not np.isfinite(reduction).all():
        raise ValueError("bits that are not finite")
    off = ~np.eye(m, dtype=bool)
    asymmetry = np.abs(reduction - reduction.T)[off]
    means = (np.trace(reduction) / m, reduction[off].mean(), (reduction[off] > 0).mean(), asymmetry.mean())
    return CrossMode(reduction, *map(float, means))
