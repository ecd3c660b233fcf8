"""The response sets that the arena can show, and the pair that a visitor judges next: informative, or a check.

The draw of a pair depends only on its arguments. Visitors cannot choose a pair; each stays until it is answered.
"""

import math
import random
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Literal

import numpy as np
import pyarrow.parquet as pq

from benchmark.scoring.estimate import Floats
from benchmark.scoring.results import PER_PROMPT_FILE
from divbench.core.errors import InputError
from leaderboard.data.board import Board, Entry
from leaderboard.data.live_results import LiveResults
from leaderboard.data.scores import prompt_row
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
    """Choose the pair to show a visitor; None if no prompt has responses of two systems, or all pairs are judged.

    One pair in ten is a check. Some of the others repeat a pair that other visitors have judged. The rest are drawn at
    random; systems with few votes, systems of similar strength (in log-odds, 0 if unknown), prompts on which metrics
    disagree and pairs that are new to the visitor are more likely.
    """
    counts, judged = _counts(contest, votes, voter)
    judged_prompts = Counter((first, second) for first, second, _ in judged)
    new = [
        (one, other)
        for one, other in combinations(range(len(contest.names)), 2)
        if contest.names[one] != contest.names[other] and judged_prompts[one, other] < len(contest.prompts)
    ]
    if not new:
        return None
    if rng.random() < CHECK_SHARE and (pair := _check(contest, texts, rng)) is not None:
        return pair
    for _ in range(_TRIES):
        first, second, prompt = _draw(contest, counts, judged, new, strengths, rng)
        sides = [shown_set(contest, system, prompt, texts) for system in (first, second)]
        rng.shuffle(sides)
        left, right = sides
        if left is not None and right is not None:
            return Pair(prompt, left, right)
    return None


def shown_set(contest: Contest, system: int, prompt_id: str, texts: Texts) -> ShownSet | None:
    """Five responses of a set, the same in the same order for all visitors; None if it has fewer or is too long."""
    responses = texts(system, prompt_id)
    if responses is None or len(responses) < SHOWN:
        return None
    rng = random.Random(f"{contest.results[system]}/{prompt_id}")  # noqa: S311 - the same for all visitors
    positions = tuple(rng.sample(range(len(responses)), SHOWN))
    shown = tuple(responses[position] for position in positions)
    return None if sum(map(len, shown)) > MOST_LETTERS else ShownSet(system, positions, shown)


_Key = tuple[int, int, str]


def _counts(contest: Contest, votes: Iterable[Vote], voter: str) -> tuple[Counter[_Key], set[_Key]]:
    """The number of judgements of each (system, system, prompt), lower index first, and the ones that `voter` made."""
    systems = {result: system for system, older in enumerate(contest.older) for result in older}
    systems |= {result: system for system, result in enumerate(contest.results)}
    prompts = set(contest.prompts)
    counts: Counter[_Key] = Counter()
    judged: set[_Key] = set()
    for vote in votes:
        if vote.check or vote.question != "preferred" or vote.suite != contest.suite or vote.prompt_id not in prompts:
            continue
        one, other = systems.get(vote.left_result), systems.get(vote.right_result)
        if one is None or other is None or one == other:
            continue
        key = (min(one, other), max(one, other), vote.prompt_id)
        counts[key] += 1
        if vote.voter == voter:
            judged.add(key)
    return counts, judged


def _draw(
    contest: Contest,
    counts: Counter[_Key],
    judged: set[_Key],
    new: Sequence[tuple[int, int]],
    strengths: Mapping[str, float],
    rng: random.Random,
) -> _Key:
    if rng.random() < REPEAT_SHARE:
        again = sorted(key for key, count in counts.items() if count < MOST_REPEATS and key not in judged)
        if again:
            return rng.choice(again)
    first, second = _draw_systems(contest, counts, new, strengths, rng)
    weights = _prompt_weights(contest, first, second)
    for i, prompt in enumerate(contest.prompts):
        key = (first, second, prompt)
        weights[i] *= 0 if key in judged else 1 / (1 + counts[key])
    return first, second, rng.choices(contest.prompts, weights.tolist())[0]


def _draw_systems(
    contest: Contest,
    counts: Counter[_Key],
    pairs: Sequence[tuple[int, int]],
    strengths: Mapping[str, float],
    rng: random.Random,
) -> tuple[int, int]:
    """Draw one of the pairs of systems.

    The weight of a pair is the information in one more vote, which is the variance p (1 − p) of its outcome, divided by
    the square root of one plus the votes of each system.
    """
    votes = [0] * len(contest.names)
    for (one, other, _), count in counts.items():
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
    known = np.isfinite(gaps)
    count = known.sum(axis=0)
    mean = np.where(known, gaps, 0.0).sum(axis=0) / np.maximum(count, 1)
    return np.asarray(np.where(count > 0, _EVEN + (1 - _EVEN) * (1 - np.abs(mean)), _EVEN))


