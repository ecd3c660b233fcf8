"""Place names beside the points of a figure so that they cover neither each other nor other points. Pure."""

from collections.abc import Sequence

import numpy as np

from benchmark.scoring.estimate import Floats

# Plotly's positions of a text at a point, with the direction from the point to the middle of the text.
POSITIONS = {
    "middle right": (1.0, 0.0),
    "middle left": (-1.0, 0.0),
    "top center": (0.0, 1.0),
    "bottom center": (0.0, -1.0),
    "top right": (1.0, 1.0),
    "top left": (-1.0, 1.0),
    "bottom right": (1.0, -1.0),
    "bottom left": (-1.0, -1.0),
}
# Pixels: width of a letter, height of a line, around a point, half an error bar.
LETTER, LINE, GAP, MARKER, BAR = 7.0, 15.6, 8.0, 8.0, 1.0
_FAR = 8  # maximum number of lines between a point and its name
Place = tuple[str, int]


def label_places(
    at: Sequence[tuple[float, float]],
    names: Sequence[str],
    order: Sequence[int],
    *,
    bars: Sequence[tuple[float, float, float, float]] = (),
    widths: Sequence[float],
    height: float,
) -> list[Place | None]:
    """A place for each name at which it covers no name and no point at any width; None if there is none.

    Args:
        at: Points in shares of the figure, from 0 to 1 on both axes.
        order: Indices of the points in the order in which they are served; a point that is not in it gets no name.
        bars: Error bars as left, bottom, right, top in the same shares; names avoid them where they can.
        widths: Widths of the figure in pixels.

    Returns:
        One of `POSITIONS`, and the number of lines that a leader fills between the point and a name above or below it.
    """
    points = np.array(at, dtype=float).reshape(-1, 2)
    size = np.array([[width, height] for width in widths])
    middles = points[None] * size[:, None]  # [widths, points, axes]
    marks = np.concatenate([middles - MARKER, middles + MARKER], axis=-1)  # as left, bottom, right, top
    lines = np.array(bars, dtype=float).reshape(-1, 4)[None] * np.concatenate([size, size], axis=-1)[:, None]
    lines = lines + np.array([-BAR, -BAR, BAR, BAR])
    taken = np.empty((len(size), 0, 4))
    near: list[Place] = [(position, 0) for position in POSITIONS]
    far: list[Place] = [(f"{side} center", count) for count in range(1, _FAR + 1) for side in ("bottom", "top")]
    made: list[Place | None] = [None] * len(names)
    for i in order:
        others = np.concatenate([np.delete(marks, i, axis=1), taken], axis=1)
        boxes = {}
        for place in (*near, *far):
            box = _boxes(middles[:, i], names[i], place)
            inside = (box[..., :2] >= 0).all() and (box[..., 2:] <= size[:, None]).all()
            if inside and not _overlaps(box[:, :, None], others[:, None]).any():
                boxes[place] = box
        # A leader may cross error bars, a name should not; but better over an error bar than not shown.
        clear = (place for place, box in boxes.items() if not _overlaps(box[:, :1], lines).any())
        made[i] = found = next(clear, next(iter(boxes), None))
        if found is not None:
            taken = np.concatenate([taken, boxes[found]], axis=1)
    return made


def _boxes(middle: Floats, name: str, place: Place) -> Floats:
    """The boxes of a name and of its leader, if it has one: [widths, boxes, left, bottom, right, top]."""
    position, count = place
    across, up = direction = np.array(POSITIONS[position])
    half = np.array([LETTER * len(name) / 2, LINE / 2])
    center = middle + direction * (half + np.array([GAP, GAP / 2 if across else GAP])) + [0.0, up * count * LINE]
    box = np.concatenate([center - half, center + half], axis=-1)
    if not count:
        return box[:, None]
    start, end = middle[:, 1] + up * GAP, center[:, 1] - up * half[1]
    low, high = np.minimum(start, end), np.maximum(start, end)
    leader = np.stack([middle[:, 0] - BAR, low, middle[:, 0] + BAR, high], axis=-1)
    return np.stack([box, leader], axis=1)


def _overlaps(one: Floats, others: Floats) -> np.ndarray:
    """Whether boxes [..., left, bottom, right, top] share any of their insides."""
    return (
        (one[..., 0] < others[..., 2])
        & (others[..., 0] < one[..., 2])
        & (one[..., 1] < others[..., 3])
        & (others[..., 1] < one[..., 3])
    )
