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
"""Field in which lm-evaluation-harness writes the sampling parameters of a document's responses."""

MODELS = ("model", "model_id", "model_name")
"""Fields that name the model: a submission has one."""
STEPS = ("step", "global_step", "checkpoint")
"""Fields that name a step of training, each of which is a system of its own."""

# Fields that describe the system, and their places in the manifest.
FACTS = dict.fromkeys(MODELS, ("system", "model_id")) | {"system_prompt": ("generation", "system_prompt")}
FACTS |= {name: ("generation", ours) for name, ours in _SAMPLING.items()}
FACTS |= {
    f"{GENERATION_KWARGS}.{name}": ("generation", ours)
    for name, ours in (_SAMPLING | {"max_gen_toks": "max_tokens", "until": "stop"}).items()
}
_PLACE = re.compile(r"(?P<name>responses|finish_reasons)\[(?P<place>\d+)\]")
_OF_ONE = {"responses": "response", "finish_reasons": "finish_reason"}  # names of fields if a row is one response


class Answer(NamedTuple):
    """One response, in a file where each response of a prompt is separate."""

    sample: int
    row: int
    text: str
    finish_reason: str | None


@dataclass(slots=True)
class Imported:
    """The content of an imported file."""

    rows: list[Row] = field(default_factory=list)  # one per prompt, with the row numbers of the file
    # Reported values by prompt id, with their row in the file.
    reported: dict[str, tuple[int, Reported]] = field(default_factory=dict)
    # By field of `FACTS` and `STEPS`, each value in the file and its first row.
    facts: dict[str, dict[Any, int]] = field(default_factory=dict)
    unused_fields: set[str] = field(default_factory=set)
    names: dict[str, str] = field(default_factory=dict)  # names of our fields in the file, by our names
    # Row of each response, by prompt id, if a row is one response.
    lines: dict[str, tuple[int, ...]] = field(default_factory=dict)
    # Number of prompts that differ from the suite's only in white space at their ends, which is accepted.
    trimmed: int = 0

    def note(self, number: int, raw: Mapping[str, Any], used: set[str]) -> None:
        """Record what a row states about the system, and its unused fields."""
        # A row without a system prompt differs from one that has it. Only readers make tuples: JSON has none.
        stated = {name: raw[name] for name in (*FACTS, *STEPS) if isinstance(raw.get(name), str | int | float | tuple)}
        for name, value in ({"system_prompt": ""} | stated).items():
            self.facts.setdefault(name, {}).setdefault(value, number)
        self.unused_fields |= raw.keys() - used - FACTS.keys()

    def gather_all(self, answers: Mapping[str, list[Answer]], prompts: Mapping[str, str | None]) -> None:
        """Add prompts with their responses in the order of the samples, then of the rows.

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
        """Convert a problem in our files to one in the imported file, with its row and field name."""
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
