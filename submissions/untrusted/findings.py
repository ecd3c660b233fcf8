"""Collect problems, in bounded memory however bad the input is."""

from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any

from divbench.core.errors import InputError, counted
from submissions.schema import Problem
from submissions.untrusted.plain_text import one_line

KEPT_PER_CHECK = 200
LETTERS_KEPT = 500
_TOLD = 3  # errors in the text of an exception


class Findings:
    """Problems in the order found. After the first 200 of a check they are only counted, and long texts are cut."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self._counts: Counter[tuple[str, str]] = Counter()

    def add(self, problem: Problem) -> None:
        """Record one problem."""
        key = (problem.check, problem.severity)
        self._counts[key] += 1
        if self._counts[key] <= KEPT_PER_CHECK:
            field, message = _short(problem.field), _short(problem.message)  # both may quote untrusted text
            self.problems.append(replace(problem, field=field, message=message))

    def renamed(self, rename: Callable[[Problem], Problem]) -> "Findings":
        """The same findings with each problem renamed; the counts stay."""
        made = Findings()
        made.problems = [rename(problem) for problem in self.problems]
        made._counts = self._counts.copy()
        return made

    def count(self, severity: str) -> int:
        """Return the number of problems of a severity, kept or not."""
        return sum(number for (_, found), number in self._counts.items() if found == severity)

    def rejected(self) -> bool:
        """Whether any problem is an error."""
        return self.count("error") > 0

    def by_check(self) -> dict[str, int]:
        """Return the number of problems of each check, sorted by its name."""
        counts: Counter[str] = Counter()
        for (check, _), number in self._counts.items():
            counts[check] += number
        return dict(sorted(counts.items()))


def _short(text: str) -> str:
    return text if len(text) <= LETTERS_KEPT else f"{text[:LETTERS_KEPT]}…"


class Rejected(InputError):
    """A file or folder is rejected; `findings` lists everything that is wrong with it.

    Its text has the first errors, for callers in Python. A command prints `message` below the table of all.
    """

    def __init__(self, what: str, findings: Findings) -> None:
        super().__init__(f"{what} was rejected: {counted(findings.count('error'), 'problem')}")
        self.findings = findings

    def __str__(self) -> str:
        errors = [problem for problem in self.findings.problems if problem.severity == "error"]
        more = self.findings.count("error") - len(errors[:_TOLD])
        told = [_in_words(problem) for problem in errors[:_TOLD]] + ([f"and {more:,} more"] if more else [])
        return "; ".join([self.message, *told])

    def as_json(self) -> dict[str, Any]:
        """The error with the whole list of problems."""
        return super().as_json() | problems_json(self.findings)


def _in_words(problem: Problem) -> str:
    """File, row, field, what is wrong, and the suggested fix."""
    row = None if problem.row is None else f"row {problem.row}"
    where = ", ".join(part for part in (problem.file, row, problem.field) if part)
    return one_line(f"{where}: {problem.message}" + (f" ({problem.hint})" if problem.hint else ""))


def problems_json(findings: Findings) -> dict[str, Any]:
    """The findings as `--json` prints them."""
    return {
        "errors": findings.count("error"),
        "warnings": findings.count("warning"),
        "by_check": findings.by_check(),
        "problems": [asdict(problem) | {"field": problem.field or None} for problem in findings.problems],
    }
