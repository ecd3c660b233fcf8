"""What comes after the end: what failed is tried again, and what is withdrawn leaves the store's head."""

from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest

from datasets_build.schema import Suite
from divbench.core.errors import InputError
from submissions.storage.file_store import StoreFault
from submissions.work_queue.operations import (
    add_results,
    claim,
    fail,
    finish,
    retry,
    state_of,
    submissions_without_state,
    submit,
    withdraw,
)
from submissions.work_queue.queue_files import fetch, result_paths
from submissions.work_queue.schema import (
    MAX_ATTEMPTS,
    ClaimLost,
    Identity,
    IllegalTransition,
    NotAllowed,
    State,
    UnknownSubmission,
)
from tests.conftest import write_toy
from tests.submissions.conftest import find_toy
from tests.submissions.queueing import HOUR, ME, T0, MemoryStore, handed_in, result, taken

OPERATOR = Identity(name="ann")


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore()


def failed(store: MemoryStore) -> State:
    """The oldest submission, after all its attempts."""
    for _ in range(MAX_ATTEMPTS):
        state = fail(store, taken(store), "no memory", T0 + HOUR)
    return state


# Tried again


def test_what_failed_is_tried_again_with_all_its_attempts(tmp_path: Path, store: MemoryStore) -> None:
    first, second = handed_in(store, tmp_path, 2)
    before = failed(store)
    after = retry(store, first.submission_id, OPERATOR, T0 + 2 * HOUR, reason="more\nmemory")
    assert after.history[:-1] == before.history
    assert (after.current.state, after.current.attempt, after.current.by) == ("pending", 1, "ann")
    assert after.current.reason == "retry: more memory"
    assert store.messages[-1] == f"retry {first.submission_id} by ann"
    again = failed(store)
    assert again.submission_id == first.submission_id  # it has kept its place
    assert [record.attempt for record in again.history if record.state == "failed"] == [MAX_ATTEMPTS] * 2
    assert taken(store).submission_id == second.submission_id


def test_nothing_else_is_tried_again(tmp_path: Path, store: MemoryStore) -> None:
    [state] = handed_in(store, tmp_path, 1)
    name = state.submission_id
    with pytest.raises(IllegalTransition, match="is pending: only a failed or rejected submission can be retried"):
        retry(store, name, OPERATOR, T0)
    finish(store, taken(store), result(tmp_path), T0 + HOUR)
    with pytest.raises(IllegalTransition, match="is scored"):
        retry(store, name, OPERATOR, T0)
    withdraw(store, name, ME, T0)
    with pytest.raises(IllegalTransition, match="is withdrawn"):
        retry(store, name, OPERATOR, T0)
    with pytest.raises(UnknownSubmission):
        retry(store, "0" * 16, OPERATOR, T0)


# Taken out


def scored(store: MemoryStore, folder: Path, number: int = 1, apart: MemoryStore | None = None) -> list[State]:
    """Submissions, each with a result of its own."""
    handed_in(store, folder, number)
    return [
        finish(store, taken(store), result(folder, f"{i:016x}"), T0 + HOUR, results_store=apart) for i in range(number)
    ]


def test_what_is_withdrawn_leaves_the_head_with_its_results(tmp_path: Path, store: MemoryStore) -> None:
    mine, other = scored(store, tmp_path, 2)
    before = store.head()
    after = withdraw(store, mine.submission_id, ME, T0 + HOUR)
    assert after.results == mine.results
    assert result_paths(after) == []
    left = [f"states/{name}.json" for name in (mine.submission_id, other.submission_id)]
    left += [f"submissions/{other.submission_id}/{file}" for file in ("generations.parquet", "manifest.json")]
    assert store.paths(store.head()) == sorted([*left, *result_paths(other)])
    assert int(store.head()) == int(before) + 1
    assert set(result_paths(mine)) <= set(store.paths(before))
    with pytest.raises(UnknownSubmission):
        fetch(store, mine.submission_id, tmp_path)
    assert submissions_without_state(store) == []
    assert claim(store, "w", HOUR, T0 + 9 * HOUR) is None


def test_what_comes_back_after_a_withdrawal_is_removed_by_another_one(tmp_path: Path, store: MemoryStore) -> None:
    """A second pull request of the same files may be merged after the withdrawal."""
    [mine] = scored(store, tmp_path)
    folder = f"submissions/{mine.submission_id}"
    files: dict[str, bytes | Path] = {
        path: store.read(store.head(), path, 10**6) for path in store.paths(store.head(), folder)
    }
    after = withdraw(store, mine.submission_id, ME, T0 + HOUR)
    store.commit(store.head(), files, (), "merged")
    with pytest.raises(NotAllowed):
        withdraw(store, mine.submission_id, Identity(name="another"), T0 + HOUR)
    assert withdraw(store, mine.submission_id, ME, T0 + 2 * HOUR) == after
    assert store.paths(store.head(), folder) == []
    with pytest.raises(IllegalTransition, match="already withdrawn"):
        withdraw(store, mine.submission_id, ME, T0 + 3 * HOUR)


