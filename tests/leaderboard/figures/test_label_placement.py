"""Names beside points: none covers another or a point at any width, and error bars are avoided where they can be."""

import numpy as np
import pytest

from leaderboard.figures.label_placement import LETTER, LINE, MARKER, POSITIONS, Place, label_places

Box = tuple[float, float, float, float]
WIDTHS, HEIGHT = (400.0, 900.0), 300.0


def box_of(at: tuple[float, float], name: str, place: Place, width: float) -> Box:
    """Where a name certainly is: half of it and the point's own room away from the middle of the point."""
    x, y = at[0] * width, at[1] * HEIGHT
    across, up = POSITIONS[place[0]]
    away = LINE * (place[1] + 0.5) + MARKER / (2 if across else 1)
    middle = x + across * (LETTER * len(name) / 2 + MARKER), y + up * away
    half = LETTER * len(name) / 2, LINE / 2
    return middle[0] - half[0], middle[1] - half[1], middle[0] + half[0], middle[1] + half[1]


def cross(a: Box, b: Box) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


@pytest.mark.parametrize("seed", range(5))
def test_no_name_covers_anything_at_any_width(seed: int) -> None:
    rng = np.random.default_rng(seed)
    at = [(float(x), float(y)) for x, y in rng.uniform(0.05, 0.95, (30, 2)) ** 2]
    names = ["n" * int(length) for length in rng.integers(4, 22, 30)]
    made = label_places(at, names, range(30), widths=WIDTHS, height=HEIGHT)
    named = [i for i, position in enumerate(made) if position]
    assert 3 < len(named) < 30  # the crowd leaves no room for all
    for width in WIDTHS:
        boxes = [box_of(at[i], names[i], made[i] or ("", 0), width) for i in named]
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
    apart = label_places([(0.5, 0.5), (0.52, 0.5)], ["a long name", "b"], [1, 0], widths=(300.0,), height=HEIGHT)
    assert apart[1] == ("middle right", 0)


def test_error_bars_are_avoided_where_there_is_room() -> None:
    at, across = [(0.5, 0.5)], [(0.2, 0.5, 0.8, 0.5)]
    assert label_places(at, ["name"], [0], widths=WIDTHS, height=HEIGHT) == [("middle right", 0)]
    assert label_places(at, ["name"], [0], bars=across, widths=WIDTHS, height=HEIGHT) == [("top center", 0)]
    everywhere = [(0.0, y / 50, 1.0, y / 50) for y in range(50)]
    assert label_places(at, ["name"], [0], bars=everywhere, widths=WIDTHS, height=HEIGHT) == [("middle right", 0)]


def test_where_there_is_no_room_beside_a_point_its_name_is_farther_away() -> None:
    """Systems of the same quality were in a row, and most of them had no name."""
    row = [(0.2 + 0.1 * i, 0.97) for i in range(6)]
    made = label_places(row, ["a long name"] * 6, range(6), widths=(520.0,), height=HEIGHT)
    named = [place for place in made if place]
    assert len(named) >= 4
    assert any(count > 0 and position == "bottom center" for position, count in named)
