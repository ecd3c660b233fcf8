"""Metrics of surprisals against the paper's numbers, plain formulas and laws."""

import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from statistics import fmean, pstdev
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.integrate import quad

from benchmark.metrics import surprisal
from benchmark.metrics.metric import Unscorable
from benchmark.metrics.surprisal import Surprisals, cross_mode, curve_bits, fit_exponential, fit_sigmoid

Floats = NDArray[np.float64]
NAMES = (
    *("a_1", "a_n", "coherence", "coherence_spread", "d_can", "d_can_bits", "tail_d_can", "total_correlation"),
    *("excess_entropy", "excess_entropy_rate", "coherent_excess", "coherent_excess_rate"),
    *("retained_surprise", "coherent_retained"),
)
NUMBERS: dict[str, Callable[[Surprisals], float]] = {name: getattr(surprisal, name) for name in NAMES}
OF_COHERENCE = {"coherence", "coherence_spread"}
SHAPES = ("curve_bits", "curve_rate")
CURVES: dict[str, Callable[[Surprisals], Floats]] = {name: getattr(surprisal, name) for name in SHAPES}


def made(n: int = 5, orders: int = 7, seed: int = 0, empty: tuple[int, ...] = ()) -> Surprisals:
    """Numbers without meaning; those of empty responses are large, so that reading one would show."""
    rng = np.random.default_rng(seed)
    drawn = np.array([rng.permutation(n) for _ in range(orders)])
    lengths = rng.integers(20, 90, size=n)
    lengths[list(empty)] = 0
    return Surprisals(rng.uniform(10, 100, (orders, n)), drawn, rng.uniform(20, 120, n), lengths)


@st.composite
def surprisals(draw: st.DrawFn) -> Surprisals:
    return made(draw(st.integers(2, 8)), draw(st.integers(1, 12)), draw(st.integers(0, 10**6)))


def brute(s: Surprisals) -> dict[str, Any]:
    """The definitions in plain Python, one number at a time."""
    n = len(s.byte_counts)
    bits, rates = ([[] for _ in range(n)] for _ in range(2))  # type: ignore[var-annotated]
    for row, order in zip(s.bits.tolist(), s.orders.tolist(), strict=True):
        for k, (value, who) in enumerate(zip(row, order, strict=True)):
            size = int(s.byte_counts[who])
            if size:
                bits[k].append(value)
                rates[k].append(value / size)
    alone = [(float(u), int(b)) for u, b in zip(s.unconditional, s.byte_counts, strict=True) if b]
    h = [u / b for u, b in alone]
    a, rate = ([fmean(x) for x in each] for each in (bits, rates))
    c, first = 2 ** -fmean(h), fmean(u for u, _ in alone)
    e, e_rate, r = sum(x - a[-1] for x in a), sum(x - rate[-1] for x in rate), fmean(a[1:]) / first
    half = n // 2
    return {
        "curve_bits": a,
        "curve_rate": rate,
        "a_1": rate[0],
        "a_n": rate[-1],
        "coherence": c,
        "coherence_spread": pstdev(h),
        "d_can": c * rate[-1],
        "d_can_bits": c * a[-1],
        "tail_d_can": c * fmean(rate[half:]),
        "excess_entropy": e,
        "excess_entropy_rate": e_rate,
        "coherent_excess": c * e,
        "coherent_excess_rate": c * e_rate,
        "total_correlation": n * (first - a[-1]) - e,
        "retained_surprise": r,
        "coherent_retained": c * r,
        "bands": [c * x * 2 ** (sign * pstdev(h)) for x in (1, rate[-1], e_rate) for sign in (-1, 1)],
    }


def values_of(s: Surprisals) -> dict[str, Any]:
    found = surprisal.bands(s)
    pairs = (*found.coherence, *found.d_can, *found.coherent_excess_rate)
    numbers = {name: fn(s) for name, fn in NUMBERS.items()}
    return numbers | {name: fn(s).tolist() for name, fn in CURVES.items()} | {"bands": list(pairs)}


def assert_same(found: dict[str, Any], expected: dict[str, Any]) -> None:
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        assert found[name] == pytest.approx(value, rel=1e-10, abs=1e-10), name


