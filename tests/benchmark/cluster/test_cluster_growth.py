"""How many actors an elastic cluster is asked for: what loading costs is earned first, and none is asked in vain."""

import math

from hypothesis import given
from hypothesis import strategies as st

from benchmark.cluster.autoscaling import EARNS, HUNGRY, Autoscaler


def test_all_are_asked_for_at_once_where_nothing_is_said() -> None:
    growth = Autoscaler(5)
    assert (growth.more(0), growth.more(1000), growth.asked) == (5, 0, 5)


def test_the_first_comes_with_work_and_the_second_when_it_is_earned() -> None:
    growth = Autoscaler(5, elastic=True)
    assert growth.more(0) == 0
    assert growth.more(100) == 1
    growth.scored(1000.0)
    assert growth.more(100) == 0  # nobody knows yet what loading costs
    growth.came_up(10.0)
    growth.scored(EARNS * 10.0 - 1)
    assert growth.more(100) == 0
    growth.scored(1.0)
    assert growth.more(HUNGRY - 1) == 0  # it would soon have nothing to do
    assert growth.more(100) == 1
    assert growth.more(100) == 0  # it is spent


def test_who_was_let_go_is_asked_for_again_and_not_all_at_once() -> None:
    growth = Autoscaler(8, elastic=True)
    growth.more(1)
    growth.came_up(1.0)
    growth.scored(100.0)
    assert growth.more(100) == 1
    for _ in range(2):
        growth.let_go()
    assert (growth.asked, growth.more(0), growth.more(1000), growth.more(1000)) == (0, 0, 1, 0)


@given(
    st.integers(1, 100),
    st.floats(0.1, 300),
    st.lists(st.tuples(st.floats(0, 1000), st.integers(0, 1000)), max_size=200),
)
def test_loading_is_never_more_than_a_quarter_of_what_was_scored_and_the_first(
    most: int, loading: float, happens: list[tuple[float, int]]
) -> None:
    growth, scored = Autoscaler(most, elastic=True), 0.0
    growth.more(1)
    growth.came_up(loading)
    for seconds, waiting in happens:
        before = growth.asked
        growth.scored(seconds)
        scored += seconds
        made = growth.more(waiting)
        assert 0 <= made <= before  # at most twice as many
        assert made == 0 or waiting >= HUNGRY * before
        assert 1 <= growth.asked == before + made <= most
        paid = growth.asked * loading
        assert paid <= loading + scored / EARNS or math.isclose(paid, loading + scored / EARNS)
