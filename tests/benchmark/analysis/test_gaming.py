"""The gaming study: attacks beside their source, gains in units of the real range, paired over prompts."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmark.analysis.gaming import gaming_report, study_gaming
from benchmark.metrics import METRICS
from benchmark.models.embedder import ALL_MINILM_L6_V2
from benchmark.scoring.backends import ScoringBackends
from benchmark.scoring.inputs import Materials, score_sets
from benchmark.scoring.profiles import find_profile
from benchmark.validity.backend import ValidityJudge
from datasets_build.load import load_suite
from divbench.core.tables import to_csv
from submissions.gaming.attacks import ATTACKS
from submissions.gaming.baselines import DEMO_TEXTS, attacked, find_attack
from submissions.schema import Manifest, Row
from submissions.storage.submission_folders import write_submission
from tests.conftest import divbench, document
from tests.submissions.conftest import KNOWN

CHOSEN = [metric for metric in METRICS if metric.id in ("valid_distinct_k", "distinct_k", "distinct_n", "self_bleu")]
Responses = dict[str, tuple[str, ...]]


def written(name: str, prompts: int = 6) -> Responses:
    lines = (DEMO_TEXTS / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()[:prompts]
    return {row["prompt_id"]: tuple(row["responses"]) for row in map(json.loads, lines)}


@pytest.fixture(scope="module")
def systems() -> dict[str, Responses]:
    return {name: written(name) for name in ("varied", "collapsed")}


def test_attacks_are_scored_beside_their_source(systems: dict[str, Responses]) -> None:
    done: list[int] = []
    profile = replace(find_profile("lexical"), embedder=ALL_MINILM_L6_V2)  # without one there is no headline
    backends = ScoringBackends(profile, validity=ValidityJudge())
    study = study_gaming("varied", systems, load_suite("demo"), backends, CHOSEN, resamples=200, progress=done.append)
    assert list(study.attacks) == [attack.name for attack in ATTACKS]
    assert sum(done) == 6 * (2 + len(ATTACKS))
    assert (study.k, study.prompts, study.profile) == (10, 6, "lexical")

    # By hand: distinct-n of random characters, less that of the source, over the distance of the two real systems.
    metric = next(each for each in CHOSEN if each.id == "distinct_n")
    prompts = {prompt.prompt_id: prompt.prompt for prompt in load_suite("demo").prompts}
    noise = attacked(find_attack("random-characters"), prompts, systems["varied"])

    def mean(responses: Responses) -> float:
        return float(np.mean([row["distinct_n"] for row in score_sets(Materials(list(responses.values())), [metric])]))

    real = [mean(each) for each in systems.values()]
    assert study.ranges["distinct_n"] == pytest.approx((min(real), max(real)))
    gain = study.attacks["random-characters"]["distinct_n"].gain
    assert gain is not None
    assert gain.value is not None
    assert gain.value == pytest.approx((mean(noise) - mean(systems["varied"])) / (max(real) - min(real)))
    assert gain.low is not None
    assert gain.high is not None
    assert gain.low <= gain.value <= gain.high

    # A lower-is-better metric gains where it falls; one repeated response never gains.
    repeated = study.attacks["repeated"]
    assert all(scores.gain is not None and (scores.gain.value or 0) <= 0 for scores in repeated.values())
    headline = study.attacks["random-characters"]["valid_distinct_k"]
    assert headline.gain is not None
    assert (headline.gain.value or 0) < 0 < (study.attacks["random-characters"]["distinct_k"].mean.value or 0)
    assert study.invalid["random-characters"]["unreadable"] > 0

    report = gaming_report(study)
    assert json.loads(report.text(".json"))["kinds"]["homoglyphs"] == "disguise"
    assert report.records is not None
    assert len(to_csv(report.records).splitlines()) == 1 + len(CHOSEN) * (2 + len(ATTACKS))
    assert "shuffled-words" in report.text(".md")
    assert "has no value on some" not in report.text(".md")
    assert "distinct_n,varied,source," in report.text(".csv")  # the kind that the tables show


def test_prompts_without_a_value_are_counted() -> None:
    """A gain over two of three prompts is not one over three."""
    prompts = load_suite("demo").prompts[:3]
    texts = (("a cat sat", "two dogs ran"), ("hi", "no"), ("rain falls", "it snows"))
    given = {each.prompt_id: own for each, own in zip(prompts, texts, strict=True)}
    metrics = [metric for metric in METRICS if metric.id in ("distinct_k", "entropy_2")]
    attacks = [find_attack("repeated")]
    backends = ScoringBackends(find_profile("lexical"))
    study = study_gaming("s", {"s": given}, load_suite("demo"), backends, metrics, attacks=attacks, resamples=100)
    assert study.systems["s"]["entropy_2"].prompts == study.attacks["repeated"]["entropy_2"].prompts == 2
    assert study.attacks["repeated"]["distinct_k"].prompts == 3
    report = gaming_report(study)
    noted = r"entropy_2 has no value on some of the 3 prompts; it has one on: s 2, repeated 2."
    assert [line for line in report.text(".md").splitlines() if "has no value" in line] == [noted]
    assert [line.rsplit(",", 1)[1] for line in report.text(".csv").splitlines()] == ["prompts", "3", "3", "2", "2"]


def test_a_submission_named_like_an_attack_is_refused(tmp_path: Path) -> None:
    """Otherwise the attack's scores would stand in its row."""
    suite = load_suite("demo")
    manifest = Manifest.model_validate(KNOWN | {"name": "repeated", "suite": "demo", "generation": {"k": 2}})
    rows = [Row(i + 1, each.prompt_id, each.prompt, (f"a {i}", f"b {i}")) for i, each in enumerate(suite.prompts)]
    write_submission(tmp_path, manifest, rows)
    ended = divbench("metrics", "gaming", tmp_path, "--profile", "lexical", "--json")
    assert ended.returncode == 2
    assert document(ended)["error"]["message"] == "a submission is named 'repeated', like an attack"