def test_who_withdraws_a_copy_does_not_keep_it_from_others(tmp_path: Path, store: MemoryStore) -> None:
    [mine] = scored(store, tmp_path)
    withdraw(store, mine.submission_id, ME, T0 + HOUR)
    author = Identity(name="the author", verified=True)
    receipt = submit(store, tmp_path / "toy-0", author, T0 + HOUR, find_suite=find_toy)
    assert (receipt.new, receipt.state.current.state, receipt.state.submitter) == (True, "pending", author)
    assert len(store.paths(store.head(), f"submissions/{mine.submission_id}")) == 2
    with pytest.raises(NotAllowed):
        withdraw(store, mine.submission_id, ME, T0 + HOUR)


def test_a_folder_that_changes_while_it_is_submitted_is_refused(tmp_path: Path, store: MemoryStore) -> None:
    folder, other = (write_toy(tmp_path / name, name=name) for name in ("checked", "other"))

    def find(name: str) -> Suite:
        (other / "manifest.json").replace(folder / "manifest.json")
        return find_toy(name)

    with pytest.raises(InputError, match="changed while it was submitted"):
        submit(store, folder, ME, T0, find_suite=find)
    assert store.paths(store.head()) == []


def test_what_the_operator_withdrew_is_not_handed_in_again(tmp_path: Path, store: MemoryStore) -> None:
    [mine] = scored(store, tmp_path)
    withdraw(store, mine.submission_id, Identity(name="operator"), T0 + HOUR, operator=True)
    head = store.head()
    receipt = submit(store, tmp_path / "toy-0", ME, T0 + HOUR, find_suite=find_toy)
    assert (receipt.new, receipt.state.current.state, store.head()) == (False, "withdrawn", head)


def test_results_that_another_names_stay(tmp_path: Path, store: MemoryStore) -> None:
    handed_in(store, tmp_path, 2)
    both = result(tmp_path, "a" * 16)
    first, second = (finish(store, taken(store), both, T0 + HOUR) for _ in range(2))
    withdraw(store, first.submission_id, ME, T0 + HOUR)
    assert store.paths(store.head(), "results") == sorted(result_paths(second))
    withdraw(store, second.submission_id, ME, T0 + HOUR)
    assert store.paths(store.head(), "results") == []


class Unreachable(MemoryStore):
    """A store that takes no commit for now."""

    away = False

    def commit(self, parent: str, add: Mapping[str, bytes | Path], remove: Iterable[str], message: str) -> str:
        if self.away:
            raise StoreFault("out of reach", "wait")
        return super().commit(parent, add, remove, message)


def test_results_that_are_published_while_their_submission_is_withdrawn_do_not_stay(
    tmp_path: Path, store: MemoryStore
) -> None:
    apart = MemoryStore("apart")
    first, second = handed_in(store, tmp_path, 2)
    shared, own = result(tmp_path, "a" * 16), result(tmp_path, "b" * 16)
    finish(store, taken(store), shared, T0 + HOUR, results_store=apart)

    def withdraw_meanwhile(name: str) -> None:
        apart.meanwhile.append(lambda: withdraw(store, name, ME, T0 + HOUR, results_store=apart))

    withdraw_meanwhile(second.submission_id)
    with pytest.raises(ClaimLost):
        finish(store, taken(store), shared | own, T0 + HOUR, results_store=apart)
    kept = apart.paths(apart.head())
    assert kept == sorted(result_paths(state_of(store, first.submission_id)))
    withdraw_meanwhile(first.submission_id)
    with pytest.raises(IllegalTransition):
        add_results(store, first.submission_id, own, "w", T0 + HOUR, "offline", results_store=apart)
    assert apart.paths(apart.head()) == []


def test_results_in_a_store_of_their_own_are_taken_out_though_it_was_broken_off(
    tmp_path: Path, store: MemoryStore
) -> None:
    apart = Unreachable("apart")
    mine, other = scored(store, tmp_path, 2, apart)
    name = mine.submission_id
    apart.away = True
    with pytest.raises(StoreFault):
        withdraw(store, name, ME, T0 + HOUR, results_store=apart)
    assert state_of(store, name).current.state == "withdrawn"
    apart.away = False
    head = store.head()
    assert withdraw(store, name, ME, T0 + HOUR, results_store=apart) == state_of(store, name)
    assert apart.paths(apart.head()) == sorted(result_paths(other))
    assert store.head() == head
    with pytest.raises(IllegalTransition):
        withdraw(store, name, ME, T0 + HOUR, results_store=apart)
