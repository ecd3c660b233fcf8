"""Read rows of responses in any format and under any names: what fields mean is in shapes.py.

A row holds a prompt with all its responses, or one response. The field of the responses is detected by its name; if
that is not clear, the user must name it. Prompts are identified by their ids, otherwise by their texts: a file may
number its rows.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from datasets_build.schema import Suite
from divbench.core.errors import counted
from submissions.checking import columns
from submissions.importing import shapes
from submissions.importing.imported import DEFAULT_OPTIONS, FACTS, NOT_SPLIT, Answer, Imported, ImportOptions, Prompts
from submissions.importing.lm_eval import plain_rows
from submissions.importing.shapes import IDS, OTHER_IDS, OURS, TEXTS, Output, Question, get, outputs_of, question_of
from submissions.schema import Row
from submissions.untrusted.fields import MAX_VALUES, Fields
from submissions.untrusted.findings import Findings
from submissions.untrusted.json_files import loose_json
from submissions.untrusted.records import Kind, read_records
from submissions.untrusted.table_files import as_id

_INTEGERS = ("sample_idx", "top_k", "max_tokens", "max_new_tokens", "seed")
_NUMBERS = ("temperature", "top_p", *_INTEGERS)
_FINISH = ("finish_reasons", "finish_reason")
_KNOWN = {
    *shapes.LISTS,
    *TEXTS,
    *IDS,
    *shapes.PROMPTS,
    *shapes.CHATS,
    *shapes.MORE_OF_A_PROMPT,
    "sample_idx",
    *_FINISH,
    *FACTS,
    *columns.STEPS,
}
# Names of one response beside which `response` is not clear.
_OF_MODELS = {*TEXTS} - {"response", "answer", "text", "content", "sample", "result", "message", "solution"}
_SHOWN = 5
_NUMBERED = re.compile(r"(?P<prompt_id>.+?)[-_:/#.](?P<sample>[0-9]{1,6})", re.DOTALL)
_OTHER_PROMPTS = "choose another --suite (own: your own prompts), or sample the prompts of divbench data prompts"
Raw = Mapping[str, Any]


@dataclass(slots=True)
class _File:
    """What is known of a file while its rows are read."""

    name: str
    findings: Findings
    suite: Suite | None
    options: ImportOptions
    rows: Sequence[tuple[int, Raw]]
    responses: list[str] = field(default_factory=list)  # fields of the responses: one, or several columns
    prompt: str | None = None  # field of the prompts
    id_name: str = IDS[0]  # field of the prompts' ids
    has_ids: bool = False
    by_text: bool = False  # whether prompts are identified by their texts although rows have ids
    asked: dict[str, tuple[Question, Raw]] = field(default_factory=dict)  # prompts of a second file, by id

    def error(self, check: str, field: str, message: str, hint: str) -> None:
        """Report a mistake of the file, once."""
        self.findings.error(check, self.name, None, field, message, hint)

    def warn(self, check: str, field: str, message: str, hint: str) -> None:
        """Report what may be a mistake of the file, once."""
        self.findings.warning(check, self.name, None, field, message, hint)


def read_response_rows(
    path: Path,
    findings: Findings,
    suite: Suite | None = None,
    options: ImportOptions = DEFAULT_OPTIONS,
    kind: Kind | None = None,
) -> Imported:
    """Read a file of responses; rows of one response have `sample_idx`, or are in the order of the samples."""
    records = read_records(path, findings, shapes.rows_of, kind)
    rows = records.rows
    if records.kind in ("csv", "xlsx"):
        rows = [(number, _typed(raw, number, path.name, findings)) for number, raw in rows]
    return read_rows(rows, path.name, findings, suite, options)


def read_rows(
    rows: Sequence[tuple[int, Raw]], name: str, findings: Findings, suite: Suite | None, options: ImportOptions
) -> Imported:
    """Read numbered rows, of a file with a name."""
    named: list[tuple[int, Raw]] = [(number, _usual_names(raw)) for number, raw in rows]
    of_harness = any({"doc", "resps"} <= raw.keys() for _, raw in named[:1])
    if of_harness:
        named = plain_rows(named, name, findings, suite, options)
    if options.only is not None and options.by is not None:
        named = [(number, raw) for number, raw in named if columns.scalar(get(raw, options.by)) == options.only]
    file = _File(name, findings, suite, replace(options, field=None, id_field=None) if of_harness else options, named)
    if options.prompts is not None:
        asked = Findings()
        file.asked = _questions(options.prompts, asked)
        for problem in asked.problems:
            findings.add(problem)
        if asked.rejected():  # the prompts cannot be identified without them
            return Imported()
    imported = _read(file) if named and _choose_fields(file) else Imported()
    if of_harness:
        imported.names |= {"prompt_id": "doc", "prompt": "doc.prompt", "responses": f"{options.field or 'resps'}[0]"}
    return imported


def _usual_names(raw: Raw) -> dict[str, Any]:
    """Return a row with our spelling of known fields, where it differs only in case, spaces and hyphens."""
    usual = {name: re.sub(r"[ -]+", "_", name.strip()).lower() for name in raw}
    return {usual[n] if usual[n] in _KNOWN and usual[n] not in raw else n: value for n, value in raw.items()}


def _typed(raw: Raw, number: int, file: str, findings: Findings) -> dict[str, Any]:
    """Return a row of a table with numbers and lists of texts; an empty cell is missing, except for a response."""
    row: dict[str, Any] = {}
    for name, cell in _usual_names(raw).items():
        value = cell
        if isinstance(cell, str) and name in _NUMBERS:
            try:
                if len(cell) > 40:  # more digits than any number needs
                    raise ValueError
                value = None if cell == "" else int(cell) if name in _INTEGERS else float(cell)
            except ValueError:
                wanted = "a whole number" if name in _INTEGERS else "a number"
                findings.error("csv", file, number, name, f"is not {wanted}", "write digits, or leave it empty")
                value = None
        elif isinstance(cell, str) and cell[:1] + cell[-1:] == "[]":
            with suppress(ValueError, RecursionError):
                value = loose_json(cell)
        elif isinstance(cell, int | float) and name not in _NUMBERS:  # of a spreadsheet
            value = f"{cell:g}" if isinstance(cell, float) else str(cell)
        if value is not None and (value != "" or name in TEXTS):
            row[name] = value
    return row


# Which fields hold what


def _choose_fields(file: _File) -> bool:
    """Choose the fields of prompts and responses; report one problem of the file if they are not clear."""
    options = file.options
    filled = Counter(name for _, raw in file.rows for name, value in raw.items() if value is not None)
    present = {name: _first(file.rows, name) for name in filled}
    shown = ", ".join(map(repr, list(file.rows[0][1])[:20])) or "no field"
    stated = {"--field": options.field, "--prompt-field": options.prompt_field, "--by": options.by}
    for option, path in stated.items():
        if path not in (None, NOT_SPLIT) and all(get(raw, path) is None for _, raw in file.rows):
            file.error("json", path, f"rows have no such field; they have {shown}", f"name one of them with {option}")
            return False
    asking = (n for n in (*shapes.PROMPTS, *shapes.CHATS, *shapes.REQUESTS) if question_of(present.get(n)))
    file.prompt = options.prompt_field or next(asking, None)
    ids = {*IDS, *OTHER_IDS}.isdisjoint(present) and options.id_field is None
    if file.suite is not None and file.prompt is None and ids:
        message = f"rows have neither an id nor the text of their prompt; they have {shown}"
        file.error("json", IDS[0], message, "name the field of the prompts or their ids: --prompt-field or --id-field")
        return False
    usual = [
        n for n in (*shapes.LISTS, *TEXTS) if n in present and n != file.prompt and _may_be_responses(n, present[n])
    ]
    others = [n for n in present if n not in (*_KNOWN, *OTHER_IDS, file.prompt) and columns.may_be_texts(n)]
    others = [n for n in others if isinstance(present[n], str | list) and outputs_of(present[n])]
    if file.prompt is None and options.field is not None and isinstance(present.get(options.field), list):
        file.prompt = options.field if question_of(present[options.field]) else None  # conversations have both
    file.responses = [options.field] if options.field is not None else _responses_among(file, present, usual, others)
    if not file.responses:
        lengths = {n: sum(len(o.text) for o in outputs_of(present[n]) or ()) for n in (*usual, *others)}
        counts = sorted(((n, filled[n]) for n in lengths), key=lambda c: (-c[1], c[0] not in usual, -lengths[c[0]]))
        counts = counts[:_SHOWN]
        message = f"which field holds the responses? {_listed(counts)}"
        hint = f"name it: {' or '.join(f'--field {n}' for n, _ in counts)}"
        if not counts and (failure := shapes.failure_of(file.rows[0][1])):
            message, hint = f"in row {file.rows[0][0]}, {failure}", "send the requests again"
        elif not counts:
            message, hint = f"no field looks like responses; rows have {shown}", "name their field: --field NAME"
            if file.prompt in shapes.REQUESTS:
                hint = "these are requests: give the file of the replies, and this one with --prompts"
        file.error("json", "responses", message, hint)
    return bool(file.responses)


def _listed(counts: Sequence[tuple[str, int]]) -> str:
    return ", ".join(f"{counted(count, 'row has', 'rows have')} {name!r}" for name, count in counts)


def _responses_among(file: _File, present: Raw, usual: Sequence[str], others: Sequence[str]) -> list[str]:
    """Return the field of the responses, or the columns that hold one each; none if it is not clear."""
    ours = [name for name in OURS if name in usual or (name in present and name == shapes.LISTS[0])]
    texts = [name for name, value in present.items() if isinstance(value, str)]
    wide = columns.wide_columns(texts, TEXTS) or (
        [] if usual else columns.wide_columns([name for name in others if name in texts])
    )
    if wide and (not ours or ours[0] in wide):
        message = f"{len(wide)} columns were read as the responses to a prompt: {', '.join(wide)}"
        file.warn("columns", wide[0], message, "if only one of them holds responses, name it with --field")
        return wide
    chats = [name for name in shapes.CHATS if question_of(present.get(name))]
    if not usual and not ours:
        return chats[:1]
    if ours:
        return ours[:1] if ours[0] != TEXTS[0] or _OF_MODELS.isdisjoint(usual) else []
    return list(usual) if len(usual) == 1 and not (usual[0] == "answer" and others) else []


def _first(rows: Sequence[tuple[int, Raw]], name: str) -> Any:
    """Return the first value of a field that holds a text, or else the first."""
    values = [raw[name] for _, raw in rows if raw.get(name) is not None]
    return next((value for value in values if outputs_of(value) or question_of(value)), values[0])


def _may_be_responses(name: str, value: Any) -> bool:
    """Whether a value of a usual name holds responses: those of questions with choices hold none."""
    objects = isinstance(value, list) and all(isinstance(item, dict) for item in value)
    return outputs_of(value) is not None and (name not in ("choices", "candidates") or objects)


# The rows


def _read(file: _File) -> Imported:
    """Read the rows under the chosen names."""
    first = file.responses[0]
    named = ("custom_id", *IDS, *OTHER_IDS)
    file.id_name = file.options.id_field or next((n for n in named if any(n in raw for _, raw in file.rows)), IDS[0])
    file.has_ids = any(_id_of(file, raw) is not None for _, raw in file.rows)
    imported = Imported(names={"prompt": file.prompt or "prompt", "responses": first, "response": first})
    imported.names["prompt_id"] = file.id_name
    prompts = Prompts(file.suite)
    questions = [_question(file, raw) for _, raw in file.rows]
    file.by_text = file.suite is None and (bool(file.asked) or _ids_number_rows(file, questions))
    keys: list[str] = []
    earlier: dict[tuple[str, str], tuple[Any, int]] = {}
    for (number, raw), question in zip(file.rows, questions, strict=True):
        fields = Fields(raw, file.name, number, file.findings)
        prompt_id, sample = _identified(file, fields, question, prompts)
        outputs = _outputs(file, fields)
        keys.append(prompt_id or f"row {number}")
        if prompt_id is None or outputs is None or _is_line_repeated(fields, earlier):
            continue
        _note(file, imported, raw, number, question)
        if not _compare_prompts(file, fields, prompt_id, question, earlier):
            continue
        text = None if question is None else question.text
        if _has_all(file, raw) and "sample_idx" not in raw:
            reasons = tuple(output.reason for output in outputs)
            texts, known = tuple(output.text for output in outputs), reasons if any(reasons) else None
            imported.rows.append(Row(number, prompt_id, prompts.text_of(prompt_id, text), texts, known))
        else:
            sample = fields.integer("sample_idx") if "sample_idx" in raw else sample
            index = len(prompts.answers.get(prompt_id, ())) if sample is None else sample
            if "sample_idx" not in raw or sample is not None:
                prompts.add(prompt_id, text, [Answer(index, number, *output) for output in outputs])
    _check_file(file, keys, questions)
    _check_samples(file, prompts)
    prompts.gather(imported, file.prompt or "prompt", file.name, file.findings, _OTHER_PROMPTS)
    ids = {row.prompt_id for row in imported.rows}
    if file.suite is not None and ids and file.suite.by_id.keys().isdisjoint(ids):
        message = f"no row has a prompt id of {file.suite.name}; the first is {imported.rows[0].prompt_id!r}"
        file.error("prompt_ids", imported.names["prompt_id"], message, _OTHER_PROMPTS)
    return imported


def _value(file: _File, raw: Raw) -> Any:
    """Return the value of a row's responses: with our field names, rows may be mixed."""
    name = file.responses[0]
    if name in OURS and file.options.field is None:
        name = next((other for other in (name, *OURS) if raw.get(other) is not None), name)
    return get(raw, name)


