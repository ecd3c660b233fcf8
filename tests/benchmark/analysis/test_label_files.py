"""Files of labels and results are read, or refused with all that is wrong; and `divbench contrast --labels`."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import stats

from benchmark.analysis.contrast.label_files import read_labels, read_scores
from benchmark.metrics.metric import Missing
from benchmark.scoring.backends import ScoringBackends
from benchmark.scoring.profiles import find_profile
from benchmark.scoring.scorer import score_submission
from divbench.core.errors import ConfigurationError, InputError
from submissions.checking.validate import open_submission
from submissions.gaming.baselines import write_demo_submissions
from submissions.untrusted.findings import Problem, Rejected
from tests.conftest import divbench, document
from tests.submissions.conftest import places

IDS = ("a", "b", "c", "d")


def write(path: Path, content: str | Sequence[dict[str, Any]]) -> Path:
    if isinstance(content, str):
        path.write_text(content, encoding="utf-8", newline="")
    elif path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist([*content]), path)
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in content), encoding="utf-8")
    return path


def problems_of(path: Path, ids: Sequence[str] = IDS, **options: Any) -> list[Problem]:
    with pytest.raises(Rejected) as caught:
        read_labels(path, ids, **options)
    found = caught.value.findings.problems
    assert all(p.message and p.hint and p.file == path.name for p in found)
    return found


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("l.csv", "prompt_id,label\na,1\nb,0\nc,\n"),
        ("l.csv", "prompt_id,label\na,TRUE\nb, false\nc, \n"),
        ("l.csv", "label,prompt_id\n1.0,a\n0.0,b\n"),
        ("l.jsonl", [{"prompt_id": "a", "label": True}, {"prompt_id": "b", "label": 0}, {"prompt_id": "c"}]),
        ("l.jsonl", [{"prompt_id": "a", "label": "1"}, {"prompt_id": "b", "label": False}]),
        ("l.parquet", [{"prompt_id": "a", "label": 1.0}, {"prompt_id": "b", "label": 0.0}]),
        ("l.parquet", [{"prompt_id": i, "label": x} for i, x in (("a", 1.0), ("b", 0.0), ("c", float("nan")))]),
        ("l.parquet", [{"prompt_id": "a", "label": True}, {"prompt_id": "b", "label": False}]),
    ],
)
def test_labels_may_be_numbers_or_truth_values(
    tmp_path: Path, name: str, content: str | Sequence[dict[str, Any]]
) -> None:
    found = read_labels(write(tmp_path / name, content), IDS)
    assert found.is_1 == {"a": True, "b": False}
    assert sum(found.left_out.values()) == 2
    assert set(found.left_out) <= {"no label", "not in the file"}
    assert (found.group_1, found.group_0) == ("1 or true", "0 or false")


WORDS = "prompt_id,kind\na,addressing\nb,none\nc,ambiguous\nd,advancing\n"


@pytest.mark.parametrize(
    ("positive", "negative", "is_1", "group_0", "left_out"),
    [
        (
            ("addressing", "ambiguous"),
            (),
            {"a": True, "b": False, "c": True, "d": False},
            "all others",
            {},
        ),
        (("addressing",), ("none",), {"a": True, "b": False}, "none", {"a label of neither group": 2}),
    ],
)
def test_words_make_the_groups_that_are_named(
    tmp_path: Path,
    positive: tuple[str, ...],
    negative: tuple[str, ...],
    is_1: dict[str, bool],
    group_0: str,
    left_out: dict[str, int],
) -> None:
    path = write(tmp_path / "l.csv", WORDS)
    found = read_labels(path, IDS, label_column="kind", positive=positive, negative=negative)
    assert (found.is_1, found.group_0, found.left_out) == (is_1, group_0, left_out)
    assert (found.group_1, found.source) == (", ".join(positive), "l.csv, column kind")


def test_columns_of_numbers_may_have_holes(tmp_path: Path) -> None:
    path = write(tmp_path / "l.csv", "prompt_id,label,tokens,more\na,1,10,1e3\nb,0,, \nc,,3.5,nan\n")
    found = read_labels(path, IDS, against=["tokens", "more", "tokens"])
    assert found.columns == {"tokens": {"a": 10.0, "c": 3.5}, "more": {"a": 1000.0}}
    rows: list[dict[str, Any]] = [
        {"prompt_id": 7, "label": 1, "tokens": 10},
        {"prompt_id": 8, "label": 0, "tokens": None},
    ]
    for name in ("l.jsonl", "l.parquet"):
        found = read_labels(write(tmp_path / name, rows), ("7", "8"), against=["tokens"])
        assert found.columns == {"tokens": {"7": 10.0}}


def test_all_that_is_wrong_is_told_at_once(tmp_path: Path) -> None:
    content = "prompt_id,label,tokens\na,maybe,x\na,1,1\n,0,1\nz,0,1\nb,2,inf\nc,1\nd,0,1\n"
    found = problems_of(write(tmp_path / "l.csv", content), against=["tokens", "nowhere"])
    assert places(found) == [
        ("csv", 7, ""),
        ("schema", None, "nowhere"),
        ("prompt_ids", 3, "prompt_id"),
        ("prompt_ids", 4, "prompt_id"),
        ("labels", 5, "prompt_id"),
        ("labels", 2, "label"),
        ("labels", 6, "label"),
        ("labels", 2, "tokens"),
        ("labels", 6, "tokens"),
    ]
    assert found[4].message == "the submission has no response to a prompt with the id 'z'"
    assert found[5].message == "'maybe' is not 0, 1, true or false"


def test_a_word_that_no_row_has_is_a_slip(tmp_path: Path) -> None:
    path = write(tmp_path / "l.csv", WORDS)
    [problem] = problems_of(path, label_column="kind", positive=["adressing", "ambiguous"])
    assert problem.message == "no row has the label 'adressing'"
    assert problem.hint == "labels in the file: addressing, advancing, ambiguous, none"


@pytest.mark.parametrize("column", ["prompt_id", "label"])
def test_a_column_that_lacks_is_told(tmp_path: Path, column: str) -> None:
    path = write(tmp_path / "l.csv", "prompt_id,label\na,1\n".replace(column, "other"))
    assert places(problems_of(path)) == [("schema", None, column)]


def test_words_that_contradict_are_a_slip_of_the_call(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="'x' is named by --positive and --negative"):
        read_labels(tmp_path / "nowhere.csv", IDS, positive=["x", "y"], negative=["x"])
    with pytest.raises(ConfigurationError, match="--negative needs --positive"):
        read_labels(tmp_path / "nowhere.csv", IDS, negative=["x"])


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A submission of the demonstration, and its result under the profile *lexical*."""
    folder = tmp_path_factory.mktemp("labels")
    given = write_demo_submissions(folder / "subs")[0]
    submission, suite, _ = open_submission(given)
    scored = score_submission(submission, suite, ScoringBackends(find_profile("lexical")), folder / "results")
    return given, scored.folder


