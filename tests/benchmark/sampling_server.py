"""A chat server on loopback whose answers follow from the messages and the seed, and which fails request by request."""

import hashlib
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from benchmark.generation.prompting import Message, Outcome, Request, Sampled, SamplingSettings
from benchmark.generation.server_sampler import ServerSampler
from tests.benchmark.json_server import JsonServer, Reply, serving


@dataclass
class SamplingServer(JsonServer):
    """What a test holds of a running server; `seen` has all requests for chat completions.

    Attributes:
        plans: How the requests with a text are answered, one after the other; then as `always` says.
        unknown: Fields of a request that it refuses.
        words: In which words, around the field's name.
        reported: What it calls its model; None: what it was asked for.
        room: How many requests it takes at once; None: all.
        before: Is called with a request before it is answered well, or with a status alone.
        arrived: When requests came, and their texts.
        answered: How often each text was answered when its plan was done.
        at_work: How many requests it is answering.
        most: How many it has answered at once.
    """

    plans: dict[str, list[Reply]] = field(default_factory=dict)
    unknown: Sequence[str] = ()
    words: str = "Unsupported parameter: '{}' is not supported."
    reported: object = None
    room: int | None = None
    before: Callable[[dict[str, Any]], object] = lambda asked: None
    arrived: list[tuple[float, str]] = field(default_factory=list)
    answered: Counter[str] = field(default_factory=Counter)
    at_work: int = 0
    most: int = 0
    _others: Reply = field(default_factory=Reply)

    @property  # type: ignore[misc]
    def always(self) -> Reply:
        """The reply to the request that came last; it is asked for once a request, under the lock."""
        if not self.seen:
            return self._others
        text = text_of(self.seen[-1])
        self.arrived.append((time.monotonic(), text))
        if self.plans.get(text):
            return self.plans[text].pop(0)
        self.answered[text] += 1
        return self._others

    @always.setter
    def always(self, reply: Reply) -> None:
        self._others = reply

    def answer(self, asked: dict[str, Any]) -> tuple[int, object]:
        """The status and the document for a request."""
        for name in self.unknown:
            if name in asked:
                return 400, {"error": {"message": self.words.format(name)}}
        with self.lock:
            if self.room is not None and self.at_work >= self.room:
                return 429, {"error": "too many at once"}
            self.at_work += 1
            self.most = max(self.most, self.at_work)
        self.before(asked)
        with self.lock:
            self.at_work -= 1
        choice = {
            "index": 0,
            "message": {"role": "assistant", "content": words_for(asked["messages"], asked.get("seed"))},
            "finish_reason": "stop",
        }
        usage = {"prompt_tokens": 9, "completion_tokens": 7, "completion_tokens_details": {"reasoning_tokens": 3}}
        model = asked["model"] if self.reported is None else self.reported
        return 200, {"object": "chat.completion", "model": model, "choices": [choice], "usage": usage}


def text_of(asked: dict[str, Any]) -> str:
    """The last message of a request."""
    return str(asked["messages"][-1]["content"])


def words_for(messages: Sequence[dict[str, str]], seed: int | None) -> str:
    """What the model answers."""
    known = "\x1f".join([str(seed), *(f"{message['role']}: {message['content']}" for message in messages)])
    return f"answer {hashlib.sha256(known.encode()).hexdigest()[:16]} 🎲"


def expected(request: Request, *, seeded: bool = True) -> str:
    """What the model answers to a request."""
    messages = [{"role": message.role, "content": message.content} for message in request.messages]
    return words_for(messages, request.seed % 2**31 if seeded else None)


def well(request: Request) -> Sampled:
    """The outcome of a request that nothing happened to."""
    return Sampled(expected(request), "stop", tokens=7, reasoning_tokens=3)


def requests_of(count: int, **settings: Any) -> list[Request]:
    """So many different requests, p0, p1, …"""
    return [Request((Message("user", f"p{i}"),), SamplingSettings(**settings), (i << 40) + i) for i in range(count)]


def changed(change: Callable[[dict[str, Any]], object]) -> Reply:
    """A reply whose first choice is changed in place."""

    def change_first(document: dict[str, Any]) -> object:
        change(document["choices"][0])
        return document

    return Reply(change=change_first)


def saying(content: object, finish_reason: object = "stop", **more: object) -> Reply:
    """A reply with this content."""

    def change(choice: dict[str, Any]) -> None:
        choice["finish_reason"] = finish_reason
        choice["message"] |= {"content": content} | more

    return changed(change)


# Malformed replies, and the error of each.
MALFORMED = [
    (Reply(body=b"<html>"), "no JSON"),
    (Reply(body=b'{"choices": [{"message": {}}]}'), "no choices"),
    (saying(7), "a int for a response's text"),
    (saying([{"type": "image_url"}, {"type": "text"}]), "a list without text for a response's text"),
    (saying("half an ", "abort"), "it was broken off by an error"),
    (changed(lambda choice: choice.update(error={"code": 502})), "it was broken off by an error"),
]


@contextmanager
def sampling_server() -> Iterator[SamplingServer]:
    """A server at an unused port, until the end of the block."""
    shown = SamplingServer()
    with serving(shown):
        yield shown


def sampler_of(server: SamplingServer, **settings: Any) -> ServerSampler:
    """The sampler of a server, with other settings if need be."""
    usual: dict[str, Any] = {"url": server.url, "model": "wise", "timeout": 20.0}
    return ServerSampler(**usual | settings)


class Told:
    """What `done` was told: each place once, by one thread at a time."""

    def __init__(self) -> None:
        self.outcomes: dict[int, Outcome] = {}
        self._one = threading.Lock()

    def __call__(self, place: int, outcome: Outcome) -> None:
        assert self._one.acquire(blocking=False), "told twice at the same time"
        time.sleep(0.0005)
        assert place not in self.outcomes, "told twice"
        self.outcomes[place] = outcome
        self._one.release()


def sampled(sampler: ServerSampler, requests: Sequence[Request]) -> list[Outcome]:
    """The outcome of each request."""
    told = Told()
    sampler.sample(requests, told)
    assert sorted(told.outcomes) == list(range(len(requests)))
    return [told.outcomes[place] for place in range(len(requests))]
