"""Results in others' formats: as published there, every number with all that it can keep, and back again."""

import hashlib
import json
import math
import re
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import yaml
from huggingface_hub import parse_eval_result_entries

from benchmark.exports.every_eval_ever import write_every_eval_ever
from benchmark.exports.hub import entries, write_eval_results, write_results_dataset
from benchmark.exports.results import ScoredResult, open_result
from benchmark.metrics import METRICS
from benchmark.scoring.results import PER_PROMPT_FILE, RESULT_FILE
from divbench.core.errors import ConfigurationError, InputError
from divbench.core.files import sha256_of
from tests.benchmark.interchange import (
    MANIFEST,
    MIDNIGHT,
    OFFLINE,
    SUITE,
    UUID4,
    K,
    exported,
    files_in,
    fits,
    read_json,
    scored_by,
    submitted,
    table_of,
)
from tests.conftest import divbench


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A result with all metrics but those of part-of-speech tags."""
    made = tmp_path_factory.mktemp("interchange")
    return scored_by(submitted(made / "sub"), made / "results")


@pytest.fixture
def scored(folder: Path) -> ScoredResult:
    return open_result(folder)


def test_the_result_has_what_these_tests_are_about(scored: ScoredResult) -> None:
    assert {score.direction for score in scored.scores} == {1, 0, -1}
    assert {score.origin for score in scored.scores} == {"computed", "reported"}
    assert any(score.missing for score in scored.scores)
    assert len(scored.scores) + len(scored.left_out) == len(
        [m for m in METRICS if m.reads not in ("tags", "partition+estimates", "partition+stated")]
    )


# Every Eval Ever


def test_every_eval_ever_is_as_published(scored: ScoredResult, tmp_path: Path) -> None:
    record, rows = exported(scored, tmp_path)
    fits(record, "every_eval_ever_aggregate")
    for row in rows:
        fits(row, "every_eval_ever_instance")
    # What no schema says: evaleval/every_eval_ever, validator/validation_core.py at 076ff86.
    [numbers, samples] = sorted(files_in(tmp_path))
    assert re.fullmatch(rf"data/[\w-]+/\w+/\w+/{UUID4}\.json", numbers)
    assert samples == numbers.removesuffix(".json") + "_samples.jsonl"
    assert not {"data", ".", ".."} & set(numbers.split("/")[1:4])
    detail = record["detailed_evaluation_results"]
    assert detail["file_path"] == samples
    assert (detail["checksum"], detail["total_rows"]) == (sha256_of(tmp_path / samples), len(rows))
    assert {row["evaluation_id"] for row in rows} == {record["evaluation_id"]}
    assert {row["model_id"] for row in rows} == {record["model_info"]["id"]}
    results = record["evaluation_results"]
    ids = [each["evaluation_result_id"] for each in results]
    assert len(set(ids)) == len(ids)
    assert {row["evaluation_result_id"] for row in rows} == set(ids)
    bounds = {"Infinity": math.inf, "-Infinity": -math.inf}
    for each in results:
        metric, score = each["metric_config"], each["score_details"]["score"]
        low, high = (bounds.get(metric[name], metric[name]) for name in ("min_score", "max_score"))
        assert low <= score <= high


def test_every_eval_ever_keeps_all_of_a_number(scored: ScoredResult, tmp_path: Path) -> None:
    record, _ = exported(scored, tmp_path)
    by_metric = {each["metric_config"]["metric_id"]: each for each in record["evaluation_results"]}
    assert list(by_metric) == [f"divbench.{score.metric}" for score in scored.scores]
    for score in scored.scores:
        found = by_metric[f"divbench.{score.metric}"]
        metric, details = found["metric_config"], found["metric_config"]["additional_details"]
        assert metric["lower_is_better"] == (score.direction == -1)
        assert details.get("polarity") == (None if score.direction else "not_applicable")
        assert (metric["metric_parameters"]["version"], metric["metric_parameters"]["k"]) == (score.version, K)
        assert details["signature"] == str(score.signature)
        assert found["score_details"]["score"] == score.value
        told = found["score_details"]["details"]
        assert told["origin"] == score.origin
        assert {
            k.removeprefix("missing: "): int(v) for k, v in told.items() if k.startswith("missing")
        } == score.missing
        uncertainty = found["score_details"]["uncertainty"]
        assert uncertainty["num_samples"] == score.n
        interval = uncertainty.get("confidence_interval", {})
        assert (interval.get("lower"), interval.get("upper")) == (score.low, score.high)
        if interval:
            assert (interval["confidence_level"], uncertainty["num_bootstrap_samples"]) == (0.95, 200)
        assert found["source_data"]["dataset_name"] == "made-up"
        assert found["source_data"]["additional_details"]["revision"] == SUITE.revision
    assert by_metric["divbench.vendi_score"]["metric_config"]["max_score"] == K
    assert by_metric["divbench.unique_1grams"]["metric_config"]["max_score"] == "Infinity"
    assert OFFLINE.embedder is not None
    models = by_metric["divbench.vendi_score"]["metric_config"]["additional_details"]["models"]
    assert json.loads(models) == [OFFLINE.embedder.signature]
    assert by_metric["divbench.self_bleu"]["metric_config"]["lower_is_better"] is True
    drawn = record["evaluation_results"][0]["generation_config"]
    asked = {"temperature": 0.1, "top_p": 0.9, "max_tokens": 64, "prompt_template": "Q: {prompt}\nA:"}
    assert drawn["generation_args"] == asked
    assert drawn["additional_details"] == {
        "responses_drawn": "4",
        "responses_scored": "4",
        "seed": "3",
        "stop": '["\\n\\n"]',
    }
    assert record["model_info"] == {
        "name": MANIFEST.name,
        "id": "../../org/model:x",
        "additional_details": {
            "deployment_type": "unknown",
            "model_availability": "open_weights",
            "type": "model",
            "revision": "abc",
            "num_parameters": "7",
        },
    }
    assert record["retrieved_timestamp"] == str(MIDNIGHT)
    assert record["source_metadata"]["evaluator_relationship"] == "other"
    assert record["eval_library"]["name"] == "divbench"


def test_every_eval_ever_has_every_value_of_every_prompt(scored: ScoredResult, tmp_path: Path) -> None:
    _, rows = exported(scored, tmp_path)
    found = {(row["sample_id"], row["evaluation_result_id"].split(".")[1]): row for row in rows}
    assert len(found) == len(rows)
    wanted = 0
    for prompt in table_of(scored.folder):
        for score in scored.scores:
            value = prompt[score.metric]
            row = found.get((prompt["prompt_id"], score.metric))
            assert (None if row is None else row["evaluation"]["score"]) == value
            if row is not None:
                wanted += 1
                assert row["output"]["raw"] == prompt["responses"]
                assert row["input"]["raw"] == prompt["prompt"]
                assert row["metadata"]["category"] == prompt["category"]
                assert row["metadata"]["is_correct"].startswith("not applicable")
    assert wanted == len(rows) > 5 * len(scored.scores) - 20
    first = next(row for row in rows if row["sample_id"] == "p-0000")
    assert json.loads(first["metadata"]["finish_reasons"]) == ["stop", None, "eos", "stop"]
    text = '{"raw":' + json.dumps(first["input"]["raw"]) + ',"reference":[]}'
    assert first["sample_hash"] == hashlib.sha256(text.encode()).hexdigest()


def test_metrics_can_be_chosen_and_one_of_another_version_claims_no_bounds(folder: Path, tmp_path: Path) -> None:
    chosen = open_result(folder, ["self_bleu", "distinct_n"])
    record, rows = exported(chosen, tmp_path)
    assert [each["metric_config"]["metric_id"] for each in record["evaluation_results"]] == [
        "divbench.distinct_n",
        "divbench.self_bleu",
    ]
    assert len(rows) == 2 * 5
    assert len(files_in(tmp_path)) == 2
    other = chosen.scores[0].model_copy(update={"version": 99, "low": None, "high": None})
    old = replace(chosen, scores=(other,))
    record, _ = exported(old, tmp_path)
    fits(record, "every_eval_ever_aggregate")
    assert record["evaluation_results"][0]["score_details"]["uncertainty"] == {"num_samples": other.n}
    assert "interval" not in str(entries(old, "org/x")[0].notes)
    metric = record["evaluation_results"][0]["metric_config"]
    assert metric["additional_details"]["bounds_status"] == "unknown"
    assert not {"score_type", "min_score", "max_score"} & metric.keys()


def test_a_result_of_the_first_responses_says_how_many_were_drawn(folder: Path, tmp_path: Path) -> None:
    """Its bounds are those of k responses; a stranger's number out of them comes without bounds."""
    chosen = open_result(folder, ["vendi_score", "distinct_n"])
    closed = MANIFEST.system.model_copy(update={"open_weights": False})
    changed = {"k": 1, "manifest": MANIFEST.model_copy(update={"system": closed})}
    record, _ = exported(replace(chosen, result=chosen.result.model_copy(update=changed)), tmp_path)
    details = record["evaluation_results"][0]["generation_config"]["additional_details"]
    assert (details["responses_drawn"], details["responses_scored"]) == ("4", "1")
    assert record["model_info"]["additional_details"]["model_availability"] == "closed_weights"
    vendi = next(each["metric_config"] for each in record["evaluation_results"] if "vendi" in str(each))
    assert vendi["additional_details"]["bounds_status"] == "unknown"


