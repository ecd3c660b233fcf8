"""What requests to a server retry, refuse, limit and quote, and who sees the API key."""

import json
import logging
import pickle
import re
import socket
import time
from collections.abc import Iterator
from typing import Any

import pytest

from benchmark.models import servers
from benchmark.models.servers import KEY_VARIABLE, Server, ServerFault, first_choice, reported_model
from divbench.core.errors import ConfigurationError
from tests.benchmark.json_server import JsonServer, Reply, serving

pytestmark = pytest.mark.usefixtures("fast_servers")

KEY = "sk-very-secret-1"
BUSY = Reply(429, {"Retry-After": "0.01"}, b"slow down")


class Plain(JsonServer):
    """Answers every request with one choice."""

    def answer(self, asked: dict[str, Any]) -> tuple[int, object]:
        return 200, {"choices": [{"text": asked["text"]}]}


@pytest.fixture
def server() -> Iterator[JsonServer]:
    running = Plain()
    with serving(running):
        yield running


def post(address: Server, text: str = "a") -> dict[str, Any]:
    """Return the choice with which a server replies."""
    with address.connect() as client:
        return first_choice(address.request(client, "/x", {"text": text}))


@pytest.mark.parametrize("reply", [BUSY, Reply(500), Reply(529), Reply(body=b'{"choices": [', cut=100)])
def test_transient_failures_are_retried(server: JsonServer, reply: Reply) -> None:
    server.replies = [reply, reply]
    assert post(Server.at(f"{server.url}/v1/")) == {"text": "a"}
    assert len(server.seen) == 3


@pytest.mark.parametrize(
    ("reply", "reason", "status"),
    [
        (Reply(503, body=b"no\nGPU"), "HTTP 503: no GPU", 503),
        (BUSY, "HTTP 429: slow down", 429),
        (Reply(hang=True), "ReadTimeout", None),
    ],
)
def test_a_lasting_failure_is_a_transient_fault(
    server: JsonServer, reply: Reply, reason: str, status: int | None
) -> None:
    server.always = reply
    with pytest.raises(ServerFault, match=f"the server failed 3 times, the last time with {reason}") as caught:
        post(Server.at(server.url, timeout=0.2))
    assert (caught.value.kind, caught.value.status, len(server.seen)) == ("transient", status, 3)
    assert server.url in caught.value.hint


def test_without_quota_a_server_is_asked_once(server: JsonServer) -> None:
    body = {"error": {"message": "You exceeded your current quota.", "code": "insufficient_quota"}}
    server.always = Reply(429, {"Retry-After": "0.01"}, json.dumps(body).encode())
    with pytest.raises(ServerFault, match=r"is used up: HTTP 429: You exceeded your current quota\.") as caught:
        post(Server.at(server.url))
    assert (caught.value.kind, len(server.seen)) == ("refused", 1)
    assert "add credit" in caught.value.hint


def test_an_unreachable_server_is_a_transient_fault() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        with pytest.raises(ServerFault, match="failed 3 times, the last time with ConnectError") as caught:
            post(Server.at(f"http://127.0.0.1:{unused.getsockname()[1]}"))
    assert caught.value.kind == "transient"


def test_a_pause_that_the_server_asks_for_is_kept(server: JsonServer) -> None:
    server.replies = [Reply(429, {"Retry-After": "0.2"}, b"")]
    begin = time.monotonic()
    post(Server.at(server.url))
    assert time.monotonic() - begin > 0.2


@pytest.mark.parametrize(("status", "hint"), [(400, ""), (401, KEY_VARIABLE), (403, KEY_VARIABLE), (404, "name")])
def test_a_refusal_is_not_retried(server: JsonServer, status: int, hint: str) -> None:
    server.always = Reply(status, body=b"who\0?" + b"x" * 9999)
    with pytest.raises(ServerFault, match=rf"the server refused: HTTP {status}: who \?x{{195}}($| \()") as caught:
        post(Server.at(server.url))
    assert (caught.value.kind, caught.value.status, len(server.seen)) == ("refused", status, 1)
    assert hint in caught.value.hint


