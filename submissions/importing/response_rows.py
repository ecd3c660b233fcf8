"""Read rows of responses under common field names: JSON Lines, CSV or Parquet.

A row holds a prompt with a list of responses, or a single response. The field of the responses is detected by its
name; if several fields qualify, the user must name one. Prompts are identified by their ids, otherwise by their texts:
a file may number its rows.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any, Literal

from datasets_build.schema import Suite
from submissions.checking.prompts import OWN
from submissions.importing.imported import FACTS, STEPS, Answer, Fields, Imported
from submissions.schema import Row
from submissions.untrusted.findings import Findings
from submissions.untrusted.json_files import read_jsonl
from submissions.untrusted.table_files import read_columns

LISTS = ("responses", "generations", "outputs", "completions", "samples", "texts")
"""Fields that hold a list of responses; the first is ours."""
TEXTS = (
    *("response", "generation", "output", "completion", "sample", "text", "answer"),
    *("prediction", "generated_text", "output_text", "model_answer", "model_output", "model_response"),
)
"""Fields that hold one response; the first is ours. With several of the others, such as a reference `answer`, which one
is not clear.
"""
IDS = ("prompt_id", "id")
PROMPTS = ("prompt", "instruction", "question")
MORE_OF_A_PROMPT = ("context", "input", "passage", "system_prompt", *PROMPTS)
"""Fields that are part of the prompt, beside the one that is taken for its text."""
OURS = (LISTS[0], LISTS[1], TEXTS[0])
_REASONS = ("finish_reasons", "finish_reason")
_BESIDE = ("sample_idx", *_REASONS)
_SHOWN = 5
_NUMBERED = re.compile(r"\D+\d+")  # names of columns that each hold one of a prompt's responses
_OTHER_PROMPTS = "choose another --suite (own: your own prompts), or sample the prompts of divbench data prompts"


@dataclass(slots=True)
class _Names:
    """Names of the file's fields."""

    responses: str
    is_list: bool
    prompt: str | None
    id: str | None


@dataclass(slots=True)
class Prompts:
    """Finds the prompts that rows belong to."""

    suite: Suite | None
    by_text: dict[str, str] = field(default_factory=dict)  # ids by text, without white space at its ends
    # Ids of prompts that differ from the suite's only in white space at their ends.
    trimmed: set[str] = field(default_factory=set)
    unknown: list[int] = field(default_factory=list)  # rows whose prompts are not the suite's

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

    def report_unknown(self, name: str, file: str, findings: Findings, hint: str) -> None:
        """Add the rows whose prompts are not the suite's as one problem; nothing if there are none."""
        rows, count = self.unknown, len(self.unknown)
        if not rows:
            return
        shown = ", ".join(map(str, rows[:_SHOWN])) + (", …" if count > _SHOWN else "")
        which = "1 row has a prompt" if count == 1 else f"{count} rows have prompts"
        message = f"{which} not in {self.suite.name if self.suite else OWN}: {shown}"
        findings.error("prompt_text", file, rows[0] if count == 1 else None, name, message, hint)


def read_response_rows(
    path: Path,
    findings: Findings,
    suite: Suite | None = None,
    responses: str | None = None,
    kind: Literal["jsonl", "csv", "parquet"] = "jsonl",
) -> Imported:
    """Read a file of responses.

    Rows of one response may have `sample_idx`; without it they are in the file's order.
    """
    made = Imported()
    rows = _rows(path, kind, responses, findings)
    first = next(rows, None)
    names = None if first is None else _names(first[1], chain([first], rows), responses, path.name, findings)
    if first is None or names is None:
        return made
    made.names = {"prompt": names.prompt or "prompt", "prompt_id": names.id or "prompt_id"}
    made.names["responses" if names.is_list else "response"] = names.responses
    prompts = Prompts(suite)
    samples: dict[str, list[Answer]] = {}
    texts: dict[str, tuple[str | None, int]] = {}
    more: dict[tuple[str, str], tuple[Any, int]] = {}
    for number, raw in chain([first], rows):
        fields = Fields(raw, path.name, number, findings)
        name, is_list = _field_of(raw, names)
        prompt = fields.text(names.prompt) if names.prompt is not None and names.prompt in raw else None
        prompt_id = _prompt_id(fields, names, prompt, prompts)
        if prompt_id is not None:
            prompt = prompts.text_of(prompt_id, prompt)
        used = {*IDS, names.prompt or "prompt", name}
        if is_list:
            reason_field = next((name for name in _REASONS if raw.get(name) is not None), _REASONS[0])
            used.add(reason_field)
            found = fields.texts(name)
            reasons = fields.reasons(reason_field) if raw.get(reason_field) is not None else None
            if prompt_id is not None and found is not None:
                made.rows.append(Row(number, prompt_id, prompt, found, reasons))
        else:
            used |= {"sample_idx", "finish_reason"}
            place = fields.integer("sample_idx") if "sample_idx" in raw else len(samples.get(prompt_id or "", ()))
            response = fields.text(name)
            reason = fields.text("finish_reason") if raw.get("finish_reason") is not None else None
            if prompt_id is not None and response is not None and place is not None:
                _same_prompt(fields, prompt_id, prompt, texts)
                if suite is None and names.id is None:
                    _same_beside_prompt(fields, prompt_id, names.prompt or "prompt", more)
                samples.setdefault(prompt_id, []).append(Answer(place, number, response, reason))
        made.note(number, raw, used)
    for prompt_id, of_prompt in samples.items():
        _numbered_once(prompt_id, of_prompt, path.name, findings)
    made.gather_all(samples, {prompt_id: prompt for prompt_id, (prompt, _) in texts.items()})
    _check_lists_as_texts(samples, names.responses, path.name, findings)
    prompts.report_unknown(names.prompt or "prompt", path.name, findings, _OTHER_PROMPTS)
    if suite is not None and made.rows and suite.by_id.keys().isdisjoint(row.prompt_id for row in made.rows):
        message = f"no row has a prompt id of {suite.name}; the first is {made.rows[0].prompt_id!r}"
        findings.error("prompt_ids", path.name, None, names.id or IDS[0], message, _OTHER_PROMPTS)
    made.trimmed = len(prompts.trimmed)
    return made


