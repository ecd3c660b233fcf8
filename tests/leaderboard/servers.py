"""Programs of the tests that serve until they are told to stop."""

import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from socket import socket

from tests.leaderboard.conftest import wait_for

ROOT = Path(__file__).parents[2]


@contextmanager
def running(module: str, *arguments: str, environment: Mapping[str, str] | None = None) -> Iterator[str]:
    """The address of a module that serves at the port that it is given last, in a process of its own."""
    with closing(socket()) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", module, *arguments, str(port)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=ROOT, env=environment
    ) as server:
        try:
            wait_for(url := f"http://127.0.0.1:{port}", server)
            yield url
        finally:
            server.terminate()
            server.wait(timeout=30)
