"""Store the files of the submission service: a tree of files that only changes by atomic commits.

A commit names its parent, and is rejected as a whole if another commit came first. A reader therefore sees all of a
commit or none of it, and only one of two competing writers succeeds. There are two implementations: `FolderStore` (a
folder) and `HubStore` (a Hub dataset repository).
"""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Protocol

from divbench.core.errors import ConfigurationError
from submissions.storage.commits import Commit


class FileStore(Protocol):
    """Files under paths such as `submissions/0123456789abcdef/manifest.json`.

    All methods raise StoreFault if the store is unreachable, full or not writable, or has no such commit; transient
    failures have been retried before. NoWriteAccess and LocalDiskFault are subclasses.
    """

    address: str

    def head(self) -> str:
        """Return the id of the latest commit."""
        ...

    def paths(self, commit: str, under: str = "") -> list[str]:
        """Return the sorted paths of a commit, or of one of its folders."""
        ...

    def read(self, commit: str, path: str, limit: int) -> bytes:
        """Read a file of a commit.

        Raises:
            FileNotFoundError: The commit has no such file.
            InputError: It has more bytes than the limit.
        """
        ...

    def fetch(self, commit: str, path: str, target: Path, limit: int) -> None:
        """Copy a file of a commit to a local path atomically.

        Raises:
            FileNotFoundError: The commit has no such file.
            InputError: It has more bytes than the limit.
        """
        ...

    def commit(self, parent: str, add: Mapping[str, bytes | Path], remove: Iterable[str], message: str) -> str:
        """Make one commit atomically.

        Args:
            parent: Must be the head.
            add: Contents by path; existing files are replaced. A `Path` is a file to copy.
            remove: Existing paths.

        Returns:
            The new commit's id; `parent` if nothing changes.

        Raises:
            Conflict: `parent` is no longer the head. Nothing was changed.
            InputError: A path or the message is invalid, or the changes do not fit the tree.
        """
        ...

    def history(self, limit: int = 100) -> list[Commit]:
        """Return the latest commits, the latest first."""
        ...


def open_store(text: str, *, existing: bool = False) -> FileStore:
    """Open the store with an address; nothing is created before the first commit.

    Args:
        text: A folder, existing or to be created in an existing one; or `hf://datasets/ORG/NAME`, optionally followed
            by a folder of that repository.
        existing: Whether a folder must exist, because the store will only be read.

    Raises:
        ConfigurationError: It is neither, or a folder that must exist does not.
    """
    if found := re.fullmatch(r"hf://datasets/([^/]+/[^/]+)(?:/(.+))?", text):
        from submissions.storage.hub_store import HubStore

        return HubStore(found[1], prefix=found[2] or "")
    if re.match(r"[A-Za-z][A-Za-z0-9+.-]+:", text) or not text.strip() or not text.isprintable():
        raise ConfigurationError(f"{text[:100]!r} is not a store", "give a folder, or hf://datasets/ORG/NAME")
    from submissions.storage.folder_store import FolderStore

    folder = Path(text)
    try:
        folder.stat()
    except (FileNotFoundError, NotADirectoryError):
        pass
    except OSError as error:
        raise ConfigurationError(f"{text[:100]!r} cannot be a store: {error.strerror}", "give a folder") from error
    if not folder.is_dir() and folder.exists():
        raise ConfigurationError(f"{folder} is a file", "a store is a folder")
    if not folder.is_dir() and (existing or ".." in folder.parts or not folder.absolute().parent.is_dir()):
        raise ConfigurationError(
            f"there is no folder {folder}",
            ("give the folder of a store" if existing else "create it")
            + "; a Hub repository is hf://datasets/ORG/NAME",
        )
    return FolderStore(folder)
