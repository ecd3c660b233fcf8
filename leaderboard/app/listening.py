"""The address that the board listens on."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager

from divbench.core.errors import ConfigurationError


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
