"""The queue as tables of text."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

from leaderboard.pages.submit import details, find, history_table, queue_table, queue_text, submissions
from submissions.gaming.baselines import write_demo_submissions
from submissions.storage.file_store import FolderStore
from submissions.untrusted.findings import Problem
from submissions.work_queue.operations import claim, listing, reject, release, submit
from submissions.work_queue.schema import Identity
from tests.leaderboard.injections import INJECTIONS

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
ANN = Identity(name="ann")


def test_the_queue_is_told_in_its_order(tmp_path: Path) -> None:
    store = FolderStore(tmp_path / "store")
    names = ["varied", "paraphrased", "collapsed", "repeated"]
    folders = {folder.name: folder for folder in write_demo_submissions(tmp_path / "demo")}
    for place, name in enumerate(names):
        submit(store, folders[name], ANN, NOW + timedelta(minutes=place))
    assert queue_text(listing(store), NOW) == "4 waiting, 0 being scored, 4 in total. No worker has been seen yet."
    hour = timedelta(hours=1)
    taken = claim(store, "w1", hour, NOW + hour)
    assert taken is not None
    reject(
        store, taken, [Problem("k", "error", "generations.parquet", 3, "responses", INJECTIONS[0], "hint")], NOW + hour
    )
    second = claim(store, "w1", hour, NOW + hour)
    assert second is not None
    found, now = listing(store), NOW + hour + timedelta(minutes=5)
    assert queue_text(found, now) == "2 waiting, 1 being scored, 4 in total. A worker was last active 5 min ago."
    rows = queue_table(found, now).rows
    assert [(row[0], row[1], row[4]) for row in rows] == [
        ("1", "collapsed", "pending"),
        ("2", "repeated", "pending"),
        ("", "paraphrased", "claimed"),
        ("", "varied", "rejected"),
    ]
    assert rows[0][3] == "ann (not verified)"
    assert [row[1] for row in queue_table(found, now, ["claimed", "rejected"]).rows] == ["paraphrased", "varied"]
    assert [label.split(" · ")[0] for label, _ in submissions(found)] == names[::-1]
    first = find(found, taken.submission_id)
    assert first is not None
    assert [row[1] for row in history_table(first).rows] == ["pending", "claimed", "rejected"]
    assert f"error: generations.parquet, row 3, responses: {INJECTIONS[0]} (hint)" in details(first, found, now)
    release(store, second, "no such model", now)
    again = find(listing(store), second.submission_id)
    assert again is not None
    assert history_table(again).rows[-1][-1] == "no such model"
    assert "It is number 1 of 3 in the queue; 0 being scored." in details(again, listing(store), now)


def test_nobody_is_found_where_there_is_no_queue() -> None:
    assert (find(None, "0" * 16), submissions(None)) == (None, [])
