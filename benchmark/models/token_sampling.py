"""Sampling tokens from logits: temperature, top-k, top-p, in that order, as in transformers.

Each row has its own settings and random number, so a response depends on the batch that it is sampled in only through
the rounding of its logits, and one batch can contain all points of a sweep.
"""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, eq=False)
class TruncatedDistribution:
    """The distribution of each row after top-k and top-p."""

    weights: Any  # float64 [rows, kept], proportional to the probabilities; 0 for truncated tokens
    tokens: Any | None  # int64 [rows, kept], token ids; None: the whole vocabulary in order


def truncate(logits: Any, temperature: Any, top_k: Any, top_p: Any) -> TruncatedDistribution:
    """Compute the distributions that tokens are sampled from."""
    import torch

    vocabulary = logits.shape[1]
    if bool(_uncut(vocabulary, temperature, top_k, top_p).all()):
        return TruncatedDistribution(torch.softmax((logits / temperature[:, None]).double(), dim=-1), None)
    greedy = temperature <= 0
    scaled = logits / torch.where(greedy, 1.0, temperature)[:, None]
    top_k = torch.where(greedy, 1, top_k)
    most = int(top_k.max())
    values, tokens = scaled.topk(min(most, vocabulary), dim=-1)  # in decreasing order
    ranks = torch.arange(values.shape[1], device=values.device)
    values = values.masked_fill(ranks >= top_k[:, None], -torch.inf)
    weights = torch.softmax(values.double(), dim=-1)
    before = weights.cumsum(-1) - weights
    # Tokens outside the nucleus are removed, but never the first one.
    weights = weights.masked_fill((before >= top_p[:, None]) & (ranks > 0) & (top_p < 1)[:, None], 0.0)
    return TruncatedDistribution(weights, tokens)


def sample_tokens(logits: Any, temperature: Any, top_k: Any, top_p: Any, uniform: Any) -> Any:
    """Sample a token for each row, int64 [rows]; the arguments are those of `truncate` and `sample_truncated`.

    The same row and random number give the same token regardless of the other rows. For this, rows without truncation
    are sampled separately, in vocabulary order; the other rows are sampled in order of probability.
    """
    import torch

    uncut = _uncut(logits.shape[1], temperature, top_k, top_p)
    if bool((uncut == uncut[0]).all()):  # the usual case; selecting rows copies their logits, and waits for a GPU
        return sample_truncated(truncate(logits, temperature, top_k, top_p), uniform)
    made = torch.empty(len(logits), dtype=torch.int64, device=logits.device)
    for rows in (uncut, ~uncut):
        made[rows] = sample_truncated(
            truncate(logits[rows], temperature[rows], top_k[rows], top_p[rows]), uniform[rows]
        )
    return made


def _uncut(vocabulary: int, temperature: Any, top_k: Any, top_p: Any) -> Any:
    return (temperature > 0) & (top_k >= vocabulary) & (top_p >= 1)


def sample_truncated(kept: TruncatedDistribution, uniform: Any) -> Any:
    """Sample a token for each row by its random number's position in the cumulative weights, int64 [rows]."""
    import torch

    cumulated = kept.weights.cumsum(-1)
    total = cumulated[:, -1:]
    below = torch.nextafter(total, torch.zeros_like(total))  # a product rounded up would be past the last token
    ranks = torch.searchsorted(cumulated, torch.minimum(uniform[:, None] * total, below), right=True)
    return (ranks if kept.tokens is None else kept.tokens.gather(1, ranks))[:, 0]


def log_largest_probability(kept: TruncatedDistribution) -> Any:
    """Compute the natural logarithm of the largest probability in each row: float64 [rows]."""
    return (kept.weights.amax(-1) / kept.weights.sum(-1)).log()
