"""A worker in this process: adopting, passing over, waiting for a store, scoring again, its log."""

import json
import tempfile
import time
import urllib.request
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmark.scoring import shards
from benchmark.scoring.scorer import Options
from benchmark.service import fetch, lease
from benchmark.service import worker as worker_module
from benchmark.service.failures import HostHealth
from benchmark.service.fetch import Suites
from benchmark.service.lease import Stop, Stopped, with_backoff
from benchmark.service.worker import Worker, WorkerState, rescore, work
from divbench.core.errors import ConfigurationError
from submissions.checking.validate import open_submission
from submissions.storage.file_store import FolderStore, StoreFault
from submissions.work_queue.operations import renew, retry, state_of, states, withdraw
from submissions.work_queue.queue_files import submission_files
from submissions.work_queue.schema import MAX_ATTEMPTS, Claim
from tests.benchmark.run_worker import SHARD, metrics, worker
from tests.benchmark.service.conftest import EventLog
from tests.submissions.queueing import as_file
from tests.submissions.working import ME, demo, results_at, submit_kept


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shards, "SHARD_PROMPTS", SHARD)


# Adopting


def test_proposals_are_adopted_and_scored(
    store: FolderStore, tmp_path: Path, log: EventLog, checks_in_process: None
) -> None:
    good = demo(tmp_path / "good", "good")
    name = open_submission(good)[0].id
    named_wrongly, empty = "0" * 16, "1" * 16
    files = submission_files(name, good) | submission_files(named_wrongly, demo(tmp_path / "other", "other"))
    store.commit("", {**files, f"submissions/{empty}/manifest.json": b"{}"}, (), "proposals")
    work(worker(store, tmp_path / "results"), Stop(), log, once=True)
    assert sorted(log.names()[:3]) == ["adopted", "passed_over", "passed_over"]
    assert log.names()[3:] == ["claimed", "scored", "ended"]
    [state] = states(store)
    assert (state.submission_id, state.current.state) == (name, "scored")
    assert (state.submitter.name, state.submitter.verified) == ("tester", False)
    reasons = {facts["submission"]: facts["reason"] for event, facts in log.events if event == "passed_over"}
    assert "its content is that of " in reasons[named_wrongly]
    assert "generations.parquet" in reasons[empty]


def test_a_proposal_for_a_suite_that_arrives_later_is_adopted_without_a_new_start(
    store: FolderStore, tmp_path: Path, log: EventLog, monkeypatch: pytest.MonkeyPatch, checks_in_process: None
) -> None:
    good = demo(tmp_path / "good", "good")
    name = open_submission(good)[0].id
    store.commit("", dict(submission_files(name, good)), (), "proposal")
    own = worker(store, tmp_path / "results")
    shared = WorkerState(Stop(), log, HostHealth(1))

    def unavailable(*_: object) -> None:
        raise ConfigurationError("the suite's file is not here", "divbench data build")

    with monkeypatch.context() as patched:
        patched.setattr(fetch, "fetch_checked", unavailable)
        for _ in range(2):
            worker_module._adopt_all(own, shared)
    worker_module._adopt_all(own, shared)
    assert log.names() == ["passed_over", "adopted"]
    assert state_of(store, name).current.state == "pending"


# What is left to others


@pytest.mark.usefixtures("checks_in_process")
def test_a_submission_of_an_unavailable_suite_is_left_and_holds_up_no_other(
    store: FolderStore, tmp_path: Path, log: EventLog
) -> None:
    path = f"states/{'0' * 16}.json"
    store.commit("", {path: as_file(suite="not-at-hand")}, (), "by hand")
    [name] = submit_kept(store, [demo(tmp_path / "in", "system")])
    before = store.read(store.head(), path, 10_000)
    ended = work(worker(store, tmp_path / "results"), Stop(), log, once=True)
    assert ended == {"scored": 1}
    assert state_of(store, name).current.state == "scored"
    assert store.read(store.head(), path, 10_000) == before


