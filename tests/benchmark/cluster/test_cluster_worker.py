"""`divbench submissions score --cluster`: the results of a plain worker, whatever is killed or stopped."""

import os
import re
import shutil
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from submissions.work_queue.operations import state_of, states
from submissions.work_queue.schema import MAX_ATTEMPTS
from tests.benchmark.clusters import OURS, cluster, end, start_head
from tests.benchmark.run_worker import DEADLY, SHARD
from tests.submissions.stores import Place
from tests.submissions.working import Process, demo, results_at, submit_kept, wait_until

pytest.importorskip("ray", reason="Ray is not installed: pip install 'divbench[cluster]'")


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """Of a cluster that all tests use."""
    with cluster() as made:
        yield made


@pytest.fixture(autouse=True)
def _let_in(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in OURS.items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """A store in a folder."""
    return Place(str(tmp_path / "store"), tmp_path)


@pytest.fixture
def seen(tmp_path: Path) -> Path:
    made = tmp_path / "seen"
    made.mkdir()
    return made


def pids(seen: Path) -> set[str]:
    return {path.name for path in seen.iterdir() if path.name.isdigit()}


def alive(pid: str) -> bool:
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return False
    return True


def plain(tmp_path: Path, names: list[tuple[str, str]]) -> dict[str, bytes]:
    """The results that a plain worker makes of the same submissions."""
    place = Place(str(tmp_path / "plain-store"), tmp_path)
    submit_kept(place.open(), [demo(tmp_path / f"plain-{name}", name, text=text) for name, text in names])
    assert Process(place, tmp_path / "plain-results", "--once").end() == 0
    return results_at(place.open(), place.open().head())


def test_several_submissions_give_the_bytes_of_a_plain_worker_though_an_actor_is_killed(
    place: Place, tmp_path: Path, seen: Path, address: str
) -> None:
    store = place.open()
    good = [("one", "answer"), ("two", f"{DEADLY} once"), ("three", "answer")]
    ids = submit_kept(store, [demo(tmp_path / name, name, text=text) for name, text in good])
    worker = Process(place, tmp_path / "results", "--once", "--cluster", address, "--seen", seen)
    assert worker.end() == 0
    assert {event["submission"] for event in worker.told("scored")} == set(ids)
    assert all(event["attempt"] == 1 for event in worker.told("scored"))
    assert [event["prompts"] for event in worker.told("actor_lost")] == [SHARD]
    assert len(pids(seen)) <= 3  # two actors for all submissions, and one for the one that was killed
    assert results_at(store, store.head()) == plain(tmp_path, good)


def test_rescoring_makes_the_bytes_that_one_process_makes_and_makes_them_once(
    place: Place, tmp_path: Path, seen: Path, address: str
) -> None:
    store = place.open()
    ids = submit_kept(store, [demo(tmp_path / name, name) for name in ("one", "two", "three")])
    assert Process(place, tmp_path / "first", "--once").end() == 0
    copied = Place(str(shutil.copytree(place.text, tmp_path / "copied")), tmp_path)
    again = ("--rescore", "--resamples", 300)
    cluster = Process(place, tmp_path / "second", *again, "--cluster", address, "--seen", seen)
    assert cluster.end() == 0
    assert {event["submission"] for event in cluster.told("scored")} == set(ids)
    assert pids(seen)  # actors scored them
    assert Process(copied, tmp_path / "third", *again).end() == 0
    made = results_at(store, store.head())
    assert made == results_at(copied.open(), copied.open().head())
    assert len(made) == 2 * 2 * len(ids)  # two results of two files each
    assert cluster.told("actor_lost") == []
    once_more = Process(place, tmp_path / "second", *again)
    assert once_more.end() == 0
    [ended] = once_more.told("ended")
    assert (ended["there"], ended["scored"]) == (len(ids), 0)


@pytest.mark.thorough
def test_elastic_actors_start_with_work_and_end_without(place: Place, tmp_path: Path, seen: Path, address: str) -> None:
    """One at first; a second when that has scored for four times as long as it loaded; none when there is no work."""
    store, results = place.open(), tmp_path / "results"
    names = [f"system-{i:02}" for i in range(16)]
    submit_kept(store, [demo(tmp_path / name, name) for name in names])
    worker = Process(place, results, "--cluster", address, "--seen", seen, "--seconds", 0.1, "--elastic")
    worker.wait_for("scored")
    assert len(pids(seen)) == 1  # three shards of 0.8 s do not pay for another
    wait_until(lambda: len(pids(seen)) == 2)
    wait_until(lambda: len(worker.told("scored")) == len(names))
    wait_until(lambda: not any(alive(pid) for pid in pids(seen)))
    submit_kept(store, [demo(tmp_path / "late", "late")])
    wait_until(lambda: len(worker.told("scored")) == len(names) + 1)
    assert worker.end(signal.SIGTERM) == 0
    assert worker.told("actor_lost") == []
    assert results_at(store, store.head()) == plain(tmp_path, [(name, "answer") for name in [*names, "late"]])


@pytest.mark.thorough
def test_a_submission_that_kills_every_actor_fails_and_the_others_go_on(
    place: Place, tmp_path: Path, seen: Path, address: str
) -> None:
    store = place.open()
    bad, good = submit_kept(store, [demo(tmp_path / "bad", "bad", text=DEADLY), demo(tmp_path / "good", "good")])
    worker = Process(place, tmp_path / "results", "--once", "--cluster", address, "--seen", seen)
    assert worker.end() == 0
    assert state_of(store, good).current.state == "scored"
    failed = state_of(store, bad).current
    assert (failed.state, failed.attempt) == ("failed", MAX_ATTEMPTS)
    assert any("every actor that scores it is lost" in line for line in failed.log)
    assert worker.told("host_failure") == []


@pytest.mark.thorough
def test_actors_that_are_lost_while_idle_cost_nothing(place: Place, tmp_path: Path, seen: Path, address: str) -> None:
    store = place.open()
    submit_kept(store, [demo(tmp_path / "one", "one")])
    worker = Process(place, tmp_path / "results", "--cluster", address, "--seen", seen)
    worker.wait_for("scored")
    time.sleep(3)  # seconds, for actors to be idle for long
    for pid in pids(seen):
        os.kill(int(pid), signal.SIGKILL)
    submit_kept(store, [demo(tmp_path / "two", "two")])
    wait_until(lambda: len(worker.told("scored")) == 2)
    assert worker.end(signal.SIGTERM) == 0
    assert [event["prompts"] for event in worker.told("actor_lost")] in ([0], [0, 0])  # as many as had scored
    assert [event["attempt"] for event in worker.told("scored")] == [1, 1]


@pytest.mark.thorough
def test_a_stopping_worker_keeps_the_shards_being_scored(
    place: Place, tmp_path: Path, seen: Path, address: str
) -> None:
    store, results = place.open(), tmp_path / "results"
    [name] = submit_kept(store, [demo(tmp_path / "in", "system")])
    worker = Process(place, results, "--cluster", address, "--seen", seen, "--seconds", 0.3)
    wait_until(lambda: len(pids(seen)) == 2)
    assert worker.end(signal.SIGTERM) == 0
    told = [event["event"] for event in worker.events if event["event"] != "waiting"]  # for another submission
    assert told == ["claimed", "released", "ended"]
    assert (state_of(store, name).current.state, state_of(store, name).current.attempt) == ("pending", 1)
    assert len(list(results.glob(".*.partial/*.parquet"))) == 2  # of three: what both actors had in hand
    second = Process(place, results, "--once")
    assert second.end() == 0
    [scored] = second.told("scored")
    assert scored["resumed"] == 2 * SHARD
    assert results_at(store, store.head()) == plain(tmp_path, [("system", "answer")])


@pytest.mark.thorough
def test_a_cluster_that_is_gone_uses_up_no_attempt(place: Place, tmp_path: Path, seen: Path) -> None:
    store = place.open()
    ids = submit_kept(store, [demo(tmp_path / f"in-{i}", f"system-{i}") for i in range(2)])
    head, doomed = start_head()
    try:
        worker = Process(place, tmp_path / "results", "--cluster", doomed, "--seen", seen, "--seconds", 0.5)
        wait_until(lambda: len(pids(seen)) == 2)
        os.killpg(head.pid, signal.SIGKILL)
        assert worker.end() != 0
    finally:
        end(head)
    # Three stop the worker; two submissions may fail at once, and so make a fourth.
    assert [event["faults"] for event in worker.told("host_failure")][-1] in {3, 4}
    assert worker.told("failed") == []
    assert worker.events[-1]["event"] == "stopped"
    assert re.search(r"this machine failed [34] times in a row", worker.events[-1]["reason"])
    for state in states(store):
        assert (state.current.state, state.current.attempt) == ("pending", 1)
    assert {state.submission_id for state in states(store)} == set(ids)
