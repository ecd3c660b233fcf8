"""Figures of what a language model finds in a response set. Pure: numbers and texts to plotly figures.

Plotly reads texts as HTML of a kind, and these are strangers': every one is cut and escaped here, and is put into a
place that is filled in as it is (tick labels, custom data), never into a template.
"""

import html
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from benchmark.analysis.explain import Curve
from benchmark.surprisal.pairwise_surprisal import PairwiseSurprisals
from benchmark.surprisal.token_surprisals import TokenCost
from datasets_build.errors import need
from datasets_build.tables import printable
from submissions.untrusted.plain_text import cut, shortened

LABEL = 30  # letters of a text on an axis
HOVER = 80  # letters of a text under the pointer
WITHIN = 1.96  # standard errors; 95% of a normal distribution
# Colours that the colour-blind can tell apart: Okabe and Ito's blue and vermilion, ColorBrewer's RdBu, and cividis.
BLUE, BAND, VERMILION = "#0072B2", "rgba(0, 114, 178, 0.2)", "#D55E00"
DIVERGING, SEQUENTIAL = "RdBu", "Cividis"
FONT = {"family": "system-ui, 'DejaVu Sans', sans-serif", "size": 14, "color": "#222"}
# Okabe and Ito's eight; after those, lines differ by their dashes.
LINES = (BLUE, VERMILION, "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#F0E442", "#000000")
CLEAR = "rgba(0, 0, 0, 0)"
# What the figures of pages need of plotly's white template; that takes longer to make than all the rest of a figure.
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
_DASHES = ("solid", "dash", "dot")
_ROW, _FRAME, _LOWEST = 26, 170, 340  # pixels: of a response's row, of what stands around them, of a figure


def inert(text: str, length: int) -> str:
    """A text as plotly may have it: cut, and with no letter that it takes for HTML.

    >>> inert("<b>bold</b> & more", 8)
    '&lt;b&gt;bold…'
    """
    return html.escape(shortened(text, length), quote=False)


