"""What `divbench metrics reproduce` says of a number, and that it hides no difference."""

import csv
import io
import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from benchmark.analysis.reproduce.cells import (
    KNOWN,
    Inputs,
    Published,
    Reproduced,
    compare,
    compare_all,
    read_published,
)
from benchmark.analysis.reproduce.commands import report_of, summary
from benchmark.analysis.reproduce.tables import TABLES, find_tables, reproduce_table
from benchmark.metrics.metric import Missing
from divbench.core.errors import ConfigurationError
from divbench.core.tables import check_report_path, print_blocks
from tests.conftest import RUN, divbench, document

PUBLISHED = read_published()


def number(printed: str = "0.34", digits: int = 2, table: str = "t", row: str = "r", column: str = "c") -> Published:
    return Published(table, row, column, printed, digits, "somewhere")


@pytest.mark.parametrize(
    ("printed", "digits", "ours", "same"),
    [
        ("0.34", 2, 0.3449, True),
        ("0.34", 2, 0.335, True),  # a half may go either way
        ("0.34", 2, 0.345, True),
        ("0.34", 2, 0.3458, False),
        ("0.6", 2, 0.604, True),
        ("0.6", 2, 0.62, False),
        ("-0.002", 3, -0.0025, True),
        ("-0.002", 3, 0.002, False),
        ("3.4e-24", 1, 3.398e-24, True),
        ("3.4e-24", 1, 3.46e-24, False),
        ("3.4e-24", 1, 0.0, False),
        ("150", 0, 150, True),
        ("150", 0, 151, False),
        ("2.865825595336219", 15, 2.8658255953362191, True),
        ("2.865825595336219", 15, 2.865826, False),
    ],
)
def test_the_same_is_the_same_to_the_printed_digits(printed: str, digits: int, ours: float, same: bool) -> None:
    assert number(printed, digits).agrees(ours) == same


KNOWN_ONE = {("t", "r", "c", "0.34"): ("0.346", "cut off")}


@pytest.mark.parametrize(
    ("printed", "ours", "verdict", "outcome"),
    [
        ("0.34", (0.342, "computed"), "same", "same"),
        ("0.34", (0.3458, "computed"), "differs", "differs: cut off"),
        ("0.34", (0.3475, "computed"), "differs without a known reason", "differs without a known reason"),
        ("0.33", (0.3458, "computed"), "differs without a known reason", "differs without a known reason"),
        ("0.34", (math.nan, "computed"), "differs without a known reason", "differs without a known reason"),
        ("0.34", Missing("not released"), "cannot", "cannot: not released"),
    ],
)
def test_verdicts(printed: str, ours: tuple[float, str] | Missing, verdict: str, outcome: str) -> None:
    cell = compare(number(printed), ours, KNOWN_ONE)
    assert (cell.verdict, cell.outcome) == (verdict, outcome)
    if cell.ours is not None:
        assert cell.difference == pytest.approx(cell.ours - float(printed))
    json.dumps(Reproduced("t", "", (cell,)).as_json(), allow_nan=False)


@pytest.mark.parametrize("other", [number(table="x"), number(row="x"), number(column="x"), number("0.35")])
def test_a_known_difference_explains_no_other_number(other: Published) -> None:
    assert compare(number(), (0.3458, ""), KNOWN_ONE).verdict == "differs"
    assert compare(number(), (0.3468, ""), KNOWN_ONE).verdict == "differs without a known reason"
    assert compare(other, (0.3458, ""), KNOWN_ONE).verdict != "differs"


def test_every_published_number_has_one_cell_and_every_cell_one_number() -> None:
    ours = {("r", "c"): (1.0, "computed")}
    assert len(compare_all([number("1", 0)], ours)) == 1
    with pytest.raises(ValueError, match="do not match"):
        compare_all([number("1", 0), number("1", 0, column="d")], ours)
    with pytest.raises(ValueError, match="do not match"):
        compare_all([], ours)


def test_the_published_numbers_are_those_of_the_tables() -> None:
    assert PUBLISHED.keys() == {table.id for table in TABLES}
    assert len({table.id for table in TABLES}) == len(TABLES)
    for rows in PUBLISHED.values():
        assert len({one.place for one in rows}) == len(rows)
        for one in rows:
            assert one.source
            assert one.digits >= len(one.printed.partition("e")[0].partition(".")[2])


def test_known_differences_are_of_published_numbers_and_would_differ() -> None:
    by_place = {(name, *one.place): one for name, rows in PUBLISHED.items() for one in rows}
    assert len({key[:3] for key in KNOWN}) == len(KNOWN)
    for (name, row, column, printed), (ours, _) in KNOWN.items():
        one = by_place[name, row, column]
        assert one.printed == printed
        assert not one.agrees(float(ours))


def table(name: str) -> Reproduced:
    return reproduce_table(find_tables([name])[0], Inputs())


def test_gssbench_table_2_is_the_mean_of_a10() -> None:
    found = table("gssbench-2")
    assert found.counts["same"] == 40 == len(found.cells)
    assert all(abs(cell.difference or 0) <= 5e-4 + 1e-9 for cell in found.cells)


