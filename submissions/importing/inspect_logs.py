"""Logs of Inspect (UK AI Security Institute) as rows of responses: `.eval` files, read by its own library.

A task asks each sample's `input` in every epoch; the epochs of a sample, or the choices of one answer, are the
responses to its prompt. A sample is known by its `id` where that is a prompt's id, else by what the user said last.
`pip install 'divbench[inspect]'` brings the library.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from datasets_build.errors import ConfigurationError
from datasets_build.schema import Suite
from submissions.importing.imported import FACTS, Answer, Imported
from submissions.importing.response_rows import Prompts
from submissions.schema import Problem
from submissions.untrusted.findings import Findings
from submissions.untrusted.json_fields import Fields
from submissions.untrusted.limits import openable

if TYPE_CHECKING:
    from inspect_ai.log import EvalSample

ENDING = ".eval"
_SAMPLING = ("temperature", "top_p", "top_k", "max_tokens", "seed")
_HINT = "give the task's samples the prompts' ids or texts: divbench data prompts writes both"


def read_inspect_log(path: Path, findings: Findings, suite: Suite | None = None) -> Imported:
    """Read a log.

    Rows are numbered by the log's samples, from 1.

    Args:
        path: An `.eval` file.
        findings: Collector of problems; a sample that failed is one.
        suite: Suite of the prompts; None: prompts of one's own.

    Raises:
        ConfigurationError: Inspect is not installed.
    """
    made = Imported(names={"prompt_id": "id", "prompt": "input", "responses": "output.choices"})
    prompts = Prompts(suite)
    found: dict[str, list[Answer]] = {}
    texts: dict[str, str | None] = {}
    facts, samples = _log(path, findings)
    for number, sample in enumerate(samples, 1):
        prompt = _asked(sample)
        known = suite is not None and str(sample.id) in suite.by_id
        prompt_id = str(sample.id) if known else prompts.id_of(prompt, number)
        if sample.error is not None:
            message = f"epoch {sample.epoch} of sample {sample.id} failed: {sample.error.message[:200]}"
            hint = "inspect eval-retry runs it again"
            findings.add(Problem("json", "error", path.name, number, "error", message, hint))
        elif prompt_id is not None:
            made.note(number, facts, set(FACTS))
            texts.setdefault(prompt_id, prompts.text_of(prompt_id, prompt))
            answers = [Answer(sample.epoch, number, *said) for said in _answers(sample, path.name, number, findings)]
            found.setdefault(prompt_id, []).extend(answers)
    made.gather_all(found, texts)
    if prompts.unknown:
        prompts.report_unknown("input", path.name, findings, _HINT)
    made.trimmed = len(prompts.trimmed)
    return made


def _log(path: Path, findings: Findings) -> "tuple[dict[str, Any], list[EvalSample]]":
    """What a log says of the system, and its samples; nothing, with the problem, where it cannot be read."""
    try:
        from inspect_ai.log import read_eval_log
    except ImportError as error:
        raise ConfigurationError("Inspect is not installed", "pip install 'divbench[inspect]'") from error
    if not openable(path, findings):
        return {}, []
    try:
        log = read_eval_log(str(path))
    except Exception as error:
        message = f"Inspect cannot read it: {str(error)[:200] or type(error).__name__}"
        findings.add(Problem("json", "error", path.name, None, "", message, "give a log as Inspect wrote it"))
        return {}, []
    facts: dict[str, Any] = {"model": log.eval.model}
    for config in (log.eval.model_generate_config, log.plan.config):  # the task's own comes last
        facts |= {name: value for name in _SAMPLING if (value := getattr(config, name)) is not None}
    return facts, log.samples or []


def _asked(sample: "EvalSample") -> str:
    """What the user said last."""
    if isinstance(sample.input, str):
        return sample.input
    said = [message.text for message in sample.input if message.role == "user"]
    return said[-1] if said else ""


def _answers(sample: "EvalSample", file: str, number: int, findings: Findings) -> Iterator[tuple[str, str | None]]:
    """The texts of a sample's answer with the reasons why they ended."""
    for place, choice in enumerate(sample.output.choices):
        name = f"output.choices[{place}]"
        text = Fields({name: choice.message.text}, file, number, findings).text(name)
        if text is not None:
            yield text, "length" if choice.stop_reason == "max_tokens" else choice.stop_reason
