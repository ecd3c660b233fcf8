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
from submissions.importing.imported import FACTS, Answer, Fields, Imported, Prompts
from submissions.untrusted.findings import Findings, openable
from submissions.untrusted.json_files import read_jsonl
from submissions.untrusted.process import Limits, Stopped, run_limited

if TYPE_CHECKING:
    from inspect_ai.log import EvalSample

LIMITS = Limits(memory=4 * 2**30, seconds=600)  # for Inspect's library and the decompressed log
_JSON = re.compile(rb'\s*\{\s*"version":\s*\d+,\s*"status":')  # the beginning of a log with log_format="json"
_SAMPLING = ("temperature", "top_p", "top_k", "max_tokens", "seed")
_HINT = "give the task's samples the prompts' ids or texts: divbench data prompts writes both"


def is_inspect_log(path: Path) -> bool:
    """Whether a file is named like a log, or is one in JSON; an unreadable file is not."""
    if path.suffix != ".json":
        return path.suffix == ".eval"
    if not openable(path, Findings()):
        return False
    with path.open("rb") as file:
        return _JSON.match(file.read(200)) is not None


def read_inspect_log(path: Path, findings: Findings, suite: Suite | None = None) -> Imported:
    """Read a log. Rows are numbered by the log's samples, from 1."""
    imported = Imported(names={"prompt_id": "id", "prompt": "input", "responses": "output.choices"})
    prompts = Prompts(suite)
    systems: dict[str, str] = {}
    facts, samples = _log(path, findings)
    for sample in samples:
        name, prompt, epoch = sample.text("id"), sample.text("input"), sample.integer("epoch")
        turns, system = sample.integer("turns"), sample.text("system_prompt")
        if name is None or prompt is None or epoch is None or turns is None or system is None:
            continue
        known = suite is not None and name in suite.by_id
        prompt_id = name if known else prompts.id_of(prompt, sample.number)
        if sample.has("error"):
            message = f"epoch {epoch} of sample {name} failed: {sample.raw['error']}"
            sample.problem("error", message, "inspect eval-retry runs it again")
        elif suite is None and turns > 1:
            message = f"a conversation of {turns} messages, of which the last alone is not the prompt"
            sample.problem("input", message, "ask for each prompt in one user message")
        elif prompt_id is not None and suite is None and systems.setdefault(prompt_id, system) != system:
            message = "the same message as in an earlier sample with another system prompt"
            sample.problem("input", message, "a submission has one system: split the log")
        elif prompt_id is not None:
            imported.note(sample.number, facts | {"system_prompt": system}, set(FACTS))
            choices = zip(sample.texts("choices") or (), sample.reasons("stop_reasons") or (), strict=False)
            answers = [
                Answer(epoch, sample.number, text, "length" if reason == "max_tokens" else reason)
                for text, reason in choices
            ]
            prompts.add(prompt_id, prompt, answers)
    prompts.gather(imported, "input", path.name, findings, _HINT)
    return imported


def _log(path: Path, findings: Findings) -> tuple[dict[str, Any], list[Fields]]:
    """Return what a log states about the system, and its samples; if it is unreadable, report it and return nothing."""
    if find_spec("inspect_ai") is None:
        raise ConfigurationError("Inspect is not installed", 'pip install "divbench[inspect]"')
    if not openable(path, findings):
        return {}, []
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
            return {}, []
        rows = read_jsonl(written, findings) if written.stat().st_size else ()
        return reply["facts"], [Fields(row, path.name, number, findings) for number, row in rows]


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
    with Path(request["out"]).open("w", encoding="ascii") as file:
        file.writelines(f"{json.dumps(_row(sample))}\n" for sample in log.samples or [])
    return {"facts": facts}


def _row(sample: "EvalSample") -> dict[str, Any]:
    messages = [] if isinstance(sample.input, str) else sample.input
    users = [message.text for message in messages if message.role == "user"]
    return {
        "id": str(sample.id),
        "epoch": sample.epoch,
        "input": sample.input if isinstance(sample.input, str) else (users or [""])[-1],
        "turns": sum(message.role in ("user", "assistant") for message in messages),
        # the system prompt of a solver, such as system_message(), is only in the conversation
        "system_prompt": "\n\n".join(m.text for m in sample.messages or messages if m.role == "system"),
        "error": None if sample.error is None else sample.error.message[:200],
        "choices": [choice.message.text for choice in sample.output.choices],
        "stop_reasons": [choice.stop_reason for choice in sample.output.choices],
    }
