"""Hold the content of an imported file: rows, reported values, and what the file states about the system."""

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeVar

from submissions.schema import Reported, Row
from submissions.storage.submission_folders import GENERATIONS_FILE, REPORTED_FILE
from submissions.untrusted.findings import Findings, Problem

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
        """Add prompts with their responses in the order of the samples, then of the rows."""
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


MAX_VALUES = 10_000
T = TypeVar("T")
_NAMES = {
    str: "a string",
    int: "a whole number",
    float: "a number",
    list: "a list",
    dict: "an object",
    bool: "a boolean",
}


class Fields:
    """One row of a file, read field by field. A method that adds a problem returns None."""

    def __init__(self, raw: Mapping[str, Any], file: str, number: int, findings: Findings) -> None:
        self.raw = raw
        self.file = file
        self.number = number
        self.findings = findings

    def problem(self, field: str, message: str, hint: str) -> None:
        """Add a problem with a field of this row."""
        self.findings.error("json", self.file, self.number, field, message, hint)

    def has(self, field: str) -> bool:
        """Whether the field is there and not null."""
        return self.raw.get(field) is not None

    def text(self, field: str) -> str | None:
        """A string that UTF-8 can hold."""
        if field not in self.raw:
            self.problem(field, "the field is missing", f"give {field} in every row")
            return None
        return self.checked_text(field, self.raw[field])

    def texts(self, field: str) -> tuple[str, ...] | None:
        """A list of such strings."""
        return self._each(field, self.checked_text)

    def reasons(self, field: str) -> tuple[str | None, ...] | None:
        """A list of strings and nulls."""
        values = self._list(field)
        if values is None:
            return None
        return tuple(
            None if value is None else self.checked_text(f"{field}[{i}]", value) for i, value in enumerate(values)
        )

    def integer(self, field: str) -> int | None:
        """A whole number."""
        return self._integer(field, self.raw[field])

    def integers(self, field: str) -> tuple[int, ...] | None:
        """A list of whole numbers."""
        return self._each(field, self._integer)

    def decimal(self, field: str) -> float | None:
        """A finite number."""
        return self._decimal(field, self.raw[field])

    def numbers(self, field: str, null_as: float | None = None) -> tuple[float, ...] | None:
        """A list of finite numbers; `null_as` replaces null if it is given."""

        def read(place: str, value: Any) -> float | None:
            return null_as if value is None and null_as is not None else self._decimal(place, value)

        return self._each(field, read)

    def _each(self, field: str, read: Callable[[str, Any], T | None]) -> tuple[T, ...] | None:
        values = self._list(field)
        if values is None:
            return None
        made = [read(f"{field}[{place}]", value) for place, value in enumerate(values)]
        whole = tuple(value for value in made if value is not None)
        return whole if len(whole) == len(made) else None

    def _list(self, field: str) -> list[Any] | None:
        """A list with no more values than any row needs, because each value could be a problem."""
        values = self.raw.get(field)
        if field not in self.raw:
            self.problem(field, "the field is missing", f"give {field} in every row")
        elif not isinstance(values, list):
            self._wrong(field, values, "a list")
        elif len(values) > MAX_VALUES:
            self.problem(field, f"{len(values):,} values", f"at most {MAX_VALUES:,} are allowed")
        else:
            return values
        return None

    def checked_text(self, field: str, value: Any) -> str | None:
        """Return a value if it is a string that UTF-8 can encode."""
        if not isinstance(value, str):
            self._wrong(field, value, "a string")
            return None
        try:
            value.encode()
        except UnicodeEncodeError:
            self.problem(field, "has an unpaired surrogate, which UTF-8 cannot encode", "write complete characters")
            return None
        return value

    def _integer(self, field: str, value: Any) -> int | None:
        if not isinstance(value, int) or isinstance(value, bool) or abs(value) >= 2**31:
            self._wrong(field, value, "a whole number of at most 31 bits")
            return None
        return value

    def _decimal(self, field: str, value: Any) -> float | None:
        if not isinstance(value, int | float) or isinstance(value, bool) or not abs(value) <= sys.float_info.max:
            self._wrong(field, value, "a finite number")
            return None
        return float(value)

    def _wrong(self, field: str, value: Any, wanted: str) -> None:
        found = "null" if value is None else _NAMES.get(type(value), type(value).__name__)
        empty = value is None and wanted == "a string"
        hint = 'an empty response is the empty string ""' if empty else "see divbench import --help for formats"
        self.problem(field, f"{found}, expected {wanted}", hint)
