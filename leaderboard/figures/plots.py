"""Figures of token and response surprisals, and the parts that all figures share.

Plotly interprets texts as a kind of HTML. Untrusted texts are therefore cut and escaped, and put only where plotly
inserts them verbatim (tick labels, custom data), never into a template.
"""

import html
import math
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmark.scoring.estimate import Floats
from benchmark.surprisal.prompt_layout import TokenCost
from divbench.core.errors import need
from divbench.core.tables import printable
from submissions.untrusted.plain_text import cut, shortened

LABEL = 30  # characters of a text on an axis
HOVER = 80  # characters of a text in a hover label
WITHIN = 1.96  # standard errors; 95% of a normal distribution
# Safe for colour-blind readers: Okabe and Ito's blue and vermilion, and cividis.
BLUE, VERMILION = "#0072B2", "#D55E00"
# The middle is nearly transparent and the ends partly so, to keep text in the page's colour legible on light and dark
# pages.
DIVERGING = [[0.0, "rgba(213, 94, 0, 0.72)"], [0.5, "rgba(128, 128, 128, 0.10)"], [1.0, "rgba(0, 114, 178, 0.72)"]]
SEQUENTIAL = "Cividis"
FONT = {"family": "system-ui, 'DejaVu Sans', sans-serif", "size": 14, "color": "#222"}
# Okabe and Ito's eight colours; further lines differ by their dashes.
LINES = (BLUE, VERMILION, "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#F0E442", "#000000")
CLEAR = "rgba(0, 0, 0, 0)"
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
_NO_BUTTONS = ("select2d", "lasso2d", "autoScale2d")
_ROW, _FRAME, _LOWEST = 26, 170, 340  # pixels: height of a response's row, of the frame, minimum of a figure


def inert(text: str, length: int) -> str:
    """A text cut and escaped, so that plotly finds no HTML in it.

    >>> inert("<b>bold</b> & more", 8)
    '&lt;b&gt;bold…'
    """
    return html.escape(shortened(text, length), quote=False)


def inert_name(name: str, length: int) -> str:
    """A name cut in its middle and escaped: names of a series, and those that an id makes unique, differ at the end.

    >>> inert_name("Llama-3.1-70B, temperature 0.7", 16)
    'Llama-3.…ure 0.7'
    """
    line = shortened(name, sys.maxsize)
    half = length // 2
    return html.escape(line if len(line) <= length else f"{line[:half]}…{line[half + 1 - length :]}", quote=False)


def token_figure(tokens: Sequence[Sequence[TokenCost]]) -> Any:
    """A strip of tokens for each response, coloured by surprisal on one scale.

    Args:
        tokens: Tokens of each response, in reading order.
    """
    graph = need("plotly.graph_objects", "board")
    longest = max((len(row) for row in tokens), default=0)
    bits = [[token.bits for token in row] + [None] * (longest - len(row)) for row in tokens]
    texts = [[_token(token.text) for token in row] + [""] * (longest - len(row)) for row in tokens]
    whole = ["".join(token.text for token in row) for row in tokens]
    trace = graph.Heatmap(
        z=bits,
        x=list(range(1, longest + 1)),
        y=_places(tokens),
        customdata=texts,
        hovertemplate="%{customdata}<br>%{z:.2f} bits<br>token %{x} of %{y}<extra></extra>",
        hoverongaps=False,
        colorscale=SEQUENTIAL,
        zmin=0,
        zmax=max((token.bits for row in tokens for token in row), default=1.0),
        colorbar={"title": {"text": "bits"}},
        xgap=1,
        ygap=3,
    )
    title = "Surprisal of each token, responses read in the given order"
    figure = _figure([trace], title, _height(tokens))
    figure.update_xaxes(title_text="token")
    figure.update_yaxes(title_text="response", autorange="reversed", **_ticks(_numbered(whole, LABEL)))
    return figure


