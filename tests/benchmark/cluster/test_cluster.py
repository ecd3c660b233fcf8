"""Scoring on Ray: the bytes of one process, whatever is killed. Machines are `ray start` on this one."""

import os
import re
import shutil
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmark.cluster import session
from benchmark.cluster.options import Cluster
from benchmark.scoring.backends import ScoringBackends
from benchmark.scoring.profiles import find_profile
from submissions.work_queue.operations import state_of, states
from submissions.work_queue.schema import MAX_ATTEMPTS
from tests.benchmark.clusters import OURS, cluster, end, start_head, start_machine
from tests.benchmark.run_worker import DEADLY, DOOMED_NODE, FATAL, SHARD
from tests.conftest import RUN, divbench, document
from tests.forked import run_forked
from tests.submissions.stores import Place
from tests.submissions.working import Process, demo, results_at, submit_kept, wait_until

# As where Ray is not installed. The fork server has imported DivBench's modules, and none of them has imported Ray.
WITHOUT_RAY = f"import sys; assert 'ray' not in sys.modules; sys.modules['ray'] = None; {RUN}"


@pytest.mark.parametrize(
    ("actors", "resources", "share"),
    [
        (None, {"CPU": 8.0}, (0, 8)),
        (None, {"CPU": 64.0, "GPU": 7.0}, (1, 7)),
        (3, {"CPU": 1.0}, (0, 3)),
        (None, {}, (0, 1)),
    ],
)
def test_there_is_an_actor_for_each_gpu_or_core(
    actors: int | None, resources: dict[str, float], share: tuple[int, int]
) -> None:
    assert Cluster(actors=actors).share(resources) == share


def test_builds_of_one_release_are_the_same_version(monkeypatch: pytest.MonkeyPatch) -> None:
    backends = ScoringBackends(find_profile("offline"))
    versions = []
    for torch in ("2.13.0+cpu", "2.13.0+cu130", "2.12.1+cpu"):
        monkeypatch.setattr(session, "library_versions", lambda profile, torch=torch: {"torch": torch})
        versions.append(session.versions_of(backends)["torch"])
    assert versions == ["2.13.0", "2.13.0", "2.12.1"]


def test_without_ray_the_extra_is_named_and_all_else_works(tmp_path: Path) -> None:
    submission = demo(tmp_path / "in", "system")
    command = ("score", submission, "--out", tmp_path / "out", "--profile", "lexical")
    ended = run_forked(WITHOUT_RAY, [*command, "--cluster", "local"], os.environ)
    assert (ended.returncode, "divbench[cluster]" in ended.stderr) == (2, True)
    assert not (tmp_path / "out").exists()
    assert run_forked(WITHOUT_RAY, command, os.environ).returncode == 0
    ended = run_forked(RUN, [*command, "--actors", "2"], os.environ)
    assert (ended.returncode, "--actors needs --cluster" in ended.stderr) == (2, True)


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """Of a cluster that all tests use."""
    pytest.importorskip("ray", reason="Ray is not installed: pip install 'divbench[cluster]'")
    with cluster() as running:
        yield running


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    """A store in a folder, and the token of the cluster."""
    for name, value in OURS.items():
        monkeypatch.setenv(name, value)
    return Place(str(tmp_path / "store"), tmp_path)


@pytest.fixture
def seen(tmp_path: Path) -> Path:
    folder = tmp_path / "seen"
    folder.mkdir()
    return folder


def pids(seen: Path) -> set[str]:
    return {path.name for path in seen.iterdir() if path.name.isdigit()}


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

    copied = Place(str(shutil.copytree(place.text, tmp_path / "copied")), tmp_path)
    again = ("--rescore", "--resamples", 300)
    assert Process(place, tmp_path / "second", *again, "--cluster", address, "--seen", seen).end() == 0
    assert Process(copied, tmp_path / "third", *again).end() == 0
    assert results_at(store, store.head()) == results_at(copied.open(), copied.open().head())


