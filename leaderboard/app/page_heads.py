"""Titles and link previews for pages, and responses to HEAD requests.

Gradio serves the same HTML for every path, with the preview "Click to try out the app!". This middleware replaces the
title and preview in each response.
"""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from markupsafe import Markup
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_CHARSET = b'<meta charset="utf-8" />'
_PREVIEW = re.compile(rb'<meta\s+(?:property="og:|name="twitter:)[^>]*?/>', re.DOTALL)


@dataclass(frozen=True, slots=True)
class Head:
    """Title and description of a page."""

    title: str
    # Function that returns the description, called for each request; it may contain untrusted names.
    about: Callable[[], str]


class PageHeads:
    """ASGI middleware that gives each page its own title and preview, and answers HEAD like GET without a body.

    Args:
        heads: Head of each page by its path, without slashes.
        name: Title that the application gives to all pages.
    """

    def __init__(self, app: ASGIApp, heads: Mapping[str, Head], name: str) -> None:
        self._app, self._heads, self._name = app, heads, name

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on; if it is for a page, put the page's head into the response."""
        head = self._heads.get(scope["path"].strip("/")) if scope["type"] == "http" else None
        if head is None or scope["method"] not in ("GET", "HEAD"):
            await self._app(scope, receive, send)
            return
        start: Message = {}
        parts: list[bytes] = []

        async def collect(message: Message) -> None:
            nonlocal start
            if message["type"] == "http.response.start":
                start = message
                return
            parts.append(message.get("body", b""))
            if message.get("more_body"):
                return
            body = self._with_head(b"".join(parts), head) if start["status"] == 200 else b"".join(parts)
            kept = [(name, value) for name, value in start["headers"] if name.lower() != b"content-length"]
            await send({**start, "headers": [*kept, (b"content-length", str(len(body)).encode())]})
            await send({**message, "body": b"" if scope["method"] == "HEAD" else body})

        await self._app({**scope, "method": "GET"}, receive, collect)

    def _with_head(self, body: bytes, head: Head) -> bytes:
        values = {"title": head.title, "about": head.about()}
        tags = Markup(
            '<title>{title}</title><meta name="description" content="{about}" />'
            '<meta property="og:type" content="website" /><meta property="og:site_name" content="DivBench" />'
            '<meta property="og:title" content="{title}" /><meta property="og:description" content="{about}" />'
            '<meta name="twitter:card" content="summary" /><meta name="twitter:title" content="{title}" />'
            '<meta name="twitter:description" content="{about}" />'
        ).format(**values)
        own = f'"title":{json.dumps(self._name)}'.encode()  # Gradio's script sets the title from this value
        made = _PREVIEW.sub(b"", body).replace(own, f'"title":{json.dumps(head.title)}'.encode(), 1)
        return made.replace(_CHARSET, _CHARSET + str(tags).encode(), 1)
