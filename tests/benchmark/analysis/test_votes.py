"""Votes' statistics against a library, brute force, a bootstrap, and boards whose truth is known."""

from dataclasses import replace
from itertools import combinations
from typing import Any, cast

import numpy as np
import pytest
from scipy.optimize import minimize

from benchmark.analysis.votes.ballots import Ballots, Floats, ballots_of, totals
from benchmark.analysis.votes.davidson import PRIOR_SD, fit, fit_votes, outcome_chances
from benchmark.analysis.votes.metrics import ceiling, metric_agreement
from benchmark.analysis.votes.simulation import Board, simulate
from benchmark.analysis.votes.strengths import (
    covariance_of,
    freedom_of,
    observed_inverse,
    pair_variance,
    reach,
    strengths,
    two_way_covariance,
)
from benchmark.analysis.votes.study import recovery, resistance
from benchmark.analysis.votes.weights import plain, weigh
from submissions.judgements.votes import Answer, Check, Vote, vote_id
from tests.conftest import divbench, document

LEFT, RIGHT, TIE = 0, 1, 2
SMALL = Board(systems=8, votes=2500, prompts=40)


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


def test_the_model_is_the_one_that_a_library_fits_and_without_ties_it_is_bradley_terry() -> None:
    """Davidson's model is a log-linear one: a Poisson regression on counts with a constant for each pair."""
    from sklearn.linear_model import PoissonRegressor

    rng = np.random.default_rng(0)
    wins: Floats = rng.integers(1, 9, (5, 5)) * np.float64(1e4)
    halves: Floats = np.triu(rng.integers(1, 9, (5, 5)) * np.float64(1e4), 1)
    np.fill_diagonal(wins, 0)
    found = fit(wins, halves + halves.T)
    rows, counts = [], []
    for pair, (i, j) in enumerate(combinations(range(5), 2)):
        for count, lead, tie in ((wins[i, j], 0.5, 0), (wins[j, i], -0.5, 0), (halves[i, j], 0, 1)):
            row = np.zeros(5 + 1 + 10)
            row[i], row[j], row[5], row[6 + pair] = lead, -lead, tie, 1
            rows.append(row)
            counts.append(count / 1e4)
    known = PoissonRegressor(alpha=0, fit_intercept=False, tol=1e-10, max_iter=5000).fit(np.array(rows), counts).coef_
    np.testing.assert_allclose(found.strengths, known[:5] - known[:5].mean(), atol=1e-4)
    assert found.log_tie == pytest.approx(known[5], abs=1e-4)

    def loss(free: Floats) -> float:  # of Bradley and Terry's model, directly
        s = np.append(free, -free.sum())
        return float((wins * np.logaddexp(0, s[None, :] - s[:, None])).sum()) / 1e4

    best = minimize(loss, np.zeros(4), method="BFGS", options={"gtol": 1e-8}).x
    np.testing.assert_allclose(fit(wins, np.zeros((5, 5))).strengths[:4], best, rtol=0, atol=1e-4)


def test_with_few_votes_strengths_and_ties_are_the_most_probable_ones_under_the_prior() -> None:
    """One system won every comparison and nobody tied, so that without the prior no number would be finite."""
    wins = np.array([[0.0, 3, 2], [0, 0, 1], [0, 1, 0]])

    def loss(free: Floats) -> float:  # minus the log posterior, with a deviation of 3 for each strength and for log t
        halves = (free[:3, None] - free[None, :3]) / 2
        logs = halves - np.logaddexp(np.logaddexp(halves, -halves), free[3])
        return float(free @ free / (2 * 3**2) - (wins * logs).sum())

    best = minimize(loss, np.zeros(4), method="BFGS", options={"gtol": 1e-8}).x
    found = fit(wins, np.zeros((3, 3)))
    np.testing.assert_allclose([*found.strengths, found.log_tie], best, atol=1e-5)


