"""Read rows of responses under common field names: JSON Lines, CSV or Parquet.

A row holds a prompt with a list of responses, or a single response. The field of the responses is detected by its
name; if several fields qualify, the user must name one. Prompts are identified by their ids, otherwise by their texts:
a file may number its rows.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any, Literal, NamedTuple

from datasets_build.schema import Suite
from submissions.importing.imported import FACTS, STEPS, Answer, Fields, Imported, Prompts
from submissions.schema import Row
from submissions.untrusted.findings import Findings
from submissions.untrusted.json_files import read_jsonl
from submissions.untrusted.table_files import as_id, read_columns

# Fields that hold a list of responses; the first is ours.
LISTS = ("responses", "generations", "outputs", "completions", "samples", "texts")
# Fields that hold one response; the first is ours. With several of the others, such as a reference `answer`, which one
# is not clear.
TEXTS = (
    *("response", "generation", "output", "completion", "sample", "text", "answer"),
    *("prediction", "generated_text", "output_text", "model_answer", "model_output", "model_response"),
)
IDS = ("prompt_id", "id")
PROMPTS = ("prompt", "instruction", "question")
# Fields that are part of the prompt, beside the one that is taken for its text.
MORE_OF_A_PROMPT = ("context", "input", "passage", "system_prompt", *PROMPTS)
OURS = (LISTS[0], LISTS[1], TEXTS[0])
_REASONS = ("finish_reasons", "finish_reason")
_INTEGERS = ("sample_idx", "top_k", "max_tokens", "max_new_tokens", "seed")
_NUMBERS = ("temperature", "top_p", *_INTEGERS)
_KNOWN = {*LISTS, *TEXTS, *IDS, *PROMPTS, *MORE_OF_A_PROMPT, "sample_idx", *_REASONS, *FACTS, *STEPS}
_SHOWN = 5
_NUMBERED = re.compile(r"\D+\d+")  # names of columns that each hold one of a prompt's responses
_OTHER_PROMPTS = "choose another --suite (own: your own prompts), or sample the prompts of divbench data prompts"


class _Names(NamedTuple):
    """Names of the file's fields."""

    responses: str
    is_list: bool
    prompt: str | None
    id: str | None


def read_response_rows(
    path: Path,
    findings: Findings,
    suite: Suite | None = None,
    responses: str | None = None,
    kind: Literal["jsonl", "csv", "parquet"] = "jsonl",
) -> Imported:
    """Read a file of responses; rows of one response have `sample_idx`, or are in the order of the samples."""
    imported = Imported()
    rows = _rows(path, kind, responses, findings)
    first = next(rows, None)
    names = None if first is None else _names(first[1], chain([first], rows), responses, path.name, findings)
    if first is None or names is None:
        return imported
    imported.names = {"prompt": names.prompt or "prompt", "prompt_id": names.id or "prompt_id"}
    imported.names["responses" if names.is_list else "response"] = names.responses
    prompts = Prompts(suite)
    earlier: dict[tuple[str, str], tuple[Any, int]] = {}
    for number, raw in chain([first], rows):
        fields = Fields(raw, path.name, number, findings)
        name, is_list = _field_of(raw, names)
        prompt = fields.text(names.prompt) if names.prompt is not None and names.prompt in raw else None
        prompt_id = _prompt_id(fields, names, prompt, prompts)
        used = {*IDS, names.prompt or "prompt", name}
        if is_list:
            reason_field = next((name for name in _REASONS if fields.has(name)), _REASONS[0])
            used.add(reason_field)
            texts = fields.texts(name)
            reasons = fields.reasons(reason_field) if fields.has(reason_field) else None
            if prompt_id is not None and texts is not None:
                imported.rows.append(Row(number, prompt_id, prompts.text_of(prompt_id, prompt), texts, reasons))
        else:
            used |= {"sample_idx", "finish_reason"}
            count = len(prompts.answers.get(prompt_id or "", ()))
            sample = fields.integer("sample_idx") if "sample_idx" in raw else count
            text = fields.text(name)
            reason = fields.text("finish_reason") if fields.has("finish_reason") else None
            if prompt_id is not None and text is not None and sample is not None:
                _compare_prompts(fields, prompt_id, prompt, names, earlier, own=suite is None)
                prompts.add(prompt_id, prompt, [Answer(sample, number, text, reason)])
        imported.note(number, raw, used)
    _check_samples(prompts.answers, names.responses, path.name, findings)
    prompts.gather(imported, names.prompt or "prompt", path.name, findings, _OTHER_PROMPTS)
    if suite is not None and imported.rows and suite.by_id.keys().isdisjoint(row.prompt_id for row in imported.rows):
        message = f"no row has a prompt id of {suite.name}; the first is {imported.rows[0].prompt_id!r}"
        findings.error("prompt_ids", path.name, None, names.id or IDS[0], message, _OTHER_PROMPTS)
    return imported


