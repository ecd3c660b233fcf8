"""Writes results in lm-evaluation-harness's format: `results_DATE.json` and `samples_TASK_DATE.jsonl`.

The formats are defined in EleutherAI/lm-evaluation-harness, lm_eval/result_schema.py (`EvalResults` and `SampleResult`,
at 293c9df); their files, names and hashes in lm_eval/loggers/evaluation_tracker.py and lm_eval/evaluator.py.

- The task is the suite, its version the suite's revision.
- `METRIC,none` is the mean over prompts; `METRIC_stderr,none` is *N/A*, as in the harness if there is no standard
  error. Intervals, signatures, numbers of prompts, missing values and the manifest are in
  `configs.TASK.metadata.divbench`: a task's metadata is free.
- A sample has all responses of a prompt as repeats of one request, and the values that are not missing. `doc_id` is the
  prompt's index in the suite, the target an empty text. There is no field for finish reasons: truncation is lost.
- The request is the prompt, filled into the manifest's template if there is one.
- Facts of the harness's own run (version, seeds, tokens, times) are left out. The date is the manifest's.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmark.exports.scored import ScoredPrompt, ScoredResult, date_of, epoch_of, json_line, whole_pair
from divbench.core.errors import ConfigurationError, InputError
from divbench.core.files import readable_json
from submissions.schema import Generation

FILTER = "none"
_NO_STANDARD_ERROR = "N/A"
_HIGHER: Mapping[int, bool | None] = {1: True, 0: None, -1: False}
_PROMPT = "{prompt}"
_GENERATION_KWARGS = {
    "temperature": "temperature",
    "top_k": "top_k",
    "top_p": "top_p",
    "max_gen_toks": "max_tokens",
    "seed": "seed",
}
_HASHES = ("doc_hash", "prompt_hash", "target_hash")
_FIXED = {"doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "filter", "metrics", *_HASHES}
_NOT_IN_PATHS = re.compile(r"[\"<>:/|\\?*\[\]]+")
Json = dict[str, Any]


def sample_row(prompt: ScoredPrompt, index: int, scored: ScoredResult) -> Json:
    """Return one prompt as a row of `samples_*.jsonl`.

    Args:
        index: Index of the prompt in the suite, from 0.
    """
    generation = scored.result.manifest.generation
    doc = {"prompt_id": prompt.prompt_id, "category": prompt.category, "prompt": prompt.prompt}
    asked = _asked(prompt.prompt, generation)
    return {
        "doc_id": index,
        "doc": doc,
        "target": "",
        "arguments": {"gen_args_0": {"arg_0": asked, "arg_1": generation_kwargs(generation)}},
        "resps": [list(prompt.responses)],
        "filtered_resps": [list(prompt.responses)],
        "filter": FILTER,
        "metrics": list(prompt.values),
        "doc_hash": _sha256(json.dumps(doc, indent=2, ensure_ascii=False)),
        "prompt_hash": _sha256(asked),
        "target_hash": _sha256(""),
        **prompt.values,
    }


def results_record(scored: ScoredResult, task_hash: str) -> Json:
    """Return the content of `results_*.json`.

    Args:
        task_hash: Hash of the samples, see `write_harness`.
    """
    result = scored.result
    task, system, generation = result.suite, result.manifest.system, result.manifest.generation
    name = system.model_id or result.manifest.name
    config = {
        "model_num_parameters": system.parameters,
        "model_revision": system.revision,
        "gen_kwargs": generation_kwargs(generation) or None,
    }
    made: Json = {
        "results": {task: {"name": task, "alias": task, "sample_len": result.counts.prompts, **_values(scored)}},
        "group_subtasks": {task: []},
        "configs": {task: _task_config(scored)},
        "versions": {task: result.suite_revision},
        "higher_is_better": {task: {score.metric: _HIGHER[score.direction] for score in scored.scores}},
        "n-samples": {task: {"original": result.prompts, "effective": result.counts.prompts}},
        "config": {key: value for key, value in config.items() if value is not None},
        "date": float(epoch_of(result)),
        "task_hashes": {task: task_hash},
        "model_name": name,
        "model_name_sanitized": _NOT_IN_PATHS.sub("__", name),
    }
    if generation.system_prompt is not None:
        made |= {
            "system_instruction": generation.system_prompt,
            "system_instruction_sha": _sha256(generation.system_prompt),
        }
    return made


def generation_kwargs(generation: Generation) -> Json:
    """Return the manifest's sampling parameters under the harness's names."""
    made = {name: getattr(generation, ours) for name, ours in _GENERATION_KWARGS.items()}
    made["until"] = list(generation.stop) or None
    return {name: value for name, value in made.items() if value is not None}


def write_harness(scored: ScoredResult, out: Path) -> tuple[Path, Path]:
    """Write the results and the samples of a result into the folder `out/RESULT_ID`; return their paths.

    The hash of the task is the hash of its samples' concatenated hashes, as in the harness.

    Raises:
        InputError: The table of prompts contradicts the result, or a metric has the name of another field.
        ConfigurationError: The output folder is the result's own.
    """
    result = scored.result
    if (out / result.result_id).resolve() == scored.folder.resolve():
        raise ConfigurationError(f"{scored.folder} is the result's own folder", "choose another folder with --out")
    if taken := [score.metric for score in scored.scores if score.metric in _FIXED]:
        raise InputError(f"{scored.folder}: a sample has a field {taken[0]!r} already", "leave the metric out")
    date = date_of(result).isoformat()
    results = out / result.result_id / f"results_{date}.json"
    samples = results.with_name(f"samples_{result.suite}_{date}.jsonl")
    hashes = hashlib.sha256()
    with whole_pair(samples, results) as (lines, text):
        with lines.open("w", encoding="utf-8", newline="\n") as file:
            for index, prompt in enumerate(scored.prompts()):
                row = sample_row(prompt, index, scored)
                hashes.update("".join(row[name] for name in _HASHES).encode())
                file.write(json_line(row))
        made = results_record(scored, hashes.hexdigest())
        text.write_text(readable_json(made), encoding="utf-8", newline="\n")
    return results, samples


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _asked(prompt: str, generation: Generation) -> str:
    template = generation.prompt_template
    return prompt if template is None or _PROMPT not in template else template.replace(_PROMPT, prompt)


def _values(scored: ScoredResult) -> Json:
    made: Json = {}
    for score in scored.scores:
        made[f"{score.metric},{FILTER}"] = score.value
        made[f"{score.metric}_stderr,{FILTER}"] = _NO_STANDARD_ERROR
    return made


def _task_config(scored: ScoredResult) -> Json:
    result = scored.result
    generation = result.manifest.generation
    return {
        "task": result.suite,
        "doc_to_text": _asked("{{prompt}}", generation),
        "doc_to_target": "",
        "output_type": "generate_until",
        "generation_kwargs": generation_kwargs(generation),
        "repeats": result.k,
        "metric_list": [
            {"metric": score.metric, "aggregation": "mean", "higher_is_better": _HIGHER[score.direction]}
            for score in scored.scores
        ],
        "metadata": {"version": result.suite_revision, "divbench": _metadata(scored)},
    }


def _metadata(scored: ScoredResult) -> Json:
    """Return the facts for which the harness has no field."""
    scores = {score.metric: score.model_dump(mode="json", exclude={"metric", "value"}) for score in scored.scores}
    known = scored.result.model_dump(mode="json", exclude={"scores", "per_prompt_sha256"})
    return known | {"scores": scores, "left_out": scored.left_out}
