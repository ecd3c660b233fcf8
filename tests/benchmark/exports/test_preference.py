"""Preference pairs: pools and choices by brute force, what is skipped, what is written."""

import json
import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmark.exports.preference import (
    Candidates,
    NoPair,
    PoolRule,
    Pools,
    Provenance,
    choose,
    pools,
    preference_pairs,
    response_rows,
)
from benchmark.metrics.eigenscore import leave_one_out

Numbers = tuple[float | None, ...]


def made(
    rewards: Numbers,
    diversities: Numbers | None = None,
    prompt: str = "Say something.",
    why: str | None = None,
) -> Candidates:
    texts = tuple(f"answer {i}" for i in range(len(rewards)))
    given_diversities = tuple(map(float, range(len(rewards)))) if diversities is None else diversities
    return Candidates(f"id of {prompt}", prompt, texts, rewards, given_diversities, why)


some_numbers = st.lists(st.integers(-20, 20), min_size=2, max_size=9)
shares = st.integers(0, 10).map(lambda tenth: tenth / 10)


@st.composite
def candidates(draw: st.DrawFn) -> Candidates:
    rewards = draw(some_numbers.filter(lambda values: len(set(values)) > 1))
    diversities = draw(st.lists(st.integers(-9, 9), min_size=len(rewards), max_size=len(rewards)))
    return made(tuple(map(float, rewards)), tuple(map(float, diversities)))


def test_pools_by_range() -> None:
    # The range is 10, so that 0.3 of it reaches from 10 down to 7 and from 0 up to 3, ends included.
    found = pools(made((0.0, 3, 3.01, 5, 6.99, 7, 10)), PoolRule(0.3))
    assert found == Pools(chosen=(5, 6), rejected=(0, 1))


def test_pools_by_percentile() -> None:
    # One outlier stretches the range: by range it stands alone, by percentile it does not.
    skewed = made((0.0, 1, 2, 3, 100))
    assert pools(skewed, PoolRule(0.25, by="percentile")) == Pools(chosen=(3, 4), rejected=(0, 1))
    assert pools(skewed, PoolRule(0.25)) == Pools(chosen=(4,), rejected=(0, 1, 2, 3))


def test_a_percentile_that_falls_on_a_reward_has_it_in_the_pool_however_it_is_rounded() -> None:
    """(1 − 0.7) · 10 is 3.0000000000000004 in floating point."""
    found = pools(made(tuple(map(float, range(11)))), PoolRule(0.7, by="percentile"))
    assert found == Pools(tuple(range(3, 11)), tuple(range(8)))


@pytest.mark.parametrize(
    ("rule", "found"),
    [
        (PoolRule(0.0), Pools((4,), (0,))),
        (PoolRule(0.0, "percentile"), Pools((4,), (0,))),
        (PoolRule(0.3, "percentile"), Pools((3, 4), (0, 1))),
    ],
)
def test_a_reward_far_from_all_others_does_not_blur_the_pools(rule: PoolRule, found: Pools) -> None:
    """As of a response that a program marked as invalid with the lowest float32."""
    assert pools(made((-3.4e38, 1.0, 2.0, 3.0, 4.0)), rule) == found


@given(candidates(), st.integers(0, 10))
def test_pools_by_brute_force(given_candidates: Candidates, tenth: int) -> None:
    # Whole numbers times ten: no border is rounded.
    rewards = [int(value or 0) for value in given_candidates.rewards]
    low, high = min(rewards), max(rewards)
    found = pools(given_candidates, PoolRule(tenth / 10))
    assert list(found.chosen) == [i for i, r in enumerate(rewards) if 10 * r >= 10 * high - tenth * (high - low)]
    assert list(found.rejected) == [i for i, r in enumerate(rewards) if 10 * r <= 10 * low + tenth * (high - low)]


@given(candidates(), st.integers(0, 10))
def test_pools_by_percentile_by_brute_force(given_candidates: Candidates, tenth: int) -> None:
    rewards = [int(value or 0) for value in given_candidates.rewards]
    ordered, steps = sorted(rewards), tenth * (len(rewards) - 1)
    whole, part = divmod(steps, 10)
    upper = min(whole + 1, len(rewards) - 1)
    most = 10 * ordered[whole] + part * (ordered[upper] - ordered[whole])
    least = 10 * ordered[-1 - whole] - part * (ordered[-1 - whole] - ordered[-1 - upper])
    found = pools(given_candidates, PoolRule(tenth / 10, by="percentile"))
    assert list(found.chosen) == [i for i, r in enumerate(rewards) if 10 * r >= least]
    assert list(found.rejected) == [i for i, r in enumerate(rewards) if 10 * r <= most]


