"""Metrics of surprisals: D_Can and its family (arXiv:2606.01811), and what else the same numbers say.

Input: the `Surprisals` of one response set, under one language model. They are `Unscorable` where its curve is, and
empty responses are left out as there. Equations, sections and tables are those of arXiv:2606.01811 where no other
source is named. The numbers are the model's: compare them under one model, layout and boundary rule only.
"""

import math
from dataclasses import dataclass

import numpy as np

from benchmark.metrics.metric import Metric, MetricCard, Unscorable, Version
from benchmark.metrics.surprisal_curve import (
    Surprisals,
    curve_bits,
    curve_rate,
    tail,
    unconditional_bits,
    unconditional_rates,
)


def a_1(s: Surprisals) -> float:
    """The first place of `curve_rate`, bits/byte: a response with only the prompt before it. Table 5."""
    return float(curve_rate(s)[0])


def a_n(s: Surprisals) -> float:
    """The last place of `curve_rate`, bits/byte: a response with all others before it. Section 3.1, eq. 6 at k = n."""
    return float(curve_rate(s)[-1])


def coherence(s: Surprisals) -> float:
    """C = 2^(−mean of h), in (0, 1], h the unconditional bits/byte of each response. Section 3.2, eq. 4.

    The geometric mean of the probability of a byte; orders play no part, and one response is enough.
    """
    return min(math.exp2(-float(np.mean(unconditional_rates(s)))), 1.0)


def coherence_spread(s: Surprisals) -> float:
    """Coherence spread sigma_l, the standard deviation (over n, not n − 1) of h, bits/byte. Section B.2, Table 5.

    A diagnostic: it is large where coherent and incoherent responses are mixed, and no measure of diversity (B.6).
    """
    return float(np.std(unconditional_rates(s)))


def d_can(s: Surprisals) -> float:
    """D_Ca_n = C · a_n, bits/byte; more is more diverse. Section 3.3, eq. 5, the paper's score."""
    return coherence(s) * a_n(s)


def d_can_bits(s: Surprisals) -> float:
    """C · a_n with a_n in bits of the whole response; a hybrid of the authors' code that grows with length."""
    return coherence(s) * float(curve_bits(s)[-1])


def tail_d_can(s: Surprisals) -> float:
    """C · `tail` of `curve_rate`, bits/byte: D_Ca_n with less noise. Not in the paper."""
    return coherence(s) * float(np.mean(tail(curve_rate(s))))


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
    return -float(np.sum(curve_bits(s) - unconditional_bits(s)))


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
    alone = unconditional_bits(s)
    if alone <= 0:
        raise Unscorable("responses without surprise on their own")
    return rest / alone


def coherent_retained(s: Surprisals) -> float:
    """C · R, without unit; R as `retained_surprise`, C as `coherence`: what noise keeps counts little."""
    return coherence(s) * retained_surprise(s)


_JUDGE = (
    "The numbers belong to the language model that reads: compare them under one model, layout and set of orders only."
)
_NOISE = "Noise keeps all of its surprise, so random characters come first."
_INJECTED = "A response with the label of a next response in it is read as if that one had begun."
_ORDERS = "A curve from few orders is noisy, the more so at single positions."
_NEITHER = "It says neither more nor less diverse, and is shown as a diagnosis."
_BITS = "In bits it grows with the length of the responses."
_NEGATIVE = "It is below 0 where the last position happens to be among the most surprising."
_HEAD = "aₖ: mean over orders of bits / bytes of the response at position k, after the k − 1 before it. "
_C = "C = 2^(−mean of h), h the bits per byte of each response alone"
_FIRST = Version(1, "2026-11-21", "first version: surprisals under a language model, balanced orders by default")