def test_a_results_values_are_read_prompt_by_prompt(folders: tuple[Path, Path]) -> None:
    _, result = folders
    scores = read_scores(result)
    table = pq.read_table(result / "per_prompt.parquet").to_pylist()
    assert scores.prompt_ids == tuple(row["prompt_id"] for row in table)
    assert scores.prompt_bytes.tolist() == [len(row["prompt"].encode()) for row in table]
    assert (scores.system, scores.profile, scores.k) == ("varied", "lexical", 10)
    assert "distinct_n" in {metric.metric for metric in scores.metrics}
    assert "utility_k" not in {metric.metric for metric in scores.metrics}  # it has no value anywhere
    for metric in scores.metrics:
        for value, row in zip(metric.values, table, strict=True):
            assert (None if isinstance(value, Missing) else value) == row[metric.metric]
            if isinstance(value, Missing):
                assert {"metric": metric.metric, "reason": value.reason} in row["missing"]


def test_what_is_no_result_is_refused(folders: tuple[Path, Path], tmp_path: Path) -> None:
    for name in ("result.json", "per_prompt.parquet"):
        (tmp_path / name).write_bytes((folders[1] / name).read_bytes())
    text = (tmp_path / "result.json").read_text(encoding="utf-8")
    (tmp_path / "result.json").write_text(text.replace('"distinct_n"', '"distinct_x"'), encoding="utf-8")
    with pytest.raises(InputError, match=r"does not match result\.json"):
        read_scores(tmp_path)
    (tmp_path / "per_prompt.parquet").write_bytes(b"")
    with pytest.raises(InputError, match="is not a complete result"):
        read_scores(tmp_path)