def _has_all(file: _File, raw: Raw) -> bool:
    """Whether a row has all responses to its prompt."""
    value = _value(file, raw)
    is_list = isinstance(value, list) and not any(isinstance(item, dict) for item in value)
    return len(file.responses) > 1 or is_list or len(outputs_of(value) or ()) > 1


def _outputs(file: _File, fields: Fields) -> list[Output] | None:
    """Return the responses of a row; report a row that has none."""
    raw, name = fields.raw, file.responses[0]
    if len(file.responses) > 1:
        cells = {n: raw[n] for n in file.responses if raw.get(n) not in (None, "")}
        return [Output(text) for n, cell in cells.items() if (text := fields.checked_text(n, cell)) is not None]
    value = _value(file, raw)
    items = value if isinstance(value, list) else []
    models = dict.fromkeys(
        item["model"] for item in items if isinstance(item, dict) and isinstance(item.get("model"), str)
    )
    outputs = outputs_of(value) if len(items) <= MAX_VALUES else None
    failure = None if outputs and any(output.text for output in outputs) else shapes.failure_of(raw)
    if len(models) > 1:
        message = f"has responses of {len(models)} systems: {', '.join(models)[:200]}"
        fields.problem(name, message, "write one row per response, with its system in a column: --by splits them")
    elif failure is not None:
        fields.problem(name, failure, "send the request again, and put its line in place of this one")
    elif outputs is None and isinstance(value, dict):
        fields.problem(name, "has no text", "name the field of the responses with --field, inner fields with dots")
    elif outputs is None:
        shown = Fields(raw if value is None else {name: value}, fields.file, fields.number, fields.findings)
        _ = shown.texts(name) if isinstance(value, list) else shown.text(name)  # which reports what is wrong
    else:
        reasons: Any = next((raw[n] for n in _FINISH if raw.get(n) is not None), None)
        if isinstance(reasons, list):
            reasons = fields.reasons(next(n for n in _FINISH if raw.get(n) is not None))
            if reasons is not None and len(reasons) != len(outputs):
                message = f"{counted(len(reasons), 'finish reason')} for {counted(len(outputs), 'response')}"
                fields.problem("finish_reasons", message, "give one per response, or leave them out")
            if reasons is None or len(reasons) != len(outputs):
                return None
        else:
            reasons = [shapes.reason_of(raw)] * len(outputs)
        names = [name] if not items else [f"{name}[{i}]" for i in range(len(outputs))]
        pairs = zip(outputs, reasons, [*names, *[name] * len(outputs)], strict=False)
        checked = [(fields.checked_text(n, output.text), output.reason or reason) for output, reason, n in pairs]
        kept = [Output(text, reason) for text, reason in checked if text is not None]
        return kept if len(kept) == len(outputs) else None
    return None


