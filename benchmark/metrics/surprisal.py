"""Metrics of surprisals: D_Can and related metrics. Equations, sections and tables are those of arXiv:2606.01811.

Input: the `Surprisals` of one response set under one language model. Bits are −log2 of a probability; a rate is bits
over the UTF-8 bytes of the response. Positions k count from 1; a_k is the surprise of the response at position k given
the k − 1 before it, averaged over orders. Compare numbers only under the same model, layout and boundary rule.

A response without bytes has no rate, and its 0 bits are uninformative: it is left out of all averages, but keeps its
position in the orders. (The published code counts it as a rate of 0 in one place, which raises C and lowers a_n, and
skips it in another.) Every metric is `Unscorable` if all responses are empty, and every curve also if fewer than two
are not, or if all orders have an empty one at the same position.
"""

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from benchmark.metrics.metric import Metric, Unscorable, Version

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
_ROUNDING = 1e-3  # a model's float32 sums can leave a certain text slightly below 0 bits


@dataclass(frozen=True, slots=True, eq=False)
class Surprisals:
    """The surprisals of one set of n responses, read in several orders."""

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


def coherence(s: Surprisals) -> float:
    """Compute C = 2^(−mean of h), in (0, 1], h the unconditional bits/byte of each response. Section 3.2, eq. 4."""
    return min(math.exp2(-float(np.mean(unconditional_rates(s)))), 1.0)


def coherence_spread(s: Surprisals) -> float:
    """Compute sigma_l, the standard deviation (over n, not n − 1) of h, in bits/byte. Section B.2, Table 5."""
    return float(np.std(unconditional_rates(s)))


def excess_entropy(s: Surprisals) -> float:
    """Compute E = Σ_k (a_k − a_n), bits. Section D.1, eq. 8. Below 0 if the last position is among the highest."""
    curve = curve_bits(s)
    return float(np.sum(curve - curve[-1]))


def excess_entropy_rate(s: Surprisals) -> float:
    """Compute E_rate: E on `curve_rate`, bits/byte. Section D.2, eq. 12. It is not E divided by the mean length."""
    curve = curve_rate(s)
    return float(np.sum(curve - curve[-1]))


def coherent_excess(s: Surprisals) -> float:
    """Compute C · E, bits. Section D.3, eq. 13. (The authors' files call it D; it is not D_Ca_n.)"""
    return coherence(s) * excess_entropy(s)


def coherent_excess_rate(s: Surprisals) -> float:
    """Compute C · E_rate, bits/byte. Section D.3, eq. 13; the C × E column of Table 5."""
    return coherence(s) * excess_entropy_rate(s)


def total_correlation(s: Surprisals) -> float:
    """Compute TC_n = Σ_k (ā_1 − a_k) = n (ā_1 − a_n) − E, bits, ā_1 the mean unconditional bits. Eq. 10."""
    return -float(np.sum(curve_bits(s) - unconditional_bits(s)))


def a_1(s: Surprisals) -> float:
    """Return the first position of `curve_rate`, bits/byte: a response after only the prompt. Table 5."""
    return float(curve_rate(s)[0])


def a_n(s: Surprisals) -> float:
    """Return the last position of `curve_rate`, bits/byte: a response after all others. Section 3.1, eq. 6 at k = n."""
    return float(curve_rate(s)[-1])


def d_can(s: Surprisals) -> float:
    """Compute D_Ca_n = C · a_n, bits/byte; higher is more diverse. Section 3.3, eq. 5, the paper's score."""
    return coherence(s) * a_n(s)


def d_can_bits(s: Surprisals) -> float:
    """Compute C · a_n with a_n in bits of the whole response; a hybrid in the authors' code that grows with length."""
    return coherence(s) * float(curve_bits(s)[-1])


def tail_d_can(s: Surprisals) -> float:
    """Compute C times the mean `tail` of `curve_rate`, bits/byte: D_Ca_n with less noise. Not in the paper."""
    return coherence(s) * float(np.mean(tail(curve_rate(s))))


@dataclass(frozen=True, slots=True)
class Bands:
    """C (without unit), C · a_n and C · E_rate (bits/byte), each at C · 2^(−sigma_l) and at C · 2^(+sigma_l)."""

    coherence: tuple[float, float]
    d_can: tuple[float, float]
    coherent_excess_rate: tuple[float, float]


