"""What the tests of submissions share: the toy suite found by name, files to import, and what refusal must leave."""

import json
from collections.abc import Callable, Sequence
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from datasets_build.load import load_suite
from datasets_build.schema import Suite
from submissions.checking.validate import Report, validate
from submissions.choices import Format
from submissions.importing.importers import import_submission
from submissions.schema import GENERATIONS, REPORTED
from submissions.storage.submission_folders import GENERATIONS_FILE, MANIFEST_FILE, REPORTED_FILE
from submissions.untrusted.findings import Problem, Rejected
from tests.conftest import TOY, toy_rows

Json = dict[str, Any]
Place = tuple[str, int | None, str]  # the check, the row and the field of a problem

KNOWN: Json = {
    "name": "toy-system",
    "suite": "toy",
    "system": {"type": "model"},
    "submitter": {"name": "tester", "date": date(2026, 1, 1)},
}


def find_toy(name: str) -> Suite:
    """The toy suite under its name; other names are looked up, and rejected, as everywhere."""
    return TOY if name == "toy" else load_suite(name)


def check(folder: Path) -> Report:
    return validate(folder, find_toy)


def places(problems: Sequence[Problem]) -> list[Place]:
    """Where problems were found, in the order of their discovery."""
    return [(p.check, p.row, p.field) for p in problems]


def jsonl(path: Path, rows: Sequence[object]) -> Path:
    """Rows as JSON Lines. Bytes stand for a line that is no JSON of Python's."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [row if isinstance(row, bytes) else json.dumps(row, ensure_ascii=True).encode() for row in rows]
    path.write_bytes(b"".join(line + b"\n" for line in lines))
    return path


def a_prompt_a_row(k: int = 3) -> list[Json]:
    return [{"prompt_id": r.prompt_id, "prompt": r.prompt, "responses": list(r.responses)} for r in toy_rows(k)]


def with_row(number: int, **changes: Any) -> list[object]:
    """The good rows with one changed; `...` takes a field out."""
    rows: list[Json] = a_prompt_a_row()
    rows[number - 1] |= changes
    return [{key: value for key, value in row.items() if value is not ...} for row in rows]


def with_line(number: int, line: bytes) -> list[object]:
    rows: list[object] = [*a_prompt_a_row()]
    rows[number - 1] = line
    return rows


def a_response_a_row(k: int = 3) -> list[Json]:
    return [
        {"prompt_id": r.prompt_id, "prompt": r.prompt, "sample_idx": i, "response": text}
        for r in toy_rows(k)
        for i, text in enumerate(r.responses)
    ]


def as_noveltybench(k: int = 3) -> list[Json]:
    """Rows as NoveltyBench 1.0 writes them, with two classes each: `distinct` is the highest label."""
    labels = [0] + [1] * (k - 1)
    scores = [7, 3] + [0] * (k - 2)
    return [
        {
            "id": r.prompt_id,
            "prompt": r.prompt,
            "model": "toy-model",
            "generations": list(r.responses),
            "partition": labels,
            "distinct": 1,
            "generation_scores": scores,
            "partition_scores": [7, 3],
            "utility": 2.5,
        }
        for r in toy_rows(k)
    ]


def imported(path: Path, kind: Format = "jsonl", **known: Any) -> tuple[Report, set[str]]:
    """Import into the folder `out` beside the file."""
    return import_submission(path, kind, path.parent / "out", KNOWN | known, find_toy)


def rejected(path: Path, kind: Format = "jsonl", **known: Any) -> list[Problem]:
    """What an import is rejected for. That it wrote nothing, not even a temporary folder, is asserted."""
    before = sorted(path.parent.iterdir())
    with pytest.raises(Rejected) as caught:
        imported(path, kind, **known)
    assert sorted(path.parent.iterdir()) == before
    problems = caught.value.findings.problems
    assert all(p.message and p.hint and p.file for p in problems)
    return problems


def rewrite(folder: Path, change: Callable[[Json], Json | None], file: str = GENERATIONS_FILE) -> Path:
    """Change the rows of a submission's Parquet file; None leaves a row out."""
    schema = GENERATIONS if file == GENERATIONS_FILE else REPORTED
    rows = pq.read_table(folder / file).to_pylist()
    changed = [made for row in rows if (made := change(row)) is not None]
    pq.write_table(pa.Table.from_pylist(changed, schema=schema), folder / file)
    return folder


def change_manifest(folder: Path, **values: Any) -> Path:
    """Set fields of a manifest, parts as a whole."""
    path = folder / MANIFEST_FILE
    path.write_text(json.dumps(json.loads(path.read_text()) | values))
    return folder


def add_reported(folder: Path, **values: Any) -> Path:
    """Give a toy submission with k = 3 a reported file with two classes a prompt; values change its first row."""
    right: Json = {"partition": [0, 1, 1], "generation_scores": [7.0, 3.0, 0.0], "distinct": 2, "utility": 2.5}
    right |= {"version": "1.0", "unscored": False}
    rows = [{"prompt_id": p.prompt_id} | right | (values if i == 0 else {}) for i, p in enumerate(TOY.prompts)]
    pq.write_table(pa.Table.from_pylist(rows, schema=REPORTED), folder / REPORTED_FILE)
    return folder