def _rows(path: Path, kind: str, responses: str | None, findings: Findings) -> Iterator[tuple[int, dict[str, Any]]]:
    if kind == "jsonl":
        yield from read_jsonl(path, findings)
        return
    texts = {*LISTS, *TEXTS, *([responses] if responses else [])}
    wanted = [*texts, *IDS, *PROMPTS, *MORE_OF_A_PROMPT, *_BESIDE, *FACTS, *STEPS]
    table = read_columns(path, wanted, findings, ending=f".{kind}")
    if table is None:
        return
    unread = dict.fromkeys(name for name in table.names if name not in texts | _KNOWN)  # named as not used
    for number, row in table.rows:
        if kind == "csv":  # all its cells are strings; an empty one is missing, except for a response
            typed = {name: _typed(name, cell, path.name, number, findings) for name, cell in row.items()}
            cells = {name: value for name, value in typed.items() if value not in (None, "") or name in texts}
        else:
            cells = row
        yield number, cells | unread


_WHOLE = ("sample_idx", "top_k", "max_tokens", "max_new_tokens", "seed")
_DECIMAL = ("temperature", "top_p")
_KNOWN = {*LISTS, *TEXTS, *IDS, *PROMPTS, *MORE_OF_A_PROMPT, *_BESIDE, *FACTS, *STEPS}


def _typed(name: str, cell: str, file: str, number: int, findings: Findings) -> str | int | float | None:
    """Convert a cell of CSV; None for an empty number."""
    if name not in _WHOLE and name not in _DECIMAL:
        return cell
    try:
        if len(cell) > 40:  # more digits than any number needs
            raise ValueError
        return None if cell == "" else int(cell) if name in _WHOLE else float(cell)
    except ValueError:
        wanted = "a whole number" if name in _WHOLE else "a number"
        findings.error("csv", file, number, name, f"is not {wanted}", "write digits, or leave it empty")
        return None


def _names(
    raw: Mapping[str, Any],
    rows: Iterator[tuple[int, dict[str, Any]]],
    responses: str | None,
    file: str,
    findings: Findings,
) -> _Names | None:
    """Find the fields from the first row; report a problem of the file if they are not clear."""
    prompt = next((name for name in PROMPTS if name in raw), None)
    by_id = next((name for name in IDS if name in raw), None)
    if prompt is None and by_id is None:
        message = f"rows have neither an id nor the text of their prompt; they have {_quoted(raw)}"
        hint = "give each row prompt_id or prompt: divbench data prompts writes those of a suite"
        findings.error("json", file, None, "prompt_id", message, hint)
        return None
    ours = [name for name in OURS if name in raw]
    there = [name for name in (*LISTS, *TEXTS) if isinstance(raw.get(name), list | str)]
    chosen = responses or (ours or there if len(ours or there) else [None])[0]
    if responses is None and not ours and len(there) != 1:
        others = [
            name for name, value in raw.items() if _is_text(value) and name not in (prompt, by_id, *FACTS, *STEPS)
        ]
        counts = Counter(name for _, row in rows for name in (there or others) if name in row)
        if not counts:
            message = f"no field has a usual name of responses; rows have {_quoted(raw)}"
            hint = "name the field of the responses: --field NAME"
        else:
            shown = counts.most_common(_SHOWN)
            found = ", ".join(f"{count} rows have {name!r}" for name, count in shown)
            message = f"which field holds the responses? {found}"
            hint = f"name it: {' or '.join(f'--field {name}' for name, _ in shown)}"
        if len([name for name in raw if _NUMBERED.fullmatch(name)]) > 1:
            hint = "write one row per response instead of one column; or name the only one to read: --field NAME"
        findings.error("json", file, None, "responses", message, hint)
        return None
    assert chosen is not None  # noqa: S101 - one is given, ours, or the only one
    if chosen not in raw:
        message = f"rows have no such field; they have {_quoted(raw)}"
        findings.error("json", file, None, chosen, message, "name the field of the responses: --field")
        return None
    value = raw[chosen]  # if it is neither a list nor a text, the name tells which of them it should be
    is_list = chosen != TEXTS[0] and (isinstance(value, list) or (chosen in LISTS[:2] and not isinstance(value, str)))
    return _Names(chosen, is_list, prompt, by_id)


