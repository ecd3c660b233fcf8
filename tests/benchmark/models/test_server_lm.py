"""A model behind a server: its numbers, and what is said when the server is not as it should be."""

import json
import logging
import pickle
import re
import socket
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import LlamaForCausalLM

from benchmark.models import http_client
from benchmark.models.causal_lm import TokenSequence
from benchmark.models.hf_lm import HFCausalLM
from benchmark.models.hf_tokeniser import HFTokeniser
from benchmark.models.http_client import KEY_VARIABLE, retry_after_seconds
from benchmark.models.server_lm import ServerFault, ServerLM, connect, load_tokeniser
from datasets_build.errors import ConfigurationError
from tests.benchmark.completions_server import (
    CONTEXT,
    TEXTS,
    CompletionsServer,
    Dialect,
    completions_server,
    tiny_model,
    tiny_tokeniser,
)
from tests.benchmark.json_server import Reply

REVISION = "0123456789abcdef0123456789abcdef01234567"
KEY = "sk-very-secret-1"
TOKENISER = HFTokeniser(tiny_tokeniser())
ONE = TokenSequence(np.array([0, 40, 41, 42]), np.array([1, 2, 3]))


@pytest.fixture(autouse=True, scope="module")
def one_thread() -> Iterator[None]:
    """Models this small are slower on several threads, much so where others compute, too."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(autouse=True)
def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Waits between attempts are short, and nobody's own key or proxy is used."""
    monkeypatch.setattr(http_client, "FIRST_WAIT_SECONDS", 0.001)
    monkeypatch.setattr(http_client, "ATTEMPTS", 3)
    monkeypatch.delenv(KEY_VARIABLE, raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


@pytest.fixture(scope="module")
def model() -> LlamaForCausalLM:
    return tiny_model()


@pytest.fixture(scope="module")
def local(model: LlamaForCausalLM) -> HFCausalLM:
    return HFCausalLM(model, tiny_tokeniser(), "tiny")


@pytest.fixture
def server(model: LlamaForCausalLM) -> Iterator[CompletionsServer]:
    with completions_server(model) as running:
        yield running


def remote(server: CompletionsServer, **settings: Any) -> ServerLM:
    """The model of a server, with other settings if need be."""
    usual: dict[str, Any] = {"url": server.url, "revision": REVISION, "timeout": 20.0}
    return ServerLM(model="tiny", tokeniser=TOKENISER, **usual | settings)


def sequences_of(local: HFCausalLM) -> list[TokenSequence]:
    """Texts after the beginning token, with all, some or none of their tokens scored; some twice."""
    begun = [np.concatenate([[local.bos or 0], each.ids]).astype(np.int64) for each in local.encode(TEXTS)]
    made = [TokenSequence(ids, np.arange(1, len(ids))) for ids in begun]
    made += [TokenSequence(ids, np.arange(1, len(ids), 3)) for ids in begun]
    return [*made, TokenSequence(begun[0], np.empty(0, np.int64))]


@pytest.mark.parametrize("dialect", ["vllm", "echo", "echo-strict"])
@pytest.mark.parametrize("concurrency", [1, 8])
def test_bits_are_those_of_the_same_weights_at_home(
    model: LlamaForCausalLM, local: HFCausalLM, dialect: Dialect, concurrency: int
) -> None:
    sequences = sequences_of(local)
    with completions_server(model, dialect) as server:
        lm = remote(server, concurrency=concurrency)
        assert lm.bos == local.bos == 0
        found = lm.surprisals(sequences)
        again = lm.surprisals(sequences[::-1])[::-1]
    for bits, repeated, expected in zip(found, again, local.surprisals(sequences), strict=True):
        assert bits.dtype == np.float64
        assert bits == pytest.approx(expected, abs=1e-4)
        assert bits.tolist() == repeated.tolist()
    assert max(bits.max(initial=0) for bits in found) > 10


def test_what_is_asked(server: CompletionsServer, local: HFCausalLM) -> None:
    sequences = sequences_of(local)
    remote(server, key=KEY).surprisals(sequences)
    different = {tuple(each.ids.tolist()) for each in sequences if len(each.scored)}
    assert sorted(tuple(asked.pop("prompt")) for asked in server.seen) == sorted(different)
    assert server.seen[0] == {"model": "tiny", "temperature": 0, "max_tokens": 1, "prompt_logprobs": 0}
    assert {headers["Authorization"] for headers in server.headers} == {f"Bearer {KEY}"}
    remote(server).surprisals([ONE])
    assert "Authorization" not in server.headers[-1]


def test_nothing_is_asked_where_nothing_is_scored(server: CompletionsServer) -> None:
    assert remote(server).surprisals([]) == []
    (found,) = remote(server).surprisals([TokenSequence(ONE.ids, np.empty(0, np.int64))])
    assert found.shape == (0,)
    assert found.dtype == np.float64
    assert server.seen == []


def test_the_signature_says_the_stated_revision(server: CompletionsServer) -> None:
    assert remote(server).signature == "tiny@0123456789ab,server"
    copy = pickle.loads(pickle.dumps(remote(server)))  # noqa: S301 - as it goes to other machines
    assert copy.surprisals([ONE])[0].tolist() == remote(server).surprisals([ONE])[0].tolist()


def test_an_older_server_is_asked_in_vain_once(model: LlamaForCausalLM) -> None:
    with completions_server(model, "echo") as server:
        lm = remote(server, url=server.url + "/v1/")
        for _ in range(3):
            lm.surprisals([ONE])
    assert ["echo" in asked for asked in server.seen] == [False, True, True, True]
    assert server.seen[-1] == {
        "model": "tiny",
        "prompt": ONE.ids.tolist(),
        "temperature": 0,
        "max_tokens": 0,
        "echo": True,
        "logprobs": 1,
    }


def test_a_server_without_logprobs_is_named(model: LlamaForCausalLM) -> None:
    with completions_server(model, "none") as server:
        lm = remote(server)
        with pytest.raises(ServerFault, match=r"gives no log-probabilities of prompts \(.*vLLM"):
            lm.surprisals([ONE])


BUSY = Reply(429, {"Retry-After": "0"}, b"slow down")
UNWELL = Reply(500, body=b"oh")


@pytest.mark.parametrize("replies", [[BUSY], [BUSY, UNWELL], [UNWELL, UNWELL], [Reply(503, body=b"")]])
def test_what_passes_is_tried_again(server: CompletionsServer, local: HFCausalLM, replies: list[Reply]) -> None:
    server.replies = list(replies)
    (found,) = remote(server).surprisals([ONE])
    assert found == pytest.approx(local.surprisals([ONE])[0], abs=1e-4)
    assert len(server.seen) == len(replies) + 1


def test_what_does_not_pass_is_said(server: CompletionsServer) -> None:
    server.always = Reply(503, body=b"no\nGPU")
    with pytest.raises(
        ServerFault, match=r"/v1/completions failed 3 times, at last with HTTP 503: no GPU \(look"
    ) as told:
        remote(server).surprisals([ONE])
    assert told.value.status == 503
    assert told.value.exit_status == 2
    assert server.url in told.value.message
    assert len(server.seen) == 3


def test_a_server_is_left_alone_as_long_as_it_asks_but_not_for_ever(
    server: CompletionsServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_client, "LONGEST_WAIT_SECONDS", 0.3)
    server.replies = [Reply(429, {"Retry-After": "3600"}, b"")]
    begun = time.monotonic()
    remote(server).surprisals([ONE])
    assert 0.3 <= time.monotonic() - begun < 10


def test_retry_after_may_be_a_date() -> None:
    later = format_datetime(datetime.now(UTC) + timedelta(seconds=100), usegmt=True)
    assert 90 < retry_after_seconds(later) <= 100
    for text in ("", "nan", "-3", "Fri, 99 Foo", "0 Feb 99999999999 07:28:00"):
        assert retry_after_seconds(text) == 0


def test_a_refusal_is_not_tried_again_and_quoted_in_plain_text(server: CompletionsServer) -> None:
    server.always = Reply(401, body=f"bad \x1b[31mkey\n {KEY} ".encode() + b"\xff" + b"x" * 100_000)
    with pytest.raises(ServerFault, match=rf"refused: HTTP 401: bad \[31mkey \[key\] .x+ \(.*{KEY_VARIABLE}") as told:
        remote(server, key=KEY).surprisals([ONE])
    assert len(told.value.said) == 200
    assert len(server.seen) == 1


def test_a_failure_ends_the_work_on_other_texts(server: CompletionsServer) -> None:
    many = [TokenSequence(np.array([0, i]), np.array([1])) for i in range(200)]
    server.always = Reply(403, body=b"")
    with pytest.raises(ServerFault, match="HTTP 403"):
        remote(server, concurrency=2).surprisals(many)
    assert len(server.seen) < 100


def test_a_failure_ends_the_wait_for_other_texts(server: CompletionsServer) -> None:
    # The refusal is slow, so that the other request is under way by then: later it would not be asked at all.
    server.replies = [Reply(403, body=b" " * 20, drip=0.05), Reply(429, {"Retry-After": "60"}, b"")]
    begun = time.monotonic()
    with pytest.raises(ServerFault, match="HTTP 403"):
        remote(server, concurrency=2).surprisals([ONE, TokenSequence(ONE.ids[:2], np.array([1]))])
    assert time.monotonic() - begun < 20


def test_a_sequence_beyond_the_context_is_called_so(server: CompletionsServer) -> None:
    long = TokenSequence(np.zeros(CONTEXT, np.int64), np.array([1]))
    with pytest.raises(
        ServerFault, match=r"256 tokens too long for its context: .*maximum context length is 256 tokens"
    ):
        remote(server).surprisals([long])
    assert len(server.seen) == 1


def test_a_server_that_is_not_there(server: CompletionsServer) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}"
        with pytest.raises(ServerFault, match=rf"{url}/v1/completions failed 3 times, at last with ConnectError"):
            remote(server, url=url).surprisals([ONE])


