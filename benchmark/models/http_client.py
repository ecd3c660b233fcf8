"""A client for JSON servers, and helpers shared by clients of OpenAI's API.

Transient failures are retried with growing waits; other failures raise an error at once. While a server asks for a
pause, no thread sends a request. The size and duration of answers are limited. Redirects are not followed, so that the
API key is sent only to the given server.
"""

import json
import math
import os
import re
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import PurePosixPath
from typing import Any, Literal, TypeVar
from urllib.parse import urlsplit

from tenacity import (
    RetryCallState,
    Retrying,
    retry_if_exception_type,
    sleep_using_event,
    stop_after_attempt,
    stop_when_event_set,
    wait_exponential,
    wait_random,
)

from divbench.core.errors import ConfigurationError, DivBenchError

KEY_VARIABLE = "DIVBENCH_API_KEY"
CHAT_PATH = "/v1/chat/completions"
ATTEMPTS = 6
FIRST_WAIT_SECONDS = 0.5  # before the second attempt; doubled before each later one
LONGEST_WAIT_SECONDS = 60.0  # even if the server asks for more
_QUOTED = 200  # characters quoted from a server's message
_QUOTED_BYTES = 1 << 16
_TOO_LONG = (  # as said by vLLM, OpenAI, SGLang, Anthropic; llama.cpp; Groq; Gemini; text-generation-inference
    *("context length", "context_length", "context window", "model length", "max_model_len", "too long"),
    *("context size", "too many tokens", "reduce the length"),
    *("maximum number of tokens allowed", "`max_new_tokens` must be"),
)
_FILTERED = ("content_filter", "content management policy", "responsibleaipolicy")

FaultKind = Literal["refused", "malformed", "transient"]
Item = TypeVar("Item")
Result = TypeVar("Result")


class ServerFault(DivBenchError):
    """Raised if a server does not answer, refuses a request, or sends a malformed answer.

    Attributes:
        status: The HTTP status, if there was one.
        said: The beginning of the server's message, as plain text.
        kind: *transient* (still unreachable, busy or failing at the last attempt), *malformed*, or *refused*.
    """

    def __init__(
        self, message: str, hint: str = "", status: int | None = None, said: str = "", kind: FaultKind = "refused"
    ) -> None:
        super().__init__(message, hint)
        self.status = status
        self.said = said
        self.kind = kind

    @property
    def too_long(self) -> bool:
        """Whether the server refused because the text is longer than the model's context."""
        return self.status in {400, 413, 422} and any(words in self.said.lower() for words in _TOO_LONG)

    @property
    def filtered(self) -> bool:
        """Whether the server's content filter refused the request."""
        return self.status in {400, 403, 422} and any(words in self.said.lower() for words in _FILTERED)


_headers_end = threading.local()  # `at`: when the headers that this thread receives must be complete


def _bound_headers(event: str, info: Mapping[str, Any]) -> None:
    """Bound the time that a server may take for headers: the client's own timeout starts anew with every byte.

    A trace of httpcore, which calls it for each step of a request.
    """
    name = event.partition(".")[2]
    if name == "receive_response_headers.started":
        _headers_end.at = time.monotonic() + 2 * info["request"].extensions["timeout"]["read"]
    elif name.startswith("receive_response_headers."):
        _headers_end.at = math.inf
    elif name in {"connect_tcp.complete", "start_tls.complete"}:
        read = info["return_value"].read

        def bounded(most: int, timeout: float | None = None) -> bytes:
            if time.monotonic() > getattr(_headers_end, "at", math.inf):
                raise _TransientError("headers that were not complete in time")
            received: bytes = read(most, timeout)
            return received

        info["return_value"].read = bounded


class MalformedError(Exception):
    """Raised for a malformed answer; the message says what is wrong with it."""


class _TransientError(Exception):
    """A failure that a retry may cure."""

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


class _Pause:
    """The pause that a server has asked for, which applies to all threads.

    A copy in another process starts without a pause, because that process may have another clock.
    """

    def __init__(self) -> None:
        self._resume_at = 0.0
        self._lock = threading.Lock()

    def __reduce__(self) -> tuple[type["_Pause"], tuple[()]]:
        return _Pause, ()

    def extend(self, seconds: float) -> None:
        with self._lock:
            self._resume_at = max(self._resume_at, time.monotonic() + min(seconds, LONGEST_WAIT_SECONDS))

    def wait(self, halt: threading.Event) -> None:
        while (left := self._resume_at - time.monotonic()) > 0 and not halt.wait(left):
            pass  # another thread may have extended it meanwhile


