"""A store in a folder: what lies there, what damage does, and that neither kill -9 nor a full disk breaks it."""

import hashlib
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from divbench.core.errors import InputError
from submissions.storage.file_store import DamagedFile, FolderStore, NoWriteAccess, StoreFault
from tests.submissions.run_store import number_at, numbered

NOBODY = 65534


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A store whose files say 0."""
    store = FolderStore(tmp_path / "store")
    store.commit("", numbered(0), [], "number 0")
    return store.folder


def unfinished(folder: Path) -> list[Path]:
    """The temporary files in a store."""
    return [path for path in folder.rglob(".*") if path.name != ".lock"]


def test_a_commit_is_named_by_what_it_holds(tmp_path: Path) -> None:
    made = []
    for name in ("one", "two"):
        store = FolderStore(tmp_path / name)
        first = store.commit("", {"a/b": b"1"}, [], "first")
        made.append((first, store.commit(first, {"c": b"2"}, ["a/b"], "second")))
    assert made[0] == made[1]
    sha256 = hashlib.sha256(b"1").hexdigest()
    held = {"message": "first", "parent": None, "tree": {"a/b": {"sha256": sha256, "size": 1}}}
    text = json.dumps(held, sort_keys=True, separators=(",", ":"))
    first, second = made[0]
    assert first == hashlib.sha256(text.encode()).hexdigest()[:40]
    assert json.loads((tmp_path / "one" / "commits" / f"{first}.json").read_text()) == {"id": first, **held}
    assert (tmp_path / "one" / "objects" / sha256[:2] / sha256).read_bytes() == b"1"
    assert (tmp_path / "one" / "HEAD").read_text() == f"{second}\n"


def test_a_damaged_object_is_named_and_never_given(folder: Path, tmp_path: Path) -> None:
    content = random.Random(1).randbytes(3 * 2**20)  # noqa: S311
    store = FolderStore(folder)
    head = store.commit(store.head(), {"large": content}, [], "large")
    sha256 = hashlib.sha256(content).hexdigest()
    path = folder / "objects" / sha256[:2] / sha256
    for damaged in (content[:-1], content + b"x", b"", b"x" + content[1:], content[:-1] + b"x", None):
        path.unlink()
        if damaged is not None:
            path.write_bytes(damaged)
        for call in (
            lambda: store.read(head, "large", 10**7),
            lambda: FolderStore(folder).fetch(head, "large", tmp_path / "target", 10**7),
        ):
            with pytest.raises(DamagedFile, match=sha256):
                call()
        assert not (tmp_path / "target").exists()
        # Who brings the content again mends it, even where nothing else changes.
        assert store.commit(head, {"large": content}, [], "again") == head
        assert store.read(head, "large", 10**7) == content


@pytest.mark.parametrize("damage", ["{}", "", "[1", '{"id": "x"}', None, "another"])
def test_a_damaged_commit_is_named(damage: str | None, folder: Path) -> None:
    first = FolderStore(folder).head()
    path = folder / "commits" / f"{first}.json"
    text = path.read_text()
    path.unlink()
    if damage is not None:
        path.write_text(text.replace("number 0", "number 1") if damage == "another" else damage)
    store = FolderStore(folder)
    for call in (lambda: store.paths(first), lambda: store.commit(first, {"x": b""}, [], "m")):
        with pytest.raises(StoreFault, match=first):
            call()


def test_commits_without_a_head_are_no_new_store(folder: Path) -> None:
    (folder / "HEAD").unlink()
    with pytest.raises(StoreFault, match=r"it is missing, but there are commits .*submissions repair"):
        FolderStore(folder).head()


@pytest.mark.parametrize("head", ["", "x", "../../etc/passwd", "é", "0" * 41])
def test_a_damaged_head_is_a_fault_and_no_new_beginning(head: str, folder: Path) -> None:
    (folder / "HEAD").write_text(head)
    store = FolderStore(folder)
    for call in (store.head, lambda: store.commit("", {"x": b""}, [], "m")):
        with pytest.raises(StoreFault, match="HEAD is damaged"):
            call()


def test_a_file_that_changes_while_it_is_copied_is_refused(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, source = FolderStore(folder), tmp_path / "source"
    source.write_bytes(b"before")
    head = store.head()

    def hashed(path: Path) -> str:
        with path.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
        source.write_bytes(b"after!")
        return found

    monkeypatch.setattr("submissions.storage.file_store.sha256_of", hashed)
    with pytest.raises(InputError, match="changed while it was copied"):
        store.commit(head, {"a": source}, [], "m")
    assert (store.head(), unfinished(folder)) == (head, [])


def test_a_lock_that_is_never_given_back_is_a_fault(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("submissions.storage.file_store.LOCK_SECONDS", 0.1)
    code = (
        "import sys\nfrom filelock import FileLock\nwith FileLock(sys.argv[1]):\n print(flush=True)\n sys.stdin.read()"
    )
    command = [sys.executable, "-c", code, str(folder / ".lock")]
    store = FolderStore(folder)
    head = store.head()
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        with pytest.raises(StoreFault, match=r"\.lock was held"):
            store.commit(head, {"x": b""}, [], "m")
        assert number_at(FolderStore(folder), store.head()) == 0  # readers take no lock
        holder.kill()
    assert store.commit(head, {"x": b""}, [], "m") == store.head()


def test_a_kill_at_any_point_of_a_commit_leaves_a_whole_store(folder: Path) -> None:
    command = [sys.executable, "-m", "tests.submissions.run_store", str(folder), "points"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    assert int(ended.stdout) > 30


@contextmanager
def as_another() -> Iterator[None]:
    """As a user to whom the rights of files apply."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture
def public(folder: Path) -> Iterator[Path]:
    """A store in a folder that everybody may read and enter."""
    with tempfile.TemporaryDirectory() as made:
        Path(made).chmod(0o755)
        yield Path(shutil.copytree(folder, Path(made) / "store"))


def test_who_may_only_read_reads_and_is_told_why_nothing_is_committed(public: Path) -> None:
    folders = [public, *(path for path in public.rglob("*") if path.is_dir())]
    before = sorted(public.rglob("*"))
    for path in folders:
        path.chmod(0o555)
    (public / ".lock").chmod(0o444)
    store = FolderStore(public)
    head = store.head()
    with as_another():
        assert number_at(store, head) == 0
        for add in (numbered(1), {"a": b"0"}):
            with pytest.raises(NoWriteAccess) as caught:  # a worker ends; other faults it waits for
                store.commit(head, add | {"new": b"0"}, [], "number 1")
            assert str(public) in caught.value.message
            assert "access" in caught.value.hint
        with pytest.raises(StoreFault, match="Permission denied"):
            FolderStore(public / "new").commit("", numbered(0), [], "m")
        with pytest.raises(StoreFault, match="Permission denied"):
            store.fetch(head, "a", public / "x", 10)
    assert sorted(public.rglob("*")) == before
    for path in folders:
        path.chmod(0o755)
    (public / ".lock").chmod(0o644)
    store.commit(head, numbered(1), [], "number 1")
    assert number_at(store, store.head()) == 1
