"""Works on a store in a process of its own, which tests kill, starve, or let race with others.

Not a test: `python -m tests.submissions.run_store STORE count|points|starved …` from the repository's root.
"""

import argparse
import os
import random
import resource
import shutil
import signal
import sys
from itertools import count
from pathlib import Path

from submissions.storage import open_store
from submissions.storage.file_store import Conflict, FileStore, FolderStore, StoreFault

NAMES = ("a", "b/c", "b/d/e")


def numbered(number: int) -> dict[str, bytes | Path]:
    """Files that say the same number, and one more for each tenth."""
    files: dict[str, bytes | Path] = dict.fromkeys(NAMES, b"%d" % number)
    return files | {f"more/{number // 10}": b"%d" % (number // 10)}


def number_at(store: FileStore, commit: str) -> int:
    """The number that all files of a commit say: they would not, if it were a mixture of two."""
    files = {path: int(store.read(commit, path, 100)) for path in store.paths(commit)}
    said = {files.pop(name) for name in NAMES}
    assert len(said) == 1
    number = said.pop()
    assert files == {f"more/{tenth}": tenth for tenth in range(number // 10 + 1)}
    return number


def counted(store: FileStore, times: int) -> None:
    """Add one to the number in a file, so many times, each on what is there."""
    for _ in range(times):
        while True:
            head = store.head()
            number = int(store.read(head, "count", 100))
            try:
                store.commit(head, {"count": b"%d" % (number + 1)}, [], f"{number + 1} by {os.getpid()}")
                break
            except Conflict:
                continue


def killed_at(point: int) -> None:
    """Let this process end by SIGKILL at the so-manieth of the things that Python reports of what it does to files."""
    passed = count(1)

    def hook(event: str, arguments: object) -> None:
        of_files = event.startswith(("os.", "tempfile.", "fcntl.", "shutil.")) or event == "open"
        if of_files and next(passed) == point:
            os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(hook)


def points(folder: Path) -> None:
    """Kill a commit at every point, one after the other, and look at what it leaves; say how many points there were."""
    before, left = FolderStore(folder), folder.with_name("left")
    for point in count(1):
        shutil.copytree(folder, left)
        child = os.fork()
        if child == 0:
            store, head = FolderStore(left), before.head()
            killed_at(point)
            store.commit(head, numbered(1), [], "number 1")
            os._exit(0)
        _, status = os.waitpid(child, 0)
        store = FolderStore(left)
        number = number_at(store, store.head())
        assert number in {0, 1}
        store.commit(store.head(), numbered(2) | {"more/0": b"0"}, [], "number 2")
        assert number_at(store, store.head()) == 2
        shutil.rmtree(left)
        if status == 0:
            assert number == 1
            sys.stdout.write(f"{point}\n")
            return


def starved(store: FolderStore, room: int) -> None:
    """Commit with a limit on the size of files, which fails as a full disk does; then without it."""
    head, before = store.head(), number_at(store, store.head())
    _, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, most))
    content = random.Random(0).randbytes(2000)  # noqa: S311 - the same each time
    try:
        store.commit(head, {"large": content}, [], "too large")
        sys.stdout.write("done\n")
    except StoreFault as fault:
        sys.stdout.write(f"{fault}\n")
        assert store.head() == head
        assert number_at(store, head) == before
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
    head = store.commit(store.head(), {"large": content}, [], "large")
    assert store.read(head, "large", 2000) == content


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("store")
    parser.add_argument("action", choices=["count", "points", "starved"])
    parser.add_argument("number", type=int, nargs="?", default=0)
    given = parser.parse_args()
    if given.action == "points":
        points(Path(given.store))
    elif given.action == "starved":
        starved(FolderStore(Path(given.store)), given.number)
    else:
        counted(open_store(given.store), given.number)


if __name__ == "__main__":
    main()
