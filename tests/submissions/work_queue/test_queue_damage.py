"""States that a stranger wrote, or a disk lost: each is named for what is wrong with it, and nobody else is held up."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from submissions.work_queue.operations import claim, listing, state_of, states, submit, withdraw
from submissions.work_queue.schema import MAX_RECORDS, MAX_STATE_BYTES, DamagedState, Record, State
from tests.cases import each
from tests.conftest import write_toy
from tests.submissions.conftest import find_toy
from tests.submissions.queueing import HOUR, ME, T0, MemoryStore, as_file, handed_in, state_file

ID = "0" * 16
PENDING = {"state": "pending", "at": "2026-03-01T12:00:00Z", "by": "me", "attempt": 1}
CLAIMED = PENDING | {"state": "claimed", "lease_until": "2026-03-01T13:00:00Z", "token": "1" * 16}

DAMAGES: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "not JSON"),
    "cut off": (as_file()[:-5], "not JSON"),
    "not UTF-8": (as_file().replace(b'"mine"', b'"\xff"'), "not JSON: 'utf-8'"),
    "no object": (b"[]", "Input should be "),
    "huge": (b'"' + b"x" * MAX_STATE_BYTES + b'"', "at most 2,?097,?152"),
    "a later version": (as_file(schema_version=2), "schema_version"),
    "an unknown field": (as_file(**{"\x1b[31m[red]": 1}), r"\\x1b\[31m\[red\]: unknown field"),
    "a field less": (as_file(suite=...), "suite: Field required"),
    "another's id": (as_file(submission_id="1" * 16), "it belongs to another submission, 1111111111111111"),
    "verified as a number": (as_file(submitter={"name": "me", "verified": 1}), "submitter.verified"),
    "a local time": (as_file(received="2026-03-01T12:00:00+01:00"), "received"),
    "no day": (as_file(received="2026-02-30T12:00:00Z"), "received"),
    "no history": (as_file(history=[]), "history"),
    "too long a history": (as_file(history=[PENDING] + [CLAIMED] * MAX_RECORDS), "history"),
    "born scored": (as_file(history=[PENDING | {"state": "scored", "results": ["0" * 16]}]), "must begin"),
    "a step that is none": (as_file(history=[PENDING, PENDING | {"state": "rejected"}]), "rejected cannot follow"),
    "back in time": (as_file(history=[PENDING, CLAIMED | {"at": "2026-03-01T11:59:59Z"}]), "older than"),
    "an unknown state": (as_file(history=[PENDING, PENDING | {"state": "done"}]), "history.1.state"),
    "no lease": (as_file(history=[PENDING, PENDING | {"state": "claimed", "token": ID}]), "a lease and a token"),
    "another's renewal": (as_file(history=[PENDING, CLAIMED, CLAIMED | {"token": "2" * 16}]), "only by its holder"),
    "scored with nothing": (as_file(history=[PENDING, CLAIMED, PENDING | {"state": "scored"}]), "must have results"),
    "attempt 4": (as_file(history=[PENDING | {"attempt": 4}]), "attempt"),
    "an attempt by claiming": (as_file(history=[PENDING, CLAIMED | {"attempt": 2}]), "only by 1"),
    "a reason that drives a terminal": (as_file(history=[PENDING | {"reason": "\x1b[2J"}]), "reason"),
    "a log without end": (as_file(history=[PENDING | {"log": ["x"] * 21}]), "log"),
}


@each("damage", DAMAGES)
def test_a_damaged_state_is_named_and_holds_nobody_up(tmp_path: Path, damage: str) -> None:
    content, reason = DAMAGES[damage]
    store = MemoryStore()
    (good,) = handed_in(store, tmp_path, 1)
    store.put(f"states/{ID}.json", content)
    found = listing(store)
    assert [each.path for each in found.damaged] == [f"states/{ID}.json"]
    assert found.damaged[0].reason.isprintable()
    with pytest.raises(DamagedState, match=reason) as caught:
        state_of(store, ID)
    assert caught.value.exit_status == 1
    assert len(str(caught.value)) < 1000
    with pytest.raises(DamagedState, match=reason):
        withdraw(store, ID, ME, T0, operator=True)
    assert states(store) == [good]
    made = claim(store, "w", HOUR, T0)
    assert made is not None
    assert made.submission_id == good.submission_id


@each("name", ["states/x.json", f"states/{ID}", f"states/{ID}.json.old", f"states/{ID}/x.json"])
def test_a_file_that_is_no_state_is_named(name: str) -> None:
    store = MemoryStore()
    store.put(name, as_file())
    found = listing(store)
    assert (found.states, [each.reason for each in found.damaged]) == ((), ["not the name of a state file"])


def test_a_submission_whose_state_is_damaged_is_not_handed_in_over_it(tmp_path: Path) -> None:
    store = MemoryStore()
    folder = write_toy(tmp_path / "toy")
    name = submit(store, folder, ME, T0, find_suite=find_toy).state.submission_id
    store.put(f"states/{name}.json", b"{}")
    with pytest.raises(DamagedState):
        submit(store, folder, ME, T0, find_suite=find_toy)


VALUE: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.just("2026-03-01T12:00:00Z"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=5,
)
RECORD_FIELDS = sorted(Record.model_fields)


@settings(max_examples=150)
@given(
    st.dictionaries(st.sampled_from(sorted(state_file())), VALUE, max_size=2),
    st.dictionaries(st.sampled_from(RECORD_FIELDS), VALUE, max_size=2),
    st.booleans(),
)
@example({"name": "\ud800"}, {}, False)
def test_whatever_stands_in_a_state_it_is_read_or_named(state: Any, record: Any, second: bool) -> None:
    history = [PENDING, CLAIMED | record] if second else [PENDING | record]
    store = MemoryStore()
    store.put(f"states/{ID}.json", as_file(**{"history": history} | state))
    found = listing(store)
    assert len(found.states) + len(found.damaged) == 1
    for read in found.states:
        assert State.model_validate_json(read.as_bytes()) == read
        claim(store, "w", HOUR, T0 + 9 * HOUR)
        assert listing(store).damaged == ()
