"""Read a log with Inspect's own library, in a separate process because the library trusts logs.

`run_in_child("submissions.importing.inspect_reader", {"log": …, "out": …}, …)` writes a line of JSON for each sample to
`out`: its id, epoch, prompt and error, and the texts and stop reasons of its choices. The reply has what the log states
about the system, or why it cannot be read.
"""

import json
from typing import TYPE_CHECKING, Any

from submissions.checking.sandbox import answer

if TYPE_CHECKING:
    from inspect_ai.log import EvalSample

_SAMPLING = ("temperature", "top_p", "top_k", "max_tokens", "seed")


def read(asked: dict[str, Any]) -> dict[str, Any]:
    """Read the requested log."""
    from inspect_ai.log import read_eval_log

    try:
        log = read_eval_log(asked["log"])
    except MemoryError:
        return {"unreadable": "it takes too much memory"}
    except Exception as error:
        return {"unreadable": str(error)[:200] or type(error).__name__}
    facts: dict[str, Any] = {"model": log.eval.model}
    for config in (log.eval.model_generate_config, log.plan.config):  # the task's config overrides
        facts |= {name: value for name in _SAMPLING if (value := getattr(config, name)) is not None}
    with open(asked["out"], "w", encoding="ascii") as file:  # noqa: PTH123 - a new file in a folder of the caller's
        file.writelines(f"{json.dumps(_row(sample))}\n" for sample in log.samples or [])
    return {"facts": facts}


def _row(sample: "EvalSample") -> dict[str, Any]:
    messages = [] if isinstance(sample.input, str) else sample.input
    return {
        "id": str(sample.id),
        "epoch": sample.epoch,
        "input": _asked(sample),
        "turns": sum(message.role in ("user", "assistant") for message in messages),
        # the system prompt of a solver, such as system_message(), is only in the conversation
        "system_prompt": "\n\n".join(m.text for m in sample.messages or messages if m.role == "system"),
        "error": None if sample.error is None else sample.error.message[:200],
        "choices": [choice.message.text for choice in sample.output.choices],
        "stop_reasons": [choice.stop_reason for choice in sample.output.choices],
    }


def _asked(sample: "EvalSample") -> str:
    """Return the last user message."""
    if isinstance(sample.input, str):
        return sample.input
    said = [message.text for message in sample.input if message.role == "user"]
    return said[-1] if said else ""


if __name__ == "__main__":
    answer(read)
