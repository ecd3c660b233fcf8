"""Read a user's own prompts: those in a submission's rows, or in a separate file.

A submission with its own prompts has the `suite` *own* in its manifest. The suite is made from the submission's rows,
and its revision is a hash of the prompts sorted by id, so that scores on different prompts never share a column.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from datasets_build.schema import Prompt, Suite
from divbench.core.errors import first_fault
from submissions.checking.response_kinds import is_blank
from submissions.schema import Line, Row
from submissions.untrusted.findings import Findings, Rejected, within_row_limit
from submissions.untrusted.table_files import ENDINGS, Columns, lacks_column, read_columns, rows_with_ids, text_lines

OWN = "own"
"""The name of every such suite, and the category of its prompts."""

MAX_PROMPT_BYTES = 256 * 2**10
MAX_PROMPTS_BYTES = 256 * 2**20
ID_HINT = "use at most 200 printable characters, without white space at either end"
SIZES_HINT = f"at most {MAX_PROMPTS_BYTES:,} are allowed: split the prompts over several files"
_IDS = ("prompt_id", "id")  # default columns of ids
_PARAPHRASES = "paraphrases"
_INSTRUCTIONS = ("messages", "system", "system_prompt")  # columns that would change what a model is asked
_LINE = TypeAdapter[str](Line)


def own_suite(rows: Iterable[Row]) -> Suite:
    """Make the suite of a submission with its own prompts: ids and texts from its rows, sorted by id.

    Samplers that work in parallel write rows in another order each time; the suite must not depend on it.
    """
    prompts: dict[str, Prompt] = {}
    for row in rows:
        prompts.setdefault(row.prompt_id, Prompt(row.prompt_id, OWN, row.prompt or ""))
    return Suite(OWN, "own prompts", tuple(prompts[name] for name in sorted(prompts)))


def id_problem(prompt_id: str) -> str | None:
    """Return the problem of an untrusted prompt id; None if it is valid."""
    try:
        _LINE.validate_python(prompt_id)
    except ValidationError as error:
        return f"{prompt_id[:50]!r} is not a valid id: {first_fault(error)}"
    return None


def text_problem(text: Any) -> tuple[str, str] | None:
    """Return the problem of an untrusted prompt text and a suggested fix; None if it is valid."""
    if text is None:
        return "the prompt's text is missing", "give the text of every prompt: no suite has it"
    if not isinstance(text, str):
        return f"a value of type {type(text).__name__}, expected text", "write text"
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        return "has an unpaired surrogate, which UTF-8 cannot encode", "write complete characters"
    if is_blank(text):
        return "blank", "write a prompt, or leave the row out"
    if size > MAX_PROMPT_BYTES:
        return f"{size:,} bytes", f"at most {MAX_PROMPT_BYTES:,} are allowed"
    return None


def read_prompts(path: Path, *, prompt_column: str = "prompt", id_column: str | None = None) -> tuple[Prompt, ...]:
    """Read a user's own prompts from a file, in its order.

    A prompt may have paraphrases: a column `paraphrases` of lists of strings, in JSON Lines and Parquet.
    """
    findings = Findings()
    is_text = path.suffix.lower() == ".txt"
    table = _lines(path, findings) if is_text else _columns(path, prompt_column, id_column, findings)
    prompts = () if table is None else tuple(_prompts(table, prompt_column, id_column, findings))
    if table is not None and not table.rows and not findings.rejected():
        findings.error("prompt_text", path.name, None, "", "there are no prompts", "write one per row")
    size = sum(len(text.encode()) for prompt in prompts for text in (prompt.prompt, *prompt.paraphrases))
    if size > MAX_PROMPTS_BYTES:
        findings.error("sizes", path.name, None, prompt_column, f"{size:,} bytes of prompts", SIZES_HINT)
    if findings.rejected():
        raise Rejected(str(path), findings)
    return prompts


def _lines(path: Path, findings: Findings) -> Columns:
    rows: list[tuple[int, dict[str, Any]]] = []
    for number, line in text_lines(path, findings):
        if not is_blank(line):
            rows.append((number, {"": line.rstrip("\r\n")}))
            if not within_row_limit(len(rows), path.name, findings):
                break
    return Columns(path.name, (), tuple(rows))


def _columns(path: Path, prompt_column: str, id_column: str | None, findings: Findings) -> Columns | None:
    wanted = [prompt_column, id_column or "", *_IDS, _PARAPHRASES]
    table = read_columns(path, wanted, findings, endings=(*ENDINGS, ".txt"))
    if table is None:
        return None
    needed = (prompt_column,) if id_column is None else (prompt_column, id_column)
    lacking = [column for column in needed if lacks_column(table, column, findings)]
    for column in sorted({*_INSTRUCTIONS}.intersection(table.names) - {*needed}):
        message = "a prompt cannot have its own instructions"
        hint = "run once per system prompt, with --system-prompt, or rename the column if it does not matter"
        findings.error("schema", table.name, None, column, message, hint)
    return None if lacking else table


def _prompts(table: Columns, prompt_column: str, id_column: str | None, findings: Findings) -> Iterator[Prompt]:
    """Yield the prompts of the valid rows."""
    field = prompt_column if table.names else ""  # a line is a prompt
    ids = id_column or next((name for name in _IDS if name in table.names), None)
    numbered = ((number, f"p{i:04}", row) for i, (number, row) in enumerate(table.rows, start=1))
    for number, name, row in numbered if ids is None else rows_with_ids(table, ids, findings):
        texts: dict[str, Any] = {field: row.get(field)}
        wordings = row.get(_PARAPHRASES)
        if isinstance(wordings, list):
            texts |= {f"{_PARAPHRASES}[{i}]": text for i, text in enumerate(wordings)}
        elif wordings is not None and wordings != "":
            message = f"a value of type {type(wordings).__name__}, expected a list"
            hint = "use .jsonl or .parquet for lists"
            findings.error("prompt_text", table.name, number, _PARAPHRASES, message, hint)
        if ids is not None and (fault := id_problem(name)):
            findings.error("prompt_ids", table.name, number, ids, fault, ID_HINT)
        faults = {column: problem for column, text in texts.items() if (problem := text_problem(text))}
        for column, (message, hint) in faults.items():
            findings.error("prompt_text", table.name, number, column, message, hint)
        if not faults:
            text, *others = texts.values()
            yield Prompt(name, OWN, text, tuple(others))