def _rows(path: Path, kind: str, responses: str | None, findings: Findings) -> Iterator[tuple[int, dict[str, Any]]]:
    if kind == "jsonl":
        yield from read_jsonl(path, findings)
        return
    known = _KNOWN | ({responses} if responses else set())
    table = read_columns(path, sorted(known), findings, ending=f".{kind}")
    if table is None:
        return
    unread = dict.fromkeys(name for name in table.names if name not in known)  # named as not used
    texts = {*LISTS, *TEXTS, responses}
    for number, row in table.rows:
        if kind == "csv":  # all its cells are strings; an empty one is missing, except for a response
            typed = {name: _typed(name, cell, path.name, number, findings) for name, cell in row.items()}
            values = {name: value for name, value in typed.items() if value not in (None, "") or name in texts}
        else:
            values = row
        yield number, values | unread


def _typed(name: str, cell: str, file: str, number: int, findings: Findings) -> str | int | float | None:
    """Convert a cell of CSV; None for an empty number."""
    if name not in _NUMBERS:
        return cell
    try:
        if len(cell) > 40:  # more digits than any number needs
            raise ValueError
        return None if cell == "" else int(cell) if name in _INTEGERS else float(cell)
    except ValueError:
        wanted = "a whole number" if name in _INTEGERS else "a number"
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
    shown = ", ".join(map(repr, list(raw)[:20])) or "no field"
    prompt = next((name for name in PROMPTS if name in raw), None)
    by_id = next((name for name in IDS if name in raw), None)
    if prompt is None and by_id is None:
        message = f"rows have neither an id nor the text of their prompt; they have {shown}"
        hint = "give each row prompt_id or prompt: divbench data prompts writes those of a suite"
        findings.error("json", file, None, "prompt_id", message, hint)
        return None
    ours = [name for name in OURS if name in raw]
    usual = [name for name in (*LISTS, *TEXTS) if isinstance(raw.get(name), list | str)]
    chosen = responses or (ours or usual or [""])[0]
    if responses is None and not ours and len(usual) != 1:
        others = [
            name for name, value in raw.items() if _is_text(value) and name not in (prompt, by_id, *FACTS, *STEPS)
        ]
        counts = Counter(name for _, row in rows for name in (usual or others) if name in row).most_common(_SHOWN)
        message = (
            f"which field holds the responses? {', '.join(f'{count} rows have {name!r}' for name, count in counts)}"
        )
        hint = f"name it: {' or '.join(f'--field {name}' for name, _ in counts)}"
        if not counts:
            message = f"no field has a usual name of responses; rows have {shown}"
            hint = "name the field of the responses: --field NAME"
        if len([name for name in raw if _NUMBERED.fullmatch(name)]) > 1:
            hint = "write one row per response instead of one column; or name the only one to read: --field NAME"
        findings.error("json", file, None, "responses", message, hint)
        return None
    if chosen not in raw:
        message = f"rows have no such field; they have {shown}"
        findings.error("json", file, None, chosen, message, "name the field of the responses: --field")
        return None
    value = raw[chosen]  # if it is neither a list nor a text, the name tells which of them it should be
    is_list = chosen != TEXTS[0] and (isinstance(value, list) or (chosen in LISTS[:2] and not isinstance(value, str)))
    return _Names(chosen, is_list, prompt, by_id)


