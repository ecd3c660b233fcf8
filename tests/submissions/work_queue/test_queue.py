"""The queue: the table of states, handing in, taking back, and what does not depend on who is faster."""

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from itertools import product
from pathlib import Path
from typing import get_args

import pytest

from submissions.checking.validate import open_submission
from submissions.storage.submission_folders import REPORTED_FILE
from submissions.work_queue.operations import (
    claim,
    fail,
    finish,
    propose,
    reject,
    release,
    state_of,
    states,
    submit,
    withdraw,
)
from submissions.work_queue.queue_files import fetch
from submissions.work_queue.schema import (
    MAX_ATTEMPTS,
    TRANSITIONS,
    Claim,
    ClaimLost,
    Identity,
    IllegalTransition,
    NotAllowed,
    Quota,
    QuotaUsed,
    State,
    StateName,
    UnknownSubmission,
)
from tests.conftest import write_toy
from tests.submissions.conftest import add_reported, find_toy
from tests.submissions.queueing import (
    CLAIMLESS,
    ERROR,
    HOUR,
    ME,
    OPERATIONS,
    T0,
    MemoryStore,
    handed_in,
    result,
    taken,
    toys,
)

STANDINGS: tuple[StateName, ...] = get_args(StateName)


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore()


def brought(store: MemoryStore, folder: Path, standing: StateName) -> tuple[State, Claim]:
    """One submission in a state, and the claim under which it came there."""
    handed_in(store, folder, 1)
    held = taken(store)
    now = T0 + HOUR
    while standing == "failed" and held.record.attempt < MAX_ATTEMPTS:
        fail(store, held, "log", now)
        held = taken(store)
    ways: dict[StateName, Callable[[], object]] = {
        "pending": lambda: release(store, held, "no room", now),
        "claimed": lambda: None,
        "scored": lambda: finish(store, held, result(folder), now),
        "rejected": lambda: reject(store, held, [ERROR], now),
        "failed": lambda: fail(store, held, "log", now),
        "withdrawn": lambda: withdraw(store, held.submission_id, ME, now),
    }
    ways[standing]()
    state = states(store)[0]
    assert state.current.state == standing
    return state, held


# The table


@pytest.mark.parametrize(("standing", "operation"), list(product(STANDINGS, OPERATIONS)))
def test_what_each_operation_does_in_each_state(
    tmp_path: Path, store: MemoryStore, standing: StateName, operation: str
) -> None:
    before, held = brought(store, tmp_path, standing)
    commits = len(store.trees)
    if standing in CLAIMLESS.get(operation, {"claimed"}):
        OPERATIONS[operation](store, held, tmp_path)
        after = states(store)[0]
        assert (before.current.state, after.current.state) in TRANSITIONS
        kept = before.history[:-1] if operation == "renew" else before.history  # whose heartbeat takes its place
        assert after.history[:-1] == kept
        assert len(store.trees) == commits + 1
        assert store.messages[-1].startswith(f"{operation} {held.submission_id} by ")
        return
    with pytest.raises(IllegalTransition if operation in CLAIMLESS else ClaimLost):
        OPERATIONS[operation](store, held, tmp_path)
    assert len(store.trees) == commits


# Handing in


def test_handing_in_is_one_commit_with_all_files(tmp_path: Path, store: MemoryStore) -> None:
    folder = add_reported(write_toy(tmp_path / "toy"))
    receipt = submit(store, folder, Identity(name="Zoë", verified=True), T0, find_suite=find_toy)
    opened, _, _ = open_submission(folder, find_toy)
    name = opened.id
    assert (receipt.new, receipt.state.submission_id, receipt.same_rows, receipt.warnings) == (True, name, (), 0)
    assert store.messages[1:] == [f"submit {name} by Zoë"]
    under = [f"submissions/{name}/{file}" for file in ("generations.parquet", "manifest.json", REPORTED_FILE)]
    assert store.paths("1") == sorted([f"states/{name}.json", *under])
    state = state_of(store, name)
    assert (state.name, state.suite, state.received) == ("toy-system", "toy", T0)
    assert (state.current.state, state.current.attempt, state.current.by) == ("pending", 1, "Zoë")
    assert state.rows_digest == opened.rows_digest
    copied = tmp_path / "copied"
    copied.mkdir()
    fetch(store, name, copied)
    assert open_submission(copied, find_toy)[0].id == name


