"""Votes' statistics against a library, plain loops, and simulated votes whose truth is known."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from scipy.optimize import minimize

from benchmark.analysis import votes as module
from benchmark.analysis.votes import (
    LEFT,
    MAX_VOTES,
    TIE,
    Ballots,
    ballots_of,
    ceiling,
    fit,
    metric_agreement,
    outcome_chances,
    strengths,
)
from benchmark.scoring.estimate import Floats
from submissions.judgements.votes import Answer, Check, Vote, vote_id


def vote(
    number: int, left: str, right: str, answer: Answer, *, voter: int = 0, prompt: str = "p", check: Check = ""
) -> Vote:
    pair = f"{number:032x}"
    return Vote(
        vote_id=vote_id(pair, "more_different"),
        pair_id=pair,
        time=number,
        voter=f"{voter:032x}",
        suite="demo",
        prompt_id=prompt,
        left=left,
        right=right,
        left_result=left.encode().hex().ljust(16, "0"),
        right_result=right.encode().hex().ljust(16, "0"),
        left_positions=(0, 1),
        right_positions=(0, 1),
        question="more_different",
        answer=answer,
        check=check,
        altered="left" if check == "repeated" else "",
        expected="right" if check == "repeated" else "",
    )


def simulated(truth: Floats, votes: int, voters: int, seed: int) -> Ballots:
    """Draw votes on random pairs of systems from Davidson's model, with t = 1/2."""
    rng = np.random.default_rng(seed)
    left, right = np.array([rng.permutation(len(truth))[:2] for _ in range(votes)]).T
    chances = outcome_chances(truth[left] - truth[right], np.log(0.5))
    answer = (rng.random(votes)[:, None] > chances.cumsum(axis=1)).sum(axis=1)
    zeros = np.zeros(votes, np.int64)
    prompt, voter = rng.integers(20, size=votes), rng.integers(voters, size=votes)
    names = tuple(f"s{i}" for i in range(len(truth)))
    prompts = tuple(("demo", str(i)) for i in range(20))
    people = tuple(map(str, range(voters)))
    return Ballots(names, prompts, people, left, right, prompt, voter, zeros, answer, zeros - 1, prompt)


def test_the_model_is_the_one_that_a_library_fits_and_without_ties_it_is_bradley_terry() -> None:
    """Davidson's model is a log-linear one: a Poisson regression on counts with a constant for each pair."""
    from sklearn.linear_model import PoissonRegressor

    rng = np.random.default_rng(0)
    wins: Floats = rng.integers(1, 9, (5, 5)) * np.float64(1e4)
    halves: Floats = np.triu(rng.integers(1, 9, (5, 5)) * np.float64(1e4), 1)
    np.fill_diagonal(wins, 0)
    model = fit(wins, halves + halves.T)
    rows, counts = [], []
    for pair, (i, j) in enumerate(combinations(range(5), 2)):
        for count, lead, tie in ((wins[i, j], 0.5, 0), (wins[j, i], -0.5, 0), (halves[i, j], 0, 1)):
            row = np.zeros(5 + 1 + 10)
            row[i], row[j], row[5], row[6 + pair] = lead, -lead, tie, 1
            rows.append(row)
            counts.append(count / 1e4)
    known = PoissonRegressor(alpha=0, fit_intercept=False, tol=1e-10, max_iter=5000).fit(np.array(rows), counts).coef_
    np.testing.assert_allclose(model, [*(known[:5] - known[:5].mean()), known[5]], atol=1e-4)

    def loss(free: Floats) -> float:  # of Bradley and Terry's model, directly
        s = np.append(free, -free.sum())
        return float((wins * np.logaddexp(0, s[None, :] - s[:, None])).sum()) / 1e4

    best = minimize(loss, np.zeros(4), method="BFGS", options={"gtol": 1e-8}).x
    np.testing.assert_allclose(fit(wins, np.zeros((5, 5)))[:4], best, rtol=0, atol=1e-4)


