"""Requests to servers with OpenAI's API by the `openai` library, which has the timeouts, retries and Retry-After.

Redirects are not followed, so that the API key and the texts go only to the given server; replies are limited in size.
"""

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any, Literal, TypeVar
from urllib.parse import urlsplit

from divbench.core.errors import ConfigurationError, DivBenchError, need

KEY_VARIABLE = "DIVBENCH_API_KEY"
CHAT_PATH = "/chat/completions"
RETRIES = 5
MAX_REPLY_BYTES = 1 << 28
_QUOTED = 200  # characters quoted from a server's reply
_TOO_LONG = (  # as said by vLLM, OpenAI, SGLang, Anthropic; llama.cpp; Groq; Gemini; text-generation-inference
    *("context length", "context_length", "context window", "model length", "max_model_len", "too long"),
    *("context size", "too many tokens", "reduce the length"),
    *("maximum number of tokens allowed", "`max_new_tokens` must be"),
)
_NO_QUOTA = (  # as said by OpenAI and its imitators, Anthropic, DeepSeek, and OpenRouter
    *("insufficient_quota", "exceeded your current quota", "credit balance is too low", "insufficient balance"),
    "insufficient credits",
)
_FILTERED = ("content_filter", "content management policy", "responsibleaipolicy")

Item = TypeVar("Item")
Result = TypeVar("Result")


class ServerFault(DivBenchError):
    """Raised if a server is unreachable, busy or failing to the last attempt, refuses, or sends a malformed reply."""

    def __init__(
        self,
        message: str,
        hint: str = "",
        status: int | None = None,
        reply: str = "",
        kind: Literal["refused", "malformed", "transient"] = "refused",
    ) -> None:
        super().__init__(message, hint)
        self.status = status
        self.reply = reply  # the beginning of the server's message
        self.kind = kind

    @property
    def too_long(self) -> bool:
        """Whether the server refused because the text is longer than the model's context."""
        return self.status in {400, 413, 422} and any(words in self.reply.lower() for words in _TOO_LONG)

    @property
    def filtered(self) -> bool:
        """Whether the server's content filter refused the request."""
        return self.status in {400, 403, 422} and any(words in self.reply.lower() for words in _FILTERED)


def malformed(what: str) -> ServerFault:
    """Return the error for a malformed reply."""
    message = f"the server sent a malformed reply: {what[:_QUOTED]}"
    return ServerFault(message, "check that the address is that of the right server", kind="malformed")


