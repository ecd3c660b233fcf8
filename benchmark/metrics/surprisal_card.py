"""Sentences that the cards of several metrics of surprisals share."""

from benchmark.metrics.metric import Version

JUDGE = (
    "The numbers belong to the language model that reads: compare them under one model, layout and set of orders only."
)
NEITHER = "It says neither more nor less diverse, and is shown as a diagnosis."
BITS = "In bits it grows with the length of the responses."
CURVE = "aₖ: mean over orders of bits / bytes of the response at position k, after the k − 1 before it. "
COHERENCE = "C = 2^(−mean of h), h the bits per byte of each response alone"
FIRST = Version(1, "2026-11-21", "first version: surprisals under a language model, balanced orders by default")
