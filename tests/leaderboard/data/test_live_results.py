"""What is shown while the source changes, breaks and comes back."""

import shutil
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from benchmark.scoring.results import PER_PROMPT_FILE
from divbench.core.errors import ConfigurationError, InputError
from leaderboard.data.live_results import REFRESH_SECONDS, LiveResults
from leaderboard.data.sources import FolderSource, Snapshot, StoreSource
from submissions.storage.file_store import FolderStore, StoreFault
from tests.leaderboard.stores import HOUR, T0, Scored, filled, publish, put, scored


@pytest.fixture(scope="module")
def some(results: Path) -> list[Scored]:
    return scored(results)[:3]


@pytest.fixture
def store(some: list[Scored], tmp_path: Path) -> FolderStore:
    """A store with two results."""
    made = FolderStore(tmp_path / "store")
    filled(made, some[:2])
    return made


def source(store: FolderStore, tmp_path: Path) -> StoreSource:
    return StoreSource(store, tmp_path / "cache")


def names(snapshot: Snapshot) -> list[str]:
    return sorted(entry.result.result_id for board in snapshot.boards for entry in board.entries)


def ids(given: list[Scored]) -> list[str]:
    return sorted(each.result.result_id for each in given)


def refreshed(live: LiveResults) -> Snapshot:
    """The snapshot after the reading that a request started has ended."""
    live.snapshot()
    for thread in threading.enumerate():
        if thread.daemon and thread is not threading.current_thread() and "_reread" in thread.name:
            thread.join()
    return live.snapshot()


def test_the_source_is_read_again_when_it_is_time_behind_the_visitors_back(
    store: FolderStore, some: list[Scored], tmp_path: Path
) -> None:
    clock = [0.0]
    live = LiveResults(source(store, tmp_path), clock=lambda: clock[0])
    publish(store, some[2], T0 + 50 * HOUR)
    clock[0] = REFRESH_SECONDS - 1
    assert names(refreshed(live)) == ids(some[:2])
    clock[0] = REFRESH_SECONDS
    assert names(refreshed(live)) == ids(some)


def test_a_machine_without_threads_refreshes_later(
    store: FolderStore, some: list[Scored], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [0.0]
    live = LiveResults(source(store, tmp_path), clock=lambda: clock[0])
    publish(store, some[2], T0 + 50 * HOUR)

    def no_thread(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", no_thread)
        clock[0] = REFRESH_SECONDS
        assert names(live.snapshot()) == ids(some[:2])
    clock[0] = 2 * REFRESH_SECONDS
    assert names(refreshed(live)) == ids(some)


def test_a_site_that_is_not_refreshed_stays_as_it_was(store: FolderStore, some: list[Scored], tmp_path: Path) -> None:
    clock = [0.0]
    live = LiveResults(source(store, tmp_path), refresh=None, clock=lambda: clock[0])
    publish(store, some[2], T0 + 50 * HOUR)
    clock[0] = 10**6
    assert names(refreshed(live)) == ids(some[:2])
    assert names(live.reload()) == ids(some)


def test_a_store_that_disappears_leaves_what_was_shown_with_the_fault_until_it_is_back(
    store: FolderStore, some: list[Scored], tmp_path: Path
) -> None:
    live = LiveResults(source(store, tmp_path), refresh=None)
    before = live.snapshot()
    away = store.folder.rename(tmp_path / "elsewhere")
    after = live.reload()
    assert (after.boards, after.queue, after.as_of) == (before.boards, before.queue, before.as_of)
    assert after.fault is not None
    assert str(store.folder) in after.fault
    scores = live.scores(after.boards[0])  # drill-downs go on from the cache
    assert len(scores.prompts) == some[0].result.prompts
    away.rename(store.folder)
    assert live.reload().fault is None


def test_a_source_that_cannot_be_read_at_all_raises(tmp_path: Path) -> None:
    (tmp_path / "store").mkdir()
    (tmp_path / "store" / "HEAD").write_text("nothing")
    with pytest.raises(StoreFault):
        LiveResults(source(FolderStore(tmp_path / "store"), tmp_path))
    with pytest.raises(ConfigurationError):
        LiveResults(FolderSource(tmp_path / "none"))


def test_warnings_says_what_is_not_shown_and_how_old_the_rest_is(
    store: FolderStore, some: list[Scored], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    put(store, f"results/{some[0].folder.name}/{PER_PROMPT_FILE}", b"PAR1")
    put(store, f"states/{some[1].result.submission_id}.json", b"{")
    live = LiveResults(source(store, tmp_path), refresh=None)
    lines = live.snapshot().warnings
    assert [line.partition(":")[0] for line in lines] == [
        some[0].folder.name,
        f"states/{some[1].result.submission_id}.json",
    ]
    assert all(": not shown, " in line for line in lines)
    store.folder.rename(tmp_path / "elsewhere")
    first, *others = live.reload().warnings
    assert first.startswith("The results cannot be updated at the moment; this is their state at ")
    assert others == lines
    assert f"{store.folder} is gone" in caplog.text  # for the operator
    assert str(store.folder.parent) not in first


def test_a_result_that_vanishes_while_it_is_shown_is_an_error_of_its_board(results: Path, tmp_path: Path) -> None:
    shutil.copytree(results, tmp_path / "results")
    live = LiveResults(FolderSource(tmp_path / "results"), refresh=None)
    board = live.snapshot().boards[0]
    assert live.scores(board) is live.scores(board)
    gone = board.entries[0]
    (gone.folder / PER_PROMPT_FILE).unlink()
    assert live.scores(board).prompts  # it is in memory
    other = gone.result.model_copy(update={"per_prompt_sha256": "0" * 64})
    with pytest.raises(InputError, match=gone.folder.name):
        live.scores(replace(board, entries=(replace(gone, result=other), *board.entries[1:])))
    assert len(names(live.reload())) == len(board.entries) - 1