class Endpoint:
    """A server's address and how to call it. It holds no connection, so it can be copied to other processes.

    Attributes:
        base: The address, without `/v1`.
    """

    def __init__(self, url: str, key: str | None = None, timeout: float = 120.0) -> None:
        """Check the address and find the key; no request is sent.

        Args:
            url: Address such as `http://localhost:8000`, with or without `/v1`.
            key: API key; None: from the environment variable `KEY_VARIABLE`.
            timeout: Maximum wait in seconds for the first byte of an answer, and again for the rest of its headers, and
                of it.

        Raises:
            ConfigurationError: The address or the key is malformed, or the timeout is not positive.
        """
        if not timeout > 0:
            raise ConfigurationError(f"a timeout of {timeout} seconds", "give a number above 0")
        self.base = _base_of(url)
        self._key = _checked_key(os.environ.get(KEY_VARIABLE, "") if key is None else key)
        self._timeout = timeout
        self._pause = _Pause()

    def client(self, connections: int = 1) -> Any:
        """Return a connection pool as a context manager; several threads may share it."""
        http = _http()
        return http.Client(
            headers={"Accept-Encoding": "identity"} | ({"Authorization": f"Bearer {self._key}"} if self._key else {}),
            timeout=self._timeout,
            limits=http.Limits(max_connections=connections),
            follow_redirects=False,  # the key and the texts must go only to this server
        )

    def request(
        self,
        client: Any,
        path: str,
        body: Mapping[str, Any] | None = None,
        limit: int = 1 << 20,
        halt: threading.Event | None = None,
        retry_incomplete: bool = True,
    ) -> Any:
        """Send a request and return the JSON document of the answer.

        Args:
            client: Connection pool, from `client`.
            path: Path such as `/v1/models`.
            body: JSON document to POST; None: GET.
            limit: Maximum number of bytes of the answer.
            halt: Event that ends all waits; once it is set, no request is sent.
            retry_incomplete: Whether to retry if an answer breaks off; otherwise it counts as malformed.

        Raises:
            ServerFault: The server is unreachable, is still busy or failing after all attempts, or refused; the answer
                is too large or is not JSON; or `halt` is set.
        """
        halt = halt or threading.Event()
        retrying = Retrying(
            stop=stop_after_attempt(ATTEMPTS) | stop_when_event_set(halt),
            wait=_backoff,
            sleep=sleep_using_event(halt),
            retry=retry_if_exception_type(_TransientError),
            reraise=True,
        )
        try:
            answer = retrying(self._request_once, client, path, body, limit, halt, retry_incomplete)
        except _TransientError as error:
            raise ServerFault(
                f"{self.base}{path} failed {ATTEMPTS} times, the last time with {error}",
                "check that the server runs and is not overloaded",
                error.status,
                kind="transient",
            ) from error
        try:
            return json.loads(answer)
        except (ValueError, RecursionError) as error:
            raise self.malformed(path, "no JSON") from error

    def map(
        self, items: Sequence[Item], work: Callable[[Any, Item, threading.Event], Result], concurrency: int
    ) -> list[Result]:
        """Return `work(client, item, halt)` per item, `concurrency` at a time; the first failure stops the rest."""
        if not items:
            return []
        halt = threading.Event()
        with self.client(concurrency) as client, ThreadPoolExecutor(concurrency) as pool:
            futures = [pool.submit(work, client, item, halt) for item in items]
            try:
                wait(futures, return_when=FIRST_EXCEPTION)
                for future in futures:
                    if future.done():
                        future.result()  # raises if it failed: the others need not be waited for
                return [future.result() for future in futures]
            finally:
                halt.set()
                pool.shutdown(wait=False, cancel_futures=True)

    def malformed(self, path: str, what: str) -> ServerFault:
        """Return the error for a malformed answer; `what` may quote the server."""
        return ServerFault(
            f"{self.base}{path} sent a malformed answer: {self._quoted(what.encode('utf-8', 'replace'))}",
            "check that this is the address of the right server",
            kind="malformed",
        )

    def _request_once(
        self,
        client: Any,
        path: str,
        body: Mapping[str, Any] | None,
        limit: int,
        halt: threading.Event,
        retry_incomplete: bool,
    ) -> bytes:
        self._pause.wait(halt)
        if halt.is_set():
            raise ServerFault(f"{self.base}{path} was not called, because the work was stopped")
        begun = False
        try:
            method, extensions = "GET" if body is None else "POST", {"trace": _bound_headers}
            with client.stream(method, self.base + path, json=body, extensions=extensions) as answer:
                if answer.status_code != 200:
                    raise self._refusal(answer, path)
                begun = True
                received = self._receive(answer, limit)
        except _http().RequestError as error:
            if begun and not retry_incomplete and not isinstance(error, _http().TimeoutException):
                raise self.malformed(path, "it breaks off") from error
            raise _TransientError(f"{type(error).__name__} {error}".strip()) from error
        if len(received) > limit:
            raise self.malformed(path, f"more than {limit:,} bytes")
        return received

    def _receive(self, answer: Any, limit: int) -> bytes:
        """Return the body, or if it is over the limit, its beginning, which is also over the limit."""
        ends = time.monotonic() + self._timeout
        received = bytearray()
        for chunk in answer.iter_bytes():
            received += chunk
            if len(received) > limit:
                break
            if time.monotonic() > ends:  # a server that keeps sending single bytes would never time out
                raise _TransientError(f"an answer that was not complete after {self._timeout:g} seconds")
        return bytes(received)

    def _refusal(self, answer: Any, path: str) -> ServerFault | _TransientError:
        status: int = answer.status_code
        if 300 <= status < 400:
            target = answer.headers.get("Location", "").partition("//")[2]  # may contain a password or key
            host = re.split(r"[/?#]", target)[0].rpartition("@")[2][:_QUOTED]
            return ServerFault(
                f"{self.base}{path} redirects (HTTP {status}{f', to {host}' if host else ''})",
                "redirects are not followed: give the final address",
                status,
            )
        said = self._quoted(self._receive(answer, _QUOTED_BYTES))
        what = f"HTTP {status}{f': {said}' if said else ''}"
        if status == 429 or status >= 500:
            self._pause.extend(retry_after_seconds(answer.headers.get("Retry-After", "")))
            return _TransientError(what, status)
        key_hint = f"put a key that the server accepts into {KEY_VARIABLE}"
        hints = {401: key_hint, 403: key_hint, 404: "check the address and the model's name"}
        return ServerFault(f"{self.base}{path} refused: {what}", hints.get(status, ""), status, said)

    def _quoted(self, body: bytes) -> str:
        text = body.decode("utf-8", "replace")
        if self._key:
            text = text.replace(self._key, "[key]")
        return " ".join("".join(c if c.isprintable() else " " for c in text).split())[:_QUOTED]


