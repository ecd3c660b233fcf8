"""Parts of plotly figures: palette, inert texts, and the figures that several pages share.

Plotly interprets texts as a kind of HTML. Untrusted texts are therefore cut and escaped, and put only where plotly
inserts them verbatim (tick labels, custom data), never into a template. Backgrounds are transparent, for light and dark
pages; shapes or dashes repeat the information in colours.
"""

import html
import math
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmark.scoring.estimate import Estimate, Floats
from divbench.core.errors import need
from submissions.untrusted.plain_text import shortened

WITHIN = 1.96  # standard errors; 95% of a normal distribution
# Safe for colour-blind readers: Okabe and Ito's eight colours.
BLUE, VERMILION = "#0072B2", "#D55E00"
LINES = (BLUE, VERMILION, "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#F0E442", "#000000")
COLOURS = 6  # of LINES: yellow is invisible on a light page, black on a dark one
SYMBOLS = ("circle", "diamond", "square", "x", "triangle-up", "star", "cross", "hexagon")
DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
# Okabe and Ito's colours, and percentages at which they tint a cell below dark text on a light page and light text on a
# dark one.
TINTS = (
    *(("#0072b2", 20), ("#e69f00", 22), ("#009e73", 20), ("#cc79a7", 24)),
    *(("#56b4e9", 22), ("#d55e00", 20), ("#f0e442", 24), ("#929ca5", 22)),
)
# The middle is nearly transparent and the ends partly so, to keep text in the page's colour legible on light and dark
# pages.
DIVERGING = [[0.0, "rgba(213, 94, 0, 0.72)"], [0.5, "rgba(128, 128, 128, 0.10)"], [1.0, "rgba(0, 114, 178, 0.72)"]]
FONT = {"family": "system-ui, 'DejaVu Sans', sans-serif", "size": 14, "color": "#222"}
CLEAR, GREY = "rgba(0, 0, 0, 0)", "rgba(128, 128, 128, 0.55)"
LABEL, NAME = 22, 40  # characters of a name in a figure, and in a legend
# The part of plotly's white template that page figures need: the full template takes longer than the rest of a figure.
_AXIS = {
    "gridcolor": "rgba(128, 128, 128, 0.25)",
    "linecolor": "#EBF0F8",
    "ticks": "",
    "title": {"standoff": 15},
    "zerolinecolor": "#EBF0F8",
    "zerolinewidth": 2,
    "automargin": True,
}
_TEMPLATE = {"layout": {"autotypenumbers": "strict", "hovermode": "closest", "xaxis": _AXIS, "yaxis": _AXIS}}
_HIDDEN_BUTTONS = ("select2d", "lasso2d", "autoScale2d")
Cells = Sequence[Sequence[float | None]]


def inert(text: str, length: int) -> str:
    """Cut and escape a text, so that plotly finds no HTML in it.

    >>> inert("<b>bold</b> & more", 8)
    '&lt;b&gt;bold…'
    """
    return html.escape(shortened(text, length), quote=False)


def inert_name(name: str, length: int) -> str:
    """Cut a name in its middle and escape it: names of a series, and those that an id makes unique, differ at the end.

    >>> inert_name("Llama-3.1-70B, temperature 0.7", 16)
    'Llama-3.…ure 0.7'
    """
    line = shortened(name, sys.maxsize)
    half = length // 2
    return html.escape(line if len(line) <= length else f"{line[:half]}…{line[half + 1 - length :]}", quote=False)


def page_figure(traces: Sequence[Any], height: int, **layout: Any) -> Any:
    """Make a figure for a page: without background and title, for light and dark pages."""
    graph = need("plotly.graph_objects", "board")
    modebar = {"bgcolor": CLEAR, "color": "#888", "activecolor": "#888", "orientation": "v", "remove": _HIDDEN_BUTTONS}
    common = {
        "template": _TEMPLATE,
        "font": FONT,
        "height": height,
        "paper_bgcolor": CLEAR,
        "plot_bgcolor": CLEAR,
        "hoverlabel": {"align": "left"},
        "dragmode": False,  # scrolling on a touch screen must not zoom
        "modebar": modebar,
    }
    return graph.Figure(list(traces), common | layout)


def wide_figure(traces: Sequence[Any], height: int) -> Any:
    """Make a figure with its legend above."""
    legend = {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0}
    return page_figure(traces, height, margin={"t": 20, "l": 60, "r": 40, "b": 60}, legend=legend)


def captioned_figure(traces: Sequence[Any], height: int) -> Any:
    """Make a figure whose caption is on the page, where it wraps on narrow screens, with its legend below."""
    legend = {"orientation": "h", "y": -0.3, "traceorder": "normal"}
    return page_figure(traces, height, margin={"t": 40, "l": 60, "r": 20}, legend=legend)


