"""Writes results in the schema of Every Eval Ever 0.3: a JSON file of scores and a JSON Lines file of prompts.

The schema is specified in evaleval/every_eval_ever: every_eval_ever/eval_types.py (at 09496fc, generated from
eval.schema.json), instance_level_types.py (at 21b3d1a) and, for rules beyond the schema, validator/validation_core.py
(at 076ff86); arXiv:2606.14516. Where it leaves a choice, we chose:

- Files are data/COLLECTION/DEVELOPER/MODEL/UUID.json, with the submission's id as the developer and the result's as the
  model, never untrusted names. The UUID has the form of version 4 and is a hash of the result and its metrics, so the
  same export has the same name.
- `retrieved_timestamp` is the manifest's date: nothing depends on the time of the export.
- `lower_is_better` must be true or false. If neither is better it is false, and `polarity` is *not_applicable*, as
  in that project's own converters.
- Bounds are the metric's if this version of the package has it; otherwise there is no `score_type`, and `bounds_status`
  is *unknown*.
- An instance must state `is_correct`; diversity has no right answer, so it is false, which `metadata` explains. A
  prompt has one record per metric with a value, with all scored responses in `output.raw`.
- Seeds, modes and other settings without a field in `generation_args` are texts in `additional_details`.
"""

import hashlib
import json
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmark.exports.choices import Relationship
from benchmark.exports.scored import (
    ScoredPrompt,
    ScoredResult,
    epoch_of,
    json_line,
    metric_of,
    model_name,
    way_of,
    whole_pair,
)
from benchmark.metrics import Metric
from benchmark.scoring.result_schema import Aggregate, Result
from divbench.core.files import canonical_json, readable_json, sha256_of
from submissions.schema import Generation

SCHEMA_VERSION = "0.3.0"
INSTANCE_SCHEMA_VERSION = f"instance_level_eval_{SCHEMA_VERSION}"
COLLECTION = "divbench"
_GENERATION_ARGS = ("temperature", "top_p", "top_k", "max_tokens", "prompt_template")
_IS_CORRECT = "not applicable: diversity has no right answer; the field must be true or false"
Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Samples:
    """Facts about the file of prompts."""

    sha256: str
    rows: int


def file_uuid(scored: ScoredResult) -> str:
    """Return the name of an export's files: a UUID that depends on the result and its metrics only."""
    content = canonical_json([scored.result.result_id, [score.metric for score in scored.scores]])
    return str(uuid.UUID(bytes=hashlib.sha256(content).digest()[:16], version=4))


def folder_of(result: Result) -> str:
    """Return the folder of an export in the datastore."""
    return f"data/{COLLECTION}/{result.submission_id}/{result.result_id}"


def evaluation_id(result: Result) -> str:
    """Return the id shared by the records of an export: evaluation, model and time."""
    return f"{_name(result)}.{result.result_id}/{model_name(result)}/{epoch_of(result)}"


def aggregate_record(scored: ScoredResult, samples: Samples, relationship: Relationship = "other") -> Json:
    """Return the JSON document of scores.

    Args:
        relationship: Relation of the evaluator to the model; *other* if not stated.
    """
    result = scored.result
    manifest = result.manifest
    about: Json = {"submission_id": result.submission_id, "result_id": result.result_id, "notes": manifest.notes}
    about |= {"links": list(manifest.submitter.links), "metrics_without_value": list(scored.left_out)}
    about |= {"origin": None if manifest.origin is None else manifest.origin.model_dump(mode="json", exclude_none=True)}
    return {
        "schema_version": SCHEMA_VERSION,
        "evaluation_id": evaluation_id(result),
        "retrieved_timestamp": str(epoch_of(result)),
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
        "model_info": _model_info(result),
        "evaluation_results": [_evaluation_result(score, result) for score in scored.scores],
        "detailed_evaluation_results": {
            "format": "jsonl",
            "file_path": f"{folder_of(result)}/{file_uuid(scored)}_samples.jsonl",
            "hash_algorithm": "sha256",
            "checksum": samples.sha256,
            "total_rows": samples.rows,
        },
    }


def instance_records(prompt: ScoredPrompt, scored: ScoredResult) -> Iterator[Json]:
    """Yield the records of one prompt, one per metric with a value."""
    result = scored.result
    asked: Json = {"raw": prompt.prompt, "reference": []}
    about = {"category": prompt.category, "answers": prompt.answers, "finish_reasons": prompt.finish_reasons}
    of_all = {
        "schema_version": INSTANCE_SCHEMA_VERSION,
        "evaluation_id": evaluation_id(result),
        "model_id": model_name(result),
        "evaluation_name": _name(result),
        "sample_id": prompt.prompt_id,
        "sample_hash": hashlib.sha256(json.dumps(asked, sort_keys=True, separators=(",", ":")).encode()).hexdigest(),
        "interaction_type": "single_turn",
        "input": asked,
        "output": {"raw": list(prompt.responses)},
        "answer_attribution": [],
        "metadata": _texts(about | {"is_correct": _IS_CORRECT}),
    }
    for score in scored.scores:
        if score.metric in prompt.values:
            yield of_all | {
                "evaluation_result_id": _result_id(score, result),
                "evaluation": {"score": prompt.values[score.metric], "is_correct": False},
            }


