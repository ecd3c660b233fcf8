"""Answers of a model behind any server that speaks OpenAI's chat completions.

Each answer is one request of its own, so that one failure costs one answer. A server may refuse some, stammer, or break
down; what fails for one answer's sake is that answer's failure alone, and what fails for all ends the work.

What is not sent is the server's own choice. vLLM, for one, then takes what the model's publisher recommends: where no
top_k and no top_p are wanted, serve with `--generation-config vllm`.
"""

import queue
import re
import threading
from collections import deque
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from benchmark.generation.completions import (
    UNYIELDING,
    MalformedError,
    body_of,
    is_filtered,
    outcome_of,
    plain_name,
    refused_fields,
)
from benchmark.generation.sampler import Failed, Outcome, Request, SamplerFault
from benchmark.models.http_client import KEY_VARIABLE, Endpoint, ServerFault
from datasets_build.errors import ConfigurationError

ANSWERS = 3  # that may be malformed before a request is given up
LOST = 3  # requests in a row that fail until the server is given up; those of one prompt are one if it may be why

_PATH = "/v1/chat/completions"
_ANSWER_BYTES = 1 << 23  # reasoning may come along
_OF_ONE_REQUEST = frozenset({400, 408, 409, 413, 422, 451})  # refusals that need not concern the others
_OF_ITS_PROMPT = _OF_ONE_REQUEST | {500}  # a server may stumble over a text, each time
_MOMENT_SECONDS = 0.1
_KEPT = "what is done is kept, and the same command goes on"


@dataclass(frozen=True, slots=True)
class _Found:
    """What came of a request.

    Attributes:
        well: Whether the server is; None: this does not tell.
        model: What the server calls its model, if it answered.
        status: The HTTP status of a failure, if it had one.
    """

    outcome: Outcome
    well: bool | None
    model: str | None = None
    status: int | None = None


_Work = Callable[[Any, Request, threading.Event], _Found]


@dataclass(frozen=True, slots=True)
class ServerSamplerSpec:
    """Which model answers, and where it is asked; it is asked nothing yet.

    The signature says the revision that the user states: a server cannot be made to prove which weights it has.

    Attributes:
        url: Of a server that speaks OpenAI's chat completions; with or without `/v1`.
        model: The name by which to ask for the model.
        concurrency: How many requests run at once.
        timeout: Seconds without a sign of the server, which shows none while the model writes, and again for all of its
            answer after the first.
        key_variable: The environment variable that has the server's key, if it needs one.
        revision: Of the weights, as the user states it; None: not known.
        strip_thinking: Whether a block `<think>…</think>` that an answer begins with is left out of it.

    Raises:
        ConfigurationError: The concurrency is too small, the model or revision has no name, or the variable none.
    """

    url: str
    model: str
    concurrency: int = 8
    timeout: float = 120.0
    key_variable: str = KEY_VARIABLE
    revision: str | None = None
    strip_thinking: bool = True

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[A-Z_][A-Z0-9_]*", self.key_variable):  # it may be the key itself: not shown
            raise ConfigurationError(
                "what was given is no name of an environment variable",
                f"put the key into a variable and give its name, such as {KEY_VARIABLE}",
            )
        if not self.model.strip() or self.concurrency < 1 or (self.revision is not None and not self.revision.strip()):
            raise ConfigurationError(
                f"a model {self.model!r} of revision {self.revision!r} with {self.concurrency} requests at once",
                "name the model, and its revision or none, and ask at least one at once",
            )

    @property
    def signature(self) -> str:
        """As in `Sampler.signature`, such as `llama-x@0123456789ab,server`."""
        name = self.model if self.revision is None else f"{self.model}@{self.revision.strip()[:12]}"
        return f"{name},server{'' if self.strip_thinking else ',thinking-kept'}"

    def load(self) -> "ServerSampler":
        """The sampler; nothing is asked yet.

        Raises:
            ConfigurationError: The address or the key cannot be one, or the time is none.
        """
        return ServerSampler(self)


