"""Hold the content of an imported file: rows, reported values, and what the file states about the system."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from submissions.schema import Problem, Reported, Row
from submissions.storage.submission_folders import GENERATIONS_FILE, REPORTED_FILE

_SAMPLING = {
    "temperature": "temperature",
    "top_k": "top_k",
    "top_p": "top_p",
    "max_tokens": "max_tokens",
    "max_new_tokens": "max_tokens",
    "seed": "seed",
}
GENERATION_KWARGS = "arguments.gen_args_0.arg_1"
"""Where lm-evaluation-harness writes how a document's responses were sampled."""

# What a file may say of the system, and where it belongs in the manifest.
FACTS = {"model": ("system", "model_id")}
FACTS |= {name: ("generation", ours) for name, ours in _SAMPLING.items()}
FACTS |= {
    f"{GENERATION_KWARGS}.{name}": ("generation", ours)
    for name, ours in (_SAMPLING | {"max_gen_toks": "max_tokens", "until": "stop"}).items()
}
_PLACE = re.compile(r"(?P<name>responses|finish_reasons)\[(?P<place>\d+)\]")
_OF_ONE = {"responses": "response", "finish_reasons": "finish_reason"}  # the names where a row is one response


class Answer(NamedTuple):
    """One response where a prompt's responses stand in several places of a file.

    Attributes:
        finish_reason: Why it ended; None: unknown.
    """

    sample: int
    row: int
    text: str
    finish_reason: str | None


@dataclass(slots=True)
class Imported:
    """What a reader took from a file.

    Attributes:
        rows: One a prompt; their numbers are the file's.
        reported: Values that came with them, by prompt id, with the file's row.
        facts: Each value that the file gives for a field of the manifest, and its first row.
        unused_fields: The names of fields that were not used.
        lines: The row of each response, by prompt id, where a row is one response.
        trimmed: Number of prompts that differ from the suite's in white space at their ends, which is forgiven.
    """

    rows: list[Row] = field(default_factory=list)
    reported: dict[str, tuple[int, Reported]] = field(default_factory=dict)
    facts: dict[str, dict[Any, int]] = field(default_factory=dict)
    unused_fields: set[str] = field(default_factory=set)
    names: dict[str, str] = field(default_factory=dict)
    lines: dict[str, tuple[int, ...]] = field(default_factory=dict)
    trimmed: int = 0

    def note(self, number: int, raw: Mapping[str, Any], used: set[str]) -> None:
        """Remember what a row says of the system, and which fields nobody reads."""
        for name in FACTS:
            if isinstance(raw.get(name), str | int | float | tuple):  # a tuple is of ours: JSON has none
                self.facts.setdefault(name, {}).setdefault(raw[name], number)
        self.unused_fields |= raw.keys() - used - FACTS.keys()

    def gather_all(self, answers: Mapping[str, list[Answer]], prompts: Mapping[str, str | None]) -> None:
        """Add prompts with their responses, in the order of the samples; those of one row stay in their order.

        Args:
            prompts: Texts by prompt id; None: unknown.
        """
        for prompt_id, given in answers.items():
            if not given:
                continue
            ordered = sorted(given, key=lambda answer: (answer.sample, answer.row))
            reasons = tuple(answer.finish_reason for answer in ordered)
            known = reasons if any(reason is not None for reason in reasons) else None
            responses = tuple(answer.text for answer in ordered)
            self.rows.append(Row(ordered[0].row, prompt_id, prompts[prompt_id], responses, known))
            self.lines[prompt_id] = tuple(answer.row for answer in ordered)

    def in_source(self, problem: Problem, file: str, reported: Sequence[int]) -> Problem:
        """A problem of our files as one of the file that was read, with its row and its name of the field."""
        if problem.file not in {GENERATIONS_FILE, REPORTED_FILE}:
            return problem
        row, name = problem.row, problem.field
        if row is not None and problem.file == REPORTED_FILE:
            row = reported[row - 1]
        place = _PLACE.fullmatch(name)
        lines = next((self.lines[r.prompt_id] for r in self.rows if r.number == row and r.prompt_id in self.lines), ())
        if place and lines:
            row, name = lines[int(place["place"])], _OF_ONE[place["name"]]
        ours = name.partition("[")[0]
        return replace(problem, file=file, row=row, field=self.names.get(ours, ours) + name.removeprefix(ours))
