"""Collect the problems of untrusted files, in bounded memory however bad they are; limit sizes before parsing."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

from divbench.core.errors import InputError, counted
from submissions.untrusted.plain_text import one_line

KEPT_PER_CHECK = 200
MAX_FILE_BYTES = 512 * 2**20
MAX_ROWS = 1_000_000
_MAX_LETTERS = 500
_QUOTED = 3  # errors in the text of an exception


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong with a submission."""

    check: str
    severity: Literal["error", "warning"]  # a submission with an `error` is rejected; a `warning` is shown and counted
    file: str  # name of the file inside the submission, or as given
    row: int | None  # number of the row, from 1; None if the problem does not concern one row
    field: str  # field, such as `responses[3]` or `system.type`; empty if the problem does not concern one field
    message: str
    hint: str  # suggested fix


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

    def error(self, check: str, file: str, row: int | None, field: str, message: str, hint: str) -> None:
        """Record one error."""
        self.add(Problem(check, "error", file, row, field, message, hint))

    def warning(self, check: str, file: str, row: int | None, field: str, message: str, hint: str) -> None:
        """Record one warning."""
        self.add(Problem(check, "warning", file, row, field, message, hint))

    def renamed(self, rename: Callable[[Problem], Problem]) -> "Findings":
        """Return the same findings with each problem renamed; the counts stay."""
        findings = Findings()
        findings.problems = [rename(problem) for problem in self.problems]
        findings._counts = self._counts.copy()
        return findings

    def kinds(self) -> list[list[Problem]]:
        """Return the problems by kind, errors first: a mistake in every row is one kind."""
        alike: dict[tuple[str, ...], list[Problem]] = {}
        for p in sorted(self.problems, key=lambda p: p.severity != "error"):
            alike.setdefault((p.check, p.severity, p.file, p.field.partition("[")[0], p.message, p.hint), []).append(p)
        return list(alike.values())

    def count(self, severity: str) -> int:
        """Return the number of problems of a severity, kept or not."""
        return sum(number for (_, of), number in self._counts.items() if of == severity)

    def rejected(self) -> bool:
        """Whether any problem is an error."""
        return self.count("error") > 0

    def by_check(self) -> dict[str, int]:
        """Return the number of problems of each check, sorted by its name."""
        counts: Counter[str] = Counter()
        for (check, _), number in self._counts.items():
            counts[check] += number
        return dict(sorted(counts.items()))

    def first_error(self) -> tuple[str, str]:
        """Return the first error and its hint, in words."""
        kind = next(kind for kind in self.kinds() if kind[0].severity == "error")
        return f"{place(kind)}: {kind[0].message}", kind[0].hint

    def as_json(self) -> dict[str, Any]:
        """Return the findings as `--json` prints them."""
        return {
            "errors": self.count("error"),
            "warnings": self.count("warning"),
            "by_check": self.by_check(),
            "problems": [asdict(problem) | {"field": problem.field or None} for problem in self.problems],
        }


def _short(text: str) -> str:
    return text if len(text) <= _MAX_LETTERS else f"{text[:_MAX_LETTERS]}…"


class Rejected(InputError):
    """A file or folder is rejected; `findings` lists everything that is wrong with it.

    Its text has the first errors, for callers in Python. A command prints `message` below the table of all.
    """

    def __init__(self, what: str, findings: Findings) -> None:
        super().__init__(f"{what} was rejected: {counted(findings.count('error'), 'problem')}")
        self.findings = findings

    def __str__(self) -> str:
        errors = [kind for kind in self.findings.kinds() if kind[0].severity == "error"]
        others = self.findings.count("error") - sum(map(len, errors[:_QUOTED]))
        return "; ".join(
            [self.message, *map(_in_words, errors[:_QUOTED]), *([f"and {others:,} more"] if others else [])]
        )

    def as_json(self) -> dict[str, Any]:
        """Return the error with the whole list of problems."""
        return super().as_json() | self.findings.as_json()


def _in_words(kind: Sequence[Problem]) -> str:
    """Return problems of a kind as one line: file, rows, field, what is wrong, and the suggested fix."""
    problem = kind[0]
    return one_line(f"{place(kind)}: {problem.message}" + (f" ({problem.hint})" if problem.hint else ""))


def place(kind: Sequence[Problem]) -> str:
    """Return the file, rows and field of problems of one kind."""
    numbers = sorted({problem.row for problem in kind if problem.row is not None})
    rows = f"row {numbers[0]}" + (f" and {len(numbers) - 1:,} more" if len(numbers) > 1 else "") if numbers else ""
    field = kind[0].field if len(kind) == 1 else kind[0].field.partition("[")[0]
    return ", ".join(filter(None, (kind[0].file, rows, field)))


def openable(path: Path, findings: Findings, limit: int = MAX_FILE_BYTES, name: str = "") -> bool:
    """Whether a path is a regular, readable, non-empty file within the size limit; problems name it by `name`."""
    problem = None
    name = name or path.name
    try:
        if not path.is_file() or path.is_symlink():
            problem = ("file", f"{name} is missing or is not a regular file", "add it")
        else:
            with path.open("rb") as file:
                size = file.seek(0, 2)
            if size == 0:
                problem = ("file", "the file is empty", "write it again")
            elif size > limit:
                problem = ("sizes", f"{size:,} bytes", f"at most {limit:,} are allowed")
    except OSError as error:
        problem = ("file", f"cannot be opened: {error.strerror or error}", "allow reading it")
    if problem is not None:
        check, message, hint = problem
        findings.error(check, name, None, "", message, hint)
    return problem is None


def within_row_limit(rows: int, name: str, findings: Findings) -> bool:
    """Whether a file has no more rows than the limit."""
    if rows > MAX_ROWS:
        findings.error("sizes", name, None, "", f"{rows:,} rows", f"at most {MAX_ROWS:,} are allowed")
    return rows <= MAX_ROWS