class ServerSampler:
    """The sampler of a spec. See `Sampler`.

    Attributes:
        reported: What the server calls its model; an answer of another ends the work. None: it did not say yet. To go
            on with an earlier run, set it to what that one was told.
    """

    def __init__(self, spec: ServerSamplerSpec) -> None:
        self.signature = spec.signature
        self.at_once = 4 * spec.concurrency
        self.reported: str | None = None
        self._spec = spec
        self._concurrency = spec.concurrency  # less where a server turned some away
        self._endpoint = Endpoint(spec.url, timeout=spec.timeout, key_variable=spec.key_variable)
        self._without: frozenset[str] = frozenset()  # fields that the server does not know
        self._lock = threading.Lock()
        self._lost: set[object] = set()  # what failed since the server was last seen well

    @property
    def gave_up(self) -> frozenset[str]:
        """What of the requests the server does not take, so that it was left out: the seed, or a top_p of 1."""
        return self._without & {"seed", "top_p"}

    def check(self, requests: Sequence[Request]) -> list[str | None]:
        """As `Sampler.check`. How long a prompt may be is not known here: the server says so when it is asked."""
        return [None] * len(requests)

    def sample(self, requests: Sequence[Request], done: Callable[[int, Outcome], None]) -> None:
        """As `Sampler.sample`; `done` is called by the thread that calls this, and never after this has ended.

        A failure that may be the server's is told when an answer or the end of the requests shows that it was not the
        server's end: else the request is not done.

        Raises:
            SamplerFault: The server does not let us in, has no such model, does not take a setting, changed its model,
                or failed for several requests in a row.
        """
        if not requests:
            return
        failed: list[tuple[int, Outcome]] = []
        crew = _Crew(min(self._concurrency, len(requests)), len(requests))
        try:
            with closing(_as_they_come(self._endpoint, requests, self._answer, crew)) as answers:
                for place, found in answers:
                    if found.well is False:
                        failed.append((place, found.outcome))
                        self._count_lost(found, requests[place])
                        continue
                    self._same_model(found.model)
                    if found.well:
                        self._lost.clear()
                        _tell(failed, done)
                    done(place, found.outcome)
            _tell(failed, done)
        finally:
            self._concurrency -= crew.sent_home

    def _count_lost(self, found: _Found, request: Request) -> None:
        self._lost.add(request.messages if found.status in _OF_ITS_PROMPT else object())
        if len(self._lost) >= LOST:
            self._lost.clear()
            why = found.outcome.reason if isinstance(found.outcome, Failed) else ""
            raise SamplerFault(
                f"{self._endpoint.base} failed for one request after the other, at last thus: {why}",
                f"look whether the server runs and takes such requests, or ask for less at once; {_KEPT}",
            )

    def _same_model(self, name: str | None) -> None:
        if name is not None and self.reported not in {None, name}:
            raise SamplerFault(
                f"{self._endpoint.base} now answers as {name}, and answered as {self.reported} before",
                "answers of two models are not to be mixed: name the model by its exact version, or begin anew",
            )
        self.reported = self.reported or name

    def _answer(self, client: Any, request: Request, halt: threading.Event) -> _Found:
        reason = ""
        for _ in range(ANSWERS):
            try:
                document = self._ask(client, request, halt)
                return _Found(outcome_of(document, self._spec.strip_thinking), True, plain_name(document.get("model")))
            except MalformedError as error:
                reason = self._reason(self._endpoint.wrong(_PATH, str(error)))
            except ServerFault as error:
                if error.trouble != "malformed":
                    return self._failure(error)
                reason = self._reason(error)
        return _Found(Failed(f"{reason}, at the last of {ANSWERS} attempts"), None)

    def _ask(self, client: Any, request: Request, halt: threading.Event) -> dict[str, Any]:
        """The server's document; fields that it refuses are given up or named otherwise, as far as that is right."""
        without = self._without
        while True:
            body = body_of(self._spec.model, request, without)
            try:
                document = self._endpoint.ask(client, _PATH, body, _ANSWER_BYTES, halt, retry_cut=False)
            except ServerFault as error:
                refused = refused_fields(error, body)
                if not refused:
                    raise
                if asked := {name for name in refused & UNYIELDING.keys() if (name, body[name]) != ("top_p", 1.0)}:
                    names = ", ".join(f"{name}={body[name]}" for name in sorted(asked))
                    hint = ", ".join(UNYIELDING[name] for name in sorted(asked))
                    raise SamplerFault(
                        f"{self._endpoint.base} does not take {names}: {error.said}", f"{hint}; {_KEPT}"
                    ) from error
                without |= refused
            else:
                with self._lock:  # only now it is known that these were what the server minded
                    self._without |= without
                if not isinstance(document, dict):
                    raise MalformedError("no JSON object")
                return document

    def _failure(self, error: ServerFault) -> _Found:
        """What a refusal or a breakdown is for its request, if it may be of that request alone."""
        if error.too_long:
            return _Found(Failed("the prompt and max_tokens together are too long for the model's context"), True)
        if is_filtered(error):
            return _Found(Failed("the server's filter refused the prompt"), True)
        if error.trouble == "passing" or error.status in _OF_ONE_REQUEST:
            return _Found(Failed(self._reason(error)), False, status=error.status)
        raise SamplerFault(error.message, "; ".join(filter(None, (error.hint, _KEPT)))) from error

    def _reason(self, error: ServerFault) -> str:
        """An error in words that stand with one answer, without the server's address."""
        return f"the server {error.message.removeprefix(f'{self._endpoint.base}{_PATH} ')}"


