"""What workers do with the queue: who gets what, when it is lost, and what comes of an end."""

from datetime import timedelta
from pathlib import Path

import pytest
from tenacity import wait_none

from divbench.core.errors import InputError
from submissions.storage import file_store
from submissions.untrusted.findings import Problem
from submissions.work_queue.operations import (
    claim,
    fail,
    finish,
    listing,
    reject,
    release,
    renew,
    state_of,
    states,
    submit,
    withdraw,
)
from submissions.work_queue.queue_files import RESULT_FILES, result_paths
from submissions.work_queue.schema import (
    FULL_HISTORY,
    MAX_LAPSES,
    ClaimLost,
    QueueBusy,
)
from tests.conftest import write_toy
from tests.submissions.conftest import find_toy
from tests.submissions.queueing import (
    CLAIMLESS,
    ERROR,
    HOUR,
    ME,
    OPERATIONS,
    T0,
    WARNING,
    MemoryStore,
    handed_in,
    lapsed,
    result,
    taken,
    toys,
)


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore()


# Claims


def test_claims_are_given_in_the_order_of_receipt(tmp_path: Path, store: MemoryStore) -> None:
    late, early, same = toys(tmp_path, 3)
    for folder, at in ((late, T0 + HOUR), (early, T0), (same, T0)):
        submit(store, folder, ME, at, find_suite=find_toy)
    order = [state.submission_id for state in states(store)]
    assert [state.received for state in states(store)] == [T0, T0, T0 + HOUR]
    assert order[:2] == sorted(order[:2])
    assert [taken(store, f"w{i}").submission_id for i in range(3)] == order
    assert claim(store, "w3", HOUR, T0 + HOUR) is None
    assert store.messages[-1] == f"claim {order[-1]} by w2"


def test_a_claim_says_who_until_when_and_with_what(tmp_path: Path, store: MemoryStore) -> None:
    handed_in(store, tmp_path, 1)
    made = claim(store, "w", timedelta(seconds=90.7), T0 + HOUR, "offline")
    assert made is not None
    record = state_of(store, made.submission_id).current
    assert (record.state, record.by, record.at, record.profile) == ("claimed", "w", T0 + HOUR, "offline")
    assert record.versions.keys() == {"divbench"}
    assert (record.wait, record.heartbeat, made.lease) == (90, 0, timedelta(seconds=90))
    assert finish(store, made, result(tmp_path), T0 + HOUR).current.versions == record.versions


def test_a_lapsed_claim_waits_again_and_fails_after_so_many_in_a_row(tmp_path: Path, store: MemoryStore) -> None:
    first, second = handed_in(store, tmp_path, 2)
    name, pauses = first.submission_id, []
    for number in range(1, MAX_LAPSES):
        made = claim(store, f"w{number}", HOUR, T0, free=lambda states: [name])
        assert made is not None
        assert (made.submission_id, made.record.attempt, made.record.lapses) == (name, 1, number - 1)
        after = lapsed(store, name).current
        assert (after.state, after.attempt, after.lapses) == ("pending", 1, number)
        assert after.reason == f"the lease of w{number} expired without a result"
        pauses.append(after.wait)
    assert pauses == [60 * 2**i for i in range(7)]
    assert taken(store).submission_id == second.submission_id  # while the first is paused
    assert claim(store, "last", HOUR, T0, free=lambda states: [name]) is not None
    given_up = lapsed(store, name).current
    assert (given_up.state, given_up.attempt) == ("failed", 1)
    assert given_up.reason == "given up after 8 workers in a row: the lease of last expired without a result"


def test_progress_shows_that_a_submission_ends_no_worker(tmp_path: Path, store: MemoryStore) -> None:
    name = handed_in(store, tmp_path, 1)[0].submission_id
    for prompts in range(64, 64 * 3 * MAX_LAPSES, 64):
        made = claim(store, "w", HOUR, T0, free=lambda states: [name])
        assert made is not None
        renew(store, made, T0, prompts)
        after = lapsed(store, name).current
        assert (after.state, after.lapses, after.progress) == ("pending", 1, prompts)