def test_a_suite_is_not_downloaded_while_submissions_wait(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def download(*_: object, **__: object) -> None:
        raise AssertionError("a download")

    monkeypatch.setattr(urllib.request, "urlopen", download)
    monkeypatch.setenv("DIVBENCH_HOME", str(tmp_path))
    monkeypatch.delenv("DIVBENCH_MIRROR", raising=False)
    monkeypatch.delenv("HF_HUB_OFFLINE")
    assert not Suites().has("noveltybench-curated")


@pytest.mark.usefixtures("checks_in_process")
def test_a_submission_with_fewer_than_k_responses_is_passed_over(
    store: FolderStore, tmp_path: Path, log: EventLog
) -> None:
    small, large = submit_kept(store, [demo(tmp_path / "s", "small", k=2), demo(tmp_path / "l", "large", k=4)])
    picky = replace(worker(store, tmp_path / "results"), options=Options(k=3, resamples=200))
    assert work(picky, Stop(), log, once=True) == {"scored": 1}
    assert len(state_of(store, small).history) == 1
    [scored] = state_of(store, large).results
    assert json.loads(store.read(store.head(), f"results/{scored}/result.json", 10**6))["k"] == 3
    work(worker(store, tmp_path / "results"), Stop(), EventLog(), once=True)
    assert rescore(replace(picky, options=Options(k=4, resamples=200)), Stop(), log) == {"passed_over": 1, "scored": 1}
    reasons = [facts["reason"] for event, facts in log.events if event == "passed_over"]
    assert reasons == [f"it has 2 responses per prompt, fewer than --k {k}" for k in (3, 4)]  # of work, and of rescore


# Checks that are cut short


def test_checks_that_were_cut_short_reject_at_the_last_attempt_only(
    store: FolderStore, tmp_path: Path, log: EventLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = {"check": "limits", "severity": "error", "file": "", "row": None, "field": None}
    stopped = problem | {"message": "ended its process by SIGKILL", "hint": "write it again"}
    monkeypatch.setattr(
        fetch,
        "validate_in_child",
        lambda folder, mirror=None: {"accepted": False, "counts": None, "problems": [stopped]},
    )
    [name] = submit_kept(store, [demo(tmp_path / "in", "system")])
    work(worker(store, tmp_path / "results"), Stop(), log, once=True)
    state = state_of(store, name)
    assert (state.current.state, state.current.attempt) == ("rejected", MAX_ATTEMPTS)
    assert log.names() == [*["claimed", "failed"] * (MAX_ATTEMPTS - 1), "claimed", "rejected", "ended"]


@pytest.mark.usefixtures("checks_in_process")
def test_scoring_that_takes_too_long_fails_and_the_next_attempt_continues(
    store: FolderStore, tmp_path: Path, log: EventLog
) -> None:
    [name] = submit_kept(store, [demo(tmp_path / "in", "system")])
    own = worker(store, tmp_path / "results")
    assert work(replace(own, max_seconds=0.0), Stop(), log, once=True) == {"failed": MAX_ATTEMPTS}
    reasons = {facts["reason"] for event, facts in log.events if event == "failed"}
    assert "scoring took too long (see --max-hours" in reasons.pop()
    assert reasons == set()
    retry(store, name, ME, own.clock())
    assert work(replace(own, max_seconds=3600.0), Stop(), log, once=True) == {"scored": 1}
    (scored,) = (facts for event, facts in log.events if event == "scored")
    assert scored["resumed"] == SHARD


# Stores out of reach


class Faulty(FolderStore):
    """A store of whose commits and looks every so-manieth fails; of commits half the time after they were made."""

    every, calls = 3, 0

    def _fails(self) -> bool:
        self.calls += 1
        return self.calls % self.every == 0

    def head(self) -> str:
        if self._fails():
            raise StoreFault("out of reach", "wait")
        return super().head()

    def commit(self, *arguments: Any) -> str:
        made = super().commit(*arguments)
        if self._fails():
            raise StoreFault("the answer was lost", "look")
        return made


@pytest.mark.usefixtures("checks_in_process")
@pytest.mark.parametrize("every", [4, 7])
def test_store_faults_are_waited_out_and_no_claim_is_lost(
    store: FolderStore, tmp_path: Path, log: EventLog, monkeypatch: pytest.MonkeyPatch, every: int
) -> None:
    ids = submit_kept(store, [demo(tmp_path / f"in-{i}", f"system-{i}") for i in range(3)])
    monkeypatch.setattr(lease, "wait", lambda seconds, stop: None)
    faulty = Faulty(store.folder)
    faulty.every = every
    ended = work(worker(faulty, tmp_path / "results"), Stop(), log, once=True)
    assert ended == {"scored": 3}
    assert "waiting" in log.names()
    for name in ids:
        assert [record.state for record in state_of(store, name).history] == ["pending", "claimed", "scored"]


def test_pauses_grow_until_a_stop_is_requested(log: EventLog, monkeypatch: pytest.MonkeyPatch) -> None:
    stop, waits = Stop(), list[float]()

    def fails() -> None:
        raise StoreFault("out of reach of hf_abcdefghijkl", "wait")

    def waited(seconds: float, stop: Stop) -> None:
        waits.append(seconds)
        stop.requested = len(waits) == 9

    monkeypatch.setattr(lease, "wait", waited)
    with pytest.raises(Stopped):
        with_backoff(fails, stop, log, grace=0)
    assert len(waits) == 9
    assert waits[0] <= 1 < waits[3]
    assert 30 <= waits[-1] <= lease.LONGEST_PAUSE
    assert {facts["said"] for _, facts in log.events} == {"out of reach of [removed]"}


@pytest.mark.usefixtures("checks_in_process")
def test_renewals_continue_after_faults(
    store: FolderStore, tmp_path: Path, log: EventLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    [name] = submit_kept(store, [demo(tmp_path / "in", "system")])
    faults: list[Exception] = [RuntimeError("not foreseen"), StoreFault("out of reach", "wait")]

    def renewed(*arguments: Any) -> Claim:
        if faults:
            raise faults.pop()
        return renew(*arguments)

    monkeypatch.setattr(lease, "renew", renewed)
    monkeypatch.setattr(lease, "TICK", 0.01)
    slow = replace(worker(store, tmp_path / "results", seconds=0.08, lease=1), poll=0.1)
    assert work(slow, Stop(), log, once=True) == {"scored": 1}
    said = [facts["said"] for event, facts in log.events if event == "waiting"]
    assert said == ["out of reach", "RuntimeError: not foreseen"]
    assert state_of(store, name).history[1].heartbeat > 1


# Scoring again


def with_metrics(store: FolderStore, home: Path, number: int) -> Worker:
    made = worker(store, home / "results", "again")
    return Worker(made.name, store, made.backends, made.results, metrics=metrics()[:number], options=made.options)


@pytest.fixture
def scored(store: FolderStore, tmp_path: Path, checks_in_process: None) -> list[str]:
    ids = submit_kept(store, [demo(tmp_path / f"in-{i}", f"system-{i}") for i in range(3)])
    work(worker(store, tmp_path / "results"), Stop(), EventLog(), once=True)
    return ids


def test_scored_submissions_are_scored_again(
    store: FolderStore, tmp_path: Path, log: EventLog, scored: list[str]
) -> None:
    withdraw(store, scored[0], ME, state_of(store, scored[0]).current.at)
    before = results_at(store, store.head())
    assert rescore(with_metrics(store, tmp_path, 1), Stop(), log) == {"scored": 2}
    assert log.names() == ["scored", "scored", "ended"]
    after = results_at(store, store.head())
    assert before.items() < after.items()
    assert len(after) == len(before) + 4
    assert [len(state.results) for state in states(store)] == [1, 2, 2]
    head = store.head()
    assert rescore(with_metrics(store, tmp_path, 1), Stop(), log) == {"there": 2}
    assert log.names()[3:] == ["there", "there", "ended"]
    assert rescore(with_metrics(store, tmp_path, 2), Stop(), log) == {"there": 2}
    assert store.head() == head


def test_rescoring_restores_results_that_the_store_has_lost(
    store: FolderStore, tmp_path: Path, log: EventLog, scored: list[str]
) -> None:
    before, histories = results_at(store, store.head()), [state.history for state in states(store)]
    lost = next(path for path in before if path.endswith(".parquet"))
    store.commit(store.head(), {}, [lost], "lose one")
    again = worker(store, tmp_path / "results")
    assert rescore(again, Stop(), log) == {"scored": 1, "there": 2}
    assert results_at(store, store.head()) == before
    assert [state.history for state in states(store)] == histories


def test_rescoring_continues_where_it_was_stopped(
    store: FolderStore, tmp_path: Path, log: EventLog, scored: list[str]
) -> None:
    stop = Stop()

    def tell(event: str, /, **facts: Any) -> None:
        log(event, **facts)
        stop.requested = event == "scored"

    assert rescore(with_metrics(store, tmp_path, 1), stop, tell) == {"scored": 1}
    assert rescore(with_metrics(store, tmp_path, 1), Stop(), log) == {"there": 1, "scored": 2}
    assert {len(state.results) for state in states(store)} == {2}


# Private folders


def test_folders_of_killed_workers_are_removed_and_no_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    precious = tmp_path / "precious"
    names = ["divbench-worker-killed", "divbench-worker-unlocked", "precious", "other-killed"]
    for name in names:
        (tmp_path / name / "submission").mkdir(parents=True)
        (tmp_path / name / "submission" / "manifest.json").touch()
        if "unlocked" not in name:
            (tmp_path / name / ".lock").touch()
    (tmp_path / "divbench-worker-link").symlink_to(precious)
    (tmp_path / names[0] / "submission" / "link").symlink_to(precious)
    with fetch.private_folder() as folder:
        assert not list(folder.iterdir())
        fetch.remove_left_folders()
        left = {path.name for path in tmp_path.iterdir()}
        assert left == {"divbench-worker-link", *names[1:], folder.parent.name}
        assert folder.is_dir()
    assert not folder.parent.exists()
    assert (precious / "submission" / "manifest.json").is_file()


def test_a_thread_that_fails_stops_the_others() -> None:
    stop, begun = Stop(), list[int]()

    def task() -> None:
        begun.append(1)
        if len(begun) == 4:
            raise ConfigurationError("no")
        while not stop.requested:
            time.sleep(0.01)

    with pytest.raises(ConfigurationError, match="no"):
        worker_module.run_concurrently(task, 4, stop)
