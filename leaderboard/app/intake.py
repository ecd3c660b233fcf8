"""Takes in untrusted uploads: copies them aside, validates them, submits them, and tells the submitter.

No path contains anything that a client chose: uploads are copied, up to a size limit, under our own names into a
folder that only this process may enter, and are first read in a child process.
"""

import os
import secrets
import stat
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import date, datetime
from pathlib import Path
from shutil import rmtree
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

from pydantic import ValidationError

from benchmark.service.failures import public_text
from divbench.core.errors import ConfigurationError, DivBenchError, counted
from divbench.core.files import canonical_json
from divbench.core.tables import Table
from leaderboard.app.temporary_folder import TemporaryFolder
from submissions.checking.response_kinds import kinds_text
from submissions.checking.validate import stopped, validate_in_child
from submissions.importing.importers import import_submission
from submissions.schema import Manifest
from submissions.storage.file_store import FileStore
from submissions.storage.submission_folders import (
    GENERATIONS_FILE,
    MANIFEST_FILE,
    MAX_MANIFEST_BYTES,
    REPORTED_FILE,
    read_manifest,
)
from submissions.untrusted.findings import Findings, Problem, Rejected
from submissions.untrusted.plain_text import one_line
from submissions.untrusted.process import Limits, Stopped, run_limited
from submissions.work_queue.operations import submit
from submissions.work_queue.printing import person, when
from submissions.work_queue.schema import Identity, Listing, Quota, Receipt

MAX_UPLOAD_BYTES = 64 * 2**20  # of one file; also the server's `max_file_size`
MAX_PASTED_BYTES = 500_000  # as JSON, with its quotation marks escaped, it must fit into the body of a call
LIMITS = Limits(memory=3 * 2**30, seconds=120)
AT_ONCE = 2
PATIENCE = 60.0  # seconds that a request waits for its turn
KEPT = 32
KEPT_SECONDS = 3600.0
QUOTA = Quota(number=10, days=7)
MAX_SHOWN = 1000  # problems in the table
DOWNLOAD = "my-submission"  # folder in the zip file of a valid submission
_PROBLEM = ("severity", "file", "row", "field", "message", "hint")
ENDINGS: Mapping[str, str] = {"jsonl": ".jsonl", "noveltybench": ".jsonl", "lm-eval": ".jsonl", "csv": ".csv"}
_LIMITS = {MANIFEST_FILE: MAX_MANIFEST_BYTES, GENERATIONS_FILE: MAX_UPLOAD_BYTES, REPORTED_FILE: MAX_UPLOAD_BYTES}
_NUMBERS = (
    *("system.parameters", "generation.temperature", "generation.top_p", "generation.top_k"),
    *("generation.max_tokens", "generation.seed"),
)
_LETTERS = 80  # characters of a client's file name


class Busy(DivBenchError):
    """Too many requests are being served."""


@dataclass(frozen=True, slots=True)
class Checked:
    """The outcome of a validation."""

    token: str | None  # key of the submission kept by the intake; None if it was rejected
    manifest: Manifest | None
    report: Mapping[str, Any]  # document that `divbench validate --json` prints

    def table(self) -> Table:
        """Return the problems, errors first; every cell is one printable line."""
        problems = sorted(self.report["problems"], key=lambda problem: problem["severity"] != "error")
        return Table("", ("", "file", "row", "field", "problem", "hint"), list(map(_row, problems[:MAX_SHOWN])))


@dataclass(frozen=True, slots=True)
class _Kept:
    folder: Path
    since: float


