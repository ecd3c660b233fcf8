"""Votes on their way to a store: each is there once, whatever fails on the way."""

import os
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from submissions.judgements.vote_store import VoteReader, VoteSpool, delete_votes, merge_past_days
from submissions.judgements.votes import Vote
from submissions.storage.file_store import Conflict, FolderStore, StoreFault
from tests.submissions.judgements.test_votes import a_vote


class Faulty(FolderStore):
    """A store whose next commits fail: before they are made, after, or because another came first."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.faults: list[str] = []

    def commit(self, parent: str, add: Mapping[str, bytes | Path], remove: object, message: str) -> str:
        fault = self.faults.pop(0) if self.faults else ""
        if fault == "before":
            raise StoreFault("out of reach", "retry")
        if fault == "race":
            super().commit(parent, {"noise": str(len(self.faults)).encode()}, (), "of no interest")
            raise Conflict
        made = super().commit(parent, add, tuple(remove), message)  # type: ignore[arg-type]
        if fault == "after":
            raise StoreFault("the answer was lost", "retry")
        return made


@pytest.fixture
def store(tmp_path: Path) -> Faulty:
    return Faulty(tmp_path / "store")


@pytest.fixture
def spool(store: Faulty, tmp_path: Path) -> VoteSpool:
    return VoteSpool(store, tmp_path / "spool")


def stored(store: FolderStore) -> list[Vote]:
    return list(VoteReader(store).read().votes)


def lines(store: FolderStore) -> int:
    head = store.head()
    return sum(store.read(head, path, 2**20).count(b"\n") for path in store.paths(head, "votes"))


def test_a_vote_is_on_disk_when_it_is_accepted(spool: VoteSpool, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[int] = []
    sync = os.fsync

    def noted(number: int) -> None:
        synced.append(os.fstat(number).st_size)
        sync(number)

    monkeypatch.setattr(os, "fsync", noted)
    spool.accept([a_vote(0)])
    assert len(a_vote(0).as_line()) + 2 in synced  # with a line end on both sides


def test_a_vote_is_in_the_store_once_whatever_fails(store: Faulty, spool: VoteSpool) -> None:
    spool.accept([a_vote(0), a_vote(0, "more_different")])
    for fault in ("before", "after"):
        store.faults = [fault]
        with pytest.raises(StoreFault):
            spool.commit()
        spool.accept([a_vote(len(fault))])
    store.faults = ["race", "race"]
    assert spool.commit() == 4
    assert len(stored(store)) == lines(store) == 4
    assert spool.commit() == 0
    assert spool.waiting() == []
    assert len(store.paths(store.head(), "votes")) == 3  # a batch keeps its name when it is sent again


def test_a_killed_process_loses_no_accepted_vote(
    store: Faulty, spool: VoteSpool, monkeypatch: pytest.MonkeyPatch
) -> None:
    spool.accept([a_vote(0)])
    with (spool.folder / "waiting.jsonl").open("ab") as file:
        file.write(a_vote(1).as_line()[:50])  # killed while it wrote
    spool.accept([a_vote(2)])
    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", _killed)
        with pytest.raises(KeyboardInterrupt):
            spool.commit()  # killed after the store had it
    again = VoteSpool(store, spool.folder)
    assert set(again.waiting()) == {a_vote(0), a_vote(2)}
    again.commit()
    assert set(stored(store)) == {a_vote(0), a_vote(2)}
    assert lines(store) == 2


def _killed(*_: object) -> None:
    raise KeyboardInterrupt


def test_past_days_are_merged_and_a_late_batch_counts_once(
    store: Faulty, spool: VoteSpool, monkeypatch: pytest.MonkeyPatch
) -> None:
    today = datetime.now(UTC).date()
    for number in range(3):
        spool.accept([a_vote(number)])
        late = _sent(spool, monkeypatch)
    before, reader = stored(store), VoteReader(store)
    assert merge_past_days(store, today) == 0
    assert merge_past_days(store, today + timedelta(days=1)) == 1
    (merged,) = store.paths(store.head(), "votes")
    assert merged.startswith(f"votes/{today}/")
    assert stored(store) == [*reader.read().votes] == before
    for path, content in late.items():
        path.write_bytes(content)
    spool.commit()
    assert (lines(store), stored(store)) == (4, before)
    assert merge_past_days(store, today + timedelta(days=1)) == 1
    assert lines(store) == 3
    spool.accept([a_vote(9)])
    spool.commit()
    assert merge_past_days(store, today + timedelta(days=1)) == 1
    assert [*reader.read().votes] == stored(store) == sorted([*before, a_vote(9)], key=lambda each: each.vote_id)


def test_merging_loses_no_vote_of_files_that_another_program_wrote(store: Faulty) -> None:
    """Two teams' files without the last line end; and a line that is not a vote is not removed unseen."""

    def name(day: str, number: int) -> str:
        return f"votes/2026-01-0{day}/{number:032x}.jsonl"

    files: dict[str, bytes | Path] = {name("1", i): a_vote(i).as_line() for i in range(2)}
    files |= {name("2", i): a_vote(i).as_line() + b"\n" for i in (2, 3)}
    files[name("2", 4)] = a_vote(4).as_line() + b"\n{}\n"
    store.commit(store.head(), files, (), "by hand")
    before = VoteReader(store).read()
    assert len(before.votes) == 5
    assert merge_past_days(store, datetime.now(UTC).date()) == 1
    after = VoteReader(store).read()
    assert (after.votes, after.damaged) == (before.votes, before.damaged)
    assert sum(path.startswith("votes/2026-01-01/") for path in store.paths(store.head(), "votes")) == 1


def test_the_votes_of_one_visitor_are_deleted(store: Faulty, spool: VoteSpool) -> None:
    others = "cd" * 16
    spool.accept([a_vote(0), a_vote(1, voter=others)])
    spool.commit()
    spool.accept([a_vote(2)])
    reader = VoteReader(store)
    assert len(reader.read().votes) == 2
    store.faults = ["", "race"]
    assert delete_votes(spool, "ab" * 16) == 2
    assert [*reader.read().votes] == stored(store) == [a_vote(1, voter=others)]
    assert spool.waiting() == []
    assert delete_votes(spool, "ab" * 16) == 0


def _sent(spool: VoteSpool, monkeypatch: pytest.MonkeyPatch) -> dict[Path, bytes]:
    """Send what waits; the batches as they lay in the spool."""
    kept: dict[Path, bytes] = {}
    unlink = Path.unlink

    def keep(path: Path, *arguments: bool) -> None:
        if path.suffix == ".jsonl":
            kept[path] = path.read_bytes()
        unlink(path, *arguments)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", keep)
        spool.commit()
    return kept


def test_what_is_no_vote_in_a_store_is_told_and_left_out(store: Faulty, spool: VoteSpool) -> None:
    spool.accept([a_vote()])
    spool.commit()
    bad = {
        "votes/2026-01-01/" + "0" * 32 + ".jsonl": a_vote(1).as_line() + b'\n{"vote_id": 1}\n',
        "votes/readme.md": b"<script>",
    }
    store.commit(store.head(), bad, (), "by a stranger")
    found = VoteReader(store).read()
    assert set(found.votes) == {a_vote(), a_vote(1)}
    assert [name for name, _ in found.damaged] == [f"{next(iter(bad))}:2", "votes/readme.md"]
