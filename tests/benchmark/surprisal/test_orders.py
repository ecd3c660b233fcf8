"""Orders against the reference's, their laws of balance, and their errors against simulation and published curves."""

import json
import math
import re
from collections.abc import Callable
from itertools import permutations, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import sem

from benchmark.surprisal.response_orders import (
    OrderDesign,
    balanced,
    endpoint,
    exact,
    order_variance,
    orders_for,
    standard_errors,
    uniform,
)
from divbench.core.errors import ConfigurationError

Floats = NDArray[np.float64]
Surprisals = Callable[[NDArray[np.int64]], Floats]
SIZES = range(2, 13)

FIRST_ORDERS = [[7, 3, 2, 8, 5, 6, 9, 4, 0, 1], [3, 5, 2, 4, 1, 8, 7, 0, 6, 9], [7, 5, 0, 2, 4, 9, 1, 6, 3, 8]]


def counts_by_position(design: OrderDesign) -> NDArray[np.int64]:
    """How often each response stands in each position, [responses, positions]."""
    n = design.orders.shape[1]
    return np.array([(design.orders == response).sum(axis=0) for response in range(n)])


def surprisals(n: int, seed: int) -> Surprisals:
    """Costs of responses in context: its own, less what those before it tell, the nearer the more."""
    rng = np.random.default_rng(seed)
    own = 60 * rng.lognormal(0, 0.35, n)
    told = rng.uniform(0.05, 0.4, (n, n))

    def read(orders: NDArray[np.int64]) -> Floats:
        known = np.zeros(orders.shape)
        for k in range(n):
            for before in range(k):
                known[:, k] += told[orders[:, k], orders[:, before]] * 0.8 ** (k - before - 1)
        return own[orders] * (0.25 + 0.75 * np.exp(-known))

    return read


EVERY_ORDER = np.array(list(permutations(range(5))))


def rms(values: Floats) -> float:
    return math.sqrt(float(np.mean(values**2)))


def test_uniform_orders_are_the_references() -> None:
    assert uniform(10, 100).orders[:3].tolist() == FIRST_ORDERS


def test_a_single_uniform_order_is_the_given_one() -> None:
    assert uniform(4, 1).orders.tolist() == [[0, 1, 2, 3]]


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("squares", [1, 2, 3, 4, 7, 11])
def test_balanced_orders_have_every_response_in_every_position_equally_often(n: int, squares: int) -> None:
    design = balanced(n, squares, seed="a set")
    assert design.orders.shape == (n * squares, n)
    assert (counts_by_position(design) == squares).all()
    assert (np.sort(design.orders, axis=1) == np.arange(n)).all()


@pytest.mark.parametrize("n", [2, 3, 5, 7, 11])
def test_for_prime_n_every_ordered_pair_stands_at_every_pair_of_positions_once(n: int) -> None:
    orders = balanced(n, n - 1, seed=3).orders
    for one, other in product(range(n), repeat=2):
        if one != other:
            assert len(set(zip(orders[:, one].tolist(), orders[:, other].tolist(), strict=True))) == n * (n - 1)


@pytest.mark.parametrize(
    "make",
    [lambda: uniform(9, 20), lambda: balanced(9, 3, seed="s"), lambda: endpoint(9, 2, seed="s"), lambda: exact(4)],
)
def test_the_same_call_gives_the_same_orders(make: Callable[[], OrderDesign]) -> None:
    one, other = make(), make()
    assert (one.orders == other.orders).all()
    assert one.orders.dtype == np.int64
    with pytest.raises(ValueError, match="read-only"):
        one.orders[0, 0] = 1


@pytest.mark.parametrize("n", range(1, 7))
def test_exact_is_every_order_once(n: int) -> None:
    assert len({tuple(order) for order in exact(n).orders.tolist()}) == math.factorial(n)


def test_too_many_orders_are_refused_with_their_number() -> None:
    with pytest.raises(ConfigurationError, match=re.escape("7 responses have 5,040 orders")):
        exact(7)


@pytest.mark.parametrize("n", range(1, 13))
@pytest.mark.parametrize("trees", [1, 3])
def test_in_a_tree_each_response_is_last_once(n: int, trees: int) -> None:
    design = endpoint(n, trees)
    assert design.estimates == "end"
    assert (counts_by_position(design)[:, -1] == trees).all()
    assert (np.sort(design.orders, axis=1) == np.arange(n)).all()


def test_one_response_has_one_order() -> None:
    for design in (uniform(1, 1), balanced(1), exact(1), endpoint(1)):
        assert design.orders.tolist() == [[0]]
        assert standard_errors(design, np.ones((1, 1))).end == 0


@pytest.mark.parametrize(
    "call",
    [lambda: uniform(0, 5), lambda: uniform(5, 0), lambda: balanced(5, 0), lambda: endpoint(0), lambda: exact(0)],
)
def test_nothing_to_order_is_refused(call: Callable[[], OrderDesign]) -> None:
    with pytest.raises(ConfigurationError, match="is 0"):
        call()


@pytest.mark.parametrize("function", [standard_errors, order_variance])
def test_values_that_do_not_fit_are_refused(function: Callable[[OrderDesign, Floats], Any]) -> None:
    with pytest.raises(ValueError, match="shape"):
        function(balanced(4), np.ones((3, 4)))
    with pytest.raises(ValueError, match="not finite"):
        function(balanced(4), np.full((4, 4), np.nan))


