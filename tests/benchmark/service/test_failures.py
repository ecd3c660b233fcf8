"""Host failures are told from failures of submissions, which keep their attempts; too many end the worker."""

import errno
import json
import os
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from benchmark.metrics import Metric
from benchmark.models.memory import OutOfMemory
from benchmark.models.servers import ServerFault
from benchmark.scoring.inputs import ScoringFault
from benchmark.service.failures import HostFault, HostHealth, hint_of, log_tail, public_text
from benchmark.service.lease import Stop
from benchmark.service.worker import Worker, rescore, work
from divbench.core.errors import ConfigurationError, InputError, UnknownSuite
from submissions.storage.file_store import FileStore, FolderStore, LocalDiskFault, NoWriteAccess
from submissions.work_queue.operations import state_of, states
from submissions.work_queue.schema import MAX_ATTEMPTS, UnknownSubmission
from tests.benchmark.run_worker import POISON, worker
from tests.benchmark.service.conftest import EventLog
from tests.forked import run_forked
from tests.submissions.working import demo, submit_kept

pytestmark = pytest.mark.usefixtures("checks_in_process")


def wrapped(error: Exception) -> Exception:
    made = ScoringFault("a metric failed")
    made.__cause__ = error
    return made


@pytest.mark.parametrize(
    ("error", "hint"),
    [
        (MemoryError(), "memory"),
        (torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB"), "memory"),
        (OutOfMemory("one does not fit"), "memory"),
        (wrapped(MemoryError()), "memory"),
        (OSError(errno.ENOSPC, "full"), "free disk space"),
        (LocalDiskFault("full", "make room"), "free disk space"),
        (wrapped(OSError(errno.EROFS, "read only")), "free disk space"),
        (RuntimeError("CUDA error: unspecified launch failure"), "driver"),
        (ConfigurationError("the model cannot be had", "download it"), "download it"),
        (ServerFault("gone", "start it", kind="transient"), "start it"),
        (ServerFault("wrong key", "give the key", 401), "give the key"),
    ],
    ids=repr,
)
def test_a_host_failure_has_a_hint(error: Exception, hint: str) -> None:
    assert hint in (hint_of(error) or "")


@pytest.mark.parametrize(
    "error",
    [
        ValueError("no"),
        RuntimeError("shapes do not fit"),
        InputError("damaged"),
        FileNotFoundError(errno.ENOENT, "gone"),
        UnknownSuite("none"),
        UnknownSubmission("none"),
        ServerFault("too long", "", 400),
        NoWriteAccess("no"),
    ],
    ids=repr,
)
def test_other_failures_have_no_hint_for_the_host(error: Exception) -> None:
    assert hint_of(error) is None


def test_a_submission_that_fails_twice_while_others_succeed_is_at_fault() -> None:
    health, full = HostHealth(limit=3), MemoryError()
    assert health.record_failure("a", full)
    assert health.record_failure("a", full)  # nothing went well since: it may be the machine
    health.check(full)
    health.record_success()
    assert health.failures == 0
    assert not health.record_failure("a", full)
    assert health.record_failure("b", full)
    assert health.record_failure("b", full)
    assert health.record_failure("c", full)
    with pytest.raises(HostFault, match="failed 3 times in a row, the last one with: MemoryError"):
        health.check(full)


def test_a_host_failure_that_several_submissions_meet_at_once_counts_once() -> None:
    health, gone = HostHealth(limit=3), ConfigurationError("the cluster is gone")

    def met() -> ConfigurationError:
        made = ConfigurationError("the cluster is gone")
        made.__cause__ = gone
        return made

    assert [health.record_failure(name, met()) for name in "abcd"] == [True] * 4
    assert health.failures == 1
    assert health.record_failure("a", ConfigurationError("it is still gone"))
    assert health.failures == 2


def _allocate(responses: Sequence[str], only: str) -> float:
    if any(only in text for text in responses):
        raise MemoryError("none is left")
    return 1.0


def short_of_memory(store: FileStore, results: Path, only: str = "") -> Worker:
    """A worker with a metric that has no memory for texts with a word."""

    def fn(responses: Sequence[str]) -> float:
        return _allocate(responses, only)

    metric = Metric("greedy", "Memory", fn, "responses", 1, (0, None), "responses", "none", "words")
    return replace(worker(store, results), metrics=(metric,), poll=0.01)


def test_a_host_without_memory_ends_its_worker_and_uses_up_no_attempt(
    store: FolderStore, tmp_path: Path, log: EventLog
) -> None:
    ids = submit_kept(store, [demo(tmp_path / f"in-{i}", f"system-{i}") for i in range(4)])
    with pytest.raises(HostFault) as caught:
        work(short_of_memory(store, tmp_path / "results"), Stop(), log, once=True)
    assert caught.value.exit_status == 2
    assert "memory" in caught.value.hint
    each = ["claimed", "host_failure", "released"]
    assert log.names() == [*each, "waiting", *each, "waiting", *each, "stopped"]
    assert [facts["faults"] for event, facts in log.events if event == "host_failure"] == [1, 2, 3]
    assert log.events[1][1]["log"][-1].startswith("benchmark.scoring.inputs.ScoringFault: greedy failed on demo-")
    assert log.events[-1][1]["hint"] == caught.value.hint
    assert [facts["submission"] for event, facts in log.events if event == "claimed"] == ids[:3]
    for state in states(store):
        assert (state.current.state, state.current.attempt) == ("pending", 1)
    reason = state_of(store, ids[0]).current.reason or ""
    assert reason.startswith("host failure: greedy failed on demo-")
    assert work(worker(store, tmp_path / "results"), Stop(), log, once=True) == {"scored": 4}


def test_a_worker_without_a_folder_for_results_claims_nothing(
    store: FolderStore, tmp_path: Path, log: EventLog
) -> None:
    [name] = submit_kept(store, [demo(tmp_path / "in", "system")])
    (tmp_path / "results").write_text("a file", encoding="utf-8")
    for run in (work, rescore):
        with pytest.raises(ConfigurationError, match="no results can be written to") as caught:
            run(worker(store, tmp_path / "results"), Stop(), log)
        assert "--results" in caught.value.hint
    assert log.names() == ["stopped", "stopped"]
    assert [record.attempt for record in state_of(store, name).history] == [1]


def test_a_submission_that_is_too_large_for_a_healthy_host_fails(
    store: FolderStore, tmp_path: Path, log: EventLog
) -> None:
    poison, *others = submit_kept(
        store, [demo(tmp_path / "p", "large", text=POISON), *(demo(tmp_path / f"in-{i}", f"s-{i}") for i in range(2))]
    )
    ended = work(short_of_memory(store, tmp_path / "results", POISON), Stop(), log, once=True)
    assert ended == {"released": 1, "scored": 2, "failed": MAX_ATTEMPTS}
    state = state_of(store, poison)
    assert (state.current.state, state.current.attempt) == ("failed", MAX_ATTEMPTS)
    assert {state_of(store, name).current.state for name in others} == {"scored"}


# As in test_full_disk.py: a limit on the size of a file fails as a full disk does, in the midst of a write.
CODE = """
import resource
import benchmark.service.worker, benchmark.service.commands
from divbench.command_line import main
benchmark.service.worker.wait = lambda seconds, stop: None
resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}))
main()
"""


def test_a_full_disk_ends_the_command_with_status_2(store: FolderStore, tmp_path: Path) -> None:
    [name] = submit_kept(store, [demo(tmp_path / "in", "system", k=100)])
    size = (tmp_path / "in" / "generations.parquet").stat().st_size
    options = ("--store", store.folder, "--profile", "lexical", "--once")
    environment = {**os.environ, "DIVBENCH_HOME": str(tmp_path / "home"), "HF_HUB_OFFLINE": "1"}

    def run(limit: int) -> subprocess.CompletedProcess[str]:
        return run_forked(CODE.format(limit=limit), ["submissions", "score", *options], environment)

    ended = run(size - 1)
    events: list[dict[str, Any]] = [json.loads(line) for line in ended.stdout.splitlines()]
    assert ended.returncode == 2, ended.stderr
    assert [event["event"] for event in events].count("host_failure") == 3
    assert events[-1]["event"] == "stopped"
    assert "File too large" in events[-1]["reason"]
    assert "free disk space" in events[-1]["hint"]
    assert "stopped: reason this machine failed 3 times in a row" in ended.stderr
    assert "free disk space" in ended.stderr
    assert "Traceback" not in ended.stderr
    assert str(tmp_path) not in json.dumps(state_of(store, name).model_dump(mode="json"))
    assert (state_of(store, name).current.state, state_of(store, name).current.attempt) == ("pending", 1)
    assert run(10**8).returncode == 0
    assert state_of(store, name).current.state == "scored"


# What is published of a failure


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("with hf_AbCdEfGhIjKlMn in it", "with [removed] in it"),
        ("Authorization: Bearer abc.def-ghi", "Authorization: Bearer [removed]"),
        ("https://me:pass@host.org/a/b/c.json?x=1", "https://[removed]@host.org/a/b/c.json?x=1"),
        ("?token=abc&x=1", "?[removed]&x=1"),
        ("api_key: 'abc'", "[removed]'"),
        ("it says mysecretvalue", "it says [removed]"),
        ("/home/somebody/x", "~/x"),
        ('File "/srv/deep/er/benchmark/scoring/scorer.py", line 3', 'File "…/scoring/scorer.py", line 3'),
        ("3 tokens, 2/3 of a/b/c/d", "3 tokens, 2/3 of a/b/c/d"),
    ],
)
def test_the_log_has_no_secrets_and_no_folders(text: str, shown: str) -> None:
    assert public_text(text, {"MY_TOKEN": "mysecretvalue", "A_KEY": "1", "PATH": "deep"}) == shown
    assert public_text(text, {"THE_SALT": "mysecretvalue"}) == shown


def test_the_end_of_the_log_is_short_and_ends_with_the_error() -> None:
    def deeper(depth: int) -> None:
        if depth == 0:
            raise ValueError("line one\n" + "x" * 1000)
        deeper(depth - 1)

    with pytest.raises(ValueError, match="line one") as caught:
        deeper(40)
    lines = log_tail(caught.value).splitlines()
    assert len(lines) <= 20
    assert max(map(len, lines)) <= 300
    assert lines[-2] == "ValueError: line one"
    assert str(Path.home()) + "/" not in "".join(lines)
