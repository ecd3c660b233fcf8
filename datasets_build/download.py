"""Fetch pinned files: from a mirror, an earlier download or their publisher. Their SHA-256 is always checked."""

import os
import socket
import urllib.error
import urllib.request
from collections.abc import Callable
from http.client import HTTPException
from pathlib import Path

from tenacity import Retrying, retry_if_exception_type, stop_after_attempt, wait_exponential, wait_random

from datasets_build.sources.source import File, Source
from divbench.core.errors import ConfigurationError, InputError
from divbench.core.files import atomic_file, sha256_of

MIRROR_VARIABLE = "DIVBENCH_MIRROR"
HOME_VARIABLE = "DIVBENCH_HOME"
ATTEMPTS = 5
TIMEOUT_SECONDS = 60
CHUNK = 1 << 20
MAX_BYTES = 1 << 28  # ten times the largest released file; a server that sends more has another file
Progress = Callable[[str, int], None]


class _Transient(Exception):
    """A failure after which a retry may succeed: of the connection or the server."""


def offline() -> bool:
    """Whether HF_HUB_OFFLINE is set, as huggingface_hub reads it."""
    return os.environ.get("HF_HUB_OFFLINE", "").upper() in {"1", "ON", "YES", "TRUE"}


def home() -> Path:
    """Return the folder of downloads and builds: DIVBENCH_HOME, or by default `divbench` in the user's cache folder.

    Raises:
        ConfigurationError: Neither is known.
    """
    named = os.environ.get(HOME_VARIABLE)
    if named:
        return Path(named)
    try:
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "divbench"
    except RuntimeError as error:  # HOME is not set, and the user has no entry in the list of users, as in containers
        message = "the folder of downloads and caches is unknown: this user has no home folder"
        raise ConfigurationError(message, f"set HOME, or name a folder with {HOME_VARIABLE}") from error


def mirror_folder(mirror: Path | None = None) -> Path | None:
    """Return the mirror to read: the given one, or the one that DIVBENCH_MIRROR names; None if there is none."""
    if mirror is not None:
        return mirror
    named = os.environ.get(MIRROR_VARIABLE, "")
    return Path(named) if named else None


class Fetcher:
    """Fetcher of a source's files; implements `Fetch`.

    Args:
        mirror: Folder with the released files; if given, nothing is downloaded.
        network: Whether to download what is not available locally.
        progress: Called with a file's path and the bytes received since the last call; with 0 as a download begins.
    """

    def __init__(
        self,
        source: Source,
        mirror: Path | None = None,
        *,
        network: bool = True,
        progress: Progress = lambda path, size: None,
    ) -> None:
        self.source = source
        self.mirror = mirror_folder(mirror)
        self.network = network
        self.progress = progress
        self.used: dict[str, str] = {}
        self.absent: set[str] = set()
        self._found: dict[str, Path] = {}

    def __call__(self, path: str) -> Path:
        """Return the local copy of a file.

        Raises:
            ConfigurationError: It is neither available locally nor downloadable.
            InputError: The local copy has other bytes.
        """
        file = self.source.file(path)
        found = self._locate(file)
        if found is None:
            raise self._unavailable(file)
        return found

    def optional(self, path: str) -> Path | None:
        """Return the local copy of a file, or None if it is not available; `absent` then holds its path.

        Raises:
            InputError: The local copy has other bytes.
        """
        found = self._locate(self.source.file(path))
        if found is None:
            self.absent.add(path)
        return found

    def _locate(self, file: File) -> Path | None:
        if file.path not in self._found:
            kept = home() / "downloads" / file.sha256
            if self.mirror is not None:
                found = self._in_mirror(file, self.mirror)
            elif kept.is_file() and sha256_of(kept) == file.sha256:
                found = kept
            elif file.urls and self.network:
                kept.parent.mkdir(parents=True, exist_ok=True)
                self._download(file, kept)
                found = kept
            else:
                found = None
            if found is None:
                return None
            self._found[file.path] = found
            self.used[file.path] = file.sha256
        return self._found[file.path]

    def _unavailable(self, file: File) -> ConfigurationError:
        if self.mirror is not None:
            return ConfigurationError(f"the mirror has no file {self.mirror / file.path}", f"put {file.origin} there")
        return ConfigurationError(
            f"{file.path} of {self.source.name} is not available locally, and "
            f"{'HF_HUB_OFFLINE forbids its download' if offline() else 'no mirror is named'}",
            f"download it: divbench data build; or put {file.origin} at {file.path} in a folder, and name that folder "
            f"with --mirror (in Python, mirror=) or {MIRROR_VARIABLE}",
        )

    def _in_mirror(self, file: File, mirror: Path) -> Path | None:
        path = mirror / file.path
        if not path.is_file():
            return None
        found = sha256_of(path)
        if found != file.sha256:
            message = f"{path} is not the pinned file: SHA-256 {found}, expected {file.sha256}"
            raise InputError(message, f"download {file.origin} again")
        return path

    def _download(self, file: File, kept: Path) -> None:
        """Download a file from the first of its URLs that gives the pinned bytes."""
        self.progress(file.path, 0)
        reasons = []
        for url in file.urls:
            try:
                retrying = Retrying(
                    stop=stop_after_attempt(ATTEMPTS),
                    wait=wait_exponential(multiplier=0.5, max=20) + wait_random(0, 1),
                    retry=retry_if_exception_type(_Transient),
                    reraise=True,
                )
                for attempt in retrying:
                    with attempt, atomic_file(kept) as temporary:
                        self._receive(url, file, temporary)
            except (_Transient, ConfigurationError, InputError) as error:
                reasons.append(f"{url}: {error}")
            else:
                return
        raise ConfigurationError(
            f"{file.path} of {self.source.name} could not be downloaded: {'; '.join(reasons)}",
            f"check the network, or name a folder that has it with --mirror (in Python, mirror=) or {MIRROR_VARIABLE}",
        )

    def _receive(self, url: str, file: File, path: Path) -> None:
        try:
            with urllib.request.urlopen(url, timeout=TIMEOUT_SECONDS) as response, path.open("wb") as out:  # noqa: S310
                promised = response.headers.get("Content-Length")
                received = 0
                while block := response.read(CHUNK):
                    received += len(block)
                    if received > MAX_BYTES:
                        raise InputError(f"more than {MAX_BYTES:,} bytes")
                    out.write(block)
                    self.progress(file.path, len(block))
        except urllib.error.HTTPError as error:
            error.close()
            if error.code == 429 or error.code >= 500:
                raise _Transient(f"HTTP {error.code}") from error
            raise ConfigurationError(f"HTTP {error.code} {error.reason}") from error
        except (OSError, HTTPException) as error:
            reason = getattr(error, "reason", error)
            if isinstance(reason, socket.gaierror):  # without a network, further attempts are pointless
                raise ConfigurationError(str(reason)) from error
            raise _Transient(str(reason)) from error
        size = path.stat().st_size
        if promised is not None and size != int(promised):
            raise _Transient(f"cut off after {size:,} of {int(promised):,} bytes")
        found = sha256_of(path)
        if found != file.sha256:
            raise InputError(f"not the pinned file: SHA-256 {found}, expected {file.sha256}")