# Hugging Face


def test_eval_results_are_as_published_and_are_read_back(scored: ScoredResult, tmp_path: Path) -> None:
    path = tmp_path / "divbench.yaml"
    made = entries(scored, "org/divbench@v1.0.0")
    write_eval_results(path, made)
    found = yaml.safe_load(path.read_text(encoding="utf-8"))
    fits(found, "hub_eval_results")
    assert parse_eval_result_entries(found) == made
    assert [each["value"] for each in found] == [score.value for score in scored.scores]
    for each, score in zip(found, scored.scores, strict=True):
        assert each["dataset"] == {"id": "org/divbench", "task_id": f"made-up_{score.metric}", "revision": "v1.0.0"}
        assert each["date"] == "2025-03-27"
        assert each["notes"].startswith(f"{score.signature}; mean over {score.n} prompts; ")
        assert f"95% interval {score.low} to {score.high} " in each["notes"] or score.low is None
        way = {1: "higher is", -1: "lower is", 0: "neither way is"}[score.direction]
        assert f"; {way} more diverse" in each["notes"]
        assert ("came with the submission" in each["notes"]) == (score.origin == "reported")


def test_eval_results_say_no_more_than_is_known(folder: Path) -> None:
    [entry] = entries(open_result(folder, ["distinct_n"]), "org/divbench", task_id="dn")
    assert (entry.dataset_id, entry.task_id, entry.dataset_revision) == ("org/divbench", "dn", None)
    with pytest.raises(ConfigurationError, match="one task id for"):
        entries(open_result(folder), "org/divbench", task_id="dn")


