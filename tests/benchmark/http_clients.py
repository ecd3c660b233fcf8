"""The three clients of OpenAI's protocol behind one interface, for their contract: one request, many, what they say."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmark.generation.sampler import Failed
from benchmark.models.causal_lm import TokenSequence
from benchmark.models.hf_tokeniser import HFTokeniser
from benchmark.models.server_lm import ServerLM
from divbench.core.errors import DivBenchError
from tests.benchmark.chat_server import chat_server, judge_of
from tests.benchmark.completions_server import completions_server, tiny_model, tiny_tokeniser
from tests.benchmark.json_server import JsonServer
from tests.benchmark.sampling_server import Told, requests_of, sampler_of, sampling_server, well

REVISION = "0123456789abcdef0123456789abcdef01234567"
TOKENISER = HFTokeniser(tiny_tokeniser())
ONE = TokenSequence(np.array([0, 40, 41, 42]), np.array([1, 2, 3]))


@dataclass(frozen=True)
class Client:
    """A kind of client.

    Attributes:
        serve: Runs a server for it.
        make: The client of a server, with other settings if need be.
        one: Sends one request and returns what it makes of the answer.
        many: Sends so many requests.
        expected: What `one` returns of a good answer.
        attempts: How often it asks for an answer that is malformed each time.
        limit: The most bytes of an answer to `one`.
        no_object: What it calls an answer that is JSON, but no object.
    """

    serve: Callable[[], AbstractContextManager[Any]]
    make: Callable[..., Any]
    one: Callable[[Any], object]
    many: Callable[[Any, int], object]
    expected: object
    attempts: int
    limit: int
    no_object: str

    def error(self, client: Any) -> tuple[str, DivBenchError | None]:
        """The message of the failure of one request, and its exception if one was raised."""
        try:
            made = self.one(client)
        except DivBenchError as error:
            return str(error), error
        assert isinstance(made, list)
        assert isinstance(made[0], Failed)
        return made[0].reason, None


def remote(server: JsonServer, **settings: Any) -> ServerLM:
    """The language model of a server, with other settings if need be."""
    usual: dict[str, Any] = {"url": server.url, "revision": REVISION, "timeout": 20.0}
    return ServerLM(model="tiny", tokeniser=TOKENISER, **usual | settings)


def _sampled(sampler: Any, count: int) -> list[object]:
    told = Told()
    sampler.sample(requests_of(count), told)
    return [told.outcomes.get(index) for index in range(count)]


def _partitioned(judge: Any, count: int) -> list[object]:
    sets: Sequence[tuple[str, list[str]]] = [(f"p{i}", ["fig", "plum"]) for i in range(count)]
    found: list[object] = judge.partition(sets)
    return found


CLIENTS = {
    "lm": Client(
        lambda: completions_server(tiny_model()),
        remote,
        lambda lm: len(lm.surprisals([ONE])[0]),
        lambda lm, count: lm.surprisals([TokenSequence(np.array([0, i]), np.array([1])) for i in range(count)]),
        3,
        1,
        (1 << 20) + 4096 * len(ONE.ids),
        "no choices",
    ),
    "judge": Client(
        chat_server, judge_of, lambda judge: _partitioned(judge, 1), _partitioned, [(0, 1)], 1, 1 << 20, "no choices"
    ),
    "sampler": Client(
        sampling_server,
        sampler_of,
        lambda sampler: _sampled(sampler, 1),
        _sampled,
        [well(requests_of(1)[0])],
        3,
        1 << 23,
        "no JSON object",
    ),
}