@given(candidates(), shares, st.sampled_from(["range", "percentile"]))
def test_laws_of_pools_and_choices(given_candidates: Candidates, rho: float, by: str) -> None:
    rule = PoolRule(rho, by=by)  # type: ignore[arg-type]
    found = pools(given_candidates, rule)
    rewards = [value or 0.0 for value in given_candidates.rewards]
    assert rewards.index(max(rewards)) in found.chosen
    assert rewards.index(min(rewards)) in found.rejected
    wider = pools(given_candidates, PoolRule(min(rho + 0.1, 1), by=by))  # type: ignore[arg-type]
    assert set(found.chosen) <= set(wider.chosen)
    assert set(found.rejected) <= set(wider.rejected)
    try:
        chosen, rejected = choose(given_candidates, rule)
    except NoPair as reason:
        assert str(reason) == "chosen and rejected are one response"  # noqa: PT017
        return
    diversities = [value or 0.0 for value in given_candidates.diversities]
    assert diversities[chosen] == max(diversities[i] for i in found.chosen)
    assert diversities[rejected] == min(diversities[i] for i in found.rejected)
    if rho < 0.5 and by == "range":
        assert not set(found.chosen) & set(found.rejected)
        assert rewards[chosen] > rewards[rejected]


@given(candidates())
def test_rho_0_is_the_best_against_the_worst(given_candidates: Candidates) -> None:
    rewards = [value or 0.0 for value in given_candidates.rewards]
    for by in ("range", "percentile"):
        chosen, rejected = choose(given_candidates, PoolRule(0.0, by=by))
        assert (rewards[chosen], rewards[rejected]) == (max(rewards), min(rewards))


@given(candidates(), shares, st.integers(0, 10**6))
def test_the_order_of_responses_does_not_matter(given_candidates: Candidates, rho: float, seed: int) -> None:
    order = np.random.default_rng(seed).permutation(len(given_candidates.responses)).tolist()
    shuffled = Candidates(
        given_candidates.prompt_id,
        given_candidates.prompt,
        tuple(given_candidates.responses[i] for i in order),
        tuple(given_candidates.rewards[i] for i in order),
        tuple(given_candidates.diversities[i] for i in order),
    )

    def values(of: Candidates) -> list[tuple[float, float]] | None:
        try:
            return [of.known[place] for place in choose(of, PoolRule(rho))]
        except NoPair:
            return None

    # Two responses of one reward and one diversity are the only ones that the order decides between.
    if len(set(given_candidates.known.values())) == len(order):
        assert values(shuffled) == values(given_candidates)


def test_of_equally_diverse_ones_the_better_or_the_worse_then_the_first() -> None:
    same = made((1.0, 2, 9, 10, 10), (0.0, 0, 0, 0, 0))
    assert choose(same, PoolRule(0.2)) == (3, 0)


def test_a_border_is_in_the_pool_however_it_is_rounded() -> None:
    # 0.7 − 0.1 · 0.6 and 0.1 + 0.1 · 0.6 are not the nearest numbers to 0.64 and 0.16.
    found = pools(made((0.1, 0.16, 0.64, 0.7)), PoolRule(0.1))
    assert found == Pools(chosen=(2, 3), rejected=(0, 1))
    everything = pools(made((0.1, 0.2, 0.3)), PoolRule(1.0))
    assert everything == Pools(chosen=(0, 1, 2), rejected=(0, 1, 2))


@pytest.mark.parametrize(
    ("given_candidates", "reason"),
    [
        (made(()), "fewer than two responses with reward and diversity"),
        (made((1.0,)), "fewer than two responses with reward and diversity"),
        (made((1.0, None, 2), (1.0, 1, math.nan)), "fewer than two responses with reward and diversity"),
        (made((None, 2.0), why="no rewards"), "no rewards"),
        (made((2.0, 2, 2)), "all rewards equal"),
        (made((2.0, 2, 2), why="no rewards"), "all rewards equal"),
        (Candidates("p", "P?", ("same", "same"), (0.0, 1), (0.0, 1)), "chosen and rejected are the same text"),
        (Candidates("p", "P?", ("a cat", "a  cat\n"), (0.0, 1), (0.0, 1)), "chosen and rejected are the same text"),
    ],
)
def test_what_gives_no_pair(given_candidates: Candidates, reason: str) -> None:
    with pytest.raises(NoPair, match=f"^{reason}$"):
        choose(given_candidates, PoolRule(0.3))