def bands(s: Surprisals) -> Bands:
    """Compute C± = C · 2^(±sigma_l), C± · a_n and C± · E_rate (`D_minus`, `D_plus` in the authors' files).

    They show how uneven the responses' coherence is and are not confidence intervals; C+ may exceed 1, and if E_rate is
    below 0, the second number is the lower one. From the authors' code: the paper defines only sigma_l (section B.2).
    """
    c, factor = coherence(s), math.exp2(coherence_spread(s))
    return Bands(*((c / factor * x, c * factor * x) for x in (1.0, a_n(s), excess_entropy_rate(s))))


def retained_surprise(s: Surprisals) -> float:
    """Compute R = mean(a_2 … a_n) / mean(unconditional bits): the share of surprise that remains after other responses.

    Not in the paper. It is about 1 if the others are uninformative (as for noise, hence C · R), and near 0 for repeats.
    Also `Unscorable` if no response has any surprise by itself.
    """
    rest = float(np.mean(curve_bits(s)[1:]))
    alone = unconditional_bits(s)
    if alone <= 0:
        raise Unscorable("responses without surprise on their own")
    return rest / alone


def coherent_retained(s: Surprisals) -> float:
    """Compute C · R, from `coherence` and `retained_surprise`, so that the surprise of noise counts little."""
    return coherence(s) * retained_surprise(s)


@dataclass(frozen=True, slots=True)
class Fit:
    """A decreasing function fitted to a curve; all numbers are NaN if the solver did not converge."""

    floor: float  # a_inf, in the curve's unit, as are `drop` (alpha) and `excess`
    drop: float  # alpha
    steepness: float  # beta
    midpoint: float  # k_0; 1 for the exponential
    excess: float  # E_fit, the integral of the function minus the floor from 1 to infinity; unreliable at a bound
    # Parameters at a limit of their range, which the curve therefore does not determine.
    at_bounds: tuple[str, ...] = ()
    failure: str | None = None  # reason why the solver did not converge; None if it did

    @property
    def converged(self) -> bool:
        """Whether the solver converged."""
        return self.failure is None


def fit_sigmoid(curve: Floats) -> Fit:
    """Fit a_inf + alpha / (1 + e^(beta (k − k_0))), eq. 9; E_fit = alpha / beta · ln(1 + e^(beta (k_0 − 1))).

    Start values and ranges are from the authors' code: a_inf, alpha ≥ 0, beta in [0.01, 50], k_0 in [−10, 3 n]. If a
    curve falls from the start, k_0 goes to −10 and the function is an exponential (Figure 14).
    """
    high = (np.inf, np.inf, 50.0, 3.0 * len(curve))
    return _fit(_sigmoid, curve, (1.0, len(curve) / 2), (0.0, 0.0, 0.01, -10.0), high)


def fit_exponential(curve: Floats) -> Fit:
    """Fit a_inf + alpha e^(−beta (k − 1)), beta in [0.001, 50]; E_fit = alpha / beta. From the authors' code."""
    return _fit(_exponential, curve, (0.5,), (0.0, 0.0, 0.001), (np.inf, np.inf, 50.0))


def _sigmoid(k: Floats, floor: float, drop: float, steepness: float, midpoint: float) -> Floats:
    return np.asarray(floor + drop * np.exp(-np.logaddexp(0.0, steepness * (k - midpoint))))  # cannot overflow


def _exponential(k: Floats, floor: float, drop: float, steepness: float) -> Floats:
    return np.asarray(floor + drop * np.exp(-steepness * (k - 1)))


def _fit(
    shape: Callable[..., Floats], curve: Floats, start: Sequence[float], low: Sequence[float], high: Sequence[float]
) -> Fit:
    from scipy.optimize import OptimizeWarning, curve_fit

    failed = Fit(math.nan, math.nan, math.nan, math.nan, math.nan)
    if len(curve) < len(low):
        return replace(failed, failure=f"{len(curve)} positions for {len(low)} parameters")
    if not np.isfinite(curve).all():
        return replace(failed, failure="the curve is not finite")
    first = (max(float(curve[-1]), 0.0), max(float(curve[0] - curve[-1]), 0.01), *start)
    positions = np.arange(1.0, len(curve) + 1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OptimizeWarning)  # about the covariance, which is not used
        try:
            values = curve_fit(shape, positions, curve, p0=first, bounds=(low, high), maxfev=10_000)[0].tolist()
        except RuntimeError:
            return replace(failed, failure="the solver did not converge")
    ranges = zip(("floor", "drop", "steepness", "midpoint"), values, low, high, strict=False)
    at_bounds = tuple(name for name, value, *ends in ranges if np.isclose(value, ends, rtol=1e-3, atol=1e-6).any())
    floor, drop, steepness, midpoint = (*values, 1.0)[:4]
    area = float(np.logaddexp(0.0, steepness * (midpoint - 1))) if len(values) == 4 else 1.0
    return Fit(floor, drop, steepness, midpoint, drop / steepness * area, at_bounds)


