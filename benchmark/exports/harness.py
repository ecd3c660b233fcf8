"""Results as lm-evaluation-harness writes them: `results_DATE.json` and `samples_TASK_DATE.jsonl`.

The formats are stated in EleutherAI/lm-evaluation-harness, lm_eval/result_schema.py (`EvalResults` and `SampleResult`,
at 293c9df); their files, names and hashes in lm_eval/loggers/evaluation_tracker.py and lm_eval/evaluator.py. Here:

- The task is the suite, its version the suite's revision, the model of the submission the model.
- Of a metric there is `METRIC,none`, the mean over prompts, and `METRIC_stderr,none`, which is *N/A*: that is what the
  harness writes where there is no standard error, and our intervals are none. They stand, with signatures, numbers of
  prompts and what is missing, in `configs.TASK.metadata.divbench`, with the manifest: a task's metadata is free.
- A sample has all responses of a prompt as the repeats of its one request, and the values that are not missing.
  `doc_id` is the prompt's place in the suite. There is no target: it is an empty text. Finish reasons have no place:
  that an answer was cut off is not known of samples that are read back.
- The text that was asked is the prompt, in the manifest's template where it has one.
- What the harness says of its own run (its version, seeds, tokens, times) is left out: it did not run. The date, in
  names and in `date`, is the manifest's.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmark.exports.scored import ScoredPrompt, ScoredResult, epoch_of, json_line, whole_pair
from benchmark.scoring.result_schema import Aggregate
from datasets_build.errors import ConfigurationError, InputError
from datasets_build.files import readable_json
from submissions.schema import Generation

FILTER = "none"
_NO_STANDARD_ERROR = "N/A"
_HIGHER: Mapping[int, bool | None] = {1: True, 0: None, -1: False}
_PLACE = "{prompt}"
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


def sample_row(prompt: ScoredPrompt, place: int, scored: ScoredResult) -> Json:
    """One prompt as a row of `samples_*.jsonl`.

    Args:
        prompt: With its responses and values.
        place: In the suite, from 0.
        scored: The result that it is of.
    """
    generation = scored.result.manifest.generation
    doc = {"prompt_id": prompt.prompt_id, "category": prompt.category, "prompt": prompt.prompt}
    asked = _asked(prompt.prompt, generation)
    return {
        "doc_id": place,
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
    """`results_*.json`.

    Args:
        scored: The result with its metrics.
        task_hash: Of the samples; see `write_harness`.
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
    """What the manifest says of the sampling, by the harness's names."""
    made = {name: getattr(generation, ours) for name, ours in _GENERATION_KWARGS.items()}
    made["until"] = list(generation.stop) or None
    return {name: value for name, value in made.items() if value is not None}


def write_harness(scored: ScoredResult, out: Path) -> tuple[Path, Path]:
    """Write both files of a result into the folder `out/RESULT_ID`.

    The hash of the task is that of its samples' hashes, one after the other, as the harness makes it.

    Returns:
        The file of the results and that of the samples.

    Raises:
        InputError: The table of prompts is not what the result says, or a metric has the name of another field.
        ConfigurationError: The files would lie in the result's own folder.
    """
    result = scored.result
    if (out / result.result_id).resolve() == scored.folder.resolve():
        raise ConfigurationError(f"{scored.folder} is the result's own folder", "name another folder by --out")
    if taken := [score.metric for score in scored.scores if score.metric in _FIXED]:
        raise InputError(f"{scored.folder}: a sample has a field {taken[0]!r} already", "leave the metric out")
    date = result.manifest.submitter.date.isoformat()
    results = out / result.result_id / f"results_{date}.json"
    samples = results.with_name(f"samples_{result.suite}_{date}.jsonl")
    hashes = hashlib.sha256()
    with whole_pair(samples, results) as (lines, text):
        with lines.open("w", encoding="utf-8", newline="\n") as file:
            for place, prompt in enumerate(scored.prompts()):
                row = sample_row(prompt, place, scored)
                hashes.update("".join(row[name] for name in _HASHES).encode())
                file.write(json_line(row))
        made = results_record(scored, hashes.hexdigest())
        text.write_text(readable_json(made), encoding="utf-8", newline="\n")
    return results, samples


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _asked(prompt: str, generation: Generation) -> str:
    template = generation.prompt_template
    return prompt if template is None or _PLACE not in template else template.replace(_PLACE, prompt)


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
    """What the harness has no field for."""
    told = scored.result.model_dump(mode="json", exclude={"scores", "per_prompt_sha256"})
    return told | {"scores": {score.metric: _told(score) for score in scored.scores}, "left_out": scored.left_out}


def _told(score: Aggregate) -> Json:
    return score.model_dump(mode="json", exclude={"metric", "value"})