def _question(file: _File, raw: Raw) -> Question | None:
    """Return the prompt of a row; `instruction` and `input` belong together."""
    if file.asked:
        return file.asked.get(str(_id_of(file, raw)), (None, {}))[0]
    value = None if file.prompt is None else get(raw, file.prompt)
    question = question_of(value)
    more = raw.get("input")
    if question and file.prompt == "instruction" and isinstance(more, str) and more.strip():
        question = question._replace(text=f"{question.text}\n\n{more}")
    if question and question.system is None and "system_prompt" not in raw:
        question = question._replace(system=shapes.system_of(raw))
    return question


def _id_of(file: _File, raw: Raw) -> Any:
    """Return the id of a row's prompt."""
    if file.options.id_field is not None:
        return get(raw, file.options.id_field)
    weak = () if file.prompt is not None and file.suite is None and not file.asked else OTHER_IDS
    return next((raw[name] for name in ("custom_id", *IDS, *weak) if raw.get(name) is not None), None)


def _ids_number_rows(file: _File, questions: Sequence[Question | None]) -> bool:
    """Whether each row of one response has an id of its own, although rows share their prompts."""
    ids = [str(_id_of(file, raw)) for _, raw in file.rows]
    texts = ["" if question is None else question.text.strip() for question in questions]
    own = file.options.id_field is None and len(set(ids)) == len(ids) > len(set(texts)) and "" not in texts
    if own and not any(_has_all(file, raw) for _, raw in file.rows):
        message = f"the ids number the rows: the {counted(len(set(texts)), 'prompt')} are identified by their texts"
        file.warn("prompt_ids", IDS[1], message, "if another field has the prompts' ids, name it with --id-field")
        return True
    return False


