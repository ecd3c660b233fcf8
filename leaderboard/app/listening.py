"""The address that the board listens on."""

import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread
from typing import Any

from divbench.core.console import err
from divbench.core.errors import ConfigurationError

SOON, PATIENCE = 5.0, 120.0  # seconds until a slow start is mentioned, and until it fails


@contextmanager
def listening(host: str, port: int | None) -> Iterator[None]:
    """Refuse an address that cannot be listened on: Gradio's error advises to change our code."""
    try:
        yield
    except OSError as error:
        address = host if port is None else f"{host}:{port}"
        hint = "another program uses it, or it is not an address of this machine: choose another --port or --host"
        raise ConfigurationError(f"the board cannot listen on {address}", hint) from error


def check_port(host: str, port: int) -> None:
    """Check that a port is free, before the seconds in which results are read and Gradio starts."""
    with listening(host, port):
        socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET).close()


def be_patient() -> None:
    """Let Gradio start on a slow machine: it gives its server five seconds to start, and a page three to answer."""
    from gradio import http_server, networking

    http_server.Server.run_in_thread = run_in_thread  # type: ignore[method-assign]
    networking.url_ok = lambda url: True  # it has just answered; where it doesn't, Gradio suggests a public link


def run_in_thread(server: Any, soon: float = SOON, patience: float = PATIENCE) -> None:
    """Start a server in a thread and wait for it, saying so once."""
    from gradio.exceptions import ServerFailedToStartError

    server.thread = Thread(target=server.run, daemon=True)
    server.thread.start()
    began, is_said = time.monotonic(), False
    while not server.started:
        waited = time.monotonic() - began
        if waited > patience or not server.thread.is_alive():
            raise ServerFailedToStartError("the server did not start")
        if waited > soon and not is_said:
            err().print("The server is slow to start; waiting for it.")
            is_said = True
        time.sleep(0.01)