def test_with_few_votes_strengths_and_ties_are_the_most_probable_ones_under_the_prior() -> None:
    """One system won every comparison and nobody tied, so that without the prior no number would be finite."""
    wins = np.array([[0.0, 3, 2], [0, 0, 1], [0, 1, 0]])

    def loss(free: Floats) -> float:  # minus the log posterior, with a deviation of 3 for each strength and for log t
        halves = (free[:3, None] - free[None, :3]) / 2
        logs = halves - np.logaddexp(np.logaddexp(halves, -halves), free[3])
        return float(free @ free / (2 * 3**2) - (wins * logs).sum())

    best = minimize(loss, np.zeros(4), method="BFGS", options={"gtol": 1e-8}).x
    np.testing.assert_allclose(fit(wins, np.zeros((3, 3))), best, atol=1e-5)


def test_names_are_numbered_whatever_the_order_of_votes_and_checks_are_no_comparisons() -> None:
    votes = [
        vote(1, "b", "a", "left", voter=2),
        vote(2, "a", "b", "right", voter=1),
        vote(3, "c", "c", "right", check="repeated"),
        replace(vote(4, "a", "b", "left"), left_positions=(2, 3)),  # other responses of the same result
        replace(vote(5, "a", "b", "left"), prompt_id="q"),
    ]
    one, other = ballots_of(votes), ballots_of(votes[::-1])
    assert one.systems == ("a", "b")
    for name in ("left", "right", "voter", "prompt", "answer", "expected", "shown"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    real = one.asked("more_different")
    assert real.sum() == 4
    assert len(set(one.shown[real].tolist())) == 3  # votes 1 and 2 are on the same two sets, the other way round
    assert one.checks.sum() == one.passed.sum() == 1


def test_who_fails_half_of_the_checks_does_not_count_and_many_votes_count_as_a_hundred() -> None:
    checks: list[Answer] = ["right", "left", "right", "right", "left"]
    votes = [
        vote(i, "c", "c", answer, voter=0 if i < 2 else 1, check="repeated") for i, answer in enumerate(checks)
    ]  # voter 0 passes one of two, voter 1 two of three
    votes += [vote(10 + i, "a", "b", "left", voter=i) for i in range(3)]
    votes += [vote(100 + i, "a", "b", "left", voter=3) for i in range(MAX_VOTES * 2)]
    board = ballots_of(votes)
    weights = board.weights("more_different")
    by_voter = {board.voters[i][-1]: float(weights[board.voter == i].sum()) for i in range(4)}
    assert by_voter == pytest.approx({"0": 0, "1": 1, "2": 1, "3": MAX_VOTES})
    assert not board.weights("preferred").any()


def test_intervals_contain_the_true_strengths_and_ranks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "RESAMPLES", 200)
    truth = np.array([-1.0, -0.3, 0.3, 1.0])
    covered, ranked = [], []
    for seed in range(25):
        for system in strengths(simulated(truth, 400, 40, seed), "more_different").systems:
            number = int(system.system[1])
            assert system.log_odds.low is not None
            assert system.log_odds.high is not None
            covered.append(system.log_odds.low <= truth[number] <= system.log_odds.high)
            assert system.ranks is not None
            ranked.append(system.ranks[0] <= 4 - number <= system.ranks[1])
    assert 0.88 <= np.mean(covered) <= 1
    assert np.mean(ranked) >= 0.95


def test_equal_systems_are_all_possibly_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "RESAMPLES", 200)
    first = [
        system.ranks is not None and system.ranks[0] == 1
        for seed in range(10)
        for system in strengths(simulated(np.zeros(5), 400, 40, seed), "more_different").systems
    ]
    assert np.mean(first) >= 0.93


def test_points_are_wins_and_half_of_ties_against_a_system_of_strength_zero() -> None:
    (best, worst) = strengths(simulated(np.array([1.0, -1.0]), 2000, 50, 0), "more_different").systems
    assert (best.system, worst.system, best.rank, worst.rank) == ("s0", "s1", 1, 2)
    assert best.points.value == pytest.approx(1 - (worst.points.value or 0))
    wins, losses, tie = np.exp(0.5), np.exp(-0.5), 0.5  # numerators at the true strengths
    assert best.points.value == pytest.approx((wins + tie / 2) / (wins + losses + tie), abs=0.03)
    assert best.votes == 2000


