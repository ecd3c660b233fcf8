"""Pages of other sites can neither read a board nor write to it, by whatever name they address it."""

from collections.abc import Mapping

import pytest
from gradio.route_utils import CustomCORSMiddleware
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from leaderboard.app.limits import ORIGINS, OwnOrigin


def client(host: str) -> TestClient:
    def answer(request: Request) -> PlainTextResponse:
        return PlainTextResponse("numbers")

    middleware = [Middleware(CustomCORSMiddleware), Middleware(OwnOrigin, host=host)]
    return TestClient(Starlette(routes=[Route("/", answer, methods=["GET", "POST"])], middleware=middleware))


@pytest.mark.parametrize(
    ("bound", "headers", "status", "readable"),
    [
        ("127.0.0.1", {"host": "127.0.0.1:7860"}, 200, False),
        ("127.0.0.1", {"host": "127.0.0.1:7860", "origin": "http://127.0.0.1:7860"}, 200, True),
        ("127.0.0.1", {"host": "127.0.0.1:7860", "origin": "http://127.0.0.1:9999"}, 403, False),
        ("127.0.0.1", {"host": "127.0.0.1:7860", "origin": "null"}, 403, False),
        ("127.0.0.1", {"host": "evil.org:7860", "origin": "http://evil.org:7860"}, 403, False),  # it names this machine
        ("0.0.0.0", {"host": "192.168.1.2:7860", "origin": "https://evil.org"}, 403, False),  # noqa: S104
        ("0.0.0.0", {"host": "a-b.hf.space", "origin": "https://a-b.hf.space"}, 200, True),  # noqa: S104
        ("0.0.0.0", {"host": "10.0.0.1", "x-forwarded-host": "b.org", "origin": "https://b.org"}, 200, True),  # noqa: S104
        ("127.0.0.1", {"host": "board.org", "origin": "https://board.org"}, 200, True),  # configured
    ],
)
def test_other_origins_read_and_write_nothing(
    bound: str, headers: Mapping[str, str], status: int, readable: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(ORIGINS, "https://board.org")
    asked = client(bound)
    assert asked.post("/", headers=headers).status_code == status
    got = asked.get("/", headers=headers)
    assert (got.status_code == 200 and "access-control-allow-origin" in got.headers) == readable