def test_as_many_responses_are_used_as_every_system_has(tmp_path: Path) -> None:
    """Otherwise numbers of fewer responses would stand under the signature of more."""
    suite = load_suite("demo")
    for name, k in (("many", 3), ("few", 2)):
        manifest = Manifest.model_validate(KNOWN | {"name": name, "suite": "demo", "generation": {"k": k}})
        rows = [
            Row(i + 1, each.prompt_id, each.prompt, (f"a cat {i}", f"two dogs {i}", f"rain {i}")[:k])
            for i, each in enumerate(suite.prompts)
        ]
        (tmp_path / name).mkdir()
        write_submission(tmp_path / name, manifest, rows)
    options = ("--profile", "lexical", "--metric", "distinct_k", "--prompts", 3, "--json")
    study = document(divbench("metrics", "gaming", tmp_path / "many", "--real", tmp_path / "few", *options))
    assert (study["k"], study["prompts"], len(study["attacks"])) == (2, 3, len(ATTACKS))


def test_with_one_real_system_gains_are_in_units_of_the_metric(systems: dict[str, Responses]) -> None:
    only = {"varied": systems["varied"]}
    backends = ScoringBackends(find_profile("lexical"))
    attacks = [find_attack("repeated")]
    study = study_gaming("varied", only, load_suite("demo"), backends, CHOSEN, attacks=attacks, resamples=100)
    assert set(study.ranges.values()) == {None}
    own, scores = study.systems["varied"]["distinct_k"].mean, study.attacks["repeated"]["distinct_k"]
    assert scores.gain is not None
    assert scores.gain.value == pytest.approx(1 - (own.value or 0))
    text = gaming_report(study).text(".md")
    assert "units of the metric" in text
    assert "| `distinct_k` | - | - | repeated -" in text  # nothing to compare a gain with
    alike = {"varied": systems["varied"], "again": systems["varied"]}
    study = study_gaming("varied", alike, load_suite("demo"), backends, CHOSEN, attacks=attacks, resamples=100)
    assert "Gains of attacks in units of the metric" in gaming_report(study).text(".md")