def test_a_renewed_claim_is_kept_by_a_heartbeat(tmp_path: Path, store: MemoryStore) -> None:
    handed_in(store, tmp_path, 1)
    held = taken(store, now=T0)
    renewed = renew(store, held, T0 + HOUR / 2)
    assert (renewed.record.heartbeat, len(renewed.state.history)) == (1, 2)
    late = renew(store, renewed, T0 - 5 * HOUR)  # a clock that was set back
    assert late.record.at == renewed.record.at
    assert finish(store, late, result(tmp_path), T0 + 5 * HOUR).current.state == "scored"


@pytest.mark.parametrize("operation", sorted(OPERATIONS.keys() - CLAIMLESS))
def test_who_lost_a_claim_publishes_nothing(tmp_path: Path, store: MemoryStore, operation: str) -> None:
    handed_in(store, tmp_path, 1)
    held = taken(store, now=T0)
    lapsed(store, held.submission_id)
    other = claim(store, "w", HOUR, T0 + HOUR, free=lambda states: [held.submission_id])  # a worker of the same name
    assert other is not None
    before = store.head()
    with pytest.raises(ClaimLost, match="is no longer w's"):
        OPERATIONS[operation](store, held, tmp_path)
    assert store.head() == before
    finish(store, other, result(tmp_path), T0 + 2 * HOUR)
    with pytest.raises(ClaimLost):
        OPERATIONS[operation](store, held, tmp_path)


def test_what_was_released_waits_again_with_all_its_attempts(tmp_path: Path, store: MemoryStore) -> None:
    handed_in(store, tmp_path, 1)
    for _ in range(5):
        held = taken(store, now=T0)
        released = release(store, held, "out of\nmemory", T0).current
        assert (released.state, released.attempt, released.reason) == ("pending", 1, "out of memory")
    again = taken(store, now=T0)
    assert again.record.token != held.record.token
    with pytest.raises(ClaimLost):
        renew(store, held, T0)


def test_a_failure_is_tried_again_until_attempts_are_used_up(tmp_path: Path, store: MemoryStore) -> None:
    handed_in(store, tmp_path, 1)
    log = "\n".join(f"  line {i}" for i in range(30)) + "\n\x1b[31mValueError: no\x00\u2028\n\n"
    for attempt in (1, 2):
        record = fail(store, taken(store), log, T0 + HOUR).current
        assert (record.state, record.attempt) == ("pending", attempt + 1)
        assert record.reason == f"attempt {attempt} failed: \\x1b[31mValueError: no\\x00"
    assert (len(record.log), record.log[0]) == (20, "  line 11")
    record = fail(store, taken(store), "", T0 + HOUR).current
    assert (record.state, record.attempt, record.log) == ("failed", 3, ())
    assert record.reason == "given up after 3 attempts: it has no log"
    assert claim(store, "w", HOUR, T0 + 9 * HOUR) is None


def test_a_rejection_keeps_the_first_problems_errors_before_warnings(tmp_path: Path, store: MemoryStore) -> None:
    handed_in(store, tmp_path, 1)
    long = Problem("k", "error", "f", None, "\x1b", "x" * 1000, "y")
    record = reject(store, taken(store), [WARNING] * 60 + [long, ERROR], T0 + HOUR).current
    assert record.reason is not None
    assert record.reason.startswith("2 problems, the first: xxx")
    assert [problem.severity for problem in record.problems] == ["error"] * 2 + ["warning"] * 48
    assert (len(record.problems[0].message), record.problems[0].field) == (300, "\\x1b")
    assert record.problems[1].row == 3


def test_all_of_a_finish_is_one_commit(tmp_path: Path, store: MemoryStore) -> None:
    handed_in(store, tmp_path, 1)
    results = result(tmp_path, "a" * 16) | result(tmp_path, "b" * 16)
    state = finish(store, taken(store), results, T0 + HOUR)
    assert state.results == ("a" * 16, "b" * 16)
    assert len(store.trees) == 4
    assert set(result_paths(state)) == {f"results/{each}/{file}" for each in results for file in RESULT_FILES}
    assert set(result_paths(state)) <= store.trees[3].keys()
    assert store.trees[2].keys().isdisjoint(result_paths(state))
    assert withdraw(store, state.submission_id, ME, T0 + HOUR).results == state.results


