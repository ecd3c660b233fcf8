"""Calls to the Hub: for how long they may stand still, and what is raised where none of them goes well."""

from collections.abc import Iterator
from contextlib import contextmanager

from datasets_build.errors import first_line
from datasets_build.hub_retries import cause_of, connection_error, is_transient
from submissions.storage.commits import NoWriteAccess, StoreFault

SILENCE = 60.0  # seconds for which a connection may stand still


class Damaged(Exception):
    """What came is not what the repository is said to hold."""


def limit_silence() -> None:
    """Give the client a limit where it has none: on a connection that died unseen it would wait for ever.

    It has one session for all calls of a process. One that somebody has given a limit is left so.
    """
    from huggingface_hub import get_session
    from huggingface_hub.utils import httpx  # httpx or httpx2, whichever it uses

    session = get_session()
    if session.timeout == httpx.Timeout(None):
        session.timeout = httpx.Timeout(SILENCE)


@contextmanager
def hub_faults(address: str) -> Iterator[None]:
    """Give an error of the client, or of the connection, as a StoreFault that says what to do about it."""
    try:
        yield
    except Exception as error:
        fault = _fault_of(cause_of(error), address)
        if fault is None:
            raise
        raise fault from error


def _fault_of(error: BaseException, address: str) -> StoreFault | None:
    """The fault that an error amounts to; None where it is something else."""
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
        hint = f"use a token with the right to {right}: hf auth login"
    elif isinstance(error, HfHubHTTPError):
        what = "is refused by the Hub"
        hint = "retry in a few minutes" if is_transient(error) else "check the repository's page"
    elif isinstance(error, Damaged):
        what, hint = "gives damaged files", "check the repository's page"
    elif isinstance(error, OSError | ValueError | connection_error()):  # ValueError: a reply that is no JSON
        what, hint = "is out of reach", "check the network connection, then whether the store's head changed"
    else:
        return None
    return kind(f"{address} {what}: {first_line(error)}", hint)
