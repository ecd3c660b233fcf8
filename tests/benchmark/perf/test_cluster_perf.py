"""`benchmark/perf/cluster.py`: its simulation follows from the costs. How fast is not for tests to say."""

import pytest

from benchmark.cluster.session import AHEAD
from benchmark.perf import cluster
from benchmark.perf.simulation import Assumed, _one_submission, simulate
from benchmark.scoring.backends import ScoringBackends
from benchmark.scoring.profiles import find_profile


def test_equal_shards_take_as_many_rounds_as_they_need() -> None:
    found = simulate(Assumed([2.0], workers=64, start=5.0, handing=0.0, prepare=0, finish=0), 3, 130, "shards")
    assert found.seconds == pytest.approx(3 * (5 + 3 * 2))  # 130 shards on 64 workers: three rounds
    assert found.efficiency == pytest.approx(130 / (3 * 64))
    assert found.cost == pytest.approx(64 * 3 * 2)
    assert found.loading == pytest.approx(64 * 5)


def test_the_largest_at_hand_goes_first() -> None:
    """One long shard at the end would double the time if it were handed out last."""
    assert _one_submission([1.0] * 4 + [4.0], workers=2, handing=0.0) == 4.0


def test_what_waits_is_bounded() -> None:
    """The long shard is the last of more than may wait at once, so it goes when its turn comes."""
    ahead = 2 * AHEAD
    seconds = _one_submission([1.0] * 2 * ahead + [8.0], workers=2, handing=0.0)
    assert seconds > ahead  # were it handed out first, all would be done at once


def test_handing_out_is_one_after_the_other() -> None:
    assert _one_submission([0.0] * 100, workers=64, handing=0.5) == pytest.approx(50.0)


def test_whole_submissions_cost_the_same_however_many() -> None:
    assumed = Assumed([1.0, 3.0], workers=64, start=4.0, handing=0.0, prepare=0, finish=0)
    few, many = (simulate(assumed, n, 16, "submissions") for n in (640, 6400))
    assert few.cost == pytest.approx(many.cost, rel=0.05)
    assert many.efficiency > few.efficiency > 0.9


def test_shards_of_several_submissions_fill_all_workers() -> None:
    """Twelve equal shards of three submissions on four workers: three rounds, and nobody waits in between."""
    assumed = Assumed([2.0], workers=4, start=5.0, handing=0.0, prepare=0, finish=0)
    found = simulate(assumed, 3, 4, "queue")
    assert found.seconds == pytest.approx(5 + 3 * 2)
    assert found.efficiency == pytest.approx(1.0)
    uneven = simulate(assumed, 5, 3, "queue")  # 15 shards: four rounds, where one by one they would take five
    assert uneven.seconds == pytest.approx(5 + 4 * 2)
    assert simulate(assumed, 5, 3, "shards").seconds == pytest.approx(5 * (5 + 2))


@pytest.mark.parametrize("submissions", [1, 10, 100, 1000])
def test_an_elastic_cluster_costs_the_same_whatever_comes(submissions: int) -> None:
    """A fixed one of 64 does not: its workers have next to nothing to do while few submissions are scored."""
    assumed = Assumed(cluster.assumed_costs(5.0), workers=64, start=60.0, prepare=3.0, finish=0.5)
    found = simulate(assumed, submissions, 16, "elastic")
    assert 0.9 < found.efficiency <= 1.0
    assert 80 * 0.95 < found.cost < 80 / 0.9
    assert found.loading * submissions <= 60 + found.cost * submissions / 4
    assert (found.workers == 64) == (submissions == 1000)
    if submissions == 10:
        assert simulate(assumed, submissions, 16, "queue").efficiency < 0.9


def test_an_elastic_cluster_of_one_is_one() -> None:
    assumed = Assumed([2.0, 3.0], workers=1, start=60.0, prepare=1.0, finish=0.5)
    assert simulate(assumed, 5, 4, "elastic").seconds == simulate(assumed, 5, 4, "queue").seconds


def test_what_one_process_does_alone_limits_all_workers() -> None:
    quick = Assumed([0.001], workers=64, start=0.0, handing=0.5, prepare=0, finish=0)
    assert simulate(quick, 10, 10, "queue").seconds == pytest.approx(50.0, rel=0.01)
    slow = Assumed([0.001], workers=64, start=0.0, handing=0.0, prepare=0, finish=3.0)
    assert simulate(slow, 10, 1, "queue").seconds == pytest.approx(30.0, rel=0.01)


def test_a_table_of_what_is_assumed_needs_no_ray(capsys: pytest.CaptureFixture[str]) -> None:
    cluster.main(["--assume", "2"])
    head, _, *rows = capsys.readouterr().out.splitlines()
    assert head.startswith("| submissions | shards each | by |")
    assert len(rows) == len(cluster.PLANS)


def test_assumed_costs_have_the_mean_and_the_spread() -> None:
    costs = cluster.assumed_costs(4.0)
    assert sum(costs) / len(costs) == pytest.approx(4.0)
    assert (sum((cost - 4.0) ** 2 for cost in costs) / len(costs)) ** 0.5 == pytest.approx(0.6, rel=0.1)


@pytest.mark.thorough
def test_measuring_compares_the_tables_of_one_actor_and_two() -> None:
    pytest.importorskip("ray", reason="Ray is not installed: pip install 'divbench[cluster]'")
    found = cluster.measure(ScoringBackends(find_profile("lexical")), sets=200, rounds=1)
    assert (found["sets"], found["shards"], len(found["costs"])) == (200, 4, 3)
    assert found["ratio"] == pytest.approx(found["one_seconds"][0] / found["two_seconds"][0])