def _identified(
    file: _File, fields: Fields, question: Question | None, prompts: Prompts
) -> tuple[str | None, int | None]:
    """Return the id of a row's prompt, and the number of the sample if the id has one."""
    value = _id_of(file, fields.raw)
    value = as_id(value) if isinstance(value, int) else value
    text = None if question is None else question.text
    if value is None or file.by_text:
        return _identified_by_text(file, fields, text, value, prompts), None
    prompt_id = fields.checked_text(file.id_name, value)
    known = {} if file.suite is None else file.suite.by_id
    numbered = None if prompt_id is None or prompt_id in known else _NUMBERED.fullmatch(prompt_id)
    if numbered and numbered["prompt_id"] in known:
        return numbered["prompt_id"], int(numbered["sample"])
    if prompt_id not in known and text is not None and text.strip() in prompts.by_text:  # the id numbers the row
        return prompts.by_text[text.strip()], int(numbered["sample"]) if numbered and file.asked else None
    return prompt_id, None


def _identified_by_text(file: _File, fields: Fields, text: str | None, name: Any, prompts: Prompts) -> str | None:
    if text is not None and (file.by_text or file.suite is not None or not file.has_ids):
        return prompts.id_of(text, fields.number)
    if file.has_ids and not file.by_text:
        fields.problem(file.id_name, "the field is missing", "give the id in every row")
    elif name is not None and file.options.prompts is not None:
        fields.problem("custom_id", f"{name!r} is not in {file.options.prompts.name}", "give its prompt")
    elif file.prompt is not None:
        fields.problem(file.prompt, "the prompt is missing", "give the prompt in every row", "prompt_ids")
    else:
        return f"set {fields.number}"
    return None


