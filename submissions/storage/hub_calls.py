"""Calls to the Hub: their timeout, and the errors that they raise."""

from collections.abc import Iterator
from contextlib import contextmanager

from divbench.core.errors import first_line
from divbench.core.hub_retries import cause_of, connection_error, is_transient
from submissions.storage.commits import NoWriteAccess, StoreFault

SILENCE = 60.0  # timeout in seconds of a connection without traffic


class Damaged(Exception):
    """A download does not match the repository's listing."""


def limit_silence() -> None:
    """Set a timeout for the Hub client if it has none; otherwise it would wait for ever on a dead connection.

    The client has one session per process. A timeout that somebody has set is left unchanged.
    """
    from huggingface_hub import get_session
    from huggingface_hub.utils import httpx  # httpx or httpx2, whichever it uses

    session = get_session()
    if session.timeout == httpx.Timeout(None):
        session.timeout = httpx.Timeout(SILENCE)


@contextmanager
def hub_faults(address: str) -> Iterator[None]:
    """Convert an error of the client or of the connection into a `StoreFault` with a hint."""
    try:
        yield
    except Exception as error:
        fault = _fault_of(cause_of(error), address)
        if fault is None:
            raise
        raise fault from error


def _fault_of(error: BaseException, address: str) -> StoreFault | None:
    """Return the fault for an error of the Hub or of the connection; None for other errors."""
    from huggingface_hub.errors import HfHubHTTPError, RepositoryNotFoundError, RevisionNotFoundError

    kind = StoreFault
    if isinstance(error, RepositoryNotFoundError):
        what, hint = "cannot be seen", "check its name, or log in: hf auth login"
    elif isinstance(error, RevisionNotFoundError):
        what, hint = "has no such commit", "start again from the latest commit"
    elif isinstance(error, HfHubHTTPError) and error.response.status_code in {401, 403}:
        reading = error.response.request.method in {"GET", "HEAD"}
        kind = StoreFault if reading else NoWriteAccess
        what, right = ("may not be read", "read") if reading else ("may not be changed", "write")
        hint = f"use a token with {right} access: hf auth login"
    elif isinstance(error, HfHubHTTPError):
        what = "is refused by the Hub"
        hint = "retry in a few minutes" if is_transient(error) else "check the repository's page"
    elif isinstance(error, Damaged):
        what, hint = "gives damaged files", "check the repository's page"
    elif isinstance(error, OSError | ValueError | connection_error()):  # ValueError: a reply that is not JSON
        what, hint = "is out of reach", "check the network connection, then whether the store's head changed"
    else:
        return None
    return kind(f"{address} {what}: {first_line(error)}", hint)
