"""Votes as columns of numbers, which the statistics read."""

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from submissions.judgements.votes import ANSWERS, QUESTIONS, Vote

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Booleans = NDArray[np.bool_]
_Name = TypeVar("_Name", str, tuple[str, str])
LEFT, RIGHT, TIE = (ANSWERS.index(name) for name in ("left", "right", "tie"))


@dataclass(frozen=True, slots=True, eq=False)
class Ballots:
    """Votes as columns; names are numbered."""

    systems: tuple[str, ...]
    prompts: tuple[tuple[str, str], ...]
    voters: tuple[str, ...]
    left: Integers  # [votes], the system on the left; −1 for a check
    right: Integers  # [votes], the system on the right; −1 for a check
    prompt: Integers  # [votes]
    voter: Integers  # [votes]
    question: Integers  # [votes], index in `QUESTIONS`
    answer: Integers  # [votes], index in `ANSWERS`: 0 left, 1 right, 2 tie
    expected: Integers  # [votes], the answer that passes a check; −1 if unknown
    turn: Integers  # [votes], rank of each vote in time, from 0
    shown: Integers  # [votes], number of the pair of response sets shown, equal for both arrangements of the sides

    def __len__(self) -> int:
        return len(self.answer)

    def on(self, question: str) -> Booleans:
        """Return which votes answer a question about two systems, [votes]; checks do not.

        Raises:
            ValueError: There is no such question.
        """
        if question not in QUESTIONS:
            raise ValueError(f"{question!r} is no question: {', '.join(QUESTIONS)}")
        return np.asarray((self.question == [*QUESTIONS].index(question)) & (self.left >= 0))

    def points(self) -> Floats:
        """Return the points of each vote for the left system, [votes]: 1, ½ for a tie, or 0."""
        return np.asarray(np.select([self.answer == LEFT, self.answer == TIE], [1.0, 0.5], 0.0))


def ballots_of(votes: Iterable[Vote], label: Callable[[str, str], str] = lambda name, result: name) -> Ballots:
    """Number the names in votes. Systems, prompts and voters are sorted, so that the order of votes has no effect.

    Args:
        votes: Votes without duplicates (`submissions.judgements.votes.unique`).
        label: Function from the name of a system, which several may have, and the id of its result to what it is called
            here. Everything else is the same, so that weights apply to any label.
    """
    rows = sorted(votes, key=lambda each: each.vote_id)
    played = [not each.check for each in rows]
    sides = [(label(each.left, each.left_result), label(each.right, each.right_result)) for each in rows]
    systems = sorted({name for two, real in zip(sides, played, strict=True) if real for name in two})
    prompts, prompt = _numbered([(each.suite, each.prompt_id) for each in rows])
    voters, voter = _numbered([each.voter for each in rows])
    place = {name: i for i, name in enumerate(systems)}
    sets = [
        frozenset({(each.left_result, each.left_positions), (each.right_result, each.right_positions)}) for each in rows
    ]
    keys: dict[Hashable, int] = {}
    shown = [
        keys.setdefault((each.suite, each.prompt_id, pair), len(keys)) for each, pair in zip(rows, sets, strict=True)
    ]
    return Ballots(
        tuple(systems),
        tuple(prompts),
        tuple(voters),
        _integers([place[left] if real else -1 for (left, _), real in zip(sides, played, strict=True)]),
        _integers([place[right] if real else -1 for (_, right), real in zip(sides, played, strict=True)]),
        prompt,
        voter,
        _integers([QUESTIONS.index(each.question) for each in rows]),
        _integers([ANSWERS.index(each.answer) for each in rows]),
        _integers([ANSWERS.index(each.expected) if each.expected else -1 for each in rows]),
        np.argsort(np.argsort(_integers([each.time for each in rows]), kind="stable")),
        _integers(shown),
    )


def totals(groups: Integers, values: Floats, count: int = 0) -> Floats:
    """Sum values by group: [groups].

    Args:
        groups: [values], the group of each value, from 0.
        count: Minimum number of groups.
    """
    return np.bincount(groups, values, minlength=count).astype(np.float64)


def _numbered(names: Sequence[_Name]) -> tuple[list[_Name], Integers]:
    known = sorted(set(names))
    place = {name: i for i, name in enumerate(known)}
    return known, _integers([place[name] for name in names])


def _integers(values: Sequence[int]) -> Integers:
    return np.array(values, np.int64)
