"""Read the ratings in returned forms and crowd-platform files, and exclude unreliable raters.

The files are untrusted: only item, rater, question, answer and time are read from them. Texts and response sets come
from the study's own file.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from divbench.core.errors import ConfigurationError
from submissions.judgements.rating_forms import FORM_OF, Item
from submissions.judgements.rating_study import Study
from submissions.untrusted.findings import Findings, Problem, Rejected, openable
from submissions.untrusted.json_files import strict_json
from submissions.untrusted.table_files import read_columns

MAX_FILE_BYTES = 64 * 2**20
MAX_FAILED = 1 / 3
FEWEST_ALIKE = 10
FASTEST = 2.0
RULES = (
    ("checks", "failed more than a third of the attention checks that they answered"),
    ("one_answer", f"gave {FEWEST_ALIKE} or more ratings, all of them the same"),
    ("too_fast", f"took less than {FASTEST:g} s for the median item, where times are known"),
)
"""Reasons to remove a rater; the first that holds is given."""
# Names of columns, ours first, then those of crowd platforms' result files.
_ITEM = ("item", "Input.item", "item_id")
_RATER = ("rater", "WorkerId", "Participant id", "participant_id", "workerId")
_SECONDS = ("seconds", "WorkTimeInSeconds")
_PREFIX = "Answer."
_STATUS, _REJECTED = "AssignmentStatus", "Rejected"  # of Mechanical Turk


@dataclass(frozen=True, slots=True)
class Rating:
    """One answer."""

    item: str
    rater: str  # name of the rater; for a form, its number and random code
    question: str
    answer: int  # number of the answer, from 1
    seconds: float | None  # time on the item; None if it is unknown


@dataclass(frozen=True, slots=True)
class Ratings:
    """The ratings of a study after the removal of unreliable raters."""

    ratings: tuple[Rating, ...]  # ratings of the sets by the kept raters, without checks and training
    raters: int
    removed: dict[str, int]  # number of raters removed, by rule of `RULES`
    removed_ratings: int
    repeated: int  # number of answers that a rater gave twice, of which the first counts, in the order of files' names
    blank: int
    files: int
    unchecked: int  # number of kept raters who answered no check
    ignored: tuple[str, ...] = ()  # names of what is in the folders besides .json and .csv files, without hidden files
    contradicted: int = 0  # number of these that differ from the first
    rejected: int = 0  # number of answers of assignments that were rejected on the crowd platform, which are left out


def read_ratings(study: Study, paths: Sequence[Path]) -> Ratings:
    """Read returned files, and remove raters by the rules.

    Args:
        paths: Files (.json, .csv) and folders of such files.

    Raises:
        ConfigurationError: There are no files.
        Rejected: A file is damaged or belongs to another study; all problems are listed.
    """
    files = list(_files(paths))
    if not files:
        hint = "send the pages in forms/ to raters, and collect the returned files in a folder"
        raise ConfigurationError("there are no ratings yet", hint)
    findings = Findings()
    found: dict[tuple[str, str, str], Rating] = {}
    repeated = contradicted = blank = rejected = 0
    items, questions = study.by_id(), {each.name: len(each.answers) for each in FORM_OF[study.form].questions}
    for path in files:
        for number, row in _rows(path, study, findings):
            if row.get("status") == _REJECTED:
                rejected += 1
            elif row.get("answer") in (None, ""):
                blank += 1
            elif rating := _rating(row, items, questions, path.name, number, findings):
                key = (rating.rater, rating.item, rating.question)
                repeated += key in found
                contradicted += found.setdefault(key, rating).answer != rating.answer
    if findings.rejected():
        raise Rejected("at least one returned file", findings)
    kept, removed, lost = _kept(found.values(), items)
    counted = {each.rater for each in kept}
    checked = {each.rater for each in found.values() if items[each.item].kind == "check"}
    return Ratings(
        tuple(kept),
        len(counted),
        removed,
        lost,
        repeated,
        blank,
        len(files),
        unchecked=len(counted - checked),
        ignored=tuple(_ignored(paths)),
        contradicted=contradicted,
        rejected=rejected,
    )


def _kept(found: Iterable[Rating], items: Mapping[str, Item]) -> tuple[list[Rating], dict[str, int], int]:
    """Return the ratings of the raters who are kept, the number removed by rule, and the number of their ratings."""
    by_rater: dict[str, list[Rating]] = defaultdict(list)
    for each in sorted(found, key=lambda each: (each.rater, each.item, each.question)):
        by_rater[each.rater].append(each)
    kept: list[Rating] = []
    removed = {name: 0 for name, _ in RULES}
    lost = 0
    for own in by_rater.values():
        real = [each for each in own if items[each.item].kind == "rating"]
        reason = _reason(own, real, items)
        if reason is None:
            kept += real
        else:
            removed[reason] += 1
            lost += len(real)
    return kept, removed, lost


def _reason(own: Sequence[Rating], real: Sequence[Rating], items: Mapping[str, Item]) -> str | None:
    """Return the rule that removes a rater; None if the rater is kept."""
    checked: dict[str, bool] = {}
    for each in own:
        item = items[each.item]
        span = (item.expected or {}).get(each.question)
        if item.kind == "check" and span is not None:
            checked[each.item] = checked.get(each.item, True) and span[0] <= each.answer <= span[1]
    if sum(not passed for passed in checked.values()) > MAX_FAILED * len(checked):
        return "checks"
    if len(real) >= FEWEST_ALIKE and len({each.answer for each in real}) == 1:
        return "one_answer"
    times = [each.seconds for each in real if each.seconds is not None]
    return "too_fast" if times and float(np.median(times)) < FASTEST else None


def _files(paths: Sequence[Path]) -> Iterator[Path]:
    for path in paths:
        if path.is_dir():
            yield from sorted(filter(_is_read, path.iterdir()))
        elif path.is_file():
            yield path
        else:
            raise ConfigurationError(f"there is no file {path}", "name files or folders of ratings")


def _is_read(path: Path) -> bool:
    return path.suffix.lower() in (".json", ".csv") and path.is_file()


def _ignored(paths: Sequence[Path]) -> Iterator[str]:
    for folder in paths:
        there = sorted(folder.iterdir()) if folder.is_dir() else []
        yield from (each.name for each in there if not _is_read(each) and not each.name.startswith("."))


def _rows(path: Path, study: Study, findings: Findings) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the unchecked answers in a file: item, rater, question, answer and seconds."""
    if path.suffix.lower() == ".json":
        yield from _of_json(path, study, findings)
        return
    names = [each.name for each in FORM_OF[study.form].questions]
    wanted = ["study", "form", "question", "answer", _STATUS, *_ITEM, *_RATER, *_SECONDS]
    wanted += [prefix + name for name in names for prefix in ("", _PREFIX)]
    table = read_columns(path, wanted, findings, endings=(".json", ".csv"))
    if table is None:
        return
    there = set(table.names)
    item, rater, seconds = (next((name for name in group if name in there), "") for group in (_ITEM, _RATER, _SECONDS))
    answers = {name: next((p + name for p in ("", _PREFIX) if p + name in there), "") for name in names}
    long = {"question", "answer"} <= there
    has_numbers = long or "form" not in names  # in a wide table of *aspects*, form is a question, not the form's number
    if not item or not rater or not (long or any(answers.values())):
        message = "there are no columns of items, raters and answers"
        hint = f"give item, rater and {', '.join(names)}, or a platform's {_ITEM[1]}, {_RATER[1]}, {_PREFIX}{names[0]}"
        findings.error("columns", path.name, None, "", message, hint)
        return
    for number, row in table.rows:
        if row.get("study", study.study) != study.study:
            findings.add(_wrong(path.name, number, "study", f"{row['study']!r} is another study"))
            continue
        who = row[rater]
        if has_numbers and who and "form" in row and rater == "rater":
            number_of_form = _whole(row["form"])  # pandas writes 3 as 3.0 if a cell of the column is empty
            who = f"{row['form'] if number_of_form is None else number_of_form}-{who}"
        common = {"item": row[item], "rater": who, "seconds": row.get(seconds), "status": row.get(_STATUS)}
        if long:
            yield number, common | {"question": row["question"], "answer": row["answer"]}
        else:
            for name, column in answers.items():
                if column:
                    yield number, common | {"question": name, "answer": row[column]}


