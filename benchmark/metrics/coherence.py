"""Coherence: how likely each response is by itself under a language model (arXiv:2606.01811)."""

import math
from functools import partial

import numpy as np

from benchmark.metrics.metric import Metric
from benchmark.metrics.surprisal_card import COHERENCE, FIRST, JUDGE, NEITHER
from benchmark.metrics.surprisal_curve import Surprisals, unconditional_rates


def coherence(s: Surprisals) -> float:
    """Compute C = 2^(−mean of h), in (0, 1], h the unconditional bits/byte of each response. Section 3.2, eq. 4.

    It is the geometric mean of the probability of a byte. Orders have no effect, and one response is enough.
    """
    return min(math.exp2(-float(np.mean(unconditional_rates(s)))), 1.0)


def coherence_spread(s: Surprisals) -> float:
    """Compute sigma_l, the standard deviation (over n, not n − 1) of h, in bits/byte. Section B.2, Table 5.

    A diagnostic: it is large if coherent and incoherent responses are mixed, but does not measure diversity (B.6).
    """
    return float(np.std(unconditional_rates(s)))


_metric = partial(Metric, reads="surprisals", direction=0, family="surprise", history=(FIRST,))

METRICS: tuple[Metric, ...] = (
    _metric(
        "coherence",
        "coherence C",
        coherence,
        bounds=(0, 1),
        unit="probability of a byte",
        paper="D_Can 2026, arXiv:2606.01811, eq. 4",
        formula=COHERENCE,
        summary="How likely a byte of the responses is for the model: near 0 for noise; for plain language 0.4 to 0.7 "
        "under Qwen2.5-3B and about 0.2 under the bundled model.",
        failures=(NEITHER, "Rare words, names and other languages lower it just as nonsense does.", JUDGE),
    ),
    _metric(
        "coherence_spread",
        "coherence spread sigma_l",
        coherence_spread,
        bounds=(0, None),
        unit="bits/byte",
        paper="D_Can 2026, arXiv:2606.01811, section B.2",
        formula="the standard deviation (divisor n) of h, the bits per byte of each response alone",
        summary="Whether a set mixes responses of very different fluency.",
        failures=(NEITHER, "Short responses vary more in bits per byte, whatever they say.", JUDGE),
    ),
)
