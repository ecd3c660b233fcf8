"""Metrics of surprisals: D_Can and its family (arXiv:2606.01811), and what else the same numbers say.

Input: the `Surprisals` of one response set, under one language model. Bits are −log2 of a probability; a rate is bits
over the UTF-8 bytes of the response. A place k counts from 1; a_k is the surprise of the response that stands there,
given the k − 1 before it, averaged over orders.

Empty responses. A response of no bytes has no rate, and its 0 bits say nothing of the others. It is left out of every
average here, of bits and of rates, of curves, C and sigma alike; its bits are never read, but it keeps its place in the
orders. (The published code counts it as a rate of 0 in one place, which raises C and lowers a_n, and skips it in
another.) So every metric is `Unscorable` where all responses are empty, and every metric of a curve also where fewer
than two are not, or where all orders have an empty one in the same place; what a function raises besides, it says.

These numbers are the model's: compare them under one model, layout and boundary rule only. Equations, sections and
tables are those of arXiv:2606.01811 where no other source is named.
"""

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from benchmark.metrics.metric import Unscorable

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
_Ends = tuple[float, ...]
_ROUNDING = 1e-3  # a model's float32 sums can leave a certain text slightly below 0 bits


@dataclass(frozen=True, slots=True, eq=False)
class Surprisals:
    """What a language model found of one set of n responses, read in several orders.

    Attributes:
        bits: float64 [orders, n]; of the response in place k of each order, given the prompt and those before it.
        orders: Integers [orders, n]; which response, 0 … n − 1, stands in place k. An order may repeat.
        unconditional: float64 [n]; bits of each response alone, given the prompt.
        byte_counts: Integers [n]; UTF-8 bytes of each response.

    Raises:
        Unscorable: No response, or bits that are not finite or below 0: the model failed on this set.
        ValueError: Shapes or types that do not fit, no order, an order that is no permutation, a negative byte count.
    """

    bits: Floats
    orders: Integers
    unconditional: Floats
    byte_counts: Integers

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

    def _check_shapes(self) -> None:
        # Half precision rounds a response's bits by up to an eighth of a bit: not the way into an average.
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
            raise Unscorable("no answer")
        if len(self.orders) == 0:
            raise ValueError("no order")


def curve_bits(s: Surprisals) -> Floats:
    """The a_k curve, [n], bits: the mean over orders of the bits in place k. Eq. 3, averaged as in section A.3."""
    return _by_place(s, s.bits)


def curve_rate(s: Surprisals) -> Floats:
    """The a_k curve, [n], bits/byte: the mean over orders of bits / bytes in place k, a mean of ratios. Eq. 6 and 11.

    This is the form of the paper's numbers: each response counts alike, however long.
    """
    return _by_place(s, s.bits / np.maximum(s.byte_counts, 1)[s.orders])


def curve_rate_of_means(s: Surprisals) -> Floats:
    """The a_k curve as a ratio of means, [n], bits/byte: mean bits over mean bytes in place k.

    Long responses weigh more. Not the paper's form: its footnote 7 names it as that of earlier code, and some released
    files still hold it.
    """
    return curve_bits(s) / _by_place(s, s.byte_counts[s.orders].astype(np.float64))


def a_1(s: Surprisals) -> float:
    """The first place of `curve_rate`, bits/byte: a response with only the prompt before it. Table 5."""
    return float(curve_rate(s)[0])


def a_n(s: Surprisals) -> float:
    """The last place of `curve_rate`, bits/byte: a response with all others before it. Section 3.1, eq. 6 at k = n."""
    return float(curve_rate(s)[-1])


def tail(curve: Floats, first: int | None = None, last: int | None = None) -> float:
    """The mean of a curve over places first … last, in the curve's unit; by default n // 2 + 1 … n, its second half.

    One place of a curve rests on few responses where the orders are not balanced; several steady it.

    Raises:
        Unscorable: The curve ends before `first` or `last`.
        ValueError: `first` below 1 or past `last`.

    >>> tail(np.array([9.0, 5, 4, 3, 2])), tail(np.array([9.0, 5, 4, 3, 2]), first=2, last=3)
    (3.0, 4.5)
    """
    n = len(curve)
    first = n // 2 + 1 if first is None else first
    last = max(n, first) if last is None else last
    if not 1 <= first <= last:
        raise ValueError(f"no tail from place {first} to {last}")
    if last > n:
        raise Unscorable("fewer answers than the tail's places")
    return float(np.mean(curve[first - 1 : last]))


def coherence(s: Surprisals) -> float:
    """C = 2^(−mean of h), in (0, 1], h the unconditional bits/byte of each response. Section 3.2, eq. 4.

    The geometric mean of the probability of a byte; orders play no part, and one response is enough.
    """
    return min(math.exp2(-float(np.mean(_unconditional_rates(s)))), 1.0)


