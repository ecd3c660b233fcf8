"""Scores from functions that misbehave and files with flaws: what is bad is reported, the rest is used."""

import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from benchmark.analysis.metaeval.scores import (
    as_number,
    file_scores,
    find_function,
    function_scores,
    metric_scores,
    released_scores,
)
from benchmark.metrics import METRICS
from benchmark.metrics.metric import Missing
from benchmark.scoring.backends import ScoringBackends
from benchmark.scoring.inputs import score_set
from benchmark.scoring.profiles import find_profile
from divbench.core.errors import ConfigurationError, InputError
from tests.benchmark.analysis.test_metaeval import labelled

MINE = """
import numpy as np

def spread(responses):
    return len(set(responses)) / len(responses)

def imports_late(responses):
    import helper
    return helper.VALUE

number = 7
"""


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A module of one's own, in the current folder."""
    (tmp_path / "mine.py").write_text(MINE)
    (tmp_path / "broken.py").write_text("raise RuntimeError('half-finished')\n")
    (tmp_path / "helper.py").write_text("VALUE = 4.0\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", sys.path[:])
    for name in ("mine", "helper"):
        monkeypatch.delitem(sys.modules, name, raising=False)


@pytest.mark.usefixtures("mine")
def test_a_function_is_called_with_responses_and_with_the_context_if_it_takes_it() -> None:
    task = labelled(2)
    assert function_scores([task], find_function("mine:spread"), "m").column(task.set_ids).tolist() == [1.0] * 4
    late = function_scores([task], find_function("mine:imports_late"), "m")  # a module of the same folder
    assert late.column(task.set_ids).tolist() == [4.0] * 4

    def length(responses: list[str], context: str) -> int:
        return len(context)

    expected = [float(len(context)) for context in task.contexts]
    done: list[tuple[str, int, int]] = []
    scores = function_scores([task], length, "m", progress=lambda *step: done.append(step))
    assert scores.column(task.set_ids).tolist() == expected
    assert done[-1] == ("calling m", 4, 4)
    negated = function_scores([task], length, "m", lower_is_more_diverse=True)
    assert (negated.column(task.set_ids).tolist(), negated.origin) == ([-v for v in expected], "external, negated")
    assert not function_scores([task], dict, "m").has_values()  # it has no signature, and its value is no number


def test_an_exception_makes_one_score_missing_and_the_rest_goes_on() -> None:
    task = labelled(2)

    def odd(responses: list[str], context: str) -> float:
        if context == task.contexts[0]:
            raise ValueError("no such word")
        return 1.5

    scores = function_scores([task], odd, "m")
    assert scores.reasons(task.set_ids) == {"raised ValueError: no such word": 2}
    assert scores.column(task.set_ids).tolist()[2:] == [1.5, 1.5]


@pytest.mark.parametrize(
    ("result", "reason"),
    [
        (float("nan"), "not finite: nan"),
        (np.inf, "not finite: inf"),
        ("1.0", "not a number: str"),
        (None, "not a number: NoneType"),
        (True, "not a number: bool"),
        ([1.0, 2.0], "not a number: 2 values"),
        (np.array("0.5"), "not a number: str96"),
        (np.array(True), "not a number: bool"),
        (np.complex128(1 + 2j), "not a number: complex128"),
        (np.ma.masked, "not a number: MaskedConstant"),
        (np.array(None), "not finite: nan"),
    ],
)
def test_what_is_no_number_is_missing(result: Any, reason: str) -> None:
    assert as_number(result) == Missing(reason)


def test_numbers_of_other_libraries_are_numbers() -> None:
    results = (3, np.float32(0.5), np.uint8(3), Fraction(1, 4), np.array(2))
    assert [as_number(result) for result in results] == [3.0, 0.5, 3.0, 0.25, 2.0]


