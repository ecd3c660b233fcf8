"""Samples a model behind any server that implements OpenAI's chat completions.

Each response is a separate request, so that one failure costs only one response. A server may reject some requests,
send malformed replies, or break down: if a failure concerns one request, only that request fails; otherwise sampling
ends.

The server chooses the value of a setting that is not sent. vLLM, for example, then uses the values recommended by the
model's publisher: to sample without top_k and top_p, run it with `--generation-config vllm`.
"""

import queue
import re
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from typing import Any

from benchmark.generation.prompting import Failed, Outcome, Request, Sampled, SamplerFault
from benchmark.models.servers import CHAT_PATH, Server, ServerFault, first_choice, malformed, reported_model
from divbench.core.errors import ConfigurationError
from submissions.checking.artefacts import after_thinking
from submissions.checking.checks import MAX_RESPONSE_BYTES

REPLIES = 3  # malformed replies after which a request fails
FAILED_IN_A_ROW = 3  # failed requests that end sampling; those of one prompt count as one if it may be the cause
# Malformed replies end it only before the first response: then it is probably another kind of server.

_OF_ONE_REQUEST = frozenset({400, 408, 409, 413, 422, 451})  # rejections that need not concern other requests
_OF_ITS_PROMPT = _OF_ONE_REQUEST | {500}  # a server may fail on a text every time
_KEPT = "finished responses are kept, and the same command resumes"
REQUIRED = {  # fields that change the distribution of responses, with the hint if a server rejects one
    "temperature": "use a temperature that the server accepts, mostly 1",
    "top_p": "leave out --top-p",
    "top_k": "sample from all tokens: --top-k 0",
}

_SEEDS = _MOST_TOKENS = 1 << 31  # the most that servers accept
UNSEPARATED = Failed(
    "the response contains the model's reasoning, up to </think>: start the server with its reasoning parser "
    "(vLLM: --reasoning-parser), and start afresh"
)
_TRUNCATED = ("max_tokens", "max_output_tokens", "model_length")  # what some servers and proxies say instead of length
_BROKEN_OFF = ("error", "abort")  # servers' finish reasons if the model did not end by itself


@dataclass(frozen=True, slots=True)
class _Result:
    """The result of a request."""

    outcome: Outcome  # the response, or why there is none
    # Whether it shows that the server works; None: only if the server has never worked, it does not.
    healthy: bool | None
    model: str | None = None  # name of the model in the server's reply, if any
    status: int | None = None  # HTTP status of a failure, if it had one