@pytest.fixture(scope="module")
def labelled(folders: tuple[Path, Path]) -> Path:
    """Labels of 22 of the demonstration's 24 prompts; two have none, two have another."""
    ids = read_scores(folders[1]).prompt_ids
    kinds = ["addressing", "none", "ambiguous", "advancing"] * 5 + ["", ""]
    rows = [f"{name},{kind},{(i * 37) % 100}" for i, (name, kind) in enumerate(zip(ids, kinds, strict=False))]
    return write(folders[0].parent / "rifts.csv", "\n".join(["prompt_id,label,tokens", *rows]) + "\n")


POSITIVE = ("--positive", "addressing", "--positive", "ambiguous")


def test_the_command_contrasts_groups_of_a_results_prompts(
    folders: tuple[Path, Path], labelled: Path, tmp_path: Path
) -> None:
    _, result = folders
    options = ("--labels", labelled, *POSITIVE, "--against", "tokens", "--resamples", "100", "--json")
    found = document(divbench("contrast", result, *options, "--out", tmp_path / "table.md"))
    assert (found["n1"], found["n0"], found["k"]) == (10, 10, 10)
    assert found["left_out"] == {"no label": 2, "not in the file": 2}
    [own] = [each for each in found["contrasts"] if each["metric"] == "distinct_n"]
    rows: list[Any] = pq.read_table(result / "per_prompt.parquet")["distinct_n"].to_pylist()[:20]
    theirs = stats.ttest_ind(rows[::2], rows[1::2], equal_var=False)
    assert (own["t"], own["p"]) == pytest.approx((theirs.statistic, theirs.pvalue))
    tokens = [(i * 37) % 100 for i in range(20)]
    assert own["correlations"][0]["spearman"]["value"] == pytest.approx(stats.spearmanr(rows, tokens).statistic)
    written = (tmp_path / "table.md").read_text(encoding="utf-8")
    assert "Group 1 (addressing, ambiguous): 10 prompts, group 0 (all others): 10; 2 excluded: no label" in written


@pytest.mark.parametrize(
    ("arguments", "status", "says"),
    [
        (["{1}", "--labels", "{2}"], 1, "rifts.csv was rejected"),
        (["{0}", "{1}", "--labels", "{2}"], 2, "--labels compares prompts of one system, and 2 are named"),
        (["{1}", "--labels", "{2}", "--length", "raw"], 2, "--length cannot be used with --labels"),
        (["{1}", "--labels", "{2}", "--profile", "offline"], 2, "--profile cannot be used with --labels"),
        (["{0}", "{1}", "--against", "tokens"], 2, "--against needs --labels"),
        (["{1}", "--labels", "{2}", "--out", "table.txt"], 2, "does not end in .md, .csv, .json"),
        (["{0}", "--labels", "{2}"], 1, "there is no result in"),
        (["{0}"], 2, "one was named"),
    ],
)
def test_what_cannot_be_contrasted_is_refused_before_it_is_scored(
    folders: tuple[Path, Path], labelled: Path, arguments: list[str], status: int, says: str
) -> None:
    ended = divbench("contrast", *(each.format(*folders, labelled) for each in arguments), "--json")
    assert ended.returncode == status
    assert says in document(ended)["error"]["message"]


def test_the_help_shows_an_example() -> None:
    shown = " ".join(divbench("contrast", "--help").stdout.split())
    assert "--labels rifts.csv --positive addressing --positive ambiguous" in shown