@pytest.mark.usefixtures("mine")
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("mine", "does not name a function"),
        ("mine:", "does not name a function"),
        ("mine:nothing", "has no nothing"),
        ("mine:number", "is not a function"),
        ("no_such_module_here:f", "cannot be imported"),
        ("broken:f", "broken cannot be imported: RuntimeError: half-finished"),
    ],
)
def test_a_function_that_is_not_there_is_refused_before_anything_runs(name: str, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        find_function(name)


def test_this_packages_metrics_are_those_of_score_set_larger_for_more_diverse() -> None:
    task = labelled(2)
    found = {each.name: each for each in metric_scores([task], _lexical(), ScoringBackends(find_profile("lexical")))}
    expected = score_set(["a", "b"])
    for metric in _lexical():
        value, ours = expected[metric.id], found[metric.id].values[task.set_ids[0]]
        sign = -1 if metric.direction == -1 else 1
        assert ours == (value if isinstance(value, Missing) else sign * value)
    assert found["self_bleu"].origin.endswith("negated")
    assert not found["distinct_n"].origin.endswith("negated")


def _lexical() -> list[Any]:
    return [metric for metric in METRICS if metric.reads in ("responses", "ngrams:tevet", "ngrams:whitespace")]


def test_released_columns_that_are_not_there_are_told() -> None:
    assert released_scores([labelled(2)]) == []
    with pytest.raises(ConfigurationError, match="sent_bert"):
        released_scores([labelled(2)], ["sent_bert"])


def write(path: Path, columns: dict[str, list[Any]]) -> Path:
    frame = pd.DataFrame(columns)
    if path.suffix == ".csv":
        frame.to_csv(path, index=False)
    else:
        frame.to_parquet(path)
    return path


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_file_has_a_column_of_ids_and_columns_of_scores(tmp_path: Path, ending: str) -> None:
    path = write(tmp_path / f"mine.{ending}", {"set_id": ["a", "b"], "one": [1.5, 2.0], "two": [3, 4]})
    one, two = file_scores(path, "set_id", ["a", "b", "c"])
    assert (one.name, two.name) == ("mine:one", "mine:two")
    assert one.column(["b", "a"]).tolist() == [2.0, 1.5]
    assert one.missing(["a", "c"]) == {"c": "not in the file"}
    assert one.problems == ()
    (negated, _) = file_scores(path, "set_id", ["a", "b"], lower_is_more_diverse=True)
    assert negated.column(["a"]).tolist() == [-1.5]


def test_files_of_spreadsheets_and_of_pandas_are_read_without_row_numbers(tmp_path: Path) -> None:
    frame = pd.DataFrame({"set_id": ["a", "b"], "m": [1.5, 2.0]})
    frame.to_csv(tmp_path / "index.csv")
    frame.set_index(pd.Index([5, 7])).to_parquet(tmp_path / "index.parquet")
    for name, mark in (("semicolons", ";"), ("tabs", "\t")):
        frame.to_csv(tmp_path / f"{name}.csv", sep=mark, index=False, encoding="utf-8-sig")
    for path in sorted(tmp_path.iterdir()):
        (found,) = file_scores(path, "set_id", ["a", "b"])
        assert found.name == f"{path.stem}:m"
        assert found.column(["a", "b"]).tolist() == [1.5, 2.0]


def test_flaws_of_a_file_are_told_and_the_rest_is_used(tmp_path: Path) -> None:
    rows = [
        ("good", "1.5"),
        ("unknown", "2"),
        ("twice", "3"),
        ("twice", "3.0"),
        ("torn", "4"),
        ("torn", "5"),
        ("word", "high"),
        ("empty", ""),
        ("infinite", "inf"),
        ("", "6"),
    ]
    path = tmp_path / "flaws.csv"
    path.write_text("set_id,m\n" + "".join(f"{name},{value}\n" for name, value in rows))
    known = ["good", "twice", "torn", "word", "empty", "infinite", "absent"]
    (found,) = file_scores(path, "set_id", known)
    np.testing.assert_array_equal(found.column(known), [1.5, 3.0, *[np.nan] * 5])
    assert found.missing(known) == {
        "torn": "occurs twice in the file with different values",
        "word": "not a number in the file: 'high'",
        "empty": "no value in the file",
        "infinite": "not finite in the file",
        "absent": "not in the file",
    }
    told = " ".join(found.problems)
    for words in (
        "left out: 2 ids of no set asked for",
        "1 sets occur twice with different values",
        "same value: counted once",
    ):
        assert words in told, told


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("no.csv", "id,m\na,1\n", "no column set_id"),
        ("only.csv", "set_id\na\n", "no column of scores"),
        ("same.csv", "set_id,m,m\na,1,2\n", "more than one column named 'm'"),
        ("empty.csv", "", "cannot be read"),
        ("torn.csv", "set_id,m\na,1,2\n", "cannot be read"),
        ("not.parquet", "set_id", "cannot be read"),
        ("mine.xlsx", "set_id,m\na,1\n", "neither .csv nor .parquet"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused(tmp_path: Path, name: str, text: str, message: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=message):
        file_scores(tmp_path / name, "set_id", ["a"])
    with pytest.raises(InputError, match="there is no file"):
        file_scores(tmp_path / "nothing.csv", "set_id", ["a"])
