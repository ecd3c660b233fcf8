"""Validate a submission folder: find all problems at once, each with its row, field and suggested fix.

First, `submissions.untrusted` checks that the files are valid and have the right schema. Then each check of `CHECKS`
runs on every row, or once after the last row. Finally, reported values, if any, are compared with the rows. To add a
check, write a function in `checks.py` and add a line to `CHECKS`.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from datasets_build.load import load_suite
from datasets_build.schema import Suite
from divbench.core.errors import ConfigurationError, UnknownSuite
from submissions.checking.checks import CHECKS, Check, Context, SeenRows, has_all_values
from submissions.checking.prompts import OWN, own_suite
from submissions.checking.response_kinds import ResponseCounts
from submissions.schema import GENERATIONS, REPORTED, Manifest, Problem, submission_id
from submissions.storage.submission_folders import (
    GENERATIONS_FILE,
    MANIFEST_FILE,
    REPORTED_FILE,
    RowsDigest,
    Submission,
    as_reported,
    as_row,
)
from submissions.untrusted.findings import Findings, Rejected, problems_json
from submissions.untrusted.json_files import read_manifest
from submissions.untrusted.parquet_files import ParquetTable, open_parquet

MAX_ERRORS = 10_000
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
        } | problems_json(self.findings)


def validate(
    folder: Path,
    find_suite: FindSuite = load_suite,
    *,
    checks: tuple[Check, ...] = CHECKS,
    numbers: Sequence[int] = (),
    progress: Progress = lambda rows: None,
) -> Report:
    """Check a submission folder.

    Args:
        find_suite: Function that finds the suite that the manifest names; not called for *own*.
        numbers: Number of each row in the imported file, for messages; default: in the folder's file.

    Raises:
        ConfigurationError: The folder does not exist, or the suite's file is not available.
    """
    if not _is(Path.is_dir, folder):
        if _is(Path.is_file, folder):
            hint = "to convert a file of responses: divbench import; to score it directly: divbench quick"
            raise ConfigurationError(f"{folder} is a file, not a submission folder", hint)
        raise ConfigurationError(f"there is no folder {folder}", "give a submission folder")
    report = Report(Findings())
    report.manifest = read_manifest(folder / MANIFEST_FILE, report.findings)
    if report.manifest is not None:
        report.suite = _suite(report.manifest, find_suite, report.findings)
    digest, rows_digest = RowsDigest(), ""
    file = open_parquet(folder / GENERATIONS_FILE, GENERATIONS, report.findings)
    seen = SeenRows(keep_texts=os.path.lexists(folder / REPORTED_FILE))
    if file is not None:
        context = Context(report.manifest, report.suite, file.count)
        _check_rows(file, context, checks, report, seen, digest, numbers, progress)
        rows_digest = digest.hex()
        _check_reported(folder, seen, report, digest)
        for check in checks:
            if check.whole is not None:
                for problem in check.whole(context, seen):
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
    """Open a submission that passes every check, with its suite.

    Raises:
        Rejected: It does not pass.
        ConfigurationError: As in `validate`.
    """
    report = validate(folder, find_suite)
    if report.submission is None or report.suite is None:
        raise Rejected(str(folder), report.findings)
    return report.submission, report.suite, report


def open_checked(
    folder: Path, found: Mapping[str, Any], find_suite: FindSuite = load_suite
) -> tuple[Submission, Suite]:
    """Open a folder that `validate_in_child` accepted, without decoding its responses again.

    Args:
        folder: The folder that was checked, unchanged since.
        found: Document from `validate_in_child`, with `accepted` true.

    Raises:
        Rejected: The files have been damaged since.
        ConfigurationError: The suite's file is not available.
    """
    findings = Findings()
    manifest = read_manifest(folder / MANIFEST_FILE, findings)
    if manifest is None:
        raise Rejected(str(folder), findings)
    prompts = found["counts"]["prompts"]
    made = Submission(folder, manifest, found["id"], prompts, found["rows_digest"], found["in_suite_order"])
    return made, own_suite(made.prompt_rows()) if manifest.suite == OWN else find_suite(manifest.suite)


def _suite(manifest: Manifest, find_suite: FindSuite, findings: Findings) -> Suite | None:
    if manifest.suite == OWN:
        return None
    try:
        return find_suite(manifest.suite)
    except UnknownSuite as error:
        findings.add(Problem("manifest", "error", MANIFEST_FILE, None, "suite", error.message, error.hint))
        return None


def _check_rows(
    file: ParquetTable,
    context: Context,
    checks: tuple[Check, ...],
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
        for check in checks:
            if check.row is not None:
                for problem in check.row(row, context, seen):
                    report.findings.add(problem)
        seen.add(row, context)
        report.counts.add(row)
        if not report.findings.rejected():  # a rejected submission needs no id
            digest.add(row)


def _enough(findings: Findings, file: str) -> bool:
    """Whether there are too many errors to read on, which is then reported."""
    if findings.count("error") <= MAX_ERRORS:
        return False
    message, hint = f"more than {MAX_ERRORS:,} errors", "fix these first: the rest was not checked"
    findings.add(Problem("sizes", "error", file, None, "", message, hint))
    return True


def _is(kind: Callable[[Path], bool], path: Path) -> bool:
    try:
        return kind(path)
    except OSError:  # a parent folder cannot be read
        return False


def _null_field(raw: dict[str, Any]) -> str | None:
    """Return the field of a reported row that lacks a value; the scores as a whole and the utility may be null."""
    bare = (name for name in ("prompt_id", "partition", "distinct") if raw[name] is None)
    holed = (name for name in ("partition", "generation_scores") if None in (raw[name] or ()))
    return next(bare, None) or next(holed, None)


def _check_reported(folder: Path, seen: SeenRows, report: Report, digest: RowsDigest) -> None:
    path = folder / REPORTED_FILE
    if not os.path.lexists(path):  # a dangling link counts as a file, and is an error below
        return
    file = open_parquet(path, REPORTED, report.findings)
    if file is None:
        return
    for number, raw in file.rows(report.findings):
        if _enough(report.findings, REPORTED_FILE):
            return
        if "prompt_id" not in raw:  # it was not UTF-8, and was reported
            continue
        if null := _null_field(raw):
            message = "null where a value is required"
            report.findings.add(Problem("reported", "error", REPORTED_FILE, number, null, message, "write the value"))
            continue
        reported = as_reported(raw)
        for problem in seen.check_reported(number, raw["prompt_id"], reported):
            report.findings.add(problem)
        if not report.findings.rejected():  # an invalid value, such as NaN, may have no digest
            digest.add_reported(raw["prompt_id"], reported)
