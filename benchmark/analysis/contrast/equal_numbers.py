"""Compares systems on equal numbers of scored responses: blanks and placeholders are not scored.

Most metrics depend on the number of responses, so a system with 6 of 8 blank responses would seem more diverse than one
with none. Where the numbers differ, each system's first m scored responses are compared, m the smallest number: for
responses sampled independently, that estimates its value at m, as rarefaction does. `counts_all` names the exceptions.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from benchmark.metrics import Metric
from divbench.core.errors import counted
from submissions.checking.response_kinds import is_blank, is_placeholder, is_refusal, is_scorable

FEWEST = 2  # scored responses; a system with fewer limits no other
NO_ANSWER = ("blank", "placeholder", "refused")
Texts = Sequence[str]


def counts_all(metric: Metric) -> bool:
    """Whether a metric counts all responses, so that a blank one is a response that is not valid."""
    return metric.needs == 0


def equal_positions(sets: Mapping[str, Mapping[str, Texts]]) -> dict[str, dict[str, tuple[int, ...]]]:
    """Return the positions of the responses to compare, by system and prompt, of sets that have too many.

    A set with fewer than `FEWEST` scored responses keeps none, unless all systems have equally many.

    >>> equal_positions({"a": {"p": ["x", "", "y"]}, "b": {"p": ["x", "y", "z"]}})
    {'a': {}, 'b': {'p': (0, 1)}}
    """
    scored = {
        name: {prompt: tuple(i for i, text in enumerate(texts) if is_scorable(text)) for prompt, texts in own.items()}
        for name, own in sets.items()
    }
    numbers: dict[str, set[int]] = {}
    for own in scored.values():
        for prompt, positions in own.items():
            numbers.setdefault(prompt, set()).add(len(positions))
    least = {prompt: min((n for n in several if n >= FEWEST), default=0) for prompt, several in numbers.items()}
    return {
        name: {
            prompt: positions[: least[prompt]] if len(positions) >= FEWEST else ()
            for prompt, positions in own.items()
            if positions and len(numbers[prompt]) > 1 and len(positions) != least[prompt]
        }
        for name, own in scored.items()
    }


def unequal_note(prompts: int) -> str:
    """Say how prompts with different numbers of scored responses are compared; empty if there are none."""
    if not prompts:
        return ""
    return (
        f"On {counted(prompts, 'prompt')} the systems have different numbers of scored responses: the first m of each "
        "are compared, m the smallest number. valid_distinct_k and valid_share count all: a blank one is not valid."
    )


def kinds_of(sets: Mapping[Any, Texts]) -> dict[str, int]:
    """Count the responses of a system, and those without an answer by kind."""
    texts = [text for own in sets.values() for text in own]
    kinds = {"blank": is_blank, "placeholder": is_placeholder, "refused": is_refusal}
    return {"responses": len(texts)} | {kind: sum(map(test, texts)) for kind, test in kinds.items()}


def without_answer(counts: Mapping[str, int]) -> str:
    """Say how many responses have no answer; empty if all have one.

    >>> without_answer({"responses": 8, "blank": 6, "placeholder": 0, "refused": 1})
    '6 blank, 1 refusal of 8 responses'
    """
    kinds = {kind: counts[kind] for kind in NO_ANSWER if counts[kind]}
    words = {"placeholder": "placeholder", "refused": "refusal"}
    said = [f"{n:,} blank" if kind == "blank" else counted(n, words[kind]) for kind, n in kinds.items()]
    return f"{', '.join(said)} of {counted(counts['responses'], 'response')}" if said else ""
