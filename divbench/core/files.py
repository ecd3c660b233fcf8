"""Hashes, canonical JSON, and atomic writes: a file is either complete or not there."""

import hashlib
import json
import math
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, is_dataclass
from errno import EEXIST, EINVAL, EISDIR, ENOTEMPTY
from pathlib import Path
from typing import Any


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file's bytes, in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def plain_json(value: Any) -> Any:
    """Return a value as JSON has it: dataclasses become objects, and NaN and infinities null, which JSON lacks."""
    if is_dataclass(value) and not isinstance(value, type):
        value = asdict(value)
    if isinstance(value, dict):
        return {key: plain_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain_json(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def canonical_json(value: Any) -> bytes:
    """Write the canonical JSON of a value, over which content is hashed: sorted keys, no spaces, UTF-8."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()


def content_id(value: Any) -> str:
    """Return the first 16 hex digits of the SHA-256 of a value's canonical JSON."""
    return hashlib.sha256(canonical_json(value)).hexdigest()[:16]


def readable_json(value: Any) -> str:
    """Write JSON for files that people open: indented, UTF-8, one newline at the end, no NaN."""
    return json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


@contextmanager
def atomic_file(path: Path) -> Iterator[Path]:
    """Yield a temporary file beside `path`, renamed to `path` when the block succeeds and removed when it fails."""
    if path.is_dir():
        raise IsADirectoryError(EISDIR, "is a folder", str(path))
    if path.exists() and not path.is_file():  # such as /dev/null, which root would replace for everybody
        raise OSError(EINVAL, "is not a regular file", str(path))
    temporary = _beside(path)
    try:
        temporary.touch(exist_ok=False)
    except OSError as error:
        error.filename = str(path)  # the reader knows the file that they named, not the temporary one
        if isinstance(error, FileNotFoundError):
            error.strerror = "the folder does not exist"
        raise
    try:
        yield temporary
        _sync_file(temporary)
        temporary.replace(path)
    finally:
        with suppress(FileNotFoundError):
            temporary.unlink()


@contextmanager
def atomic_folder(path: Path, *, replace: bool = False) -> Iterator[Path]:
    """Yield a temporary folder beside `path`, renamed to `path` when the block succeeds and removed when it fails.

    Its files are on disk before the rename: what they were made from may be removed afterwards.
    """
    if path.exists() and path.samefile("."):
        raise FileExistsError(EEXIST, "is the current folder", str(path))
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = _beside(path)
    temporary.mkdir()
    aside = temporary.with_name(f"{temporary.name}.old")
    try:
        yield temporary
        _sync_all(temporary)
        if replace:
            _put(temporary, path, aside)
        elif path.is_dir() and any(path.iterdir()):
            raise FileExistsError(f"{path} exists and is not empty")
        else:
            _take_name(temporary, path)
        with suppress(OSError):
            sync_folder(path.parent)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
        shutil.rmtree(aside, ignore_errors=True)


def _beside(path: Path) -> Path:
    """Return a new hidden path beside another. Unlike those of `tempfile`, what is made there has the user's umask."""
    return path.parent / f".{path.name[:50]}.{secrets.token_hex(4)}"  # not longer than a file system allows


def _put(folder: Path, path: Path, aside: Path) -> None:
    """Rename a folder to `path`, moving an existing one aside; another process may do the same at the same time."""
    while True:
        with suppress(FileNotFoundError):
            if path.is_dir() and any(path.iterdir()):
                path.replace(aside)
        try:
            _take_name(folder, path)
            return
        except OSError as error:
            if error.errno not in (EEXIST, ENOTEMPTY):
                if aside.is_dir():
                    aside.replace(path)
                raise
        shutil.rmtree(aside, ignore_errors=True)


def _take_name(folder: Path, path: Path) -> None:
    """Rename a folder to `path`, in place of an empty folder."""
    with suppress(OSError):
        path.rmdir()  # Windows renames nothing to a name that exists
    folder.replace(path)


def _sync_file(path: Path) -> None:
    with path.open("r+b") as file:  # Windows syncs no file that is open for reading only
        os.fsync(file.fileno())


def _sync_all(folder: Path) -> None:
    for path in (*folder.rglob("*"), folder):
        if path.is_file():
            _sync_file(path)
        elif path.is_dir():
            with suppress(OSError):  # some network file systems cannot sync folders
                sync_folder(path)


def sync_folder(folder: Path) -> None:
    """Sync the names in a folder to disk, as `atomic_file` does with the content of a file."""
    if os.name == "posix":  # elsewhere a folder cannot be opened
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def write_text(path: Path, text: str) -> None:
    """Write a text file atomically."""
    with atomic_file(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")
