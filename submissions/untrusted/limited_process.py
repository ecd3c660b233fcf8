"""Restrict a child process that reads untrusted bytes, and explain why it ended.

The child imports this module when it starts, so the module imports nothing slow.
"""

import os
import re
import signal
import sys
from pathlib import Path

MAX_ROWS = 1_000_000
_VARIABLES = {
    "OMP_NUM_THREADS": "1",  # each thread reserves address space
    "OPENBLAS_NUM_THREADS": "1",
    "JE_ARROW_MALLOC_CONF": "background_thread:false",  # pyarrow's; a process that forks must have no other thread
    "PYTHONDONTWRITEBYTECODE": "1",  # a compiled module that a limit truncates is broken for every later process
    "HF_HUB_DISABLE_IMPLICIT_TOKEN": "1",  # the token saved by a login is not sent anywhere
    "HF_HUB_OFFLINE": "1",  # no download delays a check
}
SECRET_NAME = re.compile(r"TOKEN|KEY|SECRET|PASS|CREDENTIAL|AUTH|SALT", re.IGNORECASE)
_ROOT = Path(__file__).resolve().parents[2]


def environment() -> dict[str, str]:
    """Return the child's environment variables, without secrets, which it does not need."""
    made = {name: value for name, value in os.environ.items() if not SECRET_NAME.search(name)}
    made |= _VARIABLES
    made["PYTHONPATH"] = os.pathsep.join([str(_ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    return made


def limit(memory: int, seconds: int, written: int, *, files: int | None = None) -> None:
    """Limit the resources of this process irrevocably.

    Args:
        memory: Address space in bytes.
        seconds: Processor time.
        written: Maximum size in bytes of each file that it writes.
        files: Maximum number of open files and sockets; 0 keeps the open ones and allows no others. None: no limit.
    """
    try:
        import resource
    except ImportError:  # Windows has no such limits; only the caller's timeout remains
        return
    limits = [(resource.RLIMIT_CPU, seconds), (resource.RLIMIT_FSIZE, written), (resource.RLIMIT_CORE, 0)]
    if sys.platform != "darwin":  # macOS refuses what a process exceeds, and each starts with hundreds of GiB
        limits.append((resource.RLIMIT_AS, memory))
    for kind, most in limits if files is None else [*limits, (resource.RLIMIT_NOFILE, files)]:
        allowed = resource.getrlimit(kind)[1]
        least = most if allowed == resource.RLIM_INFINITY else min(most, allowed)
        resource.setrlimit(kind, (least, least))


def reason(status: int, said: bytes) -> str:
    """Explain why a process ended without a reply; its status is negative after a signal."""
    if status < 0:
        name = signal.Signals(-status).name if -status in set(signal.Signals) else str(-status)
        return "took too much time" if name in {"SIGXCPU", "SIGALRM"} else f"ended its process by {name}"
    last = ascii((said.decode("utf-8", "replace").strip().splitlines() or [""])[-1][:200])
    return f"ended its process with status {status}: {last}"


def first_line(error: Exception) -> str:
    """Return the first line of an error's message, without its path; the error's type if it has no message."""
    said = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return next(iter(said.splitlines()), type(error).__name__)
