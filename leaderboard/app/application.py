"""The Gradio application: the frame around its pages."""

import json
import re
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from signal import signal
from typing import Any

import gradio as gr
from markupsafe import Markup
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from divbench.core.console import err, termination_signals
from divbench.core.errors import InputError
from leaderboard.app.api import register
from leaderboard.app.gradio_patches import drop_stale_choices, keep_lean_sessions, without_servers
from leaderboard.app.listening import listening
from leaderboard.app.navigation import Link, navigation
from leaderboard.app.pages import PAGES, Page
from leaderboard.app.permalinks import QUIET, count_on
from leaderboard.app.requests import RequestLimits, behind_proxy, fetch_no_addresses, log_one_line_an_error
from leaderboard.app.submitting.intake import MAX_UPLOAD_BYTES
from leaderboard.app.system_page import PATH as SYSTEM_PATH
from leaderboard.app.system_page import system_routes
from leaderboard.app.theme import CSS, THEME, head
from leaderboard.data.live_results import LiveResults
from leaderboard.tables.export import as_csv, ranked_frame
from leaderboard.tables.measures import metric_sentences

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


TITLE = "DivBench"
_UPLOADS = (600, 3600)  # seconds between clean-ups of uploads, and the age at which uploads are deleted
_WAITING = 64  # maximum number of queued events; further events are refused


def build_app(live: LiveResults, pages: tuple[Page, ...] = PAGES, repository: str | None = None) -> gr.Blocks:
    """Build the application; `launch` makes its server.

    Args:
        pages: Pages of the application: the first at the root, the others at their own paths.
        repository: URL of the repository, linked in the navigation; None: the URL in the package's metadata.
    """
    first, *others = pages
    with without_servers():
        with gr.Blocks(title=TITLE, analytics_enabled=False, fill_width=True, delete_cache=_UPLOADS) as app:
            _frame(app, live, first, pages, repository)
            register(live)
        for page in others:
            with app.route(page.title, page.path) as blocks:
                _frame(blocks, live, page, pages, repository)
    made: gr.Blocks = app
    return made


def _frame(blocks: gr.Blocks, live: LiveResults, page: Page, pages: tuple[Page, ...], repository: str | None) -> None:
    """Build a page below the navigation and the data warnings; `permalinks.wire` adds its footer."""
    skip = '<a class="jump" href="#content">Skip to content</a>'
    gr.HTML(f"{skip}{_navigation(pages, page.path, repository)}", elem_id="nav", padding=False)
    gr.Markdown(f"# {TITLE} · {page.title}", elem_id="content", elem_classes="masthead")
    warnings = gr.Textbox(
        "",
        label="Data warnings",
        visible=False,
        interactive=False,
        lines=2,
        elem_id="warnings",
        elem_classes="warnings",
    )
    page.build(blocks, live)
    opened = blocks.load(lambda: _warnings(live), None, warnings, queue=False, **QUIET)
    opened.then(None, js=count_on("opened"))


def _navigation(pages: tuple[Page, ...], here: str, repository: str | None) -> Markup:
    return navigation([Link(p.title, p.path, p.group) for p in pages], here, repository)


def _warnings(live: LiveResults) -> object:
    lines = live.snapshot().warnings
    return gr.Textbox("\n".join(lines), visible=bool(lines))


def _heads(live: LiveResults, pages: tuple[Page, ...]) -> Mapping[str, Head]:
    """Title and description of each page by its path."""

    def about(page: Page) -> Callable[[], str]:
        return partial(page.answer, live) if page.answer else lambda: page.about

    return {page.path: Head(f"{page.title} · {TITLE}" if page.path else TITLE, about(page)) for page in pages}


def board_csv(live: LiveResults) -> Route:
    """Return the route that serves a board as a CSV file."""

    def download(request: Request) -> Response:
        name = request.query_params.get("table")
        board = next((each for each in live.snapshot().boards if each.name == name), None)
        if board is None:
            return PlainTextResponse("There is no such table. The API endpoint /boards lists them.\n", 404)
        try:
            content = as_csv(ranked_frame(board, live.scores))
        except InputError:  # ranks need the files of the results, one of which was withdrawn after the snapshot
            return PlainTextResponse("The results are changing; retry in a minute.\n", 503)
        headers = {"content-disposition": f'attachment; filename="{board.name}.csv"'}
        return Response(content, media_type="text/csv; charset=utf-8", headers=headers)

    return Route("/board.csv", download)


def no_page(request: Request, error: Exception) -> Response:
    """Answer requests for addresses without a page or file; a browser gets a link to the first page."""
    assert isinstance(error, HTTPException)  # noqa: S101 - called for this exception only
    if "text/html" not in request.headers.get("accept", ""):
        return JSONResponse({"detail": error.detail}, error.status_code, error.headers)
    home = "../" * (request.url.path.count("/") - 1) or "./"  # relative, because a proxy may add a prefix
    return HTMLResponse(f'<p>There is no such page. <a href="{home}">Go to the first page.</a></p>', 404)


def launch(
    app: gr.Blocks,
    live: LiveResults,
    host: str,
    port: int | None,
    *,
    pages: tuple[Page, ...] = PAGES,
    repository: str | None = None,
    wait: bool = True,
) -> str:
    """Serve the application and return its URL.

    Args:
        port: Port; None: the first free port from Gradio's default.
        wait: Whether to return only after the server has stopped.
    """
    if wait:  # a plain signal would neither send pending votes nor delete temporary files
        for each in termination_signals():
            signal(each, lambda number, frame: sys.exit(128 + number))
    with suppress(ImportError):
        import_module("matplotlib.pyplot")  # otherwise Gradio imports it during the first event
    log_one_line_an_error()
    fetch_no_addresses()
    keep_lean_sessions()
    drop_stale_choices()
    app.queue(api_open=False, max_size=_WAITING, default_concurrency_limit=4)
    served: dict[str, Any] = {
        "routes": [board_csv(live), *system_routes(live, partial(_navigation, pages, SYSTEM_PATH, repository))],
        "exception_handlers": {404: no_page},
        "middleware": [
            Middleware(RequestLimits, proxied=behind_proxy()),
            Middleware(PageHeads, heads=_heads(live, pages), name=TITLE),
        ],
    }
    with listening(host, port):
        _, local, _ = app.launch(
            server_name=host,
            server_port=port,
            share=False,
            prevent_thread_lock=True,
            show_error=False,
            quiet=True,  # Gradio would suggest changing our code
            max_file_size=MAX_UPLOAD_BYTES,
            enable_monitoring=False,
            ssr_mode=False,
            footer_links=["api"],
            theme=THEME,
            css=CSS,
            head=head(metric_sentences(live.studies.study)),
            app_kwargs=served,
        )
    if wait:
        err().print(f"The board is at {local} (Ctrl+C stops it)", markup=False, soft_wrap=True)
        app.block_thread()
    return local
