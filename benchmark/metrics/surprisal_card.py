"""Sentences shared by the cards of several metrics of surprisals."""

from benchmark.metrics.metric import Version

JUDGE = (
    "The numbers depend on the language model that reads: compare them only under the same model, layout and orders."
)
NEITHER = "It does not measure diversity, and is shown as a diagnostic."
BITS = "In bits, it grows with the length of the responses."
CURVE = "aₖ: mean over orders of bits / bytes of the response at position k, after the k − 1 before it. "
COHERENCE = "C = 2^(−mean of h), h the bits per byte of each response alone"
FIRST = Version(1, "2026-11-21", "first version: surprisals under a language model, balanced orders by default")