class ServerSampler:
    """Samples a model behind a server. See `Sampler`."""

    def __init__(self, url: str, model: str, concurrency: int = 8, timeout: float = 120.0) -> None:
        """Check the settings; no request is sent yet."""
        if not model.strip() or concurrency < 1:
            raise ConfigurationError(
                f"a model {model!r} with {concurrency} requests at once",
                "name the model, and allow at least one request at once",
            )
        self.signature = f"{model},server"
        self.at_once = 4 * concurrency
        self.reported: str | None = None
        self._model = model
        self._concurrency = concurrency
        self._server = Server.at(url, timeout)
        self._without: frozenset[str] = frozenset()  # fields that the server does not know
        self._lock = threading.Lock()
        self._has_worked = False
        self._failed_in_a_row: set[object] = set()  # since the server last worked

    @property
    def gave_up(self) -> frozenset[str]:
        """Fields left out because the server does not accept them: the seed, or a top_p of 1."""
        return self._without & {"seed", "top_p"}

    def leave_out(self, fields: frozenset[str]) -> None:
        """Leave out fields from now on, as an earlier run had to."""
        self._without |= fields

    def check(self, requests: Sequence[Request]) -> list[str | None]:
        """Do as `Sampler.check`. Only the server knows how long a prompt may be, so no request is rejected here."""
        return [None] * len(requests)

    def sample(self, requests: Sequence[Request], done: Callable[[int, Outcome], None]) -> None:
        """Do as `Sampler.sample`; `done` is called on the calling thread, and never after this method has returned.

        A failure that may be the server's fault is reported once a later response, or the end of the requests, shows
        that the server works; otherwise its request counts as not done.
        """
        failed: list[tuple[int, Outcome]] = []
        with closing(_as_completed(self._server, requests, self._respond, self._concurrency)) as results:
            for index, result in results:
                if result.healthy is False or not (result.healthy or self._has_worked):
                    failed.append((index, result.outcome))
                    self._count_failure(result, requests[index])
                    continue
                self._check_model(result.model)
                if result.healthy:
                    self._has_worked = True
                    self._failed_in_a_row.clear()
                    _report(failed, done)
                done(index, result.outcome)
        _report(failed, done)

    def _count_failure(self, result: _Result, request: Request) -> None:
        of_its_prompt = result.healthy is None or result.status in _OF_ITS_PROMPT
        self._failed_in_a_row.add(request.messages if of_its_prompt else object())
        if len(self._failed_in_a_row) >= FAILED_IN_A_ROW:
            self._failed_in_a_row.clear()
            why = result.outcome.reason if isinstance(result.outcome, Failed) else ""
            raise SamplerFault(
                f"{self._server.url} failed for several requests in a row, most recently: {why}",
                f"check that the server is running and accepts these requests; {_KEPT}",
            )

    def _check_model(self, name: str | None) -> None:
        if name is not None and self.reported not in {None, name}:
            raise SamplerFault(
                f"{self._server.url} now serves {name}, and served {self.reported} before",
                "responses of two models must not be mixed: name the exact version of the model, or start afresh",
            )
        self.reported = self.reported or name

    def _respond(self, client: Any, request: Request) -> _Result:
        reason = ""
        for _ in range(REPLIES):
            try:
                document = self._request(client, request)
                outcome = outcome_of(document)
                return _Result(outcome, outcome is not UNSEPARATED, reported_model(document))
            except ServerFault as error:
                if error.kind != "malformed":
                    return self._failure(error)
                reason = error.message
        return _Result(Failed(f"{reason}, at the last of {REPLIES} attempts"), None)

    def _request(self, client: Any, request: Request) -> dict[str, Any]:
        """Return the server's reply; optional fields that the server does not know are left out or renamed."""
        without = self._without
        while True:
            body = body_of(self._model, request, without)
            try:
                document = self._server.request(client, CHAT_PATH, body)
            except ServerFault as error:
                refused = refused_fields(error, body)
                if not refused:
                    raise
                required = {name for name in refused & REQUIRED.keys() if (name, body[name]) != ("top_p", 1.0)}
                if not refused - required:
                    names = ", ".join(f"{name}={body[name]}" for name in sorted(required))
                    hint = ", ".join(REQUIRED[name] for name in sorted(required))
                    raise SamplerFault(
                        f"{self._server.url} does not accept {names}: {error.reply}", f"{hint}; {_KEPT}"
                    ) from error
                without |= refused - required  # some refuse a temperature only beside a top_p
            else:
                with self._lock:  # only now it is known that these were what the server refused
                    self._without |= without
                return document

    def _failure(self, error: ServerFault) -> _Result:
        """Return the result of a rejected or failed request, if only this request may be affected."""
        if error.too_long:
            return _Result(Failed("the prompt and max_tokens together are too long for the model's context"), True)
        if error.filtered:
            return _Result(Failed("the server's content filter refused the prompt"), True)
        if error.kind == "transient" or error.status in _OF_ONE_REQUEST:
            return _Result(Failed(error.message), False, status=error.status)
        raise SamplerFault(error.message, "; ".join(filter(None, (error.hint, _KEPT)))) from error


def _as_completed(
    server: Server, requests: Sequence[Request], work: Callable[[Any, Request], _Result], concurrency: int
) -> Generator[tuple[int, _Result], None, None]:
    """Yield the index and the result of `work(client, request)` for each request, as they finish.

    When the iterator is closed, or `work` raises, no more requests are sent; running ones are not waited for.
    """
    waiting, lock, halt = iter(enumerate(requests)), threading.Lock(), threading.Event()
    results: queue.SimpleQueue[tuple[int, _Result | BaseException]] = queue.SimpleQueue()
    client, running = server.connect(), min(concurrency, len(requests))

    def run() -> None:
        nonlocal running
        try:
            while not halt.is_set():
                with lock:
                    index, request = next(waiting, (-1, None))
                if request is None:
                    return
                results.put((index, work(client, request)))
        except BaseException as error:
            results.put((-1, error))
            halt.set()
        finally:
            with lock:
                running -= 1
            if not running:
                client.close()

    try:
        for _ in range(running):
            # Daemons: a running request cannot be cancelled, and must not keep an interrupted program alive.
            threading.Thread(target=run, daemon=True).start()
        for _ in requests:
            index, result = results.get()
            if isinstance(result, BaseException):
                raise result
            yield index, result
    finally:
        halt.set()