@pytest.mark.parametrize("name", ["divbench", "a/b/c", "org/x@", "org/x\n", "../x"])
def test_datasets_that_are_none_are_refused(scored: ScoredResult, name: str) -> None:
    with pytest.raises(ConfigurationError, match="neither ORG/NAME"):
        entries(scored, name)


@pytest.mark.parametrize(("name", "said"), [("x.yml", "does not end in .yaml"), ("no/x.yaml", "no folder")])
def test_eval_results_go_into_a_yaml_file(scored: ScoredResult, tmp_path: Path, name: str, said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        write_eval_results(tmp_path / name, entries(scored, "org/x"))
    assert list(tmp_path.iterdir()) == []


# A dataset for the Hub


def test_a_dataset_of_results_opens_with_load_dataset(scored: ScoredResult, tmp_path: Path) -> None:
    from datasets import load_dataset

    named = scored.result.manifest.model_copy(update={"name": "a | <b>x</b>"})
    other = replace(scored, result=scored.result.model_copy(update={"result_id": "f" * 16, "manifest": named}))
    files = write_results_dataset([scored, other], tmp_path / "one")
    again = write_results_dataset([other, scored], tmp_path / "two")
    assert [path.read_bytes() for path in files] == [path.read_bytes() for path in again]
    assert "a \\| &lt;b&gt;" in files[0].read_text() or "<b>" not in files[0].read_text()
    assert "| --- | --- | --- | --- | --- | ---: | --- | ---: | ---: |" in files[0].read_text()  # numbers to the right
    scores, prompts = (
        load_dataset(str(tmp_path / "one"), name, split="train", cache_dir=str(tmp_path / "cache")).to_list()
        for name in ("scores", "prompts")
    )
    assert [(row["metric"], row["value"], row["low"], row["n"]) for row in scores if row["system"] != named.name] == [
        (score.metric, score.value, score.low, score.n) for score in scored.scores
    ]
    made = scored.result
    conditions = (made.submission_id, made.suite, made.suite_revision, made.k, made.profile)
    told = ("submission_id", "suite", "suite_revision", "k", "profile")
    for row in (*scores, *prompts):  # results of one submission, or of other prompts with the same ids, are told apart
        assert tuple(row[name] for name in told) == conditions
    for score in scored.scores:
        values = [row["value"] for row in prompts if (row["metric"], row["result_id"]) == (score.metric, "f" * 16)]
        assert len(values) == score.n
        assert math.fsum(values) / len(values) == pytest.approx(score.value, rel=1e-12)
    for given, hint in (([scored, scored], "each result once"), ([scored], "another folder")):
        with pytest.raises(ConfigurationError) as caught:
            write_results_dataset(given, tmp_path / "one")
        assert hint in str(caught.value.hint)


# Results


def test_the_same_result_gives_the_same_bytes_and_nothing_untrusted_names_a_path(
    scored: ScoredResult, tmp_path: Path
) -> None:
    for name in ("one", "two"):
        write_every_eval_ever(scored, tmp_path / name)
    one, two = files_in(tmp_path / "one"), files_in(tmp_path / "two")
    assert one == two
    assert all(re.fullmatch(r"[\w./-]+", path) and ".." not in path for path in one)
    [lines] = (content.decode() for path, content in one.items() if path.endswith(".jsonl"))
    assert len(lines.splitlines()) == lines.count("\n")  # the published validator parts lines so


def test_results_that_are_not_complete_are_refused(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="has no metric 'no_such'"):
        open_result(folder, ["no_such"])
    result = read_json(folder / RESULT_FILE)
    table = pq.read_table(folder / PER_PROMPT_FILE)
    pq.write_table(table.drop_columns(["distinct_n"]), tmp_path / PER_PROMPT_FILE)
    (tmp_path / RESULT_FILE).write_text(json.dumps(result), encoding="utf-8")
    with pytest.raises(InputError, match="is not a complete result"):
        open_result(tmp_path)
    result["per_prompt_sha256"] = sha256_of(tmp_path / PER_PROMPT_FILE)
    score = next(each for each in result["scores"] if each["metric"] == "ead")
    score |= {"value": None, "low": None, "high": None, "n": 0, "missing": {"too short": 6}}
    (tmp_path / RESULT_FILE).write_text(json.dumps(result), encoding="utf-8")
    with pytest.raises(InputError, match="does not match result"):
        list(open_result(tmp_path, ["distinct_n"]).prompts())
    with pytest.raises(InputError, match="no metric has a value"):
        open_result(tmp_path, ["ead"])
    chosen = open_result(tmp_path, ["self_bleu", "ead"])
    assert chosen.left_out == {"ead": {"too short": 6}}
    record, _ = exported(chosen, tmp_path / "out")
    assert record["source_metadata"]["additional_details"]["metrics_without_value"] == '["ead"]'


def test_the_commands(folder: Path, tmp_path: Path) -> None:
    chosen = ("--metric", "distinct_n", "--metric", "self_bleu")
    yaml_file = tmp_path / "x.yaml"
    for ended, files in (
        (divbench("export", "every-eval-ever", folder, "--out", tmp_path / "eee", *chosen), tmp_path / "eee"),
        (divbench("export", "dataset", folder, "--out", tmp_path / "hub", *chosen), tmp_path / "hub"),
        (divbench("export", "eval-results", folder, "--out", yaml_file, "--dataset", "org/divbench@main"), yaml_file),
    ):
        assert ended.returncode == 0, ended.stderr
        assert "<b>system</b>" in ended.stdout
        written = sorted(path for path in files.rglob("*") if path.is_file()) if files.is_dir() else [files]
        assert written
        assert all(str(path) in ended.stdout for path in written)
