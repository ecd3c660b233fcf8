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
    estimate_cell,
    estimate_cells,
    plain,
    print_blocks,
    to_csv,
    to_markdown,
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
    assert to_markdown(table).splitlines()[1:3] == ["| --- | ---: | --- |", "| a | 0.300 | - |"]


def test_a_number_is_no_formula() -> None:
    texts = ("-1.5", "+.5", "-1e-3", "-1+2", "-x", "+1e", "-1 ", "-inf", "-\u0661")
    assert [escape_csv(text) for text in texts] == [*texts[:3], *(f"'{text}" for text in texts[3:])]


def test_a_number_with_its_own_text_is_shown_as_the_text_and_sorted_by_the_number() -> None:
    rows = [("x", estimate_cell(0.5, 0.25, 0.75), 1234, None), ("y", None, None, Styled("best", "bold"))]
    table = Table("", ("name", "mean", "n", "note"), rows)
    assert table.texts == (("x", "0.50 [0.25, 0.75]", "1,234", ""), ("y", "", "", "best"))
    assert table.values == (("x", 0.5, 1234, None), ("y", None, None, "best"))
    assert table.kinds == ["str", "number", "number", "str"]
    assert list(map(str, table.frame().dtypes[1:3])) == ["float64", "Int64"]
    assert to_csv(table) == "name,mean,n,note\nx,0.5,1234,\ny,,,best\n"
    assert to_markdown(table).splitlines()[2:] == ["| x | 0.50 [0.25, 0.75] | 1,234 | - |", "| y | - | - | **best** |"]
    assert "0.50 [0.25, 0.75]" in printed(table)


def test_a_column_of_intervals_has_the_decimals_that_their_median_width_justifies() -> None:
    cells = estimate_cells([(1.23456, 1.2, 1.3), (2.5, 2.45, 2.56), (3.0, None, None), (None, None, None)])
    assert Table("", ("a",), [[cell] for cell in cells]).texts == (
        *(("1.235 [1.200, 1.300]",), ("2.500 [2.450, 2.560]",), ("3.000",), ("",)),
    )


def test_a_report_is_written_by_its_ending(tmp_path: Path) -> None:
    table = Table("t", ("a",), ((1,),))
    report = Report("R", ["about", table], {"x": 1.5}, [table], table)
    for name, text in (("r.md", "# R\n\nabout\n\n## t\n\n| a |\n| --- |\n| 1 |\n"), ("r.csv", "a\n1\n")):
        write_report(report, tmp_path / name)
        assert (tmp_path / name).read_text() == text
    write_report(report, tmp_path / "r.json")
    assert '"x": 1.5' in (tmp_path / "r.json").read_text()
    with pytest.raises(ConfigurationError, match=r"does not end in \.md, \.tex, \.json"):
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
    assert "│ distinct_k │      0.500 │          - │" in wide.getvalue()
    assert [line.rstrip() for line in narrow.getvalue().splitlines()] == [
        "Title",
        "metric distinct_k; difference",
        "0.500; Bonferroni -",
        "metric ead; difference 0.250;",
        "Bonferroni 1",
    ]
