"""Chooses the pair of response sets that the arena shows a visitor: an informative pair, or sometimes a check.

Pure functions: the draw depends only on the arguments. Visitors cannot choose a pair; each stays until it is answered.
"""

import math
import random
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Literal

import numpy as np

from benchmark.scoring.estimate import Floats
from submissions.gaming.attacks import AttackedSet, shuffled_words
from submissions.judgements.votes import CHECKS, Answer, Check, Question, Vote

SHOWN = 5  # responses of a set
CHECK_SHARE = 0.1  # share of pairs that are checks with a known answer
REPEAT_SHARE = 0.15  # share of pairs that other visitors have judged, which the agreement ceiling needs
MOST_REPEATS = 5  # maximum number of visitors who judge a repeated pair
FEWEST_DIFFERENT = 3  # minimum number of different texts in a set that a check is made from
FEWEST_WORDS = 4  # minimum mean number of words in the responses of a check with shuffled words
MOST_LETTERS = 40_000  # maximum number of characters in a set
_EVEN = 0.1  # weight of a prompt on which all metrics agree; the weight is 1 where they are evenly split
_TRIES = 50

Texts = Callable[[int, str], Sequence[str] | None]
"""Function from a system's index and a prompt id to the responses; None if the system has none."""


@dataclass(frozen=True, slots=True, eq=False)
class Contest:
    """The systems of one suite whose responses can be shown."""

    suite: str
    names: tuple[str, ...]  # [systems], names of the systems
    results: tuple[str, ...]  # [systems], ids of their results
    prompts: tuple[str, ...]  # [prompts], ids of the prompts
    scores: Floats  # [metrics, prompts, systems], higher is more diverse; NaN if missing
    # [systems], ids of their older results, which visitors may have judged; empty: none.
    older: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class ShownSet:
    """One side of a pair."""

    system: int
    positions: tuple[int, ...]  # positions of the responses in the order shown, from 0
    texts: tuple[str, ...]  # the responses in that order


@dataclass(frozen=True, slots=True)
class Pair:
    """Two response sets to one prompt."""

    prompt_id: str
    left: ShownSet
    right: ShownSet
    check: Check = ""  # as in `Vote`
    altered: Literal["", "left", "right"] = ""  # side with the repeated or shuffled responses; empty if there is none
    # Answer that passes the check, for each question that has a known answer.
    expected: tuple[tuple[Question, Answer], ...] = ()


def choose_pair(
    contest: Contest,
    votes: Iterable[Vote],
    strengths: Mapping[str, float],
    voter: str,
    texts: Texts,
    rng: random.Random,
) -> Pair | None:
    """Choose the pair to show a visitor.

    One pair in ten is a check. Some of the others repeat a pair that other visitors have judged. The rest are drawn at
    random; systems with few votes, systems of similar strength, prompts on which metrics disagree and pairs that are
    new to the visitor are more likely.

    Args:
        votes: All votes so far, of any suite.
        strengths: Strengths in log-odds by system; a system without one counts as 0.

    Returns:
        The pair; None if no prompt has responses from two systems, or the visitor has judged all pairs.
    """
    counted, own = _counts(contest, votes, voter)
    new = _new_to(own, contest)
    if not new:
        return None
    if rng.random() < CHECK_SHARE and (pair := _check(contest, texts, rng)) is not None:
        return pair
    for _ in range(_TRIES):
        first, second, prompt = _drawn(contest, counted, own, new, strengths, rng)
        sides = [shown_set(contest, system, prompt, texts) for system in (first, second)]
        rng.shuffle(sides)
        left, right = sides
        if left is not None and right is not None:
            return Pair(prompt, left, right)
    return None


def shown_set(contest: Contest, system: int, prompt_id: str, texts: Texts) -> ShownSet | None:
    """Choose five responses of a set and their order, the same for all visitors, so that their votes are comparable.

    Returns:
        The side; None if the set has fewer responses or is too long for a page.
    """
    found = texts(system, prompt_id)
    if found is None or len(found) < SHOWN:
        return None
    chance = random.Random(f"{contest.results[system]}/{prompt_id}")  # noqa: S311 - the same for all visitors
    positions = tuple(chance.sample(range(len(found)), SHOWN))
    chosen = tuple(found[position] for position in positions)
    return None if sum(map(len, chosen)) > MOST_LETTERS else ShownSet(system, positions, chosen)


_Key = tuple[int, int, str]


def _counts(contest: Contest, votes: Iterable[Vote], voter: str) -> tuple[Counter[_Key], set[_Key]]:
    """The number of judgements of each (system, system, prompt), lower index first, and the ones that `voter` made."""
    place = {result: system for system, older in enumerate(contest.older) for result in older}
    place |= {result: system for system, result in enumerate(contest.results)}
    known = set(contest.prompts)
    counted: Counter[_Key] = Counter()
    own: set[_Key] = set()
    for vote in votes:
        if vote.check or vote.question != "preferred" or vote.suite != contest.suite or vote.prompt_id not in known:
            continue
        ends = place.get(vote.left_result), place.get(vote.right_result)
        if ends[0] is None or ends[1] is None or ends[0] == ends[1]:
            continue
        key = (min(ends[0], ends[1]), max(ends[0], ends[1]), vote.prompt_id)
        counted[key] += 1
        if vote.voter == voter:
            own.add(key)
    return counted, own


