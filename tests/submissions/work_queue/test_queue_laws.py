"""What holds of the queue whoever does what, in whatever order, and at the same time."""

import random
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from submissions.storage.folder_store import FolderStore
from submissions.work_queue.errors import ClaimLost, IllegalTransition, NotAllowed, QuotaUsed, UnknownSubmission
from submissions.work_queue.maintenance import retry, withdraw
from submissions.work_queue.operations import claim, fail, finish, listing, reject, release, renew, states, submit
from submissions.work_queue.queue_files import result_paths
from submissions.work_queue.schema import MAX_ATTEMPTS, TRANSITIONS, Claim, Identity, Quota, State
from tests.submissions.conftest import find_toy
from tests.submissions.queueing import ERROR, HOUR, T0, MemoryStore, handed_in, result, toys
from tests.submissions.stores import REPO, Place, running_hub

FOLDER = Path(tempfile.mkdtemp(prefix="divbench-queue-"))
TOYS = toys(FOLDER, 4)
RESULTS = [result(FOLDER, digit * 16) for digit in "ab"]
PEOPLE = (Identity(name="ann"), Identity(name="ann", verified=True), Identity(name="bob"))
WORKERS = ("w1", "w2", "w1")  # two workers of one name
QUOTA = Quota(number=2, days=1)
WHICH = st.integers(0, 1000)


class Queue(RuleBasedStateMachine):
    """Submitters, workers and an operator, who hold on to claims long after they lost them."""

    def __init__(self) -> None:
        super().__init__()
        self.store = MemoryStore()
        self.now = T0
        self.claims: list[Claim] = []
        self.before: dict[str, State] = {}
        self.commits = 1
        self.raced = False

    def attempt(self, operation: Callable[[], object]) -> Any:
        """Do it, or hear why not: nothing else may be raised."""
        with suppress(ClaimLost, IllegalTransition, NotAllowed, QuotaUsed, UnknownSubmission):
            return operation()
        return None

    def pick(self, which: int) -> Claim | None:
        return self.claims[which % len(self.claims)] if self.claims else None

    @rule(minutes=st.sampled_from([-5, 1, 10, 61, 1500]))
    def time_passes(self, minutes: int) -> None:
        self.now += timedelta(minutes=minutes)

    @rule(toy=st.sampled_from(TOYS), by=st.sampled_from(PEOPLE))
    def submit_kept(self, toy: Path, by: Identity) -> None:
        self.attempt(lambda: submit(self.store, toy, by, self.now, quota=QUOTA, find_suite=find_toy))

    @rule(worker=st.sampled_from(WORKERS), hours=st.sampled_from([1, 5]))
    def claim(self, worker: str, hours: int) -> None:
        made = claim(self.store, worker, hours * HOUR, self.now)
        if made is not None:
            self.claims.append(made)

    @rule(which=WHICH)
    def renew(self, which: int) -> None:
        if held := self.pick(which):
            renewed = self.attempt(lambda: renew(self.store, held, self.now))
            if renewed is not None:
                self.claims.append(renewed)

    @rule(which=WHICH, how=st.sampled_from(["release", "fail", "reject", "finish"]), results=st.sampled_from(RESULTS))
    def end(self, which: int, how: str, results: dict[str, Path]) -> None:
        if held := self.pick(which):
            self.attempt(lambda: self.ended(held, how, results))

    def ended(self, held: Claim, how: str, results: dict[str, Path]) -> State:
        if how == "release":
            return release(self.store, held, "shutting down", self.now)
        if how == "fail":
            return fail(self.store, held, "an error\n", self.now)
        if how == "reject":
            return reject(self.store, held, [ERROR], self.now)
        return finish(self.store, held, results, self.now)

    @rule(which=WHICH, by=st.sampled_from(PEOPLE), operator=st.booleans())
    def withdraw(self, which: int, by: Identity, operator: bool) -> None:
        if names := sorted(self.before):
            name = names[which % len(names)]
            self.attempt(lambda: withdraw(self.store, name, by, self.now, operator=operator))

    @rule(which=WHICH)
    def retry(self, which: int) -> None:
        if names := sorted(self.before):
            name = names[which % len(names)]
            self.attempt(lambda: retry(self.store, name, PEOPLE[2], self.now))

    @rule(which=WHICH, how=st.sampled_from(["claim", "release", "fail", "finish", "withdraw", "retry"]))
    def somebody_is_faster_in_the_next_operation(self, which: int, how: str) -> None:
        def meanwhile() -> None:
            if how == "claim":
                self.claim("faster", 1)
            elif how == "withdraw":
                self.withdraw(which, PEOPLE[0], True)
            elif how == "retry":
                self.retry(which)
            else:
                self.end(which, how, RESULTS[0])

        self.store.meanwhile.append(meanwhile)
        self.raced = True

    @invariant()
    def laws(self) -> None:
        self.one_operation_is_one_commit()
        self.history_only_grows_and_no_submission_vanishes()
        self.every_step_is_of_the_table()
        self.attempts_are_bounded()
        self.every_claim_was_given_to_one_worker()
        self.a_claim_ends_by_its_holder_or_with_its_lease()
        self.what_is_published_is_what_states_name()
        self.nobody_has_more_than_their_quota()

    def one_operation_is_one_commit(self) -> None:
        made = len(self.store.trees) - self.commits
        assert made <= (10 if self.raced else 1)
        self.commits += made
        self.raced = bool(self.store.meanwhile)

    def history_only_grows_and_no_submission_vanishes(self) -> None:
        found = listing(self.store)
        assert found.damaged == ()
        after = {state.submission_id: state for state in found.states}
        assert after.keys() >= self.before.keys()
        for name, state in self.before.items():
            assert after[name].history[: len(state.history)] == state.history
            assert after[name].model_copy(update={"history": state.history}) == state
            added = [record.state for record in after[name].history[len(state.history) :]]
            if state.current.state == "scored" and added:
                assert added == ["withdrawn"]
            if state.current.state in ("rejected", "failed") and added:
                assert added[0] in ("withdrawn", "pending")
            assert state.current.state != "withdrawn" or not added
        self.before = after

    def every_step_is_of_the_table(self) -> None:
        for state in self.before.values():
            steps = [record.state for record in state.history]
            assert steps[0] == "pending"
            assert all(pair in TRANSITIONS for pair in pairwise(steps))

    def attempts_are_bounded(self) -> None:
        for state in self.before.values():
            reasons = [record.reason or "" for record in state.history]
            released = reasons.count("shutting down")
            tries = 1 + sum(reason.startswith("retry: ") for reason in reasons)
            claims = {record.token for record in state.history if record.state == "claimed"}
            assert len(claims) <= tries * MAX_ATTEMPTS + released
            assert max(record.attempt for record in state.history) <= MAX_ATTEMPTS

    def every_claim_was_given_to_one_worker(self) -> None:
        written = [r.token for s in self.before.values() for r in s.history if r.state == "claimed" and r.versions]
        assert sorted(filter(None, written)) == sorted({held.record.token or "" for held in self.claims})

    def a_claim_ends_by_its_holder_or_with_its_lease(self) -> None:
        for state in self.before.values():
            for held, after in pairwise(state.history):
                if held.state == "claimed" and after.state != "withdrawn":
                    lapsed = held.lease_until is not None and after.at >= held.lease_until
                    assert after.token == held.token or (lapsed and after.token is None)

    def what_is_published_is_what_states_name(self) -> None:
        named = {path for state in self.before.values() for path in result_paths(state)}
        assert set(self.store.paths(self.store.head(), "results")) == named
        there = {path.split("/")[1] for path in self.store.paths(self.store.head(), "submissions")}
        assert there == {name for name, state in self.before.items() if state.current.state != "withdrawn"}

    def nobody_has_more_than_their_quota(self) -> None:
        for by in PEOPLE:
            times = sorted(state.received for state in self.before.values() if state.submitter == by)
            for first, last in zip(times, times[QUOTA.number :], strict=False):
                assert last - first >= timedelta(days=QUOTA.days)


