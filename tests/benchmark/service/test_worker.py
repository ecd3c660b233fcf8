"""Workers in processes of their own, on a folder and on a server of the Hub with faults: together, killed, ended."""

import json
import signal
import time
from collections import Counter
from collections.abc import Iterator
from functools import partial
from itertools import groupby
from pathlib import Path

import pytest

from benchmark.scoring import shards
from benchmark.service import fetch
from benchmark.service.commands import event_writer
from benchmark.service.lease import Stop
from benchmark.service.worker import work
from submissions.storage.file_store import FolderStore
from submissions.work_queue.operations import state_of, states, withdraw
from submissions.work_queue.schema import MAX_ATTEMPTS, State
from tests.benchmark.run_worker import POISON, SHARD, checked_here, worker
from tests.conftest import divbench
from tests.hub import HubServer
from tests.submissions.stores import REPO, Place, running_hub
from tests.submissions.working import (
    ME,
    Event,
    Process,
    break_file,
    demo,
    results_at,
    submit_kept,
    wait_until,
    wrong_with,
)

GOOD = 3
LongShard = tuple[Place, str, Process, Process]
pytestmark = pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning")  # by the Hub's client


@pytest.fixture
def folder(tmp_path: Path) -> Place:
    """A store in a folder."""
    return Place(str(tmp_path / "store"), tmp_path)


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    with running_hub(tmp_path) as server:
        yield Place(f"hf://datasets/{REPO}", tmp_path, server)


@pytest.fixture(scope="module", autouse=True)
def long_shard(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LongShard]:
    """A worker with a long shard, and another that waits for its claim; both run beside the tests of this file."""
    home = tmp_path_factory.mktemp("long")
    place = Place(str(home / "store"), home)
    [name] = submit_kept(place.open(), [demo(home / "in", "system")])
    one = Process(place, home / "results", "--lease", 3, "--seconds", 0.2, "--once")
    one.wait_for("claimed")
    two = Process(place, home / "others", "--lease", 3)
    yield place, name, one, two
    for each in (one, two):
        if each.process.poll() is None:
            each.end(signal.SIGKILL)


def disturb(server: HubServer) -> None:
    """Faults of each kind, which do not go on for longer than a client tries."""
    server.faults.fail(503, on="commit", times=2)
    server.faults.fail(502, acts=True, on="commit")
    server.faults.lose_answer(on="commit")
    server.faults.fail(500, path="/resolve/", times=2)
    server.faults.cut_download(100, path="per_prompt|generations")
    server.faults.limit(0, method="GET", times=2)


