"""Figures of a board's systems: trade-off, curves, paired differences.

As in plots.py, untrusted text is cut and escaped. Backgrounds are transparent, for light and dark pages. Shapes or
dashes repeat the information in colours.
"""

from collections.abc import Callable, Sequence
from typing import Any

from divbench.core.errors import need
from leaderboard.data.board import REFERENCE_TYPES, Column
from leaderboard.data.votes import VoteResults
from leaderboard.figures.label_placement import Place, label_places
from leaderboard.figures.plots import BLUE, LINES, VERMILION, inert, inert_name, page_figure
from leaderboard.tables.compare import Gap
from leaderboard.tables.curves import Curve
from leaderboard.tables.tradeoff import Point, Tradeoff, end_of
from leaderboard.tables.votes import SHORT
from submissions.judgements.votes import Question
from submissions.untrusted.plain_text import shortened

# Colour, symbol and legend of each system type.
MARKS = {
    "model": (BLUE, "circle", "models"),
    "inference-time method": ("#009E73", "diamond", "inference-time methods"),
    "trained method": ("#CC79A7", "triangle-up", "trained methods"),
    "human": ("#E69F00", "star", "people"),
    "baseline": (VERMILION, "x", "known-bad baselines"),
}
_SYMBOLS = ("circle", "diamond", "square", "x", "triangle-up", "star", "cross", "hexagon")
_DASHES = ("solid", "dash", "dot", "dashdot")
_COLOURS = 6  # of LINES: yellow is invisible on a light page, black on a dark one
_NAMED = 40  # maximum number of systems that are all named; above, only those on the front are
_HEIGHT, _ROOM = 560, 0.07  # pixels of the trade-off; share of an axis around its points
_PLOT_HEIGHT, _PHONE_HEIGHT = 480.0, 365.0  # pixels without axes and legend, which is on several lines on a phone
_WIDTHS = (520.0, 700.0, 900.0, 1100.0, 1300.0)  # plot widths in pixels, on screens from tablet to desktop
_PHONE_WIDTHS = (236.0, 270.0, 306.0, 400.0, 520.0)  # plot widths in pixels on screens up to 640 pixels wide
_LEADER = "│"
_HALF_WIDTHS = (330.0, 420.0, 560.0)  # plot widths in pixels for a figure beside a table
_GREY = "rgba(128, 128, 128, 0.55)"
_LABEL, _NAME = 22, 40  # characters of a name in the figure, and in a legend


def tradeoff_figure(made: Tradeoff) -> Any:
    """Systems on two metrics with 95% intervals, one symbol per system type, and the Pareto front as a line.

    Returns:
        A `plotly.graph_objects.Figure`: the front if there is one, then one trace per system type, with at most
        `leaderboard.tables.tradeoff.MOST_POINTS` systems.
    """
    graph = need("plotly.graph_objects", "board")
    traces = []
    points = made.drawn()
    front = sorted((point for point in points if point.on_front), key=lambda point: (point.x, point.y))
    if front:
        # Steps: the region that a system dominates ends at the worse corner between it and the next.
        line = {"color": _GREY, "width": 2, "dash": "dash", "shape": "vh" if end_of(made.x) > 0 else "hv"}
        ends = {"x": [point.x for point in front], "y": [point.y for point in front]}
        traces.append(graph.Scatter(**ends, mode="lines", line=line, name="Pareto front", hoverinfo="skip"))
    return _systems_figure(points, _axis(made.x), _axis(made.y), _WIDTHS, _front_text, traces)


