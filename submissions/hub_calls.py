"""Calls to the Hub: which are tried again and when, and what is raised where none of them goes well."""

from collections.abc import Iterator
from contextlib import contextmanager

from tenacity import RetryCallState, Retrying, retry_if_exception, stop_after_attempt, wait_exponential, wait_random

from submissions.commits import StoreFault

ATTEMPTS = 6
LONGEST_WAIT = 60.0  # seconds before the next attempt, even where the Hub names a later time
PASSING = frozenset({408, 409, 425, 429})  # statuses under 500 after which the same request may go well


class Damaged(Exception):
    """What came is not what the repository is said to hold."""


def retrying() -> Retrying:
    """Calls a function, and again while that may help; the last error is raised as it is."""
    return Retrying(stop=stop_after_attempt(ATTEMPTS), wait=_wait, retry=retry_if_exception(may_pass), reraise=True)


def may_pass(error: BaseException) -> bool:
    """Whether the same call may go well later: the client itself tries only some of its requests again."""
    from huggingface_hub.errors import HfHubHTTPError, OfflineModeIsEnabled

    error = _root(error)
    if isinstance(error, HfHubHTTPError):
        return error.response.status_code in PASSING or error.response.status_code >= 500
    broken = isinstance(error, Damaged | ConnectionError | TimeoutError | _connection_error())
    return broken and not isinstance(error, OfflineModeIsEnabled)


@contextmanager
def hub_faults(address: str) -> Iterator[None]:
    """Give an error of the client, or of the connection, as a StoreFault that says what to do about it."""
    try:
        yield
    except Exception as error:
        fault = _fault_of(_root(error), address)
        if fault is None:
            raise
        raise fault from error


def _fault_of(error: BaseException, address: str) -> StoreFault | None:
    """The fault that an error amounts to; None where it is something else."""
    from huggingface_hub.errors import HfHubHTTPError, RepositoryNotFoundError, RevisionNotFoundError

    if isinstance(error, RepositoryNotFoundError):
        what, mend = "cannot be seen", "look at its name, or log in: hf auth login"
    elif isinstance(error, RevisionNotFoundError):
        what, mend = "has no such commit", "begin again at the head"
    elif isinstance(error, HfHubHTTPError) and error.response.status_code in {401, 403}:
        what, mend = "may not be changed", "use a token with the right to write: hf auth login; or make a pull request"
    elif isinstance(error, HfHubHTTPError):
        what = "is refused by the Hub"
        mend = "try again in some minutes" if may_pass(error) else "look at the repository's page"
    elif isinstance(error, Damaged):
        what, mend = "gives damaged files", "look at the repository's page"
    elif isinstance(error, OSError | ValueError | _connection_error()):  # ValueError: an answer that is no JSON
        what, mend = "is out of reach", "look at the network, then again at the store's head"
    else:
        return None
    said = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    return StoreFault(f"{address} {what}: {said}", mend)


def _root(error: BaseException) -> BaseException:
    """The error itself: an upload's comes wrapped."""
    return error.__cause__ if type(error) is RuntimeError and error.__cause__ else error


def _connection_error() -> type[Exception]:
    """What the client raises where a connection breaks: neither an `HfHubHTTPError` nor an `OSError`."""
    from huggingface_hub.utils import httpx  # type: ignore[attr-defined] # httpx or httpx2, whichever it uses

    found: type[Exception] = httpx.HTTPError
    return found


def _wait(state: RetryCallState) -> float:
    """Seconds before the next attempt: longer each time, and as long as the Hub asks for."""
    usual = wait_exponential(multiplier=0.5, max=20)(state) + wait_random(0, 1)(state)
    error = state.outcome.exception() if state.outcome else None
    return min(max(usual, _asked_for(error)), LONGEST_WAIT)


def _asked_for(error: BaseException | None) -> float:
    """The seconds for which the Hub wants to be left alone."""
    from huggingface_hub.errors import HfHubHTTPError
    from huggingface_hub.utils import parse_ratelimit_headers  # type: ignore[attr-defined] # not in its __all__

    if not isinstance(error, HfHubHTTPError) or error.response.status_code != 429:
        return 0.0
    named = error.response.headers.get("Retry-After", "")
    limit = parse_ratelimit_headers(error.response.headers)
    return float(named) if named.isdigit() else float(limit.reset_in_seconds) if limit else 0.0
