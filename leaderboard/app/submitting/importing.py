"""Imports an uploaded file into a submission folder in a child process, so that no file can stop the server.

The child process runs in the sandbox of `sandbox.py`, with the same limits as validation.
"""

from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any

from divbench.core.errors import DivBenchError
from submissions.checking import sandbox
from submissions.untrusted.findings import Rejected, problems_json


def import_in_child(
    file: Path, kind: str, out: Path, known: Mapping[str, Any], *, memory: int, seconds: float
) -> dict[str, Any]:
    """Make a submission folder from a file of responses with `import_submission` in a child process.

    Args:
        file: File under our own name.
        kind: One of `FORMATS`.
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


def _imported(file: Path, kind: Any, out: Path, known: dict[str, Any]) -> dict[str, Any]:
    from dataclasses import asdict

    from submissions.importing.importers import import_submission

    submitter = known["submitter"]
    submitter |= {"links": tuple(submitter.get("links", ()))}
    if submitter.get("date"):
        submitter |= {"date": date.fromisoformat(submitter["date"])}
    try:
        report, passed_over = import_submission(file, kind, out, known)
    except Rejected as error:
        return {"accepted": False, "id": None, "counts": None} | problems_json(error.findings)
    except MemoryError:
        return sandbox.stopped("took more memory than it may")
    except DivBenchError as error:
        return error.as_json()
    assert report.submission is not None  # noqa: S101 - otherwise `Rejected` was raised
    made = {"accepted": True, "id": report.submission.id, "counts": asdict(report.counts)}
    return made | problems_json(report.findings) | {"passed_over": sorted(passed_over)}


if __name__ == "__main__":
    sandbox.answer(lambda q: _imported(Path(q["file"]), q["kind"], Path(q["out"]), q["known"]))
