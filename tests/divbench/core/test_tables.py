"""One table, four writers: what is untrusted stays text, and numbers keep their digits."""

import csv
import io
from pathlib import Path

import pytest
from markdown_it import MarkdownIt
from rich.console import Console

from divbench.core.errors import ConfigurationError
from divbench.core.tables import (
    Report,
    Styled,
    Table,
    check_report_path,
    escape_csv,
    escape_markdown,
    interval,
    number,
    p_value,
    plain,
    print_blocks,
    to_csv,
    to_markdown,
    with_interval,
    write_report,
)

HOSTILE = (
    "=HYPERLINK(1)",
    "<script>alert(1)</script>",
    "a | b",
    "[red]x[/red]",
    "[a](javascript:x)",
    "[0, 1](javascript:x)",
    "![a](b)",
    "`code` *b* __i__",
    "\x1b[31mred",
    "two\nlines",
    "&lt;b&gt;",
    "~~gone~~",
    "\\|",
    "# heading",
    "`` ` ``",
)


def printed(*blocks: str | Styled | Table, width: int = 200) -> str:
    """What a terminal of this width gets."""
    console = Console(file=io.StringIO(), width=width, force_terminal=False, emoji=False)
    print_blocks(blocks, console)
    file = console.file
    assert isinstance(file, io.StringIO)
    return file.getvalue()


def cells_of(markdown: str) -> list[tuple[str, list[str]]]:
    """Text and kinds of inline markup of each cell, by an independent parser."""
    found = []
    for token in MarkdownIt("gfm-like", {"linkify": False}).parse(markdown):
        if token.type == "inline" and token.level == 4:
            children = token.children or []
            kinds = [child.type for child in children if child.type != "text"]
            found.append(("".join(child.content for child in children), kinds))
    return found


@pytest.mark.parametrize("text", HOSTILE)
def test_untrusted_text_stays_text_in_every_format(text: str) -> None:
    table = Table("", ("name", "n"), ((text, 1), ("other", 2)))
    shown = " ".join(text.split()).replace("\x1b", "\\x1b")
    assert cells_of(to_markdown(table))[2] == (shown, [])
    rows = list(csv.reader(io.StringIO(to_csv(table))))
    assert len(rows) == 3
    assert rows[1][0] in (text, f"'{text}")
    assert not rows[1][0].startswith(("=", "+", "-", "@", "\t", "\r", "\n"))
    terminal = printed(table)
    assert plain(text).plain in terminal
    assert "\x1b" not in terminal


@pytest.mark.parametrize("text", HOSTILE)
def test_code_spans_hold_any_text(text: str) -> None:
    found = cells_of(to_markdown(Table("", ("name",), ((Styled(text, "code"),),))))[1]
    assert found == (" ".join(text.split()).replace("\x1b", "\\x1b"), ["code_inline"])


def test_titles_headings_and_notes_are_escaped_too() -> None:
    table = Table("[b]t[/b]", ("[c] wide",), ((1,),), notes=("<i>",))
    assert to_markdown(table) == "## \\[b]t\\[/b]\n\n| \\[c] wide |\n| --- |\n| 1 |\n\n\\<i\\>"
    assert all(text in printed(table) for text in ("[b]t[/b]", "[c] wide", "<i>"))


def test_metric_names_stay_readable_in_markdown() -> None:
    assert escape_markdown("distinct_n vendi_score") == "distinct_n vendi_score"
    assert escape_markdown("0.5 [0.1, -0.9]") == "0.5 [0.1, -0.9]"
    assert escape_markdown("[0.1, 0.9](x) [1, 2][3, 4]: [1, x]") == r"\[0.1, 0.9](x) \[1, 2]\[3, 4]: \[1, x]"
    assert escape_markdown("_a_ a__b") == r"\_a\_ a\_\_b"


def test_numbers_keep_their_digits_and_what_is_missing_is_empty() -> None:
    table = Table("", ("name", "value", "left"), (("a", 0.1 + 0.2, None), ("b", -1, -2.5e-7)), numbers=("value",))
    assert to_csv(table) == "name,value,left\na,0.30000000000000004,\nb,-1,-2.5e-07\n"
    assert to_markdown(table).splitlines()[1:3] == ["| --- | ---: | --- |", "| a | 0.3000 | - |"]


def test_a_text_that_looks_like_a_formula_is_a_number_only_where_the_table_says_so() -> None:
    texts = ("-1.5", "+.5", "-1e-3", "-1+2", "-x", "+1e", "-1 ", "-inf", "-\u0661")
    assert [escape_csv(text) for text in texts] == [f"'{text}" for text in texts]
    written = to_csv(Table("", ("a",), [(Styled(text, "number"),) for text in texts])).splitlines()[1:]
    assert written == [*texts[:3], *(f"'{text}" for text in texts[3:])]


def test_styles_and_lines() -> None:
    table = Table("", ("a", "b"), ((Styled("best", "bold"), ("0.5", "[0.1, 0.9]")),))
    assert to_markdown(table).splitlines()[-1] == r"| **best** | 0.5 [0.1, 0.9] |"
    assert to_csv(table) == 'a,b\nbest,"0.5 [0.1, 0.9]"\n'
    lines = printed(table).splitlines()
    assert any("best" in line and "0.5" in line and "[0.1" not in line for line in lines)


def test_formats() -> None:
    assert [number(x) for x in (None, 0.12345, -99.99994, 100.0, 12345.67)] == [
        *("-", "0.1235", "-99.9999", "100.0", "12345.7")
    ]
    assert [interval(None, None), interval(0.1, 0.25)] == ["", "[0.1000, 0.2500]"]
    assert with_interval(None, None, None) == "-"
    assert with_interval(0.5, None, None) == "0.500"
    assert with_interval(0.5, 0.25, 0.75) == "0.500 [0.25, 0.75]"
    assert [p_value(None), p_value(0.012345), p_value(0.012345, 3)] == ["-", "0.012", "0.0123"]


def test_a_report_is_written_by_its_ending(tmp_path: Path) -> None:
    table = Table("t", ("a",), ((1,),))
    report = Report("R", ["about", table], {"x": 1.5}, [table], table)
    for name, text in (("r.md", "# R\n\nabout\n\n## t\n\n| a |\n| --- |\n| 1 |\n"), ("r.csv", "a\n1\n")):
        write_report(report, tmp_path / name)
        assert (tmp_path / name).read_text() == text
    write_report(report, tmp_path / "r.json")
    assert '"x": 1.5' in (tmp_path / "r.json").read_text()
    with pytest.raises(ConfigurationError, match=r"does not end in \.md, \.json"):
        write_report(Report("R", [], {}, []), tmp_path / "other.csv")
    for path in (tmp_path / "r.txt", tmp_path / "none" / "r.md", tmp_path):
        with pytest.raises(ConfigurationError):
            check_report_path(path)
    check_report_path(None)


def test_a_table_too_wide_for_the_terminal_is_a_paragraph_per_row() -> None:
    table = Table("Title", ("metric", "difference", "Bonferroni"), [("distinct_k", 0.5, None), ("ead", 0.25, 1)])
    wide, narrow = io.StringIO(), io.StringIO()
    print_blocks([table], Console(file=wide, width=60))
    print_blocks([table], Console(file=narrow, width=30))
    assert "│ distinct_k │     0.5000 │          - │" in wide.getvalue()
    assert [line.rstrip() for line in narrow.getvalue().splitlines()] == [
        "Title",
        "metric distinct_k; difference",
        "0.5000; Bonferroni -",
        "metric ead; difference 0.2500;",
        "Bonferroni 1",
    ]