def test_gssbench_margins_follow_from_accuracies() -> None:
    found = table("gssbench-a10")
    assert (found.counts["same"], found.counts["cannot"]) == (224, 448)
    of_500 = [
        cell for cell in found.cells if cell.published.row.split()[0] in {"complement", "factual_qa", "random_choice"}
    ]
    margins = [cell for cell in of_500 if cell.published.column.endswith("±")]
    assert len(margins) == 168
    assert {cell.verdict for cell in margins} == {"same"}
    # Another sign of 500 pairs: each accuracy is a whole number of them.
    accuracies = [cell.published.value * 500 for cell in of_500 if cell not in margins]
    assert accuracies == pytest.approx(np.round(accuracies), abs=1e-9)


@pytest.mark.parametrize(
    ("name", "row", "column", "wrong"),
    [
        ("gssbench-2", "perplexity", "Qwen3-8B", "0.478"),
        ("gssbench-a10", "subset energy", "Mistral-7B ±", "0.03"),
        ("gssbench-a10", "union energy", "Mistral-7B", "0.593"),  # an input of Table 2
    ],
)
def test_a_wrong_published_value_is_found(name: str, row: str, column: str, wrong: str) -> None:
    changed = tuple(replace(one, printed=wrong) if one.place == (row, column) else one for one in PUBLISHED[name])
    assert changed != PUBLISHED[name]
    inputs = Inputs(published=PUBLISHED | {name: changed})
    found = [reproduce_table(each, inputs) for each in find_tables(["gssbench-2", "gssbench-a10"])]
    assert sum(each.counts["unexplained"] for each in found) == 1


WRONG = """
import benchmark.analysis.reproduce.cells as inputs
from dataclasses import replace
whole = inputs.read_published()
whole["gssbench-2"] = (replace(whole["gssbench-2"][0], printed="0.601"), *whole["gssbench-2"][1:])
inputs.Inputs = lambda read=inputs.Inputs: read(published=whole)
"""


def test_a_difference_without_a_known_reason_ends_the_command_with_1() -> None:
    ended = divbench("metrics", "reproduce", "gssbench-2", "--json", code=WRONG + RUN)
    assert ended.returncode == 1
    (found,) = document(ended)["tables"]
    assert found["counts"] == {"same": 39, "differs": 0, "unexplained": 1, "cannot": 0}
    assert found["cells"][0]["verdict"] == "differs without a known reason"


def test_without_a_mirror_what_needs_none_runs_and_the_rest_is_told() -> None:
    ended = divbench("metrics", "reproduce", "decan-5", "gssbench-2", "--json")
    assert ended.returncode == 2
    told = document(ended)
    assert [each["id"] for each in told["tables"]] == ["gssbench-2"]
    assert list(told["not_run"]) == ["decan-5"]
    assert "scenario_metrics_v3_gpt2_100perm.json" in ended.stderr
    alone = divbench("metrics", "reproduce", "decan-5", "--json")
    assert alone.returncode == 2
    assert document(alone)["error"]["kind"] == "ConfigurationError"


def test_wrong_calls() -> None:
    assert "there is no table 'tevet-3'" in divbench("metrics", "reproduce", "tevet-3").stderr
    ended = divbench("metrics", "reproduce", "gssbench-2", "--out", "x.txt")
    assert (ended.returncode, "does not end in .md, .tex, .csv, .json" in ended.stderr) == (2, True)
    with pytest.raises(ConfigurationError, match="cannot be written"):
        check_report_path(Path("no-such-folder/x.md"))


def test_files(tmp_path: Path) -> None:
    for ending in ("md", "csv", "json"):
        ended = divbench("metrics", "reproduce", "gssbench-2", "--out", tmp_path / f"out.{ending}")
        assert ended.returncode == 0, ended.stderr
    markdown = (tmp_path / "out.md").read_text(encoding="utf-8")
    assert "| gssbench-2 | 40 same |" in markdown
    assert "| perplexity | 0.6003 = 0.600 |" in markdown
    rows = list(csv.DictReader(io.StringIO((tmp_path / "out.csv").read_text(encoding="utf-8"))))
    assert len(rows) == 40
    assert rows[0]["verdict"] == "same"
    assert float(rows[0]["ours"]) == pytest.approx(0.600333, abs=1e-6)
    assert len(json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))["tables"][0]["cells"]) == 40


EVERY = Reproduced(
    "t",
    "Every verdict",
    compare_all(
        [number("0.34", column=name, digits=2) for name in "abcdefgh"],
        {
            ("r", "a"): (0.341, ""),
            ("r", "b"): (0.3458, ""),
            ("r", "c"): (0.5, ""),
            ("r", "d"): Missing("not | released"),
            **{("r", name): (0.34, "") for name in "efgh"},
        },
        {("t", "r", "b", "0.34"): ("0.346", "cut off")},
    ),
    ("A note.",),
)


def test_every_verdict_is_shown() -> None:
    console = Console(file=io.StringIO(), width=160)
    report = report_of([EVERY], {"other": "no mirror"})
    print_blocks(report.printed, console)
    shown = console.file.getvalue()  # type: ignore[attr-defined]
    for text in ("0.341 = 0.34", "0.346 ≠ 0.34 (1)", "0.500 ≠ 0.34 !", "0.34 (3)"):
        assert text in shown
    for text in ("(1) differs: cut off", "(3) cannot: not | released", "A note."):
        assert text in shown
    counts = "5 same, 1 known to differ, 1 differing without a known reason"
    assert summary(EVERY.counts) == f"{counts}, 1 not reproducible from what was released"
    markdown = report.text(".md")
    assert "| other | not run: no mirror |" in markdown
    assert "cannot: not \\| released" in markdown
    assert report.text(".csv").count("\n") == 9
