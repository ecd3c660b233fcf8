"""Read untrusted bytes in a limited process, so that nothing in them can crash the caller or exhaust the machine.

A server imports its libraries and waits; each call runs a function in a fork of it, which first limits its own memory,
time, written bytes and, if it needs none, open files. Its reply is JSON, never a pickled object. The server has no
environment variables whose names suggest secrets. It is not a full sandbox: it runs as the same user, with the same
files and network.
"""

import atexit
import errno
import json
import os
import re
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from divbench.core.errors import ConfigurationError, DivBenchError

SECRET_NAME = re.compile(r"TOKEN|KEY|SECRET|PASS|CREDENTIAL|AUTH|SALT", re.IGNORECASE)
HOST_FAULTS = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.ECHILD}  # EFBIG: a limit set from outside
_VARIABLES = {
    "ARROW_DEFAULT_MEMORY_POOL": "system",  # other pools reserve more address space than they use
    "JE_ARROW_MALLOC_CONF": "background_thread:false",  # a process that forks must have no other thread
    "OMP_NUM_THREADS": "1",  # each thread reserves address space
    "OPENBLAS_NUM_THREADS": "1",
    "PYTHONDONTWRITEBYTECODE": "1",  # a compiled module that a limit truncates is broken for every later process
    "HF_HUB_DISABLE_IMPLICIT_TOKEN": "1",  # the token saved by a login is not sent anywhere
    "HF_HUB_OFFLINE": "1",  # no download delays a check
}
_ROOT = Path(__file__).resolve().parents[2]
_MAX_REPLY = 64 * 2**20
_HAS_FORK = hasattr(os, "fork") and hasattr(socket, "send_fds")  # Windows reads in this process
_LOCK = threading.Lock()
_here = not _HAS_FORK  # whether this process itself reads untrusted bytes


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits on the resources of a call. Systems without such limits, such as Windows, ignore them."""

    memory: int  # address space in bytes, including the few hundred MiB that the libraries reserve
    seconds: float  # until the process is killed
    written: int = 2 * 2**30  # maximum size in bytes of each file that it writes
    files: int | None = None  # maximum number of open files and sockets; 0 allows only the open ones; None: no limit


class Stopped(Exception):
    """A call ended without a reply; the message is the reason."""


def run_limited(function: str, request: Mapping[str, Any], limits: Limits, descriptors: Sequence[int] = ()) -> Any:
    """Run `module:name` on a JSON object and open file descriptors in a limited process, and return its JSON value.

    A call within such a call runs in the same process.
    """
    call = {"function": function, "request": request, "limits": asdict(limits)}
    reply = _reply(call, descriptors) if _here else _reply_of_fork(call, descriptors)
    if "host" in reply:
        raise OSError(reply["host"], os.strerror(reply["host"]))
    if "configuration" in reply:
        raise ConfigurationError(*reply["configuration"])
    if "stopped" in reply:
        raise Stopped(reply["stopped"])
    return reply["value"]


def _reply(call: Mapping[str, Any], descriptors: Sequence[int]) -> dict[str, Any]:
    """Run the function of a call; return its value, or why it has none."""
    module, _, name = call["function"].partition(":")
    try:
        return {"value": getattr(import_module(module), name)(call["request"], *descriptors)}
    except MemoryError:
        return {"stopped": "exceeded the memory limit"}
    except DivBenchError as error:
        return {"configuration": [error.message, error.hint]}
    except OSError as error:
        if error.errno not in HOST_FAULTS:
            raise
        return {"host": error.errno}


def _reply_of_fork(call: Mapping[str, Any], descriptors: Sequence[int]) -> dict[str, Any]:
    with tempfile.TemporaryFile() as talk:  # the request, then what the fork prints, and its reply as the last line
        asked = talk.write(json.dumps(call).encode())
        talk.seek(0)
        status = _exit_status(talk.fileno(), *descriptors)
        talk.seek(max(asked, talk.seek(0, os.SEEK_END) - _MAX_REPLY))
        printed = talk.read()
    if status == 0:
        reply: dict[str, Any] = json.loads(printed.splitlines()[-1])
        return reply
    if status > 0:
        last = ascii((printed.decode("utf-8", "replace").strip().splitlines() or [""])[-1][:200])
        return {"stopped": f"ended its process with status {status}: {last}"}
    name = signal.Signals(-status).name if -status in set(signal.Signals) else str(-status)
    return {"stopped": "took too much time" if name == "SIGALRM" else f"ended its process by {name}"}


def _exit_status(*descriptors: int) -> int:
    """Let a fork of the server run a call, given its descriptors; the status is negative after a signal."""
    ended, telling = os.pipe()
    with os.fdopen(ended, "rb") as pipe:
        with os.fdopen(telling, "wb"), _LOCK:
            try:
                socket.send_fds(_server(), [b"."], [telling, *descriptors])
            except BrokenPipeError:  # the server was killed
                _server().close()
                _server.cache_clear()
                socket.send_fds(_server(), [b"."], [telling, *descriptors])
        status = pipe.read()
    if not status:
        raise OSError(errno.ECHILD, "the limited process has ended")
    return int(status)


@cache
def _server() -> socket.socket:
    """Start the server: once, for all threads and forks of this process."""
    ours, theirs = socket.socketpair()
    environment = {name: value for name, value in os.environ.items() if not SECRET_NAME.search(name)} | _VARIABLES
    environment["PYTHONPATH"] = os.pathsep.join([str(_ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    code = f"from submissions.untrusted import parquet_files, process; process.serve({theirs.fileno()})"
    with theirs:
        process = subprocess.Popen(  # noqa: S603 - this interpreter, with a module of ours
            [sys.executable, "-P", "-c", code],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            env=environment,
            pass_fds=[theirs.fileno()],
            start_new_session=True,  # Ctrl-C goes to this process alone
        )
    for end in (process.wait, process.terminate, ours.close):  # called in reverse order
        atexit.register(end)
    return ours


def serve(descriptor: int) -> None:
    """Fork for each call that the parent sends, and report the exit status of each fork."""
    parent = socket.socket(fileno=descriptor)
    forks: dict[int, int] = {}  # process ids, and the pipes that expect their exit status
    ended, waking = os.pipe()
    os.set_blocking(waking, False)
    signal.set_wakeup_fd(waking)
    signal.signal(signal.SIGCHLD, lambda *_: None)  # without a handler, nothing would be written there
    while True:
        ready, _, _ = select.select([parent.fileno(), ended], [], [])
        if ended in ready:
            os.read(ended, 4096)
            _report(forks)
        if parent.fileno() in ready:
            descriptors = socket.recv_fds(parent, 1, 5)[1]
            if not descriptors:
                return
            status, talk, *files = descriptors
            _import_function(talk)
            child = os.fork()
            if child == 0:
                for pipe in (status, *forks.values()):
                    os.close(pipe)
                _work(talk, files)
            forks[child] = status
            for file in (talk, *files):
                os.close(file)


def _import_function(talk: int) -> None:
    """Import the module of a call's function here, once, and not in each fork, which may be unable to open it."""
    with suppress(Exception):  # the fork raises it
        import_module(json.loads(os.pread(talk, _MAX_REPLY, 0))["function"].partition(":")[0])