def _check(contest: Contest, texts: Texts, rng: random.Random) -> Pair | None:
    """Make a pair with a known answer: a set beside one response of it repeated, its words shuffled, or itself."""
    kind = rng.choice(CHECKS)
    for _ in range(_TRIES):
        prompt, system = rng.choice(contest.prompts), rng.randrange(len(contest.names))
        shown = shown_set(contest, system, prompt, texts)
        if shown is None or len({" ".join(text.split()).casefold() for text in shown.texts}) < FEWEST_DIFFERENT:
            continue
        if kind == "self":
            order = list(range(SHOWN))
            rng.shuffle(order)
            other = ShownSet(system, tuple(shown.positions[i] for i in order), tuple(shown.texts[i] for i in order))
            return Pair(prompt, shown, other, "self", "", (("more_different", "tie"), ("preferred", "tie")))
        if kind == "shuffled" and sum(len(text.split()) for text in shown.texts) < FEWEST_WORDS * SHOWN:
            continue
        sides: tuple[Literal["left", "right"], ...] = ("left", "right")
        altered = rng.choice(sides)
        words = shuffled_texts(contest.results[system], prompt, shown.texts)
        bad = _repeated(shown, rng) if kind == "repeated" else replace(shown, texts=words)
        left, right = (bad, shown) if altered == "left" else (shown, bad)
        good: Literal["left", "right"] = "right" if altered == "left" else "left"
        # Each kind asks only one question: shuffled words may look diverse, and a repeated response may be preferred.
        question: Question = "more_different" if kind == "repeated" else "preferred"
        return Pair(prompt, left, right, kind, altered, ((question, good),))
    return None


def shuffled_texts(result_id: str, prompt_id: str, texts: tuple[str, ...]) -> tuple[str, ...]:
    """Shuffle the words of a check's responses, the same way each time, so that votes need not store the texts."""
    return shuffled_words(AttackedSet("", texts, ()), random.Random(f"shuffled/{result_id}/{prompt_id}"))  # noqa: S311


def _repeated(shown: ShownSet, rng: random.Random) -> ShownSet:
    i = rng.randrange(SHOWN)
    return ShownSet(shown.system, (shown.positions[i],) * SHOWN, (shown.texts[i],) * SHOWN)


@dataclass(frozen=True, slots=True, eq=False)
class Arena:
    """A suite's contest and the source of its texts."""

    board: Board
    contest: Contest
    entries: tuple[Entry, ...]  # [systems], the entries in the order of the contest

    def texts(self, system: int, prompt_id: str) -> Sequence[str] | None:
        """The responses of a system to a prompt; None if there are none or their file is gone."""
        return responses_of(self.entries[system], prompt_id)[1]

    def prompt(self, prompt_id: str) -> str:
        """The text of a prompt; empty if no result has it."""
        texts = (responses_of(entry, prompt_id)[0] for entry in self.entries)
        return next((text for text in texts if text), "")


def responses_of(entry: Entry, prompt_id: str) -> tuple[str | None, list[str] | None]:
    """The prompt and the responses in a result's row; each is None if it is missing or not text."""
    try:
        row = prompt_row(entry, prompt_id)
    except InputError:
        row = None
    if row is None or row.get("text_free"):
        return None, None
    prompt, responses = row.get("prompt"), row.get("responses")
    are_texts = isinstance(responses, list) and all(isinstance(text, str) for text in responses)
    return (prompt if isinstance(prompt, str) else None), (responses if are_texts else None)


def arenas(live: LiveResults) -> tuple[Arena, ...]:
    """The arenas of a snapshot: for each suite, the board with the most systems that have texts.

    Known-bad baselines are left out, because checks already test voters; reference results have no texts.
    """
    best: dict[str, tuple[Board, list[Entry]]] = {}
    for board in live.snapshot().boards:
        usable = [entry for entry in board.entries if board.k >= SHOWN and _has_texts(entry)]
        names = {entry.result.manifest.name for entry in usable}
        if len(names) >= 2 and len(usable) > len(best.get(board.suite, (board, []))[1]):
            best[board.suite] = board, usable
    contests = []
    for board, usable in best.values():
        with suppress(InputError):  # its files are gone, which other pages report
            contests.append(_arena(live, board, usable))
    return tuple(contests)


def _has_texts(entry: Entry) -> bool:
    if entry.result.manifest.system.type == "baseline":
        return False
    try:
        return "responses" in pq.read_schema(entry.folder / PER_PROMPT_FILE).names
    except (OSError, ValueError):
        return False


def _arena(live: LiveResults, board: Board, entries: Sequence[Entry]) -> Arena:
    scores, places = live.scores(board), [board.entries.index(entry) for entry in entries]
    columns = [column for column in board.columns if column.direction]
    matrices = [scores.matrix(column)[:, places] * column.direction for column in columns]
    contest = Contest(
        suite=board.suite,
        names=tuple(entry.result.manifest.name for entry in entries),
        results=tuple(entry.result.result_id for entry in entries),
        prompts=scores.prompts,
        older=tuple(entry.older for entry in entries),
        scores=np.stack(matrices) if matrices else np.zeros((0, len(scores.prompts), len(entries))),
    )
    return Arena(board, contest, tuple(entries))
