"""Inside Inspect: its runs and re-scored logs give the numbers of `divbench.score`; what cannot be scored is told."""

import json
import math
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import divbench as db

SCRIPT = Path(__file__).with_name("inspect_runs.py")
NAMES = {
    "lexical": ("distinct_k", "distinct_n"),
    "semantic": ("valid_distinct_k", "valid_share", "distinct_k", "distinct_n"),
}
SETS = {
    "Name a pet.": ["A cat.", "A dog, perhaps.", "A cat"],
    "Name a colour.": ["Red", "", "I'm sorry, but I can't help with that."],
    "Tell a joke.": ["A horse walks into a bar.", "A duck asks for grapes, and the", "Knock, knock."],
}
ENDED = [["stop"] * 3, ["stop", "stop", "content_filter"], ["stop", "length", "stop"]]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What `inspect_runs` did."""
    if find_spec("inspect_ai") is None:
        pytest.skip("Inspect is not installed: extra inspect")
    folder = tmp_path_factory.mktemp("logs")
    done = subprocess.run([sys.executable, SCRIPT, folder], capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads((folder / "done.json").read_text())
    return found


@pytest.mark.parametrize("profile", ["lexical", "semantic"])
def test_a_run_and_an_old_log_have_the_numbers_of_score(runs: dict[str, Any], profile: str) -> None:
    expected: dict[str, float | None] = {"prompts": 3, "k": 3}
    for mean in db.score(SETS, NAMES[profile], profile=profile, finish_reasons=ENDED).means:
        expected |= {mean.metric: mean.value, f"{mean.metric}_low": mean.low, f"{mean.metric}_high": mean.high}
        expected |= {f"{mean.metric}_missing": sum(mean.missing.values())} if mean.missing else {}
    assert runs[f"run {profile}"] == expected  # to the last digit
    assert runs[f"rescored {profile}"] == expected


def test_each_epoch_says_whether_its_response_counts_and_which_values_are_to_come(runs: dict[str, Any]) -> None:
    assert [epoch["value"] for epoch in runs["epochs"]] == [1, 1, 1, 1, 0, 1, 1, 0, 1]
    kept = runs["epochs"][0]["metadata"]["divbench"]
    assert kept["signatures"] == db.score(SETS, ["distinct_k"], profile="lexical").signatures
    assert [kept["responses"], kept["finish_reasons"], kept["prompt"]] == [["A cat."], ["stop"], "Name a pet."]


def test_a_reducer_gives_a_samples_epochs_to_divbench(runs: dict[str, Any]) -> None:
    expected = db.score(SETS, ["distinct_k", "distinct_n"], profile="lexical")
    assert [reduced["value"] for reduced in runs["reduced"]] == list(expected.values["distinct_k"])
    found = runs["reduced"][0]["metadata"]["divbench"]
    assert found["values"] == {name: values[0] for name, values in expected.values.items()}
    assert found["signatures"] == expected.signatures


def test_the_suites_are_tasks(runs: dict[str, Any]) -> None:
    assert runs["suite"] == ["divbench/demo", len(db.suite("demo").prompts)]


def test_the_command_line_scores_a_log_by_the_scorers_name(runs: dict[str, Any], tmp_path: Path) -> None:
    command = [Path(sys.executable).with_name("inspect"), "score", runs["log"], "--scorer", "divbench/diversity"]
    command += [
        "-S",
        "profile=lexical",
        "-S",
        "metrics=distinct_k,distinct_n",
        "--action",
        "append",
        "--output-file",
        tmp_path / "out.eval",
    ]
    where = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}  # as it is installed
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=False, cwd=tmp_path, env=where)
    assert done.returncode == 0, done.stderr
    assert "distinct_k" in done.stdout
    assert (tmp_path / "out.eval").exists()


def test_without_repeats_the_reason_stands_in_the_table(runs: dict[str, Any]) -> None:
    [sentence] = [name for name, value in runs["without repeats"].items() if math.isnan(value)]
    assert sentence == "a sample has one response, and diversity is that of several: run with --epochs 10"


def test_of_unequal_epochs_as_many_are_scored_as_all_samples_have(runs: dict[str, Any]) -> None:
    values, equal = runs["unequal"], {prompt: texts[:2] for prompt, texts in SETS.items()}
    assert (values["k"], values["responses left out, for an equal k"]) == (2, 2)
    assert values["distinct_n"] == db.score(equal, ["distinct_n"], profile="lexical").means[0].value


def test_what_is_no_text_is_told(runs: dict[str, Any]) -> None:
    calls, image = runs["refusals"]
    assert calls.startswith("The response of epoch 1 of sample 0 is a call of the tool bash, not a text")
    assert image.startswith("There is image content in epoch 1 of sample 0")
