"""Metrics of surprisals: D_Can and related metrics (arXiv:2606.01811).

Input: the `Surprisals` of one response set under one language model. A metric is `Unscorable` if its curve is, and
empty responses are left out in the same way. Equations, sections and tables are those of arXiv:2606.01811 unless
another source is named. Compare numbers only under the same model, layout and boundary rule.
"""

import math
from dataclasses import dataclass
from functools import partial

import numpy as np

from benchmark.metrics.coherence import METRICS as COHERENCE_METRICS
from benchmark.metrics.coherence import coherence, coherence_spread
from benchmark.metrics.excess_entropy import METRICS as EXCESS_ENTROPY_METRICS
from benchmark.metrics.excess_entropy import excess_entropy_rate
from benchmark.metrics.metric import Metric, Unscorable
from benchmark.metrics.surprisal_card import BITS, COHERENCE, CURVE, FIRST, JUDGE
from benchmark.metrics.surprisal_curve import (
    Surprisals,
    curve_bits,
    curve_rate,
    tail,
    unconditional_bits,
)


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


_NOISE = "Noise retains all of its surprise, so random characters score highest."
_INJECTED = "A response that contains the next response's label is read as if the next response had begun."

_metric = partial(Metric, direction=+1, bounds=(0, None), needs=2, family="surprise", history=(FIRST,))

METRICS: tuple[Metric, ...] = (
    _metric(
        "d_can",
        "D_Ca_n = C · a_n",
        d_can,
        reads="surprisals",
        unit="bits/byte",
        paper="D_Can 2026, arXiv:2606.01811, eq. 5",
        formula=f"{CURVE}D = C · aₙ; {COHERENCE}",
        summary="How surprising the last response is for a reader who knows all others, reduced if the responses are "
        "not coherent language.",
        failures=(
            JUDGE,
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
        failures=(
            f"{_NOISE} R near 1 can mean that responses share nothing, or mean nothing.",
            JUDGE,
            _INJECTED,
        ),
    ),
    _metric(
        "coherent_retained",
        "C · R",
        coherent_retained,
        reads="surprisals:curve",
        unit="share of the surprise alone",
        paper="DivBench; based on the curve of D_Can 2026, arXiv:2606.01811",
        formula=f"C · R, R as in retained surprise; {COHERENCE}",
        summary="The share of surprise that remains, reduced if the responses are not coherent language.",
        failures=(
            "On sets with human labels it does worse than R alone: C adds variation unrelated to diversity.",
            JUDGE,
        ),
    ),
    _metric(
        "tail_d_can",
        "C · mean of a_k over the second half",
        tail_d_can,
        reads="surprisals:curve",
        unit="bits/byte",
        paper="DivBench; based on the curve of D_Can 2026, arXiv:2606.01811",
        formula=f"{CURVE}C · mean of aₖ over k = ⌊n/2⌋ + 1 … n; {COHERENCE}",
        summary="D_Can from the second half of the curve instead of only its last position.",
        failures=(
            JUDGE,
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
        formula=f"{CURVE}aₙ, its last position",
        summary="The bits per byte of a response for a model that has read all the others.",
        failures=(
            _NOISE,
            "It depends on one position of the curve.",
            "Under the published tokenisation, the last response lacks the separator that ends all others. If the "
            "tokeniser merges it with a full stop, this costs about two bits; exact boundaries avoid it.",
            JUDGE,
        ),
    ),
    *COHERENCE_METRICS,
    *EXCESS_ENTROPY_METRICS,
    _metric(
        "d_can_bits",
        "C · a_n in bits of a response",
        d_can_bits,
        reads="surprisals",
        unit="bits",
        paper="the authors' code of D_Can 2026, arXiv:2606.01811",
        formula=f"C · aₙ with aₙ in bits of a whole response; {COHERENCE}",
        summary="D_Can without division by length, as in some code of its authors.",
        failures=(BITS, "On sets with human labels it is at chance or below: it mostly measures length.", JUDGE),
    ),
)
