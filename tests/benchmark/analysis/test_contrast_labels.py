"""`divbench contrast --labels`: each number against someone else's or a plain version, and files of labels."""

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from sklearn.metrics import accuracy_score, roc_auc_score
from sklearn.model_selection import StratifiedKFold

from benchmark.analysis.contrast.labels import (
    LabelContrast,
    Labels,
    best_threshold,
    contrast_groups,
    held_out_predictions,
    read_labels,
    read_values,
)
from benchmark.metrics.metric import Missing
from benchmark.scoring.backends import ScoringBackends
from benchmark.scoring.estimate import holm
from benchmark.scoring.inputs import Value
from benchmark.scoring.profiles import find_profile
from benchmark.scoring.results import Aggregate
from benchmark.scoring.scorer import score_submission
from divbench.core.errors import InputError
from submissions.checking.validate import open_submission
from submissions.gaming.baselines import write_demo_submissions
from submissions.untrusted.findings import Problem, Rejected
from tests.conftest import divbench, document
from tests.submissions.conftest import places

IDS = ("a", "b", "c", "d")


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A submission of the demonstration, and its result under the profile *lexical*."""
    folder = tmp_path_factory.mktemp("labels")
    varied = write_demo_submissions(folder / "subs")[0]
    submission, suite, _ = open_submission(varied)
    scored = score_submission(submission, suite, ScoringBackends(find_profile("lexical")), folder / "results")
    return varied, scored.folder


@pytest.fixture(scope="module")
def score(folders: tuple[Path, Path]) -> Aggregate:
    return read_values(folders[1])[0].scores[0]


def contrasts(
    score: Aggregate,
    values: Sequence[Sequence[Value]],
    is_1: Sequence[bool],
    direction: int = 1,
    columns: Mapping[str, Sequence[float]] | None = None,
) -> list[LabelContrast]:
    """Contrast some metrics, whose values are given."""
    ids = [f"p{i}" for i in range(len(is_1))]
    numbers = {name: dict(zip(ids, column, strict=True)) for name, column in (columns or {}).items()}
    labels = Labels("file", "ones", "zeros", dict(zip(ids, is_1, strict=True)), {}, numbers)
    scores = [score.model_copy(update={"metric": f"m{i}", "direction": direction}) for i in range(len(values))]
    return contrast_groups(scores, ids, {f"m{i}": own for i, own in enumerate(values)}, labels, resamples=200)


def contrast(score: Aggregate, one: Sequence[Value], zero: Sequence[Value], direction: int = 1) -> LabelContrast:
    """Contrast one metric on two groups, the first of which is group 1."""
    [result] = contrasts(score, [[*one, *zero]], [True] * len(one) + [False] * len(zero), direction)
    return result


def drawn(seed: int = 0) -> tuple[list[float], list[float]]:
    """Rounded, so that there are ties; of unequal variance."""
    rng = np.random.default_rng(seed)
    return np.round(rng.normal(0.7, 1.0, 60), 1).tolist(), np.round(rng.normal(0.0, 2.0, 45), 1).tolist()


def test_welchs_t_is_the_golden_one(score: Aggregate) -> None:
    found = contrast(score, [1.0, 2.0, 3.0, 4.0], [2.0, 2.0, 5.0])
    assert (found.t, found.df, found.p) == pytest.approx((-0.420084025208, 3.597510373444, 0.698283243114), abs=1e-12)
    assert (found.n1, found.n0, found.mean1, found.mean0) == (4, 3, 2.5, 3.0)
    pooled = math.sqrt((3 * np.var([1, 2, 3, 4], ddof=1) + 2 * np.var([2, 2, 5], ddof=1)) / 5)
    assert found.d == pytest.approx(-0.5 / pooled, rel=1e-12)


@pytest.mark.parametrize("direction", [1, 0, -1])
def test_t_and_auroc_are_scipys(score: Aggregate, direction: int) -> None:
    one, zero = drawn()
    found = contrast(score, one, zero, direction)
    theirs = stats.ttest_ind(one, zero, equal_var=False)
    assert (found.t, found.p, found.df) == pytest.approx((theirs.statistic, theirs.pvalue, theirs.df), rel=1e-10)
    truth, sign = np.arange(105) < 60, -1 if direction < 0 else 1
    assert found.auroc.value == pytest.approx(roc_auc_score(truth, sign * np.array([*one, *zero])), rel=1e-12)
    low, value, high = found.auroc.low or 1, found.auroc.value or 0, found.auroc.high or 0
    assert low < value < high


def test_a_perfect_separator_is_told_as_one(score: Aggregate) -> None:
    rng = np.random.default_rng(0)
    high, low = rng.uniform(5, 6, 40).tolist(), rng.uniform(0, 1, 30).tolist()
    for found in (contrast(score, high, low), contrast(score, low, high, direction=-1)):
        assert (found.auroc.value, found.accuracy.value, found.accuracy.low) == (1, 1, 1)
        assert found.majority == pytest.approx(4 / 7)
    assert contrast(score, low, high).auroc.value == 0


@given(st.lists(st.tuples(st.integers(-3, 3), st.booleans()), min_size=1, max_size=12))
def test_the_threshold_is_the_best_of_all(rows: list[tuple[int, bool]]) -> None:
    scores = np.array([score for score, _ in rows], np.float64)
    is_1 = np.array([label for _, label in rows])
    cuts = [-np.inf, *(value + 0.5 for value in range(-4, 4)), np.inf]
    best = max(float(np.mean(((scores > cut) == above) == is_1)) for cut in cuts for above in (True, False))
    cut, above = best_threshold(scores, is_1)
    assert np.mean(((scores > cut) == above) == is_1) == best


def test_of_equally_good_thresholds_the_middle_one_is_taken() -> None:
    alternating = np.array([False, True, False, True, False, True])
    assert best_threshold(np.arange(6.0), alternating) == (2.5, True)  # 0.5, 2.5, 4.5 are right four times
    assert best_threshold(np.arange(4.0), alternating[:4]) == (0.5, True)  # 0.5 and 2.5: the lower
    assert best_threshold(np.arange(6.0), ~alternating) == (2.5, False)
    assert math.isinf(best_threshold(np.ones(3), np.array([True, True, False]))[0])


def test_what_is_predicted_of_a_prompt_comes_from_other_folds(score: Aggregate) -> None:
    one, zero = drawn(3)
    scores, is_1 = np.array([*one, *zero], np.float64), np.arange(105) < 60
    predicted = held_out_predictions(scores, is_1)
    for train, rest in StratifiedKFold(5, shuffle=True, random_state=0).split(scores, is_1):
        cut, above = best_threshold(scores[train], is_1[train])
        assert (predicted[rest] == ((scores[rest] > cut) == above)).all()
    found = contrast(score, one, zero)
    assert found.accuracy.value == pytest.approx(accuracy_score(is_1, predicted))
    assert found.majority == pytest.approx(60 / 105)


def test_correlations_are_scipys_and_their_intervals_those_of_a_plain_bootstrap(score: Aggregate) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=50)
    y = np.round(x + rng.normal(size=50), 1)
    [found] = contrasts(score, [x.tolist()], [i % 2 == 0 for i in range(50)], columns={"tokens": y.tolist()})
    assert found.pearson["tokens"].value == pytest.approx(stats.pearsonr(x, y).statistic)
    assert found.spearman["tokens"].value == pytest.approx(stats.spearmanr(x, y).statistic)
    rows = [rng.integers(50, size=50) for _ in range(1000)]
    low, high = np.quantile([stats.pearsonr(x[row], y[row]).statistic for row in rows], [0.025, 0.975])
    assert (found.pearson["tokens"].low, found.pearson["tokens"].high) == pytest.approx((low, high), abs=0.06)
    for column in ([7.0] * 50, [*[1.0, 2.0], *[math.nan] * 48]):
        [found] = contrasts(score, [x.tolist()], [i % 2 == 0 for i in range(50)], columns={"tokens": column})
        assert (found.pearson["tokens"].value, found.spearman["tokens"].value) == (None, None)


def test_what_is_missing_leaves_that_metric_and_p_is_corrected_over_metrics(score: Aggregate) -> None:
    one, zero = drawn()
    absent = [Missing("fewer than two responses")] * 2
    is_1 = [True] * 60 + [False] * 45 + [True, False]
    flat, noise = [1.0] * 107, np.random.default_rng(0).normal(size=107).tolist()
    found, constant, other = contrasts(score, [[*one, *zero, *absent], flat, noise], is_1)
    alone = contrast(score, one, zero)
    assert (found.n1, found.n0, found.reasons) == (60, 45, {"fewer than two responses": 2})
    assert (found.t, found.p, found.auroc.value, found.mean1) == (alone.t, alone.p, alone.auroc.value, alone.mean1)
    assert (other.n1, other.n0) == (61, 46)
    assert constant.untested == "the metric is constant"
    assert [found.p_holm, other.p_holm] == pytest.approx(holm([found.p or 0, other.p or 0]).tolist())


@pytest.mark.parametrize(
    ("one", "zero", "why"),
    [
        ([1.0, 2.0, 3.0], [], "fewer than two prompts of a group have a value"),
        ([1.0, 2.0, 3.0], [2.0, Missing("x")], "fewer than two prompts of a group have a value"),
        ([0.3] * 3, [0.3, 0.1 + 0.2, 0.3], "the metric is constant"),
    ],
)
def test_what_cannot_be_told_is_missing_with_its_reason(
    score: Aggregate, one: list[Value], zero: list[Value], why: str
) -> None:
    found = contrast(score, one, zero)
    assert found.untested == why
    assert (found.t, found.df, found.p, found.p_holm, found.d) == (None,) * 5
    assert (found.auroc.value, found.accuracy.value) == (None, None)


def test_groups_that_do_not_vary_have_no_t_but_can_be_told_apart(score: Aggregate) -> None:
    found = contrast(score, [2.0] * 4, [1.0] * 5)
    assert (found.t, found.p, found.d, found.untested) == (None, None, None, "no value varies within a group: no t")
    assert (found.auroc.value, found.accuracy.value) == (1, 1)


# Files


def write(path: Path, content: str | Sequence[dict[str, Any]]) -> Path:
    if isinstance(content, str):
        path.write_text(content, encoding="utf-8", newline="")
    elif path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist([*content]), path)
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in content), encoding="utf-8")
    return path


def problems_of(path: Path, **options: Any) -> list[Problem]:
    with pytest.raises(Rejected) as caught:
        read_labels(path, IDS, **options)
    return caught.value.findings.problems


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("l.csv", "prompt_id,label\na,TRUE\nb, false\nc, \n"),
        ("l.jsonl", [{"prompt_id": "a", "label": "1"}, {"prompt_id": "b", "label": False}, {"prompt_id": "c"}]),
        ("l.parquet", [{"prompt_id": i, "label": x} for i, x in (("a", 1.0), ("b", 0.0), ("c", float("nan")))]),
    ],
)
def test_labels_may_be_numbers_or_truth_values(
    tmp_path: Path, name: str, content: str | Sequence[dict[str, Any]]
) -> None:
    labels = read_labels(write(tmp_path / name, content), IDS)
    assert labels.is_1 == {"a": True, "b": False}
    assert labels.left_out == {"no label": 1, "not in the file": 1}
    assert (labels.group_1, labels.group_0) == ("1 or true", "0 or false")


WORDS = "prompt_id,label\na,addressing\nb,none\nc,ambiguous\nd,advancing\n"


def test_words_make_the_groups_that_are_named_and_a_word_that_no_row_has_is_a_slip(tmp_path: Path) -> None:
    path = write(tmp_path / "l.csv", WORDS)
    labels = read_labels(path, IDS, positive=("addressing", "ambiguous"))
    assert labels.is_1 == {"a": True, "b": False, "c": True, "d": False}
    assert (labels.group_1, labels.group_0, labels.source) == ("addressing, ambiguous", "all others", "l.csv")
    [problem] = problems_of(path, positive=["adressing", "ambiguous"])
    assert problem.message == "no row has the label 'adressing'"
    assert problem.hint == "labels in the file: addressing, advancing, ambiguous, none"


def test_columns_of_numbers_may_have_holes(tmp_path: Path) -> None:
    path = write(tmp_path / "l.csv", "prompt_id,label,tokens\na,1,10\nb,0, \nc,,3.5\n")
    tokens = read_labels(path, IDS, against=["tokens"]).columns["tokens"]
    assert {name: value for name, value in tokens.items() if not math.isnan(value)} == {"a": 10.0, "c": 3.5}


def test_all_that_is_wrong_is_told_at_once(tmp_path: Path) -> None:
    content = "prompt_id,label,tokens\na,maybe,x\na,1,1\n,0,1\nz,0,1\nb,2,inf\nd,0,1\n"
    problems = problems_of(write(tmp_path / "l.csv", content), against=["tokens"])
    assert places(problems) == [
        ("prompt_ids", 3, "prompt_id"),
        ("prompt_ids", 4, "prompt_id"),
        ("labels", 5, "prompt_id"),
        ("labels", 2, "label"),
        ("labels", 6, "label"),
        ("labels", 2, "tokens"),
        ("labels", 6, "tokens"),
    ]
    assert problems[2].message == "the submission has no response to a prompt with the id 'z'"
    assert problems[3].message == "'maybe' is not 0, 1, true or false"
    assert places(problems_of(tmp_path / "l.csv", against=["nowhere"])) == [("schema", None, "nowhere")]


def test_a_results_values_are_read_prompt_by_prompt(folders: tuple[Path, Path], tmp_path: Path) -> None:
    result, prompt_ids, values = read_values(folders[1])
    table = pq.read_table(folders[1] / "per_prompt.parquet").to_pylist()
    assert prompt_ids == tuple(row["prompt_id"] for row in table)
    assert set(values) == {score.metric for score in result.scores if score.n}
    for metric, column in values.items():
        for value, row in zip(column, table, strict=True):
            assert (None if isinstance(value, Missing) else value) == row[metric]
            if isinstance(value, Missing):
                assert {"metric": metric, "reason": value.reason} in row["missing"]
    for name in ("result.json", "per_prompt.parquet"):
        (tmp_path / name).write_bytes((folders[1] / name).read_bytes())
    text = (tmp_path / "result.json").read_text(encoding="utf-8")
    (tmp_path / "result.json").write_text(text.replace('"distinct_n"', '"distinct_x"'), encoding="utf-8")
    with pytest.raises(InputError, match=r"does not match result\.json"):
        read_values(tmp_path)


# The command


@pytest.fixture(scope="module")
def labelled(folders: tuple[Path, Path]) -> Path:
    """Labels of 20 of the demonstration's 24 prompts."""
    _, ids, _ = read_values(folders[1])
    kinds = ["addressing", "none", "ambiguous", "advancing"] * 5 + ["", ""]
    rows = [f"{name},{kind},{(i * 37) % 100}" for i, (name, kind) in enumerate(zip(ids, kinds, strict=False))]
    return write(folders[0].parent / "rifts.csv", "\n".join(["prompt_id,label,tokens", *rows]) + "\n")


