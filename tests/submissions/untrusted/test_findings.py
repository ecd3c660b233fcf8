"""Findings stay small however bad the input is, and are printed as text, not as commands to a terminal."""

import pickle
from dataclasses import replace
from io import StringIO
from pathlib import Path

from rich.console import Console

from divbench.core.tables import plain
from submissions.checking.printing import print_findings, print_report
from submissions.schema import Problem
from submissions.untrusted.findings import KEPT_PER_CHECK, LETTERS_KEPT, Findings, Rejected, problems_json
from tests.conftest import write_toy
from tests.submissions.conftest import change_manifest, check, jsonl, rejected

ERROR = Problem("k", "error", "generations.parquet", 3, "responses", "it is wrong", "mend it")
WARNING = replace(ERROR, check="blanks", severity="warning")


def many(number: int) -> Findings:
    findings = Findings()
    for row in range(1, number + 1):
        findings.add(replace(WARNING, row=row))
    return findings


def printed(findings: Findings, width: int = 200) -> str:
    out = StringIO()
    print_findings(findings, Console(file=out, width=width, force_terminal=True, highlight=False))
    return out.getvalue()


def test_a_rejection_comes_back_from_another_process() -> None:
    findings = many(1)
    findings.add(ERROR)
    made = Rejected("a folder", findings)
    copy = pickle.loads(pickle.dumps(made))  # noqa: S301
    assert str(copy) == str(made)
    assert (copy.message, copy.hint, copy.findings.problems) == (made.message, made.hint, findings.problems)


def test_the_first_problems_of_each_check_are_kept_and_all_are_counted() -> None:
    findings = many(100_000)
    findings.add(ERROR)
    assert findings.problems == [*(replace(WARNING, row=i) for i in range(1, KEPT_PER_CHECK + 1)), ERROR]
    assert findings.count("warning") == 100_000
    assert findings.count("error") == 1
    assert findings.by_check() == {"blanks": 100_000, "k": 1}


def test_errors_and_warnings_of_one_check_are_kept_apart() -> None:
    findings = many(300)
    findings.add(replace(WARNING, severity="error"))
    assert findings.rejected()
    assert findings.problems[-1].severity == "error"


def test_warnings_alone_do_not_refuse() -> None:
    assert not Findings().rejected()
    assert not many(1).rejected()


def test_a_narrow_terminal_has_space_for_the_message_and_the_hint() -> None:
    findings = Findings()
    findings.add(replace(ERROR, message="no word is broken here", hint="mend it by writing something else"))
    shown = printed(findings, 80)
    assert "no word is broken" in shown
    assert "mend it by writing" in shown
    assert "row 3" in shown


def test_long_texts_are_cut() -> None:
    findings = Findings()
    findings.add(replace(ERROR, message="m" * 10**6, field="f" * 10**6))
    (kept,) = findings.problems
    assert kept.message == "m" * LETTERS_KEPT + "…"
    assert kept.field == "f" * LETTERS_KEPT + "…"
    findings.add(replace(ERROR, message="m" * LETTERS_KEPT))
    assert findings.problems[1].message == "m" * LETTERS_KEPT


def test_renamed_findings_keep_their_counts() -> None:
    findings = many(1000)
    other = findings.renamed(lambda problem: replace(problem, file="in.jsonl"))
    assert {p.file for p in other.problems} == {"in.jsonl"}
    assert other.count("warning") == findings.count("warning") == 1000
    other.add(WARNING)
    assert (other.count("warning"), findings.count("warning")) == (1001, 1000)


def test_a_file_with_100_000_problems_gives_a_short_list(tmp_path: Path) -> None:
    problems = rejected(jsonl(tmp_path / "in.jsonl", [b"{]"] * 100_000))
    assert [p.row for p in problems] == list(range(1, KEPT_PER_CHECK + 1))


def test_the_json_has_every_kept_problem_and_the_counts() -> None:
    findings = many(201)
    findings.add(replace(ERROR, row=None, field=""))
    made = problems_json(findings)
    assert (made["errors"], made["warnings"], made["by_check"]) == (1, 201, {"blanks": 201, "k": 1})
    assert len(made["problems"]) == 201
    assert made["problems"][-1] == {
        "check": "k",
        "severity": "error",
        "file": "generations.parquet",
        "row": None,
        "field": None,
        "message": "it is wrong",
        "hint": "mend it",
    }
    error = Rejected("x", findings).as_json()
    assert error["error"] == {"kind": "Rejected", "message": "x was rejected: 1 problem", "hint": ""}
    assert error["problems"] == made["problems"]


def test_the_text_of_the_error_has_the_first_problems() -> None:
    """In Python there is no table of problems beside the error."""
    findings = many(1)
    findings.add(replace(ERROR, row=4, field="label", message="null\x1b[31m"))
    first = "generations.parquet, row 4, label: null\\x1b[31m (mend it)"
    assert str(Rejected("x", findings)) == f"x was rejected: 1 problem; {first}"
    for _ in range(249):
        findings.add(replace(ERROR, row=None, field=""))
    told = str(Rejected("x", findings))
    assert told.startswith(f"x was rejected: 250 problems; {first}; generations.parquet: it is wrong (mend it); ")
    assert told.endswith("; and 247 more")


def test_text_of_strangers_is_printed_as_text() -> None:
    findings = Findings()
    findings.add(replace(ERROR, message="[red]not red[/red] \x1b]0;title\a \u202etsal\u202c [/]"))
    text = printed(findings)
    for part in ("[red]not red[/red]", r"\x1b]0;title\x07", r"\u202etsal\u202c"):
        assert part in text
    for control in ("\x1b]", "\a", "\u202e"):
        assert control not in text


def test_what_is_shown_of_a_text_is_printable() -> None:
    assert plain("né\t大\n\x9b\u200b").plain == r"né\t大\n\x9b\u200b"


def test_errors_are_printed_before_warnings_and_not_all_of_them() -> None:
    findings = Findings()
    for row in range(1, 101):
        findings.add(replace(WARNING, row=row, message=f"blank response of {row}"))
    findings.add(replace(ERROR, message="the one error"))
    text = printed(findings)
    assert text.index("the one error") < text.index("blanks")
    assert text.count("blanks") == 49
    assert "1 error, 100 warnings" in text
    assert "Only the first 50 kinds are shown" in text


def test_what_is_wrong_in_every_row_is_one_line() -> None:
    text = printed(many(100))
    assert text.count("blanks") == 1
    assert "1 and 99 more" in text
    assert "0 errors, 100 warnings" in text
    assert "Only the first" not in text


def test_problems_beyond_those_listed_are_told_as_such() -> None:
    text = printed(many(250))
    assert "1 and 199 more" in text
    assert "Only the first 200 problems of each check are listed." in text
    assert "kinds" not in text


def test_no_problems_print_only_the_counts() -> None:
    assert printed(Findings()).strip() == "0 errors, 0 warnings"


def test_a_report_says_what_was_accepted_and_counts_its_responses(tmp_path: Path) -> None:
    out = StringIO()
    report = check(change_manifest(write_toy(tmp_path / "good"), name="[bold]name"))
    print_report(report, Console(file=out, width=200, highlight=False))
    assert report.submission is not None
    assert f"Accepted: [bold]name as {report.submission.id}" in out.getvalue()
    assert "suite toy, k = 3, system type model" in out.getvalue()
    assert "12 responses: 0 blank, 0 placeholders, 0 refusals, 0 truncated, 0 repeated" in out.getvalue()