@pytest.mark.parametrize("reply", [Reply(hang=True), Reply(body=b" " * 1000, drip=0.02)])
def test_a_server_that_hangs(server: CompletionsServer, monkeypatch: pytest.MonkeyPatch, reply: Reply) -> None:
    monkeypatch.setattr(http_client, "ATTEMPTS", 2)
    server.always = reply
    begun = time.monotonic()
    with pytest.raises(
        ServerFault, match=r"failed 2 times, at last with (ReadTimeout|an answer that was not complete)"
    ):
        remote(server, timeout=0.2).surprisals([ONE])
    assert time.monotonic() - begun < 10


def test_an_answer_that_is_cut_off_is_asked_for_again(server: CompletionsServer) -> None:
    server.replies = [Reply(body=b'{"choices": [', cut=100)]
    remote(server).surprisals([ONE])
    assert len(server.seen) == 2


@pytest.mark.parametrize("endless", [False, True])
def test_an_answer_has_a_limit(server: CompletionsServer, *, endless: bool) -> None:
    server.always = Reply(body=b" " * (1 << 21), endless=endless)
    with pytest.raises(ServerFault, match=r"cannot be right: more than 1,064,960 bytes"):
        remote(server).surprisals([ONE])


def test_a_redirect_is_not_followed(model: LlamaForCausalLM, server: CompletionsServer) -> None:
    with completions_server(model) as other:
        server.always = Reply(307, {"Location": f"{other.url}/v1/completions"}, b"")
        host = re.escape(other.url.removeprefix("http://"))
        with pytest.raises(ServerFault, match=rf"sends us elsewhere \(HTTP 307, to {host}\)"):
            remote(server, key=KEY).surprisals([ONE])
    assert other.seen == []
    server.always = Reply(308, {"Location": "http://[me:secret@host?key=secret"}, b"")
    with pytest.raises(ServerFault, match=r"\(HTTP 308, to host\)"):
        remote(server).surprisals([ONE])


