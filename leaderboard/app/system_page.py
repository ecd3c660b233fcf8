"""The page /system: one system as plain HTML, which loads at once and needs no script.

It is also written by `divbench board export --html`. A Gradio page would take a second to load.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
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
from leaderboard.static.render import Page, Part, assets, render
from leaderboard.static.system_page import nearest, system_page
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
    offered = [board for board in snapshot.boards if ranking_column(board) is not None]
    frame = partial(render, address=f"{_ASSETS}/{_version()}", navigation=navigation, warnings=snapshot.warnings)
    if not offered:
        return HTMLResponse(frame(_message(page_text.NO_RESULTS), footer=footer(snapshot, asked)), 404)
    board = next((board for board in offered if board.name == asked["table"]), offered[0])
    wanted = find_entry(board, asked["system"])
    entry = wanted or first_entry(board)
    place = board.entries.index(entry)
    tables = [(text, name, name == board.name) for text, name in board_choices(offered)]
    systems = [(text, system_id, i == place) for i, (text, system_id) in enumerate(system_choices(board))]
    picker = [("table", "Table", tables), ("system", "System", systems)]
    frame = partial(frame, footer=footer(snapshot, {"table": board.name}), picker=picker)
    try:
        page = _page(live, board, place)
    except DivBenchError as error:  # the result's files no longer exist
        return HTMLResponse(frame(_message(told(error))), 404)
    if (asked["system"] and not wanted) or asked["table"] not in ("", board.name):
        page = replace(page, parts=(Part(lines=(GONE,)), *page.parts))
    return HTMLResponse(frame(page))


def _message(reason: str) -> Page:
    """A page that explains why no system is shown."""
    return Page("System", (Part(lines=(reason,)),))


def _page(live: LiveResults, board: Board, place: int) -> Page:
    scores, ids = live.scores(board), system_ids(board)
    near = nearest(scores, place)
    links = [("Read its responses", f"explore?{urlencode({'table': board.name, 'system': ids[place]})}")]
    if near:
        both = f"{ids[place]},{ids[near[0][0]]}"
        links.append(
            ("Compare with the most correlated system", f"compare?{urlencode({'table': board.name, 'systems': both})}")
        )
    return system_page(scores, place, near=near, links=links)


@cache
def _version() -> str:
    return sha256("\0".join(assets().values()).encode()).hexdigest()[:12]
