"""Calls with wrong counts, types, sizes and paths get a short answer, and one line in the log; never a traceback."""

import asyncio
import json
import os
import re
import urllib.error
import urllib.request
from pathlib import Path
from signal import SIGTERM
from types import SimpleNamespace
from typing import Any

import gradio as gr
import pytest
from gradio import processing_utils, routes
from gradio.blocks import Block
from starlette.exceptions import HTTPException
from starlette.requests import Request

from divbench.core.errors import ConfigurationError
from leaderboard.app import application, requests
from leaderboard.app.requests import RequestLimits, caller_address
from tests.conftest import RUN
from tests.forked import Forked
from tests.leaderboard.servers import free_port, wait_for

Json = dict[str, Any]


def answers(
    app: RequestLimits, size: int, *, declared: bool = True, path: str = "/call", visitor: str = "a", **more: str
) -> int:
    """The status of a POST whose body comes in pieces of a kilobyte; 0 if it was cut off."""
    scope: Json = {
        "type": "http",
        "method": "POST",
        "path": path,
        "client": (visitor, 1),
        "headers": [(b"content-length", str(size).encode()) if declared else (b"transfer-encoding", b"chunked")],
    }
    scope["headers"] += [(b"x-forwarded-for", value.encode()) for value in more.values()]
    pieces = [b"x" * 1024] * (size // 1024)
    found = 0

    async def receive() -> Json:
        return {"type": "http.request", "body": pieces.pop(), "more_body": bool(pieces)}

    async def send(message: Any) -> None:
        nonlocal found
        found = message.get("status", found)

    asyncio.run(app(scope, receive, send))
    return found


async def reads_all(scope: Any, receive: Any, send: Any) -> None:
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return
        if not message["more_body"]:
            break
    await send({"type": "http.response.start", "status": 200, "headers": []})


def test_a_body_too_long_and_a_visitor_too_quick_are_refused(caplog: pytest.LogCaptureFixture) -> None:
    app = RequestLimits(reads_all, calls=5, body=8192)
    assert answers(app, 8192) == 200
    assert answers(app, 9216) == 413
    assert answers(app, 9216, declared=False) == 0
    assert answers(app, 9216, path="/gradio_api/upload") == 200
    assert answers(app, 1024) == 200
    caplog.clear()
    assert [answers(app, 1024) for _ in range(20)] == [429] * 20
    assert len(caplog.records) == 1  # who calls too often cannot fill the log
    assert answers(app, 1024, visitor="b") == 200


def test_only_uploads_may_be_long_whatever_else_a_path_ends_in() -> None:
    # A board parsed 24 MB of `[],[],…` for 22 s, during which it answered nobody, and took 1.3 GB of memory for it.
    app = RequestLimits(reads_all, body=8192)
    for path in ("/gradio_api/call/upload", "/gradio_api/run/upload", "/upload"):
        assert answers(app, 9216, path=path) == 413


def test_a_visitor_cannot_fill_the_disk_with_uploads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requests, "UPLOADED_AN_HOUR", 20_000)
    monkeypatch.setattr(requests, "MAX_UPLOADS_BYTES", 15_000)
    app, path = RequestLimits(reads_all), "/gradio_api/upload"
    assert [answers(app, 9216, path=path) for _ in range(3)] == [200, 200, 429]
    assert answers(app, 9216, path=path, visitor="b") == 200
    assert answers(app, 9216, path=path, visitor="b", declared=False) == 429  # it may have any length up to the limit
    assert answers(app, 9216) == 200  # other calls go on


def test_a_visitor_cannot_keep_the_server_busy_with_long_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    # With 33 calls of a mebibyte in 12 s, the shortest call of anybody else took 3 s.
    monkeypatch.setattr(requests, "SENT_A_MINUTE", 20_000)
    app = RequestLimits(reads_all)
    assert [answers(app, 9216) for _ in range(3)] == [200, 200, 429]
    assert answers(app, 1024) == 200
    assert answers(app, 9216, visitor="b") == 200
    assert answers(app, 9216, path="/gradio_api/upload") == 200


