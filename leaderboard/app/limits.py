"""Limits on what visitors send: sizes of bodies, and no downloads in their name. Rates are the proxy's business."""

import os
from typing import Any

from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from leaderboard.app.intake import MAX_UPLOAD_BYTES

MAX_BODY_BYTES = 2**20  # limit for a call; uploads have their own limit
MAX_UPLOADS_BYTES = 2 * MAX_UPLOAD_BYTES  # limit for the uploads of one call
_UPLOADS = "/gradio_api/upload"  # no other path: bodies of calls are parsed as JSON, which takes far more memory
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
