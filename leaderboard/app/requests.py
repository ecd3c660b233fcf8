"""Limits on requests to the application, and logging of errors in one line.

Gradio prints a traceback if a call has too few values, values of the wrong type, or a path. On a public board, anybody
could fill the log this way. Here each error is logged in one line, and body sizes and request rates are limited.
"""

import logging
import os
import sys
import time
import traceback
from collections import OrderedDict
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from leaderboard.app.submitting.intake import MAX_UPLOAD_BYTES
from submissions.judgements.votes import RateLimit
from submissions.untrusted.plain_text import one_line

MAX_BODY_BYTES = 2**20  # limit for a call; uploads have their own limit
MAX_UPLOADS_BYTES = 2 * MAX_UPLOAD_BYTES  # limit for the uploads of one call
CALLS_A_MINUTE = 600  # limit per visitor; opening a page makes about ten calls
SENT_A_MINUTE = 16 * 2**20  # bytes of calls per visitor: parsing one of a mebibyte occupies the server for 0.3 s
UPLOADED_AN_HOUR = 2**30  # bytes per visitor; uploads stay on the disk for an hour
_UPLOADS = "/gradio_api/upload"  # no other path: bodies of calls are parsed as JSON, which takes far more memory
_NO_ADDRESSES = "This server fetches no web addresses; upload the file."
_TOO_OFTEN = "Too many requests; wait a minute."
_MOST_DISCARDED = 2**24  # longer bodies are refused without being received
_VISITORS = 10_000  # visitors to count calls for; the least recent are dropped
_LOG = logging.getLogger("divbench.board")


