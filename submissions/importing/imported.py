"""Collect the content of an imported file: rows, reported values, and what the file states about the system."""

import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from datasets_build.schema import Suite
from submissions.checking.prompts import OWN
from submissions.schema import Reported, Row
from submissions.storage.submission_folders import GENERATIONS_FILE, REPORTED_FILE
from submissions.untrusted.findings import Findings, Problem

MAX_VALUES = 10_000
MODELS = ("model", "model_id", "model_name")  # fields that name the model: a submission has one
STEPS = ("step", "global_step", "checkpoint")  # fields that name a step of training, each of which is a system
GENERATION_KWARGS = "arguments.gen_args_0.arg_1"  # where lm-evaluation-harness writes the sampling parameters
_SAMPLING = {name: name for name in ("temperature", "top_k", "top_p", "max_tokens", "seed")}
_SAMPLING |= {"max_new_tokens": "max_tokens"}
# Fields that describe the system, and their parts and fields in the manifest.
FACTS = dict.fromkeys(MODELS, ("system", "model_id")) | {"system_prompt": ("generation", "system_prompt")}
FACTS |= {name: ("generation", ours) for name, ours in _SAMPLING.items()}
GENERATION_CONFIG = "generation_config"  # where NoveltyBench's rows have them
FACTS |= {
    f"{GENERATION_CONFIG}.{name}": ("generation", ours) for name, ours in (_SAMPLING | {"sampling": "mode"}).items()
}
FACTS |= {
    f"{GENERATION_KWARGS}.{name}": ("generation", ours)
    for name, ours in (_SAMPLING | {"max_gen_toks": "max_tokens", "until": "stop"}).items()
}
_ITEM = re.compile(r"(?P<name>responses|finish_reasons)\[(?P<index>\d+)\]")
_OF_ONE = {"responses": "response", "finish_reasons": "finish_reason"}  # names of fields if a row is one response
_SHOWN = 5
_TYPES = {
    str: "a string",
    int: "a whole number",
    float: "a number",
    list: "a list",
    dict: "an object",
    bool: "a boolean",
}
T = TypeVar("T")


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
    file: str = ""  # name of the file with the rows, if several files were read
    sources: dict[str, Path] = field(default_factory=dict)  # by name, all files that were read, if several were
    # Reported values by prompt id and version, with their file and row.
    reported: dict[tuple[str, str], tuple[str, int, Reported]] = field(default_factory=dict)
    reported_by: str = ""  # what made the reported values, as far as the files state it
    # By field of `FACTS` and `STEPS`, each value in the file and its first row.
    facts: dict[str, dict[Any, int]] = field(default_factory=dict)
    unused_fields: set[str] = field(default_factory=set)
    names: dict[str, str] = field(default_factory=dict)  # names of our fields in the file, by our names
    # Row of each response, by prompt id, if a row is one response.
    lines: dict[str, tuple[int, ...]] = field(default_factory=dict)
    trimmed: int = 0  # number of prompts that differ from the suite's only in white space at their ends

    def note(self, number: int, raw: Mapping[str, Any], used: set[str]) -> None:
        """Record what a row states about the system, and its unused fields."""
        # A row without a system prompt differs from one that has it. Only readers make tuples: JSON has none.
        stated = {name: raw[name] for name in (*FACTS, *STEPS) if isinstance(raw.get(name), str | int | float | tuple)}
        for name, value in ({"system_prompt": ""} | stated).items():
            self.facts.setdefault(name, {}).setdefault(value, number)
        self.unused_fields |= raw.keys() - used - FACTS.keys()

    def in_source(self, problem: Problem, file: str, reported: Sequence[tuple[str, int]]) -> Problem:
        """Convert a problem in our files to one in the imported file, with its row and field name.

        `reported` has the file and row of each of our reported rows.
        """
        if problem.file not in {GENERATIONS_FILE, REPORTED_FILE}:
            return problem
        row, name = problem.row, problem.field
        if row is not None and problem.file == REPORTED_FILE:
            file, row = reported[row - 1]
        item = _ITEM.fullmatch(name)
        lines = next((self.lines[r.prompt_id] for r in self.rows if r.number == row and r.prompt_id in self.lines), ())
        if item and lines:
            row, name = lines[int(item["index"])], _OF_ONE[item["name"]]
        ours = name.partition("[")[0]
        return replace(problem, file=file, row=row, field=self.names.get(ours, ours) + name.removeprefix(ours))


