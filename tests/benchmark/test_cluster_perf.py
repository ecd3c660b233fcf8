"""`benchmark/perf/cluster.py`: its simulation follows from the costs. How fast is not for tests to say."""

import pytest

from benchmark.cluster import AHEAD
from benchmark.instruments import Instruments
from benchmark.perf import cluster
from benchmark.profiles import find_profile


def test_equal_shards_take_as_many_rounds_as_they_need() -> None:
    found = cluster.simulate([2.0], 3, shards=130, workers=64, start=5.0, handing=0.0, how="shards")
    assert found.seconds == pytest.approx(3 * (5 + 3 * 2))  # 130 shards on 64 workers: three rounds
    assert found.efficiency == pytest.approx(130 / (3 * 64))
    assert found.cost == pytest.approx(64 * (5 + 3 * 2))


def test_the_largest_at_hand_goes_first() -> None:
    """One long shard at the end would double the time if it were handed out last."""
    seconds, _ = cluster._one_submission([1.0] * 4 + [4.0], workers=2, handing=0.0)
    assert seconds == 4.0


def test_what_waits_is_bounded() -> None:
    """The long shard is the last of more than may wait at once, so it goes when its turn comes."""
    ahead = 2 * AHEAD
    seconds, _ = cluster._one_submission([1.0] * 2 * ahead + [8.0], workers=2, handing=0.0)
    assert seconds > ahead  # were it handed out first, all would be done at once


def test_handing_out_is_one_after_the_other() -> None:
    seconds, _ = cluster._one_submission([0.0] * 100, workers=64, handing=0.5)
    assert seconds == pytest.approx(50.0)


def test_whole_submissions_cost_the_same_however_many() -> None:
    few, many = (
        cluster.simulate([1.0, 3.0], n, shards=16, workers=64, start=4.0, handing=0.0, how="submissions")
        for n in (640, 6400)
    )
    assert few.cost == pytest.approx(many.cost, rel=0.05)
    assert many.efficiency > few.efficiency > 0.9


def test_measuring_compares_the_tables_of_one_actor_and_two() -> None:
    pytest.importorskip("ray", reason="Ray is not installed: pip install 'divbench[cluster]'")
    found = cluster.measure(Instruments(find_profile("lexical")), sets=200, rounds=1)
    assert (found.sets, found.shards, len(found.costs)) == (200, 4, 3)
    assert found.ratio == pytest.approx(found.one_seconds[0] / found.two_seconds[0])
