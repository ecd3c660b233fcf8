"""Results in others' formats: as published there, every number with all that it can keep, and back again."""

import hashlib
import json
import math
import re
import time
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from huggingface_hub import parse_eval_result_entries

from benchmark.exports.eval_results import Benchmark, as_yaml, benchmark_of, entries, write_eval_results
from benchmark.exports.every_eval_ever import file_uuid
from benchmark.exports.harness import write_harness
from benchmark.exports.results_dataset import write_results_dataset
from benchmark.exports.scored import ScoredResult, epoch_of, open_result
from benchmark.metrics import METRICS
from divbench.core.errors import ConfigurationError
from divbench.core.files import sha256_of
from submissions.checking.validate import open_submission
from submissions.importing.importers import import_submission
from submissions.schema import Manifest
from tests.benchmark.interchange import (
    MANIFEST,
    MIDNIGHT,
    OFFLINE,
    ROWS,
    SUITE,
    UUID4,
    K,
    exported,
    files_in,
    fits,
    read_json,
    read_lines,
    result_of,
    scored_by,
    submitted,
    table_of,
)


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
    assert len(scored.scores) + len(scored.left_out) == sum(metric.reads != "tags" for metric in METRICS)


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
    assert file_uuid(chosen) != file_uuid(open_result(folder))
    other = chosen.scores[0].model_copy(update={"version": 99, "low": None, "high": None})
    old = replace(chosen, scores=(other,))
    record, _ = exported(old, tmp_path)
    fits(record, "every_eval_ever_aggregate")
    assert record["evaluation_results"][0]["score_details"]["uncertainty"] == {"num_samples": other.n}
    assert "interval" not in str(entries(old, Benchmark("org/x"))[0].notes)
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