METRICS: tuple[Metric, ...] = (
    Metric(
        "d_can",
        1,
        "D_Ca_n = C · a_n",
        d_can,
        reads="surprisals",
        direction=+1,
        bounds=(0, None),
        unit="bits/byte",
        paper="D_Can 2026, arXiv:2606.01811, eq. 5",
        needs=2,
        card=MetricCard(
            "surprise",
            f"{_HEAD}D = C · aₙ; {_C}",
            "What the last response still tells a reader who knows all others, held down where the responses are not "
            "language.",
            (
                _JUDGE,
                "It rests on one position of the curve; with unbalanced orders, on which responses happen to stand "
                "there.",
                "On sets with human labels it does worse than embeddings, here and in its paper.",
                _INJECTED,
            ),
            (_FIRST,),
        ),
    ),
    Metric(
        "retained_surprise",
        1,
        "retained surprise R",
        retained_surprise,
        reads="surprisals:curve",
        direction=+1,
        bounds=(0, None),
        unit="share of the surprise alone",
        paper="of this package; on the curve of D_Can 2026, arXiv:2606.01811",
        needs=2,
        card=MetricCard(
            "surprise",
            "R = mean of bits at positions 2 … n / mean of bits of the responses alone",
            "The share of its surprise that a response keeps once others were read.",
            (f"{_NOISE} R near 1 can mean that responses have nothing in common, or no sense.", _JUDGE, _INJECTED),
            (_FIRST,),
        ),
    ),
    Metric(
        "coherent_retained",
        1,
        "C · R",
        coherent_retained,
        reads="surprisals:curve",
        direction=+1,
        bounds=(0, None),
        unit="share of the surprise alone",
        paper="of this package; on the curve of D_Can 2026, arXiv:2606.01811",
        needs=2,
        card=MetricCard(
            "surprise",
            f"C · R, R as in retained surprise; {_C}",
            "The share of surprise that stays, held down where the responses are not language.",
            (
                "On sets with human labels it does worse than R alone: C adds what has nothing to do with diversity.",
                _JUDGE,
            ),
            (_FIRST,),
        ),
    ),
    Metric(
        "tail_d_can",
        1,
        "C · mean of a_k over the second half",
        tail_d_can,
        reads="surprisals:curve",
        direction=+1,
        bounds=(0, None),
        unit="bits/byte",
        paper="of this package; on the curve of D_Can 2026, arXiv:2606.01811",
        needs=2,
        card=MetricCard(
            "surprise",
            f"{_HEAD}C · mean of aₖ over k = ⌊n/2⌋ + 1 … n; {_C}",
            "D_Can from the second half of the curve in place of its last position alone.",
            (
                _JUDGE,
                "Positions in the middle have read fewer responses: it lies above what all others would leave.",
                _INJECTED,
            ),
            (_FIRST,),
        ),
    ),
    Metric(
        "a_n",
        1,
        "a_n, surprise after all others",
        a_n,
        reads="surprisals",
        direction=+1,
        bounds=(0, None),
        unit="bits/byte",
        paper="D_Can 2026, arXiv:2606.01811, eq. 6",
        needs=2,
        card=MetricCard(
            "surprise",
            f"{_HEAD}aₙ, its last position",
            "What a response still costs, a byte, for a model that has read all the others.",
            (
                _NOISE,
                "It rests on one position of the curve.",
                "Under the published tokenisation the last response lacks the separator that the others end with, "
                "and pays about two bits more for it; exact boundaries fix that.",
                _JUDGE,
            ),
            (_FIRST,),
        ),
    ),
    Metric(
        "coherence",
        1,
        "coherence C",
        coherence,
        reads="surprisals",
        direction=0,
        bounds=(0, 1),
        unit="probability of a byte",
        paper="D_Can 2026, arXiv:2606.01811, eq. 4",
        card=MetricCard(
            "surprise",
            _C,
            "How likely a byte of the responses is for the model: near 1 for plain language, near 0 for noise.",
            (_NEITHER, "Rare words, names and other languages lower it just as nonsense does.", _JUDGE),
            (_FIRST,),
        ),
    ),
    Metric(
        "coherence_spread",
        1,
        "coherence spread sigma_l",
        coherence_spread,
        reads="surprisals",
        direction=0,
        bounds=(0, None),
        unit="bits/byte",
        paper="D_Can 2026, arXiv:2606.01811, section B.2",
        card=MetricCard(
            "surprise",
            "the standard deviation (over n, not n − 1) of h, the bits per byte of each response alone",
            "Whether responses of very different fluency stand in one set.",
            (_NEITHER, "Short responses vary more in bits per byte, whatever they say.", _JUDGE),
            (_FIRST,),
        ),
    ),
    Metric(
        "excess_entropy",
        1,
        "excess entropy E",
        excess_entropy,
        reads="surprisals:curve",
        direction=0,
        bounds=(None, None),
        unit="bits",
        paper="D_Can 2026, arXiv:2606.01811, eq. 8",
        needs=2,
        card=MetricCard(
            "surprise",
            "E = Σₖ (aₖ − aₙ), aₖ the mean bits at position k",
            "How much the responses tell of each other before a reader has learned all that they share.",
            (_NEITHER, _NEGATIVE, _BITS, _ORDERS),
            (_FIRST,),
        ),
    ),
    Metric(
        "excess_entropy_rate",
        1,
        "excess entropy rate E_rate",
        excess_entropy_rate,
        reads="surprisals:curve",
        direction=0,
        bounds=(None, None),
        unit="bits/byte",
        paper="D_Can 2026, arXiv:2606.01811, eq. 12",
        needs=2,
        card=MetricCard(
            "surprise",
            f"{_HEAD}Σₖ (aₖ − aₙ)",
            "Excess entropy in bits per byte, so that length matters less.",
            (_NEITHER, _NEGATIVE, _ORDERS),
            (_FIRST,),
        ),
    ),
    Metric(
        "coherent_excess",
        1,
        "C · E",
        coherent_excess,
        reads="surprisals:curve",
        direction=0,
        bounds=(None, None),
        unit="bits",
        paper="D_Can 2026, arXiv:2606.01811, eq. 13",
        needs=2,
        card=MetricCard(
            "surprise",
            f"C · Σₖ (aₖ − aₙ), aₖ the mean bits at position k; {_C}",
            "Excess entropy, held down where the responses are not language.",
            (_NEITHER, "Some files of its authors call it D; it is not D_Can.", _NEGATIVE, _BITS),
            (_FIRST,),
        ),
    ),
    Metric(
        "coherent_excess_rate",
        1,
        "C · E_rate",
        coherent_excess_rate,
        reads="surprisals:curve",
        direction=0,
        bounds=(None, None),
        unit="bits/byte",
        paper="D_Can 2026, arXiv:2606.01811, eq. 13",
        needs=2,
        card=MetricCard(
            "surprise",
            f"{_HEAD}C · Σₖ (aₖ − aₙ); {_C}",
            "The rate of excess entropy, held down where the responses are not language.",
            (_NEITHER, "Some files of its authors call it D_rate; it is not D_Can.", _NEGATIVE, _ORDERS),
            (_FIRST,),
        ),
    ),
    Metric(
        "total_correlation",
        1,
        "total correlation TC_n",
        total_correlation,
        reads="surprisals:curve",
        direction=0,
        bounds=(None, None),
        unit="bits",
        paper="D_Can 2026, arXiv:2606.01811, eq. 10",
        needs=2,
        card=MetricCard(
            "surprise",
            "TC = Σₖ (ā − aₖ), ā the mean bits of a response alone, aₖ the mean bits at position k",
            "How many bits the responses of a set share in all.",
            (
                _NEITHER,
                _BITS,
                "A response alone stands under the first label only: what labels cost does not cancel.",
                _JUDGE,
            ),
            (_FIRST,),
        ),
    ),
    Metric(
        "d_can_bits",
        1,
        "C · a_n in bits of a response",
        d_can_bits,
        reads="surprisals",
        direction=+1,
        bounds=(0, None),
        unit="bits",
        paper="the authors' code of D_Can 2026, arXiv:2606.01811",
        needs=2,
        card=MetricCard(
            "surprise",
            f"C · aₙ with aₙ in bits of a whole response; {_C}",
            "D_Can without dividing by length, as some code of its authors has it.",
            (_BITS, "On sets with human labels it is at chance or below: it mostly measures length.", _JUDGE),
            (_FIRST,),
        ),
    ),
)
