"""A file of a Hub repository: its size and hash as listed by the Hub, and its download, which must match them."""

import hashlib
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from datasets_build.files import atomic_file
from submissions.storage.commits import PIECE_BYTES, LocalDiskFault, disk_faults
from submissions.storage.hub_calls import SILENCE, Damaged

if TYPE_CHECKING:
    from huggingface_hub.hf_api import RepoFile


@dataclass(frozen=True, slots=True)
class HubFile:
    """A file as listed by the Hub."""

    digest: str  # SHA-256 of a file in LFS; git's blob hash otherwise
    size: int

    def hasher(self) -> Any:
        """Return a new hash object for the digest."""
        if len(self.digest) == 64:
            return hashlib.sha256()
        return hashlib.sha1(b"blob %d\0" % self.size, usedforsecurity=False)

    def fits(self, content: bytes | Path) -> bool:
        """Whether a content, given as bytes or as a file, is this one."""
        if (len(content) if isinstance(content, bytes) else content.stat().st_size) != self.size:
            return False
        with BytesIO(content) if isinstance(content, bytes) else content.open("rb") as file:
            return hashlib.file_digest(file, self.hasher).hexdigest() == self.digest


def hub_file(entry: "RepoFile") -> HubFile:
    """Convert an entry of a listing."""
    if entry.lfs is not None:
        return HubFile(entry.lfs.sha256, entry.lfs.size)
    return HubFile(entry.blob_id, entry.size)


def download(address: str, token: str | None, file: HubFile, target: Path) -> None:
    """Download a file atomically, and verify its size and hash.

    Args:
        file: Expected file; reading stops once its size is exceeded.

    Raises:
        Damaged: The download does not match.
        LocalDiskFault: The target cannot be written.
        Exception: Any error of the client, if the Hub refuses or the connection breaks.
    """
    from huggingface_hub import get_session, hf_raise_for_status
    from huggingface_hub.utils import build_hf_headers

    headers = {**build_hf_headers(token=token), "Accept-Encoding": "identity"}
    with get_session().stream("GET", address, headers=headers, timeout=SILENCE) as reply:
        hf_raise_for_status(reply)
        with disk_faults(target, LocalDiskFault), atomic_file(target) as temporary:
            hasher, size = file.hasher(), 0
            with temporary.open("wb") as made:
                for piece in reply.iter_bytes(PIECE_BYTES):
                    size += len(piece)
                    if size > file.size:
                        break
                    hasher.update(piece)
                    made.write(piece)
            if size != file.size or hasher.hexdigest() != file.digest:
                raise Damaged(f"the download from {address} does not match the repository")