class Fields:
    """One row of a file, read field by field. A method that adds a problem returns None."""

    def __init__(self, raw: Mapping[str, Any], file: str, number: int, findings: Findings) -> None:
        self.raw, self.file, self.number, self.findings = raw, file, number, findings

    def problem(self, field: str, message: str, hint: str, check: str = "json") -> None:
        """Add a problem with a field of this row."""
        self.findings.error(check, self.file, self.number, field, message, hint)

    def has(self, field: str) -> bool:
        """Whether the field is there and not null."""
        return self.raw.get(field) is not None

    def text(self, field: str) -> str | None:
        """Return a string that UTF-8 can encode."""
        return self.checked_text(field, self.raw[field]) if self._is_given(field) else None

    def texts(self, field: str) -> tuple[str, ...] | None:
        """Return a list of such strings."""
        return self._all(field, self.checked_text)

    def reasons(self, field: str) -> tuple[str | None, ...] | None:
        """Return a list of strings and nulls."""
        values = self._list(field)
        if values is None:
            return None
        items = enumerate(values)
        return tuple(None if value is None else self.checked_text(f"{field}[{i}]", value) for i, value in items)

    def integer(self, field: str) -> int | None:
        """Return a whole number."""
        return self._integer(field, self.raw[field])

    def integers(self, field: str) -> tuple[int, ...] | None:
        """Return a list of whole numbers."""
        return self._all(field, self._integer)

    def decimal(self, field: str) -> float | None:
        """Return a finite number."""
        return self._decimal(field, self.raw[field])

    def numbers(self, field: str, null_as: float | None = None) -> tuple[float, ...] | None:
        """Return a list of finite numbers; `null_as` replaces null if it is given."""

        def read(name: str, value: Any) -> float | None:
            return null_as if value is None and null_as is not None else self._decimal(name, value)

        return self._all(field, read)

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

    def _all(self, field: str, read: Callable[[str, Any], T | None]) -> tuple[T, ...] | None:
        values = self._list(field)
        if values is None:
            return None
        items = [read(f"{field}[{i}]", value) for i, value in enumerate(values)]
        valid = tuple(item for item in items if item is not None)
        return valid if len(valid) == len(items) else None

    def _list(self, field: str) -> list[Any] | None:
        """Return a list with no more values than any row needs, because each value could be a problem."""
        if not self._is_given(field):
            return None
        values = self.raw[field]
        if isinstance(values, list) and len(values) <= MAX_VALUES:
            return values
        if isinstance(values, list):
            self.problem(field, f"{len(values):,} values", f"at most {MAX_VALUES:,} are allowed")
        else:
            self._wrong(field, values, "a list")
        return None

    def _is_given(self, field: str) -> bool:
        if field not in self.raw:
            self.problem(field, "the field is missing", f"give {field} in every row")
        return field in self.raw

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
        kind = "null" if value is None else _TYPES.get(type(value), type(value).__name__)
        empty = value is None and wanted == "a string"
        hint = 'an empty response is the empty string ""' if empty else "see divbench import --help for formats"
        self.problem(field, f"{kind}, expected {wanted}", hint)


@dataclass(slots=True)
class Prompts:
    """Matches rows with the prompts of a suite, or numbers own prompts, and collects separate responses by prompt."""

    suite: Suite | None
    by_text: dict[str, str] = field(default_factory=dict)  # ids by text, without white space at its ends
    # Ids of prompts that differ from the suite's only in white space at their ends.
    trimmed: set[str] = field(default_factory=set)
    unknown: list[int] = field(default_factory=list)  # rows whose prompts are not the suite's
    answers: dict[str, list[Answer]] = field(default_factory=dict)  # responses by prompt id
    texts: dict[str, str | None] = field(default_factory=dict)  # texts of their prompts

    def __post_init__(self) -> None:
        for prompt in self.suite.prompts if self.suite else ():
            self.by_text.setdefault(prompt.prompt.strip(), prompt.prompt_id)

    def id_of(self, prompt: str, number: int) -> str | None:
        """Return the id of the prompt with a text; own prompts are numbered."""
        key = prompt.strip()
        if self.suite is None:
            return self.by_text.setdefault(key, f"p{len(self.by_text) + 1:04}")
        if key not in self.by_text:
            self.unknown.append(number)
        return self.by_text.get(key)

    def text_of(self, prompt_id: str, prompt: str | None) -> str | None:
        """Return the given text, or the suite's if they differ only in white space at their ends."""
        known = None if self.suite is None else self.suite.by_id.get(prompt_id)
        if prompt is None or known is None or prompt == known.prompt or prompt.strip() != known.prompt.strip():
            return prompt
        self.trimmed.add(prompt_id)
        return known.prompt

    def add(self, prompt_id: str, prompt: str | None, answers: Iterable[Answer]) -> None:
        """Add responses to a prompt, whose text is that of its first row."""
        self.texts.setdefault(prompt_id, self.text_of(prompt_id, prompt))
        self.answers.setdefault(prompt_id, []).extend(answers)

    def gather(self, imported: Imported, name: str, file: str, findings: Findings, hint: str) -> None:
        """Make rows of the responses in the order of the samples, then of the file; report unknown prompts once."""
        for prompt_id, answers in self.answers.items():
            ordered = sorted(answers, key=lambda answer: (answer.sample, answer.row))
            reasons = tuple(answer.finish_reason for answer in ordered)
            known = reasons if any(reason is not None for reason in reasons) else None
            texts = tuple(answer.text for answer in ordered)
            if ordered:
                imported.rows.append(Row(ordered[0].row, prompt_id, self.texts[prompt_id], texts, known))
                imported.lines[prompt_id] = tuple(answer.row for answer in ordered)
        imported.trimmed = len(self.trimmed)
        rows, count = self.unknown, len(self.unknown)
        if rows:
            shown = ", ".join(map(str, rows[:_SHOWN])) + (", …" if count > _SHOWN else "")
            which = "1 row has a prompt" if count == 1 else f"{count} rows have prompts"
            message = f"{which} not in {self.suite.name if self.suite else OWN}: {shown}"
            findings.error("prompt_text", file, rows[0] if count == 1 else None, name, message, hint)
