"""`divbench metrics metaeval`: the released data, files and functions."""

import csv
import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

from benchmark.analysis.metaeval.labelled import load_labelled
from benchmark.analysis.metaeval.qwen25 import curve_scores, path_of
from benchmark.metrics import METRICS
from tests.conftest import RUN, divbench, document
from tests.forked import run_forked

FAST = ("--resamples", 100)


def run(mirror: Path, *arguments: object) -> tuple[int, str, str]:
    ended = divbench(*arguments, *FAST, DIVBENCH_MIRROR=str(mirror))
    return ended.returncode, ended.stdout, ended.stderr


def run_in(folder: Path, mirror: Path, *arguments: object) -> "subprocess.CompletedProcess[str]":
    """The command on the released stories, in a folder of which it imports functions."""
    environment = os.environ | {"COLUMNS": "200", "NO_COLOR": "1", "DIVBENCH_MIRROR": str(mirror)}
    given = ("metrics", "metaeval", "contest/story_gen", "--profile", "lexical", *arguments, "--json", *FAST)
    return run_forked(RUN, given, environment, folder)


@pytest.mark.mirror
def test_a_metric_of_ones_own_beside_the_packages_and_the_released(mirror: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "def spread(responses, context):\n"
        "    if len(context) % 50 == 0:\n"
        "        raise ValueError('odd context')\n"
        "    return len(set(' '.join(responses).split()))\n"
    )
    found = document(
        run_in(
            tmp_path, mirror, "--metric", "distinct_n_tevet", "--external", "mine:spread",
            "--against", "released:sent_bert",
        )
    )  # fmt: skip
    assert found["profile"] == "lexical"
    (task,) = found["tasks"]
    metrics = {each["metric"]: each for each in task["evaluations"]}
    assert {"distinct_n_tevet", "mine:spread", "released:sent_bert"} <= set(metrics)
    lacking = sum(len(context) % 50 == 0 for context in load_labelled("contest/story_gen", mirror=mirror).contexts)
    assert lacking > 0
    assert metrics["mine:spread"]["missing"] == {"raised ValueError: odd context": lacking}
    assert metrics["distinct_n_tevet"]["left_out"] == lacking
    assert len(found["missing"]["mine:spread"]) == lacking
    assert {each["b"] for each in task["comparisons"]} == {"released:sent_bert"}


@pytest.mark.mirror
def test_a_function_that_raises_on_every_set_is_left_out_alone(mirror: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("def broken(responses):\n    raise ValueError('no \x1b[2J')\n")
    ended = run_in(tmp_path, mirror, "--metric", "distinct_n_tevet", "--external", "mine:broken")
    assert ended.returncode == 1
    told = " ".join(ended.stderr.split())
    assert r"mine:broken: left out, because it has no value for any set: raised ValueError: no \x1b[2J" in told
    found = json.loads(ended.stdout)
    left_out = {each["metric"]: each["left_out"] for each in found["tasks"][0]["evaluations"]}
    assert left_out["distinct_n_tevet"] == 0
    assert "mine:broken" not in left_out
    assert len(found["missing"]["mine:broken"]) == len(load_labelled("contest/story_gen", mirror=mirror).set_ids)


@pytest.mark.mirror
def test_scores_of_a_file_and_every_kind_of_output(mirror: Path, tmp_path: Path) -> None:
    task = load_labelled("contest/resp_gen", mirror=mirror)
    with (tmp_path / "good.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["set_id", "label", "against"])
        rows = [(name, label, -label) for name, label in zip(task.set_ids, task.labels.tolist(), strict=True)]
        writer.writerows([*rows[:-1], ("unknown", 1, 1)])
    where = ("--scores", tmp_path / "good.csv", "--metric", "distinct_n")
    for ending in ("md", "csv", "json"):
        status, shown, told = run(
            mirror, "metrics", "metaeval", "contest/resp_gen", *where, "--out", tmp_path / f"out.{ending}"
        )
        assert (status, "good:label" in shown) == (0, True), told
        assert "left out: 1 id of no set asked for, such as 'unknown'" in told
    lines = list(csv.DictReader((tmp_path / "out.csv").read_text().splitlines()))
    of_label = {line["measure"]: float(line["value"]) for line in lines if line["metric"] == "good:label"}
    assert of_label["spearman"] == of_label["roc_auc"] == pytest.approx(1.0)
    assert {line["sets"] for line in lines} == {"219"}
    markdown = (tmp_path / "out.md").read_text()
    assert "| good:label | 1.00 [1.00, 1.00] |" in markdown
    assert "no score for 1 set, excluded for all metrics" in markdown
    saved = json.loads((tmp_path / "out.json").read_text())
    assert list(saved["problems"]) == ["good:label", "good:against"]


@pytest.mark.mirror
def test_released_results_of_a_real_model(mirror: Path) -> None:
    options = ("--profile", "lexical", "--metric", "entropy_1", "--scores", "qwen25_curves", "--json")
    status, shown, told = run(mirror, "metrics", "metaeval", "contest", *options)
    assert status == 0, told
    found = {
        (task["task"], each["metric"]): each["measures"]["spearman"]["value"]
        for task in json.loads(shown)["tasks"]
        for each in task["evaluations"]
    }
    # As published; the ratio of means that the released numbers give is near the paper's mean of ratios.
    for kind, expected in {"prompt_gen": 0.584, "resp_gen": 0.391, "story_gen": 0.686}.items():
        assert found[f"contest/{kind}", "qwen25_curves:d_can"] == pytest.approx(expected, abs=0.07)
    task = load_labelled("contest/story_gen", mirror=mirror)
    scores = {each.name: each for each in curve_scores([task], mirror)}
    record = next(iter(json.loads((mirror / path_of(task.name)).read_text()).values()))
    retained = np.mean(record["a_k_curve"][1:]) / np.mean(record["unconditional_total_bits"])
    assert scores["qwen25_curves:retained_surprise"].values[task.set_ids[0]] == pytest.approx(retained)
    assert {name.partition(":")[2] for name in scores} <= {metric.id for metric in METRICS}


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["olmo_stages"], 2, "is not a dataset with labels"),
        (["contest/nothing"], 2, "has no split"),
        (["contest", "--out", "x.txt"], 2, "does not end in .md, .tex, .csv, .json"),
        (["contest"], 2, "not available locally"),
        (["gssbench"], 2, "divbench metrics gss"),
    ],
)
def test_what_cannot_be_done_is_told(arguments: list[str], status: int, message: str) -> None:
    ended = divbench("metrics", "metaeval", *arguments)
    assert (ended.returncode, message in ended.stderr) == (status, True), ended.stderr


@pytest.mark.mirror
@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["--metric", "d_can"], 2, "the profile semantic has no metric 'd_can'"),
        # Told before our own metrics, of which this profile lacks one, are computed.
        (["--external", "nomodule:f", "--metric", "d_can"], 2, "nomodule cannot be imported"),
        (["--external", "spread"], 2, "does not name a function"),
        (["--profile", "nothing"], 2, "there is no profile"),
        (["--profile", "paper", "--set", "embedder=org/name"], 2, "'org/name' is not pinned"),
        (["--profile", "lexical", "--against", "nothing"], 2, "there are no scores named"),
    ],
)
def test_what_cannot_be_tested_is_told(mirror: Path, arguments: list[str], status: int, message: str) -> None:
    ended = divbench("metrics", "metaeval", "contest/story_gen", *arguments, DIVBENCH_MIRROR=str(mirror))
    assert (ended.returncode, message in ended.stderr) == (status, True), ended.stderr