def _questions(path: Path, findings: Findings) -> dict[str, tuple[Question, Raw]]:
    """Return the prompts of a second file by their ids, and what its rows state: of a batch, its requests."""
    asked: dict[str, tuple[Question, Raw]] = {}
    for number, raw in read_records(path, findings, shapes.rows_of).rows:
        fields = Fields(raw, path.name, number, findings)
        name = next((str(raw[n]) for n in (IDS[0], *OTHER_IDS, IDS[1]) if raw.get(n) is not None), None)
        question = question_of(next((raw[n] for n in shapes.REQUESTS[:3] if isinstance(raw.get(n), dict)), raw))
        if name is None or question is None:
            fields.problem("body", "has no id" if name is None else "has no prompt", "give each prompt with its id")
        elif name in asked:
            fields.problem("custom_id", f"{name!r} is repeated", "give one prompt for each id")
        else:
            asked[name] = question, shapes.settings_of(raw)
    return asked


def _note(file: _File, imported: Imported, raw: Raw, number: int, question: Question | None) -> None:
    """Record what a row states about the system, and its unused fields."""
    settings = shapes.settings_of(raw) if any(isinstance(value, dict) for value in raw.values()) else {}
    asked = file.asked[str(_id_of(file, raw))][1] if file.asked and question is not None else {}
    stated = {name: value for name, value in (settings | {**asked}).items() if value is not None}
    if question is not None and question.system:
        stated["system_prompt"] = question.system
    paths = (*file.responses, file.prompt or "prompt", file.options.id_field or "", file.options.by or "")
    used = {*IDS, *OTHER_IDS, *_FINISH, *shapes.REASONS, "sample_idx", "error"}
    used |= {path.partition(".")[0] for path in paths} | ({"input"} if file.prompt == "instruction" else set())
    in_settings = {name for name in stated if name not in raw}
    imported.note(number, stated | {**raw}, used | in_settings)