@pytest.mark.thorough
def test_a_killed_machine_changes_nothing(place: Place, tmp_path: Path, seen: Path, address: str) -> None:
    store, names = place.open(), [("one", FATAL), ("two", FATAL)]
    submit_kept(store, [demo(tmp_path / name, name, text=text) for name, text in names])
    doomed = start_machine(f"--address={address}", **{DOOMED_NODE: "1"})
    try:
        options = ("--once", "--cluster", address, "--actors", 4, "--seen", seen)
        worker = Process(place, tmp_path / "results", *options)
        assert worker.end() == 0
    finally:
        end(doomed)
    assert (seen / "killed").exists()  # it was given work, and was killed with that in hand
    assert 1 <= sum(event["prompts"] > 0 for event in worker.told("actor_lost")) <= 2
    assert all(event["attempt"] == 1 for event in worker.told("scored"))
    assert results_at(store, store.head()) == plain(tmp_path, names)


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
    assert any(re.search("all 3 actors that scored the prompts .* were lost", line) for line in failed.log)
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
    assert {event["prompts"] for event in worker.told("actor_lost")} == {0}
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
    assert [event["resumed"] for event in second.told("scored")] == [2 * SHARD]
    assert results_at(store, store.head()) == plain(tmp_path, [("system", "answer")])


@pytest.mark.thorough
def test_a_cluster_that_is_gone_uses_up_no_attempt(place: Place, tmp_path: Path, seen: Path) -> None:
    store = place.open()
    submit_kept(store, [demo(tmp_path / f"in-{i}", f"system-{i}") for i in range(2)])
    head, doomed = start_head()
    try:
        worker = Process(place, tmp_path / "results", "--cluster", doomed, "--seen", seen, "--seconds", 0.5)
        wait_until(lambda: len(pids(seen)) == 2)
        os.killpg(head.pid, signal.SIGKILL)
        assert worker.end() == 2
    finally:
        end(head)
    assert worker.told("failed") == []
    assert worker.events[-1]["event"] == "stopped"
    assert re.search(r"this machine failed [34] times in a row", worker.events[-1]["reason"])
    assert {(state.current.state, state.current.attempt) for state in states(store)} == {("pending", 1)}


@pytest.mark.thorough
def test_a_cluster_that_cannot_score_is_said(place: Place, tmp_path: Path, address: str) -> None:
    with cluster("--num-cpus=0") as full:
        for options, reason in (
            (("--cluster", "127.0.0.1:1"), r"no Ray cluster at 127\.0\.0\.1:1"),
            (("--cluster", address, "--other-numpy"), r"has numpy \S+, this one 0\.1"),
            (("--cluster", full, "--patience", 2), "no actor started in 2 s: each needs 1 CPU and 0 GPU"),
        ):
            worker = Process(place, tmp_path / "results", *options)
            assert worker.end() == 2
            [stopped] = worker.events
            assert re.search(reason, stopped["reason"])


@pytest.mark.thorough
def test_the_command_scores_on_two_actors_of_its_own(tmp_path: Path) -> None:
    pytest.importorskip("ray", reason="Ray is not installed: pip install 'divbench[cluster]'")
    submission, here, there = demo(tmp_path / "in", "system"), tmp_path / "here", tmp_path / "there"
    options = {
        "OMP_NUM_THREADS": "1",
        "DIVBENCH_HOME": str(tmp_path),
    }  # as Ray's actors have it: more threads add in another order
    assert divbench("score", submission, "--out", here, **options).returncode == 0
    ended = divbench("score", submission, "--out", there, "--cluster", "local", "--actors", 2, "--json", **options)
    [scored] = document(ended)["results"]  # and nothing else is on stdout
    assert (scored["recognised"], scored["lost_actors"]) == (False, 0)
    names = sorted(path.relative_to(here) for path in here.rglob("*"))
    assert names == sorted(path.relative_to(there) for path in there.rglob("*"))
    assert all((here / name).read_bytes() == (there / name).read_bytes() for name in names if (here / name).is_file())
