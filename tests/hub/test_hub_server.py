"""The server against what it stands for: git's ids. Its other behaviour is what the clients in other tests rely on."""

import hashlib
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.hub.objects import Blob, folder_oids


def test_ids_are_those_that_git_gives(tmp_path: Path) -> None:
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    files = {"a.txt": b"a\n", "a/b.txt": b"b", "a.d/c": b"", "ä/ö ü.txt": b"c", "a/b/c/d": b"e"}
    for path, data in files.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        if not (tmp_path / path).is_dir():
            (tmp_path / path).write_bytes(data)

    def git(*arguments: str) -> str:
        return subprocess.run(["git", *arguments], cwd=tmp_path, check=True, capture_output=True, text=True).stdout

    git("init", "--quiet")
    git("-c", "core.autocrlf=false", "add", "--all")
    ours = folder_oids({path: Blob(data) for path, data in files.items()})
    assert ours[""] == git("write-tree").strip()
    assert Blob(b"a\n").oid == git("hash-object", "a.txt").strip()
    sha256 = hashlib.sha256(b"large").hexdigest()
    (tmp_path / "pointer").write_text(f"version https://git-lfs.github.com/spec/v1\noid sha256:{sha256}\nsize 5\n")
    assert Blob(b"large", lfs=True).oid == git("hash-object", "pointer").strip()
