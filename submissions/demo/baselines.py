"""Systems that are known to be bad, made from the texts of another submission.

They stand on the board and in the tests: a metric that ranks one of them first measures something else than diversity.
"""

import random
import string
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from submissions.schema import Generation, Manifest, Origin, Row, Submitter, System
from submissions.storage.submission_folders import Submission

LETTERS = string.ascii_letters + string.digits + string.punctuation + " "


def repeated(row: Row, rng: random.Random) -> tuple[str, ...]:
    """The first response, k times: no diversity at all."""
    return (row.responses[0],) * len(row.responses)


def random_characters(row: Row, rng: random.Random) -> tuple[str, ...]:
    """Characters drawn at random, as many as the responses have: different everywhere, and says nothing."""
    return tuple("".join(rng.choices(LETTERS, k=max(len(text), 1))).strip() or "x" for text in row.responses)


def shuffled_words(row: Row, rng: random.Random) -> tuple[str, ...]:
    """The words of each response in random order: the same vocabulary without the sentences."""
    made = []
    for text in row.responses:
        words = text.split()
        rng.shuffle(words)
        made.append(" ".join(words))
    return tuple(made)


@dataclass(frozen=True, slots=True)
class Baseline:
    """One way to be bad."""

    name: str
    about: str
    fn: Callable[[Row, random.Random], tuple[str, ...]]


BASELINES: tuple[Baseline, ...] = (
    Baseline("repeated", "the first response, k times", repeated),
    Baseline("random-characters", "random characters of the same lengths", random_characters),
    Baseline("shuffled-words", "the words of each response in random order", shuffled_words),
)


def derive(baseline: Baseline, given: Submission, seed: int = 0) -> tuple[Manifest, list[Row]]:
    """A baseline from a submission's texts.

    Args:
        baseline: Of `BASELINES`.
        given: The submission whose texts, lengths or words are used.
        seed: Of the random numbers. Each prompt has its own stream, so that the order of rows does not matter.
    """
    rows = []
    for row in given.rows():
        rng = random.Random(f"{seed}/{baseline.name}/{row.prompt_id}")  # noqa: S311 - not for secrets
        rows.append(Row(row.number, row.prompt_id, row.prompt, baseline.fn(row, rng)))
    values: dict[str, Any] = {"seed": seed if baseline.fn is not repeated else None}
    manifest = Manifest(
        name=baseline.name,
        suite=given.manifest.suite,
        system=System(type="baseline"),
        generation=Generation(k=given.manifest.generation.k, **values),
        submitter=Submitter(name=given.manifest.submitter.name, date=given.manifest.submitter.date),
        origin=Origin(format="derived"),
        notes=f"{baseline.about}, from the submission {given.manifest.name!r} ({given.id})",
    )
    return manifest, rows