@given(s=surprisals())
def test_every_metric_is_its_plain_formula(s: Surprisals) -> None:
    assert_same(values_of(s), brute(s))
    assert 0 < surprisal.coherence(s) <= 1
    assert surprisal.coherence(replace(s, unconditional=0 * s.unconditional - 1e-6)) == 1  # rounding passes no bound


@pytest.mark.parametrize("empty", [(1,), (0, 3), (0, 1, 2)])
def test_empty_responses_are_left_out_of_every_average(empty: tuple[int, ...]) -> None:
    s = made(n=5, orders=40, empty=empty)
    assert_same(values_of(s), brute(s))
    # Whatever bits stand for them are not read.
    blank = s.byte_counts == 0
    other = replace(s, bits=np.where(blank[s.orders], 0.0, s.bits), unconditional=np.where(blank, 0.0, s.unconditional))
    assert values_of(other) == values_of(s)


GOOD = {"bits": np.ones((2, 3)), "orders": np.array([[0, 1, 2], [2, 1, 0]]), "unconditional": np.ones(3)}
GOOD |= {"byte_counts": np.array([4, 5, 6])}
FAULTS: list[tuple[str, Any, str]] = [
    ("bits", np.ones(3), "do not fit together"),
    ("bits", np.ones((2, 4)), "do not fit together"),
    ("bits", np.ones((2, 3), dtype=np.float16), "bits must be float64, not float16"),
    ("unconditional", np.ones((1, 3)), "do not fit together"),
    ("byte_counts", np.array(4), "do not fit together"),
    ("byte_counts", np.ones(3), "byte_counts must be integer"),
    ("byte_counts", np.array([4, -1, 6]), "byte counts below 0"),
    ("orders", np.ones((2, 3)), "orders must be integer"),
    ("orders", np.array([[0, 1, 2], [0, 1, 1]]), "each order must name every response once"),
    ("orders", np.array([[0, 1, 2], [-1, 0, 1]]), "each order must name every response once"),
]
FAILURES: list[tuple[str, Any, str]] = [
    ("bits", np.array([[1, 1, 1], [1, math.nan, 1]]), "conditional bits that are not finite"),
    ("bits", np.array([[1, 1, 1], [1, -0.1, 1]]), "conditional bits below 0"),
    ("unconditional", np.array([1, 1, math.inf]), "unconditional bits that are not finite"),
    ("unconditional", np.array([1, 1, -0.1]), "unconditional bits below 0"),
]


@pytest.mark.parametrize(("name", "value", "reason"), FAULTS + FAILURES)
def test_misfits_are_faults_and_numbers_that_are_none_unscorable(name: str, value: Any, reason: str) -> None:
    Surprisals(**GOOD)
    with pytest.raises(ValueError, match=reason) as caught:
        Surprisals(**GOOD | {name: value})
    assert isinstance(caught.value, Unscorable) == (reason in {failure[2] for failure in FAILURES})


def test_no_response_and_no_order() -> None:
    none, whole = np.ones((2, 0)), np.ones((2, 0), dtype=np.int64)
    with pytest.raises(Unscorable, match="no response"):
        Surprisals(none, whole, np.ones(0), np.ones(0, dtype=np.int64))
    with pytest.raises(ValueError, match="no order"):
        Surprisals(np.ones((0, 3)), np.ones((0, 3), dtype=np.int64), np.ones(3), np.array([4, 5, 6]))


@pytest.mark.parametrize(
    ("s", "reason", "coherent"),
    [
        (made(n=1), "fewer than two responses", True),
        (made(n=3, empty=(0, 1)), "fewer than two responses", True),
        (made(n=3, empty=(0, 1, 2)), "no text", False),
        (made(n=3, orders=1, empty=(1,)), "a position where every order has an empty response", True),
    ],
)
def test_sets_without_a_curve(s: Surprisals, reason: str, coherent: bool) -> None:
    whole: dict[str, Callable[[Surprisals], Any]] = {**NUMBERS, **CURVES}
    whole["bands"] = surprisal.bands
    for name, fn in whole.items():
        if name in OF_COHERENCE and coherent:
            assert math.isfinite(fn(s))
            continue
        with pytest.raises(Unscorable, match=f"^{reason}$"):
            fn(s)