def test_overlapping_pools_can_choose_one_response_twice() -> None:
    # The last one is in both pools, the most diverse of the good and the least diverse of the bad.
    with pytest.raises(NoPair, match=r"^chosen and rejected are one response$"):
        choose(made((0.0, 1.0, 0.4), (2.0, 1.0, 1.5)), PoolRule(0.6))


def test_where_pools_overlap_the_chosen_may_have_the_lower_reward() -> None:
    assert choose(made((0.0, 0.45, 0.55, 1.0), (5.0, 9, 1, 5)), PoolRule(0.6)) == (1, 2)


def test_a_response_without_reward_or_diversity_is_in_no_pool() -> None:
    # The unknown ones would be the best, the worst and the most diverse.
    known = made((99.0, 1, 2, None, -99), (None, 0.0, 1, 50, math.nan))
    assert pools(known, PoolRule(1.0)) == Pools(chosen=(1, 2), rejected=(1, 2))
    assert choose(known, PoolRule(0.0)) == (2, 1)


def test_what_is_refused() -> None:
    for rho in (-0.1, 1.1, math.nan):
        with pytest.raises(ValueError, match="rho"):
            PoolRule(rho)
    with pytest.raises(ValueError, match="as many"):
        Candidates("p", "P?", ("a", "b"), (1.0,), (1.0, 2.0))
    with pytest.raises(ValueError, match="infinite"):
        Candidates("p", "P?", ("a",), (math.inf,), (1.0,))


def test_rows_and_what_was_skipped() -> None:
    prompts = [
        made((0.0, 1, None), (math.nan, 0.5, 0.5), prompt="first"),
        made((0.0, 9, 10), (0.1, 0.9, 0.2), prompt="second"),
        made((3.0, 3), prompt="third"),
        made((4.0, 4), prompt="fourth"),
        made((4.0, 5), (None, None), prompt="fifth", why="fewer than three responses"),
    ]
    about = Provenance("leave_one_out", PoolRule(0.3), seed=7, signature="leave_one_out|v:1", submission_id="abc")
    found = preference_pairs(iter(prompts), about)
    assert found.rows == (
        {
            "prompt_id": "id of second",
            "prompt": "second",
            "chosen": "answer 1",
            "rejected": "answer 0",
            "meta": {
                "rewards": [0.0, 9.0, 10.0],
                "diversities": [0.1, 0.9, 0.2],
                "chosen_index": 1,
                "rejected_index": 0,
                "k": 3,
                "metric": "leave_one_out",
                "rho": 0.3,
                "rule": "range",
                "seed": 7,
                "signature": "leave_one_out|v:1",
                "submission_id": "abc",
            },
        },
    )
    assert found.skipped == {
        "fewer than two responses with reward and diversity": 1,
        "all rewards equal": 2,
        "fewer than three responses": 1,
    }


def test_rows_are_ready_for_json_lines() -> None:
    # Scores as they come: NumPy's numbers, NaN where a response has no states.
    z = np.random.default_rng(0).standard_normal((5, 8))
    z[2] = np.nan
    scored = made(tuple(np.arange(1, 6, dtype=np.float32)), tuple(leave_one_out(z)), prompt="Naïve\n“quote”")
    found = preference_pairs([scored], Provenance("leave_one_out", PoolRule(0.6, by="percentile")))
    lines = [json.dumps(row, ensure_ascii=False, allow_nan=False) for row in (*found.rows, *response_rows(scored, "x"))]
    assert not any("\n" in line for line in lines)
    row, *table = map(json.loads, lines)
    assert row == found.rows[0]
    assert row["meta"]["diversities"][2] is None
    assert row["meta"]["seed"] is None
    assert [each["index"] for each in table] == [0, 1, 2, 3, 4]
    assert [each["reward"] for each in table] == [1, 2, 3, 4, 5]
    assert table[2]["diversity"] is table[2]["normalised_diversity"] is None
    assert Counter(each["normalised_diversity"] for each in table)[1.0] == 1
    assert {each["metric"] for each in table} == {"x"}
    assert {each["prompt_id"] for each in table} == {scored.prompt_id}


def test_a_table_without_any_diversity() -> None:
    table = list(response_rows(made((1.0, 2), (None, math.nan)), "x"))
    assert [each["diversity"] for each in table] == [each["normalised_diversity"] for each in table] == [None, None]
    assert list(response_rows(made(()), "x")) == []
