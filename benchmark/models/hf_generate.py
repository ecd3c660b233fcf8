"""Generation with transformers' `generate`, ignoring a model's own defaults except for its EOS tokens."""

from collections.abc import Callable, Sequence
from contextlib import contextmanager
from typing import Any

from benchmark.models.hf_lm import HFCausalLM


def end_ids(lm: HFCausalLM) -> tuple[int, ...]:
    """Return the tokens that end a response: the tokeniser's EOS first, then those of the model's configuration."""
    configured = lm.model.generation_config.eos_token_id
    found = configured if isinstance(configured, list) else [configured]
    return tuple(dict.fromkeys(each for each in (lm.tokeniser.eos, *found) if each is not None))


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
    for row, own in enumerate(prompts):
        ids[row, width - len(own) :] = torch.tensor(own)
        mask[row, width - len(own) :] = 1
    options: dict[str, Any] = {}
    if stopped is not None:
        options["stopping_criteria"] = StoppingCriteriaList([_criterion(stopped, width)])

    def run() -> list[list[int]]:
        given, seen = ids.to(device), mask.to(device)
        with _plain_configuration(lm.model, ends, max_new_tokens):
            if lm.shares and width > 1 and len(set(map(tuple, prompts))) < len(prompts):
                options["past_key_values"] = _read_once(lm, prompts, given, seen)
            made = lm.model.generate(
                given, attention_mask=seen, logits_processor=LogitsProcessorList([choose]), **options
            )
        rows: list[list[int]] = made[:, width:].cpu().tolist()
        return rows

    return lm.within_memory(run)


def _criterion(stopped: Callable[[list[int]], bool], width: int) -> Callable[..., Any]:
    """Return a stopping criterion of transformers that sees the new tokens of each row, which follow `width` others."""
    import torch

    def criterion(input_ids: Any, _scores: Any, **_: Any) -> Any:
        found = [stopped(row) for row in input_ids[:, width:].tolist()]
        return torch.tensor(found, dtype=torch.bool, device=input_ids.device)

    return criterion


def _read_once(lm: HFCausalLM, prompts: Sequence[Sequence[int]], ids: Any, mask: Any) -> Any:
    """Return the key-value cache of all prompts without their last tokens, reading each distinct prompt once."""
    import torch

    first: dict[tuple[int, ...], int] = {}
    rows = [first.setdefault(tuple(prompt), row) for row, prompt in enumerate(prompts)]
    different = sorted(first.values())
    own, before = torch.tensor(different, device=ids.device), slice(None, -1)
    attention = mask[own, before]
    places = (attention.cumsum(-1) - 1).clamp(min=0)
    read = lm.body(input_ids=ids[own, before], attention_mask=attention, position_ids=places, use_cache=True)
    cache = read.past_key_values
    # The indices stay on the CPU, from which they can index layers on any device.
    cache.batch_select_indices(torch.tensor([different.index(row) for row in rows]))
    return cache


@contextmanager
def _plain_configuration(model: Any, ends: Sequence[int], max_new_tokens: int) -> Any:
    """Disable the model's own temperature, penalties and similar settings inside the block."""
    from transformers import GenerationConfig

    own = model.generation_config
    model.generation_config = GenerationConfig(
        do_sample=False,
        max_new_tokens=max_new_tokens,
        eos_token_id=list(ends) or None,
        pad_token_id=ends[0] if ends else 0,
        bos_token_id=own.bos_token_id,
    )
    try:
        yield
    finally:
        model.generation_config = own
