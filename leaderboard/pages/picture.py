"""The picture of the first page: systems by useful different answers and quality, as SVG with names that never collide.

It is laid out twice, for wide and for narrow screens, of which the style sheet shows one. Positions are attributes, so
that it works under the strictest Content-Security-Policy.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import ceil, cos, floor, pi, sin

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from leaderboard.pages.ranking import DIFFERENT, INDEPENDENT, OTHERWISE, PEOPLE, Line, Link, Ranking, authors, template

FEWEST = 2  # systems with a quality
_SIZES = {"wide": (1180, 272), "narrow": (366, 216)}  # pixels
_LEFT, _RIGHT, _TOP, _BOTTOM = 22, 14, 10, 32  # margins around the axes
_LETTER, _HEIGHT, _DOT = 6.4, 14.0, 7.0  # pixels: width of a letter, height of a line, half the place of a dot
_LONGEST = 34  # letters of a name
_MOST_NAMED = 60  # dots
_DISTANCES = (11, 20, 32, 46, 62)  # between a dot and its name
_DIRECTIONS = (0, 4, 1, 7, 3, 5, 2, 6)  # eighths of a turn: beside the dot first, then above and below
_LEADER = 16  # distance from which a line leads from the dot to its name
LEGEND = {
    INDEPENDENT: "asked independently",
    DIFFERENT: "asked each time for a different one",
    OTHERWISE: "asked in another way",
    PEOPLE: "people",
}
Place = tuple[float, float]
Box = tuple[float, float, float, float]  # left, top, right, bottom


@dataclass(frozen=True, slots=True)
class Spot:
    """A dot with its name, if there is a place for it."""

    x: float
    y: float
    name: str = ""  # empty: shown on hovering
    anchor: str = "start"  # of the name: *start*, *middle* or *end*
    at: Place = (0.0, 0.0)  # where the name begins, by its anchor
    leader: Place | None = None  # end of the line from the dot to a name that is not beside it


def drawn_lines(view: Ranking) -> list[Line]:
    """Return the systems in the picture: those with a quality, without base models and known-bad baselines."""
    people = [line for kind, lines in view.groups for line in lines if kind.type == "human"]
    return [line for line in (*view.lines, *view.beside, *people) if line.quality is not None]


def picture(view: Ranking, link: Link | None = None) -> Markup:
    """Draw the picture; empty if fewer than two systems have a quality of 1 to 10."""
    lines = drawn_lines(view)
    if len(lines) < FEWEST or not view.quality.startswith("quality"):
        return Markup("")
    people = next((authors(line) for line in lines if line.asked == PEOPLE), "")
    legend = {
        how: f"{text}{people if how == PEOPLE else ''}"
        for how, text in LEGEND.items()
        if any(line.asked == how for line in lines)
    }
    rendered = template("picture.html").render(
        view=view,
        plots=[(name, size, *_plot(lines, size, view)) for name, size in _SIZES.items()],
        legend=legend,
        has_aside=any(line.is_aside for line in lines),
        left=_LEFT,
        bottom=_BOTTOM,
        link=link,
    )
    return Markup(rendered)  # noqa: S704 - the template escapes


def _plot(
    lines: Sequence[Line], size: tuple[int, int], view: Ranking
) -> tuple[list[tuple[Line, Spot]], list[tuple[Spot, Spot]], list[tuple[float, str]], list[tuple[float, str]]]:
    """Lay out a plot: its dots, pairs of one model asked in two ways, and the ticks of both axes."""
    width, height = size
    across, up = width - _LEFT - _RIGHT, height - _TOP - _BOTTOM
    qualities = [line.quality or 0.0 for line in lines]
    low, high = floor(min(qualities) - 0.2), ceil(max(qualities) + 0.2)
    places = [
        (_LEFT + across * line.mark.at / 100, _TOP + up * (high - (line.quality or 0.0)) / (high - low))
        for line in lines
    ]
    first = [line.asked == INDEPENDENT for line in lines]  # the others are few, and stand apart
    placed = spots(places, list(map(_name, lines)), first, (_LEFT, _TOP, width, height - _BOTTOM))
    dots = list(zip(lines, placed, strict=True))
    models = {(line.entry.result.manifest.system.model_id, line.asked): spot for line, spot in dots if line.rank}
    pairs = [
        (spot, models[model, DIFFERENT])
        for (model, how), spot in models.items()
        if model and how == INDEPENDENT and (model, DIFFERENT) in models
    ]
    x_ticks = [(round(_LEFT + across * at / 100, 1), text) for at, text in view.ticks]
    y_ticks = [(round(_TOP + up * (high - value) / (high - low), 1), str(value)) for value in range(low, high + 1)]
    return dots, pairs, x_ticks, y_ticks


def spots(places: Sequence[Place], names: Sequence[str], later: Sequence[bool], frame: Box) -> list[Spot]:
    """Find a place for each name where it covers no dot and no other name; isolated dots come first.

    Of many dots, the first have names: the others' are shown on hovering.
    """
    taken = np.array([(x - _DOT, y - _DOT, x + _DOT, y + _DOT) for x, y in places])
    placed = [Spot(round(x, 1), round(y, 1)) for x, y in places]
    middles = np.array(places)
    crowds = [int((np.abs(middles - place) < (60, 30)).all(axis=1).sum()) for place in middles]
    served = sorted(range(len(places)), key=lambda index: later[index])[:_MOST_NAMED]
    for index in sorted(served, key=lambda index: (later[index], crowds[index])):
        others = np.delete(taken, index, axis=0)
        for spot, boxes in _candidates(placed[index], names[index]):
            box, *_ = boxes
            inside = box[0] >= frame[0] and box[1] >= frame[1] and box[2] <= frame[2] and box[3] <= frame[3]
            if inside and not any(_overlaps(box, others) for box in boxes):
                placed[index] = spot
                taken = np.concatenate([taken, boxes])
                break
    return placed


def _candidates(dot: Spot, name: str) -> Iterator[tuple[Spot, list[Box]]]:
    """Yield possible places of a name, the nearest first, with the boxes that it and the line to it fill."""
    for distance, eighth in product(_DISTANCES, _DIRECTIONS):
        right, down = cos(eighth * pi / 4), sin(eighth * pi / 4)
        x, y = round(dot.x + distance * right, 1), round(dot.y + distance * down, 1)
        anchor, share = ("start", 0.0) if right > 0.1 else ("end", 1.0) if right < -0.1 else ("middle", 0.5)
        left = x - len(name) * _LETTER * share
        boxes = [(left - 1, y - _HEIGHT / 2, left + len(name) * _LETTER + 1, y + _HEIGHT / 2)]
        end = None
        if distance > _LEADER:
            end = round(x - 3 * right, 1), round(y - 3 * down, 1)
            shares = (0.4, 0.7, 1.0)
            line = [(dot.x + (end[0] - dot.x) * s, dot.y + (end[1] - dot.y) * s) for s in shares]
            boxes += [(x - 1, y - 1, x + 1, y + 1) for x, y in line]
        yield Spot(dot.x, dot.y, name, anchor, (x, y), end), boxes


def _overlaps(box: Box, others: NDArray[np.float64]) -> bool:
    left, top, right, bottom = box
    return bool(((left < others[:, 2]) & (others[:, 0] < right) & (top < others[:, 3]) & (others[:, 1] < bottom)).any())


def _name(line: Line) -> str:
    """Return a system's name without the way in which it was asked, which its form shows; a long one is cut."""
    if line.asked == PEOPLE:
        return "people"
    name = " ".join(line.system.split())
    return cut_name(name if line.asked == INDEPENDENT else name.removesuffix(f", asked {line.asked}"))


def cut_name(name: str) -> str:
    """Cut a long name in its middle, as names of a series differ at the end."""
    half = _LONGEST // 2
    return name if len(name) <= _LONGEST else f"{name[:half]}…{name[half + 1 - _LONGEST :]}"