def entries(change: Callable[[list[Any]], object]) -> Reply:
    """An answer whose list of prompt_logprobs is changed."""

    def changed(document: dict[str, Any]) -> object:
        document["choices"][0]["prompt_logprobs"] = change(document["choices"][0]["prompt_logprobs"])
        return document

    return Reply(change=changed)


def second(value: object) -> Reply:
    """An answer with another log-probability of the token in the second place."""
    return entries(lambda found: [*found[:1], {key: {"logprob": value} for key in found[1]}, *found[2:]])


@pytest.mark.parametrize(
    ("reply", "wrong"),
    [
        (Reply(body=b"<html>"), "no JSON"),
        (Reply(body=b"[" * 100_000), "no JSON"),
        (Reply(body=b"\xff"), "no JSON"),
        (Reply(body=b"[]"), "no choices"),
        (Reply(body=b'{"choices": []}'), "no choices"),
        (Reply(body=b'{"choices": [3]}'), "no choices"),
        (entries(lambda found: found[:-1]), "3 entries of prompt_logprobs for 4 tokens"),
        (entries(lambda found: [None, *found]), "5 entries of prompt_logprobs for 4 tokens"),
        (entries(lambda found: "many"), "no entries of prompt_logprobs for 4 tokens"),
        (entries(lambda found: [{"0": {"logprob": -1}}, *found[1:]]), "a log-probability of the first token"),
        (entries(lambda found: [None, {"7": {"logprob": -1}}, *found[2:]]), "no log-probability of token 40"),
        (entries(lambda found: [None, -1.0, *found[2:]]), "no log-probability of token 40"),
        (second(0.001), "a log-probability above 0"),
        (second(float("inf")), "a log-probability above 0"),
        (second(10**400), "a log-probability above 0"),
        (second("-1"), "a str for a log-probability"),
        (second(True), "a bool for a log-probability"),
    ],
)
def test_an_answer_that_cannot_be_right(server: CompletionsServer, reply: Reply, wrong: str) -> None:
    server.always = reply
    with pytest.raises(ServerFault, match=f"cannot be right: {wrong}"):
        remote(server).surprisals([ONE])
    assert len(server.seen) == 1


