"""The contract of all clients of servers: what they retry, refuse, limit and quote, and who sees the API key."""

import json
import logging
import re
import socket
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest

from benchmark.models import http_client
from benchmark.models.http_client import KEY_VARIABLE, reported_model, retry_after_seconds
from divbench.core.errors import ConfigurationError
from tests.benchmark.http_clients import CLIENTS, Client
from tests.benchmark.json_server import JsonServer, Reply

pytestmark = pytest.mark.usefixtures("fast_http_client")

KEY = "sk-very-secret-1"
BUSY = Reply(429, {"Retry-After": "0"}, b"slow down")
FAILING = Reply(500, body=b"oh")


@pytest.fixture(params=CLIENTS)
def kind(request: pytest.FixtureRequest) -> Client:
    return CLIENTS[request.param]


@pytest.fixture
def server(kind: Client) -> Iterator[JsonServer]:
    with kind.serve() as running:
        yield running


# Transient failures


def test_transient_failures_are_retried(kind: Client, server: JsonServer) -> None:
    cut = Reply(body=b'{"choices": [', cut=100)  # the server hangs up
    for replies in ([BUSY], [BUSY, FAILING], [FAILING, FAILING], [Reply(503, body=b"")], [Reply(529, body=b"")], [cut]):
        server.seen.clear()
        server.replies = list(replies)
        assert kind.one(kind.make(server)) == kind.expected, replies
        assert len(server.seen) == len(replies) + 1


@pytest.mark.parametrize(
    ("status", "body", "quoted"), [(503, b"no\nGPU", ": no GPU"), (429, b"no quota", ": no quota"), (502, b"", "")]
)
def test_a_failure_that_lasts_is_an_error(
    kind: Client, server: JsonServer, status: int, body: bytes, quoted: str
) -> None:
    server.always = Reply(status, {"Retry-After": "0"}, body)
    message, error = kind.error(kind.make(server))
    assert re.search(rf"failed 3 times, the last time with HTTP {status}{quoted}( \(check|$)", message)
    assert len(server.seen) == 3
    if error is not None:
        assert error.exit_status == 2
        assert getattr(error, "status", None) == status
        assert server.url in error.message


def test_an_unreachable_server_is_an_error(kind: Client, server: JsonServer) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}"
        message, error = kind.error(kind.make(server, url=url))
    assert "failed 3 times, the last time with ConnectError" in message
    assert "--concurrency" not in message  # most commands have no such option
    assert error is None or error.message.startswith(f"{url}/v1/")


@pytest.mark.parametrize(
    "reply", [Reply(hang=True), Reply(body=b" " * 1000, drip=0.01), Reply(early=True, drip=0.01), Reply(early=True)]
)
def test_a_server_that_hangs_or_drips_times_out(
    kind: Client, server: JsonServer, monkeypatch: pytest.MonkeyPatch, reply: Reply
) -> None:
    monkeypatch.setattr(http_client, "ATTEMPTS", 2)
    server.always = reply
    begun = time.monotonic()
    message, _ = kind.error(kind.make(server, timeout=0.1))
    assert re.search(
        r"failed 2 times, the last time with (ReadTimeout|(an answer|headers) that w\w+ not complete)", message
    )
    assert ("ReadTimeout" in message) == reply.hang
    assert time.monotonic() - begun < 10


def test_a_pause_that_the_server_asks_for_is_kept_but_capped(
    kind: Client, server: JsonServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_client, "LONGEST_WAIT_SECONDS", 0.15)
    for status, asked, least in ((429, "0.05", 0.05), (503, "3600", 0.15)):
        server.replies = [Reply(status, {"Retry-After": asked}, b"")]
        begun = time.monotonic()
        assert kind.one(kind.make(server)) == kind.expected
        assert least <= time.monotonic() - begun < 10


def test_retry_after_may_be_a_date() -> None:
    later = format_datetime(datetime.now(UTC) + timedelta(seconds=100), usegmt=True)
    assert 90 < retry_after_seconds(later) <= 100
    for text in ("", "nan", "-3", "Fri, 99 Foo", "0 Feb 99999999999 07:28:00"):
        assert retry_after_seconds(text) == 0


# Refusals


@pytest.mark.parametrize(
    ("status", "hint"),
    [(400, ""), (401, KEY_VARIABLE), (402, ""), (403, KEY_VARIABLE), (404, "model's name"), (405, "")],
)
def test_a_refusal_is_not_retried(kind: Client, server: JsonServer, status: int, hint: str) -> None:
    server.always = Reply(status, body=b"who?")
    message, error = kind.error(kind.make(server))
    assert f"refused: HTTP {status}: who?" in message
    assert hint in message
    assert (KEY_VARIABLE in message) == (status in {401, 403})
    assert len(server.seen) == 1
    assert error is None or error.exit_status == 2


