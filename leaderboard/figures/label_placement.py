"""Place names beside the points of a figure so that they cover neither each other nor other points. Pure."""

from collections.abc import Sequence

import numpy as np

from benchmark.scoring.resampling import Floats

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
LETTER, LINE, GAP, MARKER, BAR = 7.0, 15.0, 8.0, 8.0, 1.0


def label_positions(
    at: Sequence[tuple[float, float]],
    names: Sequence[str],
    order: Sequence[int],
    *,
    bars: Sequence[tuple[float, float, float, float]] = (),
    widths: Sequence[float],
    height: float,
) -> list[str | None]:
    """A position for each name at which it covers no name and no point at any width; None if there is none.

    Args:
        at: Points in shares of the figure, from 0 to 1 on both axes.
        order: Indices of the points in the order in which they are served; a point that is not in it gets no name.
        bars: Error bars as left, bottom, right, top in the same shares; names avoid them where they can.
        widths: Widths of the figure in pixels.
    """
    points = np.array(at, dtype=float).reshape(-1, 2)
    size = np.array([[width, height] for width in widths])
    middles = points[None] * size[:, None]  # [widths, points, axes]
    marks = np.concatenate([middles - MARKER, middles + MARKER], axis=-1)  # as left, bottom, right, top
    lines = np.array(bars, dtype=float).reshape(-1, 4)[None] * np.concatenate([size, size], axis=-1)[:, None]
    lines = lines + np.array([-BAR, -BAR, BAR, BAR])
    named = np.empty((len(size), 0, 4))
    made: list[str | None] = [None] * len(names)
    for i in order:
        half = np.array([LETTER * len(names[i]) / 2, LINE / 2])
        others = np.concatenate([np.delete(marks, i, axis=1), named], axis=1)
        boxes = {}
        for position, direction in POSITIONS.items():
            middle = middles[:, i] + np.array(direction) * (half + np.array([GAP, GAP / 2 if direction[0] else GAP]))
            box = np.concatenate([middle - half, middle + half], axis=-1)
            inside = (box[:, :2] >= 0).all() and (box[:, 2:] <= size).all()
            if inside and not _overlaps(box[:, None], others).any():
                boxes[position] = box[:, None]
        clear = (position for position, box in boxes.items() if not _overlaps(box, lines).any())
        made[i] = next(clear, next(iter(boxes), None))  # better over an error bar than not shown
        if made[i] is not None:
            named = np.concatenate([named, boxes[made[i] or ""]], axis=1)
    return made


def _overlaps(one: Floats, others: Floats) -> np.ndarray:
    """Whether boxes [..., left, bottom, right, top] share any of their insides."""
    return (
        (one[..., 0] < others[..., 2])
        & (others[..., 0] < one[..., 2])
        & (one[..., 1] < others[..., 3])
        & (others[..., 1] < one[..., 3])
    )
