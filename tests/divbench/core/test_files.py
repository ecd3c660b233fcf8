"""A file is complete or not there, whatever happens while it is written; a hash depends on the content alone."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from divbench.core.files import (
    atomic_file,
    atomic_folder,
    canonical_json,
    content_id,
    plain_json,
    readable_json,
    sha256_of,
    write_text,
)

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text("aé☃𝄞"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab", max_size=3), inner, max_size=3),
    max_leaves=8,
)


class Stopped(Exception):
    """Ends a block in the midst of writing."""


@dataclass
class Point:
    x: float
    y: tuple[float, ...]


def test_hashes_are_those_that_were_published(tmp_path: Path) -> None:
    (tmp_path / "abc").write_bytes(b"abc")
    assert sha256_of(tmp_path / "abc").startswith("ba7816bf8f01cfea")  # FIPS 180-4
    assert content_id([]) == "4f53cda18c2baa0c"  # the first digits of SHA-256 of "[]"
    assert canonical_json({"b": [1, None], "a": "é"}) == '{"a":"é","b":[1,null]}'.encode()


def test_plain_json_has_neither_nan_nor_dataclasses() -> None:
    nan = float("nan")
    document = {"a": [nan, 1.0, (float("inf"), "x")], "b": {"c": -float("inf"), "d": 0}, "e": [Point(nan, (1.0, nan))]}
    plain = {"a": [None, 1.0, [None, "x"]], "b": {"c": None, "d": 0}, "e": [{"x": None, "y": [1.0, None]}]}
    assert plain_json(document) == plain


@pytest.mark.parametrize("write", [canonical_json, readable_json])
def test_values_that_json_cannot_hold_are_refused(write: Callable[[object], object]) -> None:
    for value in (float("nan"), [-float("inf")]):
        with pytest.raises(ValueError, match="Out of range float values"):
            write(value)


@given(JSON)
def test_the_id_of_a_value_does_not_depend_on_the_order_of_its_keys(value: object) -> None:
    assert content_id({"x": value, "y": 1}) == content_id({"y": 1, "x": value}) != content_id({"x": value, "y": 2})


def test_an_atomic_file_is_renamed_at_the_end_and_has_the_mode_of_other_files(tmp_path: Path) -> None:
    path = tmp_path / ("n" * 250)  # a name about as long as file systems allow
    with atomic_file(path) as temporary:
        temporary.write_text("new")
        assert not path.exists()
    assert (path.read_text(), list(tmp_path.iterdir())) == ("new", [path])
    (tmp_path / "other").touch()
    assert path.stat().st_mode == (tmp_path / "other").stat().st_mode
    write_text(path, "é\r\n☃\n")
    assert path.read_bytes() == "é\r\n☃\n".encode()


def test_what_is_no_regular_file_is_not_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path, message in (
        (tmp_path / "none" / "file", "the folder does not exist"),
        (tmp_path, "is a folder"),
        (tmp_path / "pipe", "is not a regular file"),
    ):
        with pytest.raises(OSError, match=message) as caught, atomic_file(path):
            pytest.fail("it was opened")
        assert caught.value.filename == str(path)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FileExistsError, match="is the current folder"), atomic_folder(Path()):
        pytest.fail("it was opened")


def test_an_exception_in_the_block_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("old")

    def write_half(folder: bool) -> None:
        with atomic_folder(tmp_path / "folder") if folder else atomic_file(path) as temporary:
            (temporary / "file" if folder else temporary).write_text("half of the n")
            raise Stopped

    for folder in (False, True):
        with pytest.raises(Stopped):
            write_half(folder)
    assert (path.read_text(), list(tmp_path.iterdir())) == ("old", [path])


def test_an_atomic_folder_is_renamed_at_the_end_and_never_over_content(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b"
    with atomic_folder(path) as temporary:
        (temporary / "file").write_text("new")
        assert not path.exists()
    assert (path / "file").read_text() == "new"
    with pytest.raises(FileExistsError, match="exists and is not empty"), atomic_folder(path) as temporary:
        (temporary / "file").write_text("newer")
    assert ((path / "file").read_text(), list(path.parent.iterdir())) == ("new", [path])


@pytest.mark.parametrize("existing", [False, True])
def test_two_processes_may_replace_a_folder_at_the_same_time(
    existing: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, rename = tmp_path / "folder", Path.replace

    def raced(self: Path, target: Path) -> Path:
        """The other process comes first: it moves the folder aside, or has put its own there."""
        monkeypatch.setattr(Path, "replace", rename)
        if existing:
            rename(path, tmp_path / "aside")
        else:
            path.mkdir()
            (path / "theirs").touch()
        return rename(self, target)

    if existing:
        path.mkdir()
        (path / "before").touch()
    with atomic_folder(path, replace=True) as temporary:
        (temporary / "ours").touch()
        monkeypatch.setattr(Path, "replace", raced)
    assert [file.name for file in path.iterdir()] == ["ours"]
    assert {folder.name for folder in tmp_path.iterdir()} <= {"folder", "aside"}


def test_what_an_atomic_folder_holds_is_on_disk_before_the_rename(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: set[int] = set()
    monkeypatch.setattr(os, "fsync", lambda handle: synced.add(os.fstat(handle).st_ino))
    rename = Path.replace

    def checked(self: Path, target: Path) -> Path:
        assert synced >= {path.stat().st_ino for path in (self, *self.rglob("*"))}
        assert not target.exists()  # Windows renames to no existing name
        return rename(self, target)

    monkeypatch.setattr(Path, "replace", checked)
    (tmp_path / "folder").mkdir()
    with atomic_folder(tmp_path / "folder") as temporary:
        (temporary / "inner").mkdir()
        (temporary / "inner" / "file").write_text("a", encoding="utf-8")
    assert (tmp_path / "folder" / "inner" / "file").is_file()
    assert tmp_path.stat().st_ino in synced


# A limit on the size of a file fails as a full disk does: in the midst of a write, with an error from the system.
FULL = (
    "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096)); temporary.write_bytes(b'n' * 1_000_000)"
)
KILLED = "temporary.write_text('half'); import os, signal; os.kill(os.getpid(), signal.SIGKILL)"


@pytest.mark.parametrize(("body", "status"), [(FULL, 1), (KILLED, -signal.SIGKILL)], ids=["full disk", "killed"])
def test_a_full_disk_or_a_kill_leaves_the_old_file(tmp_path: Path, body: str, status: int) -> None:
    path = tmp_path / "file"
    path.write_text("old")
    code = "import sys; from pathlib import Path; from divbench.core.files import atomic_file\n"
    code += f"with atomic_file(Path(sys.argv[1])) as temporary: {body}"
    ended = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True, check=False)
    assert ended.returncode == status
    assert path.read_text() == "old"