def test_a_refusal_is_quoted_as_short_plain_text(
    kind: Client, server: JsonServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(KEY_VARIABLE, KEY)
    server.always = Reply(401, body=f"bad \x1b[31mkey\n {KEY} ".encode() + b"\xff" + b"x" * 100_000)
    message, _ = kind.error(kind.make(server))
    quoted = re.search(r"HTTP 401: (bad \[31mkey \[key\] .x+)", message)
    assert quoted is not None
    assert len(quoted[1]) == 200


def test_a_failure_ends_the_work_on_other_requests(kind: Client, server: JsonServer) -> None:
    server.always = Reply(403, body=b"")
    with pytest.raises(Exception, match="HTTP 403"):
        kind.many(kind.make(server, concurrency=2), 200)
    assert len(server.seen) < 100


def test_a_failure_ends_the_wait_of_other_requests(kind: Client, server: JsonServer) -> None:
    # The refusal is slow, so that the other request is under way by then: later it would not be sent at all.
    server.replies = [Reply(403, body=b" " * 20, drip=0.02), Reply(429, {"Retry-After": "60"}, b"")]
    begun = time.monotonic()
    with pytest.raises(Exception, match="HTTP 403"):
        kind.many(kind.make(server, concurrency=2), 2)
    assert time.monotonic() - begun < 20


def test_a_redirect_is_not_followed(kind: Client, server: JsonServer) -> None:
    with kind.serve() as other:
        server.always = Reply(307, {"Location": f"{other.url}/v1/completions"}, b"")
        message, error = kind.error(kind.make(server))
    assert f"redirects (HTTP 307, to {other.url.removeprefix('http://')})" in message
    assert error is not None
    assert other.seen == []
    server.always = Reply(308, {"Location": "http://[me:secret@host?key=secret"}, b"")
    message, _ = kind.error(kind.make(server))
    assert "(HTTP 308, to host)" in message
    assert len(server.seen) == 2


def test_the_environments_proxy_is_used(kind: Client, server: JsonServer, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    for name in ("HTTP_PROXY", "http_proxy"):
        monkeypatch.setenv(name, server.url)
    assert kind.one(kind.make(server, url="http://example.invalid")) == kind.expected
    assert server.headers[0]["Host"] == "example.invalid"


# Malformed answers


@pytest.mark.parametrize("body", [b"<html>", b'{"choices": [{"mess', b"[" * 100_000, b"\xff", b""])
def test_an_answer_that_is_no_json_is_malformed(kind: Client, server: JsonServer, body: bytes) -> None:
    server.always = Reply(body=body)
    message, _ = kind.error(kind.make(server))
    assert "sent a malformed answer: no JSON" in message
    assert "object" not in message
    assert len(server.seen) == kind.attempts


def test_an_answer_without_choices_is_malformed(kind: Client, server: JsonServer) -> None:
    for body in (b"[]", b'{"error": "no"}', b'{"choices": []}', b'{"choices": {}}', b'{"choices": [1]}'):
        server.seen.clear()
        server.always = Reply(body=body)
        message, _ = kind.error(kind.make(server))
        assert f"malformed answer: {kind.no_object if body == b'[]' else 'no choices'}" in message
        assert len(server.seen) == kind.attempts


@pytest.mark.parametrize("endless", [False, True])
def test_an_answer_has_a_limit(kind: Client, server: JsonServer, *, endless: bool) -> None:
    server.always = Reply(body=b" " * (1 << 16 if endless else kind.limit + 1), endless=endless)
    message, _ = kind.error(kind.make(server))
    assert f"malformed answer: more than {kind.limit:,} bytes" in message


@pytest.mark.parametrize(
    ("reported", "name"),
    [
        (None, None),
        (7, None),
        (["a"], None),
        ("two words", None),
        ("a,b", None),
        ("x" * 300, None),
        ("org/wise:1", "org/wise:1"),
        ("/home/me/x.gguf", "x.gguf"),
    ],
)
def test_only_a_name_is_taken_for_the_models_name(reported: object, name: str | None) -> None:
    assert reported_model({"model": reported}) == name


# Keys and addresses


def test_the_key_is_sent_to_the_server_and_shown_to_nobody(
    kind: Client, server: JsonServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    kind.one(kind.make(server))
    assert "Authorization" not in server.headers[-1]
    monkeypatch.setenv(KEY_VARIABLE, f" {KEY}\n")
    client = kind.make(server)
    with caplog.at_level(logging.DEBUG):
        kind.one(client)
        assert server.headers[-1]["Authorization"] == f"Bearer {KEY}"
        server.always = Reply(401, body=f"{KEY} is wrong".encode())
        message, error = kind.error(client)
    assert error is not None
    shown = [caplog.text, message, json.dumps(error.as_json()), repr(client), repr(vars(client)), client.signature]
    assert KEY not in "".join(shown)
    monkeypatch.setenv(KEY_VARIABLE, "two\nlines")
    with pytest.raises(ConfigurationError, match="characters that no key has") as refused:
        kind.make(server)
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
def test_a_malformed_address_is_refused(kind: Client, server: JsonServer, url: str) -> None:
    with pytest.raises(ConfigurationError, match="is not a server's address"):
        kind.make(server, url=url)


def test_an_address_with_a_password_is_refused_and_not_shown(kind: Client, server: JsonServer) -> None:
    with pytest.raises(ConfigurationError, match="the given text is not a server's address") as told:
        kind.make(server, url="http://me:secret@host:8000")
    assert "secret" not in str(told.value)


def test_an_address_may_end_in_v1(kind: Client, server: JsonServer) -> None:
    assert kind.one(kind.make(server, url=f"{server.url}/v1/")) == kind.expected


@pytest.mark.parametrize("settings", [{"timeout": 0}, {"timeout": float("nan")}, {"concurrency": 0}])
def test_numbers_that_are_too_small_are_refused(kind: Client, server: JsonServer, settings: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError):
        kind.make(server, **settings)