def _new_to(own: set[_Key], contest: Contest) -> list[tuple[int, int]]:
    """Return the pairs of systems with different names that the visitor has not judged on all prompts."""
    judged = Counter((first, second) for first, second, _ in own)
    return [
        (one, other)
        for one, other in combinations(range(len(contest.names)), 2)
        if contest.names[one] != contest.names[other] and judged[one, other] < len(contest.prompts)
    ]


def _drawn(
    contest: Contest,
    counted: Counter[_Key],
    own: set[_Key],
    new: Sequence[tuple[int, int]],
    strengths: Mapping[str, float],
    rng: random.Random,
) -> _Key:
    if rng.random() < REPEAT_SHARE:
        again = sorted(key for key, count in counted.items() if count < MOST_REPEATS and key not in own)
        if again:
            return rng.choice(again)
    first, second = _systems(contest, counted, new, strengths, rng)
    weights = _prompt_weights(contest, first, second)
    for place, prompt in enumerate(contest.prompts):
        key = (first, second, prompt)
        weights[place] *= 0 if key in own else 1 / (1 + counted[key])
    return first, second, rng.choices(contest.prompts, weights.tolist())[0]


def _systems(
    contest: Contest,
    counted: Counter[_Key],
    pairs: Sequence[tuple[int, int]],
    strengths: Mapping[str, float],
    rng: random.Random,
) -> tuple[int, int]:
    """Draw one of the pairs of systems.

    The weight of a pair is the information in one more vote, which is the variance p (1 − p) of its outcome, divided by
    the square root of one plus the votes of each system.
    """
    votes = [0] * len(contest.names)
    for (one, other, _), count in counted.items():
        votes[one] += count
        votes[other] += count
    values = [strengths.get(name, 0.0) for name in contest.names]
    weights = []
    for one, other in pairs:
        chance = 1 / (1 + math.exp(-max(-30.0, min(30.0, values[one] - values[other]))))
        weights.append(max(1e-6, chance * (1 - chance)) / math.sqrt((1 + votes[one]) * (1 + votes[other])))
    return rng.choices(pairs, weights)[0]


def _prompt_weights(contest: Contest, one: int, other: int) -> Floats:
    """Weights [prompts] by how much metrics disagree on the more diverse of two systems, from `_EVEN` (agree) to 1."""
    gaps = np.sign(contest.scores[:, :, one] - contest.scores[:, :, other])
    there = np.isfinite(gaps)
    count = there.sum(axis=0)
    mean = np.where(there, gaps, 0.0).sum(axis=0) / np.maximum(count, 1)
    return np.asarray(np.where(count > 0, _EVEN + (1 - _EVEN) * (1 - np.abs(mean)), _EVEN))


def _check(contest: Contest, texts: Texts, rng: random.Random) -> Pair | None:
    """Make a pair with a known answer: a set beside one response of it repeated, its words shuffled, or itself."""
    kind = rng.choice(CHECKS)
    for _ in range(_TRIES):
        prompt, system = rng.choice(contest.prompts), rng.randrange(len(contest.names))
        given = shown_set(contest, system, prompt, texts)
        if given is None or len({" ".join(text.split()).casefold() for text in given.texts}) < FEWEST_DIFFERENT:
            continue
        if kind == "self":
            order = list(range(SHOWN))
            rng.shuffle(order)
            other = ShownSet(system, tuple(given.positions[i] for i in order), tuple(given.texts[i] for i in order))
            return Pair(prompt, given, other, "self", "", (("more_different", "tie"), ("preferred", "tie")))
        if kind == "shuffled" and sum(len(text.split()) for text in given.texts) < FEWEST_WORDS * SHOWN:
            continue
        sides: tuple[Literal["left", "right"], ...] = ("left", "right")
        altered = rng.choice(sides)
        words = shuffled_texts(contest.results[system], prompt, given.texts)
        bad = _repeated(given, rng) if kind == "repeated" else replace(given, texts=words)
        left, right = (bad, given) if altered == "left" else (given, bad)
        good: Literal["left", "right"] = "right" if altered == "left" else "left"
        # Each kind asks only one question: shuffled words may look diverse, and a repeated response may be preferred.
        question: Question = "more_different" if kind == "repeated" else "preferred"
        return Pair(prompt, left, right, kind, altered, ((question, good),))
    return None


def shuffled_texts(result_id: str, prompt_id: str, texts: tuple[str, ...]) -> tuple[str, ...]:
    """Shuffle the words of a check's responses, the same way each time, so that votes need not store the texts."""
    return shuffled_words(AttackedSet("", texts, ()), random.Random(f"shuffled/{result_id}/{prompt_id}"))  # noqa: S311


def _repeated(given: ShownSet, rng: random.Random) -> ShownSet:
    one = rng.randrange(SHOWN)
    return ShownSet(given.system, (given.positions[one],) * SHOWN, (given.texts[one],) * SHOWN)
