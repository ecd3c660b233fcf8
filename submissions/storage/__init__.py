"""Write submission folders, and make atomic commits to a store (a folder or a Hub repository)."""

import re
from pathlib import Path

from divbench.core.errors import ConfigurationError
from submissions.storage.file_store import FileStore, FolderStore


def open_store(text: str, *, existing: bool = False) -> FileStore:
    """Open the store with an address; nothing is created before the first commit."""
    if hub := re.fullmatch(r"hf://datasets/([^/]+/[^/]+)(?:/(.+))?", text):
        from submissions.storage.hub_store import HubStore

        return HubStore(hub[1], prefix=hub[2] or "")
    if re.match(r"[A-Za-z][A-Za-z0-9+.-]+:", text) or not text.strip() or not text.isprintable():
        raise ConfigurationError(f"{text[:100]!r} is not a store", "give a folder, or hf://datasets/ORG/NAME")
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