def first_choice(document: object) -> dict[str, Any]:
    """Return the first choice of an answer of OpenAI's API.

    Raises:
        MalformedError: There is none.
    """
    choices = document.get("choices") if isinstance(document, dict) else None
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        error = document.get("error") if isinstance(document, dict) else None  # so proxies pass on others' errors
        raise MalformedError(f"no choices, but the error {json.dumps(error)}" if error else "no choices")
    choice: dict[str, Any] = choices[0]
    return choice


def reported_model(document: Mapping[str, Any]) -> str | None:
    """Return the server's name for its model, if it gives a valid one; for a path on its machine, the last part."""
    name = document.get("model")
    if not isinstance(name, str) or not re.fullmatch(r"[\w./:@+-]{1,200}", name):
        return None
    return PurePosixPath(name).name if name.startswith("/") else name


def _http() -> Any:
    """Return the HTTP library that huggingface_hub depends on (httpx or its successor), so that none is added."""
    from huggingface_hub.utils import httpx

    return httpx


def _base_of(url: str) -> str:
    http = _http()
    try:
        parts = urlsplit(url)
        http.URL(url)
        fits = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except (ValueError, http.InvalidURL):
        fits = False
    if not fits or any(letter.isspace() or letter in "@?#" for letter in url):
        shown = "the given text" if "@" in url else repr(url)  # it may contain a password
        raise ConfigurationError(f"{shown} is not a server's address", "give one such as http://localhost:8000")
    return url.rstrip("/").removesuffix("/v1").rstrip("/")


def _checked_key(key: str) -> str:
    key = key.strip()
    if not all("!" <= letter <= "~" for letter in key):  # no header can hold it, and httpx's error would show it
        raise ConfigurationError("the server's key has characters that no key has", "copy it again")
    return key


def _backoff(state: RetryCallState) -> float:
    """Return the seconds to wait before the next attempt: longer each time, with jitter."""
    backoff = wait_exponential(FIRST_WAIT_SECONDS, LONGEST_WAIT_SECONDS) + wait_random(0, FIRST_WAIT_SECONDS)
    return backoff(state)


def retry_after_seconds(header: str) -> float:
    """Read a Retry-After header, a number of seconds or a date; 0 if it is neither, or in the past.

    >>> [retry_after_seconds(header) for header in ("7", "soon", "Wed, 21 Oct 2015 07:28:00 GMT")]
    [7.0, 0.0, 0.0]
    """
    try:
        seconds = float(header)
    except ValueError:
        try:
            at = parsedate_to_datetime(header)
        except (ValueError, OverflowError):
            return 0.0
        seconds = ((at if at.tzinfo else at.replace(tzinfo=UTC)) - datetime.now(UTC)).total_seconds()
    return seconds if seconds > 0 else 0.0