class Intake:
    """Validates uploads and keeps valid submissions until they are submitted or expire."""

    def __init__(
        self,
        *,
        at_once: int = AT_ONCE,  # maximum number of concurrent validations and submissions
        patience: float = PATIENCE,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._patience, self._clock = patience, clock
        self._spool = TemporaryFolder("divbench-intake-")
        self._turns = threading.BoundedSemaphore(at_once)
        self._lock = threading.Lock()
        self._kept: dict[str, _Kept] = {}

    def check_files(self, uploads: Sequence[Path]) -> Checked:
        """Validate the files of a submission folder: manifest.json, generations.parquet, reported.parquet."""
        named: dict[str, Path] = {}
        problems = []
        for upload in uploads[: 2 * len(_LIMITS)]:
            message = "" if upload.name in _LIMITS else f"is not one of {', '.join(_LIMITS)}"
            message = message or ("was given twice" if upload.name in named else "")
            if message:
                problems.append(_of_file(upload.name, message, "upload each file of the folder once, under its name"))
            named.setdefault(upload.name, upload)
        absent = [name for name in (MANIFEST_FILE, GENERATIONS_FILE) if name not in named]
        problems += [_of_file(name, "is missing", "add it: a submission needs both files") for name in absent]
        if problems:
            return rejected(problems)
        with self._turn(), self._aside() as folder:
            copied = [take(source, folder / name, _LIMITS[name]) for name, source in named.items()]
            if problems := list(filter(None, copied)):
                return rejected(problems)
            return self._outcome(folder, validate_in_child(folder, limits=LIMITS))

    def check_file(self, upload: Path, kind: str, known: Mapping[str, Any]) -> Checked:
        """Import a file of responses in one of the formats `ENDINGS` and validate it, with the fields of a form."""
        if kind not in ENDINGS:
            raise ConfigurationError("there is no such format", f"choose one of {', '.join(ENDINGS)}")
        with self._turn(), self._aside() as folder:
            source = folder / f"generations{ENDINGS[kind]}"
            if problem := take(upload, source, MAX_UPLOAD_BYTES):
                return rejected([problem])
            return self._imported(folder, source, kind, known, one_line(upload.name, _LETTERS))

    def check_text(self, text: str, known: Mapping[str, Any]) -> Checked:
        """Import pasted JSON Lines as a submission and validate it; otherwise like `check_file`."""
        content = text.encode("utf-8", "surrogatepass")
        if not text.strip():
            return rejected([_of_file("pasted text", "is empty", "paste one JSON object per line")])
        if len(content) > MAX_PASTED_BYTES:
            hint = f"the limit is {MAX_PASTED_BYTES:,} bytes; upload a file instead"
            return rejected([_of_file("pasted text", f"has {len(content):,} bytes", hint)])
        with self._turn(), self._aside() as folder:
            source = folder / "generations.jsonl"
            source.write_bytes(content)
            return self._imported(folder, source, "jsonl", known, "pasted text")

    def submit_kept(self, token: str, store: FileStore, submitter: Identity, now: datetime) -> Receipt:
        """Put a valid submission into a store's queue; after a failure it is kept for a retry."""
        with self._lock:
            submission = self._kept.get(token)
        if submission is None:
            raise ConfigurationError("the validated submission has expired", "validate it again, then submit it")
        with self._turn():
            receipt = submit(store, submission.folder, submitter, now, quota=QUOTA)
        self.forget(token)
        return receipt

    def zipped(self, token: str | None) -> Path | None:
        """Return a valid submission as a zip file of one folder; None if it has expired."""
        with self._lock:
            kept = self._kept.get(token or "")
        if kept is None:
            return None
        path = kept.folder.parent / f"{DOWNLOAD}.zip"
        with ZipFile(path, "w", ZIP_DEFLATED) as archive:
            for file in sorted(kept.folder.iterdir()):
                archive.write(file, f"{DOWNLOAD}/{file.name}")
        return path

    def forget(self, token: str | None) -> None:
        """Remove the submission kept under a token, if there is one."""
        with self._lock:
            kept = self._kept.pop(token or "", None)
        if kept is not None:
            rmtree(kept.folder.parent, ignore_errors=True)

    @contextmanager
    def _turn(self) -> Iterator[None]:
        if not self._turns.acquire(timeout=self._patience):
            raise Busy("too many requests are being served", "retry in a minute")
        try:
            yield
        finally:
            self._turns.release()

    @contextmanager
    def _aside(self) -> Iterator[Path]:
        """A temporary folder, removed at the end unless its submission is kept."""
        home = Path(tempfile.mkdtemp(dir=self._spool.path()))
        folder = home / "submission"
        folder.mkdir()
        try:
            yield folder
        finally:
            with self._lock:
                is_kept = any(kept.folder.parent == home for kept in self._kept.values())
            if not is_kept:
                rmtree(home, ignore_errors=True)

    def _imported(self, folder: Path, source: Path, kind: str, known: Mapping[str, Any], name: str) -> Checked:
        imported = folder.parent / "imported"
        report = import_in_child(source, kind, imported, known, LIMITS)
        for problem in report["problems"]:  # under the client's name of the file, not ours
            if problem["file"] in (source.name, source.with_suffix(".jsonl").name):
                problem["file"] = name
        return self._outcome(imported, report)

    def _outcome(self, submission: Path, report: Mapping[str, Any]) -> Checked:
        """Keep a valid submission for some time."""
        manifest = read_manifest(submission / MANIFEST_FILE, Findings()) if report["accepted"] else None
        if manifest is None:
            return Checked(None, None, report)
        with self._lock:
            old = [token for token, kept in self._kept.items() if self._clock() - kept.since > KEPT_SECONDS]
            recent = [token for token in self._kept if token not in old]
        for expired in (*old, *recent[: max(0, len(recent) - KEPT + 1)]):
            self.forget(expired)
        token = secrets.token_hex(16)
        with self._lock:
            self._kept[token] = _Kept(submission, self._clock())
        return Checked(token, manifest, report)


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


def take(source: Path, target: Path, limit: int) -> Problem | None:
    """Copy a regular file to our own path. If it is not one or is too large, return the problem and write nothing."""
    try:
        handle = os.open(source, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    except OSError:
        return _of_file(source.name, "was not uploaded or is gone", "upload it again")
    with os.fdopen(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            return _of_file(source.name, "is not a regular file", "upload a file")
        if (size := os.fstat(handle).st_size) > limit:
            hint = f"the limit here is {limit:,} bytes; divbench submit takes larger files"
            return _of_file(source.name, f"has {size:,} bytes", hint)
        with target.open("xb") as copy:
            left = limit
            while left > 0 and (piece := file.read(min(2**20, left))):
                copy.write(piece)
                left -= len(piece)
    return None


def form(values: Mapping[str, Any]) -> tuple[dict[str, Any], Checked | None]:
    """Return the fields of a manifest from the page's form, and a rejection with all problems if there are any.

    Values are by field name: `name`, `suite`, `notes`, `reported`, and dotted names such as `system.type`. Blank texts
    count as missing, and numbers are texts; `submitter.links` has one link per line; `system.open_weights` is *open* or
    *closed*.
    """
    known: dict[str, Any] = {"system": {}, "generation": {}, "submitter": {}}
    for field, text in values.items():
        value = text.strip() if isinstance(text, str) else text
        part, _, name = field.rpartition(".")
        if field == "submitter.links":
            value = [line.strip() for line in str(value or "").splitlines() if line.strip()]
        elif field == "system.open_weights":
            value = {"open": True, "closed": False}.get(str(value))
        elif field in _NUMBERS and isinstance(value, str):
            value = _number(value)
        if value is not None and value != "":
            (known[part] if part else known)[name] = value
    problems = _form_problems(known)
    return known, rejected(problems) if problems else None


def _number(text: str) -> int | float | str:
    """Return the number that a text states; otherwise the text, whose problem the manifest's schema names."""
    for kind in (int, float):
        with suppress(ValueError):
            return kind(text)
    return text


def _form_problems(known: Mapping[str, Any]) -> list[Problem]:
    """Return the problems of a form's fields, apart from those that only the file can show."""
    problems = []
    whole = {key: value for key, value in known.items() if key != "reported"}
    whole["generation"] = {"k": 1, **known["generation"]}
    try:
        Manifest.model_validate_json(canonical_json(whole))
    except ValidationError as error:
        for item in error.errors(include_url=False, include_context=False, include_input=False):
            is_missing = item["type"] == "missing"
            message = "is missing" if is_missing else item["msg"].removeprefix("Value error, ")
            hint = "fill it in" if is_missing else "correct the form, or leave the field blank"
            field = ".".join(str(part) for part in item["loc"])
            problems.append(Problem("manifest", "error", "form", None, field, message, hint))
    except (ValueError, TypeError):  # NaN, a lone surrogate, or a value that our form never sends
        problems.append(_of_file("form", "has an invalid value", "fill it in again"))
    return problems


def error_text(error: Exception) -> str:
    """Return an error for a page: message and hint without secrets or local paths."""
    if isinstance(error, DivBenchError):
        return public_text(" ".join(str(error).split()))
    return "the server could not read or write its own files. Retry later, or tell the operator of this board"


def _row(problem: Mapping[str, Any]) -> list[str]:
    cells = [one_line("" if problem[name] is None else str(problem[name]), 600) for name in _PROBLEM]
    # Messages of a stopped process are quoted and may contain local paths.
    return [public_text(cell) for cell in cells] if problem["check"] == "limits" else cells


def _of_file(file: str, message: str, hint: str) -> Problem:
    return Problem("file", "error", one_line(file, _LETTERS), None, "", message, hint)


def rejected(problems: Iterable[Problem]) -> Checked:
    """Return a rejection with these problems."""
    findings = Findings()
    for problem in problems:
        findings.add(problem)
    return Checked(None, None, {"accepted": False, "id": None, "counts": None} | findings.as_json())


def rejected_text(checked: Checked) -> str:
    """Return the message for a rejected submission; the table below it lists the problems."""
    errors, warnings = checked.report["errors"], checked.report["warnings"]
    text = f"Rejected: {counted(errors, 'error')}, {counted(warnings, 'warning')}. Nothing was saved."
    shown = min(len(checked.report["problems"]), MAX_SHOWN)
    more = f" Only the first {shown} problems are shown, at most 200 of each kind." if errors + warnings > shown else ""
    return text + more


def accepted_text(checked: Checked, address: str | None, *, login: bool) -> str:
    """Return the message for a valid submission, with what happens next; without a store's address, nothing does."""
    manifest, counts = checked.manifest, checked.report["counts"]
    assert manifest is not None  # noqa: S101 - it was accepted
    lines = [
        f"{'Valid' if address is None else 'Accepted'}: {manifest.name} as {checked.report['id']}.",
        f"{manifest.suite}, {counted(counts['prompts'], 'prompt')}, {counted(counts['responses'], 'response')} "
        f"(k = {manifest.generation.k}): {kinds_text(counts)}. "
        f"{counted(checked.report['warnings'], 'warning')}.",
    ]
    if unused := checked.report.get("passed_over"):
        lines.append(f"Unused fields of the file: {', '.join(unused[:20])}{', …' if len(unused) > 20 else ''}.")
    if address is None:
        lines += [
            "This board takes no submissions. Download this one and unpack it; these commands score it on your own "
            "machine and show it beside the systems of this board:",
            f"divbench score {DOWNLOAD} --out results",
            "divbench board serve --results results",
        ]
    else:
        lines.append(
            f"Submit it below{' under your login' if login else ''}. It then waits in the queue until a worker "
            "validates it again and scores it with every metric; then it appears on the board. You can follow its "
            f"progress on this page by its id. Or download it, unpack it, and use: divbench submit {DOWNLOAD} "
            f"--to {address}"
        )
    return "\n".join(one_line(line, 2000) for line in lines)


def receipt_text(receipt: Receipt, listing: Listing | None, address: str, now: datetime) -> str:
    """Return the receipt for a submission."""
    state = receipt.state
    if receipt.new:
        lines = [f"Submitted: {state.name} as {state.submission_id}, by {person(state.submitter)}."]
    else:
        known = f"was already submitted on {when(state.received)} and is {state.current.state}"
        lines = [f"{state.name} ({state.submission_id}) {known}. Nothing changed."]
    queue = None if listing is None else listing.queue_position(state.submission_id, now)
    if queue is not None and queue.position is not None:
        lines.append(f"It is number {queue.position} of {queue.waiting} in the queue; {queue.claimed} being scored.")
    lines += [
        f"The same responses were submitted as {twin.name}, {twin.submission_id}." for twin in receipt.same_rows[:10]
    ]
    lines.append(f"Follow it here or with: divbench submissions status {state.submission_id} --store {address}")
    return "\n".join(one_line(line, 2000) for line in lines)
