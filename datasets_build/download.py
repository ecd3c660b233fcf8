"""Fetch pinned files: from a mirror, an earlier download or their publisher. Their SHA-256 is always checked."""

import os
import shutil
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


class _Transient(Exception):
    """A failure after which a retry may succeed: of the connection or the server."""


def offline() -> bool:
    """Whether HF_HUB_OFFLINE is set, as huggingface_hub reads it."""
    return os.environ.get("HF_HUB_OFFLINE", "").upper() in {"1", "ON", "YES", "TRUE"}


def home() -> Path:
    """Return the folder of downloads and builds: DIVBENCH_HOME, or by default `divbench` in the user's cache folder."""
    if folder := os.environ.get(HOME_VARIABLE):
        return Path(folder)
    try:
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "divbench"
    except RuntimeError as error:  # HOME is not set, and the user has no entry in the list of users, as in containers
        message = "the folder of downloads and caches is unknown: this user has no home folder"
        raise ConfigurationError(message, f"set HOME, or name a folder with {HOME_VARIABLE}") from error


def mirror_folder(mirror: Path | None = None) -> Path | None:
    """Return the mirror to read: the given one, or the one that DIVBENCH_MIRROR names; None if there is none."""
    if mirror is None and (folder := os.environ.get(MIRROR_VARIABLE)):
        return Path(folder)
    return mirror


class Fetcher:
    """Fetcher of a source's files; implements `Fetch`. With a mirror, nothing is downloaded."""

    def __init__(
        self,
        source: Source,
        mirror: Path | None = None,
        *,
        network: bool = True,
        progress: Callable[[str], None] = lambda path: None,  # called with a file's path before its download
    ) -> None:
        self.source = source
        self.mirror = mirror_folder(mirror)
        self.network = network
        self.progress = progress
        self.used: dict[str, str] = {}  # SHA-256 of the files that were read, by path
        self.absent: set[str] = set()  # optional files that are not available
        self._paths: dict[str, Path] = {}

    def __call__(self, path: str) -> Path:
        """Return the local copy of a file."""
        file = self.source.file(path)
        local = self._locate(file)
        if local is not None:
            return local
        if self.mirror is not None:
            raise ConfigurationError(f"the mirror has no file {self.mirror / path}", f"put {file.origin} there")
        raise ConfigurationError(
            f"{path} of {self.source.name} is not available locally, and "
            f"{'HF_HUB_OFFLINE forbids its download' if offline() else 'no mirror is named'}",
            f"download it: divbench data build; or put {file.origin} at {path} in a folder, and name that folder "
            f"with {MIRROR_VARIABLE}",
        )

    def optional(self, path: str) -> Path | None:
        """Return the local copy of a file, or None if it is not available; `absent` then has its path."""
        local = self._locate(self.source.file(path))
        if local is None:
            self.absent.add(path)
        return local

    def _locate(self, file: File) -> Path | None:
        if file.path not in self._paths:
            local = home() / "downloads" / file.sha256
            if self.mirror is not None:
                local = self.mirror / file.path
                if not local.is_file():
                    return None
                if (digest := sha256_of(local)) != file.sha256:
                    message = f"{local} is not the pinned file: SHA-256 {digest}, expected {file.sha256}"
                    raise InputError(message, f"download {file.origin} again")
            elif not (local.is_file() and sha256_of(local) == file.sha256):
                if not (file.urls and self.network):
                    return None
                self._download(file, local)
            self._paths[file.path] = local
            self.used[file.path] = file.sha256
        return self._paths[file.path]

    def _download(self, file: File, local: Path) -> None:
        """Download a file from the first of its URLs that gives the pinned bytes."""
        self.progress(file.path)
        local.parent.mkdir(parents=True, exist_ok=True)
        reasons = []
        for url in file.urls:
            retrying = Retrying(
                stop=stop_after_attempt(ATTEMPTS),
                wait=wait_exponential(multiplier=0.5, max=20) + wait_random(0, 1),
                retry=retry_if_exception_type(_Transient),
                reraise=True,
            )
            try:
                for attempt in retrying:
                    with attempt, atomic_file(local) as temporary:
                        _receive(url, file, temporary)
            except (_Transient, ConfigurationError, InputError) as error:
                reasons.append(f"{url}: {error}")
            else:
                return
        raise ConfigurationError(
            f"{file.path} of {self.source.name} could not be downloaded: {'; '.join(reasons)}",
            f"check the network, or name a folder that has it with {MIRROR_VARIABLE}",
        )


def _receive(url: str, file: File, path: Path) -> None:
    try:
        with urllib.request.urlopen(url, timeout=TIMEOUT_SECONDS) as response, path.open("wb") as out:  # noqa: S310
            promised = response.headers.get("Content-Length")
            shutil.copyfileobj(response, out)
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
    if (digest := sha256_of(path)) != file.sha256:
        raise InputError(f"not the pinned file: SHA-256 {digest}, expected {file.sha256}")
