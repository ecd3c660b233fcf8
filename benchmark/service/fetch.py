"""Fetches an untrusted submission, checks it in a separate process, and opens it for the scorer."""

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from shutil import rmtree

from filelock import FileLock, Timeout

from datasets_build.load import load_suite
from datasets_build.schema import Suite
from divbench.core.errors import ConfigurationError, InputError
from submissions.checking.prompts import OWN
from submissions.checking.validate import open_checked, validate_in_child
from submissions.schema import Manifest
from submissions.storage.file_store import DamagedFile, FileStore
from submissions.storage.submission_folders import (
    MANIFEST_FILE,
    MAX_MANIFEST_BYTES,
    REPORTED_FILE,
    Submission,
    read_manifest,
)
from submissions.untrusted.findings import Findings, Problem, Rejected
from submissions.work_queue.queue_files import fetch
from submissions.work_queue.schema import UnknownSubmission

_PREFIX, _LOCK = "divbench-worker-", ".lock"  # of private folders


class NotAcceptable(InputError):
    """A submission that does not pass; `unsure` if the checks were cut short, possibly by a host failure."""

    def __init__(self, problems: Sequence[Problem], *, unsure: bool = False) -> None:
        errors = [problem for problem in problems if problem.severity == "error"]
        super().__init__(errors[0].message if errors else "it does not pass")
        self.problems = list(problems)
        self.unsure = unsure


@dataclass(slots=True)
class Suites:
    """The suites that are available on this machine, each loaded once."""

    mirror: Path | None = None  # folder with released files, for suites that are not in the package
    _loaded: dict[str, Suite] = field(default_factory=dict)

    def find(self, name: str) -> Suite:
        """Return the suite with a name."""
        if name not in self._loaded:
            self._loaded[name] = load_suite(name, self.mirror, network=False)
        return self._loaded[name]

    def has(self, name: str) -> bool:
        """Return whether submissions for a suite can be scored here: it is available, or they contain it."""
        try:
            return name == OWN or bool(self.find(name).prompts)
        except (ConfigurationError, InputError, OSError):
            return False


@contextmanager
def private_folder() -> Iterator[Path]:
    """Yield an empty temporary folder that only this user may read.

    The operating system releases its lock if the process is killed; then `remove_left_folders` may delete it.
    """
    with tempfile.TemporaryDirectory(prefix=_PREFIX, ignore_cleanup_errors=True) as name, FileLock(Path(name, _LOCK)):
        folder = Path(name, "submission")
        folder.mkdir()
        yield folder


def remove_left_folders() -> None:
    """Delete the private folders of this user's processes that were killed, and nothing through a link."""
    user = getattr(os, "getuid", int)()  # Windows has none, and its files have 0
    for path in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with suppress(OSError, Timeout):  # in use, or another process deletes it
            if path.lstat().st_uid == user and not path.is_symlink() and (path / _LOCK).is_file():
                with FileLock(path / _LOCK, timeout=0):
                    rmtree(path, ignore_errors=True)


def fetch_manifest(store: FileStore, submission_id: str) -> Manifest | None:
    """Fetch only the manifest of a submission; None if there is no readable one."""
    path = f"submissions/{submission_id}/{MANIFEST_FILE}"
    with private_folder() as folder:
        try:
            store.fetch(store.head(), path, folder / MANIFEST_FILE, MAX_MANIFEST_BYTES)
        except (FileNotFoundError, InputError):
            return None
        return read_manifest(folder / MANIFEST_FILE, Findings())


def fetch_checked(store: FileStore, submission_id: str, folder: Path, suites: Suites) -> tuple[Submission, Suite]:
    """Fetch a submission into an empty private folder and check it; its content must have its id.

    This process opens the Parquet files only after they have passed the checks in a child process, which may crash
    without harm. The child decodes the responses to check them; here they are decoded when they are scored.
    """
    try:
        fetch(store, submission_id, folder)
    except UnknownSubmission as error:
        raise DamagedFile(f"submissions/{submission_id}", error.message) from error
    except DamagedFile:
        raise
    except InputError as error:
        raise NotAcceptable([Problem("file", "error", "", None, "", error.message, error.hint)]) from error
    try:
        return _checked(submission_id, folder, suites)
    except (NotAcceptable, DamagedFile):
        # A third file that was added to a submission makes it another one, so look whether the two are right.
        if not (folder / REPORTED_FILE).is_file():
            raise
        (folder / REPORTED_FILE).replace(folder / "unused")
        with suppress(NotAcceptable, DamagedFile):
            return _checked(submission_id, folder, suites)
        raise


def _checked(submission_id: str, folder: Path, suites: Suites) -> tuple[Submission, Suite]:
    """Check a submission in a child process, and open it."""
    report = validate_in_child(folder, mirror=suites.mirror)
    if not report["accepted"]:
        problems = [Problem(**{**problem, "field": problem["field"] or ""}) for problem in report["problems"]]
        raise NotAcceptable(problems, unsure=report["counts"] is None)
    try:
        submission, suite = open_checked(folder, report, suites.find)
    except Rejected as error:
        raise NotAcceptable(error.findings.problems) from error
    if submission.id != submission_id:
        raise DamagedFile(f"submissions/{submission_id}", f"its content is that of {submission.id}")
    return submission, suite
