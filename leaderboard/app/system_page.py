"""The page /system: one system as plain HTML, which loads at once and needs no script.

It is the page of the static export, with the application's navigation and footer. A Gradio page would take a second to
load.
"""

from collections.abc import Callable
from functools import cache
from hashlib import sha256
from mimetypes import guess_type
from typing import Any
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Route

from divbench.core.errors import DivBenchError
from leaderboard.app.components import board_choices, told
from leaderboard.app.navigation import footer
from leaderboard.app.permalinks import MAX_VALUE
from leaderboard.data.board import Board, ranking_column
from leaderboard.data.live_results import LiveResults
from leaderboard.static.board_pages import MODELS, Part
from leaderboard.static.render import Page, assets, render, style_marks
from leaderboard.static.system_page import TEMPLATE, nearest, system_page
from leaderboard.tables import page_text
from leaderboard.tables.prompts import find_entry, first_entry, system_choices
from leaderboard.tables.systems import system_ids

PATH = "system"
GONE = "The link asks for a table or a system that is not here. This system is shown instead."
_ASSETS = "page-assets"
_A_YEAR = "public, max-age=31536000, immutable"  # the address of an asset changes with its bytes


def system_routes(live: LiveResults, navigation: Callable[[], Any]) -> list[Route]:
    """Return the routes of the page and of its style sheets and scripts."""
    _answer(live, {"table": "", "system": ""}, "")  # imports libraries and fills caches before the first visitor

    def page(request: Request) -> Response:
        asked = {name: request.query_params.get(name, "")[:MAX_VALUE] for name in ("table", "system")}
        return _answer(live, asked, navigation())

    def asset(request: Request) -> Response:
        name = request.path_params["name"]
        text = assets().get(name)
        if text is None or request.path_params["version"] != _version():
            return PlainTextResponse("No such file.\n", 404)
        return Response(text, media_type=guess_type(name)[0], headers={"cache-control": _A_YEAR})

    return [Route(f"/{PATH}", page), Route(f"/{_ASSETS}/{{version}}/{{name}}", asset)]


def _answer(live: LiveResults, asked: dict[str, str], navigation: Any) -> Response:
    snapshot = live.snapshot()
    offered = [each for each in snapshot.boards if ranking_column(each) is not None]
    frame = {
        "assets": f"{_ASSETS}/{_version()}",
        "styled": style_marks(),
        "warnings": snapshot.warnings,
        "navigation": navigation,
        "foot": footer(snapshot, asked),
    }
    if not offered:
        return HTMLResponse(render(_said(page_text.NO_RESULTS), frame), 404)
    board = next((each for each in offered if each.name == asked["table"]), offered[0])
    wanted = find_entry(board, asked["system"])
    entry = wanted or first_entry(board)
    place = board.entries.index(entry)
    tables = [(text, name, name == board.name) for text, name in board_choices(offered)]
    systems = [(text, own, i == place) for i, (text, own) in enumerate(system_choices(board))]
    picker = [("table", "Table", tables), ("system", "System", systems)]
    frame |= {"foot": footer(snapshot, {"table": board.name}), "picker": picker}
    try:
        page = _page(live, board, place)
    except DivBenchError as error:  # the result's files no longer exist
        return HTMLResponse(render(_said(told(error)), frame), 404)
    if (asked["system"] and not wanted) or asked["table"] not in ("", board.name):
        page.values["parts"].insert(0, Part(said=(GONE,)))
    return HTMLResponse(render(page, frame))


def _said(why: str) -> Page:
    """A page that explains why no system is shown."""
    return Page(PATH, "System", TEMPLATE, {"lead": (), "drawn": (), "parts": [Part(said=(why,))]}, MODELS)


def _page(live: LiveResults, board: Board, place: int) -> Page:
    scores, ids = live.scores(board), system_ids(board)
    near = nearest(scores, place)
    links = [("Read its responses", f"explore?{urlencode({'table': board.name, 'system': ids[place]})}")]
    if near:
        both = f"{ids[place]},{ids[near[0][0]]}"
        links.append(
            ("Compare with the most correlated system", f"compare?{urlencode({'table': board.name, 'systems': both})}")
        )
    return system_page(scores, place, PATH, near, links=links, texts=True)


@cache
def _version() -> str:
    return sha256("\0".join(assets().values()).encode()).hexdigest()[:12]