def test_without_surprise_alone_nothing_can_be_retained() -> None:
    s = replace(made(), unconditional=np.array([1.0, 0, 1, 1, 1]))
    assert surprisal.retained_surprise(s) > 0
    with pytest.raises(Unscorable, match="responses without surprise on their own"):
        surprisal.retained_surprise(replace(s, unconditional=np.zeros(5)))


def test_cross_mode_is_its_plain_formula() -> None:
    rng = np.random.default_rng(3)
    alone, after = rng.uniform(50, 60, 6), rng.uniform(45, 60, (6, 6))
    found = cross_mode(alone, after)
    m = [[float(alone[i] - after[i, j]) for j in range(6)] for i in range(6)]
    off = [(i, j) for i in range(6) for j in range(6) if i != j]
    assert found.reduction.tolist() == m
    assert found.diagonal == pytest.approx(fmean(m[i][i] for i in range(6)))
    assert found.off_diagonal == pytest.approx(fmean(m[i][j] for i, j in off))
    assert found.share_positive == pytest.approx(fmean(m[i][j] > 0 for i, j in off))
    assert found.asymmetry == pytest.approx(fmean(abs(m[i][j] - m[j][i]) for i, j in off))
    # The target is in the row.
    assert cross_mode(np.array([10.0, 20]), np.array([[1.0, 10], [16, 5]])).reduction.tolist() == [[9, 0], [4, 15]]


def test_cross_mode_refuses() -> None:
    with pytest.raises(Unscorable, match="fewer than two sets"):
        cross_mode(np.ones(1), np.ones((1, 1)))
    for alone, after in ((np.ones(2), np.ones((2, 3))), (np.ones((2, 1)), np.ones((2, 2)))):
        with pytest.raises(ValueError, match="do not fit together"):
            cross_mode(alone, after)
    with pytest.raises(ValueError, match="not finite"):
        cross_mode(np.ones(2), np.array([[1, 1], [math.nan, 1]]))


PLACES = np.arange(1.0, 13)


@pytest.mark.parametrize(("floor", "drop", "steepness", "midpoint"), [(20, 80, 1.3, 4), (5, 60, 0.8, 6.5)])
def test_the_sigmoid_is_found_again(floor: float, drop: float, steepness: float, midpoint: float) -> None:
    def shape(k: Any) -> Any:
        return floor + drop / (1 + np.exp(steepness * (k - midpoint)))

    found = fit_sigmoid(shape(PLACES))
    assert (found.converged, found.failure, found.at_bounds) == (True, None, ())
    parameters = (found.floor, found.drop, found.steepness, found.midpoint)
    assert parameters == pytest.approx((floor, drop, steepness, midpoint), rel=1e-4)
    assert found.excess == pytest.approx(quad(lambda k: shape(k) - floor, 1, 100)[0], rel=1e-4)


@pytest.mark.parametrize(("floor", "drop", "steepness"), [(20, 80, 0.7), (3, 100, 0.9)])
def test_the_exponential_is_found_again_also_by_the_sigmoid(floor: float, drop: float, steepness: float) -> None:
    curve = floor + drop * np.exp(-steepness * (PLACES - 1))
    found = fit_exponential(curve)
    assert (found.floor, found.drop, found.steepness) == pytest.approx((floor, drop, steepness), rel=1e-4)
    assert (found.midpoint, found.at_bounds) == (1, ())
    assert found.excess == pytest.approx(drop / steepness, rel=1e-4)
    # As in the paper's Figure 14 the sigmoid's midpoint leaves the data; where the floor is seen, the area is the same.
    other = fit_sigmoid(curve)
    assert other.midpoint < 1
    assert other.excess == pytest.approx(drop / steepness, rel=0.02)


def test_a_curve_without_a_fit_says_why() -> None:
    assert fit_sigmoid(np.ones(3)).failure == "3 positions for 4 parameters"
    assert fit_exponential(np.array([1, math.nan, 1])).failure == "the curve is not finite"


