"""Takes in untrusted uploads: copies them aside, validates them, submits them.

No path contains anything that a client chose: uploads are copied, up to a size limit, under our own names into a
folder that only this process may enter, and are first read in a child process.
"""

import os
import secrets
import stat
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from shutil import rmtree
from typing import Any

from benchmark.service.failures import public_text
from divbench.core.errors import ConfigurationError, DivBenchError
from leaderboard.app.submitting.importing import import_in_child
from leaderboard.app.temporary import TemporaryFolder
from submissions.checking.validate import validate_in_child
from submissions.schema import Manifest
from submissions.storage.file_store import FileStore
from submissions.storage.submission_folders import (
    GENERATIONS_FILE,
    MANIFEST_FILE,
    MAX_MANIFEST_BYTES,
    REPORTED_FILE,
    read_manifest,
)
from submissions.untrusted.findings import Findings, Problem
from submissions.untrusted.plain_text import one_line
from submissions.untrusted.process import Limits
from submissions.work_queue.operations import submit
from submissions.work_queue.schema import Identity, Quota, Receipt

MAX_UPLOAD_BYTES = 64 * 2**20  # of one file; also the server's `max_file_size`
MAX_PASTED_BYTES = 500_000  # as JSON, with its quotation marks escaped, it must fit into the body of a call
LIMITS = Limits(memory=3 * 2**30, seconds=120)
AT_ONCE = 2
PATIENCE = 60.0  # seconds that a request waits for its turn
KEPT = 32
KEPT_SECONDS = 3600.0
QUOTA = Quota(number=10, days=7)
MAX_SHOWN = 1000  # problems in the table
PROBLEM_HEADERS = ("", "file", "row", "field", "problem", "hint")
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

    @property
    def rows(self) -> list[list[str]]:
        """Problems under `PROBLEM_HEADERS`, errors first; every cell is one printable line."""
        found = sorted(self.report["problems"], key=lambda problem: problem["severity"] != "error")
        return [_row(problem) for problem in found[:MAX_SHOWN]]


@dataclass(frozen=True, slots=True)
class _Kept:
    folder: Path
    since: float


