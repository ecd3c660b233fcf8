"""Generation with transformers' `generate`, and sampling tokens from logits: temperature, top-k, top-p, in that order.

A model's own defaults are ignored except for its EOS tokens. Each row has its own settings and random number, so a
response depends on the batch that it is sampled in only through the rounding of its logits, and one batch can contain
all points of a sweep.
"""

from collections.abc import Callable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from benchmark.models.hf_lm import HFCausalLM


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
    """Sample a token for each row, int64 [rows], the same for a row and its number whatever the other rows are."""
    import torch

    uncut = _uncut(logits.shape[1], temperature, top_k, top_p)
    if bool((uncut == uncut[0]).all()):  # the usual case; selecting rows copies their logits, and waits for a GPU
        return sample_truncated(truncate(logits, temperature, top_k, top_p), uniform)
    tokens = torch.empty(len(logits), dtype=torch.int64, device=logits.device)
    for rows in (uncut, ~uncut):
        tokens[rows] = sample_truncated(
            truncate(logits[rows], temperature[rows], top_k[rows], top_p[rows]), uniform[rows]
        )
    return tokens


def _uncut(vocabulary: int, temperature: Any, top_k: Any, top_p: Any) -> Any:
    return (temperature > 0) & (top_k >= vocabulary) & (top_p >= 1)


def sample_truncated(truncated: TruncatedDistribution, uniform: Any) -> Any:
    """Sample a token for each row by its random number's position in the cumulative weights, int64 [rows]."""
    import torch

    cumulated = truncated.weights.cumsum(-1)
    total = cumulated[:, -1:]
    below = torch.nextafter(total, torch.zeros_like(total))  # a product rounded up would be past the last token
    ranks = torch.searchsorted(cumulated, torch.minimum(uniform[:, None] * total, below), right=True)
    return (ranks if truncated.tokens is None else truncated.tokens.gather(1, ranks))[:, 0]


def log_largest_probability(truncated: TruncatedDistribution) -> Any:
    """Compute the natural logarithm of the largest probability in each row: float64 [rows]."""
    return (truncated.weights.amax(-1) / truncated.weights.sum(-1)).log()


def end_ids(lm: HFCausalLM) -> tuple[int, ...]:
    """Return the tokens that end a response: the tokeniser's EOS first, then those of the model's configuration."""
    configured = lm.model.generation_config.eos_token_id
    ids = configured if isinstance(configured, list) else [configured]
    return tuple(dict.fromkeys(token for token in (lm.tokeniser.eos, *ids) if token is not None))


def generate(
    lm: HFCausalLM,
    prompts: Sequence[Sequence[int]],
    choose: Callable[[Any, Any], Any],
    max_new_tokens: int,
    stopped: Callable[[list[int]], bool] | None = None,
) -> list[list[int]]:
    """Generate tokens after each prompt until the longest response ends; tokens after its end are meaningless."""
    import torch
    from transformers import LogitsProcessorList, StoppingCriteriaList

    ends = end_ids(lm)
    width, device = max(map(len, prompts)), lm.model.device
    ids = torch.full((len(prompts), width), ends[0] if ends else 0, dtype=torch.int64)
    mask = torch.zeros_like(ids)
    for row, prompt in enumerate(prompts):
        ids[row, width - len(prompt) :] = torch.tensor(prompt)
        mask[row, width - len(prompt) :] = 1
    options: dict[str, Any] = {}
    if stopped is not None:
        options["stopping_criteria"] = StoppingCriteriaList([_criterion(stopped, width)])

    def run() -> list[list[int]]:
        inputs, attention = ids.to(device), mask.to(device)
        with _plain_configuration(lm.model, ends, max_new_tokens):
            if lm.shares and width > 1 and len(set(map(tuple, prompts))) < len(prompts):
                options["past_key_values"] = _read_once(lm, prompts, inputs, attention)
            generated = lm.model.generate(
                inputs, attention_mask=attention, logits_processor=LogitsProcessorList([choose]), **options
            )
        rows: list[list[int]] = generated[:, width:].cpu().tolist()
        return rows

    return lm.within_memory(run)


def _criterion(stopped: Callable[[list[int]], bool], width: int) -> Callable[..., Any]:
    """Return a stopping criterion of transformers that sees the new tokens of each row, which follow `width` others."""
    import torch

    def criterion(input_ids: Any, _scores: Any, **_: Any) -> Any:
        ended = [stopped(row) for row in input_ids[:, width:].tolist()]
        return torch.tensor(ended, dtype=torch.bool, device=input_ids.device)

    return criterion


def _read_once(lm: HFCausalLM, prompts: Sequence[Sequence[int]], ids: Any, mask: Any) -> Any:
    """Return the key-value cache of all prompts without their last tokens, reading each distinct prompt once."""
    import torch

    first: dict[tuple[int, ...], int] = {}
    rows = [first.setdefault(tuple(prompt), row) for row, prompt in enumerate(prompts)]
    distinct = sorted(first.values())
    distinct_rows, before = torch.tensor(distinct, device=ids.device), slice(None, -1)
    attention = mask[distinct_rows, before]
    positions = (attention.cumsum(-1) - 1).clamp(min=0)
    inputs = ids[distinct_rows, before]
    cache = lm.body(inputs, attention_mask=attention, position_ids=positions, use_cache=True).past_key_values
    # The indices stay on the CPU, from which they can index layers on any device.
    cache.batch_select_indices(torch.tensor([distinct.index(row) for row in rows]))
    return cache


@contextmanager
def _plain_configuration(model: Any, ends: Sequence[int], max_new_tokens: int) -> Any:
    """Disable the model's own temperature, penalties and similar settings inside the block."""
    from transformers import GenerationConfig

    original = model.generation_config
    model.generation_config = GenerationConfig(
        do_sample=False,
        max_new_tokens=max_new_tokens,
        eos_token_id=list(ends) or None,
        pad_token_id=ends[0] if ends else 0,
        bos_token_id=original.bos_token_id,
    )
    try:
        yield
    finally:
        model.generation_config = original
