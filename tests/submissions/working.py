"""What the tests of workers and the soak share: submissions to score, workers in processes, and what must hold."""

import hashlib
import json
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

from datasets_build.load import load_suite
from submissions.schema import Generation, Manifest, Row, Submitter, System
from submissions.storage.file_store import FileStore
from submissions.storage.submission_folders import write_submission
from submissions.work_queue.operations import submit
from submissions.work_queue.queue_files import RESULT_FILES, result_paths
from submissions.work_queue.schema import Identity, State
from tests.forked import Forked, of_module
from tests.hub import client_environment
from tests.submissions.stores import Place

ME = Identity(name="me")
LIMIT = 240.0  # seconds, far beyond what any step takes on a busy machine
Event = dict[str, Any]


def demo(folder: Path, name: str, *, text: str = "answer", k: int = 3) -> Path:
    """A submission folder that answers the demonstration's suite."""
    rows = [
        Row(
            i + 1,
            p.prompt_id,
            p.prompt,
            tuple(f"{text} {j} of {name} to {i}" if text == "answer" else text for j in range(k)),
        )
        for i, p in enumerate(load_suite("demo").prompts)
    ]
    manifest = Manifest(
        name=name,
        suite="demo",
        system=System(type="model"),
        generation=Generation(k=k),
        submitter=Submitter(name="tester", date=date(2026, 1, 1)),
    )
    folder.mkdir(parents=True)
    write_submission(folder, manifest, rows)
    return folder


def submit_kept(store: FileStore, folders: Sequence[Path]) -> list[str]:
    """Hand submissions in, one after the other; their ids."""
    now = datetime.now(UTC) - timedelta(seconds=len(folders))
    return [
        submit(store, folder, ME, now + timedelta(seconds=place)).state.submission_id
        for place, folder in enumerate(folders)
    ]


def break_file(store: FileStore, submission_id: str) -> None:
    """Put what is no Parquet file in the place of generations that were handed in."""
    path = f"submissions/{submission_id}/generations.parquet"
    store.commit(store.head(), {path: b"PAR1 but no more"}, (), "by hand")


class Process:
    """A worker in a process of its own, and the events that it has told so far."""

    def __init__(self, place: Place, results: Path, *options: object) -> None:
        environment = dict(os.environ)
        if place.server is not None:
            environment = client_environment(place.server, place.home / "hf", place.server.tokens["alice"])
        environment["DIVBENCH_HOME"] = str(place.home / "kept-by-workers")
        self.process = Forked(of_module("tests.benchmark.run_worker"), [place.text, results, *options], environment)
        self.events: list[Event] = []
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        for line in self.process.stdout:
            try:
                self.events.append(json.loads(line))
            except ValueError:  # the last line of one that was killed
                assert not line.endswith("\n"), line

    def told(self, event: str) -> list[Event]:
        """The events of that name so far."""
        return [each for each in self.events if each["event"] == event]

    def wait_for(self, event: str) -> Event:
        """The first event of that name, when it has been told."""
        wait_until(lambda: bool(self.told(event)) or self.process.poll() is not None)
        return self.told(event)[0]

    def end(self, signal: int | None = None) -> int:
        """Wait for the end, after a signal where one is given; the exit status."""
        if signal is not None:
            self.process.send_signal(signal)
        try:
            status = self.process.wait(LIMIT)
        finally:
            self.process.kill()
            self._reader.join()
            self.process.stdout.close()
        return status


def wait_until(holds: Callable[[], bool], seconds: float = LIMIT) -> None:
    """Wait until something holds.

    Raises:
        TimeoutError: It never did.
    """
    until = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > until:
            raise TimeoutError("what was waited for did not come")
        time.sleep(0.01)


def wrong_with(store: FileStore, commit: str, state: State) -> Iterator[str]:
    """What is half-visible of a submission in a commit: a scored one has its whole results there."""
    paths = result_paths(state)
    there = set(store.paths(commit, "results")) if paths else set()
    if lacking := [path for path in paths if path not in there]:
        yield f"{state.submission_id} names {lacking[0]}, which is not there"
        return
    for path in paths:
        if path.endswith(RESULT_FILES[0]):
            result = json.loads(store.read(commit, path, 2**22))
            table = store.read(commit, path.replace(*RESULT_FILES), 2**29)
            if result["submission_id"] != state.submission_id:
                yield f"{path} is of another submission"
            if hashlib.sha256(table).hexdigest() != result["per_prompt_sha256"]:
                yield f"{path} names another table"


def results_at(store: FileStore, commit: str) -> dict[str, bytes]:
    """The files of all results in a commit."""
    return {path: store.read(commit, path, 2**29) for path in store.paths(commit, "results")}
