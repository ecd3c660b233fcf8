"""Measurements for the bundled model's card: bits/byte on held-out text, and the bits of a repeated passage."""

import math
import random
from typing import Any

from benchmark.models.bundled_lm.documents import sentences

_WINDOW = 1024  # tokens
_PASSAGES = 40


def bits_per_byte(model: Any, tokeniser: Any, texts: list[str], windows: int | None = None) -> float:
    """Compute bits per byte of texts read in separate windows of 1,024 tokens, each after `<s>`.

    Args:
        model: A causal language model of transformers.
        tokeniser: Its `tokenizers.Tokenizer`.
        windows: Maximum number of windows per text, from its beginning; None: all.
    """
    bits, bytes_ = 0.0, 0
    for text in texts:
        ids = tokeniser.encode(text, add_special_tokens=False).ids
        for start in range(0, len(ids) - _WINDOW + 1, _WINDOW)[:windows]:
            window = ids[start : start + _WINDOW]
            bits += sum(_token_bits(model, [1, *window]))
            bytes_ += len(tokeniser.decode(window).encode())
    return bits / bytes_


def repeat_costs(model: Any, tokeniser: Any, texts: list[str]) -> tuple[float, float]:
    """Compute the mean bits of passages at their first and second occurrence, under two labels."""
    rng = random.Random(7)  # noqa: S311 - not for secrets
    source = [sentences(text) for text in texts]
    first = second = 0.0
    for _ in range(_PASSAGES):
        book = rng.choice(source)
        start = rng.randrange(len(book) - 3)
        passage = " ".join(book[start : start + rng.randint(1, 3)])
        pieces = ["Tell me something.\n\nResponse A:", " " + passage, "\n\nResponse B:", " " + passage]
        encoded = [tokeniser.encode(piece, add_special_tokens=False).ids for piece in pieces]
        bits = _token_bits(model, [1, *(i for ids in encoded for i in ids)])
        begin = len(encoded[0])
        first += sum(bits[begin : begin + len(encoded[1])])
        second += sum(bits[-len(encoded[3]) :])
    return first / _PASSAGES, second / _PASSAGES


def _token_bits(model: Any, ids: list[int]) -> list[float]:
    """Return the bits of each token except the first."""
    import torch

    with torch.inference_mode():
        logits = model(torch.tensor([ids[:-1]]), use_cache=False).logits[0].float()
    found = torch.log_softmax(logits, -1).gather(1, torch.tensor(ids[1:])[:, None])[:, 0]
    return [-x / math.log(2) for x in found.tolist()]
