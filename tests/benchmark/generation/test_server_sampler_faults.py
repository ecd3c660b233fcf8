"""A sampler before servers that fail: each answer once, whatever else comes; an end where going on makes no sense."""

import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import pytest

from benchmark.generation.prompting import Failed, Message, Request, Sampled, SamplerFault, SamplingSettings
from benchmark.models.servers import KEY_VARIABLE
from tests.benchmark.json_server import Reply
from tests.benchmark.sampling_server import (
    SamplingServer,
    Told,
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

BUSY = Reply(429, {"Retry-After": "0.01"}, b"slow down")
UNWELL = Reply(500, body=b"oh")
TOO_LONG = Reply(400, body=b"This model's maximum context length is 10 tokens.")


@pytest.fixture
def server() -> Iterator[SamplingServer]:
    with sampling_server() as running:
        yield running


# Trouble that passes


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (UNWELL, "the server failed 3 times, the last time with HTTP 500: oh"),
        (BUSY, "the server failed 3 times, the last time with HTTP 429: slow down"),
        (Reply(400, body=b"no"), "the server refused: HTTP 400: no"),
    ],
)
def test_one_that_fails_for_good_does_not_spoil_the_others(server: SamplingServer, reply: Reply, reason: str) -> None:
    requests = requests_of(8)
    server.plans = {f"p{i}": [reply] * 3 for i in (0, 1, 3, 4, 6, 7)}  # never three in a row
    found = sampled(sampler_of(server, concurrency=1), requests)
    assert [found[2], found[5]] == [well(requests[2]), well(requests[5])]
    assert [found[place] for place in (0, 1, 3, 4, 6, 7)] == [Failed(reason)] * 6


def test_reasoning_that_begins_in_the_prompt_is_no_response(server: SamplingServer) -> None:
    """Templates of reasoning models open the block themselves, so that a server without a parser returns its rest."""
    server.plans = {"p1": [saying("So a cat?</think>A dog.")], "p2": [saying("So</think>yes", reasoning_content="So")]}
    found = sampled(sampler_of(server, concurrency=1), requests_of(4))
    assert [type(found[place]) for place in range(4)] == [Sampled, Failed, Sampled, Sampled]
    server.plans, server.always = {}, saying("So a cat?</think>A dog.")
    with pytest.raises(SamplerFault, match=r"in a row, .* reasoning, .* --reasoning-parser.* start afresh"):
        sampler_of(server, concurrency=1).sample(requests_of(100), Told())


def test_a_server_that_fails_three_requests_in_a_row_is_given_up(server: SamplingServer) -> None:
    server.plans = {f"p{i}": [UNWELL] * 9 for i in range(2, 99)}
    told = Told()
    with pytest.raises(SamplerFault, match=r"failed for several requests in a row, .* HTTP 500: oh .* are kept"):
        sampler_of(server, concurrency=1).sample(requests_of(100), told)
    assert sorted(told.outcomes) == [0, 1]  # what failed with the server is not done, so it is asked for again
    assert 2 + 9 <= len(server.seen) < 2 + 9 + 9


@pytest.mark.parametrize("reply", [UNWELL, Reply(400, body=b"no")])
def test_a_prompt_that_the_server_stumbles_over_does_not_end_the_work(server: SamplingServer, reply: Reply) -> None:
    bad = [Request((Message("user", "bad"),), SamplingSettings(), seed) for seed in range(10)]
    server.plans = {"bad": [reply] * 30}
    found = sampled(sampler_of(server, concurrency=4), [*bad, *requests_of(3)])
    assert all(isinstance(each, Failed) for each in found[:10])
    assert found[10:] == [well(request) for request in requests_of(3)]


@pytest.mark.parametrize("concurrency", [1, 8])
def test_a_server_that_is_not_there(server: SamplingServer, concurrency: int) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}"
        begun = time.monotonic()
        with pytest.raises(SamplerFault, match=rf"^{url} failed for several requests in a row.*ConnectError") as told:
            sampler_of(server, url=url, concurrency=concurrency).sample(requests_of(10_000), Told())
    assert time.monotonic() - begun < 10
    assert told.value.exit_status == 2


# Servers that are not as they should be


@pytest.mark.parametrize("status", [307, 401, 404])
@pytest.mark.parametrize("concurrency", [1, 8])
def test_where_we_are_not_let_in_the_rest_is_not_asked(server: SamplingServer, status: int, concurrency: int) -> None:
    server.plans = {f"p{i}": [Reply(status, body=b"who?")] for i in range(10, 500)}
    told = Told()
    with pytest.raises(SamplerFault, match=rf"HTTP {status}.*finished responses are kept") as fault:
        sampler_of(server, concurrency=concurrency).sample(requests_of(500), told)
    assert len(server.seen) < 60
    assert set(told.outcomes) <= set(range(10))
    assert concurrency > 1 or (len(server.seen) == 11 and len(told.outcomes) == 10)
    assert (KEY_VARIABLE in str(fault.value)) == (status in {401, 403})


