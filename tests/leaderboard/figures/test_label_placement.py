"""Names beside points: none covers another or a point at any width, and error bars are avoided where they can be."""

import numpy as np
import pytest

from leaderboard.figures.label_placement import LETTER, LINE, MARKER, POSITIONS, label_positions

Box = tuple[float, float, float, float]
WIDTHS, HEIGHT = (400.0, 900.0), 300.0


def box_of(at: tuple[float, float], name: str, position: str, width: float) -> Box:
    """Where a name certainly is: half of it and the point's own room away from the middle of the point."""
    x, y = at[0] * width, at[1] * HEIGHT
    across, up = POSITIONS[position]
    middle = x + across * (LETTER * len(name) / 2 + MARKER), y + up * (LINE / 2 + MARKER / (2 if across else 1))
    half = LETTER * len(name) / 2, LINE / 2
    return middle[0] - half[0], middle[1] - half[1], middle[0] + half[0], middle[1] + half[1]


def cross(a: Box, b: Box) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


@pytest.mark.parametrize("seed", range(5))
def test_no_name_covers_anything_at_any_width(seed: int) -> None:
    rng = np.random.default_rng(seed)
    at = [(float(x), float(y)) for x, y in rng.uniform(0.05, 0.95, (30, 2)) ** 2]
    names = ["n" * int(length) for length in rng.integers(4, 22, 30)]
    made = label_positions(at, names, range(30), widths=WIDTHS, height=HEIGHT)
    named = [i for i, position in enumerate(made) if position]
    assert 3 < len(named) < 30  # the crowd leaves no room for all
    for width in WIDTHS:
        boxes = [box_of(at[i], names[i], made[i] or "", width) for i in named]
        points = [(x * width, y * HEIGHT) for x, y in at]
        for place, box in enumerate(boxes):
            assert 0 <= box[0] < box[2] <= width
            assert not any(cross(box, other) for other in boxes[:place])
            own = named[place]
            assert not any(
                cross(box, (x - MARKER, y - MARKER, x + MARKER, y + MARKER))
                for i, (x, y) in enumerate(points)
                if i != own
            )


def test_the_first_served_get_the_room() -> None:
    apart = label_positions([(0.5, 0.5), (0.52, 0.5)], ["a long name", "b"], [1, 0], widths=(300.0,), height=HEIGHT)
    assert apart[1] == "middle right"


def test_error_bars_are_avoided_where_there_is_room() -> None:
    at, across = [(0.5, 0.5)], [(0.2, 0.5, 0.8, 0.5)]
    assert label_positions(at, ["name"], [0], widths=WIDTHS, height=HEIGHT) == ["middle right"]
    assert label_positions(at, ["name"], [0], bars=across, widths=WIDTHS, height=HEIGHT) == ["top center"]
    everywhere = [(0.0, y / 50, 1.0, y / 50) for y in range(50)]
    assert label_positions(at, ["name"], [0], bars=everywhere, widths=WIDTHS, height=HEIGHT) == ["middle right"]
