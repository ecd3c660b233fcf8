"""Imports an uploaded file into a submission folder in a limited process, so that no file can stop the server."""

from collections.abc import Mapping
from dataclasses import asdict
from datetime import date
from pathlib import Path
from typing import Any

from submissions.checking.validate import stopped
from submissions.importing.importers import import_submission
from submissions.untrusted.findings import Rejected
from submissions.untrusted.process import Limits, Stopped, run_limited


def import_in_child(file: Path, kind: str, out: Path, known: Mapping[str, Any], limits: Limits) -> dict[str, Any]:
    """Make a submission folder from a file with `import_submission`, given the manifest's fields ready for JSON.

    Return the document of `validate_in_child`, with the file's unused fields as `passed_over`. If the file is not
    accepted, there is no folder.
    """
    request = {"file": str(file.absolute()), "kind": kind, "out": str(out.absolute()), "known": dict(known)}
    try:
        document: dict[str, Any] = run_limited(f"{__name__}:imported", request, limits)
    except Stopped as error:
        return stopped(str(error))
    return document


def imported(request: dict[str, Any]) -> dict[str, Any]:
    """In the limited process: import the file of a request."""
    known = request["known"]
    submitter = known["submitter"]
    submitter |= {"links": tuple(submitter.get("links", ()))}
    if submitter.get("date"):
        submitter |= {"date": date.fromisoformat(submitter["date"])}
    try:
        report, passed_over = import_submission(Path(request["file"]), request["kind"], Path(request["out"]), known)
    except Rejected as error:
        return {"accepted": False, "id": None, "counts": None} | error.findings.as_json()
    assert report.submission is not None  # noqa: S101 - otherwise `Rejected` was raised
    accepted = {"accepted": True, "id": report.submission.id, "counts": asdict(report.counts)}
    return accepted | report.findings.as_json() | {"passed_over": sorted(passed_over)}
