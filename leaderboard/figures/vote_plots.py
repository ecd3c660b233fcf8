"""Systems by people's votes and a metric."""

from collections.abc import Sequence
from typing import Any

from datasets_build.errors import need
from leaderboard.data.board import Column
from leaderboard.data.vote_results import VoteResults
from leaderboard.figures.plots import BLUE, inert, page_figure
from leaderboard.tables.votes import SHORT, points_of
from submissions.judgements.votes import Question

_NAME = 40  # characters
_Point = tuple[float, float | None, float | None]  # value, low, high


def votes_figure(found: VoteResults, question: Question, column: Column) -> Any:
    """Systems by their points per vote (up, with intervals) and their mean on a metric (across, with intervals).

    Returns:
        A `plotly.graph_objects.Figure`; None if no system has both.

    Raises:
        MissingExtra: plotly is not installed.
    """
    graph = need("plotly.graph_objects", "board")
    entries = found.board.entries if found.board else ()
    cells = {entry.result.manifest.name: entry.cells.get(column.signature) for entry in entries}
    names: list[str] = []
    across: list[_Point] = []
    up: list[_Point] = []
    for each in found.strengths[question].systems:
        cell = cells.get(each.system)
        if cell is not None and cell.value is not None:
            names.append(inert(each.system, _NAME))
            across.append((cell.value, cell.low, cell.high))
            up.append(points_of(each))
    if not names:
        return None
    trace = graph.Scatter(
        x=[value for value, _, _ in across],
        y=[value for value, _, _ in up],
        error_x=_bars(across),
        error_y=_bars(up),
        mode="markers+text",
        text=names,
        textposition="top center",
        marker={"size": 9, "color": BLUE},
        hoverinfo="x+y+text",
    )
    figure = page_figure([trace], 420)
    figure.update_xaxes(title_text=inert(column.label, _NAME), zeroline=False)
    figure.update_yaxes(title_text=f"points per vote: {SHORT[question]}", zeroline=False)
    figure.update_layout(showlegend=False)
    return figure


def _bars(values: Sequence[_Point]) -> dict[str, Any]:
    """Error bars to both sides; none where there is no interval."""
    return {
        "type": "data",
        "symmetric": False,
        "array": [0.0 if high is None else high - value for value, _, high in values],
        "arrayminus": [0.0 if low is None else value - low for value, low, _ in values],
        "color": BLUE,
        "thickness": 1,
        "width": 0,
    }