@pytest.mark.parametrize("change", [lambda found: found[1:], lambda found: [*found, -1.0], lambda found: 3])
def test_echoed_logprobs_of_another_number_are_refused(
    model: LlamaForCausalLM, change: Callable[[Any], object]
) -> None:
    def changed(document: dict[str, Any]) -> object:
        if document["choices"][0]["logprobs"]:
            found = document["choices"][0]["logprobs"]
            found["token_logprobs"] = change(found["token_logprobs"])
        return document

    with completions_server(model, "echo") as server:
        server.always = Reply(change=changed)
        lm = remote(server)
        with pytest.raises(ServerFault, match=r"(no|3|5) log-probabilities for 4 tokens"):
            lm.surprisals([ONE])


@pytest.mark.parametrize("value", [None, float("nan"), float("-inf"), -9999.0, -(10**400)])
def test_a_number_that_the_server_could_not_give_is_missing(server: CompletionsServer, value: object) -> None:
    server.always = second(value)
    (found,) = remote(server).surprisals([ONE])
    assert np.isnan(found).tolist() == [True, False, False]


def test_a_place_without_an_entry_is_missing_and_rounding_is_no_fault(server: CompletionsServer) -> None:
    server.replies = [entries(lambda found: [*found[:2], None, *found[3:]]), second(1e-7), second(-3)]
    assert np.isnan(remote(server).surprisals([ONE])[0]).tolist() == [False, True, False]
    assert remote(server).surprisals([ONE])[0][0] == 0
    assert remote(server).surprisals([ONE])[0][0] == pytest.approx(3 / np.log(2))


