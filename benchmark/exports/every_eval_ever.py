"""Writes results in the schema of Every Eval Ever 0.3: a JSON file of scores and a JSON Lines file of prompts.

The schema is specified in evaleval/every_eval_ever: every_eval_ever/eval_types.py (at 09496fc, generated from
eval.schema.json), instance_level_types.py (at 21b3d1a) and, for rules beyond the schema, validator/validation_core.py
(at 076ff86); arXiv:2606.14516. Where it leaves a choice, we chose:

- Files are data/COLLECTION/SUBMISSION/RESULT/UUID.json: ids, never untrusted names. The UUID has the form of version 4
  and is a hash of the result and its metrics.
- `retrieved_timestamp` is the manifest's date: nothing depends on the time of the export.
- `lower_is_better` must be true or false. If neither is better it is false, and `polarity` is *not_applicable*, as
  in that project's own converters.
- Bounds are the metric's if this version of the package has it; otherwise `bounds_status` is *unknown*.
- A prompt has one record per metric with a value, with all scored responses in `output.raw`. `is_correct` is required;
  diversity has no right answer, so it is false.
"""

import hashlib
import json
import uuid
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, time
from pathlib import Path
from typing import Any, Literal

from benchmark.exports.results import ScoredResult, date_of, direction_text, json_line
from benchmark.metrics import METRICS
from benchmark.scoring.results import Aggregate, Result
from divbench.core.files import atomic_file, canonical_json, readable_json, sha256_of, write_text

Relationship = Literal["first_party", "third_party", "collaborative", "other"]
SCHEMA_VERSION = "0.3.0"
COLLECTION = "divbench"
_GENERATION_ARGS = ("temperature", "top_p", "top_k", "max_tokens", "prompt_template")
_IS_CORRECT = "not applicable: diversity has no right answer; the field must be true or false"
Json = dict[str, Any]


def write_every_eval_ever(scored: ScoredResult, out: Path, relationship: Relationship = "other") -> list[Path]:
    """Write the file of scores and the file of prompts of a result into its folder under `out`."""
    result, rows = scored.result, 0
    content = canonical_json([result.result_id, [score.metric for score in scored.scores]])
    name = str(uuid.UUID(bytes=hashlib.sha256(content).digest()[:16], version=4))
    folder = Path("data", COLLECTION, result.submission_id, result.result_id)
    numbers, samples = folder / f"{name}.json", folder / f"{name}_samples.jsonl"
    seconds = int(datetime.combine(date_of(result), time(), UTC).timestamp())
    (out / folder).mkdir(parents=True, exist_ok=True)
    with atomic_file(out / samples) as temporary, temporary.open("w", encoding="utf-8", newline="\n") as file:
        for prompt in scored.prompts():
            for record in _instance_records(prompt, scored, seconds):
                file.write(json_line(record))
                rows += 1
    details = {
        "format": "jsonl",
        "file_path": samples.as_posix(),
        "hash_algorithm": "sha256",
        "checksum": sha256_of(out / samples),
        "total_rows": rows,
    }
    document = _aggregate_record(scored, relationship, seconds) | {"detailed_evaluation_results": details}
    write_text(out / numbers, readable_json(document))
    return [out / numbers, out / samples]


def _aggregate_record(scored: ScoredResult, relationship: Relationship, seconds: int) -> Json:
    result = scored.result
    manifest, system = result.manifest, result.manifest.system
    about: Json = {"submission_id": result.submission_id, "result_id": result.result_id, "notes": manifest.notes}
    about |= {"links": list(manifest.submitter.links), "metrics_without_value": list(scored.left_out)}
    about["origin"] = manifest.origin and manifest.origin.model_dump(mode="json", exclude_none=True)
    weights = {True: "open_weights", False: "closed_weights", None: "unknown"}[system.open_weights]
    about_model = {
        "type": system.type,
        "revision": system.revision,
        "num_parameters": system.parameters,
        "licence": system.licence,
    }
    return {
        "schema_version": SCHEMA_VERSION,
        "evaluation_id": _evaluation_id(result, seconds),
        "retrieved_timestamp": str(seconds),
        "source_metadata": {
            "source_name": "DivBench",
            "source_type": "evaluation_run",
            "source_organization_name": manifest.submitter.name,
            "evaluator_relationship": relationship,
            "additional_details": _texts(about),
        },
        "eval_library": {
            "name": "divbench",
            "version": result.divbench,
            "additional_details": dict(result.libraries),
        },
        "model_info": {
            "name": manifest.name,
            "id": _model_name(result),
            "additional_details": {"deployment_type": "unknown", "model_availability": weights} | _texts(about_model),
        },
        "evaluation_results": [_evaluation_result(score, result) for score in scored.scores],
    }


