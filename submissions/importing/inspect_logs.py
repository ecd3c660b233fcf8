"""Import logs of Inspect (UK AI Security Institute): `.eval` or `.json` files, read by Inspect's own library.

The library runs in a separate process (see inspect_reader.py), whose output is read here as an untrusted file. A task
asks each sample's `input` once per epoch; the epochs of a sample, or several choices in one epoch, are the responses
to a prompt. The prompt is identified by the sample's `id` if that is a prompt id, otherwise by the last user message.
Install the library with `pip install "divbench[inspect]"`.
"""

import re
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from datasets_build.schema import Suite
from divbench.core.errors import ConfigurationError
from submissions.checking.sandbox import run_in_child
from submissions.importing.imported import FACTS, Answer, Imported
from submissions.importing.response_rows import Prompts
from submissions.schema import Problem
from submissions.untrusted.findings import Findings
from submissions.untrusted.json_fields import Fields
from submissions.untrusted.json_files import read_jsonl
from submissions.untrusted.limits import first_bytes, openable

_ENDING = ".eval"
_JSON = re.compile(rb'\s*\{\s*"version":\s*\d+,\s*"status":')  # the beginning of a log with log_format="json"
MEMORY = 4 * 2**30  # address space for Inspect's library and the decompressed log
SECONDS = 600
_HINT = "give the task's samples the prompts' ids or texts: divbench data prompts writes both"


def is_inspect_log(path: Path) -> bool:
    """Whether a file is named like a log, or is one in JSON; an unreadable file is not."""
    if path.suffix != ".json":
        return path.suffix == _ENDING
    return _JSON.match(first_bytes(path, 200)) is not None


def read_inspect_log(path: Path, findings: Findings, suite: Suite | None = None) -> Imported:
    """Read a log.

    Rows are numbered by the log's samples, from 1.

    Raises:
        ConfigurationError: Inspect is not installed.
    """
    made = Imported(names={"prompt_id": "id", "prompt": "input", "responses": "output.choices"})
    prompts = Prompts(suite)
    found: dict[str, list[Answer]] = {}
    texts: dict[str, str | None] = {}
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
        elif prompt_id is not None:
            if suite is None and systems.setdefault(prompt_id, system) != system:
                message = "the same message as in an earlier sample with another system prompt"
                sample.problem("input", message, "a submission has one system: split the log")
                continue
            made.note(sample.number, facts | {"system_prompt": system}, set(FACTS))
            texts.setdefault(prompt_id, prompts.text_of(prompt_id, prompt))
            answers = zip(sample.texts("choices") or (), sample.reasons("stop_reasons") or (), strict=False)
            found.setdefault(prompt_id, []).extend(
                Answer(epoch, sample.number, text, "length" if reason == "max_tokens" else reason)
                for text, reason in answers
            )
    made.gather_all(found, texts)
    prompts.report_unknown("input", path.name, findings, _HINT)
    made.trimmed = len(prompts.trimmed)
    return made


def _log(path: Path, findings: Findings) -> tuple[dict[str, Any], list[Fields]]:
    """Return what a log states about the system, and its samples; if it is unreadable, report it and return nothing."""
    if find_spec("inspect_ai") is None:
        raise ConfigurationError("Inspect is not installed", 'pip install "divbench[inspect]"')
    if not openable(path, findings):
        return {}, []
    with tempfile.TemporaryDirectory() as folder:
        written = Path(folder) / path.name
        asked = {"log": str(path.absolute()), "out": str(written)}
        said = run_in_child("submissions.importing.inspect_reader", asked, memory=MEMORY, seconds=SECONDS)
        if "facts" not in said:
            why = said["unreadable"] if "unreadable" in said else said["problems"][0]["message"]
            hint = "give a log as Inspect wrote it"
            findings.add(Problem("json", "error", path.name, None, "", f"Inspect cannot read it: {why}", hint))
            return {}, []
        rows = read_jsonl(written, findings) if written.stat().st_size else ()
        return said["facts"], [Fields(row, path.name, number, findings) for number, row in rows]
