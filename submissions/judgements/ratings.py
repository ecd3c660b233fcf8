"""Reads the ratings in returned forms, and excludes unreliable raters.

The files are untrusted: only item, rater, question, answer and time are read from them. Texts and response sets come
from the study's own file.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from divbench.core.errors import ConfigurationError
from submissions.judgements.rating_study import FORM_OF, Item, Study
from submissions.untrusted.findings import Findings, Rejected, openable
from submissions.untrusted.json_files import strict_model

MAX_FILE_BYTES = 64 * 2**20
MAX_FAILED = 1 / 3
FEWEST_ALIKE = 10
FASTEST = 2.0
# Reasons to remove a rater; the first that holds is given.
RULES = {
    "checks": "failed more than a third of the attention checks that they answered",
    "one_answer": f"gave {FEWEST_ALIKE} or more ratings, all of them the same",
    "too_fast": f"took less than {FASTEST:g} s for the median item, where times are known",
}


class _Answer(BaseModel):
    model_config = ConfigDict(strict=True, allow_inf_nan=False)
    item: str
    question: str
    answer: int | None
    seconds: Annotated[float, Field(ge=0)] | None = None


class _Returned(BaseModel):
    """The file that a page lets a rater download."""

    model_config = ConfigDict(strict=True)
    study: str
    form: int
    rater: Annotated[str, Field(min_length=1, max_length=200)]
    answers: list[_Answer]


@dataclass(frozen=True, slots=True)
class Rating:
    """One answer."""

    item: str
    rater: str  # number of the rater's form, and the page's random code
    question: str
    answer: int  # number of the answer, from 1
    seconds: float | None = None  # time on the item; None if it is unknown


@dataclass(frozen=True, slots=True)
class Ratings:
    """The ratings of a study after the removal of unreliable raters."""

    ratings: tuple[Rating, ...]  # ratings of the sets by the counted raters, without checks and training
    raters: int
    removed: Mapping[str, int]  # number of raters removed, by rule of `RULES`
    removed_ratings: int
    repeated: int  # number of answers that a rater gave twice, of which the first counts, in the order of files' names
    blank: int
    files: int
    unchecked: int  # number of counted raters who answered no check


def read_ratings(study: Study, paths: Sequence[Path]) -> Ratings:
    """Read returned .json files, and those in folders, and remove raters by the rules."""
    if absent := [path for path in paths if not path.exists()]:
        raise ConfigurationError(f"there is no file {absent[0]}", "name files or folders of ratings")
    files = [
        file
        for path in paths
        for file in (sorted(path.iterdir()) if path.is_dir() else [path])
        if file.suffix.lower() == ".json" or file == path
    ]
    if not files:
        hint = "send the pages in forms/ to raters, and collect the returned files in a folder"
        raise ConfigurationError("there are no ratings yet", hint)
    findings = Findings()
    ratings: dict[tuple[str, str, str], Rating] = {}
    repeated = blank = 0
    items = study.by_id()
    for path in files:
        for rating in _answers(path, study, items, findings):
            if rating is None:
                blank += 1
                continue
            key = (rating.rater, rating.item, rating.question)
            repeated += key in ratings
            ratings.setdefault(key, rating)
    if findings.rejected():
        raise Rejected("at least one returned file", findings)
    counted, removed, removed_ratings = _reliable(ratings.values(), items)
    raters = {rating.rater for rating in counted}
    checked = {rating.rater for rating in ratings.values() if items[rating.item].kind == "check"}
    return Ratings(
        tuple(counted), len(raters), removed, removed_ratings, repeated, blank, len(files), len(raters - checked)
    )


def _answers(path: Path, study: Study, items: Mapping[str, Item], findings: Findings) -> list[Rating | None]:
    """Return the answers in a file, None for blank ones, and report all that is wrong."""
    hint = "ask the rater to send the file again, or leave it out"
    if not openable(path, findings, MAX_FILE_BYTES):
        return []
    try:
        returned = strict_model(path.read_bytes().removeprefix(b"\xef\xbb\xbf"), _Returned.model_validate_json)
    except ValueError as error:
        findings.error("ratings", path.name, None, "", str(error), hint)
        return []
    if returned.study != study.study:
        findings.error("ratings", path.name, None, "study", "it belongs to another study", hint)
        return []
    questions = {question.name: len(question.answers) for question in FORM_OF[study.form].questions}
    rater = f"{returned.form}-{returned.rater}"
    ratings: list[Rating | None] = []
    for number, row in enumerate(returned.answers, 1):
        if row.item not in items:
            field, message = "item", f"{row.item[:100]!r} is not an item of this study"
        elif row.question not in questions:
            field, message = "question", f"{row.question[:100]!r} is not a question of this study"
        elif row.answer is not None and not 1 <= row.answer <= questions[row.question]:
            field, message = row.question, f"{row.answer} is not a number from 1 to {questions[row.question]}"
        else:
            blank = row.answer is None
            ratings.append(None if blank else Rating(row.item, rater, row.question, row.answer or 0, row.seconds))
            continue
        findings.error("ratings", path.name, number, field, message, hint)
    return ratings


def _reliable(ratings: Iterable[Rating], items: Mapping[str, Item]) -> tuple[list[Rating], dict[str, int], int]:
    """Return the ratings of reliable raters, the number of raters removed by rule, and that of their ratings."""
    by_rater: dict[str, list[Rating]] = defaultdict(list)
    for rating in sorted(ratings, key=lambda rating: (rating.rater, rating.item, rating.question)):
        by_rater[rating.rater].append(rating)
    reliable: list[Rating] = []
    removed, removed_ratings = dict.fromkeys(RULES, 0), 0
    for answers in by_rater.values():
        real = [rating for rating in answers if items[rating.item].kind == "rating"]
        if reason := _reason(answers, real, items):
            removed[reason] += 1
            removed_ratings += len(real)
        else:
            reliable += real
    return reliable, removed, removed_ratings


def _reason(answers: Sequence[Rating], real: Sequence[Rating], items: Mapping[str, Item]) -> str | None:
    """Return the rule that removes a rater, if any."""
    passed: dict[str, bool] = {}
    for rating in answers:
        item = items[rating.item]
        if item.kind == "check" and item.expected is not None and rating.question in item.expected:
            low, high = item.expected[rating.question]
            passed[rating.item] = passed.get(rating.item, True) and low <= rating.answer <= high
    if list(passed.values()).count(False) > MAX_FAILED * len(passed):
        return "checks"
    if len(real) >= FEWEST_ALIKE and len({rating.answer for rating in real}) == 1:
        return "one_answer"
    times = [rating.seconds for rating in real if rating.seconds is not None]
    return "too_fast" if times and float(np.median(times)) < FASTEST else None