@dataclass(frozen=True, slots=True, eq=False)
class CrossMode:
    """Surprise reductions between m sets, in bits, and their summary."""

    reduction: Floats  # [m, m]; M_ij, by how many bits a text of set i costs less after a text of set j
    diagonal: float  # mean M_ii
    off_diagonal: float  # mean M_ij, i ≠ j
    share_positive: float  # share of M_ij > 0, i ≠ j
    asymmetry: float  # mean |M_ij − M_ji|, i ≠ j


def cross_mode(alone: Floats, given: Floats) -> CrossMode:
    """Compute the matrix M_ij = alone_i − given_ij of surprise reductions, and its summary. Section B.4."""
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


_JUDGE = (
    "The numbers depend on the language model that reads: compare them only under the same model, layout and orders."
)
_NEITHER = "It does not measure diversity, and is shown as a diagnostic."
_BITS = "In bits, it grows with the length of the responses."
_CURVE = "aₖ: mean over orders of bits / bytes of the response at position k, after the k − 1 before it. "
_COHERENCE = "C = 2^(−mean of h), h the bits per byte of each response alone"
_NOISE = "Noise retains all of its surprise, so random characters score highest."
_INJECTED = "A response that contains the next response's label is read as if the next response had begun."
_NEGATIVE = "It is below 0 if the last position happens to be among the most surprising."
_ORDERS = "A curve from few orders is noisy, especially at single positions."
_FIRST = Version(1, "2026-11-21", "first version: surprisals under a language model, balanced orders by default")

_metric = partial(Metric, direction=+1, bounds=(0, None), needs=2, family="surprise", history=(_FIRST,))
_coherence_metric = partial(Metric, reads="surprisals", direction=0, family="surprise", history=(_FIRST,))
_excess_metric = partial(_metric, reads="surprisals:curve", direction=0, bounds=(None, None))