def _compare_prompts(
    file: _File,
    fields: Fields,
    prompt_id: str,
    question: Question | None,
    earlier: dict[tuple[str, str], tuple[Any, int]],
) -> bool:
    """Whether a row has the prompt of the earlier rows of its id; report another text, context or conversation."""
    text = ("" if question is None else question.text).strip()
    known, row = earlier.setdefault((prompt_id, ""), (text, fields.number))
    if known != text:
        fields.problem("prompt", f"differs from {prompt_id}'s text in row {row}", "give one text for each prompt id")
        return False
    before = ((), None) if question is None else question[1:]
    known, row = earlier.setdefault((prompt_id, "before"), (before, fields.number))
    if known != before:
        what = "with another system prompt" if known[0] == before[0] else "after other messages"
        message = f"the same message as in row {row}, {what}"
        fields.problem(file.prompt or "prompt", message, "a submission has one system: split the file")
        return False
    if file.suite is not None or (_id_of(file, fields.raw) is not None and not file.by_text):
        return True
    for name in shapes.MORE_OF_A_PROMPT:
        value = fields.raw.get(name)
        known, row = earlier.setdefault((prompt_id, name), (value, fields.number))
        if name not in (file.prompt, *file.responses) and known != value:
            message = f"differs from row {row}, which has the same {file.prompt!r}, so they have different prompts"
            fields.problem(name, message, f"write both into a field 'prompt', or give each prompt an {IDS[1]!r}")
    return True