def test_names_are_numbered_whatever_the_order_of_votes_and_checks_are_no_comparisons() -> None:
    votes = [
        vote(1, "b", "a", "left", voter=2),
        vote(2, "a", "b", "right", voter=1),
        vote(3, "c", "c", "right", check="repeated"),
    ]
    one, other = ballots_of(votes), ballots_of(votes[::-1])
    assert one.systems == ("a", "b")
    for name in ("left", "right", "voter", "prompt", "answer", "expected", "shown"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    real = one.left >= 0
    assert real.sum() == 2
    assert len(set(one.shown[real].tolist())) == 1  # the same two sets, the other way round
    assert weigh(one).votes[~real].tolist() == [0.0]
    assert weigh(one).passed.sum() == weigh(one).checks.sum() == 1


def test_intervals_over_voters_are_those_of_a_bootstrap_over_voters() -> None:
    """Where each vote has a prompt of its own, only voters make votes alike."""
    board = simulate(replace(SMALL, systems=5, votes=1500, careless=0, checks=0, sharpness=1.0), 3).ballots
    board = replace(board, prompt=np.arange(len(board)))
    chosen, weights = board.on("more_different"), plain(board)
    model = fit_votes(board, chosen, weights)
    covariance = covariance_of(model, board, chosen, weights)
    rng = np.random.default_rng(1)
    voters = len(board.voters)
    drawn = []
    for _ in range(600):
        counts = totals(rng.integers(voters, size=voters), np.ones(voters), voters)
        drawn.append(fit_votes(board, chosen, counts[board.voter]).strengths)
    assert covariance is not None
    np.testing.assert_allclose(np.sqrt(np.diag(covariance)), np.std(drawn, axis=0), rtol=0.12)


def test_what_is_not_known_of_voters_is_missing_from_the_information() -> None:
    """The information is the negative second derivative of the mixture's likelihood, here by finite differences."""
    board = simulate(replace(SMALL, systems=3, votes=300, careless=0, checks=0), 2).ballots
    chosen, voters = board.on("more_different"), len(board.voters)
    careful = np.random.default_rng(0).uniform(0.4, 0.95, voters)
    weights = careful[board.voter]
    model = fit_votes(board, chosen, weights)

    def fits(at: Floats) -> Floats:
        chances = outcome_chances(at[board.left] - at[board.right], float(at[-1]))
        return totals(board.voter, np.log(chances[np.arange(len(board)), board.answer]), voters)

    best = np.append(model.strengths, model.log_tie)
    careless = fits(best) + np.log(1 / careful - 1)  # so that each is careful with that probability

    def likelihood(at: Floats) -> float:
        return float(np.logaddexp(fits(at), careless).sum() - (at**2).sum() / (2 * PRIOR_SD**2))

    step, axes = 1e-3, np.eye(4)
    bends = [
        [
            sum(a * b * likelihood(best + step * (a * x + b * y)) for a in (1, -1) for b in (1, -1)) / (4 * step**2)
            for y in axes
        ]
        for x in axes
    ]
    found = np.linalg.inv(observed_inverse(model, board, chosen, weights, careful))
    np.testing.assert_allclose(found, -np.array(bends), rtol=1e-3, atol=1e-3)


def test_voters_who_came_when_a_system_was_new_count_in_full() -> None:
    made = simulate(replace(SMALL, careless=0, votes=6000), 1).ballots
    new = (made.turn > 5600) & (made.left > 0) & (made.right > 0)
    old = made.left == 0, made.right == 0
    left = np.where(old[0], (made.right + 1) % 7 + 1, np.where(new, 0, made.left))
    right = np.where(old[1], (left % 7) + 1, made.right)
    real = (made.left >= 0) & (left != right)
    board = replace(made, left=np.where(real, left, -1), right=np.where(real, right, -1))
    share = float((board.left[real] == 0).mean())
    assert share < 0.08 < float((board.left[real & (board.turn > 5600)] == 0).mean())
    assert weigh(board).capped < 0.01 * real.sum()


def test_two_way_covariance_is_the_sum_over_votes_that_share_a_voter_or_a_prompt() -> None:
    rng = np.random.default_rng(2)
    voters, prompts = rng.integers(60, size=400), rng.integers(5, size=400)
    each = rng.normal(size=400) + rng.normal(size=60)[voters] + rng.normal(size=5)[prompts]
    found = two_way_covariance(lambda groups: totals(groups, each)[:, None], voters, prompts)
    voter, prompt = voters[:, None] == voters, prompts[:, None] == prompts
    wanted = 0.0
    for share, sign in ((voter, 1), (prompt, 1), (voter & prompt, -1)):
        groups = len(np.unique(share, axis=0))
        wanted += sign * float(each @ share @ each) * groups / (groups - 1)
    assert found is not None
    assert found[0, 0] == pytest.approx(wanted)


def test_intervals_of_few_votes_by_hand() -> None:
    """The largest part takes the place of a sum that cancels; with one voter or one prompt, nothing is known."""

    def covariance(influences: list[float], voters: list[int], prompts: list[int]) -> float | None:
        each = np.array(influences)
        found = two_way_covariance(lambda g: totals(g, each)[:, None], np.array(voters), np.array(prompts))
        return None if found is None else float(found[0, 0])

    assert covariance([1, -1], [0, 1], [0, 1]) == pytest.approx(2 * 2 / 1)  # voters + prompts − both, all alike
    assert covariance([1, -1, -1, 1], [0, 0, 1, 1], [0, 1, 0, 1]) == pytest.approx(4 * 4 / 3)  # of 0 + 0 − 16/3
    assert covariance([1, -1], [0, 0], [0, 1]) is covariance([1, -1], [0, 1], [0, 0]) is None
    assert reach(freedom_of(np.array([0, 1, 2, 2]), np.array([5, 7, 7, 7]))) == pytest.approx(12.706, abs=5e-4)  # t(1)

    voter, both = np.array([[1, 1, -1, -1], [1, -1, -1, 1]], np.float64)
    two = np.array([voter + both, both - voter]).T
    found = two_way_covariance(
        lambda groups: np.array([totals(groups, column) for column in two.T]).T,
        np.repeat([0, 1], 2),
        np.tile([0, 1], 2),
    )
    # The sum is 16/3 − 16 in the one direction, where votes cancel, and 16/3 + 16 in the other, which remains.
    assert found is not None
    np.testing.assert_allclose(found, 32 / 3 * np.array([[1, -1], [-1, 1]]), atol=1e-9)

    def of_pairs(influences: list[float], pairs: list[tuple[int, int]], prompts: list[int]) -> float | None:
        one, other = np.array(pairs).T
        return pair_variance(np.array(influences), one, other, np.array(prompts))

    # Voters 4, 1, 1, times 3/2, less 2 of pairs; prompts 2 · 2/1; less both, 4 − 2.
    assert of_pairs([1, 1], [(0, 1), (0, 2)], [0, 1]) == pytest.approx((6 * 3 / 2 - 2) + 4 - 2)
    assert of_pairs([1, -1], [(0, 1), (0, 2)], [0, 1]) == pytest.approx(4)  # prompts; all is (3 − 2) + 4 − 2
    assert of_pairs([1, -1, -1, 1], [(0, 1), (2, 3)] * 2, [0, 0, 1, 1]) == pytest.approx(4)  # squares; all is −4
    assert of_pairs([1, -1], [(0, 1), (0, 2)], [0, 0]) is None


def test_who_only_answers_checks_is_careful_by_bayes_rule() -> None:
    """A careful voter passes with 0.95; a careless one answers in fixed shares: 1/10 for three alike, 1/60 for all."""
    votes = [vote(3 * v + i, "c", "c", "right", voter=v, check="repeated") for v in (0, 1) for i in range(3)]
    votes[4:] = [replace(votes[4], answer="left"), replace(votes[5], answer="tie")]
    odds = np.array([0.95**3 / (1 / 10), 0.95 * 0.025**2 / (1 / 60)])  # one of each answer: 1 · 1 · 1 · 2/5!
    careless = 0.1
    for _ in range(1000):
        careful = odds * (1 - careless) / (odds * (1 - careless) + careless)
        careless = float(((1 - careful).sum() + 10 * 0.1) / (2 + 10))  # the prior counts as ten voters
    found = weigh(ballots_of(votes))
    np.testing.assert_allclose(found.careful, careful, atol=1e-4)
    assert (found.checks.tolist(), found.passed.tolist()) == ([3, 3], [3, 1])
    assert (found.inattentive, found.left_out) == (1, 1)


def test_ballots_number_times_and_pairs_of_sets() -> None:
    votes = [vote(i, "a", "b", "tie" if i == 3 else "left") for i in range(1, 6)]
    votes[0] = replace(votes[0], left_positions=(2, 3))  # other responses of the same result
    votes[1] = replace(votes[1], prompt_id="q")
    votes[4] = vote(5, "b", "a", "right")
    board = ballots_of(votes)
    by_id = sorted(votes, key=lambda each: each.vote_id)
    many = [vote(i, "a", "b", "left") for i in range(40)]
    assert ballots_of(many).turn.tolist() == [each.time for each in sorted(many, key=lambda each: each.vote_id)]
    shown = {each.time: number for each, number in zip(by_id, board.shown.tolist(), strict=True)}
    assert shown[3] == shown[4] == shown[5]
    assert len({*shown.values()}) == 3
    points = {each.time: number for each, number in zip(by_id, board.points().tolist(), strict=True)}
    assert points == {1: 1.0, 2: 1.0, 3: 0.5, 4: 1.0, 5: 0.0}


def test_strengths_come_back_though_some_voters_do_not_look() -> None:
    found = recovery(SMALL, 8)
    unweighted = recovery(SMALL, 8, weighted=False)
    assert found.correlation > 0.95
    assert 0.85 <= found.coverage <= 1  # 64 intervals; the study of docs/votes.md has 8,000
    assert abs(found.slope - 1) < 0.05
    assert unweighted.slope < 0.95
    assert found.careless_weight < 0.5
    assert found.careful_weight > 0.9


def test_who_waits_for_one_system_and_pushes_it_does_not_move_it_far() -> None:
    attack = replace(SMALL, systems=20, votes=4000, hostile=0.05, attack="picky")
    damped, undamped = resistance(attack, 3), resistance(attack, 3, weighted=False)
    assert damped.within == 1
    assert damped.strength < 0.3
    assert undamped.strength > 1


def test_the_share_of_votes_that_a_metric_predicts_is_that_of_a_plain_loop() -> None:
    made = simulate(SMALL, 5)
    board = replace(made.ballots, shown=made.ballots.prompt)
    weights = weigh(board)
    weights = replace(weights, votes=weights.votes * (board.voter > 0))  # one voter is excluded
    rng = np.random.default_rng(0)
    scores = {
        (name, *prompt): float(made.truth[i]) if rng.random() < 0.8 else float("nan")
        for i, name in enumerate(board.systems)
        for prompt in board.prompts
    }
    right, total, votes, missing = 0.0, 0.0, 0, 0
    for i in np.flatnonzero(board.on("more_different") & (board.answer != TIE) & (weights.votes > 0)):
        prompt = board.prompts[board.prompt[i]]
        gap = scores[board.systems[board.left[i]], *prompt] - scores[board.systems[board.right[i]], *prompt]
        if np.isnan(gap):
            missing += 1
            continue
        votes += 1
        total += weights.votes[i]
        right += weights.votes[i] * ((gap > 0) == (board.answer[i] == LEFT))
    constant = dict.fromkeys(scores, 1.0)
    found, flat, empty = metric_agreement(board, {"truth": scores, "flat": constant, "none": {}}, weights=weights)
    assert found.share.value == pytest.approx(right / total)
    assert (found.votes, found.missing) == (votes, missing)
    assert missing > 0
    assert found.share.low is not None
    assert found.share.low > 0.6
    assert flat.share.value == pytest.approx(0.5)
    assert flat.missing == 0
    assert empty.share.value is None


def test_a_metric_predicts_no_vote_on_a_set_without_a_finite_score() -> None:
    scores = {("a", "demo", "p"): np.inf, ("b", "demo", "p"): 0.0, ("a", "demo", "q"): 1.0, ("b", "demo", "q"): 0.0}
    votes = [vote(i, "a", "b", "left", voter=i, prompt="p" if i else "q") for i in range(3)]
    [found] = metric_agreement(ballots_of(votes), {"m": scores})
    assert (found.share.value, found.votes, found.missing) == (1.0, 1, 2)


def test_the_ceiling_is_what_two_voters_on_the_same_sets_agree_on() -> None:
    """Two pairs of sets, of which all name one side, or three of four: agreement of pairs 1 and ½."""
    answers: list[Answer] = [*["left"] * 7, "right", "tie"]  # type: ignore[list-item]
    votes = [vote(i, "a", "b", answer, voter=i, prompt="p" if i < 4 else "q") for i, answer in enumerate(answers)]
    votes.append(vote(90, "b", "a", "right", voter=0, prompt="p"))  # a voter's second look at it: agrees with three
    board = ballots_of(votes)
    known = weigh(board)
    found = ceiling(board, weights=replace(known, votes=plain(board)))
    assert (found.pairs, found.shown) == (6 + 3 + 6, 2)
    assert found.people.value == pytest.approx((9 + 3) / 15)
    assert found.most.value == pytest.approx(0.5 + np.sqrt(0.3 / 2))


def test_the_ceiling_weighs_pairs_by_both_votes() -> None:
    answers: list[Answer] = ["left", "left", "right", "left", "left"]
    votes = [vote(i, "a", "b", answer, voter=i, prompt="q" if i == 4 else "p") for i, answer in enumerate(answers)]
    board = ballots_of(votes)
    weight = np.array([1, 0.5, 0.25, 0, 1])[[int(board.voters[i], 16) for i in board.voter]]
    found = ceiling(board, weights=replace(weigh(board), votes=weight))
    assert (found.pairs, found.shown) == (3, 1)
    assert found.people.value == pytest.approx(0.5 / (0.5 + 0.25 + 0.125))
    assert found.people.low is None  # one prompt


def test_intervals_of_shares_end_at_0_and_1_and_all_alike_have_none() -> None:
    """Three voters on two prompts: t(1) is 12.7, and the standard errors are about a sixth."""
    for last, people, share in (("right", 4 / 6, 5 / 6), ("left", 1.0, 1.0)):
        answers = ["left"] * 5 + [last]
        votes = [vote(i, "a", "b", cast("Answer", answers[i]), voter=i % 3, prompt="pq"[i // 3]) for i in range(6)]
        board = ballots_of(votes)
        weights = replace(weigh(board), votes=plain(board))
        scores = {(system, "demo", prompt): float(system == "a") for system in "ab" for prompt in "pq"}
        [found] = metric_agreement(board, {"m": scores}, weights=weights)
        known = ceiling(board, weights=weights)
        ends = (None, None) if people == 1 else (0.0, 1.0)
        assert (found.share.value, found.share.low, found.share.high) == (pytest.approx(share), *ends)
        assert (known.people.value, known.people.low, known.people.high) == (pytest.approx(people), *ends)
        assert (known.most.low, known.most.high) == ((None, None) if people == 1 else (0.5, 1.0))


def test_the_interval_of_the_ceiling_has_the_freedom_of_all_voters() -> None:
    left = np.random.default_rng(0).random((400, 3)) < np.tile([0.9, 0.1], 200)[:, None]
    votes = [
        vote(3 * i + v, "a", "b", "left" if left[i, v] else "right", voter=v, prompt=str(i))
        for i in range(400)
        for v in range(3)
    ]
    board = ballots_of(votes)
    people = ceiling(board, weights=replace(weigh(board), votes=plain(board))).people
    pairs = np.array([(i, *two) for i in range(400) for two in combinations(range(3), 2)])
    same = (left[pairs[:, 0], pairs[:, 1]] == left[pairs[:, 0], pairs[:, 2]]).astype(np.float64)
    variance = pair_variance((same - same.mean()) / len(same), pairs[:, 1], pairs[:, 2], pairs[:, 0])
    assert variance is not None
    assert people.value == pytest.approx(same.mean())
    assert people.low == pytest.approx(same.mean() - 4.3027 * np.sqrt(variance), abs=1e-4)  # t(3 − 1)


def test_the_ceiling_of_many_votes_by_few_voters_has_an_interval_over_voters() -> None:
    """Voters differ in sharpness: intervals contain the agreement of endless voters (over prompts alone, in 53%)."""

    def judged(rng: np.random.Generator, voters: int, prompts: int) -> tuple[Floats, Floats]:
        gaps, sharpness = rng.normal(0, 1.5, prompts), np.exp(rng.normal(0, 1, voters))
        return np.asarray(1 / (1 + np.exp(-np.outer(sharpness, gaps)))), sharpness

    mean = judged(np.random.default_rng(99), 3000, 3000)[0].mean(axis=0)
    truth = float((mean**2 + (1 - mean) ** 2).mean())
    inside = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        left = rng.random((12, 60)) < judged(rng, 12, 60)[0]
        voter, prompt = np.indices(left.shape).reshape(2, -1)
        zero = np.zeros_like(voter)
        prompts = tuple(("s", str(i)) for i in range(60))
        columns = (prompt, voter, zero, np.where(left.ravel(), LEFT, RIGHT), zero - 1, np.arange(len(voter)), prompt)
        board = Ballots(("a", "b"), prompts, tuple(map(str, range(12))), zero, zero + 1, *columns)
        people = ceiling(board, weights=replace(weigh(board), votes=plain(board))).people
        assert people.low is not None
        assert people.high is not None
        assert 0 <= people.low <= people.high <= 1
        inside += people.low <= truth <= people.high
    assert inside >= 53


def test_pairs_of_votes_are_correlated_if_they_share_a_voter_or_a_prompt() -> None:
    rng = np.random.default_rng(0)
    voters = np.array([rng.permutation(500)[:2] for _ in range(300)])
    prompts, influence = rng.integers(400, size=300), rng.normal(size=300)
    wanted = sum(
        influence[a] * influence[b]
        for a in range(300)
        for b in range(300)
        if prompts[a] == prompts[b] or set(voters[a]) & set(voters[b])
    )
    found = pair_variance(influence, voters[:, 0], voters[:, 1], prompts)
    assert found == pytest.approx(wanted, rel=0.01)  # but for the factors of finite numbers of voters and prompts


@pytest.mark.parametrize("spread", [0.0, 1.0])
def test_intervals_of_ranks_contain_the_true_ranks(spread: float) -> None:
    """Also of equal systems, which all have rank 1; those of different ones are narrower."""
    inside, widths = [], []
    for seed in range(40):
        made = simulate(Board(systems=6, votes=1000, spread=spread, by_prompt=0.5 * spread), seed)
        found = {each.system: each.ranks for each in strengths(made.ballots, question="more_different").systems}
        for name, own in zip(made.ballots.systems, made.truth, strict=True):
            low, high = found[name] or (0, 0)
            inside.append(low <= 1 + (made.truth > own + 1e-9).sum() <= high)
            widths.append(high - low + 1)
    assert np.mean(inside) >= 0.93
    assert (np.mean(widths) > 5.5) == (spread == 0)


def test_no_votes_or_one_are_no_error() -> None:
    for votes in ([], [vote(1, "a", "b", "left")], [vote(1, "c", "c", "right", check="repeated")]):
        board: Ballots = ballots_of(votes)
        found = strengths(board, question="preferred")
        assert found.systems == ()
        metric_agreement(board, {"x": {}})
        assert ceiling(board).people.value is None
    one = strengths(ballots_of([vote(1, "a", "b", "left")]), question="more_different")
    assert [(each.system, each.rank, each.interval) for each in one.systems] == [("a", 1, None), ("b", 2, None)]
    with pytest.raises(ValueError, match="no question"):
        strengths(ballots_of([]), question="nicer")


def test_systems_that_no_vote_links_are_named_apart() -> None:
    votes = [vote(1, "a", "b", "left"), vote(2, "b", "c", "left"), vote(3, "x", "y", "left")]
    found = strengths(ballots_of(votes), question="more_different")
    assert [each.system for each in found.systems] == ["a", "b", "c"]
    assert found.apart == ("x", "y")


def test_an_arena_is_planned_from_the_shell() -> None:
    small = ("--systems", 4, "--votes", 400, "--boards", 2, "--careless", 0)
    found = document(divbench("people", "simulate", *small, "--hostile", 0.1, "--json"))
    assert found["recovery"]["careless_weight"] is None
    assert 0.5 < found["recovery"]["correlation"] <= 1
    assert found["attack"]["boards"] == 2
    few = divbench("people", "simulate", "--systems", 40, "--votes", 300)
    assert (few.returncode, few.stdout) == (2, "")
    assert "too few" in few.stderr


def test_no_interval_claims_certainty_from_a_few_votes() -> None:
    """Shares that all votes agree on have no interval; a variance below zero is replaced by its largest part."""
    alike = ballots_of([vote(i, "a", "b", "left", voter=i % 2, prompt=f"p{i % 3}") for i in range(6)])
    scores = {(name, "demo", f"p{i}"): float(name == "a") for name in "ab" for i in range(3)}
    (found,) = metric_agreement(alike, {"m": scores})
    assert (found.share.value, found.share.low, found.share.high) == (1.0, None, None)
    # Each voter, and each prompt, is right once and wrong once: their sums do not vary at all, but single votes do.
    answers: list[Answer] = ["left", "right", "right", "left"]
    mixed = ballots_of(
        [vote(i, "a", "b", answer, voter=i // 2, prompt=f"p{i % 2}") for i, answer in enumerate(answers)]
    )
    (found,) = metric_agreement(mixed, {"m": scores})
    assert found.share.low is not None
    assert found.share.high is not None
    assert found.share.high - found.share.low > 0.1


def test_voters_who_judge_more_sharply_than_others_are_not_taken_for_biased() -> None:
    """A team whose raters give 300 votes each: a fifth of the careful ones were excluded, for all systems at once."""
    for seed in range(3):
        made = simulate(Board(systems=6, votes=9000, per_voter=300, sharpness=0.6, careless=0.1), seed)
        assert not (weigh(made.ballots).hostile & ~made.careless).any()
    # Who always votes for the weakest of three systems is no sharp voter.
    made = simulate(Board(systems=3, votes=3000, per_voter=60, careless=0, hostile=0.1, target=0.0, attack="loyal"), 0)
    found = weigh(made.ballots)
    assert ((found.careful < 0.5) | found.hostile)[made.hostile].mean() > 0.6
    # Nor is who mistakes the sides.
    made = simulate(Board(systems=6, votes=2500, careless=0, spread=1.5, per_voter=40), 0)
    board, voter = made.ballots, int(np.bincount(made.ballots.voter).argmax())
    swapped = np.where(board.answer == TIE, TIE, LEFT + RIGHT - board.answer)
    turned = replace(board, answer=np.where((board.voter == voter) & (board.left >= 0), swapped, board.answer))
    assert [bool(weigh(each).hostile[voter]) for each in (board, turned)] == [False, True]


def test_the_same_answer_to_both_questions_is_not_twice_the_evidence_against_a_voter() -> None:
    made = simulate(Board(systems=10, votes=2000), 0)
    one = made.ballots

    columns = ("left", "right", "prompt", "voter", "answer", "expected", "turn", "shown")
    doubled: dict[str, Any] = {name: np.tile(getattr(one, name), 2) for name in columns}
    both = replace(one, question=np.repeat([0, 1], len(one)), **doubled)
    excluded = [int((weigh(each).hostile & ~made.careless).sum()) for each in (one, both)]
    assert excluded[1] <= excluded[0] + 1 <= 2  # of some 85 careful voters
