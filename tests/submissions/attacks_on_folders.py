"""Folders that are not two plain files: links, pipes, devices, what cannot be read, and what nobody asked for."""

import os
import socket
import stat
import zipfile
from pathlib import Path
from random import Random

from submissions.untrusted.json_files import MAX_MANIFEST_BYTES
from submissions.untrusted.limits import MAX_FILE_BYTES
from tests.submissions.attack import DAMAGED, NO_FILE, Attack, G, M, Make, Place, R, both

NO_MANIFEST: tuple[Place, ...] = (("file", M, None, ""),)
NO_REPORTED: tuple[Place, ...] = (("file", R, None, ""),)
NEITHER = NO_MANIFEST + NO_FILE
NO_PLAIN_FILE = "is missing or is not a regular file"
DENIED = "cannot be opened: Permission denied"


def without(*names: str) -> Make:
    def make(folder: Path, rng: Random) -> None:
        for name in names:
            (folder / name).unlink()

    return make


def link(name: str, target: str) -> Make:
    """A link in place of a file; `{old}` is the file, which is moved out of sight."""

    def make(folder: Path, rng: Random) -> None:
        if (folder / name).exists():
            (folder / name).rename(folder / "old")
        (folder / name).symlink_to(target)

    return make


def pipe(name: str) -> Make:
    """Whoever opens it waits for one who writes."""

    def make(folder: Path, rng: Random) -> None:
        (folder / name).unlink(missing_ok=True)
        os.mkfifo(folder / name)

    return make


def directory(name: str) -> Make:
    def make(folder: Path, rng: Random) -> None:
        (folder / name).unlink(missing_ok=True)
        (folder / name).mkdir()

    return make


def device(name: str, kind: int, major: int, minor: int) -> Make:
    def make(folder: Path, rng: Random) -> None:
        (folder / name).unlink()
        os.mknod(folder / name, kind | 0o666, os.makedev(major, minor))

    return make


def listening(folder: Path, rng: Random) -> None:
    (folder / G).unlink()
    here = Path.cwd()
    os.chdir(folder)  # the path of a socket may have 108 bytes
    try:
        with socket.socket(socket.AF_UNIX) as one:
            one.bind(G)
    finally:
        os.chdir(here)


def sparse(name: str, size: int) -> Make:
    """As many bytes as are wanted, and no room on the disk."""

    def make(folder: Path, rng: Random) -> None:
        with (folder / name).open("ab") as file:
            file.truncate(size)

    return make


def renamed(old: str, new: str) -> Make:
    return lambda folder, rng: (folder / old).rename(folder / new)


def written(name: str, content: bytes) -> Make:
    return lambda folder, rng: (folder / name).write_bytes(content)


def unreadable(name: str) -> Make:
    """Nobody may read it. Root may all the same."""
    return lambda folder, rng: (folder / name).chmod(0)


def archived(folder: Path, rng: Random) -> None:
    with zipfile.ZipFile(folder / "submission.zip", "w") as archive:
        for name in (M, G):
            archive.writestr(zipfile.ZipInfo(f"../{name}"), (folder / name).read_bytes())
            (folder / name).unlink()


def hard_linked(folder: Path, rng: Random) -> None:
    (folder / "another-name").hardlink_to(folder / G)


