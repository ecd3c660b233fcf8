"""The options of scoring: the same for every command that scores, and all of them part of a result's identity."""

import json
from dataclasses import fields
from inspect import signature
from pathlib import Path
from typing import Any

import pytest

from benchmark.analysis.commands import gaming
from benchmark.commands import score
from benchmark.models.bundled_lm import OFFLINE_LM
from benchmark.scoring.options import SEMANTIC, SETTINGS, ProfileOptions, ScoringOptions, metrics_named
from benchmark.scoring.profiles import find_profile
from benchmark.scoring.scorer import Options, result_id
from benchmark.validity.record import load_record, record_of, save_record
from divbench.core.errors import ConfigurationError
from submissions.checking.validate import open_submission
from submissions.storage.file_store import FolderStore
from submissions.work_queue.operations import state_of
from tests.conftest import divbench, document
from tests.submissions.working import demo, submit_kept

NAMED = f"org/name@{'a' * 40}"
OTHERS: dict[str, tuple[str, ...]] = {
    "lm": (f"lm={NAMED}",),
    "lm-server": (f"lm={NAMED}", "lm-server=http://localhost:8000"),
    "dtype": ("dtype=bfloat16",),
    "attention": ("attention=eager",),
    "format": ("format=completion",),
    "boundaries": ("boundaries=paper",),
    "outer-space": ("outer-space=kept",),
    "orders": ("orders=uniform",),
    "order-count": ("order-count=2",),
    "embedder": (f"embedder={NAMED}",),
    "bert-score": (f"bert-score={NAMED}",),
    "sts": (f"sts={NAMED}",),
    "equivalence": ("equivalence=embedding",),
    "algorithm": ("equivalence=embedding", "algorithm=complete"),
    "short-answers": ("equivalence=embedding", "short-answers=true"),
    "reward": ("reward=skywork-1.7b",),
    "reward-threshold": (f"reward={NAMED}", "reward-threshold=0"),
    "validity": ("reward=skywork-1.7b", "validity=offline"),
    "record": ("record=RECORD",),
}


def test_every_option_is_part_of_a_results_identity(tmp_path: Path) -> None:
    submission, suite, _ = open_submission(demo(tmp_path / "in", "system"))
    save_record(record_of(load_record().judgements()[:1]), tmp_path / "record.npz")

    def made_by(*settings: str, **others: Any) -> str:
        named = [setting.replace("RECORD", str(tmp_path / "record.npz")) for setting in settings]
        options = ScoringOptions(settings=named, **others)
        return result_id(submission, suite, options.load(), options.numbers())

    assert made_by() == result_id(submission, suite, find_profile("offline"), Options())
    assert {name.replace("_", "-") for name in SETTINGS} == OTHERS.keys()
    ids = [made_by(*settings) for settings in OTHERS.values()]
    ids += [made_by(device="cuda"), made_by(k=2), made_by(resamples=200), made_by(seed=1)]
    assert len({made_by(), *ids}) == 1 + len(ids)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (["lm=no-such-model"], "neither a folder nor the name of a model"),
        (["lm-server=http://localhost:8000"], "lm-server needs lm"),
        (["reward=none"], "no reward model 'none'"),
        ([f"reward={NAMED}"], "state the lowest reward of a valid response"),
        (["reward=skywork-1.7b", "reward-threshold=0"], "without published thresholds"),
        (["equivalence=none"], "no backend 'none'"),
        (["algorithm=greedy"], "need equivalence"),
        (["short-answers=true"], "need equivalence"),
        (["order-count=0"], "order-count=0 is not valid"),
        (["orders=some"], "orders=some is not valid"),
        (["embeder=x"], "no setting 'embeder'"),
        (["embedder"], "has no value"),
    ],
)
def test_settings_that_cannot_be_are_refused(settings: list[str], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        ProfileOptions(settings=settings).load()


def test_a_command_has_the_options_of_its_groups_with_its_own_defaults() -> None:
    for command, defaults in ((score, ScoringOptions()), (gaming, SEMANTIC)):
        shown = signature(command).parameters
        for field in fields(defaults):
            assert (shown[field.name].default, shown[field.name].annotation) == (
                getattr(defaults, field.name),
                field.type,
            )


def test_a_negative_seed_is_refused_before_scoring(tmp_path: Path) -> None:
    ended = divbench("score", tmp_path, "--seed", -1)
    assert (ended.returncode, "'--seed'" in ended.stderr) == (2, True)


def test_a_worker_gives_the_result_that_score_gives_with_the_same_options(tmp_path: Path) -> None:
    folder, store = demo(tmp_path / "in", "system"), FolderStore(tmp_path / "store")
    [name] = submit_kept(store, [folder])
    models = ("--profile", "offline", "--set", f"lm={OFFLINE_LM.folder}", "--set", "orders=endpoint", "--metric", "a_n")
    scoring = (*models, "--k", 2)
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
    ended = divbench("submissions", "rescore", *service, "--set", "order-count=2", **home)
    assert json.loads(ended.stdout.splitlines()[-1])["scored"] == 1


def test_a_metric_of_the_whole_curve_under_endpoint_orders_is_refused_with_the_fix() -> None:
    profile = ProfileOptions(settings=["orders=endpoint"]).load()
    with pytest.raises(ConfigurationError, match="retained_surprise needs surprisals at every position") as caught:
        metrics_named(["retained_surprise"], profile)
    assert caught.value.hint == "choose --set orders=balanced, or leave orders out"
    assert [metric.id for metric in metrics_named(["d_can"], profile)] == ["d_can"]
    with pytest.raises(ConfigurationError, match="the profile lexical has no metric 'retained_surprise'"):
        metrics_named(["retained_surprise"], ProfileOptions("lexical", settings=["orders=endpoint"]).load())


def test_a_metric_of_rewards_says_how_to_name_a_reward_model() -> None:
    with pytest.raises(ConfigurationError, match="needs a reward model or a judge, and the profile lexical") as caught:
        metrics_named(["utility_k"], ProfileOptions("lexical").load())
    assert "--set reward=skywork-1.7b" in caught.value.hint
    rated = ProfileOptions("lexical", settings=["reward=skywork-1.7b"]).load()
    assert [metric.id for metric in metrics_named(["utility_k"], rated)] == ["utility_k"]