@pytest.mark.parametrize("apart", [None, MemoryStore("apart")])
def test_a_finish_whose_answer_was_lost_can_be_said_again(
    tmp_path: Path, store: MemoryStore, apart: MemoryStore | None
) -> None:
    handed_in(store, tmp_path, 1)
    held = taken(store)
    state = finish(store, held, result(tmp_path), T0 + HOUR, results_store=apart)
    commits = len(store.trees)
    assert finish(store, held, result(tmp_path), T0 + 2 * HOUR, results_store=apart) == state
    assert len(store.trees) == commits
    with pytest.raises(ClaimLost):
        finish(store, held, result(tmp_path, "c" * 16), T0 + HOUR, results_store=apart)


def test_what_is_no_result_is_not_published(tmp_path: Path, store: MemoryStore) -> None:
    handed_in(store, tmp_path, 1)
    held = taken(store)
    for results in ({}, {"../x": result(tmp_path)["0123456789abcdef"]}):
        with pytest.raises(ValueError, match="results"):
            finish(store, held, results, T0 + HOUR)
    with pytest.raises(InputError, match=r"there is no file .*result\.json"):
        finish(store, held, {"a" * 16: tmp_path / "nowhere"}, T0 + HOUR)
    assert states(store)[0].current.state == "claimed"


# Time, others, and what a submitter wants to know


def test_a_history_that_grows_full_ends(tmp_path: Path, store: MemoryStore) -> None:
    handed_in(store, tmp_path, 2)
    held = taken(store)
    steps = [held.record] * (FULL_HISTORY - len(held.state.history))  # renewals of earlier versions
    store.put(f"states/{held.submission_id}.json", held.state.and_then(*steps).as_bytes())
    assert len(renew(store, held, T0 + HOUR).state.history) == FULL_HISTORY
    record = release(store, held, "again", T0 + HOUR).current
    assert (record.state, record.reason) == ("failed", f"given up after {FULL_HISTORY} records: again")
    assert taken(store).submission_id != held.submission_id


def test_a_race_that_was_lost_is_decided_anew(tmp_path: Path, store: MemoryStore) -> None:
    first, second = handed_in(store, tmp_path, 2)
    store.meanwhile.append(lambda: taken(store, "faster"))
    assert taken(store, "slower").submission_id == second.submission_id
    assert state_of(store, first.submission_id).current.by == "faster"
    lapsed(store, first.submission_id)
    held = claim(store, "w", HOUR, T0 + 2 * HOUR, free=lambda states: [first.submission_id])
    assert held is not None
    store.meanwhile.append(lambda: withdraw(store, held.submission_id, ME, T0 + 2 * HOUR))
    with pytest.raises(ClaimLost, match="it is withdrawn, by me"):
        finish(store, held, result(tmp_path), T0 + 2 * HOUR)
    assert store.paths(store.head(), "results") == []


class RestlessStore(MemoryStore):
    """Somebody commits between any two looks."""

    looks = 0

    def head(self) -> str:
        self.looks += 1
        self.trees.append(self.trees[-1])
        return str(len(self.trees) - 2)


def test_a_store_that_never_stands_still_is_busy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_store, "_WAIT", wait_none())
    restless = RestlessStore()
    with pytest.raises(QueueBusy, match="memory changed during each of 30 attempts"):
        submit(restless, write_toy(tmp_path / "toy"), ME, T0, find_suite=find_toy)
    assert restless.looks >= file_store.ATTEMPTS


def test_a_submitter_sees_where_they_stand(tmp_path: Path, store: MemoryStore) -> None:
    first, second, third = handed_in(store, tmp_path, 3)
    assert listing(store).queue_position(third.submission_id, T0).as_json() == {
        "position": 3,
        "waiting": 3,
        "claimed": 0,
        "worker_seen": None,
    }
    held = taken(store, now=T0 + HOUR)
    found = listing(store)
    assert found.queue_position(first.submission_id, T0 + HOUR).position is None
    place = found.queue_position(third.submission_id, T0 + HOUR)
    assert (place.position, place.waiting, place.claimed, place.worker_seen) == (2, 2, 1, T0 + HOUR)
    lapsed(store, first.submission_id)
    later = listing(store).queue_position(third.submission_id, T0 + 2 * HOUR)
    assert (later.position, later.waiting, later.claimed) == (3, 3, 0)
    assert found.queue_position(second.submission_id, T0).worker_seen is None  # a record of the future
    held = taken(store, now=T0 + 2 * HOUR)
    release(store, held, "no model", T0 + 2 * HOUR)
    assert listing(store).queue_position(third.submission_id, T0 + 3 * HOUR).worker_seen == T0 + 2 * HOUR