LINKS = (
    Attack("a-link-to-the-passwords", link(M, "/etc/passwd"), NO_MANIFEST, NO_PLAIN_FILE),
    Attack("a-link-to-a-good-manifest", link(M, "old"), NO_MANIFEST, NO_PLAIN_FILE),
    Attack("a-link-to-good-generations", link(G, "old"), NO_FILE, NO_PLAIN_FILE),
    Attack("a-link-to-itself", link(G, G), NO_FILE, NO_PLAIN_FILE),
    Attack("a-link-to-the-folder", link(M, "."), NO_MANIFEST, NO_PLAIN_FILE),
    Attack("a-link-to-memory", link(G, "/proc/self/mem"), NO_FILE, NO_PLAIN_FILE),
    Attack("a-link-to-endless-zeros", link(G, "/dev/zero"), NO_FILE, NO_PLAIN_FILE),
    Attack("a-link-to-nowhere", link(R, "/nowhere/at/all"), NO_REPORTED, NO_PLAIN_FILE),
    Attack("a-circle-of-links", both(link(R, "other"), link("other", R)), NO_REPORTED, NO_PLAIN_FILE),
    Attack("a-hard-link", hard_linked, accepted=True),
)
NO_FILES = (
    Attack("a-pipe-as-manifest", pipe(M), NO_MANIFEST, NO_PLAIN_FILE),
    Attack("a-pipe-as-generations", pipe(G), NO_FILE, NO_PLAIN_FILE),
    Attack("a-pipe-as-reported", pipe(R), NO_REPORTED, NO_PLAIN_FILE),
    Attack("a-folder-as-manifest", directory(M), NO_MANIFEST, NO_PLAIN_FILE),
    Attack("a-folder-as-generations", directory(G), NO_FILE, NO_PLAIN_FILE),
    Attack("a-folder-as-reported", directory(R), NO_REPORTED, NO_PLAIN_FILE),
    Attack("a-socket", listening, NO_FILE, NO_PLAIN_FILE),
    Attack("endless-zeros", device(G, stat.S_IFCHR, 1, 5), NO_FILE, NO_PLAIN_FILE, needs_root=True),
    Attack("a-terminal", device(M, stat.S_IFCHR, 5, 0), NO_MANIFEST, NO_PLAIN_FILE, needs_root=True),
    Attack("an-unreadable-manifest", unreadable(M), NO_MANIFEST, DENIED, as_nobody=True),
    Attack("unreadable-generations", unreadable(G), NO_FILE, DENIED, as_nobody=True),
)
SIZES = (
    Attack("a-terabyte-of-zeros", sparse(G, 2**40), (("sizes", G, None, ""),), "1,099,511,627,776 bytes"),
    Attack("a-byte-too-many", sparse(G, MAX_FILE_BYTES + 1), (("sizes", G, None, ""),), "536,870,913 bytes"),
    Attack(
        "zeros-behind",
        sparse(G, MAX_FILE_BYTES),
        DAMAGED,
        "Parquet magic bytes not found",
    ),
    Attack("a-gigabyte-as-manifest", sparse(M, 2**30), (("sizes", M, None, ""),), "1,073,741,824 bytes"),
    Attack("zeros-behind-the-manifest", sparse(M, MAX_MANIFEST_BYTES), (("json", M, None, ""),), "Extra data"),
    Attack("an-empty-manifest", written(M, b""), NO_MANIFEST, "the file is empty"),
    Attack("empty-reported-values", written(R, b""), NO_REPORTED, "the file is empty"),
)
NAMES = (
    Attack("an-empty-folder", without(M, G), NEITHER, NO_PLAIN_FILE),
    Attack("no-generations", without(G), NO_FILE, NO_PLAIN_FILE),
    Attack("no-manifest", without(M), NO_MANIFEST, NO_PLAIN_FILE),
    Attack("an-archive", archived, NEITHER, NO_PLAIN_FILE),
    Attack("other-case", renamed(M, "Manifest.JSON"), NO_MANIFEST, NO_PLAIN_FILE),
    Attack("another-ending", renamed(G, "generations.pkl"), NO_FILE, NO_PLAIN_FILE),
    Attack("a-name-with-a-blank", renamed(G, "generations.parquet "), NO_FILE, NO_PLAIN_FILE),
    Attack("both-cases", written("MANIFEST.JSON", b"{}"), accepted=True),
    Attack("files-that-nobody-asked-for", written(".gitattributes", b"* filter=run"), accepted=True),
    Attack("a-program-beside", written("sitecustomize.py", b"open('was-run', 'w')"), accepted=True),
    Attack("a-terabyte-beside", sparse("more.parquet", 2**40), accepted=True),
    Attack("a-file-named-by-escapes", written("\x1b]0;owned\a\x1b[2J.txt", b"x"), accepted=True),
    Attack("a-link-beside", link("more.json", "/etc/shadow"), accepted=True),
)
ATTACKS = LINKS + NO_FILES + SIZES + NAMES