def coherence_spread(s: Surprisals) -> float:
    """Coherence spread sigma_l, the standard deviation (over n, not n − 1) of h, bits/byte. Section B.2, Table 5.

    A diagnostic: it is large where coherent and incoherent responses are mixed, and no measure of diversity (B.6).
    """
    return float(np.std(_unconditional_rates(s)))


def d_can(s: Surprisals) -> float:
    """D_Ca_n = C · a_n, bits/byte; more is more diverse. Section 3.3, eq. 5, the paper's score."""
    return coherence(s) * a_n(s)


def d_can_bits(s: Surprisals) -> float:
    """C · a_n with a_n in bits of the whole response; a hybrid of the authors' code that grows with length."""
    return coherence(s) * float(curve_bits(s)[-1])


def tail_d_can(s: Surprisals, first: int | None = None, last: int | None = None) -> float:
    """C · `tail` of `curve_rate`, bits/byte: D_Ca_n with less noise. Not in the paper."""
    return coherence(s) * tail(curve_rate(s), first, last)


def excess_entropy(s: Surprisals) -> float:
    """E = Σ_k (a_k − a_n), bits. Section D.1, eq. 8. Below 0 where the last place is among the most surprising."""
    curve = curve_bits(s)
    return float(np.sum(curve - curve[-1]))


def excess_entropy_rate(s: Surprisals) -> float:
    """E_rate: E on `curve_rate`, bits/byte. Section D.2, eq. 12. Not E over the mean length."""
    curve = curve_rate(s)
    return float(np.sum(curve - curve[-1]))


def coherent_excess(s: Surprisals) -> float:
    """C · E, bits. Section D.3, eq. 13. (The authors' files call it D; it is not D_Ca_n.)"""
    return coherence(s) * excess_entropy(s)


def coherent_excess_rate(s: Surprisals) -> float:
    """C · E_rate, bits/byte. Section D.3, eq. 13; the C × E column of Table 5."""
    return coherence(s) * excess_entropy_rate(s)


def total_correlation(s: Surprisals) -> float:
    """TC_n = Σ_k (ā_1 − a_k) = n (ā_1 − a_n) − E, bits, ā_1 the mean unconditional bits. Section D.1, eq. 10."""
    return -float(np.sum(curve_bits(s) - _unconditional_bits(s)))


@dataclass(frozen=True, slots=True)
class Bands:
    """C (without unit), C · a_n and C · E_rate (bits/byte), each at C · 2^(−sigma_l) and at C · 2^(+sigma_l)."""

    coherence: tuple[float, float]
    d_can: tuple[float, float]
    coherent_excess_rate: tuple[float, float]


def bands(s: Surprisals) -> Bands:
    """C± = C · 2^(±sigma_l), and C± · a_n and C± · E_rate (`D_minus`, `D_plus` of the authors' files).

    How uneven the responses' coherence is, not a confidence interval; C+ may pass 1, and with E_rate below 0 the second
    number is the lower. From the authors' code: the paper defines sigma_l only (section B.2).
    """
    c, factor = coherence(s), math.exp2(coherence_spread(s))
    return Bands(*((c / factor * x, c * factor * x) for x in (1.0, a_n(s), excess_entropy_rate(s))))


def retained_surprise(s: Surprisals) -> float:
    """R = mean(a_2 … a_n) / mean(unconditional bits), without unit: the share that stays once others were read.

    Not in the paper. About 1 where the others tell nothing (noise too: hence C · R), near 0 for repeats. Also
    `Unscorable` where no response is any surprise on its own.
    """
    rest = float(np.mean(curve_bits(s)[1:]))
    alone = _unconditional_bits(s)
    if alone <= 0:
        raise Unscorable("answers without surprise on their own")
    return rest / alone


def coherent_retained(s: Surprisals) -> float:
    """C · R, without unit; R as `retained_surprise`, C as `coherence`: what noise keeps counts little."""
    return coherence(s) * retained_surprise(s)


def retained_curve(s: Surprisals) -> Floats:
    """For each place the mean over orders of bits / unconditional bits of the same response, [n], without unit.

    Not in the paper. Every response is held against itself, so which ones the orders put in a place matters less than
    in R. Also `Unscorable` where a response is no surprise on its own.
    """
    text = s.byte_counts > 0
    if (s.unconditional[text] <= 0).any():
        raise Unscorable("answers without surprise on their own")
    return _by_place(s, s.bits / np.where(text, s.unconditional, 1.0)[s.orders])


def coherent_tail_retained(s: Surprisals, first: int | None = None, last: int | None = None) -> float:
    """C · `tail` of `retained_curve`, without unit. Not in the paper."""
    return coherence(s) * tail(retained_curve(s), first, last)


def _by_place(s: Surprisals, values: Floats) -> Floats:
    """The mean over orders in each place, without empty responses."""
    texts = np.count_nonzero(s.byte_counts)
    if texts < 2:
        raise Unscorable("fewer than two answers" if texts else "no text")
    text = (s.byte_counts > 0)[s.orders]
    if not text.any(axis=0).all():
        raise Unscorable("a place where every order has an empty answer")
    return np.asarray(np.mean(values, axis=0, where=text))


