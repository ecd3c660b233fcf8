"""A server that answers in JSON, asked with patience: it may be busy, unwell, gone, or not what it should be.

What passes is tried again, each time after a longer wait; what does not is an error at once. While the server asks to
be left alone, no thread asks. Answers have a limit in size and time. Nobody is followed elsewhere, and the key is shown
to the server alone.
"""

import json
import os
import re
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
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

from datasets_build.errors import ConfigurationError, DivBenchError

KEY_VARIABLE = "DIVBENCH_API_KEY"
ATTEMPTS = 6
FIRST_WAIT_SECONDS = 0.5  # before the second attempt; doubled before each after it
LONGEST_WAIT_SECONDS = 60.0  # whatever the server asks for
_WORDS = 200  # characters of a refusal
_WORDS_BYTES = 1 << 16
_TOO_LONG = ("context length", "context window", "model length", "max_model_len", "too long", "too many tokens")

Trouble = Literal["refused", "malformed", "passing"]
Item = TypeVar("Item")
Found = TypeVar("Found")


class ServerFault(DivBenchError):
    """A server that does not answer, refuses, or answers with what cannot be right.

    Attributes:
        status: Its HTTP status, if that was the trouble.
        said: The beginning of its words, in plain text.
        trouble: *passing* (still gone, busy or unwell at the last), *malformed* (what came is not right), or *refused*.
    """

    def __init__(
        self, message: str, hint: str = "", status: int | None = None, said: str = "", trouble: Trouble = "refused"
    ) -> None:
        super().__init__(message, hint)
        self.status = status
        self.said = said
        self.trouble = trouble

    @property
    def too_long(self) -> bool:
        """Whether the server refused because the text does not fit the model's context."""
        return self.status in {400, 413, 422} and any(words in self.said.lower() for words in _TOO_LONG)


class _Passing(Exception):
    """A failure that may not happen again."""

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


class _Hold:
    """Until when a server wants to be left alone: it says so to one request and means all.

    A copy in another process, which may have another clock, begins anew.
    """

    def __init__(self) -> None:
        self._resume_at = 0.0
        self._lock = threading.Lock()

    def __reduce__(self) -> tuple[type["_Hold"], tuple[()]]:
        return _Hold, ()

    def extend(self, seconds: float) -> None:
        with self._lock:
            self._resume_at = max(self._resume_at, time.monotonic() + min(seconds, LONGEST_WAIT_SECONDS))

    def wait(self, halt: threading.Event) -> None:
        while (left := self._resume_at - time.monotonic()) > 0 and not halt.wait(left):
            pass  # it may have grown meanwhile


