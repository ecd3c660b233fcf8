"""Validate a submission folder: find all problems at once, each with its row, field and suggested fix.

First, `submissions.untrusted` checks that the files are valid and have the right schema. Then each check of `CHECKS`
runs on every row, or once after the last row. Finally, reported values, if any, are compared with the rows.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from datasets_build.load import load_suite
from datasets_build.schema import Suite
from divbench.core.errors import ConfigurationError, UnknownSuite
from submissions.checking.checks import CHECKS, Context, SeenRows, has_all_values
from submissions.checking.prompts import OWN, own_suite
from submissions.checking.response_kinds import ResponseCounts
from submissions.schema import GENERATIONS, LATER_REPORTED, REPORTED, Manifest, submission_id
from submissions.storage.submission_folders import (
    FIRST_VERSION,
    GENERATIONS_FILE,
    MANIFEST_FILE,
    REPORTED_FILE,
    RowsDigest,
    Submission,
    as_reported,
    as_row,
    read_manifest,
)
from submissions.untrusted.findings import Findings, Rejected
from submissions.untrusted.parquet_files import ParquetColumns, open_parquet
from submissions.untrusted.process import Limits, Stopped, run_limited

MAX_ERRORS = 10_000
LIMITS = Limits(memory=4 * 2**30, seconds=600)
FindSuite = Callable[[str], Suite]
Progress = Callable[[int], None]


@dataclass(slots=True)
class Report:
    """The result of checking a folder."""

    findings: Findings
    counts: ResponseCounts = field(default_factory=ResponseCounts)
    manifest: Manifest | None = None
    # Suite that the manifest names, or that of its own prompts if they are accepted; None if there is none.
    suite: Suite | None = None
    submission: Submission | None = None

    def as_json(self) -> dict[str, Any]:
        """Return the report as `--json` prints it."""
        known = self.submission
        return {
            "accepted": known is not None,
            "id": known.id if known else None,
            "rows_digest": known.rows_digest if known else None,
            "in_suite_order": known.in_suite_order if known else None,
            "counts": asdict(self.counts),
        } | self.findings.as_json()


def validate(
    folder: Path,
    find_suite: FindSuite = load_suite,
    *,
    numbers: Sequence[int] = (),
    progress: Progress = lambda rows: None,
) -> Report:
    """Check a submission folder; `numbers` are those of its rows in the file that they were imported from."""
    if not _is(Path.is_dir, folder):
        if _is(Path.is_file, folder):
            hint = "to convert a file of responses: divbench import; to score it directly: divbench quick"
            raise ConfigurationError(f"{folder} is a file, not a submission folder", hint)
        raise ConfigurationError(f"there is no folder {folder}", "give a submission folder")
    report = Report(Findings())
    report.manifest = read_manifest(folder / MANIFEST_FILE, report.findings)
    if report.manifest is not None and report.manifest.suite != OWN:
        try:
            report.suite = find_suite(report.manifest.suite)
        except UnknownSuite as error:
            report.findings.error("manifest", MANIFEST_FILE, None, "suite", error.message, error.hint)
    digest, rows_digest = RowsDigest(), ""
    file = open_parquet(folder / GENERATIONS_FILE, GENERATIONS, report.findings)
    seen = SeenRows(keep_texts=os.path.lexists(folder / REPORTED_FILE))
    if file is not None:
        context = Context(report.manifest, report.suite, file.count)
        _check_rows(file, context, report, seen, digest, numbers, progress)
        rows_digest = digest.hex()
        _check_reported(folder, seen, report, digest)
        for check in CHECKS:
            for problem in () if check.whole is None else check.whole(context, seen):
                report.findings.add(problem)
    if report.manifest is not None and file is not None and not report.findings.rejected():
        name = submission_id(report.manifest, digest.hex())
        ordered = seen.in_suite_order
        if report.manifest.suite == OWN:
            report.suite = own_suite(seen.own_prompts)
            ordered = [row.prompt_id for row in seen.own_prompts] == list(report.suite.position)
        report.submission = Submission(folder, report.manifest, name, seen.rows, rows_digest, ordered)
    return report


def open_submission(folder: Path, find_suite: FindSuite = load_suite) -> tuple[Submission, Suite, Report]:
    """Open a submission that passes every check, with its suite; otherwise raise `Rejected`."""
    report = validate(folder, find_suite)
    if report.submission is None or report.suite is None:
        raise Rejected(str(folder), report.findings)
    return report.submission, report.suite, report


def validate_in_child(folder: Path, *, mirror: Path | None = None, limits: Limits = LIMITS) -> dict[str, Any]:
    """Check an untrusted folder in a limited process; return the document of `divbench validate --json`.

    If the process exceeds a limit or crashes, that is a problem of the check *limits*, and `counts` is null.
    """
    request = {"folder": str(folder.absolute()), "mirror": None if mirror is None else str(mirror.absolute())}
    try:
        document: dict[str, Any] = run_limited(f"{__name__}:validated", request, limits)
    except Stopped as error:
        return stopped(str(error))
    return document


def validated(request: dict[str, Any]) -> dict[str, Any]:
    """In the limited process: check the folder of a request."""
    mirror = None if request["mirror"] is None else Path(request["mirror"])
    return validate(Path(request["folder"]), partial(load_suite, mirror=mirror)).as_json()


def stopped(message: str) -> dict[str, Any]:
    """Return the document of a submission whose check did not finish."""
    findings = Findings()
    hint = "the file is too large or damaged: write it again, in smaller row groups, with fewer or shorter responses"
    findings.error("limits", "", None, "", message, hint)
    return {"accepted": False, "id": None, "counts": None} | findings.as_json()


def open_checked(
    folder: Path, document: Mapping[str, Any], find_suite: FindSuite = load_suite
) -> tuple[Submission, Suite]:
    """Open a folder that `validate_in_child` accepted, and that has not changed since, without checking it again."""
    findings = Findings()
    manifest = read_manifest(folder / MANIFEST_FILE, findings)
    if manifest is None:
        raise Rejected(str(folder), findings)
    prompts, ordered = document["counts"]["prompts"], document["in_suite_order"]
    submission = Submission(folder, manifest, document["id"], prompts, document["rows_digest"], ordered)
    return submission, own_suite(submission.prompt_rows()) if manifest.suite == OWN else find_suite(manifest.suite)


def _check_rows(
    file: ParquetColumns,
    context: Context,
    report: Report,
    seen: SeenRows,
    digest: RowsDigest,
    numbers: Sequence[int],
    progress: Progress,
) -> None:
    for number, raw in file.rows(report.findings):
        if _enough(report.findings, GENERATIONS_FILE):
            return
        progress(number)
        seen.rows = number
        if not has_all_values(number, raw, report.findings):
            seen.broken.add(raw.get("prompt_id"))
            continue
        row = as_row(numbers[number - 1] if numbers else number, raw)
        for check in CHECKS:
            for problem in () if check.row is None else check.row(row, context, seen):
                report.findings.add(problem)
        seen.add(row, context)
        report.counts.add(row)
        if not report.findings.rejected():  # a rejected submission needs no id
            digest.add(row)


def _enough(findings: Findings, file: str) -> bool:
    """Whether there are too many errors to read on, which is then reported."""
    if findings.count("error") <= MAX_ERRORS:
        return False
    findings.error("sizes", file, None, "", f"more than {MAX_ERRORS:,} errors", "fix these: the rest was not checked")
    return True


def _is(kind: Callable[[Path], bool], path: Path) -> bool:
    try:
        return kind(path)
    except OSError:  # a parent folder cannot be read
        return False


def _check_reported(folder: Path, seen: SeenRows, report: Report, digest: RowsDigest) -> None:
    path = folder / REPORTED_FILE
    if not os.path.lexists(path):  # a dangling link counts as a file, and is an error below
        return
    always = pa.schema([field for field in REPORTED if field not in LATER_REPORTED])
    file = open_parquet(path, always, report.findings, optional=LATER_REPORTED)
    if file is not None and "version" not in file.schema.names:
        message = f"the column is missing: the values count as those of version {FIRST_VERSION}"
        report.findings.warning("reported", REPORTED_FILE, None, "version", message, "add it, and the column unscored")
    for number, raw in () if file is None else file.rows(report.findings):
        if _enough(report.findings, REPORTED_FILE):
            return
        if "prompt_id" not in raw:  # it was not UTF-8, and was reported
            continue
        if null := _null_field(raw):
            message = "null where a value is required"
            report.findings.error("reported", REPORTED_FILE, number, null, message, "write the value")
            continue
        reported = as_reported(raw)
        for problem in seen.check_reported(number, raw["prompt_id"], reported):
            report.findings.add(problem)
        if not report.findings.rejected():  # an invalid value, such as NaN, may have no digest
            digest.add_reported(raw["prompt_id"], reported)


def _null_field(raw: dict[str, Any]) -> str | None:
    """Return the field of a reported row that lacks a value; the scores as a whole and the utility may be null."""
    needed = ("prompt_id", "partition", "distinct", "version", "unscored")
    bare = (name for name in needed if name in raw and raw[name] is None)
    holed = (name for name in ("partition", "generation_scores") if None in (raw[name] or ()))
    return next(bare, None) or next(holed, None)