def _unconditional_rates(s: Surprisals) -> Floats:
    text = s.byte_counts > 0
    if not text.any():
        raise Unscorable("no text")
    return s.unconditional[text] / s.byte_counts[text]


def _unconditional_bits(s: Surprisals) -> float:
    return float(np.mean(s.unconditional[s.byte_counts > 0]))


@dataclass(frozen=True, slots=True)
class Fit:
    """A falling shape through a curve; all numbers are NaN where the solver did not converge.

    Attributes:
        floor: a_inf, in the curve's unit, as are `drop` (alpha) and `excess`.
        drop: alpha.
        steepness: beta.
        midpoint: k_0; 1 for the exponential.
        excess: E_fit, the integral of the shape over the floor from 1 to infinity. Not to be trusted at a bound.
        at_bounds: Parameters at an end of their range: it, not the curve, set them.
        failure: Why the solver did not converge; None where it did.
    """

    floor: float
    drop: float
    steepness: float
    midpoint: float
    excess: float
    at_bounds: tuple[str, ...] = ()
    failure: str | None = None

    @property
    def converged(self) -> bool:
        """Whether the numbers are the solver's."""
        return self.failure is None


def fit_sigmoid(curve: Floats) -> Fit:
    """Least squares a_inf + alpha / (1 + e^(beta (k − k_0))), eq. 9; E_fit = alpha / beta · ln(1 + e^(beta (k_0 − 1))).

    Start and ranges are the authors' code's: a_inf, alpha ≥ 0, beta in [0.01, 50], k_0 in [−10, 3 n]. On a curve that
    falls from the start k_0 runs to −10 and the shape is an exponential (Figure 14). A curve may be a mean over sets.
    """
    high = (np.inf, np.inf, 50.0, 3.0 * len(curve))
    return _fit(_sigmoid, curve, (1.0, len(curve) / 2), (0.0, 0.0, 0.01, -10.0), high)


def fit_exponential(curve: Floats) -> Fit:
    """Least squares a_inf + alpha e^(−beta (k − 1)), beta in [0.001, 50]; E_fit = alpha / beta. The authors' code."""
    return _fit(_exponential, curve, (0.5,), (0.0, 0.0, 0.001), (np.inf, np.inf, 50.0))


def fitted_excess(s: Surprisals, fit: Callable[[Floats], Fit] = fit_sigmoid) -> float:
    """E_fit of `curve_bits`, bits. Section D.6. Also `Unscorable` where the fit does not converge."""
    found = fit(curve_bits(s))
    if found.failure is not None:
        raise Unscorable(f"no fit: {found.failure}")
    return found.excess


def _sigmoid(k: Floats, floor: float, drop: float, steepness: float, midpoint: float) -> Floats:
    return np.asarray(floor + drop * np.exp(-np.logaddexp(0.0, steepness * (k - midpoint))))  # cannot overflow


def _exponential(k: Floats, floor: float, drop: float, steepness: float) -> Floats:
    return np.asarray(floor + drop * np.exp(-steepness * (k - 1)))


def _fit(shape: Callable[..., Floats], curve: Floats, start: _Ends, low: _Ends, high: _Ends) -> Fit:
    from scipy.optimize import OptimizeWarning, curve_fit

    none = Fit(math.nan, math.nan, math.nan, math.nan, math.nan)
    if len(curve) < len(low):
        return replace(none, failure=f"{len(curve)} places for {len(low)} parameters")
    if not np.isfinite(curve).all():
        return replace(none, failure="the curve is not finite")
    first = (max(float(curve[-1]), 0.0), max(float(curve[0] - curve[-1]), 0.01), *start)
    places = np.arange(1.0, len(curve) + 1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OptimizeWarning)  # about the covariance, which is not used
        try:
            found = curve_fit(shape, places, curve, p0=first, bounds=(low, high), maxfev=10_000)[0].tolist()
        except RuntimeError:
            return replace(none, failure="the solver did not converge")
    ranges = zip(("floor", "drop", "steepness", "midpoint"), found, low, high, strict=False)
    at = tuple(name for name, x, *ends in ranges if np.isclose(x, ends, rtol=1e-3, atol=1e-6).any())
    floor, drop, steepness, midpoint = (*found, 1.0)[:4]
    area = float(np.logaddexp(0.0, steepness * (midpoint - 1))) if len(found) == 4 else 1.0
    return Fit(floor, drop, steepness, midpoint, drop / steepness * area, at)


@dataclass(frozen=True, slots=True, eq=False)
class CrossMode:
    """What sets tell of each other, in bits but for the share.

    Attributes:
        reduction: [m, m]; M_ij, the bits that a text of set i costs less after one of set j.
        diagonal: Mean M_ii.
        off_diagonal: Mean M_ij, i ≠ j.
        share_positive: Of M_ij > 0, i ≠ j.
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
