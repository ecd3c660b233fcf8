"""Simulates votes, some careless or hostile, on systems of known strength, to test the statistics of votes.

Careful voters differ in how sharply they judge, and systems do better on some prompts than on others. So votes are not
drawn from the fitted model, and the truth is the limit of infinitely many careful voters and prompts (`truth_of`).
"""

from dataclasses import dataclass

import numpy as np

from benchmark.analysis.votes.ballots import LEFT, RIGHT, TIE, Ballots, Booleans, Floats, Integers
from benchmark.analysis.votes.davidson import fit, outcome_chances
from benchmark.analysis.votes.weights import PASS
from submissions.choices import VoteAttack

_NODES = 15


@dataclass(frozen=True, slots=True)
class Board:
    """Settings of a simulated board."""

    systems: int = 40
    votes: int = 20_000  # number of answers to one question, including checks
    prompts: int = 100
    per_voter: float = 20.0  # mean number of votes per voter (geometric, so that most vote less)
    spread: float = 1.0  # standard deviation of strengths, in log-odds
    by_prompt: float = 0.5  # standard deviation of a system's gain or loss on a prompt
    sharpness: float = 0.25  # standard deviation of the logarithm of a voter's sharpness, which multiplies strengths
    log_tie: float = 0.0  # log t of Davidson's model
    checks: float = 0.1
    careless: float = 0.15  # share of voters who answer without looking: half of them uniformly, half by habit
    hostile: float = 0.0  # share of voters who promote the system `target`, and pass checks
    # *loyal*: they vote for it wherever it is shown, and carefully elsewhere; *picky*: they also reload until it is
    # shown.
    attack: VoteAttack = "loyal"
    target: float = 0.5  # rank of the promoted system: 0 for the weakest, 0.5 for the median one, 1 for the strongest


@dataclass(frozen=True, slots=True, eq=False)
class Simulated:
    """Simulated votes and the truth about them."""

    ballots: Ballots
    truth: Floats  # [systems], strengths with mean 0 that infinitely many careful votes would give
    careless: Booleans  # [voters], who answers without looking
    hostile: Booleans  # [voters], who promotes the target
    target: int  # the system that they promote


def simulate(board: Board, seed: int) -> Simulated:
    """Draw a board's votes."""
    rng = np.random.default_rng(seed)
    latent = rng.normal(0, board.spread, board.systems)
    target = int(np.argsort(latent)[round(board.target * (board.systems - 1))])
    gains = rng.normal(0, board.by_prompt, (board.prompts, board.systems))
    voter = _voters(board, rng)
    count = int(voter.max()) + 1
    kind = rng.random(count)
    careless = kind < board.careless
    hostile = (kind >= board.careless) & (kind < board.careless + board.hostile)
    sharp = np.exp(rng.normal(0, board.sharpness, count))
    left, right = _pairs(board, rng)
    pushed = hostile[voter]
    other = (target + rng.integers(1, board.systems, len(voter))) % board.systems  # always drawn, to keep boards paired
    if board.attack == "picky":
        left, right = np.where(pushed, target, left), np.where(pushed, other, right)
    prompt = rng.integers(board.prompts, size=len(voter))
    utility = latent[None, :] + gains
    gap = sharp[voter] * (utility[prompt, left] - utility[prompt, right])
    answer = _drawn(outcome_chances(gap, board.log_tie), rng)
    answer = np.where(pushed & (left == target), LEFT, np.where(pushed & (right == target), RIGHT, answer))
    check = rng.random(len(voter)) < board.checks
    expected = np.where(check, rng.integers(3, size=len(voter)), -1)
    slip = (expected + rng.integers(1, 3, len(voter))) % 3
    answer = np.where(check, np.where(rng.random(len(voter)) < PASS, expected, slip), answer)
    answer = np.where(careless[voter], _drawn(_habits(count, rng)[voter], rng), answer)
    votes = len(voter)
    return Simulated(
        Ballots(
            tuple(f"system-{i:03}" for i in range(board.systems)),
            tuple(("suite", f"prompt-{i}") for i in range(board.prompts)),
            tuple(f"voter-{i}" for i in range(count)),
            np.where(check, -1, left),
            np.where(check, -1, right),
            prompt,
            voter,
            np.zeros(votes, np.int64),
            answer,
            expected,
            np.arange(votes),
            np.arange(votes),
        ),
        truth_of(latent, board),
        careless,
        hostile,
        target,
    )


def truth_of(latent: Floats, board: Board) -> Floats:
    """Return the strengths of Davidson's model in the limit of infinitely many careful voters and prompts, [systems].

    The probabilities of each pair are integrated over prompts and voters' sharpness by Gauss-Hermite quadrature.
    """
    nodes, shares = np.polynomial.hermite_e.hermegauss(_NODES)
    shares = shares / shares.sum()
    sharp = np.exp(board.sharpness * nodes)
    shift = np.sqrt(2) * board.by_prompt * nodes
    gaps = latent[:, None] - latent[None, :]
    each = outcome_chances(sharp * (gaps[..., None, None] + shift[:, None]), board.log_tie)
    chances = np.einsum("ijpvo,p,v->ijo", each, shares, shares)
    many = 1e6 * ~np.eye(len(latent), dtype=bool)[..., None]  # so many that the prior has no effect
    table = many * chances
    return fit(table[..., 0], table[..., 2]).strengths


def _voters(board: Board, rng: np.random.Generator) -> Integers:
    """Return the voter of each vote."""
    sizes = rng.geometric(1 / board.per_voter, size=board.votes)
    return np.repeat(np.arange(board.votes), sizes)[: board.votes]


def _pairs(board: Board, rng: np.random.Generator) -> tuple[Integers, Integers]:
    left = rng.integers(board.systems, size=board.votes)
    return left, (left + rng.integers(1, board.systems, board.votes)) % board.systems


def _habits(voters: int, rng: np.random.Generator) -> Floats:
    """Return how often a careless voter gives each answer, [voters, 3]."""
    by_habit = rng.random(voters) < 0.5
    return np.asarray(np.where(by_habit[:, None], rng.dirichlet([0.3] * 3, voters), 1 / 3))


def _drawn(chances: Floats, rng: np.random.Generator) -> Integers:
    """Draw an outcome for each row of probabilities [rows, 3]."""
    drawn = (rng.random(len(chances))[:, None] > np.cumsum(chances, axis=1)).sum(axis=1)
    return np.asarray(np.minimum(drawn, TIE), np.int64)
