"""A file is complete or not there, whatever happens while it is written; a hash depends on the content alone."""

import fcntl
import os
import signal
import stat
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


def test_the_hash_of_a_file_is_that_of_its_bytes(tmp_path: Path) -> None:
    (tmp_path / "abc").write_bytes(b"abc")
    assert (
        sha256_of(tmp_path / "abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    )  # FIPS 180-4


@dataclass
class Point:
    x: float
    y: tuple[float, ...]


def test_plain_json_has_neither_nan_nor_dataclasses() -> None:
    nan = float("nan")
    document = {"a": [nan, 1.0, (float("inf"), "x")], "b": {"c": -float("inf"), "d": 0}, "e": [Point(nan, (1.0, nan))]}
    plain = {"a": [None, 1.0, [None, "x"]], "b": {"c": None, "d": 0}, "e": [{"x": None, "y": [1.0, None]}]}
    assert plain_json(document) == plain


def test_canonical_json_sorts_keys_leaves_no_spaces_and_writes_letters_as_they_are() -> None:
    assert canonical_json({"b": [1, None], "a": "é"}) == '{"a":"é","b":[1,null]}'.encode()


@pytest.mark.parametrize("value", [float("nan"), float("inf"), [-float("inf")]])
@pytest.mark.parametrize("write", [canonical_json, readable_json])
def test_values_that_json_cannot_hold_are_refused(write: Callable[[object], object], value: object) -> None:
    with pytest.raises(ValueError, match="Out of range float values"):
        write(value)


@given(JSON)
def test_the_id_of_a_value_does_not_depend_on_the_order_of_its_keys(value: object) -> None:
    one = {"x": value, "y": 1}
    other = {"y": 1, "x": value}
    assert content_id(one) == content_id(other)
    assert content_id(one) != content_id({"x": value, "y": 2})


def test_the_id_of_a_value_is_the_same_in_every_process() -> None:
    # The hash of strings differs from process to process, that of content must not: ids are published.
    code = "from divbench.core.files import content_id; print(content_id({'é': [1, 2.5, None], 'a': 'b'}))"
    ids = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert ids == {content_id({"é": [1, 2.5, None], "a": "b"}) + "\n"}
    assert content_id([]) == "4f53cda18c2baa0c"  # the first digits of SHA-256 of "[]"


def test_an_atomic_file_is_renamed_at_the_end_and_has_the_mode_of_other_files(tmp_path: Path) -> None:
    path = tmp_path / ("n" * 250)  # a name about as long as file systems allow
    with atomic_file(path) as temporary:
        assert temporary.parent == tmp_path
        temporary.write_text("new")
        assert not path.exists()
    assert path.read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]
    (tmp_path / "other").touch()
    assert path.stat().st_mode == (tmp_path / "other").stat().st_mode


def test_what_is_written_atomically_follows_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        write_text(tmp_path / "file", "private")
        with atomic_folder(tmp_path / "folder"):
            pass
    finally:
        os.umask(before)
    assert [(tmp_path / name).stat().st_mode & 0o777 for name in ("file", "folder")] == [0o600, 0o700]


def test_an_atomic_file_in_no_folder_names_the_file_that_was_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "none" / "file"
    with pytest.raises(FileNotFoundError, match="the folder does not exist") as caught, atomic_file(path):
        pytest.fail("it was opened")
    assert caught.value.filename == str(path)


def test_an_atomic_file_does_not_take_the_place_of_a_folder(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError, match="is a folder") as caught, atomic_file(tmp_path):
        pytest.fail("it was opened")
    assert caught.value.filename == str(tmp_path)


def test_an_atomic_file_does_not_take_the_place_of_a_device(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="is not a regular file"), atomic_file(tmp_path / "pipe"):
        pytest.fail("it was opened")
    assert (tmp_path / "pipe").is_fifo()


def test_the_current_folder_is_not_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FileExistsError, match="is the current folder"), atomic_folder(Path()):
        pytest.fail("it was opened")


def test_an_exception_in_the_block_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("old")

    def write_half() -> None:
        with atomic_file(path) as temporary:
            temporary.write_text("half of the n")
            raise Stopped

    with pytest.raises(Stopped):
        write_half()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_text_is_written_as_utf8_with_plain_newlines(tmp_path: Path) -> None:
    write_text(tmp_path / "file", "é\r\n☃\n")
    assert (tmp_path / "file").read_bytes() == "é\r\n☃\n".encode()


