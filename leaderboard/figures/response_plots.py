"""Figures of one prompt's responses and of a model's training stages; untrusted text is inert as in plots.py."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from divbench.core.errors import need
from leaderboard.figures.plots import CLEAR, LINES, VERMILION, banded_curve, inert, page_figure

# Okabe and Ito's colours, and percentages at which they tint a cell below dark text on a light page and light text on a
# dark one.
TINTS = (
    ("#0072b2", 20),
    ("#e69f00", 22),
    ("#009e73", 20),
    ("#cc79a7", 24),
    ("#56b4e9", 22),
    ("#d55e00", 20),
    ("#f0e442", 24),
    ("#929ca5", 22),
)
DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
_RATE = "%{y:.3f} bits/byte"
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "x", "cross")


def position_curve_figure(rate: Sequence[float], error: Sequence[float], alone: Sequence[float]) -> Any:
    """One prompt's a_k curve ± 1.96 standard errors, and each response's surprisal alone as points at position 1.

    Args:
        rate: a_k for k = 1 … n in bits/byte.
        error: Standard errors; NaN if unknown, which leaves a gap in the band.
        alone: Surprisal of each response given only the prompt, in bits/byte.
    """
    graph = need("plotly.graph_objects", "board")
    points = graph.Scatter(
        x=[1] * len(alone),
        y=list(alone),
        customdata=list(range(1, len(alone) + 1)),
        mode="markers",
        marker={"color": VERMILION, "symbol": "line-ew-open", "size": 14, "line": {"width": 2}},
        name="each response alone",
        hovertemplate="%{y:.3f} bits/byte alone<extra></extra>",
    )
    return _by_position([*banded_curve(rate, error, _RATE), points], 360, len(rate))


def stage_curves_figure(means: Mapping[str, Sequence[float]], errors: Mapping[str, Sequence[float]]) -> Any:
    """Mean a_k curves ± 1.96 standard errors over prompts, each stage with its own colour, dash and symbol.

    Args:
        means: Means in bits/byte by stage, for k = 1 … n.
    """
    traces: list[Any] = []
    for place, (name, mean) in enumerate(means.items()):
        traces += banded_curve(
            mean,
            errors[name],
            _RATE,
            LINES[place % len(LINES)],
            inert(name, 40),
            DASHES[place % len(DASHES)],
            marker={"symbol": SYMBOLS[place % len(SYMBOLS)], "size": 7},
        )
    return _by_position(traces, 420, max((len(mean) for mean in means.values()), default=1))


def _by_position(traces: Sequence[Any], height: int, longest: int) -> Any:
    figure = _figure(traces, height)
    figure.update_xaxes(title_text="position k", dtick=max(1, longest // 10))
    figure.update_yaxes(title_text="bits/byte", rangemode="tozero")
    return figure


def distributions_figure(values: Mapping[str, Sequence[float]], prompts: Sequence[str], title: str, unit: str) -> Any:
    """A box plot per stage with every prompt's value as a point.

    Args:
        values: Values by stage, one per prompt; NaN if missing.
    """
    graph = need("plotly.graph_objects", "board")
    traces = []
    for place, (name, own) in enumerate(values.items()):
        there = [(x, prompt) for x, prompt in zip(own, prompts, strict=True) if not math.isnan(x)]
        traces.append(
            graph.Box(
                y=[x for x, _ in there],
                customdata=[inert(prompt, 40) for _, prompt in there],
                name=inert(name, 40),
                boxpoints="all",
                jitter=0.6,
                pointpos=0,
                boxmean=True,
                fillcolor=CLEAR,
                line={"color": LINES[place % len(LINES)], "width": 2},
                marker={
                    "color": LINES[place % len(LINES)],
                    "symbol": SYMBOLS[place % len(SYMBOLS)],
                    "size": 4,
                    "opacity": 0.45,
                },
                hovertemplate="%{customdata}: %{y:.4g}<extra></extra>",
                hoveron="points",
                showlegend=False,
            )
        )
    figure = _figure(traces, 420)
    figure.update_xaxes(tickfont={"size": 11})  # larger names of stages run into each other on a phone
    figure.update_yaxes(title_text=inert(f"{title}, {unit}" if unit else title, 60))
    return figure


def _figure(traces: Sequence[Any], height: int) -> Any:
    """A figure without title: the page has a caption, which wraps on narrow screens."""
    legend = {"orientation": "h", "y": -0.3, "traceorder": "normal"}
    return page_figure(traces, height, margin={"t": 40, "l": 60, "r": 20}, legend=legend)