def _of_json(path: Path, study: Study, findings: Findings) -> Iterator[tuple[int, dict[str, Any]]]:
    if not openable(path, findings, MAX_FILE_BYTES):
        return
    try:
        document = strict_json(path.read_bytes().decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        message = f"not {'UTF-8' if isinstance(error, UnicodeDecodeError) else 'JSON'}: {error}"
        hint = "ask the rater to send the file again, or leave it out"
        findings.error("ratings", path.name, None, "", message, hint)
        return
    if not isinstance(document, dict) or not isinstance(document.get("answers"), list):
        findings.add(_wrong(path.name, None, "", "it is not a file of a form"))
        return
    if document.get("study") != study.study:
        findings.add(_wrong(path.name, None, "study", "it belongs to another study"))
        return
    code = document.get("rater")
    who = f"{document.get('form')}-{code}" if code else ""
    for number, row in enumerate(document["answers"], 1):
        if isinstance(row, dict):
            yield number, row | {"rater": who}
        else:
            findings.add(_wrong(path.name, number, "answers", "not an object"))


def _rating(
    row: Mapping[str, Any],
    items: Mapping[str, Item],
    questions: Mapping[str, int],
    file: str,
    number: int,
    findings: Findings,
) -> Rating | None:
    """Read an answer that is not blank; report an invalid one and return None."""
    item, question, rater, given = (row.get(name) for name in ("item", "question", "rater", "answer"))
    if not isinstance(rater, str) or not 0 < len(rater) <= 200:
        field, message = "rater", "the rater's name is missing"
    elif not isinstance(item, str) or item not in items:
        field, message = "item", f"{item!r} is not an item of this study"
    elif not isinstance(question, str) or question not in questions:
        field, message = "question", f"{question!r} is not a question of this study"
    elif (answer := _whole(given)) is None or not 1 <= answer <= questions[question]:
        field, message = question, f"{given!r} is not a whole number from 1 to {questions[question]}"
    elif (seconds := _number(row.get("seconds"))) is None and row.get("seconds") not in (None, ""):
        # As an unknown time it would keep a rater whom the rule on times removes.
        field, message = (
            "seconds",
            f"{row['seconds']!r} is not a time such as 8.5, or empty if unknown",
        )
    else:
        return Rating(item, rater, question, answer, seconds)
    findings.add(_wrong(file, number, field, message))
    return None


def _whole(given: Any) -> int | None:
    """A whole number, or the text of one; platforms write 4 and 4.0."""
    value = _number(given)
    return int(value) if value is not None and value == int(value) else None


def _number(given: Any) -> float | None:
    try:
        value = float(given) if isinstance(given, int | float | str) and not isinstance(given, bool) else float("nan")
    except (ValueError, OverflowError):
        return None
    return value if np.isfinite(value) and value >= 0 else None


def _wrong(file: str, number: int | None, field: str, message: str) -> Problem:
    return Problem("ratings", "error", file, number, field, message, "repair the file, or leave it out")