def _report(forks: dict[int, int]) -> None:
    """Report the exit status of each fork that has ended."""
    for child in [*forks]:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            with os.fdopen(forks.pop(child), "wb", 0) as pipe, suppress(BrokenPipeError):  # nobody waits any more
                pipe.write(str(os.waitstatus_to_exitcode(status)).encode())


def _work(talk: int, descriptors: Sequence[int]) -> None:
    """In the fork: run the call, write the reply, and never return."""
    global _here  # noqa: PLW0603 - a fork is limited until it ends
    _here = True
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.dup2(talk, 2)  # the last output of a library that aborts is the reason
    try:
        with os.fdopen(talk, "r+b") as file:
            call = json.loads(file.read())
            _limit(Limits(**call["limits"]))
            file.write(b"\n" + json.dumps(_reply(call, descriptors)).encode())
        os._exit(0)
    except Exception as error:
        os.write(2, f"{type(error).__name__}: {error}".encode())
    finally:
        os._exit(1)


def _limit(limits: Limits) -> None:
    """Limit the resources of this process irrevocably."""
    import resource  # Windows has none, and no fork

    signal.setitimer(signal.ITIMER_REAL, limits.seconds)
    most = {resource.RLIMIT_FSIZE: limits.written, resource.RLIMIT_CORE: 0}
    if sys.platform != "darwin":  # macOS refuses what a process exceeds, and each starts with hundreds of GiB
        most[resource.RLIMIT_AS] = limits.memory
    if limits.files is not None:
        most[resource.RLIMIT_NOFILE] = limits.files
    for kind, value in most.items():
        allowed = resource.getrlimit(kind)[1]
        least = value if allowed == resource.RLIM_INFINITY else min(value, allowed)
        resource.setrlimit(kind, (least, least))
