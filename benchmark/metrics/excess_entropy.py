"""Excess entropy and total correlation: the information that responses share (arXiv:2606.01811, appendix D)."""

from functools import partial

import numpy as np

from benchmark.metrics.coherence import coherence
from benchmark.metrics.metric import Metric
from benchmark.metrics.surprisal_card import BITS, COHERENCE, CURVE, FIRST, JUDGE, NEITHER
from benchmark.metrics.surprisal_curve import Surprisals, curve_bits, curve_rate, unconditional_bits

_NEGATIVE = "It is below 0 if the last position happens to be among the most surprising."
_ORDERS = "A curve from few orders is noisy, especially at single positions."


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


_metric = partial(
    Metric, reads="surprisals:curve", direction=0, bounds=(None, None), needs=2, family="surprise", history=(FIRST,)
)

METRICS: tuple[Metric, ...] = (
    _metric(
        "excess_entropy",
        "excess entropy E",
        excess_entropy,
        unit="bits",
        paper="D_Can 2026, arXiv:2606.01811, eq. 8",
        formula="E = Σₖ (aₖ − aₙ), aₖ the mean bits at position k",
        summary="How much a reader learns from the first responses about what all of them share.",
        failures=(NEITHER, _NEGATIVE, BITS, _ORDERS),
    ),
    _metric(
        "excess_entropy_rate",
        "excess entropy rate E_rate",
        excess_entropy_rate,
        unit="bits/byte",
        paper="D_Can 2026, arXiv:2606.01811, eq. 12",
        formula=f"{CURVE}Σₖ (aₖ − aₙ)",
        summary="Excess entropy in bits per byte, so that length matters less.",
        failures=(NEITHER, _NEGATIVE, _ORDERS),
    ),
    _metric(
        "coherent_excess",
        "C · E",
        coherent_excess,
        unit="bits",
        paper="D_Can 2026, arXiv:2606.01811, eq. 13",
        formula=f"C · Σₖ (aₖ − aₙ), aₖ the mean bits at position k; {COHERENCE}",
        summary="Excess entropy, reduced if the responses are not coherent language.",
        failures=(NEITHER, "Some files of its authors call it D; it is not D_Can.", _NEGATIVE, BITS),
    ),
    _metric(
        "coherent_excess_rate",
        "C · E_rate",
        coherent_excess_rate,
        unit="bits/byte",
        paper="D_Can 2026, arXiv:2606.01811, eq. 13",
        formula=f"{CURVE}C · Σₖ (aₖ − aₙ); {COHERENCE}",
        summary="The rate of excess entropy, reduced if the responses are not coherent language.",
        failures=(NEITHER, "Some files of its authors call it D_rate; it is not D_Can.", _NEGATIVE, _ORDERS),
    ),
    _metric(
        "total_correlation",
        "total correlation TC_n",
        total_correlation,
        unit="bits",
        paper="D_Can 2026, arXiv:2606.01811, eq. 10",
        formula="TC = Σₖ (ā − aₖ), ā the mean bits of a response alone, aₖ the mean bits at position k",
        summary="How many bits the responses of a set share in total.",
        failures=(
            NEITHER,
            BITS,
            "A response alone is always read under the first label, so the cost of labels does not cancel.",
            JUDGE,
        ),
    ),
)