def _instance_records(prompt: Json, scored: ScoredResult, seconds: int) -> Iterator[Json]:
    """Yield the records of one prompt, one per metric with a value."""
    result = scored.result
    question: Json = {"raw": prompt["prompt"], "reference": []}
    about = {name: prompt[name] for name in ("category", "answers", "finish_reasons")}
    text = json.dumps(question, sort_keys=True, separators=(",", ":"))
    shared = {
        "schema_version": f"instance_level_eval_{SCHEMA_VERSION}",
        "evaluation_id": _evaluation_id(result, seconds),
        "model_id": _model_name(result),
        "evaluation_name": f"{COLLECTION}.{result.suite}",
        "sample_id": prompt["prompt_id"],
        "sample_hash": hashlib.sha256(text.encode()).hexdigest(),
        "interaction_type": "single_turn",
        "input": question,
        "output": {"raw": prompt["responses"]},
        "answer_attribution": [],
        "metadata": _texts(about | {"is_correct": _IS_CORRECT}),
    }
    for score in scored.scores:
        if (value := prompt[score.metric]) is not None:
            yield shared | {
                "evaluation_result_id": _result_id(score, result),
                "evaluation": {"score": value, "is_correct": False},
            }


def _evaluation_result(score: Aggregate, result: Result) -> Json:
    missing = {f"missing: {reason}": count for reason, count in score.missing.items()}
    generation = result.manifest.generation.model_dump(mode="json", exclude_defaults=True)
    args = {name: generation.pop(name) for name in _GENERATION_ARGS if name in generation}
    counts = {"responses_drawn": generation.pop("k"), "responses_scored": result.k}
    source = {"revision": result.suite_revision, "prompts": result.prompts}
    uncertainty: Json = {"num_samples": score.n}
    if score.low is not None and score.high is not None:
        interval = {
            "lower": score.low,
            "upper": score.high,
            "confidence_level": result.interval.level,
            "method": f"{result.interval.method}, seed {result.interval.seed}",
        }
        resamples = {"num_bootstrap_samples": result.interval.resamples}
        uncertainty = {"confidence_interval": interval} | uncertainty | resamples
    return {
        "evaluation_result_id": _result_id(score, result),
        "evaluation_name": f"{COLLECTION}.{result.suite}",
        "source_data": {"dataset_name": result.suite, "source_type": "other", "additional_details": _texts(source)},
        "metric_config": _metric_config(score, result),
        "score_details": {
            "score": score.value,
            "details": _texts({"aggregation": "mean over prompts", "origin": score.origin} | missing),
            "uncertainty": uncertainty,
        },
        "generation_config": {"generation_args": args, "additional_details": _texts(counts | generation)},
    }


def _metric_config(score: Aggregate, result: Result) -> Json:
    metric = next((known for known in METRICS if (known.id, known.version) == (score.metric, score.version)), None)
    details: Json = {
        "signature": str(score.signature),
        "direction": direction_text(score),
        "models": list(score.signature.models),
    }
    if not score.direction:
        details["polarity"] = "not_applicable"
    config: Json = {
        "metric_id": f"{COLLECTION}.{score.metric}",
        "metric_name": metric.title if metric else score.metric,
        "metric_parameters": {"version": score.version, "k": result.k, "profile": result.profile},
        "lower_is_better": score.direction == -1,
    }
    if metric:
        config["metric_unit"] = metric.unit
        details["definition"] = metric.paper
    if metric and score.value is not None and metric.within_bounds(score.value, result.k):
        low, high = metric.bounds
        config["score_type"] = "continuous"
        config["min_score"] = "-Infinity" if low is None else low
        config["max_score"] = "Infinity" if high is None else result.k if high == "k" else high
    else:
        details["bounds_status"] = "unknown"
    return config | {"additional_details": _texts(details)}


def _model_name(result: Result) -> str:
    """Return the system's Hub id or the provider's name; without one, a name made of the submission's id."""
    return result.manifest.system.model_id or f"divbench-submission/{result.submission_id}"


def _evaluation_id(result: Result, seconds: int) -> str:
    """Return the id shared by the records of an export: evaluation, model and time."""
    return f"{COLLECTION}.{result.suite}.{result.result_id}/{_model_name(result)}/{seconds}"


def _result_id(score: Aggregate, result: Result) -> str:
    return f"{result.result_id}.{score.metric}.v{score.version}"


def _texts(values: Mapping[str, Any]) -> dict[str, str]:
    """Return the known values as texts, the only type allowed here; numbers, lists and objects become JSON."""
    known = {name: value for name, value in values.items() if value is not None and value not in ([], ())}
    return {name: value if isinstance(value, str) else canonical_json(value).decode() for name, value in known.items()}