def position_figure(traces: Sequence[Any], height: int, longest: int) -> Any:
    """Make a figure of a_k curves by position."""
    figure = captioned_figure(traces, height)
    figure.update_xaxes(title_text="position k", dtick=max(1, longest // 10))
    figure.update_yaxes(title_text="bits/byte", rangemode="tozero")
    return figure


def banded_curve(
    mean: Sequence[float] | Floats,
    error: Sequence[float] | Floats,
    hover: str,
    colour: str = BLUE,
    name: str | None = None,
    dash: str = "solid",
    **style: Any,
) -> list[Any]:
    """Draw an a_k curve for k = 1 … n above a band of ± 1.96 standard errors; NaN errors leave a gap in the band.

    A named curve is in the legend, which leaves out its band; without a name, it is the curve of one prompt.
    """
    graph = need("plotly.graph_objects", "board")
    positions = list(range(1, len(mean) + 1))
    ends = [nullable(np.asarray(mean) + side * WITHIN * np.asarray(error)) for side in (1, -1)]
    upper, lower = (
        graph.Scatter(x=positions, y=y, mode="lines", line={"width": 0}, showlegend=False, hoverinfo="skip")
        for y in ends
    )
    red, green, blue = (int(colour[start : start + 2], 16) for start in (1, 3, 5))
    lower.update(fill="tonexty", fillcolor=f"rgba({red}, {green}, {blue}, {0.15 if name else 0.2})")
    if name is None:
        lower.update(showlegend=True, name="± 1.96 standard errors (choice of orders)")
    line = graph.Scatter(
        x=positions,
        y=nullable(mean),
        customdata=["" if math.isnan(e) else f", standard error {e:.2g}" for e in error],
        mode="lines+markers",
        line={"color": colour, "width": 2, "dash": dash},
        name=name or "a<sub>k</sub>",
        hovertemplate=f"position %{{x}}: {hover}%{{customdata}}<extra></extra>",
        **style,
    )
    return [upper, lower, line]


def nullable(values: Any) -> Any:
    """Return numbers for plotly with None for NaN: its JSON writes NaN as null only in some arrays."""
    array = np.asarray(values, dtype=object)
    array[np.isnan(values)] = None
    return array.tolist()


def error_bars(estimates: Sequence[Estimate], colour: str) -> dict[str, Any]:
    """Return error bars from values to the ends of their intervals."""
    ends = [estimate.interval or (estimate.value or 0.0,) * 2 for estimate in estimates]
    values = [estimate.value or 0.0 for estimate in estimates]
    return {
        "type": "data",
        "symmetric": False,
        "array": [max(0.0, high - value) for value, (_, high) in zip(values, ends, strict=True)],
        "arrayminus": [max(0.0, value - low) for value, (low, _) in zip(values, ends, strict=True)],
        "color": colour,
        "thickness": 1.2,
        "width": 3,
    }


def heat_map(
    values: Cells, texts: Sequence[Sequence[str]], rows: Sequence[str], columns: Sequence[str], **more: Any
) -> Any:
    """Draw a heat map with the text of each cell in its hover label; `more` sets its colours."""
    graph = need("plotly.graph_objects", "board")
    hover = [
        [[row, column, text] for column, text in zip(columns, line, strict=True)]
        for row, line in zip(rows, texts, strict=True)
    ]
    trace = graph.Heatmap(
        z=[list(row) for row in values],
        x=list(range(len(columns))),
        y=list(range(len(rows))),
        customdata=np.array(hover),  # plotly copies an array, but validates a list value by value
        hovertemplate="%{customdata[0]}<br>%{customdata[1]}<br>%{customdata[2]}<extra></extra>",
        hoverongaps=False,
        xgap=1,
        ygap=1,
        # Below the map, because at the side it would take a third of a narrow screen.
        colorbar={"orientation": "h", "thickness": 12, "y": 0, "yref": "container", "yanchor": "bottom"},
        **more,
    )
    axis = {"tickmode": "array", "tickfont": {"size": 11}, "showgrid": False, "zeroline": False, "ticks": ""}
    height, margin = 22 * max(4, len(rows)), {"t": 16, "b": 150, "l": 8, "r": 40}  # at the right: plotly's buttons
    figure = page_figure([trace], height + margin["t"] + margin["b"], margin=margin)
    figure.update_xaxes(axis | {"tickvals": list(range(len(columns))), "ticktext": list(columns), "tickangle": -45})
    figure.update_yaxes(axis | {"tickvals": list(range(len(rows))), "ticktext": list(rows), "autorange": "reversed"})
    return figure