def banded_curve(
    mean: Sequence[float] | Floats,
    error: Sequence[float] | Floats,
    hover: str,
    colour: str = BLUE,
    name: str | None = None,
    dash: str = "solid",
    **looks: Any,
) -> list[Any]:
    """Draw an a_k curve for k = 1 … n above a band of ± 1.96 standard errors.

    Args:
        error: Standard errors; NaN if unknown, which leaves a gap in the band.
        hover: Template of a value in a hover label.
        name: Name of the curve in the legend, which then leaves out the band; None for the curve of one prompt.

    Returns:
        Three traces: the band's upper and lower end, and the curve.
    """
    graph = need("plotly.graph_objects", "board")
    places = list(range(1, len(mean) + 1))
    ends = [_nullable(np.asarray(mean) + side * WITHIN * np.asarray(error)) for side in (1, -1)]
    upper, lower = (
        graph.Scatter(x=places, y=y, mode="lines", line={"width": 0}, showlegend=False, hoverinfo="skip") for y in ends
    )
    lower.update(fill="tonexty", fillcolor=_tint(colour, 0.15 if name else 0.2))
    if name is None:
        lower.update(showlegend=True, name="± 1.96 standard errors (choice of orders)")
    line = graph.Scatter(
        x=places,
        y=_nullable(mean),
        customdata=_error_texts(error),
        mode="lines+markers",
        line={"color": colour, "width": 2, "dash": dash},
        name=name or "a<sub>k</sub>",
        hovertemplate=f"position %{{x}}: {hover}%{{customdata}}<extra></extra>",
        **looks,
    )
    return [upper, lower, line]


def _tint(colour: str, opacity: float) -> str:
    """A line colour made transparent for a band.

    >>> _tint("#0072B2", 0.15)
    'rgba(0, 114, 178, 0.15)'
    """
    red, green, blue = (int(colour[start : start + 2], 16) for start in (1, 3, 5))
    return f"rgba({red}, {green}, {blue}, {opacity})"


def _error_texts(errors: Sequence[float] | Floats) -> list[str]:
    """Standard errors for hover labels; empty if unknown, which plotly would show as 0.

    >>> _error_texts([0.0123, math.nan])
    [', standard error 0.012', '']
    """
    return ["" if math.isnan(error) else f", standard error {error:.2g}" for error in errors]


def page_figure(traces: Sequence[Any], height: int, **layout: Any) -> Any:
    """A figure for a page: without background and title, for light and dark pages."""
    graph = need("plotly.graph_objects", "board")
    own = {
        "template": _TEMPLATE,
        "font": FONT,
        "height": height,
        "paper_bgcolor": CLEAR,
        "plot_bgcolor": CLEAR,
        "hoverlabel": {"align": "left"},
        "dragmode": False,  # scrolling on a touch screen must not zoom
        "modebar": {
            "bgcolor": CLEAR,
            "color": "#888",
            "activecolor": "#888",
            "orientation": "v",
            "remove": _NO_BUTTONS,
        },
    }
    return graph.Figure(list(traces), own | layout)


def _figure(traces: Sequence[Any], title: str, height: int) -> Any:
    graph = need("plotly.graph_objects", "board")
    figure = graph.Figure(list(traces))
    figure.update_layout(
        template="plotly_white",
        title={"text": title, "font": {"size": 18}},
        font=FONT,
        height=height,
        margin={"t": 90},
        hoverlabel={"align": "left"},
    )
    return figure


def _height(rows: Sequence[object]) -> int:
    return max(_LOWEST, _FRAME + _ROW * len(rows))


def _places(rows: Sequence[object]) -> list[int]:
    return list(range(1, len(rows) + 1))


def _numbered(texts: Sequence[str], length: int) -> list[str]:
    return [f"{place}: {inert(text, length)}" for place, text in enumerate(texts, 1)]


def _ticks(labels: Sequence[str]) -> dict[str, Any]:
    return {"tickmode": "array", "tickvals": _places(labels), "ticktext": list(labels), "automargin": True}


def _token(text: str) -> str:
    """A token for a hover label, in quotation marks that show its white space."""
    inside = html.escape(cut(printable(text), HOVER), quote=False)
    return f"“{inside}”" if text else "(of the character before, or the space)"


def _nullable(values: Any) -> Any:
    """Numbers for plotly with None for NaN: its JSON writes NaN as null only in some arrays."""
    array = np.asarray(values, dtype=object)
    array[np.isnan(values)] = None
    return array.tolist()
