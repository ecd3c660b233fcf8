"""What the columns of a table reveal: which of them may hold responses, a reference in their place, several systems."""

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any

MODELS = ("model", "model_id", "model_name")  # fields that name the model: a submission has one
STEPS = ("step", "global_step", "checkpoint")  # fields that name a step of training, each of which is a system
# Fields that name what made a response, or how: where they differ within a prompt, several systems are in one file.
SYSTEMS = (
    *(*MODELS, *STEPS, "generator", "llm", "engine", "system", "provider", "method", "approach", "strategy"),
    *("technique", "decoding", "persona", "condition", "variant", "arm", "treatment", "setting", "config"),
    *("experiment", "temperature", "top_p", "template", "prompt_template", "language", "lang"),
)
REFERENCES = (
    *("reference", "references", "gold", "gold_answer", "target", "targets", "ground_truth", "expected", "label"),
    *("expected_output", "ideal", "answers", "correct_answer", "best_answer", "canonical_solution", "rejected"),
)
# Fields that number or describe a response, and so may differ within a prompt.
_DESCRIPTIONS = re.compile(
    r"(?:.*[_. ])?(?:id|uuid|hash|idx|index|num|number|seed|sample|run|trial|attempt|epoch|repeat|rep|turn|rank|date"
    r"|time|timestamp|created|at|url|split|dataset|source|category|type|role|status|reason|score|rating|label|reward"
    r"|comment|explanation|rationale|reasoning|critique|feedback|annotator|worker|author|file|path|tokens|length|success|error|object|version)s?",
    re.IGNORECASE,
)
_WIDE = re.compile(r"(?P<stem>.*?[A-Za-z])(?:[ _.#(-]*(?P<number>\d{1,3})|[ _.#(-]+(?P<letter>[A-Za-z]))?\)?")
_NO_NAME = re.compile(r"[\d.,+-]+|true|false|yes|no|none", re.IGNORECASE)
MAX_SYSTEMS = 50
_LONGEST_NAME = 80  # letters of the value of a column that names a system


def scalar(value: Any) -> str | None:
    """Return a value that may name a system as a text; of an object, its id or name; None for texts and lists."""
    if isinstance(value, Mapping):
        value = next((value[name] for name in ("id", "name", "label") if isinstance(value.get(name), str)), None)
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    return str(value) if len(str(value)) <= _LONGEST_NAME else None


def merged_systems(columns: Mapping[str, Sequence[Any]], prompts: Sequence[str]) -> tuple[str, list[str]] | None:
    """Return the column, and its values, that tells several systems apart whose responses share prompts.

    A column of any name does so if each of its few values, which are words, occurs equally often in every prompt.
    """
    for name in sorted(columns, key=lambda name: name.lower() not in SYSTEMS):
        by_prompt: dict[str, Counter[str]] = {}
        for value, prompt in zip(columns[name], prompts, strict=True):
            if (text := scalar(value)) is not None:
                by_prompt.setdefault(prompt, Counter())[text] += 1
        values = sorted({value for counts in by_prompt.values() for value in counts})
        if not 2 <= len(values) <= MAX_SYSTEMS or all(len(counts) == 1 for counts in by_prompt.values()):
            continue
        counts = {of_prompt[value] for of_prompt in by_prompt.values() for value in values}
        crossed = (
            len(counts) == 1 and len(by_prompt) == len(set(prompts)) > 1 and not any(map(_NO_NAME.fullmatch, values))
        )
        if name.lower() in SYSTEMS or (crossed and not _DESCRIPTIONS.fullmatch(name)):
            return name, values
    return None


def same_within_prompts(values: Sequence[Any], prompts: Sequence[str]) -> bool:
    """Whether a column has one value for all rows of each prompt, and some prompts have several rows."""
    first: dict[str, Any] = {}
    same = all(first.setdefault(prompt, value) == value for value, prompt in zip(values, prompts, strict=True))
    return same and len(first) < len(prompts)


def better_columns(columns: Mapping[str, Sequence[Any]], chosen: Sequence[Any], prompts: Sequence[str]) -> list[str]:
    """Return the columns of texts that vary within prompts, if the chosen one, as a reference, does not."""
    if not same_within_prompts(chosen, prompts):
        return []
    texts = {name: cells for name, cells in columns.items() if may_be_texts(name) and _has_text(cells)}
    return [name for name, cells in texts.items() if not same_within_prompts(cells, prompts)]


def may_be_texts(name: str) -> bool:
    """Whether a column may hold responses by its name: it neither numbers nor describes them, nor names a system."""
    other = (*SYSTEMS, *REFERENCES)
    return not _DESCRIPTIONS.fullmatch(name) and not name.lower().startswith(("model", "winner")) and name not in other


def _has_text(cells: Sequence[Any]) -> bool:
    return any(isinstance(cell, str) and cell.strip() for cell in cells)


def wide_columns(names: Sequence[str], stems: Collection[str] = ()) -> list[str]:
    """Return the columns that each hold one of a prompt's responses; without stems, all must be numbered, under one.

    >>> wide_columns(["prompt", "Response 10", "Response 2", "output_A"], ["response", "output"])
    ['Response 2', 'Response 10']
    >>> wide_columns(["response", "response.1", "text"], ["response", "text"])
    ['response', 'response.1']
    """
    groups: dict[str, list[tuple[int, str, str]]] = {}
    for name in names:
        match = _WIDE.fullmatch(name)
        stem = match["stem"].lower().replace(" ", "_") if match else ""
        if match and (stem in stems or not stems):
            groups.setdefault(stem, []).append((int(match["number"] or -1), match["letter"] or "", name))
    best = max(groups.values(), key=len, default=[])
    return (
        [name for *_, name in sorted(best)]
        if len(best) > 1 and (stems or (len(best) == len(names) and best[0][0] >= 0))
        else []
    )


def repeats_itself(rows: Sequence[Any]) -> bool:
    """Whether the second half of a file repeats the first, as if it was concatenated with itself."""
    half = len(rows) // 2
    return half > 1 and len(set(rows[:half])) > 1 and list(rows[:half]) == list(rows[half:])
