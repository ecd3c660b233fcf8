"""The queue's upkeep: proposals come to a state, scored submissions to more results; and claims asked for twice."""

from collections.abc import Iterable, Mapping
from datetime import timedelta
from pathlib import Path

import pytest

from divbench.core.errors import InputError
from submissions.checking.validate import open_submission
from submissions.storage.file_store import StoreFault
from submissions.storage.submission_folders import Submission
from submissions.work_queue.operations import (
    add_results,
    adopt,
    claim,
    finish,
    propose,
    state_of,
    states,
    submissions_without_state,
    submit,
    withdraw,
)
from submissions.work_queue.queue_files import fetch
from submissions.work_queue.schema import MAX_RESULTS, Identity, IllegalTransition, QueueError, State
from tests.conftest import write_toy
from tests.submissions.conftest import find_toy
from tests.submissions.queueing import HOUR, ME, T0, MemoryStore, handed_in, result, taken
from tests.submissions.work_queue.test_queue import ProposalStore


@pytest.fixture
def store() -> ProposalStore:
    return ProposalStore()


def proposed(store: ProposalStore, folder: Path) -> Submission:
    """A submission whose proposal was taken, as the worker fetches it."""
    propose(store, write_toy(folder / "in"), T0, find_suite=find_toy)
    store.commit(store.head(), store.proposed, (), "taken")
    [name] = submissions_without_state(store)
    fetched = folder / "fetched"
    fetched.mkdir()
    fetch(store, name, fetched)
    return open_submission(fetched, find_toy)[0]


def test_what_was_proposed_is_adopted(store: ProposalStore, tmp_path: Path) -> None:
    assert submissions_without_state(store) == []
    submission = proposed(store, tmp_path)
    made = adopt(store, submission, "w", T0 + HOUR)
    assert states(store) == [made]
    assert submissions_without_state(store) == []
    assert made.submitter == Identity(name="tester", verified=False)
    assert (made.received, made.current.state, made.current.by) == (T0 + HOUR, "pending", "w")
    head = store.head()
    assert adopt(store, submission, "v", T0 + 2 * HOUR) == made
    assert store.head() == head
    assert submit(store, tmp_path / "in", ME, T0, find_suite=find_toy).state == made


def scored(store: MemoryStore, folder: Path) -> State:
    handed_in(store, folder, 1)
    return finish(store, taken(store), result(folder), T0 + 2 * HOUR)


def test_results_are_added_beside_the_old_ones(store: ProposalStore, tmp_path: Path) -> None:
    before = scored(store, tmp_path)
    name = before.submission_id
    more = result(tmp_path, "f" * 16, '{"more": 1}')
    after = add_results(store, name, more, "w2", T0 + 3 * HOUR, "offline")
    assert after.history[:-1] == before.history
    assert after.results == ("0123456789abcdef", "f" * 16)
    assert (after.current.by, after.current.profile) == ("w2", "offline")
    assert len(store.paths(store.head(), "results")) == 4
    head = store.head()
    assert add_results(store, name, more, "w3", T0 + 3 * HOUR, "offline") == after
    assert store.head() == head
    assert withdraw(store, name, ME, T0 + 4 * HOUR).results == after.results
    with pytest.raises(IllegalTransition, match="results can be added only to a scored submission"):
        add_results(store, name, result(tmp_path, "e" * 16), "w", T0, "offline")
    assert store.paths(store.head(), "results") == []


def test_results_have_a_bound_and_their_files(store: ProposalStore, tmp_path: Path) -> None:
    name = scored(store, tmp_path).submission_id
    many = {key: folder for i in range(MAX_RESULTS - 1) for key, folder in result(tmp_path, f"{i:016x}").items()}
    assert len(add_results(store, name, many, "w", T0, "offline").results) == MAX_RESULTS
    with pytest.raises(QueueError, match=f"has {MAX_RESULTS} results"):
        add_results(store, name, result(tmp_path, "f" * 16), "w", T0, "offline")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=r"there is no file .*result\.json"):
        add_results(store, name, {"e" * 16: tmp_path / "empty"}, "w", T0, "offline")


class ForgetfulStore(MemoryStore):
    """A store whose first answer to a commit is lost, though the commit is made."""

    lost = False

    def commit(self, parent: str, add: Mapping[str, bytes | Path], remove: Iterable[str], message: str) -> str:
        made = super().commit(parent, add, remove, message)
        if len(self.trees) > 3 and not self.lost:
            self.lost = True
            raise StoreFault("the answer was lost", "look at the head")
        return made


def test_a_claim_whose_answer_was_lost_is_asked_for_again(tmp_path: Path) -> None:
    store = ForgetfulStore()
    first, second = handed_in(store, tmp_path, 2)
    with pytest.raises(StoreFault):
        claim(store, "w", HOUR, T0 + HOUR, token="0" * 16)
    held = claim(store, "w", HOUR, T0 + HOUR + timedelta(minutes=1), token="0" * 16)
    assert held is not None
    assert held.submission_id == first.submission_id
    assert len(state_of(store, first.submission_id).history) == 2
    assert state_of(store, second.submission_id) == second
    other = claim(store, "w", HOUR, T0 + HOUR, token="1" * 16)
    assert other is not None
    assert other.submission_id == second.submission_id
