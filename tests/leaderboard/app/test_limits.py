"""Limits of requests: no body is longer than it may be, and no address is fetched."""

from collections.abc import Iterator

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from leaderboard.app.limits import MAX_BODY_BYTES, BodyLimits, fetch_no_addresses


async def _length(request: Request) -> PlainTextResponse:
    try:
        return PlainTextResponse(str(len(await request.body())))
    except ClientDisconnect:
        return PlainTextResponse("cut off", 400)


CLIENT = TestClient(Starlette(routes=[Route("/", _length, methods=["POST"])], middleware=[Middleware(BodyLimits)]))


def test_a_body_of_the_largest_size_passes_and_a_longer_one_is_refused() -> None:
    assert CLIENT.post("/", content=b"x" * MAX_BODY_BYTES).text == str(MAX_BODY_BYTES)
    refused = CLIENT.post("/", content=b"x" * (MAX_BODY_BYTES + 1))
    assert (refused.status_code, refused.json()) == (413, {"detail": "The body has more than 1,048,576 bytes."})


def test_a_body_that_declares_no_size_is_cut_off() -> None:
    def pieces() -> Iterator[bytes]:
        for _ in range(3):
            yield b"x" * (MAX_BODY_BYTES // 2)

    assert CLIENT.post("/", content=pieces()).text == "cut off"


def test_gradio_fetches_no_address(monkeypatch: pytest.MonkeyPatch) -> None:
    from gradio import Error, processing_utils, routes

    for module, name in ((processing_utils, "async_ssrf_protected_download"), (routes, "secure_url_stream_response")):
        monkeypatch.setattr(module, name, getattr(module, name))  # undone after the test
    fetch_no_addresses()
    with pytest.raises(Error, match="fetches no web addresses"):
        processing_utils.ssrf_protected_download("http://127.0.0.1/x", "cache")
