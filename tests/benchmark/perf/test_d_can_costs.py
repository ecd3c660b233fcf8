"""What D_Can's defects cost: the estimates by hand, and those of released numbers against the authors' tables."""

from pathlib import Path

import numpy as np
import pytest

from benchmark.metrics.surprisal_curve import Surprisals, curve_rate
from benchmark.perf.d_can_costs import (
    RELEASED,
    balanced_curve,
    balanced_orders,
    last_position,
    last_position_by_ending,
    length_matching,
    rates_by_response,
    released_scenarios,
    released_values,
    uniform_orders,
)


def test_responses_count_alike_at_each_position_whatever_the_orders() -> None:
    # Response 0 has 4 bits wherever it stands, response 1 has 8, and the last position costs 2 more; two bytes each.
    orders = np.array([[0, 1], [0, 1], [0, 1], [1, 0]])
    bits = np.array([[4.0, 10.0], [4.0, 10.0], [4.0, 10.0], [8.0, 6.0]])
    s = Surprisals(bits, orders, np.array([4.0, 8.0]), np.array([2, 2]))
    np.testing.assert_allclose(rates_by_response(s), [[2.0, 3.0], [4.0, 5.0]])
    np.testing.assert_allclose(balanced_curve(s), [3.0, 4.0])
    assert curve_rate(s)[-1] == pytest.approx(4.5)  # three of four orders end with the greater one
    found = last_position("a model", "a scenario", [s])
    assert (found["rise"], found["share"]) == pytest.approx((1.0, 0.25))


@pytest.mark.mirror
def test_released_orders_give_the_printed_values_and_their_errors(mirror: Path) -> None:
    printed = {"pure_noise": 0.0373, "multi_incoherent": 0.1894, "multi_mode": 0.2562, "one_mode": 0.1040}
    sets = released_scenarios(mirror, RELEASED["GPT-2"])
    found = {row["scenario"]: row for row in released_values(sets)}
    for name, value in (printed | {"mixed": 0.5217}).items():  # Table 5 of arXiv:2606.01811
        assert found[name]["100 uniform orders"] == pytest.approx(value, abs=5e-5), name
    assert found["mixed"]["balanced"] == pytest.approx(0.4789, abs=5e-5)
    rows = uniform_orders(sets)
    errors = [row["relative error"]["mixed"] for row in rows]
    counts = np.array([row["orders"] for row in rows])
    np.testing.assert_allclose(errors * np.sqrt(counts), errors[0], rtol=0.06)  # independent draws
    assert balanced_orders(sets)["mixed"] < errors[-1] / 10
    assert [row["ranked right"] for row in rows] == sorted(row["ranked right"] for row in rows)


@pytest.mark.mirror
def test_published_means_of_the_stages_are_met(mirror: Path) -> None:
    matched = [row["length-matched"] for row in length_matching(mirror)]
    assert matched == pytest.approx([0.4806, 0.3292, 0.2857, 0.2811, 0.4814, 0.3690, 0.3123, 0.3027], abs=5e-5)


@pytest.mark.mirror
def test_the_set_of_blank_responses_has_no_rise_at_the_last_position(mirror: Path) -> None:
    found = {row["end in . ! ?"]: row for row in last_position_by_ending(mirror)}
    assert {ends: row["sets"] for ends, row in found.items()} == {"none": 3242, "some": 1307, "all": 4431}
    assert found["all"]["rise in bits"] == pytest.approx(2.0247, abs=5e-5)
