"""Results from a folder and from the service's store: what is shown, what is kept, and what cannot be had."""

import hashlib
import json
import os
import re
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmark.scoring.results import PER_PROMPT_FILE, RESULT_FILE
from divbench.core.errors import ConfigurationError
from divbench.core.files import sha256_of
from leaderboard.data.sources import FolderSource, Snapshot, StoreSource
from submissions.storage.file_store import FileStore, FolderStore, StoreFault
from submissions.work_queue.operations import add_results, withdraw
from tests.conftest import divbench
from tests.hub import HubServer
from tests.leaderboard.stores import HOUR, ME, T0, Scored, filled, publish, put, scored, scored_again
from tests.submissions.stores import hub_store, running_hub

pytestmark = pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning")  # by the Hub's client


@pytest.fixture(scope="module")
def some(results: Path) -> list[Scored]:
    """Three of the demonstration."""
    return scored(results)[:3]


@pytest.fixture
def folder_store(tmp_path: Path) -> FolderStore:
    return FolderStore(tmp_path / "store")


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HubServer]:
    monkeypatch.setattr(time, "sleep", lambda seconds: None)
    with running_hub(tmp_path) as running:
        yield running


@pytest.fixture(params=["folder", "hub"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> FileStore:
    """A store of either kind."""
    if request.param == "folder":
        return FolderStore(tmp_path / "store")
    return hub_store(request.getfixturevalue("server"), tmp_path)


def names(snapshot: Snapshot) -> list[str]:
    return sorted(entry.result.result_id for board in snapshot.boards for entry in board.entries)


def ids(given: list[Scored]) -> list[str]:
    return sorted(each.result.result_id for each in given)


def reasons(snapshot: Snapshot) -> dict[str, str]:
    return {folder.name: missing.reason for folder, missing in snapshot.unreadable.items()}


def damaged(content: bytes) -> bytes:
    """The same, with one bit turned."""
    return content[:100] + bytes([content[100] ^ 1]) + content[101:]


def test_a_store_shows_what_its_results_folder_does_and_the_queue(
    store: FileStore, some: list[Scored], tmp_path: Path
) -> None:
    filled(store, some)
    snapshot = StoreSource(store, tmp_path / "cache").read()
    assert names(snapshot) == ids(some)
    (board,) = snapshot.boards
    assert {entry.result.result_id: entry.result for entry in board.entries} == {
        each.result.result_id: each.result for each in some
    }
    for entry in board.entries:
        assert sha256_of(entry.folder / PER_PROMPT_FILE) == entry.result.per_prompt_sha256
    assert snapshot.unreadable == {}
    assert snapshot.queue is not None
    assert [state.current.state for state in snapshot.queue.states] == ["scored"] * 3
    assert snapshot.fault is None


def test_an_empty_store_is_a_queue_without_submissions(store: FileStore, some: list[Scored], tmp_path: Path) -> None:
    source = StoreSource(store, tmp_path / "cache")
    assert (source.read().boards, source.read().unreadable) == ((), {})
    assert source.read().queue is not None
    publish(store, some[0])
    assert names(source.read()) == ids(some[:1])


def test_only_what_is_new_is_fetched(server: HubServer, some: list[Scored], tmp_path: Path) -> None:
    store = hub_store(server, tmp_path)
    filled(store, some[:2])
    shutil.rmtree(store.cache)  # what publishing left there
    source = StoreSource(store, tmp_path / "cache")
    snapshot = source.read()

    def asked() -> list[str]:
        found = [one.path for one in server.requests("resolve") if one.path.endswith(PER_PROMPT_FILE)]
        server.seen.clear()
        return sorted(path.split("/")[-2] for path in found)

    assert asked() == ids(some[:2])
    assert source.read().boards is snapshot.boards  # nobody committed
    assert asked() == []
    publish(store, some[2])
    asked()
    shutil.rmtree(store.cache)
    assert names(source.read()) == ids(some)
    assert asked() == ids(some[2:])
    shutil.rmtree(store.cache)
    assert names(StoreSource(store, tmp_path / "cache").read()) == ids(some)  # after a new start
    assert asked() == []


def test_a_withdrawn_submission_is_not_shown_and_its_texts_leave_the_cache(
    store: FileStore, some: list[Scored], tmp_path: Path
) -> None:
    filled(store, some)
    source = StoreSource(store, tmp_path / "cache")
    (gone,) = [e.folder for b in source.read().boards for e in b.entries if e.result == some[0].result]
    assert gone.is_dir()
    withdraw(store, some[0].result.submission_id, ME, T0 + 99 * HOUR)
    assert names(source.read()) == ids(some[1:])
    assert not gone.exists()


def test_a_damaged_result_is_named_and_shown_when_it_is_mended(
    store: FileStore, some: list[Scored], tmp_path: Path
) -> None:
    filled(store, some)
    path = f"results/{some[0].folder.name}/{PER_PROMPT_FILE}"
    whole = (some[0].folder / PER_PROMPT_FILE).read_bytes()
    put(store, path, damaged(whole))
    source = StoreSource(store, tmp_path / "cache")
    snapshot = source.read()
    assert names(snapshot) == ids(some[1:])
    assert list(reasons(snapshot)) == [some[0].folder.name]
    assert source.read().boards is snapshot.boards  # not tried again: nobody committed
    put(store, path, whole)
    assert names(source.read()) == ids(some)
    assert source.read().unreadable == {}


def with_json(each: Scored, **changes: Any) -> bytes:
    known = json.loads((each.folder / RESULT_FILE).read_bytes())
    return json.dumps({**known, **changes}).encode()


def with_table(each: Scored, table: pa.Table, folder: Path) -> dict[str, bytes]:
    """The files of a result with another table, as one who made it on purpose would write them."""
    pq.write_table(table, folder / "table.parquet")
    text = with_json(each, per_prompt_sha256=sha256_of(folder / "table.parquet"))
    return {RESULT_FILE: text, PER_PROMPT_FILE: (folder / "table.parquet").read_bytes()}


def bad_files(kind: str, one: Scored, other: Scored, folder: Path) -> tuple[dict[str, bytes], str]:
    """What lies in the store in place of a result, and a part of the reason."""
    table = pq.read_table(one.folder / PER_PROMPT_FILE)
    metric = one.result.scores[0].metric
    cases: dict[str, tuple[dict[str, bytes], str]] = {
        "newer": ({RESULT_FILE: with_json(one, schema_version=3)}, "schema_version: Input should be 2"),
        "no JSON": ({RESULT_FILE: b"{"}, "Expecting property name"),
        "large": ({RESULT_FILE: with_json(one, notes="x" * 2**22)}, "at most 4,194,304 are allowed"),
        "of another": (
            {file: (other.folder / file).read_bytes() for file in (RESULT_FILE, PER_PROMPT_FILE)},
            f"it is the result .* of the submission {other.result.submission_id}",
        ),
        "other id": ({RESULT_FILE: with_json(one, result_id="f" * 16)}, "it is the result ffffffffffffffff"),
        "no Parquet": (
            {
                RESULT_FILE: with_json(one, per_prompt_sha256=hashlib.sha256(b"PAR1").hexdigest()),
                PER_PROMPT_FILE: b"PAR1",
            },
            "per_prompt.parquet: ",
        ),
        "a column less": (with_table(one, table.drop_columns([metric]), folder), f"has no column {metric}"),
        "a row less": (with_table(one, table.slice(1), folder), "23 rows, .* counts 24 prompts"),
    }
    return cases[kind]


BAD = ("newer", "no JSON", "large", "of another", "other id", "no Parquet", "a column less", "a row less")


@pytest.mark.parametrize("kind", BAD)
def test_what_is_no_result_says_why_and_the_others_are_shown(
    kind: str, folder_store: FolderStore, some: list[Scored], tmp_path: Path
) -> None:
    filled(folder_store, some)
    files, reason = bad_files(kind, some[0], some[1], tmp_path)
    for file, content in files.items():
        put(folder_store, f"results/{some[0].folder.name}/{file}", content)
    snapshot = StoreSource(folder_store, tmp_path / "cache").read()
    assert names(snapshot) == ids(some[1:])
    assert list(reasons(snapshot)) == [some[0].folder.name]
    assert re.search(reason, reasons(snapshot)[some[0].folder.name])


def test_a_result_whose_files_lack_says_so(folder_store: FolderStore, some: list[Scored], tmp_path: Path) -> None:
    filled(folder_store, some)
    path = f"results/{some[0].folder.name}/{PER_PROMPT_FILE}"
    folder_store.commit(folder_store.head(), {}, [path], "by hand")
    snapshot = StoreSource(folder_store, tmp_path / "cache").read()
    assert reasons(snapshot) == {
        some[0].folder.name: f"its {PER_PROMPT_FILE} is missing in the store: tell the operator of the service"
    }


def test_who_names_anothers_result_takes_nothing_from_it(
    folder_store: FolderStore, some: list[Scored], tmp_path: Path
) -> None:
    thief, robbed = some[0], some[1]
    publish(folder_store, thief)
    publish(folder_store, robbed, T0 + HOUR)
    stolen = {robbed.folder.name: robbed.folder}
    add_results(folder_store, thief.result.submission_id, stolen, "w", T0 + 9 * HOUR, "lexical")
    snapshot = StoreSource(folder_store, tmp_path / "cache").read()
    assert names(snapshot) == ids([thief, robbed])
    withdraw(folder_store, robbed.result.submission_id, ME, T0 + 99 * HOUR)
    snapshot = StoreSource(folder_store, tmp_path / "cache").read()
    assert names(snapshot) == ids([thief])


def object_of(store: FolderStore, path: Path) -> Path:
    digest = sha256_of(path)
    return store.folder / "objects" / digest[:2] / digest


def test_a_damaged_disk_under_one_result_leaves_the_others_and_is_looked_at_again(
    folder_store: FolderStore, some: list[Scored], tmp_path: Path
) -> None:
    filled(folder_store, some)
    content = object_of(folder_store, some[0].folder / PER_PROMPT_FILE)
    whole = content.read_bytes()
    content.write_bytes(damaged(whole))
    source = StoreSource(folder_store, tmp_path / "cache")
    assert names(source.read()) == ids(some[1:])
    assert "is damaged" in reasons(source.read())[some[0].folder.name]
    content.write_bytes(whole)  # no commit says so
    assert names(source.read()) == ids(some)


def test_a_download_that_fails_leaves_nothing_and_is_tried_again(
    server: HubServer, some: list[Scored], tmp_path: Path
) -> None:
    store = hub_store(server, tmp_path)
    filled(store, some)
    shutil.rmtree(store.cache)
    fault = server.faults.fail(503, path=f"{some[0].folder.name}/{PER_PROMPT_FILE}", times=10**6)
    source = StoreSource(store, tmp_path / "cache")
    snapshot = source.read()
    assert (names(snapshot), list(reasons(snapshot))) == (ids(some[1:]), [some[0].folder.name])
    assert sorted(path.name for path in (tmp_path / "cache" / "results").iterdir()) == ids(some[1:])
    fault.left = 0
    assert names(source.read()) == ids(some)


def vanish(store: FileStore, request: pytest.FixtureRequest) -> None:
    if isinstance(store, FolderStore):
        store.folder.rename(store.folder.with_name("elsewhere"))
    else:
        request.getfixturevalue("server").faults.fail(503, times=10**6)


def test_a_store_that_is_gone_raises(
    store: FileStore, some: list[Scored], tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    filled(store, some)
    source = StoreSource(store, tmp_path / "cache")
    source.read()
    vanish(store, request)
    with pytest.raises(StoreFault):
        source.read()


def test_a_damaged_state_is_named_by_an_export(folder_store: FolderStore, some: list[Scored], tmp_path: Path) -> None:
    filled(folder_store, some[:1])
    put(folder_store, f"states/{'0' * 16}.json", b"{")
    ended = divbench("board", "export", "--store", folder_store.folder, "--out", tmp_path / "board")
    assert ended.returncode == 1
    assert f"left out states/{'0' * 16}.json: not JSON" in ended.stderr


def test_a_copy_that_was_damaged_in_the_cache_is_fetched_again(
    folder_store: FolderStore, some: list[Scored], tmp_path: Path
) -> None:
    filled(folder_store, some)
    StoreSource(folder_store, tmp_path / "cache").read()
    copy = tmp_path / "cache" / "results" / some[0].folder.name / PER_PROMPT_FILE
    copy.write_bytes(damaged(copy.read_bytes()))
    assert names(StoreSource(folder_store, tmp_path / "cache").read()) == ids(some)
    assert sha256_of(copy) == some[0].result.per_prompt_sha256


@pytest.mark.parametrize("commits", [0, 1])
def test_a_copy_that_was_deleted_while_the_board_serves_is_fetched_again(
    commits: int, folder_store: FolderStore, some: list[Scored], tmp_path: Path
) -> None:
    """Whether or not the store has changed since."""
    filled(folder_store, some[: 3 - commits])
    source = StoreSource(folder_store, tmp_path / "cache")
    source.read()
    copy = tmp_path / "cache" / "results" / some[0].folder.name / PER_PROMPT_FILE
    copy.unlink()
    for each in some[3 - commits :]:
        publish(folder_store, each)
    assert names(source.read()) == ids(some)
    assert sha256_of(copy) == some[0].result.per_prompt_sha256


def test_results_may_lie_in_another_store(folder_store: FolderStore, some: list[Scored], tmp_path: Path) -> None:
    filled(folder_store, some)
    results = FolderStore(tmp_path / "results")
    for each in some:
        for file in (RESULT_FILE, PER_PROMPT_FILE):
            put(results, f"results/{each.folder.name}/{file}", (each.folder / file).read_bytes())
    source = StoreSource(folder_store, tmp_path / "cache", results)
    assert names(source.read()) == ids(some)
    put(results, f"results/{some[0].folder.name}/{PER_PROMPT_FILE}", b"PAR1")  # no commit in the queue
    put(results, f"results/{some[0].folder.name}/{RESULT_FILE}", with_json(some[0], divbench="9"))
    assert names(source.read()) == ids(some[1:])


def test_of_two_results_the_one_published_last_is_shown_whenever_they_were_fetched(
    folder_store: FolderStore, some: list[Scored], tmp_path: Path
) -> None:
    again = [scored_again(some[0], tmp_path / "again", seed) for seed in (1, 2)]
    publish(folder_store, some[0])
    for each in again:
        submission_id = each.result.submission_id
        add_results(folder_store, submission_id, {each.folder.name: each.folder}, "w", T0 + 2 * HOUR, "lexical")
    StoreSource(folder_store, tmp_path / "cache").read()
    order = [some[0], *again]
    for newest in order:  # another machine downloads them in another order
        for each in order:
            copy = tmp_path / "cache" / "results" / each.folder.name / RESULT_FILE
            os.utime(copy, (9, 9) if each is newest else (1, 1))
        (board,) = StoreSource(folder_store, tmp_path / "cache").read().boards
        assert board.entries[0].results[0] == again[1].result.result_id
        assert set(board.entries[0].older) == {some[0].result.result_id, again[0].result.result_id}


def test_a_cache_that_cannot_be_written_is_a_fault_of_this_machine(
    folder_store: FolderStore, some: list[Scored], tmp_path: Path
) -> None:
    filled(folder_store, some)
    (tmp_path / "cache").write_text("a file")
    with pytest.raises(StoreFault, match="cache"):
        StoreSource(folder_store, tmp_path / "cache").read()


def test_a_folder_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="there is no folder"):
        FolderSource(tmp_path / "none").read()


def test_a_folder_reads_again_only_what_changed(results: Path, tmp_path: Path) -> None:
    shutil.copytree(results, tmp_path / "results")
    source = FolderSource(tmp_path / "results")
    snapshot = source.read()
    assert list(reasons(snapshot)) == ["damaged"]
    assert source.read().boards is snapshot.boards
    one = snapshot.boards[0].entries[0]
    (one.folder / PER_PROMPT_FILE).write_bytes(b"PAR1")
    assert names(source.read()) == sorted(set(names(snapshot)) - {one.result.result_id})
    shutil.rmtree(one.folder)
    assert list(reasons(source.read())) == ["damaged"]


def test_a_folder_shows_neither_unfinished_runs_nor_files(tmp_path: Path) -> None:
    (tmp_path / ".0123.partial").mkdir()
    (tmp_path / "notes.txt").write_text("mine", encoding="utf-8")
    (tmp_path / "empty").mkdir()
    assert list(FolderSource(tmp_path).read().unreadable) == [tmp_path / "empty"]
