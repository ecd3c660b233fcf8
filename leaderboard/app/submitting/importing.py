"""Imports an uploaded file into a submission folder, in a child process: whatever it contains, the server goes on.

The child runs under sandbox.py with the limits of validation.
"""

import json
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any

from datasets_build.errors import DivBenchError
from submissions.checking import sandbox
from submissions.schema import Problem
from submissions.untrusted.findings import Findings, Refused, problems_json
from submissions.untrusted.table_files import lacks_column, read_table

# One response per row; numbers as in the manifest.
_WHOLE = ("sample_idx", "top_k", "max_tokens", "max_new_tokens", "seed")
_DECIMAL = ("temperature", "top_p")
COLUMNS = ("prompt_id", "prompt", "response", "finish_reason", "model", *_WHOLE, *_DECIMAL)


def import_in_child(
    file: Path, kind: str, out: Path, known: Mapping[str, Any], *, memory: int, seconds: float
) -> dict[str, Any]:
    """Make a submission folder from a file of responses with `import_submission` in a child process.

    Args:
        file: File under a name of our own.
        kind: One of `FORMATS`, or *csv*: one response per row, with `COLUMNS`.
        out: Folder to make.
        known: Fields of the manifest, ready for JSON.
        memory: Address-space limit of the process in bytes.
        seconds: Time limit in seconds.

    Returns:
        The report of `validate_in_child`, with the file's unused fields as `passed_over`. If the file is not accepted,
        there is no folder.

    Raises:
        ConfigurationError: The suite's file is not available.
    """
    asked = {"file": str(file.absolute()), "kind": kind, "out": str(out.absolute()), "known": dict(known)}
    return sandbox.run_in_child("leaderboard.app.submitting.importing", asked, memory=memory, seconds=seconds)


def csv_as_jsonl(path: Path, target: Path, findings: Findings) -> set[str]:
    """Write a CSV's rows as JSON Lines, each on the line of its row number, so that problems name the right row.

    Args:
        path: CSV file with a header and one response per row.
        target: File to write; not written if the CSV is invalid.
        findings: Collects the problems.

    Returns:
        Column names that are not used.
    """
    table = read_table(path, COLUMNS, findings, endings=(".csv",))
    if table is None or [column for column in ("prompt_id", "response") if lacks_column(table, column, findings)]:
        return set()
    line = 1
    with target.open("w", encoding="utf-8", newline="\n") as file:
        for number, cells in table.rows:
            values = {name: _value(name, cell, path.name, number, findings) for name, cell in cells.items()}
            kept = {name: value for name, value in values.items() if value is not None}
            file.write("\n" * (number - line) + json.dumps(kept) + "\n")
            line = number + 1
    return set(table.columns) - set(COLUMNS)


def _value(name: str, cell: str, file: str, number: int, findings: Findings) -> str | int | float | None:
    """The typed value of a cell; an empty cell is None, except for a response, which may be empty."""
    if cell == "" and name != "response":
        return None
    if name not in _WHOLE and name not in _DECIMAL:
        return cell
    try:
        if len(cell) > 40:  # more digits than any number needs
            raise ValueError
        return int(cell) if name in _WHOLE else float(cell)
    except ValueError:
        wanted = "a whole number" if name in _WHOLE else "a number"
        findings.add(Problem("csv", "error", file, number, name, f"is not {wanted}", "write digits, or leave it empty"))
        return None


def _imported(file: Path, kind: Any, out: Path, known: dict[str, Any]) -> dict[str, Any]:
    from dataclasses import asdict

    from submissions.importing.importers import import_submission

    findings, unused = Findings(), set()
    submitter = known["submitter"]
    submitter |= {"date": date.fromisoformat(submitter["date"]), "links": tuple(submitter.get("links", ()))}
    try:
        if kind == "csv":
            source, file, kind = file, file.with_suffix(".jsonl"), "jsonl"
            unused = csv_as_jsonl(source, file, findings)
            if findings.refused():
                raise Refused(source.name, findings)
        report, passed_over = import_submission(file, kind, out, known)
    except Refused as error:
        return {"accepted": False, "id": None, "counts": None} | problems_json(error.findings)
    except MemoryError:
        return sandbox.stopped("took more memory than it may")
    except DivBenchError as error:
        return error.as_json()
    assert report.submission is not None  # noqa: S101 - else it were refused
    made = {"accepted": True, "id": report.submission.id, "counts": asdict(report.counts)}
    return made | problems_json(report.findings) | {"passed_over": sorted(passed_over | unused)}


if __name__ == "__main__":
    sandbox.answer(lambda q: _imported(Path(q["file"]), q["kind"], Path(q["out"]), q["known"]))
