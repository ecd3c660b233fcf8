"""Identify voters by a salted hash of their login or token, and limit how often they vote."""

import hashlib
import hmac
import os
import re
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from pathlib import Path

from filelock import FileLock

from divbench.core.errors import ConfigurationError
from divbench.core.files import atomic_file
from submissions.storage.commits import LocalDiskFault, disk_faults

SALT_VARIABLE = "DIVBENCH_VOTES_SALT"
SHORTEST_SALT = 16  # characters: with a salt that can be guessed, the public hashes give the logins away

_TOKEN = re.compile(r"[0-9a-f]{32}")
_SALT_FILE = "salt"
_KEPT = 20_000  # keys of a limit


def salt_of(folder: Path, environment: Mapping[str, str] = os.environ) -> bytes:
    """Return the salt of a service's voters: DIVBENCH_VOTES_SALT, or a file that is created once in a folder.

    Raises:
        ConfigurationError: The variable is too short.
        LocalDiskFault: The file cannot be read or created.
    """
    if given := environment.get(SALT_VARIABLE):
        if len(given) < SHORTEST_SALT:
            message = f"{SALT_VARIABLE} has fewer than {SHORTEST_SALT} characters, so voters' logins could be guessed"
            raise ConfigurationError(message, "set it to a long random text")
        return given.encode()
    path = folder / _SALT_FILE
    with disk_faults(path, LocalDiskFault), FileLock(folder / f".{_SALT_FILE}.lock", timeout=20):
        if not path.exists():
            with atomic_file(path) as temporary:
                temporary.chmod(0o600)
                temporary.write_text(secrets.token_hex(32), encoding="ascii")
        return path.read_bytes()


def new_token() -> str:
    """Return a random token for a visitor without a login."""
    return secrets.token_hex(16)


def is_token(text: object) -> bool:
    """Whether an untrusted value is a well-formed token."""
    return isinstance(text, str) and _TOKEN.fullmatch(text) is not None


def voter_of(salt: bytes, *, login: str | None, token: str) -> str:
    """Return the hash that stands for a visitor in records: 32 hex digits of an HMAC-SHA256.

    Args:
        salt: Secret salt of the service; without it nobody can guess names by trying.
    """
    said = f"token {token}" if login is None else f"login {login}"
    return hmac.new(salt, said.encode(), hashlib.sha256).hexdigest()[:32]


class RateLimit:
    """A thread-safe token bucket per key.

    Args:
        number: Capacity of a bucket: acts allowed at once.
        seconds: Time in which an empty bucket refills.
        clock: Monotonic clock in seconds.
    """

    def __init__(self, number: int, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._number, self._rate, self._clock = float(number), number / seconds, clock
        self._lock = threading.Lock()
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()  # acts left, and at what time

    def allows(self, key: str, acts: float = 1) -> bool:
        """Whether one more act is allowed, or several at once; it is counted if it is."""
        with self._lock:
            now = self._clock()
            left, since = self._left.pop(key, (self._number, now))
            left = min(self._number, left + (now - since) * self._rate)
            allowed = left >= acts
            self._left[key] = left - acts * allowed, now
            while len(self._left) > _KEPT:
                self._left.popitem(last=False)
            return allowed
