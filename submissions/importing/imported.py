"""Collect the content of an imported file: rows, reported values, and what the file states about the system."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from datasets_build.schema import Suite
from submissions.checking.columns import MODELS, STEPS
from submissions.checking.prompts import OWN
from submissions.schema import Reported, Row
from submissions.storage.submission_folders import GENERATIONS_FILE, REPORTED_FILE
from submissions.untrusted.findings import Findings, Problem

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


class Answer(NamedTuple):
    """One response, in a file where each response of a prompt is separate."""

    sample: int
    row: int
    text: str
    finish_reason: str | None


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """How rows are read; paths of fields have dots, as in `response.body.choices`."""

    field: str | None = None  # field of the responses; None: detected
    prompt_field: str | None = None
    id_field: str | None = None  # of a document of lm-evaluation-harness too; doc_id: the position in the suite
    prompts: Path | None = None  # file with the prompts by id; of a batch, its requests
    by: str | None = None  # column that names the systems; NOT_SPLIT: rows differ in columns and are one system
    only: str | None = None  # the value of `by` whose rows are read
    keep_thinking: bool = False
    clean: bool = False  # whether traces of tools are removed: the table in artefacts.py


NOT_SPLIT = "none"
DEFAULT_OPTIONS = ImportOptions()


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
    cleaned: tuple[str, ...] = ()  # kinds of traces that were removed from responses

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
