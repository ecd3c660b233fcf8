"""Limits on what visitors send: sizes, origins, no downloads in their name. Rates of calls are the proxy's business."""

import os
import re
from typing import Any

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from leaderboard.app.intake import MAX_UPLOAD_BYTES

MAX_BODY_BYTES = 2**20  # limit for a call; uploads have their own limit
MAX_UPLOADS_BYTES = 2 * MAX_UPLOAD_BYTES  # limit for the uploads of one call
_UPLOADS = "/gradio_api/upload"  # no other path: bodies of calls are parsed as JSON, which takes far more memory
ORIGINS = (
    "DIVBENCH_BOARD_ORIGINS"  # environment variable: origins such as https://board.example.org, with spaces between
)
_LOOPBACK = {"localhost", "127.0.0.1", "::1"}
_NO_ADDRESSES = "This server fetches no web addresses; upload the file."


class BodyLimits:
    """ASGI middleware that refuses bodies that are too long."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on or refuse it; a chunked body, which declares no size, is cut off at the limit."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        left = limit = MAX_UPLOADS_BYTES if scope["path"] == _UPLOADS else MAX_BODY_BYTES
        sizes = [value for name, value in scope["headers"] if name == b"content-length"]
        if any(not size.isdigit() or int(size) > limit for size in sizes):
            response = JSONResponse({"detail": f"The body has more than {limit:,} bytes."}, 413)
            await response(scope, receive, send)
            return

        async def limited() -> Message:
            nonlocal left
            message = await receive()
            left -= len(message.get("body", b""))
            return message if left >= 0 else {"type": "http.disconnect"}

        await self._app(scope, limited, send)


def is_own_origin(headers: Headers) -> bool:
    """Whether a request comes from a page of this board, one of `DIVBENCH_BOARD_ORIGINS`, or no page at all."""
    origin, hosts = headers.get("origin"), (headers.get("host"), headers.get("x-forwarded-host"))
    return origin is None or origin in _known_origins() or origin.partition("://")[2] in hosts


def _known_origins() -> set[str]:
    return {*os.environ.get(ORIGINS, "").split(), f"https://{os.environ.get('SPACE_HOST', '')}"}


class OwnOrigin:
    """ASGI middleware that refuses what pages of other sites send, so that they cannot vote or submit for a visitor.

    A board that only this machine can reach refuses other names for its address, which another site may point here.
    """

    def __init__(self, app: ASGIApp, host: str) -> None:
        self._app, self._local = app, host in _LOOPBACK
        from gradio import route_utils

        # Gradio would let every site read a board that is not addressed as localhost; no Gradio setting prevents it.
        middleware: Any = route_utils.CustomCORSMiddleware
        middleware.is_valid_origin = lambda self, request_headers: is_own_origin(request_headers)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on or refuse it."""
        if scope["type"] == "http":
            headers = Headers(scope=scope)
            host = headers.get("host", "")
            foreign = self._local and re.sub(r":\d+$", "", host).strip("[]") not in _LOOPBACK
            foreign = foreign and not {f"http://{host}", f"https://{host}"} & _known_origins()
            writes = scope["method"] not in {"GET", "HEAD", "OPTIONS"}
            if foreign or (writes and not is_own_origin(headers)):
                detail = f"This board answers its own pages. To allow another origin, its operator sets {ORIGINS}."
                await JSONResponse({"detail": detail}, 403)(scope, receive, send)
                return
        await self._app(scope, receive, send)


def fetch_no_addresses() -> None:
    """Make Gradio refuse web addresses where a file may be named; no Gradio setting does this.

    It would download what any argument of any call names, of any size, into memory and to the disk, and pass on what
    /gradio_api/file=ADDRESS names.
    """
    from gradio import Error, processing_utils, routes

    async def no_download(*arguments: Any, **named: Any) -> str:
        raise Error(_NO_ADDRESSES, print_exception=False)

    async def no_stream(*arguments: Any) -> Any:
        raise HTTPException(403, _NO_ADDRESSES)

    modules: Any = processing_utils, routes
    modules[0].async_ssrf_protected_download = no_download
    modules[1].secure_url_stream_response = no_stream


def caller_address(request: Any) -> str:
    """Return the visitor's address from a `gr.Request`; in a Space, the trusted proxy appends it to a header."""
    scope = request.request.scope
    forwarded = [value for name, value in scope["headers"] if name == b"x-forwarded-for"]
    if "SPACE_ID" in os.environ and forwarded:
        return str(forwarded[-1].decode("latin-1").split(",")[-1].strip())
    return str((scope.get("client") or [""])[0])
