"""What holds of every store: tests that run on one in a folder and on one in a Hub repository."""

import random
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from divbench.core.errors import ConfigurationError, InputError
from submissions.storage import open_store
from submissions.storage.file_store import Conflict, FileStore, FolderStore, StoreFault, checked_path
from submissions.storage.hub_store import HubStore
from tests.cases import each
from tests.submissions.stores import REPO, Place, running_hub

pytestmark = pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning")  # by the Hub's client


@pytest.fixture(params=["folder", "hub"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    """A place for a store, without files."""
    if request.param == "folder":
        yield Place(str(tmp_path / "store"), tmp_path)
    else:
        with running_hub(tmp_path, page=7) as server:
            yield Place(f"hf://datasets/{REPO}", tmp_path, server)


@pytest.fixture
def store(place: Place) -> FileStore:
    return place.open()


def files_at(store: FileStore, commit: str) -> dict[str, bytes]:
    return {path: store.read(commit, path, 10**7) for path in store.paths(commit)}


def test_a_commit_has_what_was_committed_and_the_one_before_what_it_had(store: FileStore, place: Place) -> None:
    first = store.commit(store.head(), {"a/b": b"1", "a/c/d": b"2", "ab": b"", "e": b"4"}, [], "first")
    second = store.commit(first, {"a/b": b"new", "f": b"6"}, ["a/c/d", "e"], "second")
    for one in (store, place.open()):
        assert one.head() == second
        assert files_at(one, first) == {"a/b": b"1", "a/c/d": b"2", "ab": b"", "e": b"4"}
        assert files_at(one, second) == {"a/b": b"new", "ab": b"", "f": b"6"}
        assert one.paths(first, "a") == ["a/b", "a/c/d"]  # and not ab
        assert one.paths(first, "a/c") == ["a/c/d"]
        assert one.paths(second, "a/c") == one.paths(first, "e") == one.paths(first, "none") == []
        with pytest.raises(FileNotFoundError):
            one.read(second, "e", 10)


def test_a_commit_that_changes_nothing_is_none(store: FileStore) -> None:
    large = b"\0" + bytes(range(256)) * 100  # in LFS, on the Hub
    head = store.commit(store.head(), {"a": b"1", "large.bin": large}, [], "first")
    assert store.commit(head, {"a": b"1", "large.bin": large}, [], "again") == head
    assert store.commit(head, {}, [], "nothing") == head
    assert store.commit(head, {"a": b"1", "b": b"2"}, [], "one of two") != head


def test_a_commit_on_another_than_the_head_is_refused(store: FileStore) -> None:
    start = store.head()
    first = store.commit(start, {"a": b"1"}, [], "first")
    head = store.commit(first, {"a": b"2"}, [], "second")
    for parent in (start, first, "", "0" * 40):
        for content in (b"3", b"2", b"1"):  # new, what the head has, what the parent has
            with pytest.raises(Conflict):
                store.commit(parent, {"a": content}, [], "second")
    assert store.head() == head


def test_what_does_not_fit_the_tree_is_refused(store: FileStore) -> None:
    head = store.commit(store.head(), {"a/b": b"1", "c": b"2"}, [], "first")
    for add, remove, said in (
        ({}, ["none"], "does not exist"),
        ({}, ["a"], "does not exist"),
        ({"c": b"3"}, ["c"], "both added and removed"),
        ({"a": b"3"}, [], "a would be both a file and a folder"),
        ({"c/d": b"3"}, [], "c would be both a file and a folder"),
        ({"x": b"3", "x/y": b"3"}, [], "x would be both a file and a folder"),
        ({"x": Path("/none/such")}, [], "there is no file"),
    ):
        with pytest.raises(InputError, match=said):
            store.commit(head, add, remove, "does not fit")
    assert store.head() == head
    assert files_at(store, head) == {"a/b": b"1", "c": b"2"}


NO_PATHS = [
    "/a", "a/", "a//b", ".", "..", "../a", "a/../b", "a/..", ".git/x", "a/.x", "A", "ä", "a\\b", "-a", "_a", "a:b",
    "a/b/c/d/e/f/g/h/i",
]  # fmt: skip


@each("path", [*NO_PATHS, "", "a b", "a\n", "a\0", "c" * 101])
def test_a_path_that_is_no_id_is_refused(path: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not a path in a store"):
        checked_path(path)
    for store in (FolderStore(tmp_path / "s"), HubStore(REPO, cache=tmp_path / "k")):
        calls: list[Callable[[FileStore], object]] = [
            lambda s: s.commit("", {path: b"1"}, [], "m"),
            lambda s: s.commit("", {}, [path], "m"),
            lambda s: s.read("", path, 1),
            lambda s: s.fetch("", path, tmp_path / "x", 1),
        ]
        for call in calls + ([lambda s: s.paths("", path)] if path else []):
            with pytest.raises(InputError, match="not a path in a store"):
                call(store)
    assert list(tmp_path.iterdir()) == []


@each("message", ["", " ", "two\nlines", "m" * 201, "a\0", "\x1b[31m"])
def test_a_message_is_one_line(message: str, tmp_path: Path) -> None:
    for store in (FolderStore(tmp_path / "s"), HubStore(REPO, cache=tmp_path / "k")):
        with pytest.raises(InputError, match="one line"):
            store.commit("", {"a": b"1"}, [], message)


@pytest.mark.parametrize("size", [0, 1, 3_000_000])
def test_a_file_of_more_bytes_than_the_limit_is_refused(size: int, store: FileStore, tmp_path: Path) -> None:
    content = random.Random(size).randbytes(size)  # noqa: S311
    source, target = tmp_path / "source", tmp_path / "target"
    source.write_bytes(content)
    head = store.commit(store.head(), {"a": source, "b": content}, [], "first")
    for path in ("a", "b"):
        assert store.read(head, path, size) == content
        store.fetch(head, path, target, size)
        assert target.read_bytes() == content
        target.write_bytes(b"before")
        for call in (
            lambda p=path: store.read(head, p, size - 1),
            lambda p=path: store.fetch(head, p, target, size - 1),
        ):
            with pytest.raises(InputError, match=f"{path} has {size:,} bytes"):
                call()
        assert target.read_bytes() == b"before"


@pytest.mark.parametrize("commit", ["0" * 40, "main", "../../etc", "0" * 39, "A" * 40, "0" * 40 + "\n"])
def test_a_commit_that_is_not_there_is_a_fault(commit: str, store: FileStore, tmp_path: Path) -> None:
    for call in (lambda: store.paths(commit), lambda: store.read(commit, "a", 10)):
        with pytest.raises(StoreFault, match=r"has no (such )?commit"):
            call()


def test_no_count_of_several_processes_is_lost(place: Place) -> None:
    store = place.open()
    store.commit(store.head(), {"count": b"0"}, [], "begin")
    with ExitStack() as stack:
        workers = [stack.enter_context(place.run("count", 6)) for _ in range(3)]
        assert [worker.wait(120) for worker in workers] == [0] * 3
    assert store.read(store.head(), "count", 10) == b"18"


def test_a_text_names_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there").mkdir()
    for text in ("there", "new", "there/new", "./new", str(tmp_path / "new"), "there/..", "there/../there"):
        store = open_store(text)
        assert isinstance(store, FolderStore)
        assert store.head() == ""
    assert sorted(tmp_path.rglob("*")) == [tmp_path / "there"]


NO_STORES = [
    "hf://datasets/", "hf://datasets/name", "hf://datasets/../x", "hf://datasets/a/..", "hf://datasets/a/b/../c",
    "hf://datasets/a/b/C", "hf://datasets/a/b/", "hf://datasets/.a/b", "hf://datasets/a/b.git",
    "hf://datasets/a--b/c", "hf://a/b", "hf://models/a/b", "hf://datasets/a", "https://x/y", "s3://bucket/key",
    "file", "lab/results", "new/../other", "../new",
]  # fmt: skip


@each("text", [*NO_STORES, "", " ", "hf://datasets/a b/c", "hf://datasets/a/" + "b" * 97, "a\0b", "a\nb", "x" * 300])
def test_a_text_that_names_no_store_is_refused_and_nothing_made(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "file").write_text("")
    monkeypatch.chdir(tmp_path / "here")
    with pytest.raises(ConfigurationError):
        open_store(text)
    assert sorted(tmp_path.rglob("*")) == [tmp_path / "here", tmp_path / "here" / "file"]
