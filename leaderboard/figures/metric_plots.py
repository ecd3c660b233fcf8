"""Figures of the metric study: heat maps of correlations and agreement."""

from typing import Any

import numpy as np

from datasets_build.errors import need
from leaderboard.data.metric_study.record import Agreement
from leaderboard.figures.plots import DIVERGING, FONT, inert
from leaderboard.tables.table_view import TableView

_ROW, _TOP, _BOTTOM = 22, 90, 150  # pixels
_NAME = 40  # characters


def correlation_map(view: TableView) -> Any:
    """Metrics by tasks, coloured by the values of a table of `correlations`.

    Returns:
        A `plotly.graph_objects.Figure` of one trace.
    """
    columns = view.headers[2:]
    values = [list(row[2:]) for row in view.values]
    texts = [list(row[2:]) for row in view.shown]
    names = [str(row[0]) for row in view.values]
    return _map(values, texts, names, list(columns), "Metrics by tasks")


def agreement_map(agreement: Agreement) -> Any:
    """Metrics by metrics, coloured by their rank correlation.

    Returns:
        A `plotly.graph_objects.Figure` of one trace.
    """
    matrix = agreement.matrix()
    texts = [["" if each is None else f"{each:.2f}" for each in row] for row in matrix]
    names = list(agreement.metrics)
    return _map(matrix, texts, names, names, f"Rank correlation over {agreement.over}: {inert(agreement.group, 60)}")


def _map(
    values: list[list[float | None]], texts: list[list[str]], rows: list[str], columns: list[str], title: str
) -> Any:
    graph = need("plotly.graph_objects", "board")
    down, across = [inert(name, _NAME) for name in rows], [inert(name, _NAME) for name in columns]
    hover = [
        [[row, column, text] for column, text in zip(across, line, strict=True)]
        for row, line in zip(down, texts, strict=True)
    ]
    trace = graph.Heatmap(
        z=values,
        x=list(range(len(columns))),
        y=list(range(len(rows))),
        customdata=np.array(hover),  # plotly copies an array, but validates a list value by value
        hovertemplate="%{customdata[0]}<br>%{customdata[1]}<br>%{customdata[2]}<extra></extra>",
        hoverongaps=False,
        colorscale=DIVERGING,
        zmin=-1.0,
        zmid=0,
        zmax=1.0,
        xgap=1,
        ygap=1,
        # Below the map, because at the side it would take a third of a narrow screen.
        colorbar={"orientation": "h", "thickness": 12, "y": 0, "yref": "container", "yanchor": "bottom"},
    )
    axis = {"tickmode": "array", "tickfont": {"size": 11}, "ticks": "", "automargin": True, "showgrid": False}
    layout = {
        "template": "plotly_white",
        "title": {"text": title, "font": {"size": 18}, "x": 0, "pad": {"l": 8}},
        "font": FONT,
        "height": _TOP + _BOTTOM + _ROW * max(4, len(rows)),
        "margin": {"t": _TOP, "b": _BOTTOM, "l": 8, "r": 8},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "xaxis": axis | {"tickvals": list(range(len(columns))), "ticktext": across, "tickangle": -45},
        "yaxis": axis | {"tickvals": list(range(len(rows))), "ticktext": down, "autorange": "reversed"},
    }
    return graph.Figure([trace], layout)
