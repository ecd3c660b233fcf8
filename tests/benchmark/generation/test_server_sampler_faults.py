"""A sampler before servers that fail: each answer once, whatever else comes; an end where going on makes no sense."""

import copy
import pickle
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from benchmark.generation.sampler import Failed, Message, Outcome, Request, Sampled, SamplerFault, SamplingSettings
from benchmark.models import http_client
from benchmark.models.http_client import KEY_VARIABLE, Endpoint
from tests.benchmark.json_server import Reply
from tests.benchmark.sampling_server import (
    MALFORMED,
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

pytestmark = pytest.mark.usefixtures("fast_http_client")

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
    with pytest.raises(SamplerFault, match=r"in a row, most recently: .* reasoning, .* --reasoning-parser.* --restart"):
        sampler_of(server, concurrency=1).sample(requests_of(100), Told())


def test_a_server_that_fails_three_requests_in_a_row_is_given_up(server: SamplingServer) -> None:
    server.plans = {f"p{i}": [UNWELL] * 9 for i in range(2, 99)}
    told = Told()
    with pytest.raises(SamplerFault, match=r"failed for several requests in a row, .* HTTP 500: oh .* are kept"):
        sampler_of(server, concurrency=1).sample(requests_of(100), told)
    assert sorted(told.outcomes) == [0, 1]  # what failed with the server is not done, so it is asked for again
    assert 2 + 9 <= len(server.seen) < 2 + 9 + 9


def test_a_failure_is_told_when_the_next_answer_shows_that_the_server_is_well(server: SamplingServer) -> None:
    server.plans = {"p0": [UNWELL] * 3, "p2": [UNWELL] * 3, "p3": [Reply(401, body=b"")]}
    told = Told()
    with pytest.raises(SamplerFault, match="HTTP 401"):
        sampler_of(server, concurrency=1).sample(requests_of(4), told)
    assert [type(told.outcomes.get(place)) for place in range(3)] == [Failed, Sampled, type(None)]


def test_refusals_of_everything_are_the_servers(server: SamplingServer) -> None:
    server.always = Reply(400, body=b"no such engine")
    with pytest.raises(SamplerFault, match="in a row, most recently: the server refused: HTTP 400: no such engine"):
        sampler_of(server, concurrency=1).sample(requests_of(100), Told())
    assert 3 <= len(server.seen) < 9


def test_failures_in_a_row_are_counted_from_call_to_call(server: SamplingServer) -> None:
    server.always = Reply(503, body=b"")
    sampler = sampler_of(server)
    for _ in range(2):
        told = Told()
        sampler.sample(requests_of(1), told)
        assert isinstance(told.outcomes[0], Failed)
    with pytest.raises(SamplerFault):
        sampler.sample(requests_of(1), Told())
    server.always = Reply()
    assert sampled(sampler, requests_of(1)) == [well(requests_of(1)[0])]


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


# Leaving alone


def test_when_the_server_asks_to_be_left_alone_no_thread_asks(server: SamplingServer) -> None:
    at_work, all_there = 4, threading.Event()
    told_at: list[float] = []

    def before(asked: dict[str, Any]) -> None:
        if len(server.arrived) >= at_work:
            all_there.set()
        assert all_there.wait(20)  # all are under way when the first is told
        if text_of(asked) != "p0":
            time.sleep(0 if len(server.arrived) > at_work else 0.2)  # they would go on within the pause
        elif not told_at:
            told_at.append(time.monotonic())

    server.before = before
    server.plans = {"p0": [Reply(429, {"Retry-After": "0.6"})]}
    requests = requests_of(12)
    assert sampled(sampler_of(server, concurrency=at_work), requests) == [well(request) for request in requests]
    came = [at for at, _ in server.arrived[at_work:]]
    assert len(came) == 12 - at_work + 1
    assert min(came) >= told_at[0] + 0.6
    assert set(server.answered.values()) == {1}


def test_a_pause_stays_in_its_process(server: SamplingServer) -> None:
    asked = Endpoint(server.url)
    server.plans = {"p0": [Reply(429, {"Retry-After": "60"}, b"")]}
    halt = threading.Event()

    def end() -> None:  # the work, once the server has told to pause
        while not server.seen:
            time.sleep(0.01)
        halt.wait(0.2)
        halt.set()

    threading.Thread(target=end, daemon=True).start()
    body = {"messages": [{"content": "p0"}]}
    with asked.client() as client:
        with pytest.raises(http_client.ServerFault, match="was not called, because the work was stopped"):
            asked.request(client, "/v1/x", body, halt=halt)
        with pytest.raises(http_client.ServerFault, match="was not called"):
            asked.request(client, "/v1/x", halt=halt)
        assert len(server.seen) == 1
        for other in (pickle.loads(pickle.dumps(asked)), copy.deepcopy(asked)):  # noqa: S301 - as it goes to others
            assert other.request(client, "/v1/models") == {}


def test_a_server_that_takes_fewer_at_once_is_asked_for_fewer(server: SamplingServer) -> None:
    server.before = lambda asked: time.sleep(0.005)
    server.room = 1
    requests = requests_of(40)
    sampler = sampler_of(server, concurrency=8)
    assert sampled(sampler, requests) == [well(request) for request in requests]
    turned_away = len(server.seen) - 40
    sampled(sampler, requests)
    assert len(server.seen) - 80 - turned_away <= turned_away
    assert server.most == 1


# Servers that are not as they should be


@pytest.mark.parametrize("status", [307, 401, 402, 403, 404, 405])
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


def test_a_server_that_knows_no_top_p_is_asked_without_it_where_nothing_is_cut_off(server: SamplingServer) -> None:
    server.unknown = ("top_p",)
    sampler = sampler_of(server)
    assert sampled(sampler, requests_of(3)) == [well(each) for each in requests_of(3)]
    assert sampler.gave_up == {"top_p"}


def test_a_temperature_refused_beside_a_top_p_that_cuts_nothing_off_is_sent_without_it(server: SamplingServer) -> None:
    both = Reply(400, body=b"`temperature` and `top_p` cannot both be specified for this model.")
    server.plans = {"p0": [both]}
    sampler = sampler_of(server, concurrency=1)
    assert sampled(sampler, requests_of(2, temperature=0.5)) == [well(r) for r in requests_of(2, temperature=0.5)]
    assert [body.get("top_p") for body in server.seen] == [1.0, None, None]
    assert sampler.gave_up == {"top_p"}


def test_a_top_p_that_cuts_off_is_sent_even_where_a_top_p_of_1_was_refused(server: SamplingServer) -> None:
    sampler = sampler_of(server)
    sampler.leave_out(frozenset({"top_p"}))
    sampled(sampler, [*requests_of(1, top_p=0.5), *requests_of(1)])
    assert sorted(str(body.get("top_p")) for body in server.seen) == ["0.5", "None"]


@pytest.mark.parametrize("reply", [Reply(200, body=b"data: {}"), Reply(200, body=b'{"detail": "moved"}')])
def test_a_server_that_never_sends_a_response_is_given_up(server: SamplingServer, reply: Reply) -> None:
    server.always = reply
    told = Told()
    with pytest.raises(SamplerFault, match="malformed answer"):
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


@pytest.mark.parametrize(
    ("said", "name"), [("two words", None), (7, None), (["a"], None), ("x" * 300, None), ("org/wise:1", "org/wise:1")]
)
def test_what_is_no_name_is_not_told(server: SamplingServer, said: object, name: str | None) -> None:
    server.reported = said
    sampler = sampler_of(server)
    assert len(sampled(sampler, requests_of(2))) == 2
    assert sampler.reported == name


# Interruptions


def test_an_interruption_ends_waits_and_the_rest_is_not_asked(server: SamplingServer) -> None:
    held = threading.Event()
    server.before = lambda asked: held.set() if len(server.arrived) > 1 else held.wait(20)
    server.plans = {"p1": [Reply(429, {"Retry-After": "60"})]}

    def done(place: int, outcome: Outcome) -> None:
        time.sleep(0.1)
        raise KeyboardInterrupt

    begun = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        sampler_of(server, concurrency=2).sample(requests_of(100), done)
    assert time.monotonic() - begun < 10
    time.sleep(0.1)
    assert len(server.seen) <= 10  # of 100: what was under way, on a machine that may be busy


INTERRUPTED = """
import signal, sys
from benchmark.generation.sampler import Message, Request, SamplingSettings
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


# Many things at once

TROUBLES = [BUSY, BUSY, UNWELL, Reply(503, {"Retry-After": "0.02"}, b""), *(reply for reply, _ in MALFORMED[:-1])]
FATES: list[tuple[list[Reply], str]] = [
    ([saying(None, "content_filter")], "filter withheld"),
    ([Reply(400, body=b"content management policy")], "filter refused"),
    ([TOO_LONG], "too long"),
    ([saying("\udfff")], "surrogates"),
    ([reply for reply, _ in MALFORMED[:3]], "malformed answer"),
    ([UNWELL] * 6, "failed 6 times"),
]


def plan_of(draws: random.Random) -> list[Reply]:
    """What happens to a request before it is answered: not so much that it would be given up."""
    plan = draws.choices(TROUBLES, k=draws.choice([0, 0, 1, 2, 3]))
    while sum(reply.status == 200 for reply in plan) > 2:
        plan.remove(next(reply for reply in plan if reply.status == 200))
    return plan


def test_in_a_storm_each_request_is_answered_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_client, "ATTEMPTS", 6)
    with ThreadPoolExecutor(2) as pool, sampling_server() as first, sampling_server() as second:
        storms = [pool.submit(weather, *given) for given in ((first, 0), (second, 1))]
        for storm in storms:
            storm.result()


def weather(server: SamplingServer, seed: int) -> None:
    """Sample through a storm of faults; the request that hangs takes longest."""
    draws = random.Random(seed)  # noqa: S311 - of what fails
    requests = requests_of(60, temperature=0.7, top_k=3)
    server.plans = {f"p{i}": plan_of(draws) for i in range(60)}
    doomed = dict(zip(draws.sample(range(60), 2 * len(FATES)), FATES * 2, strict=True))
    for place, (replies, _) in doomed.items():
        server.plans[f"p{place}"] = list(replies)
    slow = draws.choice(sorted(set(range(60)) - doomed.keys()))
    server.plans[f"p{slow}"].append(Reply(hang=True))
    asked = sum(map(len, server.plans.values())) + 60 - len(doomed)
    found = sampled(sampler_of(server, timeout=1.5), requests)
    for place, (outcome, request) in enumerate(zip(found, requests, strict=True)):
        if place in doomed:
            assert isinstance(outcome, Failed)
            assert doomed[place][1] in outcome.reason
        else:
            assert outcome == well(request)
    assert server.answered == {f"p{i}": 1 for i in range(60) if i not in doomed}
    assert len(server.seen) == asked
    assert not any(server.plans.values())
