"""Curves of classes and of patience, held against the metrics of which they are; names and ids of systems."""

import pytest

from leaderboard.tables.curves import (
    Curve,
    curves_table,
)


@pytest.mark.parametrize(("k", "sizes"), [(12, [1, 3, 5, 7, 9, 11, 12]), (100, [1, 2, 5, 10, 20, 50, 100])])
def test_the_table_of_a_long_curve_is_short_and_has_the_headline(k: int, sizes: list[int]) -> None:
    at = tuple(map(float, range(1, k + 1)))
    curve = Curve("long", at, at, (None,) * k, (None,) * k, (5,) * k)
    view = curves_table([curve], "m")
    assert view.columns == ("system", *(f"m = {size}" for size in sizes), "prompts")
    assert view.values[0][1:-1] == tuple(sizes)