def test_an_atomic_folder_is_renamed_at_the_end_and_makes_its_parents(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b"
    with atomic_folder(path) as temporary:
        (temporary / "file").write_text("new")
        assert not path.exists()
    assert (path / "file").read_text() == "new"
    assert path.stat().st_mode == path.parent.stat().st_mode
    assert list(path.parent.iterdir()) == [path]


def test_an_exception_in_the_block_leaves_no_folder(tmp_path: Path) -> None:
    def write_half() -> None:
        with atomic_folder(tmp_path / "folder") as temporary:
            (temporary / "file").write_text("half")
            raise Stopped

    with pytest.raises(Stopped):
        write_half()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("there", [False, True])
def test_two_processes_may_replace_a_folder_at_the_same_time(
    there: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, own = tmp_path / "folder", Path.replace

    def raced(self: Path, target: Path) -> Path:
        """The other process comes first: it moves the folder aside, or has put its own there."""
        monkeypatch.setattr(Path, "replace", own)
        if there:
            own(path, tmp_path / "aside")
        else:
            path.mkdir()
            (path / "theirs").touch()
        return own(self, target)

    if there:
        path.mkdir()
        (path / "before").touch()
    with atomic_folder(path, replace=True) as temporary:
        (temporary / "ours").touch()
        monkeypatch.setattr(Path, "replace", raced)
    assert [each.name for each in path.iterdir()] == ["ours"]
    assert {each.name for each in tmp_path.iterdir()} <= {"folder", "aside"}


def test_what_an_atomic_folder_holds_is_on_disk_before_the_rename(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: set[int] = set()
    monkeypatch.setattr(os, "fsync", lambda handle: synced.add(os.fstat(handle).st_ino))
    rename = Path.replace

    def checked(self: Path, target: Path) -> Path:
        assert synced >= {path.stat().st_ino for path in (self, *self.rglob("*"))}
        return rename(self, target)

    monkeypatch.setattr(Path, "replace", checked)
    with atomic_folder(tmp_path / "folder") as temporary:
        (temporary / "inner").mkdir()
        (temporary / "inner" / "file").write_text("a", encoding="utf-8")
    assert (tmp_path / "folder" / "inner" / "file").is_file()
    assert tmp_path.stat().st_ino in synced


@pytest.mark.parametrize("replace", [False, True])
def test_an_atomic_folder_may_replace_an_empty_one_also_where_a_rename_does_not(
    replace: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rename = Path.replace

    def as_on_windows(self: Path, target: Path) -> Path:
        assert not target.exists()
        return rename(self, target)

    monkeypatch.setattr(Path, "replace", as_on_windows)
    (tmp_path / "folder").mkdir()
    with atomic_folder(tmp_path / "folder", replace=replace) as temporary:
        (temporary / "file").write_text("new")
    assert (tmp_path / "folder" / "file").read_text() == "new"


def test_what_is_synced_is_open_for_writing_as_windows_demands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    modes: list[int] = []

    def noted(handle: int) -> None:
        if not stat.S_ISDIR(os.fstat(handle).st_mode):
            modes.append(fcntl.fcntl(handle, fcntl.F_GETFL) & os.O_ACCMODE)

    monkeypatch.setattr(os, "fsync", noted)
    write_text(tmp_path / "file", "text")
    with atomic_folder(tmp_path / "folder") as temporary:
        (temporary / "file").write_text("text")
    assert modes == [os.O_RDWR, os.O_RDWR]


def test_a_folder_with_content_is_never_replaced(tmp_path: Path) -> None:
    path = tmp_path / "folder"
    path.mkdir()
    (path / "file").write_text("old")
    with pytest.raises(FileExistsError, match="exists and is not empty"), atomic_folder(path) as temporary:
        (temporary / "file").write_text("new")
    assert (path / "file").read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


# A limit on the size of a file fails as a full disk does: in the midst of a write, with an error from the system.
LIMIT = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))"


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ("write_text(path, 'n' * 100_000)", "File too large"),
        (
            "with atomic_file(path) as t: t.write_bytes(b'n' * 4096); t.open('ab').write(b'n' * 1_000_000)",
            "File too large",
        ),
    ],
)
def test_a_disk_that_is_full_leaves_the_old_file_and_nothing_else(tmp_path: Path, body: str, error: str) -> None:
    path = tmp_path / "file"
    path.write_text("old")
    code = (
        f"import sys; from pathlib import Path; from divbench.core.files import *; {LIMIT}\npath = Path(sys.argv[1])\n"
    )
    ended = subprocess.run([sys.executable, "-c", code + body, path], capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert error in ended.stderr
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_process_that_is_killed_while_it_writes_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("old")
    code = (
        "import os, signal, sys; from pathlib import Path; from divbench.core.files import atomic_file\n"
        "with atomic_file(Path(sys.argv[1])) as temporary:\n"
        "    temporary.write_text('half'); os.kill(os.getpid(), signal.SIGKILL)"
    )
    ended = subprocess.run([sys.executable, "-c", code, path], capture_output=True, check=False)
    assert ended.returncode == -signal.SIGKILL
    assert path.read_text() == "old"
