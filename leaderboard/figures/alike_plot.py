"""Figure of the page Alike or different?: a heat map of systems by systems, with similar systems next to each other."""

from typing import Any

from benchmark.analysis.across.study import Homogeneity
from datasets_build.errors import need
from leaderboard.figures.plots import FONT, SEQUENTIAL, inert

_ROW, _TOP, _BOTTOM, _NAME = 34, 50, 190, 28


def alike_map(found: Homogeneity, measure: str, title: str) -> Any:
    """Draw systems by systems in clustered order, coloured by the similarity of their responses.

    Returns:
        A `plotly.graph_objects.Figure` of two traces: the cells, and their numbers.
    """
    graph = need("plotly.graph_objects", "board")
    matrix = found.matrix(measure)
    order = found.order
    values = [[matrix[i][j] for j in order] for i in order]
    names = [inert(found.systems[i], _NAME) for i in order]
    places = list(range(len(order)))
    trace = graph.Heatmap(
        z=values,
        x=places,
        y=places,
        customdata=[[[row, column] for column in names] for row in names],
        hovertemplate="%{customdata[0]}<br>%{customdata[1]}<br>%{z:.3f}<extra></extra>",
        hoverongaps=False,
        colorscale=SEQUENTIAL,
        xgap=1,
        ygap=1,
        colorbar={"orientation": "h", "thickness": 12, "y": 0, "yref": "container", "yanchor": "bottom"},
    )
    figure = graph.Figure([trace, _numbers(graph, values)])
    own = [
        {
            "type": "rect",
            "x0": i - 0.5,
            "x1": i + 0.5,
            "y0": i - 0.5,
            "y1": i + 0.5,
            "line": {"width": 2, "color": "#222"},
        }
        for i in places
    ]
    figure.update_layout(
        template="plotly_white",
        title={"text": title, "font": {"size": 16}, "x": 0, "pad": {"l": 8}},
        font=FONT,
        height=_TOP + _BOTTOM + _ROW * max(4, len(order)),
        margin={"t": _TOP, "b": _BOTTOM, "l": 8, "r": 8},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        shapes=own,
    )
    figure.update_xaxes(tickmode="array", tickvals=places, ticktext=names, tickangle=-45, ticks="", automargin=True)
    figure.update_yaxes(tickmode="array", tickvals=places, ticktext=names, autorange="reversed", ticks="")
    figure.update_xaxes(showgrid=False, tickfont={"size": 11})
    figure.update_yaxes(showgrid=False, tickfont={"size": 11}, automargin=True)
    return figure


def _numbers(graph: Any, values: list[list[float | None]]) -> Any:
    """Draw the number in each cell, light on dark colours and dark on light colours."""
    cells = [(x, y, value) for y, row in enumerate(values) for x, value in enumerate(row) if value is not None]
    there = [value for *_, value in cells]
    middle = (min(there, default=0.0) + max(there, default=0.0)) / 2
    return graph.Scatter(
        x=[x for x, *_ in cells],
        y=[y for _, y, _ in cells],
        text=[f"{value:.2f}" for value in there],
        mode="text",
        textfont={"size": 11, "color": ["#ffffff" if value < middle else "#111111" for value in there]},
        hoverinfo="skip",
        showlegend=False,
    )