def _field_of(raw: Mapping[str, Any], names: _Names) -> tuple[str, bool]:
    """Return the field of a row's responses, and whether it is a list: with our field names, rows may be mixed."""
    if names.responses not in OURS:
        return names.responses, names.is_list
    name = next((name for name in (names.responses, *OURS) if raw.get(name) is not None), names.responses)
    return name, names.is_list if name == names.responses else name != TEXTS[0]


def _prompt_id(fields: Fields, names: _Names, prompt: str | None, prompts: Prompts) -> str | None:
    if names.id is None:
        if prompt is None:
            if names.prompt not in fields.raw:  # else it is of a wrong type, which is reported
                fields.problem(names.prompt or "prompt", "the field is missing", "give the prompt in every row")
            return None
        return prompts.id_of(prompt, fields.number)
    name = IDS[0] if IDS[0] in fields.raw or IDS[1] not in fields.raw else IDS[1]
    value = fields.raw.get(name)
    whole = isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63
    prompt_id = str(value) if whole else fields.text(name)
    if prompt is None or prompt_id is None or prompts.suite is None or prompt_id in prompts.suite.by_id:
        return prompt_id
    return prompts.by_text.get(prompt.strip(), prompt_id)  # the number of a row, beside a text that is the suite's


def _is_text(value: Any) -> bool:
    return isinstance(value, str) or (isinstance(value, list) and bool(value) and isinstance(value[0], str))


def _quoted(raw: Mapping[str, Any]) -> str:
    return ", ".join(map(repr, list(raw)[:20])) or "no field"


def _same_prompt(fields: Fields, prompt_id: str, prompt: str | None, texts: dict[str, tuple[str | None, int]]) -> None:
    known, row = texts.setdefault(prompt_id, (prompt, fields.number))
    if (known or "").strip() != (prompt or "").strip():
        fields.problem("prompt", f"differs from {prompt_id}'s text in row {row}", "give one text for each prompt id")


def _same_beside_prompt(
    fields: Fields, prompt_id: str, prompt: str, more: dict[tuple[str, str], tuple[Any, int]]
) -> None:
    """Report a row whose prompt is that of an earlier row, but whose context is not: their prompts are different."""
    for name in MORE_OF_A_PROMPT:
        if name == prompt:
            continue
        value = fields.raw.get(name)
        known, row = more.setdefault((prompt_id, name), (value, fields.number))
        if known != value:
            message = f"differs from row {row}, which has the same {prompt!r}, so they have different prompts"
            fields.problem(name, message, f"write both into a field 'prompt', or give each prompt an {IDS[1]!r}")


def _numbered_once(prompt_id: str, answers: list[Answer], file: str, findings: Findings) -> None:
    counts = Counter(answer.sample for answer in answers)
    for sample, row, *_ in answers:
        if counts[sample] > 1:
            message = f"{prompt_id} has sample_idx {sample} {counts[sample]} times"
            hint = "number the samples of a prompt 0, 1, 2, …"
            findings.error("json", file, row, "sample_idx", message, hint)


def _check_lists_as_texts(samples: Mapping[str, list[Answer]], name: str, file: str, findings: Findings) -> None:
    """Report lists that were written as texts, as pandas writes them to CSV: each would count as one response."""
    texts = [answers[0].text for answers in samples.values() if len(answers) == 1]
    if texts and len(texts) == len(samples) and all(text[:1] + text[-1:] == "[]" for text in texts):
        message = f"each row has a list that was written as a text, such as {texts[0][:40]!r}"
        findings.error("json", file, None, name, message, "write one row per response, or JSON Lines")