def votes_figure(found: VoteResults, question: Question, column: Column) -> Any:
    """Systems on a metric and by their points per vote, with 95% intervals; None if no system has both."""
    votes = {each.system: each.votes for each in found.strengths[question].systems}
    points: list[Point] = []
    for each in found.strengths[question].systems:
        entry = found.entry(each.system)
        cell = None if entry is None else entry.cells.get(column.signature)
        if entry is not None and cell is not None and cell.value is not None:
            across = None if cell.low is None or cell.high is None else (cell.low, cell.high)
            strength = each.points
            up = None if strength.low is None or strength.high is None else (strength.low, strength.high)
            type_ = entry.result.manifest.system.type
            points.append(Point(len(points), each.system, type_, cell.value, across, strength.value or 0.0, up, None))
    if not points:
        return None

    def counted(point: Point) -> str:
        return f"{votes[point.label]:.0f} votes"

    return _systems_figure(points, _axis(column), f"points per vote: {SHORT[question]}", _HALF_WIDTHS, counted)


def _systems_figure(
    points: Sequence[Point],
    x_title: str,
    y_title: str,
    widths: Sequence[float],
    said: Callable[[Point], str],
    below: Sequence[Any] = (),
) -> Any:
    """Draw systems with one trace per system type, above the traces `below`."""
    traces = list(below)
    frame = [_range([(p.x, p.x_range) for p in points]), _range([(p.y, p.y_range) for p in points])]
    places = _named(points, frame, widths, _PLOT_HEIGHT)
    for kind, mark in MARKS.items():
        own = [place for place, point in enumerate(points) if point.type == kind]
        if own:
            traces.append(_points([points[i] for i in own], mark, [places[i] for i in own], said))
    narrow = zip(points, _named(points, frame, _PHONE_WIDTHS, _PHONE_HEIGHT), strict=True)
    traces.append(_names([(point, place) for point, place in narrow if place]))
    figure = _figure(traces, _HEIGHT)
    figure.update_xaxes(title_text=x_title, zeroline=False, range=list(frame[0]))
    figure.update_yaxes(title_text=y_title, zeroline=False, range=list(frame[1]))
    return figure


def _range(values: Sequence[tuple[float, tuple[float, float] | None]]) -> tuple[float, float]:
    """The range of an axis with room around all points and their intervals."""
    ends = [end for value, interval in values for end in (value, *(interval or ()))]
    low, high = (min(ends), max(ends)) if ends else (0.0, 1.0)
    room = _ROOM * (high - low) or 0.5
    return low - room, high + room


def _named(
    points: Sequence[Point], frame: Sequence[tuple[float, float]], widths: Sequence[float], height: float
) -> list[Place | None]:
    """The place of each point's name; None: the name is shown on hovering.

    Ranked systems come first, then people, then baselines; in each group, those on the front.
    """

    def share(axis: int, value: float) -> float:
        low, high = frame[axis]
        return (value - low) / (high - low)

    at, bars = [], []
    for point in points:
        x, y = share(0, point.x), share(1, point.y)
        at.append((x, y))
        bars += [(share(0, point.x_range[0]), y, share(0, point.x_range[1]), y)] if point.x_range else []
        bars += [(x, share(1, point.y_range[0]), x, share(1, point.y_range[1]))] if point.y_range else []
    order = sorted(range(len(points)), key=lambda i: (_order(points[i].type), not points[i].on_front))
    served = order if len(points) <= _NAMED else [i for i in order if points[i].on_front][:_NAMED]
    names = [shortened(point.label, _LABEL) for point in points]
    return label_places(at, names, served, bars=bars, widths=widths, height=height)


def _order(kind: str) -> int:
    """0 for ranked systems, then the place among `REFERENCE_TYPES`: people, then baselines."""
    return REFERENCE_TYPES.index(kind) + 1 if kind in REFERENCE_TYPES else 0


def _front_text(point: Point) -> str:
    if point.on_front is None:
        return "not eligible for the front"
    return "on the front" if point.on_front else "not on the front"