def write_every_eval_ever(scored: ScoredResult, out: Path, relationship: Relationship = "other") -> tuple[Path, Path]:
    """Write the file of scores and the file of prompts of a result into its folder under `out`; return their paths.

    Raises:
        InputError: The table of prompts contradicts the result.
    """
    folder, name = out / folder_of(scored.result), file_uuid(scored)
    numbers, samples, rows = folder / f"{name}.json", folder / f"{name}_samples.jsonl", 0
    with whole_pair(samples, numbers) as (lines, text):
        with lines.open("w", encoding="utf-8", newline="\n") as file:
            for prompt in scored.prompts():
                for record in instance_records(prompt, scored):
                    file.write(json_line(record))
                    rows += 1
        made = aggregate_record(scored, Samples(sha256_of(lines), rows), relationship)
        text.write_text(readable_json(made), encoding="utf-8", newline="\n")
    return numbers, samples


def _name(result: Result) -> str:
    return f"{COLLECTION}.{result.suite}"


def _result_id(score: Aggregate, result: Result) -> str:
    return f"{result.result_id}.{score.metric}.v{score.version}"


def _model_info(result: Result) -> Json:
    system = result.manifest.system
    weights = {True: "open_weights", False: "closed_weights", None: "unknown"}[system.open_weights]
    about: Json = {"type": system.type, "revision": system.revision, "num_parameters": system.parameters}
    about["licence"] = system.licence
    return {
        "name": result.manifest.name,
        "id": model_name(result),
        "additional_details": {"deployment_type": "unknown", "model_availability": weights} | _texts(about),
    }


def _evaluation_result(score: Aggregate, result: Result) -> Json:
    details: Json = {"aggregation": "mean over prompts", "origin": score.origin}
    details |= {f"missing: {reason}": count for reason, count in score.missing.items()}
    source = {"revision": result.suite_revision, "prompts": result.prompts}
    return {
        "evaluation_result_id": _result_id(score, result),
        "evaluation_name": _name(result),
        "source_data": {
            "dataset_name": result.suite,
            "source_type": "other",
            "additional_details": _texts(source),
        },
        "metric_config": _metric_config(score, result),
        "score_details": {
            "score": score.value,
            "details": _texts(details),
            "uncertainty": _uncertainty(score, result),
        },
        "generation_config": _generation_config(result.manifest.generation, result.k),
    }


def _metric_config(score: Aggregate, result: Result) -> Json:
    known = metric_of(score)
    details: Json = {
        "signature": str(score.signature),
        "direction": way_of(score),
        "models": list(score.signature.models),
    }
    details |= {} if score.direction else {"polarity": "not_applicable"}
    made: Json = {
        "metric_id": f"{COLLECTION}.{score.metric}",
        "metric_name": score.metric if known is None else known.title,
        "metric_parameters": {"version": score.version, "k": result.k, "profile": result.profile},
        "lower_is_better": score.direction == -1,
    }
    bounds = None if known is None else _bounds(known, score.value, result.k)
    if known is not None:
        made["metric_unit"] = known.unit
        details["definition"] = known.paper
    if bounds is None:
        details["bounds_status"] = "unknown"
    else:
        made |= {"score_type": "continuous", "min_score": bounds[0], "max_score": bounds[1]}
    return made | {"additional_details": _texts(details)}


def _bounds(metric: Metric, value: float | None, k: int) -> tuple[float | str, float | str] | None:
    """Return bounds as the schema writes them, infinity as a text; None if an untrusted number is out of bounds."""
    if value is None or not metric.within_bounds(value, k):
        return None
    low, high = metric.bounds
    return "-Infinity" if low is None else low, "Infinity" if high is None else k if high == "k" else high


def _uncertainty(score: Aggregate, result: Result) -> Json:
    if score.low is None or score.high is None:
        return {"num_samples": score.n}
    method = result.interval
    return {
        "confidence_interval": {
            "lower": score.low,
            "upper": score.high,
            "confidence_level": method.level,
            "method": f"{method.method}, seed {method.seed}",
        },
        "num_samples": score.n,
        "num_bootstrap_samples": method.resamples,
    }


def _generation_config(generation: Generation, k: int) -> Json:
    known = generation.model_dump(mode="json", exclude_defaults=True)
    args = {name: known.pop(name) for name in _GENERATION_ARGS if name in known}
    counts = {"responses_drawn": known.pop("k"), "responses_scored": k}
    return {"generation_args": args, "additional_details": _texts(counts | known)}


def _texts(values: Mapping[str, Any]) -> dict[str, str]:
    """Return the known values as texts, the only type allowed here; numbers, lists and objects become JSON."""
    known = {name: value for name, value in values.items() if value is not None and value not in ([], ())}
    return {name: value if isinstance(value, str) else canonical_json(value).decode() for name, value in known.items()}
