"""The heat map of GSSBench: pair accuracy by metric and split, one panel per model."""

from collections.abc import Sequence
from typing import Any

from benchmark.analysis.gss.accuracy import HALF, MEAN, MISSING, SHORT, TIES, Block, Row
from datasets_build.gssbench import SPLITS
from divbench.core.errors import need
from leaderboard.figures.plots import CLEAR, DIVERGING, FONT, inert

_ROW, _TOP, _BETWEEN, _BOTTOM, _LABELS = 30, 150, 120, 150, 124  # pixels: a row; above, between, below, left of panels
_TITLE, _LINE = 40, 12  # letters of a name; letters of a label that is not broken
_COLUMNS = {**{split: SHORT.get(split, split) for split in SPLITS}, MEAN: "mean"}


def heat_map(blocks: Sequence[Block]) -> Any:
    """Draw the accuracy of each metric on each split and their mean, one panel per model; blue: above chance.

    Args:
        blocks: Blocks to draw; models without metrics are left out.
    """
    graph, subplots = need("plotly.graph_objects", "board"), need("plotly.subplots", "board")
    blocks = [block for block in blocks if block.rows]
    sizes = [_ROW * len(block.rows) for block in blocks]
    inside = sum(sizes) + _BETWEEN * (len(blocks) - 1)
    figure = subplots.make_subplots(
        rows=len(blocks),
        cols=1,
        row_heights=sizes,
        vertical_spacing=_BETWEEN / inside if len(blocks) > 1 else 0,
        subplot_titles=[
            f"<b>{inert(block.title, _TITLE)}</b><br><sup>{inert(block.beneath, 2 * _TITLE)}</sup>" for block in blocks
        ],
    )
    for row, block in enumerate(blocks, 1):
        figure.add_trace(_panel(graph, block), row=row, col=1)
    # Lines would show through the cells, and cross their numbers.
    figure.update_xaxes(tickangle=-45, tickfont={"size": 12}, ticks="", showgrid=False, zeroline=False)
    figure.update_yaxes(autorange="reversed", tickfont={"size": 11}, ticks="", showgrid=False, zeroline=False)
    # Titles begin at the left edge of the figure, not of the panel, to fit on a narrow screen.
    figure.update_annotations(x=0, xanchor="left", xshift=8 - _LABELS, align="left", font={"size": 14})
    figure.update_layout(
        template="plotly_white",
        title={
            "text": "GSSBench: pair accuracy<br><sup>ties are wrong; chance gives 0.5</sup>",
            "font": {"size": 18},
            "x": 0,
            "pad": {"l": 8},
        },
        font=FONT,
        height=inside + _TOP + _BOTTOM,
        margin={"t": _TOP, "b": _BOTTOM, "l": _LABELS, "r": 8},
        hoverlabel={"align": "left"},
        paper_bgcolor=CLEAR,
        plot_bgcolor=CLEAR,
        coloraxis={
            "colorscale": DIVERGING,
            "cmin": 0,
            "cmid": 0.5,
            "cmax": 1,
            # Below the panels: beside them it would take a third of a narrow screen.
            "colorbar": {
                "orientation": "h",
                "tickvals": [0, 0.5, 1],
                "ticktext": ["0", "0.5 (chance)", "1"],
                "thickness": 12,
                "y": 0,
                "yref": "container",
                "yanchor": "bottom",
            },
        },
    )
    return figure


def _panel(graph: Any, block: Block) -> Any:
    cells = [[row.cells.get(column) for column in _COLUMNS] for row in block.rows]
    accuracy = [[None if estimate is None else estimate.value for estimate in row] for row in cells]
    return graph.Heatmap(
        z=accuracy,
        x=list(_COLUMNS.values()),
        y=[_broken(row.metric) for row in block.rows],
        text=[["" if value is None else f"{value:.2f}" for value in row] for row in accuracy],
        texttemplate="%{text}",
        textfont={"size": 12},
        customdata=[[_hover(block, row, column) for column in _COLUMNS] for row in block.rows],
        hovertemplate="%{customdata}<extra></extra>",
        hoverongaps=False,
        coloraxis="coloraxis",
        xgap=1,
        ygap=1,
    )


def _broken(metric: str) -> str:
    """Break a long name after the underscore nearest to its middle."""
    breaks = [index + 1 for index, letter in enumerate(metric) if letter == "_"]
    if len(metric) <= _LINE or not breaks:
        return metric
    middle = min(breaks, key=lambda index: abs(index - len(metric) / 2))
    return f"{metric[:middle]}<br>{metric[middle:]}"


def _hover(block: Block, row: Row, column: str) -> str:
    estimate = row.cells.get(column)
    if estimate is None or estimate.value is None:
        return ""
    interval = "" if estimate.low is None else f" [{estimate.low:.3f}, {estimate.high:.3f}]"
    lines = [inert(block.title, _TITLE), f"{row.metric}, {column}", f"{estimate.value:.3f}{interval}"]
    if column == MEAN:
        lines += [
            f"{name} {number.value:.3f}"
            for name in (HALF, TIES, MISSING)
            if (number := row.cells.get(name)) and number.value is not None
        ]
    return "<br>".join(lines)