class Intake:
    """Validates uploads and keeps valid submissions until they are submitted or expire.

    Args:
        at_once: Maximum number of concurrent validations and submissions.
        patience: Time in seconds that others wait for their turn.
        clock: Monotonic clock in seconds.
    """

    def __init__(
        self,
        *,
        at_once: int = AT_ONCE,
        patience: float = PATIENCE,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._patience, self._clock = patience, clock
        self._spool = TemporaryFolder("divbench-intake-")
        self._turns = threading.BoundedSemaphore(at_once)
        self._lock = threading.Lock()
        self._kept: dict[str, _Kept] = {}

    def check_files(self, uploads: Sequence[Path]) -> Checked:
        """Validate the files of a submission folder.

        Args:
            uploads: Files named manifest.json, generations.parquet, reported.parquet.

        Raises:
            Busy: Too many requests are being served.
            ConfigurationError: The suite's file is not available here.
        """
        named: dict[str, Path] = {}
        problems = []
        for upload in uploads[: 2 * len(_LIMITS)]:
            message = "" if upload.name in _LIMITS else f"is not one of {', '.join(_LIMITS)}"
            message = message or ("was given twice" if upload.name in named else "")
            if message:
                problems.append(_of_file(upload.name, message, "upload each file of the folder once, under its name"))
            named.setdefault(upload.name, upload)
        absent = [needed for needed in (MANIFEST_FILE, GENERATIONS_FILE) if needed not in named]
        problems += [_of_file(each, "is missing", "add it: a submission needs both files") for each in absent]
        if problems:
            return _rejected(problems)
        with self._turn(), self._aside() as folder:
            taken = [take(source, folder / name, _LIMITS[name]) for name, source in named.items()]
            if problems := list(filter(None, taken)):
                return _rejected(problems)
            report = validate_in_child(folder, limits=LIMITS)
            return self._outcome(folder, folder, report)

    def check_file(self, upload: Path, kind: str, known: Mapping[str, Any]) -> Checked:
        """Import a file of responses as a submission and validate it.

        Args:
            kind: Format, a key of `ENDINGS`.
            known: Fields of its manifest from `form`.

        Raises:
            Busy: Too many requests are being served.
            ConfigurationError: There is no such format, or the suite's file is not available here.
        """
        with self._turn(), self._aside() as folder:
            source = folder / f"generations{_ending(kind)}"
            if problem := take(upload, source, MAX_UPLOAD_BYTES):
                return _rejected([problem])
            return self._imported(folder, source, kind, known, one_line(upload.name, _LETTERS))

    def check_text(self, text: str, known: Mapping[str, Any]) -> Checked:
        """Import pasted JSON Lines as a submission and validate it; otherwise like `check_file`."""
        content = text.encode("utf-8", "surrogatepass")
        if not text.strip():
            return _rejected([_of_file("pasted text", "is empty", "paste one JSON object per line")])
        if len(content) > MAX_PASTED_BYTES:
            hint = f"the limit is {MAX_PASTED_BYTES:,} bytes; upload a file instead"
            return _rejected([_of_file("pasted text", f"has {len(content):,} bytes", hint)])
        with self._turn(), self._aside() as folder:
            source = folder / "generations.jsonl"
            source.write_bytes(content)
            return self._imported(folder, source, "jsonl", known, "pasted text")

    def add_faults(self, found: Checked, faults: Checked) -> Checked:
        """Reject what was checked with stand-ins for fields of a form, with the problems of both."""
        self.forget(found.token)
        both = {name: faults.report[name] + found.report[name] for name in ("errors", "warnings", "problems")}
        by_check = Counter(faults.report["by_check"]) + Counter(found.report["by_check"])
        return Checked(None, None, {**found.report, **both, "accepted": False, "id": None, "by_check": dict(by_check)})

    def submit_kept(self, token: str, store: FileStore, submitter: Identity, now: datetime) -> Receipt:
        """Put a valid submission into a store's queue; after a failure it is kept for a retry.

        Raises:
            Busy: Too many requests are being served.
            ConfigurationError: The submission has expired.
            DivBenchError: As `submissions.work_queue.operations.submit`.
        """
        with self._lock:
            kept = self._kept.get(token)
        if kept is None:
            raise ConfigurationError("the validated submission has expired", "validate it again, then submit it")
        with self._turn():
            receipt = submit(store, kept.folder, submitter, now, quota=QUOTA)
        self.forget(token)
        return receipt

    def forget(self, token: str | None) -> None:
        """Remove the submission kept under a token, if there is one."""
        with self._lock:
            kept = self._kept.pop(token or "", None)
        if kept is not None:
            rmtree(kept.folder.parent, ignore_errors=True)

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """Wait for a turn."""
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
                kept = any(each.folder.parent == home for each in self._kept.values())
            if not kept:
                rmtree(home, ignore_errors=True)

    def _imported(self, folder: Path, source: Path, kind: str, known: Mapping[str, Any], called: str) -> Checked:
        made = folder.parent / "imported"
        report = import_in_child(source, kind, made, known, LIMITS)
        ours = {source.name, source.with_suffix(".jsonl").name}
        for problem in report["problems"]:
            problem["file"] = called if problem["file"] in ours else problem["file"]
        return self._outcome(folder, made, report)

    def _outcome(self, folder: Path, submission: Path, report: Mapping[str, Any]) -> Checked:
        """Keep a valid submission for some time."""
        manifest = read_manifest(submission / MANIFEST_FILE, Findings()) if report["accepted"] else None
        if manifest is None:
            return Checked(None, None, report)
        token = secrets.token_hex(16)
        self._make_room()
        with self._lock:
            self._kept[token] = _Kept(submission, self._clock())
        return Checked(token, manifest, report)

    def _make_room(self) -> None:
        with self._lock:
            old = [token for token, kept in self._kept.items() if self._clock() - kept.since > KEPT_SECONDS]
            spare = [token for token in self._kept if token not in old]
        for token in (*old, *spare[: max(0, len(spare) - KEPT + 1)]):
            self.forget(token)


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
        with target.open("xb") as made:
            left = limit
            while left > 0 and (piece := file.read(min(2**20, left))):
                made.write(piece)
                left -= len(piece)
    return None


def form(values: Mapping[str, Any]) -> tuple[dict[str, Any], Checked | None]:
    """The fields of a manifest from the page's form, and a rejection with all problems if there are any.

    Args:
        values: Values by field name: `name`, `suite`, `notes`, `reported`, and dotted names such as `system.type`.
            Blank texts count as missing, and numbers are texts; `submitter.links` has one link per line;
            `system.open_weights` is *open* or *closed*.
    """
    known: dict[str, Any] = {"system": {}, "generation": {}, "submitter": {}}
    for field, given in values.items():
        value = given.strip() if isinstance(given, str) else given
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
    return known, _rejected(problems) if problems else None


def with_stand_ins(known: Mapping[str, Any], faults: Checked) -> dict[str, Any] | None:
    """The fields with which a file can be checked although the form has problems; None if they hide what to check."""
    made = {part: dict(value) if isinstance(value, Mapping) else value for part, value in known.items()}
    for problem in faults.report["problems"]:
        part, _, name = (problem["field"] or "suite").partition(".")
        if part == "suite":
            return None
        if name:
            made[part].pop(name.partition(".")[0], None)
        else:
            made.pop(part, None)
    stand_ins = {"name": "unnamed", "system": {"type": "model"}, "submitter": {"name": "unknown"}}
    return made | {
        part: value | made[part] if isinstance(value, dict) else made.get(part, value)
        for part, value in stand_ins.items()
    }


def _number(text: str) -> int | float | str:
    """The number that a text states; otherwise the text, whose problem the manifest's schema names."""
    for kind in (int, float):
        with suppress(ValueError):
            return kind(text)
    return text


def _form_problems(known: Mapping[str, Any]) -> list[Problem]:
    """The problems of a form's fields, apart from those that only the file can show."""
    from pydantic import ValidationError

    from divbench.core.files import canonical_json

    problems = []
    whole = {key: value for key, value in known.items() if key != "reported"}
    whole["generation"] = {"k": 1, **known["generation"]}
    try:
        Manifest.model_validate_json(canonical_json(whole))
    except ValidationError as error:
        for item in error.errors(include_url=False, include_context=False, include_input=False):
            said = "is missing" if item["type"] == "missing" else item["msg"].removeprefix("Value error, ")
            field = ".".join(str(part) for part in item["loc"])
            hint = "fill it in" if item["type"] == "missing" else "correct the form, or leave the field blank"
            problems.append(Problem("manifest", "error", "form", None, field, said, hint))
    except (ValueError, TypeError):  # NaN, a lone surrogate, or a value that our form never sends
        problems.append(_of_file("form", "has an invalid value", "fill it in again"))
    return problems


def error_text(error: Exception) -> str:
    """An error for a page: message and hint without secrets or local paths."""
    if isinstance(error, DivBenchError):
        return public_text(" ".join(str(error).split()))
    return "the server could not read or write its own files. Retry later, or tell the operator of this board"


def _row(problem: Mapping[str, Any]) -> list[str]:
    names = ("severity", "file", "row", "field", "message", "hint")
    cells = [one_line("" if problem[name] is None else str(problem[name]), 600) for name in names]
    # Messages of a stopped process are quoted and may contain local paths.
    return [public_text(cell) for cell in cells] if problem["check"] == "limits" else cells


def _of_file(file: str, message: str, hint: str) -> Problem:
    return Problem("file", "error", one_line(file, _LETTERS), None, "", message, hint)


def _rejected(problems: Iterable[Problem]) -> Checked:
    findings = Findings()
    for problem in problems:
        findings.add(problem)
    return Checked(None, None, {"accepted": False, "id": None, "counts": None} | findings.as_json())


def _ending(kind: str) -> str:
    if kind not in ENDINGS:
        raise ConfigurationError("there is no such format", f"choose one of {', '.join(ENDINGS)}")
    return ENDINGS[kind]