def test_the_same_generations_under_another_manifest_are_seen(tmp_path: Path, store: MemoryStore) -> None:
    first, second = toys(tmp_path, 2)
    other = write_toy(tmp_path / "other", k=2, name="other")
    for folder in (first, other):
        submit(store, folder, ME, T0, find_suite=find_toy)
    receipt = submit(store, add_reported(second), ME, T0, find_suite=find_toy)
    assert receipt.new
    assert [state.name for state in receipt.same_rows] == ["toy-0"]
    assert [state.name for state in submit(store, first, ME, T0, find_suite=find_toy).same_rows] == ["toy-1"]


def test_a_quota_is_a_persons_and_a_periods(tmp_path: Path, store: MemoryStore) -> None:
    folders = toys(tmp_path, 6)
    quota = Quota(number=2, days=7)
    day = timedelta(days=1)

    def submit_kept(number: int, by: Identity, now: datetime) -> None:
        submit(store, folders[number], by, now, quota=quota, find_suite=find_toy)

    submit_kept(0, ME, T0)
    submit_kept(1, Identity(name="Me"), T0 + day)
    with pytest.raises(QuotaUsed, match="submit the next one after 2026-03-08 12:00:00 UTC"):
        submit_kept(2, ME, T0 + 7 * day - timedelta(seconds=1))
    submit_kept(2, ME, T0 + 7 * day)
    with pytest.raises(QuotaUsed):
        submit_kept(3, ME, T0 + 7 * day)
    submit_kept(
        3, Identity(name="me", verified=True), T0 + 7 * day
    )  # a login is not kept out by its name on others' lips
    submit_kept(4, Identity(name="you"), T0 + 7 * day)
    submit(store, folders[5], ME, T0 + 7 * day, find_suite=find_toy)  # no quota was said


class ProposalStore(MemoryStore):
    """A store in which strangers may only propose."""

    proposed: dict[str, bytes | Path]

    def as_pull_request(self, add: Mapping[str, bytes | Path], message: str) -> str:
        self.proposed = dict(add)
        return f"memory/pull/1 {message}"


def test_a_proposal_is_what_handing_in_would_commit_without_the_state(tmp_path: Path) -> None:
    folder = write_toy(tmp_path / "toy")
    proposals = ProposalStore()
    receipt = propose(proposals, folder, T0, find_suite=find_toy)
    name = receipt.state.submission_id
    assert receipt.address == f"memory/pull/1 submit {name} by tester"
    assert len(proposals.trees) == 1
    submit(proposals, folder, ME, T0, find_suite=find_toy)
    assert {*proposals.proposed, f"states/{name}.json"} == set(proposals.paths("1"))
    assert all(path.startswith(f"submissions/{name}/") for path in proposals.proposed)
    again = propose(proposals, folder, T0, find_suite=find_toy)
    assert (again.new, again.address) == (False, None)


# Taking back


@pytest.mark.parametrize(
    ("owner", "by", "operator", "allowed"),
    [
        (ME, ME, False, True),
        (ME, Identity(name="Me"), False, False),
        (ME, Identity(name="me", verified=True), False, True),
        (Identity(name="me", verified=True), ME, False, False),
        (Identity(name="me", verified=True), Identity(name="me", verified=True), False, True),
        (ME, Identity(name="you", verified=True), False, False),
        (ME, Identity(name="you"), True, True),
    ],
)
def test_who_may_withdraw(
    tmp_path: Path, store: MemoryStore, owner: Identity, by: Identity, operator: bool, allowed: bool
) -> None:
    name = submit(store, write_toy(tmp_path / "toy"), owner, T0, find_suite=find_toy).state.submission_id
    if not allowed:
        with pytest.raises(NotAllowed):
            withdraw(store, name, by, T0, operator=operator)
        assert state_of(store, name).current.state == "pending"
        return
    record = withdraw(store, name, by, T0, operator=operator).current
    assert record.reason == ("by the operator" if operator else None)
    assert claim(store, "w", HOUR, T0) is None


@pytest.mark.parametrize("name", ["0" * 16, "", "x", "../" * 5 + "x", "0" * 15 + "\n", "A" * 16])
def test_an_id_that_is_none_is_said_to_be_unknown(tmp_path: Path, store: MemoryStore, name: str) -> None:
    handed_in(store, tmp_path, 1)
    for operation in (
        lambda: state_of(store, name),
        lambda: withdraw(store, name, ME, T0),
        lambda: fetch(store, name, tmp_path),
    ):
        with pytest.raises(UnknownSubmission):
            operation()