class RequestLimits:
    """ASGI middleware that refuses bodies that are too long and visitors who call too often.

    Args:
        calls: Maximum number of calls per visitor and minute.
        proxied: Whether all requests come through a trusted proxy, such as a Space's, which appends the visitor's
            address to X-Forwarded-For.
    """

    def __init__(
        self, app: ASGIApp, calls: int = CALLS_A_MINUTE, body: int = MAX_BODY_BYTES, *, proxied: bool = False
    ) -> None:
        self._app, self._calls, self._body, self._proxied = app, calls, body, proxied
        # By visitor: the minute, and the number of calls in it.
        self._seen: OrderedDict[str, tuple[int, int]] = OrderedDict()
        self._sent, self._uploaded = RateLimit(SENT_A_MINUTE, 60), RateLimit(UPLOADED_AN_HOUR, 3600)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on or refuse it."""
        if scope["type"] != "http" or scope["method"] in {"GET", "HEAD"}:
            await self._app(scope, receive, send)
            return
        uploads = scope["path"] == _UPLOADS
        most = MAX_UPLOADS_BYTES if uploads else self._body
        if (more := self._calls_beyond(scope)) > 0:
            await _refuse(429, _TOO_OFTEN, scope, receive, send, logged=more == 1)
        elif _declared(scope) > most:
            if _declared(scope) <= _MOST_DISCARDED:  # otherwise, a client that is still sending would not read why
                await _discard(receive)
            await _refuse(413, f"The body has more than {most:,} bytes.", scope, receive, send)
        elif not (self._uploaded if uploads else self._sent).allows(self._visitor(scope), _size(scope, most)):
            why = "Too many uploads; wait an hour, or use divbench submit." if uploads else _TOO_OFTEN
            await _refuse(429, why, scope, receive, send)
        else:
            await self._app(scope, _counted(receive, most), send)

    def _calls_beyond(self, scope: Scope) -> int:
        """Count a call; return the number of the visitor's calls in this minute minus the limit."""
        visitor, minute = self._visitor(scope), int(time.monotonic() // 60)
        before = self._seen.pop(visitor, (minute, 0))
        number = before[1] + 1 if before[0] == minute else 1
        self._seen[visitor] = minute, number
        if len(self._seen) > _VISITORS:
            self._seen.popitem(last=False)
        return number - self._calls

    def _visitor(self, scope: Scope) -> str:
        return visitor_address(scope, proxied=self._proxied)


def visitor_address(scope: Scope, *, proxied: bool) -> str:
    """Return the address of the visitor who made a call."""
    told = [value for name, value in scope["headers"] if name == b"x-forwarded-for"] if proxied else []
    return told[-1].decode("latin-1").split(",")[-1].strip() if told else str((scope.get("client") or [""])[0])


def behind_proxy() -> bool:
    """Whether all calls come through a trusted proxy, as in a Space."""
    return "SPACE_ID" in os.environ


def caller_address(request: Any) -> str:
    """Return the visitor's address from a `gr.Request`, as the limits see it."""
    return visitor_address(request.request.scope, proxied=behind_proxy())


def _declared(scope: Scope) -> int:
    sizes = [value for name, value in scope["headers"] if name == b"content-length"]
    return int(sizes[0]) if sizes and sizes[0].isdigit() else 0


def _size(scope: Scope, most: int) -> int:
    """Return the declared size of a body; of a chunked one, which declares none, its limit."""
    return most if any(name == b"transfer-encoding" for name, _ in scope["headers"]) else _declared(scope)


def _counted(receive: Receive, most: int) -> Receive:
    """Disconnect when the received body exceeds the limit; a chunked body does not declare its length."""
    left = most

    async def counted() -> Message:
        nonlocal left
        message = await receive()
        left -= len(message.get("body", b""))
        return message if left >= 0 else {"type": "http.disconnect"}

    return counted


async def _discard(receive: Receive) -> None:
    """Receive a body and drop it."""
    while (message := await receive())["type"] == "http.request" and message.get("more_body"):
        pass


async def _refuse(status: int, why: str, scope: Scope, receive: Receive, send: Send, *, logged: bool = True) -> None:
    if logged:
        _LOG.warning("%s %s: %s", status, one_line(str(scope["path"]), 100), why)
    await JSONResponse({"detail": why}, status)(scope, receive, send)  # Gradio's client shows the visitor `detail`


def fetch_no_addresses() -> None:
    """Make Gradio refuse web addresses where a file may be named; no Gradio setting does this.

    It would download what any argument of any call names, of any size, into memory and to the disk, and pass on what
    /gradio_api/file=ADDRESS names.
    """
    from gradio import processing_utils, routes

    served: Any = routes
    processing_utils.async_ssrf_protected_download = _no_download
    served.secure_url_stream_response = _no_stream


async def _no_download(*arguments: Any, **named: Any) -> str:
    from gradio import Error

    raise Error(_NO_ADDRESSES, print_exception=False)


async def _no_stream(*arguments: Any) -> Response:
    raise HTTPException(403, _NO_ADDRESSES)


def log_one_line_an_error() -> None:
    """Make Gradio and its server log each error in one line, without untrusted control characters."""
    from gradio import queueing, routes

    for module in (queueing, routes):
        # Only the name `traceback` in Gradio's modules is replaced; other code keeps its tracebacks.
        module.traceback = SimpleNamespace(**vars(traceback) | {"print_exc": _log_error})  # type: ignore[attr-defined]
    server = logging.getLogger("uvicorn.error")
    if _without_traceback not in server.filters:
        server.addFilter(_without_traceback)


def _log_error(*arguments: Any, **more: Any) -> None:
    error = sys.exception()
    _LOG.error("%s", _in_one_line(error))
    _LOG.debug("its traceback", exc_info=error)  # for debugging our own code


def _in_one_line(error: BaseException | None) -> str:
    """Format an error's type, its message, and where it was raised."""
    frames = traceback.extract_tb(error.__traceback__) if error is not None else []
    place = f" ({Path(frames[-1].filename).name}, line {frames[-1].lineno})" if frames else ""
    return f"{type(error).__name__}: {one_line(str(error))}{place}"


def _without_traceback(record: logging.LogRecord) -> bool:
    if record.exc_info and record.exc_info[1] is not None:
        record.msg, record.args = "%s", (_in_one_line(record.exc_info[1]),)
        record.exc_info = record.exc_text = None
    return True