@dataclass(frozen=True, slots=True)
class Server:
    """The address of a server and its key. It holds no connection, so it can be copied to other processes."""

    url: str  # without /v1
    key: str = field(repr=False)
    timeout: float  # maximum wait in seconds for the next bytes of a reply

    @classmethod
    def at(cls, url: str, timeout: float = 120.0) -> "Server":
        """Check an address such as `http://localhost:8000`, with or without `/v1`, and find the key."""
        try:
            parts = urlsplit(url)
            valid = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
        except ValueError:
            valid = False
        if not valid or not url.isprintable() or any(letter in "@?# " for letter in url):
            shown = "the given text" if "@" in url else repr(url)  # it may contain a password
            raise ConfigurationError(f"{shown} is not a server's address", "give one such as http://localhost:8000")
        if not timeout > 0:
            raise ConfigurationError(f"a timeout of {timeout} seconds", "give a number above 0")
        key = os.environ.get(KEY_VARIABLE, "").strip()
        if not all("!" <= letter <= "~" for letter in key):  # an HTTP library's error would show it
            raise ConfigurationError("the server's key has characters that no key has", "copy it again")
        return cls(url.rstrip("/").removesuffix("/v1").rstrip("/"), key, timeout)

    def connect(self) -> Any:
        """Return an `openai.OpenAI` as a context manager; several threads may share it."""
        openai = need("openai", "servers")
        return openai.OpenAI(
            base_url=f"{self.url}/v1",
            api_key=self.key or "EMPTY",  # as vLLM's documentation writes it for a server without keys
            timeout=self.timeout,
            max_retries=RETRIES,
            http_client=openai.DefaultHttpxClient(
                follow_redirects=False, event_hooks={"response": [_limit_size, _stop_without_quota]}
            ),
        )

    def request(self, client: Any, path: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Return the JSON object with which the server replies to a POST of `body`, or without one to a GET."""
        openai = need("openai", "servers")
        try:
            if body is None:
                reply = client.get(path, cast_to=bytes)
            else:
                reply = client.post(path, cast_to=bytes, body=dict(body))
        except openai.APIStatusError as error:
            raise self._refusal(error.response) from None
        except openai.APIConnectionError as error:
            raise self._failure(type(error.__cause__ or error).__name__) from None
        try:
            document = json.loads(self._without_key(reply.decode()))
        except (ValueError, RecursionError):
            raise malformed("no JSON") from None
        if not isinstance(document, dict):
            raise malformed("no JSON object")
        return document

    def map(self, items: Sequence[Item], work: Callable[[Any, Item], Result], concurrency: int) -> list[Result]:
        """Return `work(client, item)` per item, `concurrency` at a time; after a failure no more are begun."""
        if not items:
            return []
        pool = ThreadPoolExecutor(concurrency)
        with self.connect() as client:
            try:
                futures = [pool.submit(work, client, item) for item in items]
                for future in as_completed(futures):
                    future.result()
            finally:
                pool.shutdown(wait=False, cancel_futures=True)
        return [future.result() for future in futures]

    def _refusal(self, response: Any) -> ServerFault:
        status = response.status_code
        if 300 <= status < 400:
            target = response.headers.get("Location", "").partition("//")[2]  # may contain a password or key
            host = re.split(r"[/?#]", target)[0].rpartition("@")[2][:_QUOTED]
            message = f"the server redirects (HTTP {status}{f', to {host}' if host else ''})"
            return ServerFault(message, "redirects are not followed: give the final address", status)
        text = self._without_key(response.text)
        reply, said = (
            " ".join("".join(c if c.isprintable() else " " for c in words).split())[:_QUOTED]
            for words in (text, _said(text))
        )
        reason = f"HTTP {status}{f': {said}' if said else ''}"
        if is_without_quota(status, text):
            hint = "add credit or raise the limit with the provider, or use another key"
            return ServerFault(f"the quota of the key in {KEY_VARIABLE} is used up: {reason}", hint, 402, reply)
        if status in {408, 409, 429} or status >= 500:
            return self._failure(reason, status)
        key_hint = f"put a key that {self.url} accepts into {KEY_VARIABLE}"
        denied = f"the key may not use this model: ask the provider for access, or put another into {KEY_VARIABLE}"
        hints = {401: key_hint, 403: denied if self.key else key_hint}
        hints[404] = f"check the address {self.url} and the model's name"
        return ServerFault(f"the server refused: {reason}", hints.get(status, ""), status, reply)

    def _without_key(self, text: str) -> str:
        return text.replace(self.key, "[key]") if self.key else text

    def _failure(self, reason: str, status: int | None = None) -> ServerFault:
        message = f"the server failed {RETRIES + 1} times, the last time with {reason}"
        return ServerFault(message, f"check that {self.url} runs and is not overloaded", status, kind="transient")


def _said(text: str) -> str:
    """Return the message in a server's error, which is mostly JSON; else the whole text."""
    try:
        document = json.loads(text)
        return str(document.get("error", document)["message"])
    except (ValueError, RecursionError, AttributeError, LookupError, TypeError):
        return text


def is_without_quota(status: int, text: str) -> bool:
    """Whether a server refuses because the account has no money or quota left, which no retry changes."""
    return status == 402 or (status in {400, 403, 429} and any(words in text.lower() for words in _NO_QUOTA))


def _stop_without_quota(response: Any) -> None:
    """Tell the library not to retry a request that is refused for lack of quota."""
    if response.status_code in {402, 403, 429}:
        response.read()
        if is_without_quota(response.status_code, response.text):
            response.headers["x-should-retry"] = "false"


def _limit_size(response: Any) -> None:
    """Make reading a response end with a fault if it is too large."""
    httpx = need("httpx2", "servers")

    class Limited(httpx.SyncByteStream):  # type: ignore[misc, name-defined]
        def __iter__(self) -> Iterator[bytes]:
            size = 0
            for chunk in stream:
                size += len(chunk)
                if size > MAX_REPLY_BYTES:
                    raise malformed(f"more than {MAX_REPLY_BYTES:,} bytes")
                yield chunk

        def close(self) -> None:
            stream.close()

    stream, response.stream = response.stream, Limited()


def first_choice(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the first choice of a reply."""
    choices = document.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        error = document.get("error")  # so proxies pass on others' errors
        raise malformed(f"no choices, but the error {json.dumps(error)}" if error else "no choices")
    choice: dict[str, Any] = choices[0]
    return choice


def reported_model(document: Mapping[str, Any]) -> str | None:
    """Return the server's name for its model, if it gives a valid one; for a path on its machine, the last part."""
    name = document.get("model")
    if not isinstance(name, str) or not re.fullmatch(r"[\w./:@+-]{1,200}", name):
        return None
    return PurePosixPath(name).name if name.startswith("/") else name
