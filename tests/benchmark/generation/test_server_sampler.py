"""Answers of a model behind a chat server: what is asked, what is taken for an answer, and who sees the key."""

import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from benchmark.generation.prompting import Failed, Message, Outcome, Request, Sampled, SamplingSettings
from benchmark.generation.server_sampler import ServerSampler
from divbench.core.errors import ConfigurationError
from submissions.checking.checks import MAX_RESPONSE_BYTES
from tests.benchmark.json_server import Reply
from tests.benchmark.sampling_server import (
    MALFORMED,
    SamplingServer,
    changed,
    expected,
    requests_of,
    sampled,
    sampler_of,
    sampling_server,
    saying,
    text_of,
    well,
)

pytestmark = pytest.mark.usefixtures("fast_servers")

KEY = "sk-very-secret-1"
CONTEXT = "the prompt and max_tokens together are too long for the model's context"
OTHERS_TOO_LONG = [  # llama.cpp, Gemini, text-generation-inference
    (400, b"request (5000 tokens) exceeds the available context size (4096 tokens), try increasing it"),
    (400, b"The input token count (1100000) exceeds the maximum number of tokens allowed (1048576)."),
    (422, b"Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096."),
]
TOO_LONG = Reply(400, body=b"This model's maximum context length is 10 tokens.")


@pytest.fixture
def server() -> Iterator[SamplingServer]:
    with sampling_server() as running:
        yield running


def one(server: SamplingServer, reply: Reply, **settings: Any) -> Outcome:
    """The outcome of a request that is answered thus."""
    server.plans["p0"] = [reply] * 3
    [outcome] = sampled(sampler_of(server, **settings), requests_of(1))
    return outcome


# Asking


@pytest.mark.parametrize("concurrency", [1, 8])
def test_each_request_has_its_answer(server: SamplingServer, concurrency: int) -> None:
    sampler = sampler_of(server, concurrency=concurrency)
    requests = requests_of(30)
    assert sampler.check(requests) == [None] * 30
    assert sampled(sampler, requests) == [well(request) for request in requests]
    assert sampled(sampler, requests[::-1]) == [well(request) for request in requests[::-1]]
    assert set(server.answered.values()) == {2}
    assert sampler.reported == "wise"
    assert sampler.gave_up == frozenset()


def test_what_is_asked(server: SamplingServer) -> None:
    chat = (Message("system", "Be brief."), Message("user", "Hi."), Message("assistant", "Yes?"), Message("user", "🎨"))
    plain = Request(chat, SamplingSettings(), 2**62 + 5)
    narrow = Request(chat[-1:], SamplingSettings(0.0, 40, 0.9, 12), 7)
    assert sampled(sampler_of(server, concurrency=1), [plain, narrow]) == [well(plain), well(narrow)]
    first, second = server.seen
    messages = [{"role": each.role, "content": each.content} for each in chat]
    usual = {"temperature": 1.0, "top_p": 1.0, "max_tokens": 256, "seed": 5}
    assert first == {"model": "wise", "messages": messages, **usual}
    assert second == {
        "model": "wise",
        "messages": messages[-1:],
        "temperature": 0.0,
        "top_k": 40,
        "top_p": 0.9,
        "max_tokens": 12,
        "seed": 7,
    }


def test_nothing_is_asked_for_no_requests(server: SamplingServer) -> None:
    assert sampled(sampler_of(server), []) == []
    assert server.seen == []


def test_only_so_many_are_asked_at_once_and_told_by_the_caller(server: SamplingServer) -> None:
    server.before = lambda asked: time.sleep(0.03)
    sampler = sampler_of(server, concurrency=3)
    tellers = set()
    sampler.sample(requests_of(12), lambda place, outcome: tellers.add(threading.get_ident()))
    assert server.most == 3
    assert sampler.at_once == 12
    assert tellers == {threading.get_ident()}


def test_an_answer_is_told_as_soon_as_it_is_there(server: SamplingServer) -> None:
    first_told = threading.Event()

    def before(asked: dict[str, Any]) -> None:
        assert text_of(asked) == "p0" or first_told.wait(20)

    server.before = before
    sampler_of(server, concurrency=2).sample(requests_of(2), lambda place, outcome: first_told.set())
    assert first_told.is_set()


# Answers

LARGEST = "x" * MAX_RESPONSE_BYTES


