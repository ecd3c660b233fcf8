"""Is a folder an acceptable submission? All that is wrong with it, at once, each with its row, field and mend.

`CHECKS` is the whole list. A check looks at one row, or, when all rows have passed by, at the `Tally` of them.
To add one: a function here or in `checks.py`, and a line in `CHECKS`.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from datasets_build.errors import ConfigurationError
from datasets_build.load import load_suite
from datasets_build.schema import Suite
from submissions.checks import CHECKS, Check, Context, Tally, row_is_whole
from submissions.findings import Findings, Refused
from submissions.reading import open_parquet, parquet_rows, read_manifest
from submissions.schema import GENERATIONS, REPORTED, Manifest, Problem, submission_id
from submissions.store import (
    GENERATIONS_FILE,
    MANIFEST_FILE,
    REPORTED_FILE,
    RowsDigest,
    Submission,
    as_reported,
    as_row,
)
from submissions.texts import ResponseCounts

FindSuite = Callable[[str], Suite]
Progress = Callable[[int], None]


@dataclass(slots=True)
class Report:
    """What was found in a folder.

    Attributes:
        findings: All problems.
        counts: Of the responses.
        manifest: Where it could be read.
        suite: Where the manifest names one that is at hand.
        submission: Where nothing refuses it.
    """

    findings: Findings
    counts: ResponseCounts = field(default_factory=ResponseCounts)
    manifest: Manifest | None = None
    suite: Suite | None = None
    submission: Submission | None = None


def validate(
    folder: Path,
    find_suite: FindSuite = load_suite,
    *,
    checks: tuple[Check, ...] = CHECKS,
    progress: Progress = lambda rows: None,
) -> Report:
    """Check a submission folder.

    Args:
        folder: With `manifest.json` and `generations.parquet`.
        find_suite: Gives the suite that the manifest names.
        checks: What to look for.
        progress: Called with the number of rows done.

    Raises:
        ConfigurationError: The folder is not there, or the suite's file is not at hand.
    """
    if not folder.is_dir():
        raise ConfigurationError(f"there is no folder {folder}", "give the folder of a submission")
    report = Report(Findings())
    report.manifest = read_manifest(folder / MANIFEST_FILE, report.findings)
    if report.manifest is not None:
        report.suite = _suite(report.manifest, find_suite, report.findings)
    digest = RowsDigest()
    file = open_parquet(folder / GENERATIONS_FILE, GENERATIONS, report.findings)
    tally = Tally(keep_texts=(folder / REPORTED_FILE).exists())
    if file is not None:
        context = Context(report.manifest, report.suite, file.metadata.num_rows)
        _check_rows(file, context, checks, report, tally, digest, progress)
        _check_reported(folder, tally, report, digest)
        for check in checks:
            if check.whole is not None:
                for problem in check.whole(context, tally):
                    report.findings.add(problem)
    if report.manifest is not None and file is not None and not report.findings.refused():
        name = submission_id(report.manifest, digest.hex())
        report.submission = Submission(folder, report.manifest, name, tally.rows)
    return report


def open_submission(folder: Path, find_suite: FindSuite = load_suite) -> tuple[Submission, Suite, Report]:
    """A submission that passes every check, with its suite.

    Raises:
        Refused: It does not pass.
        ConfigurationError: As in `validate`.
    """
    report = validate(folder, find_suite)
    if report.submission is None or report.suite is None:
        raise Refused(str(folder), report.findings)
    return report.submission, report.suite, report


def _suite(manifest: Manifest, find_suite: FindSuite, findings: Findings) -> Suite | None:
    try:
        return find_suite(manifest.suite)
    except ConfigurationError as error:
        if "there is no suite" not in error.message:
            raise
        findings.add(Problem("manifest", "error", MANIFEST_FILE, None, "suite", error.message, error.mend))
        return None


def _check_rows(
    file: pq.ParquetFile,
    context: Context,
    checks: tuple[Check, ...],
    report: Report,
    tally: Tally,
    digest: RowsDigest,
    progress: Progress,
) -> None:
    for number, raw in parquet_rows(file, GENERATIONS_FILE, report.findings):
        progress(number)
        if not row_is_whole(number, raw, report.findings):
            tally.broken.add(raw["prompt_id"])
            continue
        row = as_row(number, raw)
        for check in checks:
            if check.row is not None:
                for problem in check.row(row, context, tally):
                    report.findings.add(problem)
        tally.add(row)
        report.counts.add(row)
        digest.add(row)


def _has_null(raw: dict[str, Any]) -> bool:
    """Whether a reported row lacks a value that must stand; the scores as a whole and the utility may be null."""
    if any(raw[name] is None for name in ("prompt_id", "partition", "distinct")):
        return True
    return None in raw["partition"] or None in (raw["generation_scores"] or ())


def _check_reported(folder: Path, tally: Tally, report: Report, digest: RowsDigest) -> None:
    path = folder / REPORTED_FILE
    if not path.exists():
        return
    file = open_parquet(path, REPORTED, report.findings)
    if file is None:
        return
    for number, raw in parquet_rows(file, REPORTED_FILE, report.findings):
        if _has_null(raw):
            message = "null where a value must stand"
            report.findings.add(Problem("reported", "error", REPORTED_FILE, number, "", message, "write the value"))
            continue
        reported = as_reported(raw)
        for problem in tally.check_reported(number, raw["prompt_id"], reported):
            report.findings.add(problem)
        digest.add_reported(raw["prompt_id"], reported)