def curve_figure(rate: Curve, bits: Curve) -> Any:
    """The a_k curve with 1.96 standard errors around it, and the mean of the responses alone; a button a unit.

    Args:
        rate: In bits/byte; shown first.
        bits: In bits.

    Returns:
        A `plotly.graph_objects.Figure` of eight traces: for each unit the upper and the lower end of the band, the
        curve, and the mean alone.

    Raises:
        MissingExtra: plotly is not installed.
    """
    units = {"bits/byte": rate, "bits of a response": bits}
    traces = [trace for unit, curve in units.items() for trace in _curve_traces(curve, unit)]
    a_unit = len(traces) // len(units)
    seen = {unit: [index // a_unit == place for index in range(len(traces))] for place, unit in enumerate(units)}
    buttons = [
        {"label": unit, "method": "update", "args": [{"visible": seen[unit]}, {"yaxis.title.text": unit}]}
        for unit in units
    ]
    for trace, visible in zip(traces, seen["bits/byte"], strict=True):
        trace.visible = visible
    figure = _figure(traces, "Surprise of the response in place k, with the k − 1 before it", 460)
    figure.update_xaxes(title_text="place k", dtick=max(1, len(rate.mean) // 10))
    figure.update_yaxes(title_text="bits/byte")
    menu = {"type": "buttons", "direction": "right", "x": 1, "xanchor": "right", "y": 1.02, "yanchor": "bottom"}
    figure.update_layout(updatemenus=[menu | {"buttons": buttons}], legend={"orientation": "h", "y": -0.2})
    return figure


def pair_figure(pairs: PairwiseSurprisals, responses: Sequence[str]) -> Any:
    """A heat map of the bits that response i (row) costs less right after response j (column).

    The diagonal is left blank: a repeat saves so much that it would take the colours from all others.

    Args:
        pairs: Of the responses.
        responses: Their texts.

    Returns:
        A `plotly.graph_objects.Figure` of one trace.

    Raises:
        MissingExtra: plotly is not installed.
    """
    graph = need("plotly.graph_objects", "board")
    saved = np.where(np.eye(len(responses), dtype=bool), np.nan, pairs.saved)
    hover = _numbered(responses, HOVER)
    trace = graph.Heatmap(
        z=_nullable(saved),
        x=_places(responses),
        y=_places(responses),
        customdata=[[[row, column] for column in hover] for row in hover],
        hovertemplate="%{z:.1f} bits saved<br>of %{customdata[0]}<br>after %{customdata[1]}<extra></extra>",
        hoverongaps=False,
        colorscale=DIVERGING,
        zmid=0,
        colorbar={"title": {"text": "bits saved"}},
        xgap=1,
        ygap=1,
    )
    figure = _figure([trace], "Bits that a response costs less right after another", _height(responses))
    figure.update_xaxes(title_text="after response", **_ticks([str(place) for place in _places(responses)]))
    figure.update_yaxes(title_text="response", autorange="reversed", **_ticks(_numbered(responses, LABEL)))
    return figure


def token_figure(tokens: Sequence[Sequence[TokenCost]]) -> Any:
    """A strip of tokens for each response, coloured by their bits on one scale.

    Args:
        tokens: Of each response, in the order of reading.

    Returns:
        A `plotly.graph_objects.Figure` of one trace; rows of fewer tokens end in gaps.

    Raises:
        MissingExtra: plotly is not installed.
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
    title = "Surprise of each token, the responses read in the given order"
    figure = _figure([trace], title, _height(tokens))
    figure.update_xaxes(title_text="token")
    figure.update_yaxes(title_text="response", autorange="reversed", **_ticks(_numbered(whole, LABEL)))
    return figure


def curves_figure(title: str, curves: Mapping[str, Sequence[float]]) -> Any:
    """Mean classes expected of m answers by m, a line a system; the diagonal is all different.

    Args:
        title: What decides on classes, or the board.
        curves: By the system's name, for m = 1, 2, …

    Returns:
        A `plotly.graph_objects.Figure` of a line more than there are systems.

    Raises:
        MissingExtra: plotly is not installed.
    """
    graph = need("plotly.graph_objects", "board")
    sizes = list(range(1, max(map(len, curves.values()), default=1) + 1))
    diagonal = {"color": "#bbb", "width": 1}
    traces = [graph.Scatter(x=sizes, y=sizes, mode="lines", line=diagonal, name="all different", hoverinfo="skip")]
    ordered = sorted(curves.items(), key=lambda item: item[1][-1] if item[1] else 0.0, reverse=True)
    for place, (name, curve) in enumerate(ordered):
        traces.append(
            graph.Scatter(
                x=sizes[: len(curve)],
                y=list(curve),
                mode="lines+markers",
                line={"color": LINES[place % len(LINES)], "dash": _DASHES[place // len(LINES) % 3], "width": 2},
                name=inert(name, 40),
                hovertemplate="%{x} answers: %{y:.2f} classes<extra></extra>",
            )
        )
    figure = _figure(traces, f"Different answers to expect of m ({inert(title, 60)})", 520)
    figure.update_xaxes(title_text="answers m", dtick=1 if len(sizes) <= 20 else None)
    figure.update_yaxes(title_text="expected classes", rangemode="tozero")
    return figure


def _curve_traces(curve: Curve, unit: str) -> list[Any]:
    graph = need("plotly.graph_objects", "board")
    places = list(range(1, len(curve.mean) + 1))
    ends = [_nullable(curve.mean + side * WITHIN * curve.error) for side in (1, -1)]
    band = [
        graph.Scatter(x=places, y=y, mode="lines", line={"width": 0}, showlegend=False, hoverinfo="skip") for y in ends
    ]
    band[1].update(fill="tonexty", fillcolor=BAND, showlegend=True, name="± 1.96 standard errors (choice of orders)")
    line = graph.Scatter(
        x=places,
        y=_nullable(curve.mean),
        customdata=_nullable(curve.error),
        mode="lines+markers",
        line={"color": BLUE, "width": 2},
        name="a<sub>k</sub>",
        hovertemplate=f"place %{{x}}: %{{y:.4f}} {unit}, standard error %{{customdata:.2g}}<extra></extra>",
    )
    alone = graph.Scatter(
        x=[places[0], places[-1]],
        y=[curve.alone] * 2,
        mode="lines",
        line={"color": VERMILION, "dash": "dash"},
        name="each response alone, on average",
        hovertemplate=f"alone: %{{y:.4f}} {unit}<extra></extra>",
    )
    return [*band, line, alone]


def page_figure(traces: Sequence[Any], height: int, **layout: Any) -> Any:
    """A figure of a page: without ground or title of its own, so that it stands on light and dark pages.

    Args:
        traces: Its traces.
        height: In pixels.
        layout: More of it, as plotly takes it.
    """
    graph = need("plotly.graph_objects", "board")
    own = {
        "template": _TEMPLATE,
        "font": FONT,
        "height": height,
        "paper_bgcolor": CLEAR,
        "plot_bgcolor": CLEAR,
        "hoverlabel": {"align": "left"},
        "dragmode": False,  # a finger that scrolls must not zoom
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
    """A token under the pointer: in marks, so that its white space shows."""
    inside = html.escape(cut(printable(text), HOVER), quote=False)
    return f"“{inside}”" if text else "(of the character before, or the space)"


def _nullable(values: Any) -> Any:
    """Numbers for plotly, in which a gap is None: its JSON writes NaN as null, but only in some of its arrays."""
    array = np.asarray(values, dtype=object)
    array[np.isnan(values)] = None
    return array.tolist()
