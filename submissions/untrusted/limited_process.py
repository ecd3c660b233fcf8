"""Restrict a child process that reads untrusted bytes, and explain why it ended.

The child imports this module when it starts, so the module imports nothing slow.
"""

import os
import re
import signal
from pathlib import Path

MAX_ROWS = 1_000_000
_VARIABLES = {
    "OMP_NUM_THREADS": "1",  # each thread reserves address space
    "OPENBLAS_NUM_THREADS": "1",
    "PYTHONDONTWRITEBYTECODE": "1",  # a compiled module that a limit truncates is broken for every later process
    "HF_HUB_DISABLE_IMPLICIT_TOKEN": "1",  # the token saved by a login is not sent anywhere
}
_SECRET_NAME = re.compile(r"TOKEN|KEY|SECRET|PASS|CREDENTIAL|AUTH", re.IGNORECASE)
_ROOT = Path(__file__).resolve().parents[2]


def environment() -> dict[str, str]:
    """The variables of the child: it needs no secret, so it has none to give away."""
    made = {name: value for name, value in os.environ.items() if not _SECRET_NAME.search(name)}
    made |= _VARIABLES
    made["PYTHONPATH"] = os.pathsep.join([str(_ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    return made


def limit(memory: int, seconds: int, written: int, *, files: int | None = None) -> None:
    """Take limits for this process that it cannot lift again.

    Args:
        memory: Bytes of addresses.
        seconds: Processor time.
        written: Bytes of each file that it writes.
        files: Files and sockets that it may have open; with 0 it keeps those that it has, and opens no other.
    """
    try:
        import resource
    except ImportError:  # there are none on Windows; the caller's clock is left
        return
    limits = [
        (resource.RLIMIT_AS, memory),
        (resource.RLIMIT_CPU, seconds),
        (resource.RLIMIT_FSIZE, written),
        (resource.RLIMIT_CORE, 0),
    ]
    for kind, most in limits if files is None else [*limits, (resource.RLIMIT_NOFILE, files)]:
        allowed = resource.getrlimit(kind)[1]
        least = most if allowed == resource.RLIM_INFINITY else min(most, allowed)
        resource.setrlimit(kind, (least, least))


def reason(status: int, said: bytes) -> str:
    """Why a process ended that should have said something; its status is negative after a signal."""
    if status < 0:
        name = signal.Signals(-status).name if -status in set(signal.Signals) else str(-status)
        return "took too much time" if name in {"SIGXCPU", "SIGALRM"} else f"ended its process by {name}"
    last = ascii((said.decode("utf-8", "replace").strip().splitlines() or [""])[-1][:200])
    return f"ended its process with status {status}: {last}"


def first_line(error: Exception) -> str:
    """The first line of an error's message without the path it concerns; the error's type where it has no message."""
    said = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return next(iter(said.splitlines()), type(error).__name__)
