"""Heat maps: correlations and agreement of the metric study, and systems by systems."""

from typing import Any

import numpy as np

from benchmark.analysis.across import Homogeneity
from divbench.core.errors import need
from divbench.core.tables import Table
from leaderboard.data.metric_study.study import CORRELATIONS, Agreement
from leaderboard.figures.plots import DIVERGING, FONT, SEQUENTIAL, inert, inert_name

Cells = list[list[float | None]]


def correlation_map(view: Table, measure: str) -> Any:
    """Metrics by tasks, coloured by the values of a table of `correlations`; the middle colour is chance level."""
    columns = view.columns[2:]
    values = [list(row[2:]) for row in view.values]
    texts = [list(row[2:]) for row in view.texts]
    names = [str(row[0]) for row in view.values]
    lowest = -1.0 if measure in CORRELATIONS else 0.0
    return _study_map(values, texts, names, list(columns), "Metrics by tasks", lowest)


def agreement_map(agreement: Agreement) -> Any:
    """Metrics by metrics, coloured by their rank correlation."""
    matrix = agreement.matrix
    texts = [["" if each is None else f"{each:.2f}" for each in row] for row in matrix]
    names = list(agreement.metrics)
    title = f"Rank correlation over {agreement.over}: {inert(agreement.group, 60)}"
    return _study_map(matrix, texts, names, names, title)


def alike_map(found: Homogeneity, measure: str, title: str) -> Any:
    """Draw systems by systems in clustered order, coloured by the similarity of their responses."""
    matrix = found.matrix(measure)
    values = [[matrix[i][j] for j in found.order] for i in found.order]
    names = [inert_name(found.systems[i], 28) for i in found.order]
    texts = [["" if each is None else f"{each:.3f}".replace("-", "−") for each in row] for row in values]
    figure = _map(values, texts, names, names, title, 16, (34, 90, 190), {"colorscale": SEQUENTIAL})
    figure.add_trace(_numbers(values))
    line = {"width": 2, "color": "#222"}
    for i in range(len(names)):
        figure.add_shape(type="rect", x0=i - 0.5, x1=i + 0.5, y0=i - 0.5, y1=i + 0.5, line=line)
    return figure


def _study_map(
    values: Cells, texts: list[list[str]], rows: list[str], columns: list[str], title: str, lowest: float = -1.0
) -> Any:
    down, across = [inert(name, 40) for name in rows], [inert(name, 40) for name in columns]
    colours = {"colorscale": DIVERGING, "zmin": lowest, "zmid": (lowest + 1.0) / 2, "zmax": 1.0}
    return _map(values, texts, down, across, title, 18, (22, 90, 150), colours)


def _map(
    values: Cells,
    texts: list[list[str]],
    rows: list[str],
    columns: list[str],
    title: str,
    title_size: int,
    pixels: tuple[int, int, int],
    colours: dict[str, Any],
) -> Any:
    """Draw a heat map.

    Args:
        texts: Text of each cell, for the hover box.
        pixels: Height of a row, and the margins above and below the map.
    """
    graph = need("plotly.graph_objects", "board")
    row_height, top, bottom = pixels
    hover = [
        [[row, column, text] for column, text in zip(columns, line, strict=True)]
        for row, line in zip(rows, texts, strict=True)
    ]
    trace = graph.Heatmap(
        z=values,
        x=list(range(len(columns))),
        y=list(range(len(rows))),
        customdata=np.array(hover),  # plotly copies an array, but validates a list value by value
        hovertemplate="%{customdata[0]}<br>%{customdata[1]}<br>%{customdata[2]}<extra></extra>",
        hoverongaps=False,
        xgap=1,
        ygap=1,
        # Below the map, because at the side it would take a third of a narrow screen.
        colorbar={"orientation": "h", "thickness": 12, "y": 0, "yref": "container", "yanchor": "bottom"},
        **colours,
    )
    axis = {"tickmode": "array", "tickfont": {"size": 11}, "ticks": "", "automargin": True}
    axis |= {"showgrid": False, "zeroline": False}  # lines would show through the cells
    layout = {
        "template": "plotly_white",
        "title": {"text": title, "font": {"size": title_size}, "x": 0, "pad": {"l": 8}},
        "font": FONT,
        "height": top + bottom + row_height * max(4, len(rows)),
        "margin": {"t": top, "b": bottom, "l": 8, "r": 8},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "xaxis": axis | {"tickvals": list(range(len(columns))), "ticktext": columns, "tickangle": -45},
        "yaxis": axis | {"tickvals": list(range(len(rows))), "ticktext": rows, "autorange": "reversed"},
    }
    return graph.Figure([trace], layout)


def _numbers(values: Cells) -> Any:
    """Draw the number in each cell, light on dark colours and dark on light colours."""
    graph = need("plotly.graph_objects", "board")
    cells = [(x, y, value) for y, row in enumerate(values) for x, value in enumerate(row) if value is not None]
    there = [value for *_, value in cells]
    middle = (min(there, default=0.0) + max(there, default=0.0)) / 2
    return graph.Scatter(
        x=[x for x, *_ in cells],
        y=[y for _, y, _ in cells],
        text=[f"{value:.2f}".replace("0.", ".") for value in there],  # four characters do not fit on a phone
        mode="text",
        textfont={"size": 11, "color": ["#ffffff" if value < middle else "#111111" for value in there]},
        hoverinfo="skip",
        showlegend=False,
    )