METRICS: tuple[Metric, ...] = (
    _metric(
        "d_can",
        "D_Ca_n = C · a_n",
        d_can,
        reads="surprisals",
        unit="bits/byte",
        paper="D_Can 2026, arXiv:2606.01811, eq. 5",
        formula=f"{_CURVE}D = C · aₙ; {_COHERENCE}",
        summary="How surprising the last response is for a reader who knows all others, reduced if the responses are "
        "not coherent language.",
        failures=(
            _JUDGE,
            "It depends on one position of the curve and, with unbalanced orders, on the responses that fall there.",
            "On sets with human labels it does worse than embeddings, here and in its paper.",
            _INJECTED,
        ),
    ),
    _metric(
        "retained_surprise",
        "retained surprise R",
        retained_surprise,
        reads="surprisals:curve",
        unit="share of the surprise alone",
        paper="DivBench; based on the curve of D_Can 2026, arXiv:2606.01811",
        formula="R = mean of bits at positions 2 … n / mean of bits of the responses alone",
        summary="The share of its surprise that a response retains once others have been read.",
        failures=(f"{_NOISE} R near 1 can mean that responses share nothing, or mean nothing.", _JUDGE, _INJECTED),
    ),
    _metric(
        "coherent_retained",
        "C · R",
        coherent_retained,
        reads="surprisals:curve",
        unit="share of the surprise alone",
        paper="DivBench; based on the curve of D_Can 2026, arXiv:2606.01811",
        formula=f"C · R, R as in retained surprise; {_COHERENCE}",
        summary="The share of surprise that remains, reduced if the responses are not coherent language.",
        failures=(
            "On sets with human labels it does worse than R alone: C adds variation unrelated to diversity.",
            _JUDGE,
        ),
    ),
    _metric(
        "tail_d_can",
        "C · mean of a_k over the second half",
        tail_d_can,
        reads="surprisals:curve",
        unit="bits/byte",
        paper="DivBench; based on the curve of D_Can 2026, arXiv:2606.01811",
        formula=f"{_CURVE}C · mean of aₖ over k = ⌊n/2⌋ + 1 … n; {_COHERENCE}",
        summary="D_Can from the second half of the curve instead of only its last position.",
        failures=(
            _JUDGE,
            "Positions in the middle come after fewer responses, so it is usually higher than d_can.",
            _INJECTED,
        ),
    ),
    _metric(
        "a_n",
        "a_n, surprise after all others",
        a_n,
        reads="surprisals",
        unit="bits/byte",
        paper="D_Can 2026, arXiv:2606.01811, eq. 6",
        formula=f"{_CURVE}aₙ, its last position",
        summary="The bits per byte of a response for a model that has read all the others.",
        failures=(
            _NOISE,
            "It depends on one position of the curve.",
            "Under the published tokenisation, the last response lacks the separator that ends all others. If the "
            "tokeniser merges it with a full stop, this costs about two bits; exact boundaries avoid it.",
            _JUDGE,
        ),
    ),
    _coherence_metric(
        "coherence",
        "coherence C",
        coherence,
        bounds=(0, 1),
        unit="probability of a byte",
        paper="D_Can 2026, arXiv:2606.01811, eq. 4",
        formula=_COHERENCE,
        summary="How likely a byte of the responses is for the model: near 0 for noise; for plain language 0.4 to 0.7 "
        "under Qwen2.5-3B and about 0.2 under the bundled model.",
        failures=(_NEITHER, "Rare words, names and other languages lower it just as nonsense does.", _JUDGE),
    ),
    _coherence_metric(
        "coherence_spread",
        "coherence spread sigma_l",
        coherence_spread,
        bounds=(0, None),
        unit="bits/byte",
        paper="D_Can 2026, arXiv:2606.01811, section B.2",
        formula="the standard deviation (divisor n) of h, the bits per byte of each response alone",
        summary="Whether a set mixes responses of very different fluency.",
        failures=(_NEITHER, "Short responses vary more in bits per byte, whatever they say.", _JUDGE),
    ),
    _excess_metric(
        "excess_entropy",
        "excess entropy E",
        excess_entropy,
        unit="bits",
        paper="D_Can 2026, arXiv:2606.01811, eq. 8",
        formula="E = Σₖ (aₖ − aₙ), aₖ the mean bits at position k",
        summary="How much a reader learns from the first responses about what all of them share.",
        failures=(_NEITHER, _NEGATIVE, _BITS, _ORDERS),
    ),
    _excess_metric(
        "excess_entropy_rate",
        "excess entropy rate E_rate",
        excess_entropy_rate,
        unit="bits/byte",
        paper="D_Can 2026, arXiv:2606.01811, eq. 12",
        formula=f"{_CURVE}Σₖ (aₖ − aₙ)",
        summary="Excess entropy in bits per byte, so that length matters less.",
        failures=(_NEITHER, _NEGATIVE, _ORDERS),
    ),
    _excess_metric(
        "coherent_excess",
        "C · E",
        coherent_excess,
        unit="bits",
        paper="D_Can 2026, arXiv:2606.01811, eq. 13",
        formula=f"C · Σₖ (aₖ − aₙ), aₖ the mean bits at position k; {_COHERENCE}",
        summary="Excess entropy, reduced if the responses are not coherent language.",
        failures=(_NEITHER, "Some files of its authors call it D; it is not D_Can.", _NEGATIVE, _BITS),
    ),
    _excess_metric(
        "coherent_excess_rate",
        "C · E_rate",
        coherent_excess_rate,
        unit="bits/byte",
        paper="D_Can 2026, arXiv:2606.01811, eq. 13",
        formula=f"{_CURVE}C · Σₖ (aₖ − aₙ); {_COHERENCE}",
        summary="The rate of excess entropy, reduced if the responses are not coherent language.",
        failures=(_NEITHER, "Some files of its authors call it D_rate; it is not D_Can.", _NEGATIVE, _ORDERS),
    ),
    _excess_metric(
        "total_correlation",
        "total correlation TC_n",
        total_correlation,
        unit="bits",
        paper="D_Can 2026, arXiv:2606.01811, eq. 10",
        formula="TC = Σₖ (ā − aₖ), ā the mean bits of a response alone, aₖ the mean bits at position k",
        summary="How many bits the responses of a set share in total.",
        failures=(
            _NEITHER,
            _BITS,
            "A response alone is always read under the first label, so the cost of labels does not cancel.",
            _JUDGE,
        ),
    ),
    _metric(
        "d_can_bits",
        "C · a_n in bits of a response",
        d_can_bits,
        reads="surprisals",
        unit="bits",
        paper="the authors' code of D_Can 2026, arXiv:2606.01811",
        formula=f"C · aₙ with aₙ in bits of a whole response; {_COHERENCE}",
        summary="D_Can without division by length, as in some code of its authors.",
        failures=(_BITS, "On sets with human labels it is at chance or below: it mostly measures length.", _JUDGE),
    ),
)