class _Crew:
    """Workers, and the places of requests that none of them has taken yet."""

    def __init__(self, workers: int, places: int) -> None:
        self.workers = workers  # who will come for another place
        self.sent_home = 0
        self._places = deque(range(places))
        self._lock = threading.Lock()

    def take(self) -> int | None:
        """A place for a worker; None: there is none, and the worker leaves."""
        with self._lock:
            if self._places:
                return self._places.popleft()
            self.workers -= 1
            return None

    def put_back(self, place: int) -> bool:
        """Whether a worker may leave its place to the others and go; not if there are none."""
        with self._lock:
            if self.workers < 2:
                return False
            self.workers -= 1
            self.sent_home += 1
            self._places.append(place)
            return True


def _as_they_come(
    endpoint: Endpoint, requests: Sequence[Request], work: _Work, crew: _Crew
) -> Generator[tuple[int, _Found], None, None]:
    """The places of requests and what `work(client, request, halt)` finds of each, one at a time for each worker.

    When this is closed, or `work` raises, nothing more is asked, and what is under way is not waited for.
    """
    halt = threading.Event()
    found: queue.SimpleQueue[tuple[int, _Found | BaseException]] = queue.SimpleQueue()
    client = endpoint.client(crew.workers)

    def answer() -> None:
        try:
            while not halt.is_set() and (place := crew.take()) is not None:
                each = work(client, requests[place], halt)
                if each.status == 429 and crew.put_back(place):  # too many at once, to the last attempt
                    return
                found.put((place, each))
        except BaseException as error:
            found.put((-1, error))  # before what the end of the others' waits looks like
            halt.set()

    # Daemons: a request that is under way cannot be broken off, and must not keep an interrupted program alive.
    threads = [threading.Thread(target=answer, daemon=True) for _ in range(crew.workers)]
    try:
        for thread in threads:
            thread.start()
        for _ in requests:
            place, each = found.get()
            if isinstance(each, BaseException):
                raise each
            yield place, each
    finally:
        halt.set()
        last = threading.Thread(target=_close_after, args=(threads, client), daemon=True)
        last.start()
        last.join(_MOMENT_SECONDS)


def _close_after(threads: Sequence[threading.Thread], client: Any) -> None:
    """Close connections when those who use them have left."""
    for thread in threads:
        if thread.ident is not None:  # else it was never started
            thread.join()
    client.close()


def _tell(failed: list[tuple[int, Outcome]], done: Callable[[int, Outcome], None]) -> None:
    """Tell of failures and forget them, each before it is told, so that none is told twice."""
    while failed:
        done(*failed.pop(0))