def test_the_server_fetches_no_address_that_a_caller_names(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    # Any argument of any call could name one: 400 MB were downloaded into memory for a call of /columns.
    served: Any = routes
    for owner, name in ((processing_utils, "async_ssrf_protected_download"), (served, "secure_url_stream_response")):
        monkeypatch.setattr(owner, name, getattr(owner, name))  # restored after the test
    requests.fetch_no_addresses()
    block: Any = SimpleNamespace(GRADIO_CACHE=str(tmp_path), temp_files=set())
    with pytest.raises(gr.Error, match="fetches no web addresses"):
        asyncio.run(Block.async_move_resource_to_block_cache(block, "https://example.org/endless"))
    with pytest.raises(HTTPException, match="fetches no web addresses"):
        asyncio.run(served.secure_url_stream_response("https://example.org/endless", None))
    assert not list(tmp_path.iterdir())


def test_a_long_body_is_received_before_it_is_refused_and_a_far_longer_one_is_not() -> None:
    received, sent = [], []

    async def receive() -> Json:
        received.append(1)
        return {"type": "http.request", "body": b"x" * 2**20, "more_body": len(received) < 3}

    async def send(message: Any) -> None:
        sent.append(message)

    for size, pieces in ((3 * 2**20, 3), (2**30, 0)):
        received.clear()
        headers = [(b"content-length", str(size).encode())]
        scope = {"type": "http", "method": "POST", "path": "/call", "client": ("a", 1), "headers": headers}
        asyncio.run(RequestLimits(reads_all)(scope, receive, send))
        assert (sent[-2]["status"], len(received)) == (413, pieces)


def test_a_refusal_says_why_in_the_field_that_gradio_shows() -> None:
    sent: list[Json] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Json:
        raise AssertionError("a refused body is not read")

    scope = {"type": "http", "method": "POST", "path": "/call", "client": ("a", 1), "headers": []}
    asyncio.run(RequestLimits(reads_all, calls=0)(scope, receive, send))
    assert json.loads(sent[-1]["body"]) == {"detail": "Too many requests; wait a minute."}


def test_behind_a_proxy_visitors_are_those_whom_it_tells() -> None:
    app = RequestLimits(reads_all, calls=1, proxied=True)
    assert [answers(app, 1024, forwarded=f"1.1.1.1, {who}") for who in ("2.2.2.2", "3.3.3.3", "2.2.2.2")] == [
        200,
        200,
        429,
    ]
    plain = RequestLimits(reads_all, calls=1)  # anybody may write the header where there is no proxy
    assert [answers(plain, 1024, forwarded=who) for who in ("2.2.2.2", "3.3.3.3")] == [200, 429]


def test_votes_are_counted_for_the_address_that_calls_are(monkeypatch: pytest.MonkeyPatch) -> None:
    headers = [
        (b"x-forwarded-for", b"9.9.9.9"),
        (b"x-forwarded-for", b"8.8.8.8, 2.2.2.2"),
    ]  # the first is forged
    call = gr.Request(Request({"type": "http", "headers": headers, "client": ("7.7.7.7", 1)}))
    monkeypatch.delenv("SPACE_ID", raising=False)
    assert caller_address(call) == "7.7.7.7"
    monkeypatch.setenv("SPACE_ID", "org/space")
    assert caller_address(call) == "2.2.2.2"


def fetch(url: str, body: bytes | None = None) -> str:
    request = urllib.request.Request(url, body, {"content-type": "application/json"})  # noqa: S310 - our own address
    try:
        with urllib.request.urlopen(request, timeout=20) as reply:  # noqa: S310
            return str(reply.read().decode())
    except urllib.error.HTTPError as error:
        with error:
            return error.read().decode()


def outcome(url: str, name: str, data: Any) -> str:
    """What an endpoint of the API answers to values."""
    said = fetch(f"{url}/gradio_api/call/{name}", json.dumps({"data": data}).encode())
    event = re.search(r'"event_id":"(\w+)"', said)
    return said if event is None else fetch(f"{url}/gradio_api/call/{name}/{event[1]}")


WRONG: tuple[Any, ...] = (
    [],
    [None],
    ["x"] * 40,
    [{"path": "/etc/passwd", "meta": {"_type": "gradio.FileData"}}] * 3,
    [{"path": "../../x\n\x1b[2J", "meta": {"_type": "gradio.FileData"}}],
    [["x"] * 10, {"a": {}}, -1e308, 10**400],
    {"a": 1},
    "x",
    None,
)


def test_no_call_writes_a_traceback(tmp_path: Path) -> None:
    port = free_port()
    code = f"import os; os.dup2(2, 1); {RUN}"  # both streams go into the log
    with Forked(code, ["board", "serve", "--reference", "--port", port], os.environ, tmp_path / "log") as board:
        try:
            wait_for(url := f"http://127.0.0.1:{port}", board)
            names = [name.strip("/") for name in json.loads(fetch(f"{url}/gradio_api/info"))["named_endpoints"]]
            assert len(names) >= 5
            for number, name in enumerate(names):
                for data in WRONG[number % 3 :: 3]:
                    said = outcome(url, name, data)
                    assert len(said) < 200_000, (name, data)
                    assert "Traceback" not in said
            for body in (b"", b"{", b"[]", b"\xff" * 100, b'{"fn_index": 99999, "data": [], "session_hash": "x"}'):
                for path in ("/gradio_api/queue/join", "/gradio_api/run/x", "/gradio_api/upload", "/nowhere"):
                    assert len(fetch(url + path, body)) < 2000
            assert "more than" in fetch(f"{url}/gradio_api/queue/join", b"x" * 2_000_000)
        finally:
            board.send_signal(SIGTERM)
    written = (tmp_path / "log").read_text()
    assert "didn't receive enough input values" in written
    assert "Traceback" not in written
    assert "\x1b" not in written
    assert max(map(len, written.splitlines())) < 500


def test_an_address_that_gradio_cannot_listen_on_is_told_in_our_words(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(**options: object) -> None:
        raise OSError("Cannot find empty port in range: 7860-7959. Pass server_port to launch().")

    # Changes of Gradio for the whole process, and the page's head, which reads the study.
    changes = ("log_one_line_an_error", "fetch_no_addresses", "keep_lean_sessions", "drop_stale_choices")
    for name in (*changes, "head", "metric_sentences", "board_csv", "system_routes"):
        monkeypatch.setattr(application, name, lambda *given: ())
    app: Any = SimpleNamespace(queue=lambda **options: None, launch=refused)
    live: Any = SimpleNamespace(studies=SimpleNamespace(study=None))
    with pytest.raises(ConfigurationError, match=r"cannot listen on 127\.0\.0\.1 \(another program"):
        application.launch(app, live, "127.0.0.1", None, wait=False)