TestQueue = Queue.TestCase
TestQueue.settings = settings(max_examples=40, stateful_step_count=40)


@pytest.fixture(params=["folder", "hub"])
def where(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    """A place for a store, without files."""
    if request.param == "folder":
        yield Place(str(tmp_path / "store"), tmp_path)
    else:
        with running_hub(tmp_path) as server:
            yield Place(f"hf://datasets/{REPO}", tmp_path, server)


@pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning")  # by the Hub's client
def test_workers_at_the_same_time_never_get_the_same_submission(tmp_path: Path, where: Place) -> None:
    store = where.open()
    names = [state.submission_id for state in handed_in(store, tmp_path, 12 if where.server is None else 4)]

    def work(number: int) -> list[tuple[str, int]]:
        mine = where.open()
        dice = random.Random(number)  # noqa: S311
        done: list[tuple[str, int]] = []
        while (held := claim(mine, f"worker-{number}", HOUR, T0 + HOUR)) is not None:
            done.append((held.submission_id, held.record.attempt))
            if dice.random() < 0.2:
                release(mine, held, "shutting down", T0 + HOUR)
                continue
            finish(mine, renew(mine, held, T0 + HOUR), result(tmp_path, held.submission_id), T0 + HOUR)
        return done

    with ThreadPoolExecutor(5) as pool:
        done = [pair for each in pool.map(work, range(5)) for pair in each]
    found = states(store)
    assert [state.submission_id for state in found] == names
    assert {state.current.state for state in found} == {"scored"}
    claims = Counter(name for name, _ in done)
    for state in found:
        steps = Counter(record.state for record in state.history)
        assert claims[state.submission_id] == steps["pending"]  # one claim for each time that it waited
        assert (steps["scored"], {record.attempt for record in state.history}) == (1, {1})
        assert state.results == (state.submission_id,)
    assert set(store.paths(store.head(), "results")) == {path for state in found for path in result_paths(state)}


def test_the_same_submission_handed_in_at_the_same_time_is_taken_once(tmp_path: Path) -> None:
    def submit_kept(number: int) -> bool:
        mine = FolderStore(tmp_path / "store")
        return submit(mine, TOYS[0], Identity(name=f"p{number}"), T0, find_suite=find_toy).new

    with ThreadPoolExecutor(6) as pool:
        assert sum(pool.map(submit_kept, range(6))) == 1
    assert len(states(FolderStore(tmp_path / "store"))) == 1


def test_a_quota_holds_when_submissions_come_at_the_same_time(tmp_path: Path) -> None:
    def submit_kept(toy: Path) -> bool:
        with suppress(QuotaUsed):
            return submit(FolderStore(tmp_path / "store"), toy, PEOPLE[0], T0, quota=QUOTA, find_suite=find_toy).new
        return False

    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(submit_kept, TOYS)) == QUOTA.number