def test_dates_are_midnight_in_utc_on_every_machine(scored: ScoredResult, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setenv("TZ", "Asia/Tokyo")
        time.tzset()
        assert epoch_of(scored.result) == MIDNIGHT
    time.tzset()


# Hugging Face


def test_eval_results_are_as_published_and_are_read_back(scored: ScoredResult, tmp_path: Path) -> None:
    path = tmp_path / "divbench.yaml"
    made = entries(scored, Benchmark("org/divbench", "v1.0.0"), source_url="https://example.org/r")
    write_eval_results(path, made)
    found = yaml.safe_load(path.read_text(encoding="utf-8"))
    fits(found, "hub_eval_results")
    assert parse_eval_result_entries(found) == made
    assert [each["value"] for each in found] == [score.value for score in scored.scores]
    for each, score in zip(found, scored.scores, strict=True):
        assert each["dataset"] == {"id": "org/divbench", "task_id": f"made-up_{score.metric}", "revision": "v1.0.0"}
        assert each["date"] == "2025-03-27"
        assert each["source"] == {"url": "https://example.org/r", "name": f"DivBench result {scored.result.result_id}"}
        assert each["notes"].startswith(f"{score.signature}; mean over {score.n} prompts; ")
        assert f"95% interval {score.low} to {score.high} " in each["notes"] or score.low is None
        way = {1: "higher is", -1: "lower is", 0: "neither way is"}[score.direction]
        assert f"; {way} more diverse" in each["notes"]
        assert ("came with the submission" in each["notes"]) == (score.origin == "reported")


def test_eval_results_say_no_more_than_is_known(folder: Path) -> None:
    scored = open_result(folder, ["distinct_n"])
    [entry] = yaml.safe_load(as_yaml(entries(scored, benchmark_of("org/divbench"), task_id="dn")))
    assert entry["dataset"] == {"id": "org/divbench", "task_id": "dn"}
    assert set(entry) == {"dataset", "value", "date", "notes"}
    with pytest.raises(ConfigurationError, match="one task id for"):
        entries(open_result(folder), benchmark_of("org/divbench"), task_id="dn")


@pytest.mark.parametrize(
    "name", ["divbench", "org/", "/x", "a/b/c", "org/x@", "org/x@a b", "org/x\n", "../x", "o/x@\n"]
)
def test_datasets_that_are_none_are_refused(name: str) -> None:
    with pytest.raises(ConfigurationError, match="neither ORG/NAME"):
        benchmark_of(name)


@pytest.mark.parametrize(("name", "said"), [("x.yml", "does not end in .yaml"), ("no/x.yaml", "no folder")])
def test_eval_results_go_into_a_yaml_file(scored: ScoredResult, tmp_path: Path, name: str, said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        write_eval_results(tmp_path / name, entries(scored, Benchmark("org/x")))
    assert list(tmp_path.iterdir()) == []


# lm-evaluation-harness


def test_the_harness_files_are_as_published(scored: ScoredResult, tmp_path: Path) -> None:
    results, samples = write_harness(scored, tmp_path)
    assert results == tmp_path / scored.result.result_id / "results_2025-03-27.json"
    assert samples.name == "samples_made-up_2025-03-27.jsonl"
    record, rows = read_json(results), read_lines(samples)
    fits(record, "lm_eval_results")
    for row in rows:
        fits(row, "lm_eval_sample")
        assert set(row["metrics"]) == {name for name, value in row.items() if isinstance(value, float)}

    # Its hashes: lm_eval/evaluator.py and loggers/evaluation_tracker.py at 034ab03.
    def sha256(text: str) -> str:
        return hashlib.sha256(text.encode()).hexdigest()

    for row in rows:
        assert row["doc_hash"] == sha256(json.dumps(row["doc"], indent=2, ensure_ascii=False))
        assert row["prompt_hash"] == sha256(row["arguments"]["gen_args_0"]["arg_0"])
        assert row["target_hash"] == sha256(row["target"])
    hashes = "".join(row["doc_hash"] + row["prompt_hash"] + row["target_hash"] for row in rows)
    assert record["task_hashes"] == {"made-up": sha256(hashes)}
    assert record["model_name_sanitized"] == "..__..__org__model__x"
    assert record["date"] == MIDNIGHT


def test_the_harness_files_keep_all_of_a_number(scored: ScoredResult, tmp_path: Path) -> None:
    results, samples = write_harness(scored, tmp_path)
    record, rows = read_json(results), read_lines(samples)
    found, told = record["results"]["made-up"], record["configs"]["made-up"]["metadata"]["divbench"]
    for score in scored.scores:
        assert found[f"{score.metric},none"] == score.value
        assert found[f"{score.metric}_stderr,none"] == "N/A"
        higher = {1: True, -1: False, 0: None}[score.direction]
        assert record["higher_is_better"]["made-up"][score.metric] is higher
        kept = told["scores"][score.metric]
        assert kept == {k: v for k, v in score.model_dump(mode="json").items() if k not in ("metric", "value")}
    assert Manifest.model_validate_json(json.dumps(told["manifest"])) == MANIFEST
    assert told["interval"] == scored.result.interval.model_dump(mode="json")
    assert record["versions"] == {"made-up": SUITE.revision}
    assert record["n-samples"] == {"made-up": {"original": 6, "effective": 6}}
    drawn = {"temperature": 0.1, "top_p": 0.9, "max_gen_toks": 64, "seed": 3, "until": ["\n\n"]}
    assert record["config"] == {"model_num_parameters": 7, "model_revision": "abc", "gen_kwargs": drawn}
    assert record["configs"]["made-up"]["repeats"] == K
    assert [row["doc_id"] for row in rows] == list(range(6))
    for row, prompt in zip(rows, table_of(scored.folder), strict=True):
        values = {score.metric: prompt[score.metric] for score in scored.scores}
        assert {name: row.get(name) for name in values} == values
        assert row["metrics"] == [name for name, value in values.items() if value is not None]
        assert row["resps"] == [prompt["responses"]]
        asked = row["arguments"]["gen_args_0"]
        assert asked == {"arg_0": f"Q: {prompt['prompt']}\nA:", "arg_1": drawn}


@pytest.mark.parametrize("k", [None, 2])
def test_harness_samples_come_back_as_the_same_submission(folder: Path, tmp_path: Path, k: int | None) -> None:
    if k is not None:  # a result of the first k responses has no others
        folder = scored_by(submitted(tmp_path / "sub"), tmp_path / "results", k)
    _, samples = write_harness(open_result(folder), tmp_path / "out")
    known = MANIFEST.model_dump() | {"generation": {}}
    import_submission(samples, "lm-eval", tmp_path / "back", known, lambda name: SUITE)
    back, _, _ = open_submission(tmp_path / "back", lambda name: SUITE)
    assert [(r.prompt_id, r.prompt, r.responses) for r in back.rows()] == [
        (r.prompt_id, r.prompt, r.responses[: k or K]) for r in ROWS
    ]
    assert back.manifest.generation == MANIFEST.generation.model_copy(
        update={"k": k or K, "prompt_template": None}  # which the format does not say
    )
    again = result_of(scored_by(back, tmp_path / "again"))
    first = {score.metric: score for score in result_of(folder).scores if score.origin == "computed"}
    compared = [score for score in again.scores if score.metric in first]
    assert len(compared) > 30
    for score in compared:
        assert score == first[score.metric]


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