def _points(
    points: Sequence[Point],
    mark: tuple[str, str, str],
    places: Sequence[Place | None],
    said: Callable[[Point], str],
) -> Any:
    """Draw the systems of one type; hovering over a system shows its name, values and description."""
    colour, symbol, title = mark
    graph = need("plotly.graph_objects", "board")
    return graph.Scatter(
        x=[point.x for point in points],
        y=[point.y for point in points],
        error_x=_errors([(point.x, point.x_range) for point in points], colour),
        error_y=_errors([(point.y, point.y_range) for point in points], colour),
        mode="markers+text",
        text=[_name(point, place) for point, place in zip(points, places, strict=True)],
        textposition=[place[0] if place else "top center" for place in places],
        textfont={"size": 12},
        marker={
            "color": colour,
            "symbol": symbol,
            "size": [14 if point.on_front else 10 for point in points],
            "line": {"width": [2 if point.on_front else 0 for point in points], "color": _GREY},
        },
        customdata=[[inert_name(point.label, _NAME), said(point)] for point in points],
        hovertemplate="%{customdata[0]}<br>%{x:.4g}, %{y:.4g}<br>%{customdata[1]}<extra></extra>",
        name=title,
    )


def _names(named: Sequence[tuple[Point, Place]]) -> Any:
    """Draw the names for screens up to 640 pixels wide, where board.css shows them instead of the others."""
    return need("plotly.graph_objects", "board").Scatter(
        x=[point.x for point, _ in named],
        y=[point.y for point, _ in named],
        mode="text",
        # Spaces for the markers, which are in other traces.
        text=[f"\u00a0\u00a0{_name(point, place)}\u00a0\u00a0" for point, place in named],
        textposition=[place[0] for _, place in named],
        textfont={"size": 12},
        hoverinfo="skip",
        showlegend=False,
    )


def _name(point: Point, place: Place | None) -> str:
    """The name beside a point, with a leader if it is some lines above or below the point."""
    if place is None:
        return ""
    position, count = place
    lines = [inert_name(point.label, _LABEL), *[_LEADER] * count]
    return "<br>".join(reversed(lines) if position.startswith("bottom") else lines)


def _errors(points: Sequence[tuple[float, tuple[float, float] | None]], colour: str) -> dict[str, Any]:
    """Error bars from values to the ends of their intervals."""
    return {
        "type": "data",
        "symmetric": False,
        "array": [0.0 if ends is None else max(0.0, ends[1] - value) for value, ends in points],
        "arrayminus": [0.0 if ends is None else max(0.0, value - ends[0]) for value, ends in points],
        "color": colour,
        "thickness": 1.2,
        "width": 3,
    }


def _axis(column: Column) -> str:
    """The title of an axis with an arrow to its better end; on a vertical axis the title is rotated."""
    better = {1: "→ better", -1: "← better", 0: ""}[end_of(column)]
    words = [inert(column.label, _NAME), f"[{inert(column.unit, _NAME)}]" if column.unit else "", better]
    return " ".join(filter(None, words))


def system_curves_figure(
    curves: Sequence[Curve], at: str, of: str, *, systems: Sequence[str] = (), diagonal: bool = False
) -> Any:
    """One line per system with its own colour, dash and symbol; hovering shows intervals.

    Args:
        curves: Curves to draw; the one that ends highest is first in the legend.
        systems: Labels of the systems of all figures on the page, among them those of the curves. A system looks the
            same in each of the figures, also where others have no curve. Empty: those of the curves.
    """
    graph = need("plotly.graph_objects", "board")
    traces = []
    longest = max((curve.at for curve in curves), key=len, default=())
    if diagonal and longest:
        line = {"color": _GREY, "width": 1}
        traces.append(
            graph.Scatter(
                x=list(longest), y=list(longest), mode="lines", line=line, name="all distinct", hoverinfo="skip"
            )
        )
    looks = list(systems) or [curve.label for curve in curves]
    for curve in sorted(curves, key=lambda each: -each.mean[-1]):
        place = looks.index(curve.label)
        style = {"color": LINES[place % _COLOURS], "dash": _DASHES[place % len(_DASHES)], "width": 2}
        traces.append(
            graph.Scatter(
                x=list(curve.at),
                y=list(curve.mean),
                customdata=[_ends(low, high) for low, high in zip(curve.low, curve.high, strict=True)],
                mode="lines+markers",
                line=style,
                marker={"symbol": _SYMBOLS[place % len(_SYMBOLS)], "size": 8},
                name=inert_name(curve.name, _NAME),
                hovertemplate="%{x}: %{y:.3f} %{customdata}<extra></extra>",
            )
        )
    figure = _figure(traces, 480)
    few = diagonal and len(longest) <= 10  # numbers of responses, of which there are no halves
    figure.update_xaxes(title_text=at, zeroline=False, dtick=1 if few else None)
    figure.update_yaxes(title_text=of, rangemode="tozero", zeroline=False)
    return figure


