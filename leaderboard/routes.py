"""The server's addresses beside Gradio's: tables as files, the page API, assets of plain pages; heads for all pages."""

import re
from collections.abc import Callable, Mapping
from functools import partial
from inspect import getdoc, signature
from mimetypes import guess_type
from typing import Any

from markupsafe import Markup
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from divbench.core.errors import InputError
from divbench.core.tables import Table, to_csv
from leaderboard.api import ENDPOINTS, Endpoints
from leaderboard.app.navigation import footer
from leaderboard.app.theme import ASSETS
from leaderboard.data.live_results import LiveResults
from leaderboard.pages.export import ranked_frame
from leaderboard.pages.plain_html import HtmlTable, Page, Part, asset_address, assets, render

PREVIEW = ASSETS / "preview.png"
ICON = ASSETS / "favicon.svg"
_A_YEAR = "public, max-age=31536000, immutable"  # the address of an asset changes with its bytes
_LINKED = re.compile(r'\s*<meta\s+(?:property="og:|name="twitter:)[^>]*>')
_API = (
    "Programs can read every table of this board as JSON, without a key. Without gradio_client, a call takes two "
    "steps: the first returns an event_id, the second, a GET of the same address with /EVENT_ID after it, the result."
)
_PYTHON = """from gradio_client import Client

client = Client("{origin}", verbose=False)
for board in client.predict(api_name="/boards"):
    print(board["name"], board["systems"])"""
_SHELL = """curl {origin}/gradio_api/call/boards -H "Content-Type: application/json" -d '{{"data": []}}'
curl {origin}/board.csv?table={table}"""


class PageHeads:
    """ASGI middleware that gives Gradio's pages their title, description and link preview instead of Gradio's own."""

    def __init__(self, app: ASGIApp, heads: Mapping[str, tuple[str, str]]) -> None:
        self._app, self._heads = app, heads  # title and description by path; the first page's path is empty

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Change the HTML of a page, which Gradio sends in one piece."""
        texts = self._heads.get(scope["path"].strip("/")) if scope["type"] == "http" else None
        if texts is None:
            await self._app(scope, receive, send)
            return
        started: list[Message] = []

        async def changed(message: Message) -> None:
            if message["type"] == "http.response.start":
                started.append(message)
                return
            if started:
                start = started.pop()
                headers = MutableHeaders(raw=start["headers"])
                if start["status"] == 200 and headers.get("content-type", "").startswith("text/html"):
                    message["body"] = _with_head(message["body"], head(*texts, site_address(Request(scope))))
                    headers["content-length"] = str(len(message["body"]))
                await send(start)
            await send(message)

        await self._app(scope, receive, changed)


def _with_head(page: bytes, tags: str) -> bytes:
    before, script, rest = page.partition(b"<script")
    return _LINKED.sub("", before.decode()).encode() + tags.encode() + script + rest


def head(title: str, about: str, site: str) -> str:
    """Return the tags that search engines and previews of links read; the site's address has no final slash."""
    return Markup(
        '<title>{title}</title><meta name="description" content="{about}"><meta property="og:title" content="{title}">'
        '<meta property="og:type" content="website"><meta property="og:site_name" content="DivBench">'
        '<meta property="og:description" content="{about}"><meta property="og:image" content="{site}/preview.png">'
        '<meta name="twitter:card" content="summary_large_image"><link rel="icon" href="{icon}">'
    ).format(title=title, about=about, site=site, icon=f"{asset_address()}/{ICON.name}")


def site_address(request: Request) -> str:
    """Return the address of the first page as visitors reach it, without a final slash."""
    from gradio.route_utils import get_root_url

    return get_root_url(request, request.url.path, request.scope.get("root_path"))


def routes(live: LiveResults, navigation: Callable[[], Any]) -> list[Route]:
    """Return the routes of tables as files, the page API, the preview picture, and what plain pages load."""

    def asset(request: Request) -> Response:
        name = request.path_params["name"]
        text = assets().get(name)
        if text is None or request.url.path.strip("/") != f"{asset_address()}/{name}":
            return PlainTextResponse("No such file.\n", 404)
        return Response(text, media_type=guess_type(name)[0], headers={"cache-control": _A_YEAR})

    def preview(request: Request) -> Response:
        return FileResponse(PREVIEW)

    def api(request: Request) -> Response:
        snapshot, page = live.snapshot(), api_page(live, site_address(request))
        return HTMLResponse(render(page, asset_address(), navigation(), snapshot.warnings, footer=footer(snapshot, {})))

    served = [Route("/page-assets/{version}/{name}", asset), Route("/preview.png", preview), Route("/api", api)]
    served.append(Route("/tradeoff", lambda request: RedirectResponse("./")))  # a page of earlier versions
    return [*served, *(Route(f"/board.{ending}", partial(_board_file, live)) for ending in ("csv", "parquet"))]


def api_page(live: LiveResults, site: str) -> Page:
    """Return the page that shows how to call the endpoints of a board at an address."""
    rows = []
    for name in ENDPOINTS:
        endpoint = getattr(Endpoints, name)
        arguments = [str(p.replace(annotation=p.empty)) for p in signature(endpoint).parameters.values()]
        rows.append((f"/{name}", ", ".join(arguments[1:]), getdoc(endpoint) or ""))
    table = HtmlTable("endpoints", Table("Endpoints", ("endpoint", "arguments", "what it does"), rows))
    filled = {"origin": site, "table": next((board.name for board in live.snapshot().boards), "NAME")}
    codes = ("In Python (pip install gradio_client)", _PYTHON), ("With curl: a call's first step, and a table", _SHELL)
    part = Part(lines=(_API,), tables=(table,), codes=tuple((label, code.format(**filled)) for label, code in codes))
    return Page("API", (part,), "Read the tables of DivBench from a program.")


def _board_file(live: LiveResults, request: Request) -> Response:
    """Serve a board as a CSV or Parquet file."""
    name, ending = request.query_params.get("table"), request.url.path.rpartition(".")[2]
    board = next((board for board in live.snapshot().boards if board.name == name), None)
    if board is None:
        return PlainTextResponse("There is no such table. The API endpoint /boards lists them.\n", 404)
    try:
        table = ranked_frame(board, live.scores)
    except InputError:  # ranks need the files of the results, one of which was withdrawn after the snapshot
        return PlainTextResponse("The results are changing; retry in a minute.\n", 503)
    content = to_csv(Table.of_frame(table)) if ending == "csv" else table.to_parquet(index=False, compression="zstd")
    headers = {"content-disposition": f'attachment; filename="{board.name}.{ending}"'}
    kind = "text/csv; charset=utf-8" if ending == "csv" else "application/vnd.apache.parquet"
    return Response(content, media_type=kind, headers=headers)


def no_page(request: Request, error: Exception) -> Response:
    """Answer requests for addresses without a page or file; a browser gets a link to the first page."""
    assert isinstance(error, HTTPException)  # noqa: S101 - called for this exception only
    if "text/html" not in request.headers.get("accept", ""):
        return JSONResponse({"detail": error.detail}, error.status_code, error.headers)
    home = "../" * (request.url.path.count("/") - 1) or "./"  # relative, because a proxy may add a prefix
    head = '<!doctype html><html lang="en"><title>No such page</title>'
    return HTMLResponse(f'{head}<p>There is no such page. <a href="{home}">Go to the first page.</a></p></html>', 404)
