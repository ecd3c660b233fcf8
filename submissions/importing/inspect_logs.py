"""Import logs of Inspect (UK AI Security Institute): `.eval` or `.json` files, read by Inspect's own library.

The library trusts logs, so it runs in a limited process, whose output is read here as an untrusted file. A task asks
each sample's `input` once per epoch; the epochs of a sample, or several choices in one epoch, are the responses to a
prompt. The prompt is identified by the sample's `id` if that is a prompt id, otherwise by the last user message.
"""

import json
import re
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from datasets_build.schema import Suite
from divbench.core.errors import ConfigurationError
from submissions.importing.imported import DEFAULT_OPTIONS, Imported, ImportOptions
from submissions.importing.response_rows import read_rows
from submissions.schema import Reported
from submissions.untrusted.findings import Findings, openable
from submissions.untrusted.json_files import read_jsonl
from submissions.untrusted.process import Limits, Stopped, run_limited

if TYPE_CHECKING:
    from inspect_ai.log import EvalSample

LIMITS = Limits(memory=4 * 2**30, seconds=600)  # for Inspect's library and the decompressed log
_JSON = re.compile(rb'\s*\{\s*"version":\s*\d+,\s*"status":')  # the beginning of a log with log_format="json"
_SAMPLING = ("temperature", "top_p", "top_k", "max_tokens", "seed")
COMPLETIONS = "all_completions"  # metadata of a sample with all responses
VERSION = "1.0"  # of NoveltyBench's metric, as inspect_evals has it


def is_inspect_log(path: Path) -> bool:
    """Whether a file is named like a log, or is one in JSON; an unreadable file is not."""
    if path.suffix != ".json":
        return path.suffix == ".eval"
    if not openable(path, Findings()):
        return False
    with path.open("rb") as file:
        return _JSON.match(file.read(200)) is not None


def read_inspect_log(
    path: Path, findings: Findings, suite: Suite | None = None, options: ImportOptions = DEFAULT_OPTIONS
) -> Imported:
    """Read a log. Rows are numbered by the log's samples, from 1."""
    rows = _rows(path, findings)
    judged = {number: reported for number, raw in rows if (reported := raw.pop("reported", None))}
    imported = read_rows(rows, path.name, findings, suite, options)
    imported.names |= {"prompt_id": "id", "prompt": "input", "responses": "output.choices"}
    for row in imported.rows:
        if row.number in judged:
            values = _as_reported(judged[row.number])
            imported.reported[row.prompt_id, VERSION] = path.name, row.number, values
    imported.reported_by = "inspect_evals/novelty_bench" if imported.reported else ""
    return imported


def _as_reported(judged: dict[str, Any]) -> Reported:
    """Return reported values with labels 0, 1, 2, … and the scores of the classes' first responses, if they fit."""
    labels = {label: i for i, label in enumerate(dict.fromkeys(judged["partition"]))}
    partition = tuple(labels[label] for label in judged["partition"])
    given = judged["scores"] or ()
    pairs = enumerate(zip(partition, given, strict=False))
    scores = tuple(float(score) if partition.index(label) == i else 0.0 for i, (label, score) in pairs)
    fits = bool(scores) and all(s == 0 or 1 <= s <= 10 for s in scores)
    return Reported(partition, scores if fits else None, len(labels), judged["utility"], VERSION)


def _rows(path: Path, findings: Findings) -> list[tuple[int, dict[str, Any]]]:
    """Return the samples of a log as rows; if it is unreadable, report it and return none."""
    if find_spec("inspect_ai") is None:
        raise ConfigurationError("Inspect is not installed", 'pip install "divbench[inspect]"')
    if not openable(path, findings):
        return []
    with path.open("rb") as file:  # Inspect's library takes seconds to say so
        beginning = file.read(200)
    if not beginning.startswith(b"PK") and _JSON.match(beginning) is None:
        findings.error("json", path.name, None, "", "it is not a log of Inspect", "give a log as Inspect wrote it")
        return []
    with tempfile.TemporaryDirectory() as folder:
        written = Path(folder) / path.name
        request = {"log": str(path.absolute()), "out": str(written)}
        try:
            reply = run_limited(f"{__name__}:convert", request, LIMITS)
        except Stopped as error:
            reply = {"unreadable": str(error)}
        if "unreadable" in reply:
            message = f"Inspect cannot read it: {reply['unreadable']}"
            findings.error("json", path.name, None, "", message, "give a log as Inspect wrote it")
            return []
        return list(read_jsonl(written, findings)) if written.stat().st_size else []


def convert(request: dict[str, Any]) -> dict[str, Any]:
    """In the limited process: write a line of JSON for each sample of a log; return what it states of the system."""
    from inspect_ai.log import read_eval_log

    try:
        log = read_eval_log(request["log"])
    except MemoryError:
        return {"unreadable": "it takes too much memory"}
    except Exception as error:
        return {"unreadable": str(error)[:200] or type(error).__name__}
    facts: dict[str, Any] = {"model": log.eval.model}
    for config in (log.eval.model_generate_config, log.plan.config):  # the task's config overrides
        facts |= {name: value for name in _SAMPLING if (value := getattr(config, name)) is not None}
    samples = sorted(log.samples or [], key=lambda sample: sample.epoch)
    with Path(request["out"]).open("w", encoding="ascii") as file:
        file.writelines(f"{json.dumps(facts | _row(sample))}\n" for sample in samples)
    return {}


def _row(sample: "EvalSample") -> dict[str, Any]:
    """Return a sample as a row: a conversation, and the responses to its last message."""
    asked = [] if isinstance(sample.input, str) else sample.input
    # The system prompt of a solver, such as system_message(), is only in the conversation.
    system = [m.text for m in sample.messages or asked if m.role == "system"]
    turns = [("user", sample.input)] if isinstance(sample.input, str) else [(m.role, m.text) for m in asked]
    messages = [("system", "\n\n".join(system))] if any(system) else []
    messages += [turn for turn in turns if turn[0] in ("user", "assistant")]
    row: dict[str, Any] = {
        "sample_id": str(sample.id),
        "messages": [{"role": role, "content": text} for role, text in messages],
        "error": None if sample.error is None else sample.error.message[:200],
    }
    # Of inspect_evals/novelty_bench, whose classes and scores are with the score.
    texts = sample.metadata.get(COMPLETIONS)
    if isinstance(texts, list) and all(isinstance(text, str) for text in texts):
        return row | {"responses": texts, "reported": _reported(sample, len(texts))}
    choices = sample.output.choices
    reasons = ["length" if choice.stop_reason == "max_tokens" else choice.stop_reason for choice in choices]
    if len(choices) == 1:
        return row | {"response": choices[0].message.text, "finish_reason": reasons[0]}
    return row | {"responses": [choice.message.text for choice in choices], "finish_reasons": reasons}


def _reported(sample: "EvalSample", k: int) -> dict[str, Any] | None:
    """Return the classes and scores of k responses in the metadata of a score; None if there are none."""
    for score in (sample.scores or {}).values():
        lists = {
            name: value for name, value in (score.metadata or {}).items() if isinstance(value, list) and len(value) == k
        }
        partition = next((v for n, v in lists.items() if all(type(x) is int for x in v) and "score" not in n), None)
        scores = next(
            (v for n, v in lists.items() if "score" in n and all(isinstance(x, int | float) for x in v)), None
        )
        values = score.value if isinstance(score.value, dict) else {}
        utility = next((float(v) for n, v in values.items() if "utility" in n and isinstance(v, int | float)), None)
        if partition is not None:
            return {"partition": partition, "scores": scores, "utility": utility}
    return None