@pytest.fixture(scope="module")
def calm(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The results of good submissions that one worker makes in a store of its own."""
    home = tmp_path_factory.mktemp("calm")
    store = FolderStore(home / "store")
    submit_kept(store, [demo(home / f"in-{i}", f"system-{i}") for i in range(GOOD)])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shards, "SHARD_PROMPTS", SHARD)
        patch.setattr(fetch, "validate_in_child", checked_here)
        work(worker(store, home / "results"), Stop(), lambda event, /, **facts: None, once=True)
    return results_at(store, store.head())


def test_two_workers_empty_a_queue(place: Place, tmp_path: Path, calm: dict[str, bytes]) -> None:
    store = place.open()
    good = [demo(tmp_path / f"in-{i}", f"system-{i}") for i in range(GOOD)]
    ids = submit_kept(store, good)
    hostile, poison = submit_kept(store, [demo(tmp_path / "h", "hostile"), demo(tmp_path / "p", "bad", text=POISON)])
    break_file(store, hostile)
    assert place.server is not None
    disturb(place.server)
    both = [Process(place, tmp_path / f"r{i}", "--once", "--name", f"w{i}") for i in range(2)]
    assert [each.end() for each in both] == [0, 0]

    events = [event for each in both for event in each.events]
    by_id = {state.submission_id: state for state in states(store)}
    assert Counter(event["submission"] for event in events if event["event"] == "scored") == Counter(ids)
    assert {by_id[name].current.state for name in ids} == {"scored"}
    for name in ids:
        assert [record.state for record in by_id[name].history].count("scored") == 1
        assert list(wrong_with(store, store.head(), by_id[name])) == []
    check_hostile(by_id[hostile])
    check_poison(by_id[poison], [event for event in events if event["event"] == "failed"])
    for event in events:
        assert event["at"].endswith("Z")
        assert event["worker"] in {"w0", "w1"}
    claims = sum(event["event"] == "claimed" for event in events)
    assert claims == sum(event["event"] in {"scored", "rejected", "failed"} for event in events)

    assert results_at(store, store.head()) == calm


def check_hostile(state: State) -> None:
    assert (state.current.state, state.current.attempt) == ("rejected", 1)
    assert state.current.problems[0].file == "generations.parquet"


def check_poison(state: State, failures: list[Event]) -> None:
    assert (state.current.state, state.current.attempt) == ("failed", MAX_ATTEMPTS)
    assert [event["final"] for event in sorted(failures, key=lambda event: event["attempt"])] == [False, False, True]
    assert any(POISON in line for line in state.current.log)
    text = json.dumps(state.model_dump(mode="json"))
    assert str(Path.home()) + "/" not in text
    assert "hf_abc" not in text


def test_another_worker_continues_after_a_kill(folder: Place, tmp_path: Path) -> None:
    store = folder.open()
    [name] = submit_kept(store, [demo(tmp_path / "in", "system")])
    results = tmp_path / "results"
    first = Process(folder, results, "--lease", 2, "--seconds", 0.1, "--name", "first")
    first.wait_for("claimed")
    wait_until(lambda: any(results.glob(".*.partial/*.parquet")))
    assert first.end(signal.SIGKILL) == -signal.SIGKILL
    assert state_of(store, name).current.state == "claimed"
    second = Process(folder, results, "--lease", 3, "--name", "second")
    scored = second.wait_for("scored")
    assert second.wait_for("waiting")["reason"] == "nothing is pending"
    assert second.end(signal.SIGTERM) == 0
    assert (scored["submission"], scored["attempt"]) == (name, 1)
    assert scored["resumed"] in {SHARD, 2 * SHARD}
    steps = [key for key, _ in groupby(record.state for record in state_of(store, name).history)]
    assert steps == ["pending", "claimed", "pending", "claimed", "scored"]


def locked(results: Path) -> bool:
    return any(results.glob(".lock-*"))


def released(place: Place, name: str) -> bool:
    return state_of(place.open(), name).current.state == "pending"


def test_a_stopping_worker_releases_the_claim_before_the_shard_is_done(tmp_path: Path) -> None:
    # Each signal stops a worker of its own, both at the same time; a shard takes more than three seconds.
    # What the tests' own starter has told them to ignore, such as by nohup, a worker ignores as well.
    both = (signal.SIGHUP, signal.SIGINT)
    numbers = sorted({signal.SIGTERM if signal.getsignal(n) is signal.SIG_IGN else n for n in both})
    homes = {number: tmp_path / number.name for number in numbers}
    places = {number: Place(str(home / "store"), home) for number, home in homes.items()}
    names = {n: submit_kept(place.open(), [demo(homes[n] / "in", "system")])[0] for n, place in places.items()}
    workers = {n: Process(place, homes[n] / "results", "--seconds", 0.4) for n, place in places.items()}
    for number, one in workers.items():
        one.wait_for("claimed")
        wait_until(partial(locked, homes[number] / "results"))
        one.process.send_signal(number)
    began = time.monotonic()
    for number, one in workers.items():
        wait_until(partial(released, places[number], names[number]))
        assert time.monotonic() - began < 8 * 0.4
        assert one.process.poll() is None
    for number, one in workers.items():
        assert one.end() == 0
        store = places[number].open()
        state = state_of(store, names[number])
        assert (state.current.state, state.current.attempt) == ("pending", 1)
        assert state.current.reason == "the worker was asked to stop"
        assert [event["event"] for event in one.events] == ["claimed", "released", "ended"]
        assert store.paths(store.head(), "results") == []


def test_a_worker_that_lost_its_claim_publishes_nothing(folder: Place, tmp_path: Path) -> None:
    store = folder.open()
    [name] = submit_kept(store, [demo(tmp_path / "in", "system")])
    one = Process(folder, tmp_path / "results", "--lease", 3, "--seconds", 0.2, "--once")
    one.wait_for("claimed")
    withdraw(store, name, ME, state_of(store, name).current.at)
    assert one.end() == 0
    assert [event["event"] for event in one.events] == ["claimed", "lost", "ended"]
    assert state_of(store, name).current.state == "withdrawn"
    assert store.paths(store.head(), "results") == []
    shards = list((tmp_path / "results").glob(".*.partial/*.parquet"))
    assert len(shards) < 3  # it ended at a shard


def test_a_long_shard_keeps_its_lease(long_shard: LongShard) -> None:
    place, name, one, two = long_shard
    assert one.end() == 0
    assert two.end(signal.SIGTERM) == 0
    history = state_of(place.open(), name).history
    assert {record.by for record in history[1:]} == {"w"}
    assert history[-2].heartbeat > 1
    assert (history[-1].state, history[-1].attempt) == ("scored", 1)
    assert two.told("claimed") == []


def test_the_command(tmp_path: Path) -> None:
    store = tmp_path / "store"
    options = ("--store", store, "--profile", "lexical", "--metric", "unique_1grams")
    mine = {"DIVBENCH_HOME": str(tmp_path / "home")}
    ended = divbench("submissions", "score", *options, "--once", **mine)
    assert ended.returncode == 0
    assert [json.loads(line)["event"] for line in ended.stdout.splitlines()] == ["ended"]
    [name] = submit_kept(FolderStore(store), [demo(tmp_path / "in", "[bold]system")])
    ended = divbench("submissions", "score", *options, "--once", **mine)
    assert [json.loads(line)["event"] for line in ended.stdout.splitlines()] == ["claimed", "scored", "ended"]
    assert f"claimed: submission {name}, system [bold]system" in ended.stderr
    other = ("--store", store, "--profile", "lexical", "--metric", "ead")
    ended = divbench("submissions", "rescore", *other, **mine)
    assert [json.loads(line)["event"] for line in ended.stdout.splitlines()] == ["scored", "ended"]
    assert len(state_of(FolderStore(store), name).results) == 2
    ended = divbench("submissions", "score", *options, "--name", "two\nlines")
    assert (ended.returncode, "invalid worker name" in ended.stderr) == (2, True)
    ended = divbench("submissions", "rescore", "--store", tmp_path / "typo", *other[2:], **mine)
    assert (ended.returncode, "there is no folder" in ended.stderr) == (2, True)


def test_events_are_written_though_nobody_reads_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "events"
    with path.open("w") as out:
        event_writer("w", out)("passed_over", submission="x", reason="{braces}\nand breaks")
    assert [json.loads(line)["event"] for line in path.read_text().splitlines()] == ["passed_over"]
    assert capsys.readouterr().err == "passed over: submission x, reason {braces} and breaks\n"
    with path.open() as closed:
        event_writer("w", closed)("lost", submission="x", reason="nobody reads this")