@pytest.mark.parametrize("unknown", [["seed"], ["max_tokens"], ["seed", "max_tokens"]])
def test_fields_that_a_server_refuses_are_given_up_or_renamed_once(server: SamplingServer, unknown: list[str]) -> None:
    server.unknown = unknown
    sampler = sampler_of(server, concurrency=1)
    requests = requests_of(5)
    found = sampled(sampler, requests)
    answers = [expected(request, seeded="seed" not in unknown) for request in requests]
    assert [each.text for each in found if isinstance(each, Sampled)] == answers
    assert len(server.seen) == 5 + len(unknown)
    assert sampler.gave_up == frozenset(unknown) - {"max_tokens"}
    last = server.seen[-1]
    assert last.get("max_tokens", last.get("max_completion_tokens")) == 256
    assert not set(unknown) & last.keys()


@pytest.mark.parametrize("reply", [Reply(200, body=b"data: {}"), Reply(200, body=b'{"detail": "moved"}')])
def test_a_server_that_never_sends_a_response_is_given_up(server: SamplingServer, reply: Reply) -> None:
    server.always = reply
    told = Told()
    with pytest.raises(SamplerFault, match="malformed reply"):
        sampler_of(server, concurrency=1).sample(requests_of(100), told)
    assert len(server.seen) < 3 * 5  # one request may have begun meanwhile
    assert told.outcomes == {}


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("top_k", "sample from all tokens: --top-k 0"),
        ("top_p", "leave out --top-p"),
        ("temperature", "use a temperature"),
    ],
)
@pytest.mark.parametrize("status", [400, 422])
def test_what_was_asked_for_is_never_given_up(server: SamplingServer, name: str, hint: str, status: int) -> None:
    server.always = Reply(status, body=f'{{"loc": ["body", "{name}"], "msg": "Extra inputs"}}'.encode())
    told = Told()
    with pytest.raises(SamplerFault, match=rf"does not accept {name}=0?\.?5: .*Extra inputs.*\({hint}"):
        sampler_of(server).sample(requests_of(100, temperature=0.5, top_k=5, top_p=0.5), told)
    assert told.outcomes == {}
    assert len(server.seen) < 50


def test_a_refusal_that_quotes_the_prompt_is_of_that_prompt_alone(server: SamplingServer) -> None:
    texts = ["What temperature has the sun?", "Where to plant a seed?", "What is the temperature of a seed?"]
    requests = [Request((Message("user", text),), SamplingSettings(), 3) for text in texts]
    server.plans = {text: [Reply(400, body=f"cannot read {text}".encode())] * 2 for text in texts[:2]}
    sampler = sampler_of(server, concurrency=1)
    first, second, third = sampled(sampler, requests)
    assert first == Failed("the server refused: HTTP 400: cannot read What temperature has the sun?")
    assert second == Failed("the server refused: HTTP 400: cannot read Where to plant a seed?")
    assert third == well(requests[2])
    assert sampler.gave_up == frozenset()
    assert server.seen[-1]["seed"] == 3


def test_a_server_that_changes_its_model_is_left(server: SamplingServer) -> None:
    def before(asked: dict[str, Any]) -> None:
        server.reported = "/models/wise-2" if text_of(asked) == "p3" else "wise-1"

    server.before = before
    sampler = sampler_of(server, concurrency=1)
    told = Told()
    with pytest.raises(SamplerFault, match="now serves wise-2, and served wise-1 before"):
        sampler.sample(requests_of(50), told)
    assert sorted(told.outcomes) == [0, 1, 2]
    assert sampler.reported == "wise-1"
    other = sampler_of(server)
    other.reported = "wise-0"  # as an earlier run was told
    with pytest.raises(SamplerFault, match="served wise-0 before"):
        other.sample(requests_of(1), told)


# Interruptions


INTERRUPTED = """
import signal, sys
from benchmark.generation.prompting import Message, Request, SamplingSettings
from benchmark.generation.server_sampler import ServerSampler
signal.signal(signal.SIGINT, signal.default_int_handler)
requests = [Request((Message("user", f"p{i}"),), SamplingSettings(), i) for i in range(100)]
ServerSampler(sys.argv[1], "wise").sample(requests, lambda place, outcome: print(place, flush=True))
"""


def test_ctrl_c_does_not_wait_for_a_server_that_hangs(server: SamplingServer) -> None:
    server.always = Reply(hang=True)
    server.plans = {"p0": [Reply()]}
    with subprocess.Popen([sys.executable, "-c", INTERRUPTED, server.url], stdout=-1, stderr=-1, text=True) as process:
        try:
            ends = time.monotonic() + 60
            while len(server.seen) < 9 and time.monotonic() < ends:
                time.sleep(0.02)
            begun = time.monotonic()
            process.send_signal(signal.SIGINT)
            output, errors = process.communicate(timeout=30)
        finally:
            process.kill()
    assert time.monotonic() - begun < 15
    assert output == "0\n"
    assert errors.splitlines()[-1] == "KeyboardInterrupt"
    assert len(server.seen) == 9