def test_the_command_contrasts_groups_of_a_results_prompts(
    folders: tuple[Path, Path], labelled: Path, tmp_path: Path
) -> None:
    options = ("--labels", labelled, "--positive", "addressing", "--positive", "ambiguous", "--against", "tokens")
    found = document(divbench("contrast", folders[1], *options, "--json", "--out", tmp_path / "table.md"))
    assert (found["n1"], found["n0"], found["k"]) == (10, 10, 10)
    assert found["labels"]["left_out"] == {"no label": 2, "not in the file": 2}
    [own] = [each for each in found["contrasts"] if each["metric"] == "distinct_n"]
    rows: list[Any] = pq.read_table(folders[1] / "per_prompt.parquet")["distinct_n"].to_pylist()[:20]
    theirs = stats.ttest_ind(rows[::2], rows[1::2], equal_var=False)
    assert (own["t"], own["p"]) == pytest.approx((theirs.statistic, theirs.pvalue))
    tokens = [(i * 37) % 100 for i in range(20)]
    assert own["spearman"]["tokens"]["value"] == pytest.approx(stats.spearmanr(rows, tokens).statistic)
    written = (tmp_path / "table.md").read_text(encoding="utf-8")
    assert "Group 1 (addressing, ambiguous): 10 prompts, group 0 (all others): 10; 2 excluded: no label" in written
    divbench("contrast", folders[1], *options, "--out", tmp_path / "table.csv")
    heads = (tmp_path / "table.csv").read_text(encoding="utf-8").splitlines()[0].split(",")
    assert {"auroc", "auroc low", "accuracy high", "spearman of tokens", "signature"} <= set(heads)


@pytest.mark.parametrize(
    ("arguments", "status", "says"),
    [
        (["{1}", "--labels", "{2}"], 1, "rifts.csv was rejected"),
        (["{0}", "{1}", "--labels", "{2}"], 2, "--labels compares prompts of one system, and 2 are named"),
        (["{1}", "--labels", "{2}", "--length", "raw"], 2, "--length cannot be used with --labels"),
        (["{0}", "{1}", "--against", "tokens"], 2, "--against needs --labels"),
        (["{0}", "--labels", "{2}"], 1, "there is no result in"),
    ],
)
def test_what_cannot_be_contrasted_is_refused(
    folders: tuple[Path, Path], labelled: Path, arguments: list[str], status: int, says: str
) -> None:
    ended = divbench("contrast", *(each.format(*folders, labelled) for each in arguments), "--json")
    assert ended.returncode == status
    assert says in document(ended)["error"]["message"]