def test_the_share_of_votes_that_a_metric_predicts_is_that_of_a_plain_loop() -> None:
    truth = np.array([-1.0, -0.3, 0.3, 1.0])
    board = simulated(truth, 300, 30, 5)
    rng = np.random.default_rng(0)
    scores = {
        (name, *prompt): float(truth[i]) if rng.random() < 0.8 else float("nan")
        for i, name in enumerate(board.systems)
        for prompt in board.prompts
    }
    correct, votes, missing = 0, 0, 0
    for i in np.flatnonzero(board.answer != TIE):
        prompt = board.prompts[board.prompt[i]]
        gap = scores[board.systems[board.left[i]], *prompt] - scores[board.systems[board.right[i]], *prompt]
        missing += np.isnan(gap)
        votes += not np.isnan(gap)
        correct += bool(gap > 0 if board.answer[i] == LEFT else gap < 0)
    constant = dict.fromkeys(scores, 1.0)
    metric, flat, empty = metric_agreement(board, {"m": scores, "flat": constant, "none": {}}, "more_different")
    assert metric.share.value == pytest.approx(correct / votes)
    assert (metric.votes, metric.missing) == (votes, missing)
    assert metric.share.low is not None
    assert 0.5 < metric.share.low < correct / votes
    assert flat.share.value == pytest.approx(0.5)
    assert (flat.share.low, flat.missing) == (None, 0)
    assert (empty.share.value, empty.votes) == (None, 0)


def test_a_metric_predicts_no_vote_on_a_set_without_a_finite_score() -> None:
    scores = {("a", "demo", "p"): np.inf, ("b", "demo", "p"): 0.0, ("a", "demo", "q"): 1.0, ("b", "demo", "q"): 0.0}
    votes = [vote(i, "a", "b", "left", voter=i, prompt="p" if i else "q") for i in range(3)]
    [metric] = metric_agreement(ballots_of(votes), {"m": scores}, "more_different")
    assert (metric.share.value, metric.votes, metric.missing) == (1.0, 1, 2)


def test_the_ceiling_is_what_two_voters_on_the_same_sets_agree_on() -> None:
    """Two pairs of sets, of which all name one side, or three of four: agreement of pairs 1 and ½."""
    answers: list[Answer] = [*["left"] * 7, "right", "tie"]  # type: ignore[list-item]
    votes = [vote(i, "a", "b", answer, voter=i, prompt="p" if i < 4 else "q") for i, answer in enumerate(answers)]
    votes.append(vote(90, "b", "a", "right", voter=0, prompt="p"))  # a voter's second look at it: agrees with three
    agreement = ceiling(ballots_of(votes), "more_different")
    assert (agreement.pairs, agreement.shown) == (6 + 3 + 6, 2)
    assert agreement.people.value == pytest.approx((9 + 3) / 15)
    assert agreement.most.value == pytest.approx(0.5 + np.sqrt(0.3 / 2))
    low, high = agreement.people.low, agreement.people.high
    assert low is not None
    assert high is not None
    assert 0 <= low < 0.8 < high <= 1


def test_no_votes_or_one_are_no_error_and_claim_no_certainty() -> None:
    for votes in ([], [vote(1, "a", "b", "left")], [vote(1, "c", "c", "right", check="repeated")]):
        board = ballots_of(votes)
        assert strengths(board, "preferred").systems == ()
        assert metric_agreement(board, {"x": {}}, "preferred")[0].share.value is None
        assert ceiling(board, "preferred").people.value is None
    one = strengths(ballots_of([vote(1, "a", "b", "left")]), "more_different").systems
    assert [(each.system, each.rank, each.ranks, each.points.low) for each in one] == [
        ("a", 1, None, None),
        ("b", 2, None, None),
    ]
    alike = ballots_of([vote(i, "a", "b", "left", voter=i % 2, prompt=f"p{i % 3}") for i in range(6)])
    assert {each.ranks for each in strengths(alike, "more_different").systems} == {(1, 2)}
    scores = {(name, "demo", f"p{i}"): float(name == "a") for name in "ab" for i in range(3)}
    (metric,) = metric_agreement(alike, {"m": scores}, "more_different")
    assert (metric.share.value, metric.share.low, metric.share.high) == (1.0, None, None)


def test_systems_that_no_vote_links_are_named_apart() -> None:
    votes = [vote(1, "a", "b", "left"), vote(2, "b", "c", "left"), vote(3, "x", "y", "left")]
    board = strengths(ballots_of(votes), "more_different")
    assert [each.system for each in board.systems] == ["a", "b", "c"]
    assert board.apart == ("x", "y")