def _ends(low: float | None, high: float | None) -> str:
    return "" if low is None or high is None else f"[{low:.3f}, {high:.3f}]"


def forest_figure(gaps: Sequence[Gap]) -> Any:
    """Standardised paired differences with 95% intervals: a row per metric, a symbol per pair; None if none varies.

    Right of 0 the first system of the pair is better, also on metrics where lower is better. Open symbols mark metrics
    without direction: right of 0 the first system is higher.

    Args:
        gaps: Differences from `leaderboard.tables.compare.compare`; those that do not vary are left out.
    """
    graph = need("plotly.graph_objects", "board")
    gaps = [gap for gap in gaps if gap.d_z is not None]
    if not gaps:
        return None
    labels = list(dict.fromkeys(gap.column.label for gap in gaps))
    pairs = list(dict.fromkeys(gap.names for gap in gaps))
    traces = []
    for place, pair in enumerate(pairs):
        own = [gap for gap in gaps if gap.names == pair]
        at = [_turned(gap) for gap in own]
        colour = LINES[place % _COLOURS]
        shift = (place - (len(pairs) - 1) / 2) * 0.8 / len(pairs)
        traces.append(
            graph.Scatter(
                x=[value for value, _ in at],
                y=[labels.index(gap.column.label) + shift for gap in own],
                error_x=_errors(at, colour),
                mode="markers",
                marker={"color": colour, "symbol": [_shape(place, gap) for gap in own], "size": 9},
                customdata=[[inert(gap.column.label, _NAME), inert_name(gap.finding, 2 * _NAME)] for gap in own],
                hovertemplate="%{customdata[0]}: %{x:.2f}<br>%{customdata[1]}<extra></extra>",
                name=" − ".join(inert_name(name, _NAME) for name in pair),
            )
        )
    figure = _figure(traces, 170 + len(labels) * max(28, 16 * len(pairs)))
    figure.add_vline(x=0, line={"color": _GREY, "width": 1})
    figure.update_yaxes(
        tickmode="array",
        tickvals=list(range(len(labels))),
        ticktext=[inert(label, 28) for label in labels],
        range=[len(labels) - 0.4, -0.6],
        automargin=True,
        zeroline=False,
    )
    one, other = (inert_name(name, _LABEL) for name in pairs[0]) if len(pairs) == 1 else ("first", "second")
    said = f"d_z<br>← {other} better<br>{one} better →"
    figure.update_xaxes(title_text=said, title_font_size=14, zeroline=False)
    figure.update_layout(showlegend=len(pairs) > 1)  # for one pair, the x-axis names both systems
    return figure


def _shape(place: int, gap: Gap) -> str:
    """The symbol of a pair; open if the metric has no direction."""
    return _SYMBOLS[place] + ("" if end_of(gap.column) else "-open")


def _turned(gap: Gap) -> tuple[float, tuple[float, float] | None]:
    """The standardised difference and its interval, positive if the first system is better."""
    value, ends = gap.d_z or 0.0, gap.d_z_interval
    if end_of(gap.column) >= 0:
        return value, ends
    return -value, None if ends is None else (-ends[1], -ends[0])


def _figure(traces: Sequence[Any], height: int) -> Any:
    legend = {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0}
    return page_figure(traces, height, margin={"t": 20, "l": 60, "r": 40, "b": 60}, legend=legend)