def _is_line_repeated(fields: Fields, earlier: dict[tuple[str, str], tuple[Any, int]]) -> bool:
    """Whether an earlier row replies to the same request of a batch, which is reported."""
    name = fields.raw.get("custom_id")
    row = fields.number if name is None else earlier.setdefault((str(name), "request"), (None, fields.number))[1]
    if row != fields.number:
        fields.problem("custom_id", f"{name!r} already appears in row {row}", "keep one line for each request")
    return row != fields.number


# Mistakes of the file


def _check_file(file: _File, prompts: Sequence[str], questions: Sequence[Question | None]) -> None:
    """Report several systems in one file, a reference in place of responses, and a file concatenated with itself."""
    rows, name, options = [raw for _, raw in file.rows], file.responses[0], file.options
    used = {
        file.prompt,
        *file.responses,
        *shapes.MORE_OF_A_PROMPT,
        *IDS,
        *OTHER_IDS,
        *_FINISH,
        *shapes.REASONS,
        "error",
    }
    used |= {*columns.MODELS, *columns.STEPS} - ({options.by} if options.by == NOT_SPLIT else set())
    others = {n: [raw.get(n) for raw in rows] for n in dict.fromkeys(n for raw in rows for n in raw) if n not in used}
    found = None if options.by is not None else columns.merged_systems(others, prompts)
    if found is not None:
        column, values = found
        message = f"rows of one prompt differ in {column!r}, so they are of several systems: {', '.join(values)[:200]}"
        hint = f"score each apart with --by {column}; if they are one system: --by {NOT_SPLIT}"
        file.error("systems", column, message, hint)
    responses = [str(_value(file, raw)) for raw in rows]
    better = columns.better_columns(others, responses, prompts) if options.field is None else []
    if better:
        message = f"is the same in all rows of a prompt, as a reference is, and {', '.join(better[:_SHOWN])} differ"
        hint = f"name the field of the responses: {' or '.join(f'--field {n}' for n in (*better[:_SHOWN], name))}"
        file.error("json", name, message, hint)
    if columns.repeats_itself([*zip(prompts, responses, strict=True)]):
        message = f"the second half of its {len(rows)} rows repeats the first: it may be concatenated with itself"
        file.warn("duplicates", name, message, "keep one copy of each row")
    if longer := sum(question is not None and bool(question.before) for question in questions):
        message = (
            f"only the last message of the user was taken for the prompt in {counted(longer, 'longer conversation')}"
        )
        file.warn("prompt_text", file.prompt or "", message, "check that it can be understood without the others")


def _check_samples(file: _File, prompts: Prompts) -> None:
    """Report repeated and missing sample numbers, and lists that pandas wrote to CSV as texts."""
    name, gaps = file.responses[0], []
    numbered = {number for number, raw in file.rows if "sample_idx" in raw}
    answers, named = prompts.answers, file.has_ids and not file.by_text  # else ids are ours, not the file's
    for prompt_id, of_prompt in answers.items():
        shown = prompt_id if named else repr((prompts.texts[prompt_id] or "")[:40])
        counts = Counter(answer.sample for answer in of_prompt if answer.row in numbered)
        is_gap = counts and max(counts) - min(counts) >= len(counts) and max(counts.values()) == 1
        gaps += [shown] if is_gap else []
        for sample, row, *_ in of_prompt:
            if counts[sample] > 1:
                message = f"{shown} has sample_idx {sample} {counts[sample]} times"
                hint = "number the samples of a prompt 0, 1, 2, …"
                file.findings.error("json", file.name, row, "sample_idx", message, hint)
    if gaps and not file.findings.rejected():
        message = f"has gaps in {counted(len(gaps), 'prompt')}, such as {gaps[0]}"
        file.warn("k", "sample_idx", message, "check whether responses were lost")
    texts = [of_prompt[0].text for of_prompt in answers.values() if len(of_prompt) == 1]
    if texts and len(texts) == len(answers) and all(text[:1] + text[-1:] == "[]" for text in texts):
        message = f"each row has a list that was written as a text, such as {texts[0][:40]!r}"
        file.error("json", name, message, "write one row per response, or JSON Lines")
