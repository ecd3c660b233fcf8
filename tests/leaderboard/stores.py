"""Stores with real results: what a submission service leaves behind it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from benchmark.metrics.metric import Missing
from benchmark.scoring.results import Result
from submissions.storage.file_store import FileStore
from submissions.work_queue.operations import claim, finish, submit
from submissions.work_queue.schema import Identity
from tests.benchmark.results import read_results

T0 = datetime(2026, 3, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
ME = Identity(name="me")


@dataclass(frozen=True)
class Scored:
    """A submission and the result of it."""

    submission: Path
    folder: Path
    result: Result


def scored(results: Path) -> list[Scored]:
    """The demonstration's submissions with their results, in the order of the results' ids."""
    from submissions.checking.validate import open_submission

    folders = {}
    for path in sorted((results.parent / "submissions").iterdir()):
        submission, _, _ = open_submission(path)
        folders[submission.id] = path
    found = [(path, result) for path, result in read_results(results) if not isinstance(result, Missing)]
    return [Scored(folders[result.submission_id], path, result) for path, result in found]


def scored_again(each: Scored, folder: Path, seed: int) -> Scored:
    """The same submission, scored once more with another seed of the bootstrap."""
    from tests.leaderboard.judged import score_words

    made = score_words(each.submission, folder, seed)
    return Scored(each.submission, made.folder, made.result)


def publish(store: FileStore, each: Scored, at: datetime = T0) -> None:
    """Hand a submission in and publish its result, as a worker does."""
    submit(store, each.submission, ME, at)
    held = claim(store, "w", HOUR, at + HOUR, wanted=lambda state: state.submission_id == each.result.submission_id)
    assert held is not None
    finish(store, held, {each.folder.name: each.folder}, at + HOUR)


def filled(store: FileStore, given: Sequence[Scored]) -> None:
    """Publish several, a day apart."""
    for place, each in enumerate(given):
        publish(store, each, T0 + place * timedelta(days=1))


def put(store: FileStore, path: str, content: bytes) -> None:
    """Write what no worker would."""
    store.commit(store.head(), {path: content}, (), "by hand")