def test_additive_values_have_no_error_under_balance() -> None:
    n = 7
    position, response = np.random.default_rng(0).normal(size=(2, n))
    for design in (balanced(n), balanced(n, 3), endpoint(n), endpoint(n, 2)):
        values = position + response[design.orders]
        assert standard_errors(design, values).end == pytest.approx(0, abs=1e-9)
    assert standard_errors(uniform(n, 50), position + response[uniform(n, 50).orders]).end > 0.05


def test_errors_of_independent_orders_are_scipys() -> None:
    values = np.random.default_rng(0).normal(size=(4, 6))
    assert standard_errors(uniform(6, 4), values).curve == pytest.approx(sem(values, axis=0))


@pytest.mark.parametrize(
    ("make", "kind", "low", "high"),
    [
        pytest.param(lambda seed: uniform(5, 50, seed), "draws", 0.85, 1.15, id="uniform"),
        pytest.param(lambda seed: balanced(5, 1, seed), "residuals", 0.7, 10, id="one square"),
        pytest.param(lambda seed: balanced(5, 2, seed), "cells", 0.9, 20, id="two squares"),
        pytest.param(lambda seed: balanced(5, 20, seed), "draws", 0.8, 1.2, id="five draws"),
        pytest.param(lambda seed: endpoint(5, 6, seed), "draws", 0.8, 1.2, id="six trees"),
        pytest.param(lambda seed: endpoint(5, 2, seed), "cells", 0.6, 1.5, id="two trees"),
    ],
)
def test_errors_are_as_large_as_they_are_or_larger(
    make: Callable[[int], OrderDesign], kind: str, low: float, high: float
) -> None:
    ratios = []
    for kind_of_set in range(6):
        read = surprisals(5, kind_of_set)
        truth = read(EVERY_ORDER).mean(axis=0)
        designs = [make(1000 * kind_of_set + repeat) for repeat in range(150)]
        values = [read(design.orders) for design in designs]
        errors = np.array([one.mean(axis=0)[-1] - truth[-1] for one in values])
        found = [standard_errors(design, one) for design, one in zip(designs, values, strict=True)]
        assert {one.estimator for one in found} == {kind}
        ratios.append(rms(np.array([one.end for one in found])) / rms(errors))
    assert low < float(np.median(ratios)) < high


def test_all_orders_have_no_error_however_they_were_made() -> None:
    for design in (exact(4), balanced(3, 2), balanced(2)):
        values = np.random.default_rng(0).normal(size=design.orders.shape)
        assert standard_errors(design, values).estimator == "exact"
        assert standard_errors(design, values).whole == 0


def test_one_random_order_has_no_known_error() -> None:
    found = standard_errors(uniform(5, 1), np.ones((1, 5)))
    assert (found.estimator, math.isnan(found.end)) == ("none", True)


def test_a_tree_says_nothing_of_the_curve() -> None:
    found = standard_errors(endpoint(5), surprisals(5, 0)(endpoint(5).orders))
    assert np.isnan(found.curve[:-1]).all()
    assert math.isfinite(found.end)


def test_the_number_of_orders_reaches_the_error_it_was_asked_for() -> None:
    n = 8
    rng = np.random.default_rng(3)
    own, target = 5 * rng.normal(size=n), 0.1

    def values(design: OrderDesign) -> Floats:
        return own[design.orders] + rng.normal(size=design.orders.shape)

    pilot = balanced(n, 20)
    count = orders_for(target, pilot, values(pilot))
    assert count % n == 0
    assert count == pytest.approx(100, rel=0.2)
    assert standard_errors(balanced(n, count // n), values(balanced(n, count // n))).end == pytest.approx(0.1, rel=0.35)


@pytest.mark.parametrize("target", [0, -1, math.nan, math.inf])
def test_a_target_that_is_none_is_refused(target: float) -> None:
    with pytest.raises(ConfigurationError, match="is impossible"):
        orders_for(target, balanced(5), np.ones((5, 5)))


def scenario(mirror: Path, name: str) -> list[tuple[OrderDesign, Floats]]:
    """The five sets of a scenario: GPT-2's bits/byte in 100 orders of ten responses."""
    path = mirror / "scenarios" / "scenario_metrics_v3_gpt2_100perm.json"
    sets = []
    for record in json.loads(path.read_text(encoding="utf-8"))["scenarios"][name]:
        design = uniform(10, 100)
        assert design.orders.tolist() == record["permutation_orders"]
        per_byte = np.array(record["per_permutation_a_k_curves"]) / np.array(record["per_permutation_byte_counts"])
        sets.append((design, per_byte))
    return sets


@pytest.mark.mirror
@pytest.mark.parametrize(
    ("name", "plain", "same_response"),
    [("multi_mode", 0.0083, 0.0017), ("multi_incoherent", 0.076, 0.0045), ("mixed", 0.119, 0.0033)],
)
def test_errors_of_the_stored_curves_are_the_specs(mirror: Path, name: str, plain: float, same_response: float) -> None:
    sets = scenario(mirror, name)
    errors = [standard_errors(design, values).end for design, values in sets]
    assert np.mean(errors) == pytest.approx(plain, rel=0.01)
    at_balance = [math.sqrt(order_variance(design, values)[-1] / 100) for design, values in sets]
    assert np.mean(at_balance) == pytest.approx(same_response, rel=0.03)