def _report(failed: list[tuple[int, Outcome]], done: Callable[[int, Outcome], None]) -> None:
    """Report failures, removing each first, so that none is reported twice."""
    while failed:
        done(*failed.pop(0))


def body_of(model: str, request: Request, without: frozenset[str]) -> dict[str, Any]:
    """Return the body of a request, without the fields that the server does not know."""
    settings = request.settings
    body: dict[str, Any] = {
        "model": model,
        "messages": [asdict(message) for message in request.messages],
        "temperature": settings.temperature,
        "max_completion_tokens" if "max_tokens" in without else "max_tokens": settings.max_tokens,
    }
    # Sent even where it is 1: some servers have another default. It is left out only where it would cut nothing off.
    if "top_p" not in without or settings.top_p != 1:
        body["top_p"] = settings.top_p
    if settings.top_k is not None:
        body["top_k"] = settings.top_k
    if "seed" not in without:
        body["seed"] = request.seed % _SEEDS
    return body


def refused_fields(error: ServerFault, body: dict[str, Any]) -> frozenset[str]:
    """Return the optional fields that an error message names. (It may quote required ones from the prompt.)"""
    if error.status not in {400, 422} or error.too_long or error.filtered:
        return frozenset()
    named = {
        name for name in (*REQUIRED, "max_tokens", "seed") if name in body and re.search(rf"\b{name}\b", error.reply)
    }
    prompt = "".join(message["content"] for message in body["messages"])
    return frozenset(named - {name for name in REQUIRED if name in prompt})


def outcome_of(document: dict[str, Any]) -> Outcome:
    """Return the response in the first choice of a server's reply, or why there is none."""
    choice = first_choice(document)
    message = choice.get("message")
    if not isinstance(message, dict) or not {"role", "content"} & message.keys():
        raise malformed("no choices")
    finish_reason = choice.get("finish_reason")
    if not isinstance(finish_reason, str) or not re.fullmatch(r"[\w.-]{1,64}", finish_reason, re.ASCII):
        finish_reason = None
    elif finish_reason.lower() in _TRUNCATED:
        finish_reason = "length"
    if finish_reason in _BROKEN_OFF or choice.get("error"):
        raise malformed("it was broken off by an error")
    text = _text(message, finish_reason)
    if isinstance(text, Failed):
        return text
    apart = message.get("reasoning_content") or message.get("reasoning")
    if not apart and "</think>" in text and "<think>" not in text.partition("</think>")[0]:
        return UNSEPARATED  # the block begins in the prompt; in responses truncated inside it, nothing marks it
    text = after_thinking(text)
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        return Failed("the response has lone surrogates, which UTF-8 cannot encode")
    if size > MAX_RESPONSE_BYTES:
        return Failed(f"the response has {size:,} bytes; the limit is {MAX_RESPONSE_BYTES:,}")
    tokens, reasoning_tokens = _usage(document.get("usage"))
    return Sampled(text, finish_reason, tokens=tokens, reasoning_tokens=reasoning_tokens)


def _text(message: dict[str, Any], finish_reason: str | None) -> str | Failed:
    """Return a message's content or refusal; without both, it is empty unless a filter or tool call explains it."""
    content = message.get("content")
    if isinstance(content, list):
        content = _joined(content)
    if not content and finish_reason == "content_filter":
        return Failed("the server's content filter withheld the response")
    if not content and (message.get("tool_calls") or message.get("function_call")):
        return Failed("the model called a tool instead of responding")
    if not isinstance(content, str | None):
        raise malformed(f"a {type(content).__name__} for a response's text")
    return content or (message["refusal"] if isinstance(message.get("refusal"), str) else "")


def _joined(parts: list[Any]) -> str:
    """Return the text of a content in parts, without parts of other kinds, such as reasoning."""
    texts = [part.get("text") for part in parts if isinstance(part, dict) and part.get("type") == "text"]
    if not texts or not all(isinstance(text, str) for text in texts):
        raise malformed("a list without text for a response's text")
    return "".join(map(str, texts))


def _usage(usage: object) -> tuple[int | None, int | None]:
    """Return the number of generated tokens and of reasoning tokens among them, if the server reports them."""
    if not isinstance(usage, dict):
        return None, None
    details = usage.get("completion_tokens_details")
    reasoning = details.get("reasoning_tokens") if isinstance(details, dict) else None
    return _number(usage.get("completion_tokens")), _number(reasoning)


def _number(reported: object) -> int | None:
    return reported if type(reported) is int and 0 <= reported < _MOST_TOKENS else None