def test_redirects_are_not_followed(server: JsonServer) -> None:
    server.always = Reply(308, {"Location": "http://me:secret@host?key=secret"}, b"")
    with pytest.raises(ServerFault, match=r"redirects \(HTTP 308, to host\)"):
        post(Server.at(server.url))
    assert len(server.seen) == 1


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"<html>", "no JSON"),
        (b"[" * 100_000, "no JSON"),
        (b"\xff", "no JSON"),
        (b"[]", "no JSON object"),
        (b'{"choices": [1]}', "no choices"),
        (b'{"error": {"message": "no"}}', 'no choices, but the error {"message": "no"}'),
    ],
)
def test_a_malformed_reply_is_a_fault(server: JsonServer, body: bytes, reason: str) -> None:
    server.always = Reply(body=body)
    with pytest.raises(ServerFault, match=f"sent a malformed reply: {re.escape(reason)}") as caught:
        post(Server.at(server.url))
    assert (caught.value.kind, len(server.seen)) == ("malformed", 1)


def test_a_reply_is_limited_in_size(server: JsonServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(servers, "MAX_REPLY_BYTES", 1 << 20)
    server.always = Reply(body=b" " * (1 << 16), endless=True)
    with pytest.raises(ServerFault, match="malformed reply: more than 1,048,576 bytes"):
        post(Server.at(server.url))


@pytest.mark.parametrize(
    ("reported", "name"),
    [
        *((invalid, None) for invalid in (None, 7, "two words", "x" * 300)),
        ("org/wise:1", "org/wise:1"),
        ("/home/me/x.gguf", "x.gguf"),
    ],
)
def test_only_a_valid_name_is_the_models_name(reported: object, name: str | None) -> None:
    assert reported_model({"model": reported}) == name


def test_results_are_in_order_and_a_failure_ends_the_rest(server: JsonServer) -> None:
    address = pickle.loads(pickle.dumps(Server.at(server.url)))  # noqa: S301 - as it goes to other machines

    def ask(client: Any, text: str) -> str:
        return str(first_choice(address.request(client, "/x", {"text": text}))["text"])

    texts = [str(i) for i in range(50)]
    assert address.map(texts, ask, 4) == texts
    server.always = Reply(400, body=b"no")
    with pytest.raises(ServerFault, match="HTTP 400"):
        address.map(texts, ask, 4)
    assert len(server.seen) < 50 + 25
    assert address.map([], ask, 4) == []


def test_the_key_is_sent_to_the_server_and_shown_to_nobody(
    server: JsonServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "of another server")
    post(Server.at(server.url))
    assert server.headers[-1]["Authorization"] == "Bearer EMPTY"
    monkeypatch.setenv(KEY_VARIABLE, f" {KEY}\n")
    address, shown = Server.at(server.url), []
    with caplog.at_level(logging.DEBUG):
        for reply in (Reply(401, body=KEY.encode()), Reply(body=f'{{"error": "{KEY}"}}'.encode())):
            server.always = reply
            with pytest.raises(ServerFault, match=r"\[key\]") as caught:
                post(address)
            shown += [str(caught.value), json.dumps(caught.value.as_json())]
    assert server.headers[-1]["Authorization"] == f"Bearer {KEY}"
    assert KEY not in "".join([*shown, caplog.text, repr(address)])
    monkeypatch.setenv(KEY_VARIABLE, "two\nlines")
    with pytest.raises(ConfigurationError, match="characters that no key has") as refused:
        Server.at(server.url)
    assert "lines" not in str(refused.value)


@pytest.mark.parametrize(
    "url", ["", "localhost:8000", "ftp://host", "http://", "http://host:0", "http://host/?a=b", "http://a\0b"]
)
def test_a_malformed_address_is_refused(url: str) -> None:
    with pytest.raises(ConfigurationError, match="is not a server's address"):
        Server.at(url)


def test_an_address_with_a_password_is_refused_and_not_shown() -> None:
    with pytest.raises(ConfigurationError, match="the given text is not a server's address") as caught:
        Server.at("http://me:secret@host:8000")
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("timeout", [0, float("nan")])
def test_a_timeout_is_above_zero(timeout: float) -> None:
    with pytest.raises(ConfigurationError, match="give a number above 0"):
        Server.at("http://host", timeout)
