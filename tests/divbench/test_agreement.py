"""`db.evaluate_metric`: a metric of one's own beside known ones, and what the comparison lacks."""

import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import divbench as db
from benchmark.analysis.metaeval.labelled import SETS
from benchmark.metrics import METRICS
from divbench.agreement import BESIDE
from divbench.core.errors import ConfigurationError


def test_a_metric_of_ones_own_is_tested_beside_ours(mirror: Path) -> None:
    ours = next(each for each in METRICS if each.id == "compression_ratio")
    found = db.evaluate_metric(
        lambda responses: float(ours.fn(responses)),
        "contest/story_gen",
        name="mine",
        beside=["compression_ratio"],
        resamples=100,
        mirror=mirror,
    )
    spearman = found.to_pandas()["spearman"].to_dict()
    mine = spearman["contest/story_gen", "mine"]
    assert mine == spearman["contest/story_gen", "compression_ratio"]
    turned = db.evaluate_metric(
        lambda responses: -float(ours.fn(responses)),
        "contest/story_gen",
        name="turned",
        beside=(),
        lower_is_more_diverse=True,
        resamples=0,
        mirror=mirror,
    )
    assert turned.to_pandas()["spearman"]["contest/story_gen", "turned"] == mine
    assert spearman["contest/story_gen", "released:sent_bert"] > mine
    assert "released:sent_bert" in str(found)
    compared = db.evaluate_metric(
        lambda responses: float(ours.fn(responses)),
        "contest/story_gen",
        name="mine",
        against="distinct_n",
        resamples=100,
        mirror=mirror,
    )
    assert compared.table().columns[-2:] == ["Spearman − distinct_n", "p"]
    [(_, rows)] = compared.plot().panels
    assert rows[0].label == "released:sent_bert"
    assert "Spearman $-$ distinct\\_n" in compared.to_latex()
    with pytest.raises(ConfigurationError, match="did you mean distinct_n"):
        db.evaluate_metric(len, "contest/story_gen", against="distinct_m", mirror=mirror)
    known = db.evaluate_metric(len, "contest/story_gen", name="size", resamples=0, mirror=mirror).to_pandas()
    assert {*BESIDE, "size"} <= {name for _, name in known.index}  # without an embedder: their scores are known
    again = db.evaluate_metric(len, "contest/story_gen", name="size", beside="d_can", resamples=0, mirror=mirror)
    assert again.to_pandas()["spearman"]["contest/story_gen", "d_can"] == pytest.approx(0.406, abs=5e-4)  # the study's
    partial = db.evaluate_metric(
        lambda responses: 1.0 if len(responses[0]) % 2 else float("nan"),
        "contest/story_gen",
        name="odd",
        resamples=0,
        mirror=mirror,
    )
    count = partial.missing["not finite: nan"]
    assert f"Left out for all metrics: {count} sets without a score of odd" in str(partial)
    assert f"({count} not finite: nan)." in str(partial)
    means = db.evaluate_metric(len, ["contest", "dectest/story_gen"], beside=(), resamples=0, mirror=mirror)
    assert str(means).startswith("Agreement with human labels, 3 tasks\n")  # those with two labels
    several = str(db.evaluate_metric(len, ["contest/story_gen", "dectest"], beside=(), resamples=0, mirror=mirror))
    assert [several.count(f"│ {split}") for split in ("contest/story_gen", "dectest/")] == [6, 18]
    assert several.startswith("Agreement with labels, 4 tasks\n")  # temperatures are no labels by people
    with pytest.raises(ConfigurationError, match="raised ZeroDivisionError"):
        db.evaluate_metric(lambda responses: 1 / 0, "contest/story_gen", mirror=mirror)


def test_mistakes_in_other_arguments_are_refused_before_the_function_is_called(mirror: Path) -> None:
    with pytest.raises(ConfigurationError, match="did you mean self_bleu"):
        db.evaluate_metric(pytest.fail, "contest/story_gen", beside=["self_blue"], mirror=mirror)
    with pytest.raises(ConfigurationError, match="another metric is named 'distinct_n'"):
        db.evaluate_metric(pytest.fail, "contest/story_gen", name="distinct_n", beside="distinct_n", mirror=mirror)


def test_what_a_comparison_with_released_scores_lacks_is_said(mirror: Path, tmp_path: Path) -> None:
    def said() -> list[str]:
        found = str(db.evaluate_metric(len, "contest", resamples=0, mirror=tmp_path))
        return " ".join(found.rpartition("┘")[2].split()).split(". ")

    shutil.copytree(mirror / "tevet" / "raw", tmp_path / "tevet" / "raw")
    (alone,) = said()
    assert alone.startswith(
        "No released scores (sent-BERT and others) of contest/story_gen, contest/resp_gen, contest/"
    )
    shutil.copytree(mirror / "tevet" / "reference", tmp_path / "tevet" / "reference")
    assert said() == [""]
    (tmp_path / "tevet/reference/conTest/con_test_200_with_hds_story_gen.csv").unlink()
    outside, alone = said()
    assert outside == "The mean leaves out contest/story_gen, where a metric has no score"
    assert alone.startswith("No released scores (sent-BERT and others) of contest/story_gen: their files")


def test_sets_that_another_metric_lacks_are_said(mirror: Path, tmp_path: Path) -> None:
    rows = db.load("contest", "story_gen", mirror=mirror)
    kept = {name: rows[name] for name in ("set_id", "context", "label")}
    texts = [given[:1] if i < 3 else given for i, given in enumerate(rows["responses"])]
    kept |= {"responses": texts, "label_name": ["diversity"] * len(texts)}
    pq.write_table(pa.table(kept, schema=SETS), tmp_path / "own.parquet")
    found = db.evaluate_metric(len, tmp_path / "own.parquet", beside=["self_bleu"], resamples=0)
    assert "Left out for all metrics: sets without a score of self_bleu." in str(found)


def test_a_metric_that_takes_the_context_is_given_it(mirror: Path) -> None:
    contexts: list[str] = []

    def aware(responses: list[str], context: str = "none given") -> float:
        contexts.append(context)
        return float(len(set(responses)) + len(context))

    db.evaluate_metric(aware, "contest/story_gen", beside=(), resamples=0, mirror=mirror)
    assert set(contexts) == set(db.load("contest", "story_gen", mirror=mirror)["context"])