@pytest.mark.parametrize(
    ("reply", "text", "finish_reason"),
    [
        (saying("cut", "length"), "cut", "length"),
        (saying("cut", "MAX_TOKENS"), "cut", "length"),
        (saying("cut", "model_length"), "cut", "length"),
        (saying([{"type": "thinking", "thinking": []}, *({"type": "text", "text": t} for t in "ab")]), "ab", "stop"),
        (saying(""), "", "stop"),
        (saying(None), "", "stop"),
        (saying(None, "length", reasoning_content="Hm, "), "", "length"),
        (changed(lambda choice: choice.update(message={"role": "assistant"})), "", "stop"),
        (saying("half", "content_filter"), "half", "content_filter"),
        (saying(None, refusal="I will not."), "I will not.", "stop"),
        (saying(" a\n", None), " a\n", None),
        (saying("a", 7), "a", None),
        (saying("a", "\ud800"), "a", None),
        (saying("a", "eos_token", reasoning_content="b", reasoning="b"), "a", "eos_token"),
        (saying(LARGEST), LARGEST, "stop"),
        (saying("<think>\nSo </b> what?\n</think>\n\nA <think>thought</think>."), "A <think>thought</think>.", "stop"),
        (saying("<think></think>"), "", "stop"),
        (saying("<think>and on", "length"), "", "length"),
        (saying("<think>without an end"), "", "stop"),
        (saying("I <think>so</think>"), "I <think>so</think>", "stop"),
        (saying("\n<think>so</think>yes</think>"), "yes</think>", "stop"),
    ],
)
def test_answers_that_are_taken(server: SamplingServer, reply: Reply, text: str, finish_reason: str | None) -> None:
    assert one(server, reply) == Sampled(text, finish_reason, tokens=7, reasoning_tokens=3)
    assert len(server.seen) == 1


@pytest.mark.parametrize(
    ("usage", "tokens", "reasoning_tokens"),
    [
        (None, None, None),
        ([7], None, None),
        ({"completion_tokens": 5}, 5, None),
        ({"completion_tokens": 0, "completion_tokens_details": None}, 0, None),
        ({"completion_tokens": True, "completion_tokens_details": {"reasoning_tokens": -1}}, None, None),
        ({"completion_tokens": "5", "completion_tokens_details": {"reasoning_tokens": 10**30}}, None, None),
    ],
)
def test_a_server_may_not_tell_how_many_tokens_it_drew(
    server: SamplingServer, usage: object, tokens: int | None, reasoning_tokens: int | None
) -> None:
    outcome = one(server, Reply(change=lambda document: document | {"usage": usage}))
    assert outcome == Sampled(expected(requests_of(1)[0]), "stop", tokens=tokens, reasoning_tokens=reasoning_tokens)


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (saying(None, "content_filter"), "the server's content filter withheld the response"),
        (saying("", "content_filter"), "the server's content filter withheld the response"),
        (saying(None, "tool_calls", tool_calls=[{"id": "1"}]), "the model called a tool instead of responding"),
        (saying("a \ud83d b"), "the response has lone surrogates, which UTF-8 cannot encode"),
        (saying("é" + LARGEST[1:]), "the response has 262,145 bytes; the limit is 262,144"),
        *((Reply(status, body=said), CONTEXT) for status, said in OTHERS_TOO_LONG),
        (TOO_LONG, CONTEXT),
        (Reply(400, body=b'{"code": "content_filter"}'), "the server's content filter refused the prompt"),
        (Reply(403, body=b"ResponsibleAIPolicyViolation"), "the server's content filter refused the prompt"),
    ],
)
def test_what_cannot_be_an_answer_is_a_failure_of_its_request_alone(
    server: SamplingServer, reply: Reply, reason: str
) -> None:
    requests = requests_of(9)
    server.plans = {f"p{i}": [reply] for i in range(8)}
    found = sampled(sampler_of(server, concurrency=2), requests)
    assert found == [Failed(reason)] * 8 + [well(requests[8])]
    assert len(server.seen) == 9


@pytest.mark.parametrize(("reply", "wrong"), MALFORMED)
def test_a_malformed_answer_is_asked_for_again_but_not_for_ever(
    server: SamplingServer, reply: Reply, wrong: str
) -> None:
    requests = requests_of(6)
    server.plans = {"p0": [reply] * 3, "p1": [reply] * 2, "p2": [reply] * 3, "p3": [reply], "p4": [reply] * 3}
    found = sampled(sampler_of(server, concurrency=1), requests)
    told = f"the server sent a malformed reply: {wrong}, at the last of 3 attempts"
    assert [place for place, each in enumerate(found) if each == Failed(told)] == [0, 2, 4]
    assert [found[place] for place in (1, 3, 5)] == [well(requests[place]) for place in (1, 3, 5)]
    assert len(server.seen) == 3 + 3 + 3 + 2 + 3 + 1


# Settings


def test_the_signature_names_the_model() -> None:
    assert ServerSampler("http://localhost:8000/secret", "org/wise").signature == "org/wise,server"


@pytest.mark.parametrize("settings", [{"concurrency": 0}, {"model": " "}])
def test_settings_without_sense_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match="name the model, and allow at least one request"):
        ServerSampler(**{"url": "http://h", "model": "wise"} | settings)
