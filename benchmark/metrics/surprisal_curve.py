"""The surprisals of one response set under one language model, and the curve of their means over positions.

Bits are −log2 of a probability; a rate is bits over the UTF-8 bytes of the response. Positions k count from 1; a_k is
the surprise of the response at position k given the k − 1 before it, averaged over orders.

Empty responses. A response without bytes has no rate, and its 0 bits are uninformative. It is left out of all averages,
both of bits and of rates; its bits are never read, but it keeps its position in the orders. (The published code counts
it as a rate of 0 in one place, which raises C and lowers a_n, and skips it in another.) So every metric is `Unscorable`
if all responses are empty, and every curve also if fewer than two are not, or if all orders have an empty one at the
same position.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmark.metrics.metric import Unscorable

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
_ROUNDING = 1e-3  # a model's float32 sums can leave a certain text slightly below 0 bits


@dataclass(frozen=True, slots=True, eq=False)
class Surprisals:
    """The surprisals of one set of n responses, read in several orders.

    Raises:
        Unscorable: There is no response, or bits are not finite or below 0, which means that the model failed.
        ValueError: Shapes or types do not match, there is no order, an order is not a permutation, or a byte count is
            negative.
    """

    # float64 [orders, n]; bits of the response at position k of each order, given the prompt and the responses before
    # it.
    bits: Floats
    orders: Integers  # integers [orders, n]; index of the response, 0 … n − 1, at position k. An order may repeat.
    unconditional: Floats  # float64 [n]; bits of each response alone, given the prompt
    byte_counts: Integers  # integers [n]; UTF-8 bytes of each response

    def __post_init__(self) -> None:
        self._check_shapes()
        for name, values in (("conditional", self.bits), ("unconditional", self.unconditional)):
            if not np.isfinite(values).all():
                raise Unscorable(f"{name} bits that are not finite")
            if (values < -_ROUNDING).any():
                raise Unscorable(f"{name} bits below 0")
        if (self.byte_counts < 0).any():
            raise ValueError("byte counts below 0")
        if (np.sort(self.orders, axis=1) != np.arange(len(self.byte_counts))).any():
            raise ValueError("each order must name every response once")

    @property
    def rates(self) -> Floats:
        """The bits/byte of the response at each position of each order, [orders, n]; 0 for an empty one."""
        return self.bits / np.maximum(self.byte_counts, 1)[self.orders]

    def _check_shapes(self) -> None:
        # Half precision would round a response's bits by up to an eighth of a bit.
        for name, kind in (
            ("bits", np.float64),
            ("unconditional", np.float64),
            ("orders", np.integer),
            ("byte_counts", np.integer),
        ):
            if not np.issubdtype(getattr(self, name).dtype, kind):
                raise ValueError(f"{name} must be {kind.__name__}, not {getattr(self, name).dtype}")
        n = self.byte_counts.size
        shapes = self.bits.shape, self.orders.shape, self.unconditional.shape, self.byte_counts.shape
        if self.orders.ndim != 2 or shapes != ((len(self.orders), n), (len(self.orders), n), (n,), (n,)):
            raise ValueError(f"bits, orders, unconditional and byte_counts do not fit together: {shapes}")
        if n == 0:
            raise Unscorable("no response")
        if len(self.orders) == 0:
            raise ValueError("no order")


def curve_bits(s: Surprisals) -> Floats:
    """Compute the a_k curve, [n], bits: the mean over orders of the bits at position k. Eq. 3 and section A.3."""
    return _by_position(s, s.bits)


def curve_rate(s: Surprisals) -> Floats:
    """Compute the a_k curve, [n], bits/byte: the mean over orders of bits / bytes at position k. Eq. 6 and 11.

    It is a mean of ratios, as in the paper's numbers: each response counts equally, however long it is.
    """
    return _by_position(s, s.rates)


def tail(curve: Floats) -> Floats:
    """Return the second half of a curve, positions n // 2 + 1 … n.

    If the orders are not balanced, one position depends on few responses; several positions reduce the noise.

    >>> tail(np.array([9.0, 5, 4, 3, 2]))
    array([4., 3., 2.])
    """
    return curve[len(curve) // 2 :]


def _by_position(s: Surprisals, values: Floats) -> Floats:
    """Compute the mean over orders at each position, without empty responses."""
    texts = np.count_nonzero(s.byte_counts)
    if texts < 2:
        raise Unscorable("fewer than two responses" if texts else "no text")
    text = (s.byte_counts > 0)[s.orders]
    if not text.any(axis=0).all():
        raise Unscorable("a position where every order has an empty response")
    return np.asarray(np.mean(values, axis=0, where=text))


def unconditional_rates(s: Surprisals) -> Floats:
    """Return the bits/byte of each response alone, without empty ones."""
    text = s.byte_counts > 0
    if not text.any():
        raise Unscorable("no text")
    return s.unconditional[text] / s.byte_counts[text]


def unconditional_bits(s: Surprisals) -> float:
    """Return the mean bits of a response alone, without empty ones."""
    return float(np.mean(s.unconditional[s.byte_counts > 0]))
