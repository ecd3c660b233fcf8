"""What response sets tell of each other: the matrix of surprise reductions (arXiv:2606.01811, section B.4)."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmark.metrics.metric import Unscorable

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class CrossMode:
    """What sets tell of each other, in bits but for the share.

    Attributes:
        reduction: [m, m]; M_ij, the bits that a text of set i costs less after one of set j.
        diagonal: Mean M_ii.
        off_diagonal: Mean M_ij, i ≠ j.
        share_positive: Share of M_ij > 0, i ≠ j.
        asymmetry: Mean |M_ij − M_ji|, i ≠ j.
    """

    reduction: Floats
    diagonal: float
    off_diagonal: float
    share_positive: float
    asymmetry: float


def cross_mode(alone: Floats, given: Floats) -> CrossMode:
    """The matrix M_ij = alone_i − given_ij of surprise reductions, and its summary. Section B.4.

    Args:
        alone: [m]; mean bits of texts of set i.
        given: [m, m]; mean bits of the same texts after a text of set j; on the diagonal another one of the set, or a
            repeat is measured. Empty texts belong in neither.

    Raises:
        Unscorable: Fewer than two sets.
        ValueError: Shapes that do not fit, or numbers that are not finite.
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