def test_the_key_is_shown_to_nobody(
    server: CompletionsServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv(KEY_VARIABLE, f" {KEY}\n")
    with caplog.at_level(logging.DEBUG):
        remote(server).surprisals([ONE])
        server.always = Reply(400, body=f"{KEY} is wrong".encode())
        with pytest.raises(ServerFault) as told:
            remote(server).surprisals([ONE])
    assert server.headers[0]["Authorization"] == f"Bearer {KEY}"
    assert KEY not in caplog.text + str(told.value) + json.dumps(told.value.as_json()) + repr(remote(server))
    with pytest.raises(ConfigurationError, match="characters that no key has") as refused:
        remote(server, key="two\nlines")
    assert "lines" not in str(refused.value)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "localhost:8000",
        "ftp://host",
        "http://",
        "http://host:99999999",
        "http://host:0",
        "http://host/?a=b",
        "http://exa mple",
        "http://a\0b",
    ],
)
def test_what_is_no_address_is_refused(server: CompletionsServer, url: str) -> None:
    with pytest.raises(ConfigurationError, match="is no address of a server"):
        remote(server, url=url)


def test_an_address_with_a_password_is_refused_unseen(server: CompletionsServer) -> None:
    with pytest.raises(ConfigurationError, match="what was given is no address"):
        remote(server, url="http://me:secret@host:8000")


@pytest.mark.parametrize("settings", [{"concurrency": 0}, {"timeout": 0}, {"timeout": float("nan")}, {"revision": " "}])
def test_settings_without_sense_are_refused(server: CompletionsServer, settings: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError):
        remote(server, **settings)


@pytest.mark.parametrize(("given", "expected"), [(None, CONTEXT - 1), (100, 100), (10_000, CONTEXT - 1)])
def test_connecting_learns_the_context(server: CompletionsServer, given: int | None, expected: int) -> None:
    lm = connect(server.url, "tiny", TOKENISER, revision=REVISION, context=given)
    assert lm.context == expected
    # The longest sequence that is said to fit does fit.
    ids = np.zeros(expected, np.int64)
    assert np.isfinite(lm.surprisals([TokenSequence(ids, np.array([1]))])[0]).all()


@pytest.mark.parametrize("most", [None, "many", True])
def test_a_server_may_not_tell_its_context(server: CompletionsServer, most: object) -> None:
    server.models = {"data": [{"id": "tiny", "max_model_len": most}, {"name": "x"}, 3]}
    assert connect(server.url, "tiny", TOKENISER, revision=REVISION).context is None


def test_connecting_to_what_is_not_served(server: CompletionsServer) -> None:
    with pytest.raises(ConfigurationError, match="does not serve other; it serves tiny"):
        connect(server.url, "other", TOKENISER, revision=REVISION)
    with pytest.raises(ServerFault, match="folder/v1/models refused: HTTP 404"):
        connect(f"{server.url}/folder/", "tiny", TOKENISER, revision=REVISION)
    server.models = {"data": 3}
    with pytest.raises(ServerFault, match="no list of models"):
        connect(server.url, "tiny", TOKENISER, revision=REVISION)


def test_a_tokeniser_of_a_folder(tmp_path: Path) -> None:
    tiny_tokeniser().save_pretrained(tmp_path)
    (found,), (expected,) = (each.encode(TEXTS[:1]) for each in (load_tokeniser(str(tmp_path)), TOKENISER))
    assert found.ids.tolist() == expected.ids.tolist()


def test_a_tokeniser_must_be_there_and_pinned(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="is not pinned"):
        load_tokeniser("org/name@main")
    with pytest.raises(ConfigurationError, match="is no folder and no model"):
        load_tokeniser("nothing")
    for name in (str(tmp_path), f"org/name@{REVISION}"):
        with pytest.raises(ConfigurationError, match="could not be loaded"):
            load_tokeniser(name)