def _is_text(value: Any) -> bool:
    return isinstance(value, str) or (isinstance(value, list) and bool(value) and isinstance(value[0], str))


def _field_of(raw: Mapping[str, Any], names: _Names) -> tuple[str, bool]:
    """Return the field of a row's responses, and whether it is a list: with our field names, rows may be mixed."""
    if names.responses not in OURS:
        return names.responses, names.is_list
    name = next((name for name in (names.responses, *OURS) if raw.get(name) is not None), names.responses)
    return name, names.is_list if name == names.responses else name != TEXTS[0]


def _prompt_id(fields: Fields, names: _Names, prompt: str | None, prompts: Prompts) -> str | None:
    if names.id is None and prompt is not None:
        return prompts.id_of(prompt, fields.number)
    if names.id is None:
        if names.prompt not in fields.raw:  # else it is of a wrong type, which is reported
            fields.problem(names.prompt or "prompt", "the field is missing", "give the prompt in every row")
        return None
    name = IDS[0] if IDS[0] in fields.raw or IDS[1] not in fields.raw else IDS[1]
    value = fields.raw.get(name)
    prompt_id = as_id(value) if isinstance(value, int) else fields.text(name)
    if prompt is None or prompt_id is None or prompts.suite is None or prompt_id in prompts.suite.by_id:
        return prompt_id
    return prompts.by_text.get(prompt.strip(), prompt_id)  # the number of a row, beside a text that is the suite's


def _compare_prompts(
    fields: Fields,
    prompt_id: str,
    prompt: str | None,
    names: _Names,
    earlier: dict[tuple[str, str], tuple[Any, int]],
    *,
    own: bool,
) -> None:
    """Report a row whose prompt differs from that of an earlier row of the same id, or whose context does."""
    text, row = earlier.setdefault((prompt_id, ""), ((prompt or "").strip(), fields.number))
    if text != (prompt or "").strip():
        fields.problem("prompt", f"differs from {prompt_id}'s text in row {row}", "give one text for each prompt id")
    for name in MORE_OF_A_PROMPT if own and names.id is None else ():
        value = fields.raw.get(name)
        known, row = earlier.setdefault((prompt_id, name), (value, fields.number))
        if name != names.prompt and known != value:
            message = f"differs from row {row}, which has the same {names.prompt!r}, so they have different prompts"
            fields.problem(name, message, f"write both into a field 'prompt', or give each prompt an {IDS[1]!r}")


def _check_samples(answers: Mapping[str, list[Answer]], name: str, file: str, findings: Findings) -> None:
    """Report repeated sample numbers, and lists that pandas wrote to CSV as texts: each would count as one response."""
    for prompt_id, of_prompt in answers.items():
        counts = Counter(answer.sample for answer in of_prompt)
        for sample, row, *_ in of_prompt:
            if counts[sample] > 1:
                message = f"{prompt_id} has sample_idx {sample} {counts[sample]} times"
                findings.error("json", file, row, "sample_idx", message, "number the samples of a prompt 0, 1, 2, …")
    texts = [of_prompt[0].text for of_prompt in answers.values() if len(of_prompt) == 1]
    if texts and len(texts) == len(answers) and all(text[:1] + text[-1:] == "[]" for text in texts):
        message = f"each row has a list that was written as a text, such as {texts[0][:40]!r}"
        findings.error("json", file, None, name, message, "write one row per response, or JSON Lines")
