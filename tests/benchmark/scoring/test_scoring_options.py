"""The options of scoring: the same for every command that scores, and all of them part of a result's identity."""

import json
from dataclasses import fields
from inspect import signature
from pathlib import Path
from typing import Any

import pytest

from benchmark.models.bundled_lm.spec import OFFLINE_LM
from benchmark.scoring.options import ScoringOptions, metrics_named
from benchmark.scoring.profiles import find_profile
from benchmark.scoring.scorer import Options, result_id
from benchmark.service.commands import rescore, score
from datasets_build.load import load_suite
from divbench.core.errors import ConfigurationError
from submissions.checking.validate import open_submission
from submissions.storage.folder_store import FolderStore
from submissions.work_queue.operations import state_of
from tests.conftest import divbench, document
from tests.submissions.working import demo, submit_kept

NAMED = f"org/name@{'a' * 40}"
OTHERS: dict[str, dict[str, Any]] = {
    "k": {"k": 2},
    "resamples": {"resamples": 200},
    "seed": {"seed": 1},
    "lm": {"lm": NAMED},
    "lm_server": {"lm": NAMED, "lm_server": "http://localhost:8000"},
    "dtype": {"dtype": "bfloat16"},
    "device": {"device": "cuda"},
    "attention": {"attention": "eager"},
    "format": {"format": "completion"},
    "boundaries": {"boundaries": "paper"},
    "orders": {"orders": "uniform"},
    "order_count": {"order_count": 2},
    "embedder": {"embedder": NAMED},
    "bert_score": {"bert_score": NAMED},
    "sts": {"sts": NAMED},
    "equivalence": {"equivalence": "embedding"},
    "algorithm": {"equivalence": "embedding", "algorithm": "complete"},
    "short_answers": {"equivalence": "embedding", "short_answers": True},
    "reward": {"reward": "skywork-1.7b"},
}


def test_every_option_is_part_of_a_results_identity(tmp_path: Path) -> None:
    submission, suite, _ = open_submission(demo(tmp_path / "in", "system"))

    def made_by(**chosen: Any) -> str:
        options = ScoringOptions(**chosen)
        return result_id(submission, suite, options.profile("offline"), options.numbers())

    assert made_by() == result_id(submission, suite, find_profile("offline"), Options())
    assert OTHERS.keys() == {field.name for field in fields(ScoringOptions)}
    ids = {name: made_by(**chosen) for name, chosen in OTHERS.items()}
    assert len({made_by(), *ids.values()}) == 1 + len(OTHERS)


def test_commands_have_every_option_with_its_default() -> None:
    for command in (score, rescore):
        shown = signature(command).parameters
        for field in fields(ScoringOptions):
            assert (shown[field.name].default, shown[field.name].annotation) == (field.default, field.type)
        assert "scoring" not in shown


def test_what_cannot_be_chosen_is_said() -> None:
    assert load_suite("demo").prompts
    for chosen in (
        ScoringOptions(lm="no-such-model"),
        ScoringOptions(reward="none"),
        ScoringOptions(equivalence="none"),
        ScoringOptions(algorithm="greedy"),
        ScoringOptions(short_answers=True),
    ):
        with pytest.raises(ConfigurationError):
            chosen.profile("offline")


def test_a_negative_seed_is_refused_before_scoring(tmp_path: Path) -> None:
    ended = divbench("score", tmp_path, "--seed", -1)
    assert (ended.returncode, "'--seed'" in ended.stderr) == (2, True)


def test_a_worker_gives_the_result_that_score_gives_with_the_same_options(tmp_path: Path) -> None:
    folder, store = demo(tmp_path / "in", "system"), FolderStore(tmp_path / "store")
    [name] = submit_kept(store, [folder])
    models = ("--profile", "offline", "--lm", OFFLINE_LM.folder, "--orders", "endpoint", "--metric", "a_n")
    scoring = (*models, "--k", 2, "--resamples", 200, "--seed", 3, "--cache", tmp_path / "cache.sqlite")
    home = {"DIVBENCH_HOME": str(tmp_path / "home")}
    [by_hand] = document(divbench("score", folder, *scoring, "--out", tmp_path / "results", "--json", **home))[
        "results"
    ]
    service = ("--store", store.folder, *scoring)
    ended = divbench("submissions", "score", "--once", *service, **home)
    assert ended.returncode == 0, ended.stderr
    made = by_hand["result"]["result_id"]
    assert state_of(store, name).results == (made,)
    for path in Path(by_hand["folder"]).iterdir():
        assert store.read(store.head(), f"results/{made}/{path.name}", 10**7) == path.read_bytes()
    [score] = by_hand["result"]["scores"]
    assert score["signature"]["parameters"]["orders"] == "endpoint-1-seed:42"
    ended = divbench("submissions", "rescore", *service, **home)
    assert json.loads(ended.stdout.splitlines()[-1])["there"] == 1
    ended = divbench("submissions", "rescore", *service, "--order-count", 2, **home)
    assert json.loads(ended.stdout.splitlines()[-1])["scored"] == 1


def test_a_metric_of_the_whole_curve_under_endpoint_orders_is_refused_with_the_fix() -> None:
    profile = ScoringOptions(orders="endpoint").profile("offline")
    with pytest.raises(ConfigurationError, match="retained_surprise needs surprisals at every position") as caught:
        metrics_named(["retained_surprise"], profile)
    assert caught.value.hint == "choose --orders balanced, or leave --orders out"
    assert [metric.id for metric in metrics_named(["d_can"], profile)] == ["d_can"]
    with pytest.raises(ConfigurationError, match="the profile lexical has no metric 'retained_surprise'"):
        metrics_named(["retained_surprise"], ScoringOptions(orders="endpoint").profile("lexical"))


def test_a_metric_of_rewards_says_how_to_name_a_reward_model() -> None:
    with pytest.raises(ConfigurationError, match="utility_k needs a reward model, and the profile lexical") as caught:
        metrics_named(["utility_k"], ScoringOptions().profile("lexical"))
    assert "--reward skywork-1.7b" in caught.value.hint
    rated = ScoringOptions(reward="skywork-1.7b").profile("lexical")
    assert [metric.id for metric in metrics_named(["utility_k"], rated)] == ["utility_k"]