# Table 5, GPT-2, to the digits of the stored numbers: a_1, a_n, C, D_Ca_n, E_rate, C · E_rate,
# sigma_l.
TABLE_5 = {
    "pure_noise": "7.5210 6.9376 0.00538 0.0373 0.6846 0.0037 0.198",
    "multi_incoherent": "3.2623 1.8504 0.10242 0.1894 5.9447 0.6070 0.480",
    "multi_mode": "1.0598 0.5265 0.48177 0.2562 1.6147 0.7589 0.082",
    "one_mode": "1.0646 0.2191 0.48162 0.1040 1.3064 0.6263 0.057",
    "mixed": "1.8979 2.0156 0.26287 0.5217 -1.2889 -0.3120 1.169",
}
SEVEN = ("a_1", "a_n", "coherence", "d_can", "excess_entropy_rate", "coherent_excess_rate", "coherence_spread")
STORED = [("excess_entropy_E", "excess_entropy"), ("excess_entropy_E_rate", "excess_entropy_rate")]
STORED += [("coherence_C", "coherence"), ("coherence_spread_sigma", "coherence_spread")]
STORED += [("diversity_score_D", "coherent_excess"), ("diversity_score_D_rate", "coherent_excess_rate")]


def stored(mirror: Path, scenario: str) -> list[tuple[dict[str, Any], Surprisals]]:
    """The records of a scenario, as they are and as input."""
    text = (mirror / "scenarios" / "scenario_metrics_v3_gpt2_100perm.json").read_text(encoding="utf-8")
    found = []
    for record in json.loads(text)["scenarios"][scenario]:
        orders, counts = np.array(record["permutation_orders"]), np.array(record["per_permutation_byte_counts"])
        sizes = counts[0][np.argsort(orders[0])]
        assert (sizes[orders] == counts).all()
        bits = np.array(record["per_permutation_a_k_curves"])
        found.append((record, Surprisals(bits, orders, np.array(record["unconditional_total_bits"]), sizes)))
    return found


@pytest.mark.mirror
@pytest.mark.parametrize("scenario", TABLE_5)
def test_table_5_to_the_printed_digits(mirror: Path, scenario: str) -> None:
    sets = [s for _, s in stored(mirror, scenario)]
    assert len(sets) == 5
    printed = TABLE_5[scenario].split()
    found = [fmean(NUMBERS[name](s) for s in sets) for name in SEVEN]
    assert [f"{x:.{len(p.split('.')[1])}f}" for x, p in zip(found, printed, strict=True)] == printed


@pytest.mark.mirror
@pytest.mark.parametrize("scenario", TABLE_5)
def test_every_stored_value_is_met(mirror: Path, scenario: str) -> None:
    for record, s in stored(mirror, scenario):
        bands = surprisal.bands(s)
        found: dict[str, Any] = {theirs: NUMBERS[ours](s) for theirs, ours in STORED}
        pairs = bands.coherence + bands.coherent_excess_rate
        found |= dict(zip(("C_minus", "C_plus", "D_minus", "D_plus"), pairs, strict=True))
        found["a_k_curve"] = curve_bits(s)
        for name, value in found.items():
            assert value == pytest.approx(record[name], rel=1e-9, abs=1e-9), name
        # This one they made as a ratio of means, with the mean bytes rounded.
        of_means = curve_bits(s) / s.byte_counts[s.orders].mean(axis=0)
        assert of_means == pytest.approx(record["a_k_curve_per_byte"], rel=0.02)
        assert fit_sigmoid(curve_bits(s)).converged


@pytest.mark.mirror
def test_the_first_one_mode_set(mirror: Path) -> None:
    s = stored(mirror, "one_mode")[0][1]
    assert s.bits[0, [0, 1, 9]] == pytest.approx([102.11684, 37.80147, 30.08644], abs=1e-5)
    names = ("coherence", "excess_entropy", "excess_entropy_rate", "coherence_spread")
    assert [NUMBERS[name](s) for name in names] == pytest.approx([0.41893521, 101.5366, 1.3034487, 0.0611715], rel=1e-6)
