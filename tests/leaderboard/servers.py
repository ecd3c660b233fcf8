"""Servers of the tests: boards in one process that has imported the application, or a module in one of its own."""

import atexit
import json
import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from functools import cache
from pathlib import Path
from signal import SIGHUP, SIGTERM
from socket import SO_REUSEADDR, SOL_SOCKET, socket
from tempfile import TemporaryDirectory
from typing import Any, Literal

import pytest

from tests.forked import Forked

ROOT = Path(__file__).parents[2]


def free_port() -> int:
    with closing(socket()) as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


_PORTS: list[int] = []  # of boards that have ended


def _board_port() -> int:
    """A free port, an earlier board's where there is one: the browser has the scripts of its address compiled."""
    while _PORTS:
        with suppress(OSError), closing(socket()) as free:
            free.setsockopt(SOL_SOCKET, SO_REUSEADDR, 1)
            free.bind(("127.0.0.1", port := _PORTS.pop()))
            return port
    return free_port()


@cache
def _boards() -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "tests.leaderboard.run_board"]
    started = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT, encoding="utf-8")
    atexit.register(_end, started)
    return started


def _end(process: "subprocess.Popen[str]") -> None:
    """Let a process delete its temporary files: it ends with its input."""
    assert process.stdin is not None
    process.stdin.close()
    try:
        process.wait(timeout=10)
    except subprocess.TimeoutExpired:
        process.kill()


def _ask(**request: Any) -> dict[str, str]:
    process = _boards()
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(f"{json.dumps(request)}\n")
    process.stdin.flush()
    reply: dict[str, str] = json.loads(process.stdout.readline() or '{"error": "the process of the boards has ended"}')
    assert "error" not in reply, reply["error"]
    return reply


@contextmanager
def serving(
    results: Path,
    *,
    store: Path | None = None,
    study: Path | None = None,
    pages: Literal["all", "submit"] = "all",
    reference: bool = False,
    votes: Path | None = None,
) -> Iterator[str]:
    """The address of a board over a folder of results, served until the context ends."""
    paths = {"store": store, "study": study, "votes": votes}
    options = {"reference": reference, **{name: str(path) if path else None for name, path in paths.items()}}
    port = _board_port()
    url = _ask(results=str(results), port=port, pages=pages, **options)["url"]
    try:
        yield url
    finally:
        _ask(close=url)
        _PORTS.append(port)


@contextmanager
def running(module: str, *arguments: str, environment: Mapping[str, str] | None = None) -> Iterator[str]:
    """The address of a module that serves at the port that it is given last, in a process of its own."""
    port = free_port()
    command = [sys.executable, "-m", module, *arguments, str(port)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=ROOT, env=environment
    ) as server:
        try:
            wait_for(url := f"http://127.0.0.1:{port}", server)
            yield url
        finally:
            _stop(server, SIGTERM)


def _stop(server: "subprocess.Popen[bytes]", number: int) -> None:
    server.send_signal(number)
    try:
        server.wait(timeout=30)
    finally:
        server.kill()  # otherwise the tests would wait for ever for one that does not end


# SIGHUP is as usual, though the tests may be run by nohup.
BOARD = "import signal; signal.signal(signal.SIGHUP, signal.SIG_DFL); from divbench.command_line import main; main()"


@contextmanager
def serving_by_command(*arguments: str) -> Iterator[str]:
    """The address of `divbench board serve` with these options, in a separate process that ends with the context.

    It ends as with its terminal; then its temporary files must be gone.
    """
    port = free_port()
    command = [sys.executable, "-c", BOARD, "board", "serve", *arguments, "--port", str(port)]
    with TemporaryDirectory() as temporary:
        environment = os.environ | {"TMPDIR": temporary}
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment) as server:
            url = f"http://127.0.0.1:{port}"
            try:
                wait_for(url, server)
                yield url
            finally:
                _stop(server, SIGHUP)
        assert list(Path(temporary).glob("divbench-*")) == []


def wait_for(url: str, server: "subprocess.Popen[bytes] | Forked") -> None:
    deadline = time.monotonic() + 180
    while time.monotonic() < deadline:
        if server.poll() is not None:
            assert server.stdout is not None
            said = server.stdout.read()
            pytest.fail(f"the server ended: {said if isinstance(said, str) else said.decode()}")
        try:
            urllib.request.urlopen(url, timeout=5).close()  # noqa: S310 - our own address
        except OSError:
            time.sleep(0.1)
        else:
            return
    pytest.fail("the server did not answer in three minutes")