class Endpoint:
    """A server's address and how to ask there. It holds no connection, so it can be handed to other processes.

    Attributes:
        base: The address, without `/v1`.
    """

    def __init__(
        self, url: str, key: str | None = None, timeout: float = 120.0, key_variable: str = KEY_VARIABLE
    ) -> None:
        """Nothing is asked yet.

        Args:
            url: Such as `http://localhost:8000`, with or without `/v1`.
            key: What the server asks for, if anything; None: what the environment variable says.
            timeout: Seconds without a sign of the server, and again for all of its answer after the first.
            key_variable: The environment variable.

        Raises:
            ConfigurationError: The address or the key cannot be one, or the time is none.
        """
        if not timeout > 0:
            raise ConfigurationError(f"a timeout of {timeout} seconds", "give a time above 0")
        self.base = _base_of(url)
        self._key = _usable_key(os.environ.get(key_variable, "") if key is None else key)
        self._key_variable = key_variable
        self._timeout = timeout
        self._hold = _Hold()

    def client(self, connections: int = 1) -> Any:
        """The connections to ask over, as a context manager; several threads may share them."""
        http = _http()
        return http.Client(
            headers={"Accept-Encoding": "identity"} | ({"Authorization": f"Bearer {self._key}"} if self._key else {}),
            timeout=self._timeout,
            limits=http.Limits(max_connections=connections),
            follow_redirects=False,  # the key and the texts are for this server alone
        )

    def ask(
        self,
        client: Any,
        path: str,
        body: Mapping[str, Any] | None = None,
        limit: int = 1 << 20,
        halt: threading.Event | None = None,
        retry_cut: bool = True,
    ) -> Any:
        """The JSON document that the server answers with.

        Args:
            client: As `client` gives it.
            path: Such as `/v1/models`.
            body: What to post as JSON; None: nothing is posted.
            limit: The most bytes that an answer may have.
            halt: When it is set, waits end and nothing more is asked.
            retry_cut: Whether an answer that breaks off is asked for again; else it is an error as one that is no JSON.

        Raises:
            ServerFault: The server could not be reached, is still busy or unwell after all attempts, refused, or gave
                too much or no JSON; or `halt` is set.
        """
        halt = halt or threading.Event()
        retrying = Retrying(
            stop=stop_after_attempt(ATTEMPTS) | stop_when_event_set(halt),
            wait=_pause,
            sleep=sleep_using_event(halt),
            retry=retry_if_exception_type(_Passing),
            reraise=True,
        )
        try:
            answer = retrying(self._once, client, path, body, limit, halt, retry_cut)
        except _Passing as error:
            raise ServerFault(
                f"{self.base}{path} failed {ATTEMPTS} times, at last with {error}",
                "look whether the server runs and is not overloaded, or ask for less at once",
                error.status,
                trouble="passing",
            ) from error
        try:
            return json.loads(answer)
        except (ValueError, RecursionError) as error:
            raise self.wrong(path, "no JSON") from error

    def each(
        self, items: Sequence[Item], work: Callable[[Any, Item, threading.Event], Found], concurrency: int
    ) -> list[Found]:
        """What `work(client, item, halt)` finds of each item, so many at once; the first failure ends the rest."""
        if not items:
            return []
        halt = threading.Event()
        with self.client(concurrency) as client, ThreadPoolExecutor(concurrency) as pool:
            asked = [pool.submit(work, client, item, halt) for item in items]
            try:
                wait(asked, return_when=FIRST_EXCEPTION)
                for one in asked:
                    if one.done():
                        one.result()  # raises if it failed: the rest need not be asked then
                return [one.result() for one in asked]
            finally:
                halt.set()
                pool.shutdown(wait=False, cancel_futures=True)

    def wrong(self, path: str, what: str) -> ServerFault:
        """The error that an answer cannot be right."""
        return ServerFault(
            f"{self.base}{path} gave an answer that cannot be right: {what}",
            "is this the address of the right server?",
            trouble="malformed",
        )

    def _once(
        self, client: Any, path: str, body: Mapping[str, Any] | None, limit: int, halt: threading.Event, retry_cut: bool
    ) -> bytes:
        self._hold.wait(halt)
        if halt.is_set():
            raise ServerFault(f"{self.base}{path} was not asked: the work was ended")
        begun = False
        try:
            with client.stream("GET" if body is None else "POST", self.base + path, json=body) as answer:
                if answer.status_code != 200:
                    raise self._refusal(answer, path)
                begun = True
                found = self._receive(answer, limit)
        except _http().RequestError as error:
            if begun and not retry_cut and not isinstance(error, _http().TimeoutException):
                raise self.wrong(path, "it breaks off") from error
            raise _Passing(f"{type(error).__name__} {error}".strip()) from error
        if len(found) > limit:
            raise self.wrong(path, f"more than {limit:,} bytes")
        return found

    def _receive(self, answer: Any, limit: int) -> bytes:
        """The body; of one beyond the limit, more than the limit but not all."""
        ends = time.monotonic() + self._timeout
        received = bytearray()
        for part in answer.iter_bytes():
            received += part
            if len(received) > limit:
                break
            if time.monotonic() > ends:  # a server that sends a byte now and then never times out by itself
                raise _Passing(f"an answer that was not complete after {self._timeout:g} seconds")
        return bytes(received)

    def _refusal(self, answer: Any, path: str) -> ServerFault | _Passing:
        status: int = answer.status_code
        if 300 <= status < 400:
            place = answer.headers.get("Location", "").partition("//")[2]  # an address there may have a password or key
            host = re.split(r"[/?#]", place)[0].rpartition("@")[2][:_WORDS]
            return ServerFault(
                f"{self.base}{path} sends us elsewhere (HTTP {status}{f', to {host}' if host else ''})",
                "we follow nobody: give the address where the server itself is",
                status,
            )
        said = self._words(self._receive(answer, _WORDS_BYTES))
        what = f"HTTP {status}{f': {said}' if said else ''}"
        if status == 429 or status >= 500:
            self._hold.extend(retry_after_seconds(answer.headers.get("Retry-After", "")))
            return _Passing(what, status)
        rights = f"give a key that it takes, by {self._key_variable}"
        hints = {401: rights, 403: rights, 404: "look at the address and at the model's name"}
        return ServerFault(f"{self.base}{path} refused: {what}", hints.get(status, ""), status, said)

    def _words(self, body: bytes) -> str:
        text = body.decode("utf-8", "replace")
        if self._key:
            text = text.replace(self._key, "[key]")
        return " ".join("".join(c if c.isprintable() else " " for c in text).split())[:_WORDS]


def _http() -> Any:
    """The client library that huggingface_hub brings along, httpx or its successor, so that no other is needed."""
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
        shown = "what was given" if "@" in url else repr(url)  # there may be a password in it
        raise ConfigurationError(f"{shown} is no address of a server", "give one such as http://localhost:8000")
    return url.rstrip("/").removesuffix("/v1").rstrip("/")


def _usable_key(key: str) -> str:
    key = key.strip()
    if not all(
        "!" <= letter <= "~" for letter in key
    ):  # no header can hold it, and the errors about that would show it
        raise ConfigurationError("the server's key has characters that no key has", "copy it again")
    return key


def _pause(state: RetryCallState) -> float:
    """How many seconds to wait: longer each time, and not in step with others."""
    backoff = wait_exponential(FIRST_WAIT_SECONDS, LONGEST_WAIT_SECONDS) + wait_random(0, FIRST_WAIT_SECONDS)
    return backoff(state)


def retry_after_seconds(header: str) -> float:
    """What a Retry-After header asks for, a number of seconds or a date; 0 where it is neither, or past.

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
