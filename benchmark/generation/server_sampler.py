"""Samples a model behind any server that implements OpenAI's chat completions.

Each response is a separate request, so that one failure costs only one response. A server may reject some requests,
send malformed replies, or break down: if a failure concerns one request, only that request fails; otherwise sampling
ends.

The server chooses the value of a setting that is not sent. vLLM, for example, then uses the values recommended by the
model's publisher: to sample without top_k and top_p, run it with `--generation-config vllm`.
"""

import queue
import threading
from collections import deque
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from benchmark.generation.completions import REQUIRED, UNSEPARATED, body_of, outcome_of, refused_fields
from benchmark.generation.sampler import Failed, Outcome, Request, SamplerFault
from benchmark.models.servers import CHAT_PATH, Server, ServerFault, reported_model
from divbench.core.errors import ConfigurationError

REPLIES = 3  # malformed replies after which a request fails
FAILED_IN_A_ROW = 3  # failed requests that end sampling; those of one prompt count as one if it may be the cause
# Malformed replies end it only before the first response: then it is probably another kind of server.

_OF_ONE_REQUEST = frozenset({400, 408, 409, 413, 422, 451})  # rejections that need not concern other requests
_OF_ITS_PROMPT = _OF_ONE_REQUEST | {500}  # a server may fail on a text every time
_MOMENT_SECONDS = 0.1
_KEPT = "finished responses are kept, and the same command resumes"


@dataclass(frozen=True, slots=True)
class _Result:
    """The result of a request."""

    outcome: Outcome  # the response, or why there is none
    # Whether it shows that the server works; None: only if the server has never worked, it does not.
    healthy: bool | None
    model: str | None = None  # name of the model in the server's reply, if any
    status: int | None = None  # HTTP status of a failure, if it had one


_Work = Callable[[Any, Request], _Result]


class ServerSampler:
    """Samples a model behind a server. See `Sampler`.

    Attributes:
        reported: Name of the model in the server's replies; a reply from another model ends sampling. None: no reply
            yet. To resume an earlier run, set it to the name that the server reported then.
    """

    def __init__(self, url: str, model: str, concurrency: int = 8, timeout: float = 120.0) -> None:
        """Check the settings; no request is sent yet.

        Args:
            url: Address of a server with OpenAI's chat completions API; with or without `/v1`.
            timeout: Seconds without a sign of the server (it gives none while the model generates).

        Raises:
            ConfigurationError: No model is named, the concurrency is too small, the address or the key is malformed, or
                the timeout is not positive.
        """
        if not model.strip() or concurrency < 1:
            raise ConfigurationError(
                f"a model {model!r} with {concurrency} requests at once",
                "name the model, and allow at least one request at once",
            )
        self.signature = f"{model},server"
        self.at_once = 4 * concurrency
        self.reported: str | None = None
        self._model = model
        self._concurrency = concurrency  # lowered after the server rejected requests as too many
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

        Raises:
            SamplerFault: The server denies access, has no such model, refuses a setting, changed its model, or failed
                for several requests in a row.
        """
        if not requests:
            return
        failed: list[tuple[int, Outcome]] = []
        pool = _Pool(min(self._concurrency, len(requests)), len(requests))
        try:
            with closing(_as_completed(self._server, requests, self._respond, pool)) as results:
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
        finally:
            self._concurrency -= pool.retired

    def _count_failure(self, result: _Result, request: Request) -> None:
        of_its_prompt = result.healthy is None or result.status in _OF_ITS_PROMPT
        self._failed_in_a_row.add(request.messages if of_its_prompt else object())
        if len(self._failed_in_a_row) >= FAILED_IN_A_ROW:
            self._failed_in_a_row.clear()
            why = result.outcome.reason if isinstance(result.outcome, Failed) else ""
            raise SamplerFault(
                f"{self._server.url} failed for several requests in a row, most recently: {why}",
                f"check that the server is running and accepts these requests, or lower --concurrency; {_KEPT}",
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


class _Pool:
    """Worker threads, and the indices of requests that none of them has taken yet."""

    def __init__(self, workers: int, requests: int) -> None:
        self.workers = workers  # that will take another request
        self.retired = 0
        self._waiting = deque(range(requests))
        self._lock = threading.Lock()

    def take(self) -> int | None:
        """Return the index of a worker's next request; None: no request is left, and the worker ends."""
        with self._lock:
            if self._waiting:
                return self._waiting.popleft()
            self.workers -= 1
            return None

    def put_back(self, index: int) -> bool:
        """Return a worker's request to the others and retire the worker; False if it is the only worker."""
        with self._lock:
            if self.workers < 2:
                return False
            self.workers -= 1
            self.retired += 1
            self._waiting.append(index)
            return True


def _as_completed(
    server: Server, requests: Sequence[Request], work: _Work, pool: _Pool
) -> Generator[tuple[int, _Result], None, None]:
    """Yield the index and the result of `work(client, request)` for each request, as they finish.

    When the iterator is closed, or `work` raises, no more requests are sent; running ones are not waited for.
    """
    halt = threading.Event()
    results: queue.SimpleQueue[tuple[int, _Result | BaseException]] = queue.SimpleQueue()
    client = server.connect()

    def run() -> None:
        try:
            while not halt.is_set() and (index := pool.take()) is not None:
                result = work(client, requests[index])
                if result.status == 429 and pool.put_back(index):  # too many at once, to the last attempt
                    return
                results.put((index, result))
        except BaseException as error:
            results.put((-1, error))  # before the errors with which the others' waits end
            halt.set()

    # Daemons: a running request cannot be cancelled, and must not keep an interrupted program alive.
    threads = [threading.Thread(target=run, daemon=True) for _ in range(pool.workers)]
    try:
        for thread in threads:
            thread.start()
        for _ in requests:
            index, result = results.get()
            if isinstance(result, BaseException):
                raise result
            yield index, result
    finally:
        halt.set()
        last = threading.Thread(target=_close_after, args=(threads, client), daemon=True)
        last.start()
        last.join(_MOMENT_SECONDS)


def _close_after(threads: Sequence[threading.Thread], client: Any) -> None:
    """Close the connections when the threads that use them have ended."""
    for thread in threads:
        if thread.ident is not None:  # else it was never started
            thread.join()
    client.close()


def _report(failed: list[tuple[int, Outcome]], done: Callable[[int, Outcome], None]) -> None:
    """Report failures, removing each first, so that none is reported twice."""
    while failed:
        done(*failed.pop(0))
