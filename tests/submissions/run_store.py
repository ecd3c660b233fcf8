"""Works on a store in a process of its own, which tests kill, starve, or let race with others.

Not a test: `python -m tests.submissions.run_store STORE count|points …` from the repository's root.
"""

import argparse
import os
import shutil
import signal
import sys
from itertools import count
from pathlib import Path

from submissions.storage import open_store
from submissions.storage.file_store import Conflict, FileStore, FolderStore

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


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("store")
    parser.add_argument("action", choices=["count", "points"])
    parser.add_argument("number", type=int, nargs="?", default=0)
    given = parser.parse_args()
    if given.action == "points":
        points(Path(given.store))
    else:
        counted(open_store(given.store), given.number)


if __name__ == "__main__":
    main()
