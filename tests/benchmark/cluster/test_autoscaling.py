"""The number of actors of an elastic cluster: loading is earned first, and none is requested in vain."""

import math

from hypothesis import given
from hypothesis import strategies as st

from benchmark.cluster.autoscaling import BACKLOG_PER_ACTOR, PAYBACK, Autoscaler


def test_without_elastic_all_are_requested_at_once() -> None:
    autoscaler = Autoscaler(5)
    assert (autoscaler.request(0), autoscaler.request(1000), autoscaler.requested) == (5, 0, 5)


def test_the_first_is_requested_with_work_and_the_second_when_earned() -> None:
    autoscaler = Autoscaler(5, elastic=True)
    assert autoscaler.request(0) == 0
    assert autoscaler.request(100) == 1
    autoscaler.scored(1000.0)
    assert autoscaler.request(100) == 0  # nobody knows yet what loading costs
    autoscaler.loaded(10.0)
    autoscaler.scored(PAYBACK * 10.0 - 1)
    assert autoscaler.request(100) == 0
    autoscaler.scored(1.0)
    assert autoscaler.request(BACKLOG_PER_ACTOR - 1) == 0  # it would soon have nothing to do
    assert autoscaler.request(100) == 1
    assert autoscaler.request(100) == 0  # it is spent


def test_ended_actors_are_requested_again_one_by_one() -> None:
    autoscaler = Autoscaler(8, elastic=True)
    autoscaler.request(1)
    autoscaler.loaded(1.0)
    autoscaler.scored(100.0)
    assert autoscaler.request(100) == 1
    for _ in range(2):
        autoscaler.ended()
    assert (autoscaler.requested, autoscaler.request(0), autoscaler.request(1000), autoscaler.request(1000)) == (
        0,
        0,
        1,
        0,
    )


@given(
    st.integers(1, 100),
    st.floats(0.1, 300),
    st.lists(st.tuples(st.floats(0, 1000), st.integers(0, 1000)), max_size=200),
)
def test_loading_is_never_more_than_a_quarter_of_what_was_scored_and_the_first(
    most: int, loading: float, happens: list[tuple[float, int]]
) -> None:
    autoscaler, scored = Autoscaler(most, elastic=True), 0.0
    autoscaler.request(1)
    autoscaler.loaded(loading)
    for seconds, waiting in happens:
        before = autoscaler.requested
        autoscaler.scored(seconds)
        scored += seconds
        made = autoscaler.request(waiting)
        assert 0 <= made <= before  # at most twice as many
        assert made == 0 or waiting >= BACKLOG_PER_ACTOR * before
        assert 1 <= autoscaler.requested == before + made <= most
        paid = autoscaler.requested * loading
        assert paid <= loading + scored / PAYBACK or math.isclose(paid, loading + scored / PAYBACK)
