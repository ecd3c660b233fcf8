"""Retries of Hub calls: after which errors, when, and how often."""

from tenacity import RetryCallState, Retrying, retry_if_exception, stop_after_attempt, wait_exponential, wait_random

ATTEMPTS = 6
LONGEST_WAIT = 60.0  # seconds before the next attempt, even if the Hub asks for more
TRANSIENT = frozenset({408, 409, 425, 429})  # statuses under 500 after which a retry may succeed


def retrying(*also: type[Exception]) -> Retrying:
    """Make a `Retrying` that retries after transient errors and raises the last error unchanged."""

    def again(error: BaseException) -> bool:
        return isinstance(error, also) or is_transient(error)

    return Retrying(stop=stop_after_attempt(ATTEMPTS), wait=_wait, retry=retry_if_exception(again), reraise=True)


def is_transient(error: BaseException) -> bool:
    """Tell whether a retry may succeed; the client itself retries only some of its requests."""
    from huggingface_hub.errors import HfHubHTTPError, OfflineModeIsEnabled

    error = cause_of(error)
    if isinstance(error, HfHubHTTPError):
        return error.response.status_code in TRANSIENT or error.response.status_code >= 500
    broken = isinstance(error, ConnectionError | TimeoutError | connection_error())
    return broken and not isinstance(error, OfflineModeIsEnabled)


def connection_error() -> type[Exception]:
    """Return the client's exception for a broken connection, which is neither an `HfHubHTTPError` nor an `OSError`."""
    from huggingface_hub.utils import httpx  # httpx or httpx2, whichever it uses

    kind: type[Exception] = httpx.HTTPError
    return kind


def cause_of(error: BaseException) -> BaseException:
    """Unwrap an upload's error."""
    return error.__cause__ if type(error) is RuntimeError and error.__cause__ else error


def _wait(state: RetryCallState) -> float:
    """Return the seconds before the next attempt: longer each time, and at least as long as the Hub asks for."""
    usual = wait_exponential(multiplier=0.5, max=20)(state) + wait_random(0, 1)(state)
    error = state.outcome.exception() if state.outcome else None
    return min(max(usual, _asked_for(error)), LONGEST_WAIT)


def _asked_for(error: BaseException | None) -> float:
    """Return the seconds that the Hub asks us to wait."""
    from huggingface_hub.errors import HfHubHTTPError
    from huggingface_hub.utils import parse_ratelimit_headers

    if not isinstance(error, HfHubHTTPError) or error.response.status_code != 429:
        return 0.0
    named = error.response.headers.get("Retry-After", "")
    limit = parse_ratelimit_headers(error.response.headers)
    return float(named) if named.isdigit() else float(limit.reset_in_seconds) if limit else 0.0
