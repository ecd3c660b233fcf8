"""Read output files of OpenAI's Batch API and of compatible servers.

A line answers one request: `custom_id`, `response` with `status_code` and the `body` of the endpoint, and `error`.
Texts are in `choices[].message.content` (/v1/chat/completions), `choices[].text` (/v1/completions) or
`output[].content[].text` (/v1/responses). The output does not repeat the prompts: a request is identified by its
`custom_id` (the prompt's id, or the id and the sample's number, as in `curated-7-3`), or by its text, which is in the
file of requests.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from datasets_build.schema import Suite
from submissions.importing.imported import FACTS, Answer, Fields, Imported, Prompts
from submissions.untrusted.findings import Findings
from submissions.untrusted.json_files import read_jsonl

_NUMBERED = re.compile(r"(?P<prompt_id>.+?)[-_:/#.](?P<sample>[0-9]{1,6})", re.DOTALL)
_LENGTHS = ("max_tokens", "max_completion_tokens", "max_output_tokens")  # names of three endpoints
_SAMPLING = ("temperature", "top_p", "seed")
_HINT = "give each request the prompt's id as custom_id, or give the file of requests with --requests"
Requests = dict[str, tuple[str, dict[str, Any]]]  # text and sampling parameters by custom id


def read_openai_batch(
    path: Path, findings: Findings, suite: Suite | None = None, requests_file: Path | None = None
) -> Imported:
    """Read the output file of a batch; own prompts need the file of its requests."""
    imported = Imported(names={"prompt_id": "custom_id", "prompt": "custom_id", "responses": "response.body"})
    requests = {} if requests_file is None else _requests(requests_file, findings, own=suite is None)
    if suite is None and requests_file is None:
        message = "the output of a batch does not have the prompts"
        findings.error("prompt_text", path.name, None, "custom_id", message, _HINT)
    if findings.rejected():  # its prompts cannot be identified without the requests
        return imported
    prompts = Prompts(suite)
    first: dict[str, int] = {}
    for number, raw in read_jsonl(path, findings):
        fields = Fields(raw, path.name, number, findings)
        custom_id = fields.text("custom_id")
        body = _body(fields)
        if custom_id is None or body is None:
            continue
        if first.setdefault(custom_id, number) != number:
            message = f"{custom_id!r} already appears in row {first[custom_id]}"
            fields.problem("custom_id", message, "keep one line for each request")
            continue
        if requests_file is not None and custom_id not in requests:
            fields.problem("custom_id", f"{custom_id!r} is not in {requests_file.name}", "give its requests")
            continue
        prompt, sampling = requests.get(custom_id, (None, {}))
        prompt_id, sample = _identified(custom_id, prompt, prompts, number)
        if prompt_id is not None:
            imported.note(number, {"model": body.get("model")} | sampling, set(FACTS))
            prompts.add(prompt_id, prompt, [Answer(sample, number, *answer) for answer in _answers(fields, body)])
    prompts.gather(imported, "custom_id", path.name, findings, _HINT)
    return imported


def _body(fields: Fields) -> Mapping[str, Any] | None:
    """Return the endpoint's reply; if the request failed, report it and return None."""
    response = _dict(fields.raw.get("response"))
    body, status = response.get("body"), response.get("status_code")
    if status == 200 and isinstance(body, dict):
        return body
    reason = _dict(fields.raw.get("error") or _dict(body).get("error")).get("message")
    message = "the request failed" + (f" with status {status}" if isinstance(status, int) else "")
    message += f": {reason[:200]}" if isinstance(reason, str) else ""
    fields.problem("response", message, "send the request again, and put its line in place of this one")
    return None


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _identified(custom_id: str, prompt: str | None, prompts: Prompts, number: int) -> tuple[str | None, int]:
    """Return the prompt id of a request, and the number of its sample; 0 if there is none."""
    known = prompts.suite.by_id if prompts.suite is not None else {}
    numbered = _NUMBERED.fullmatch(custom_id)
    sample = int(numbered["sample"]) if numbered else 0
    if custom_id in known:
        return custom_id, 0
    if numbered and numbered["prompt_id"] in known:
        return numbered["prompt_id"], sample
    return prompts.id_of(prompt if prompt is not None else custom_id, number), sample


def _answers(fields: Fields, body: Mapping[str, Any]) -> Iterator[tuple[str, str | None]]:
    """Yield the texts of a reply with their finish reasons."""
    choices = body.get("choices")
    if isinstance(choices, list) and choices:
        for i, choice in enumerate(map(_dict, choices)):
            message = _dict(choice.get("message", choice))
            field = "content" if "content" in message else "text"
            content = message.get(field)
            if content is None and isinstance(message.get("refusal"), str):
                content = message["refusal"]
            text, reason = (
                fields.checked_text(f"response.body.choices[{i}].{field}", content),
                choice.get("finish_reason"),
            )
            if text is not None:
                yield text, reason if isinstance(reason, str) else None
        return
    parts = _output_texts(body.get("output"))
    if parts:
        truncated = _dict(body.get("incomplete_details")).get("reason") == "max_output_tokens"
        yield "".join(parts), "length" if truncated else "stop"
        return
    hint = "batches of /v1/chat/completions, /v1/completions and /v1/responses can be imported"
    fields.problem("response.body", "has no texts", hint)


def _output_texts(output: Any) -> list[str]:
    """Return the texts of a reply of /v1/responses, without reasoning and tool calls."""
    contents = [_dict(message).get("content") for message in output] if isinstance(output, list) else []
    parts = [_dict(part) for content in contents if isinstance(content, list) for part in content]
    return [part["text"] for part in parts if part.get("type") == "output_text" and isinstance(part.get("text"), str)]


def _requests(path: Path, findings: Findings, *, own: bool) -> Requests:
    """Return the text of each request, and its sampling parameters with the system prompt.

    Own prompts are identified by the texts alone: then a request may have no earlier turns, and the same text no other
    system prompt.
    """
    requests: Requests = {}
    systems: dict[str, tuple[str | None, str]] = {}
    for number, raw in read_jsonl(path, findings):
        fields = Fields(raw, path.name, number, findings)
        custom_id, body = fields.text("custom_id"), _dict(raw.get("body"))
        text, turns, system = _question(body)
        if custom_id is None:
            continue
        if text is None:
            fields.problem("body", "has no prompt", "give the batch's requests, with messages, input or prompt")
        elif custom_id in requests:
            fields.problem("custom_id", f"{custom_id!r} is repeated", "a batch has one request for each custom_id")
        elif own and turns > 1:
            message = f"a conversation of {turns} messages, of which the last alone is not the prompt"
            fields.problem("body", message, "ask for each prompt in one user message")
        elif own and systems.setdefault(text, (system, custom_id))[0] != system:
            message = f"the same message as {systems[text][1]!r} with another system prompt"
            fields.problem("body", message, "a submission has one system: split the file")
        else:
            sampling = {name: body[name] for name in _SAMPLING if name in body}
            length = next((body[name] for name in _LENGTHS if body.get(name) is not None), None)
            sampling |= {} if length is None else {"max_tokens": length}
            sampling |= {} if system is None else {"system_prompt": system}
            requests[custom_id] = text, sampling
    return requests


def _question(body: Mapping[str, Any]) -> tuple[str | None, int, str | None]:
    """Return the last user message, the number of all messages but the system's, and the system prompt."""
    prompt = next((body[name] for name in ("messages", "input", "prompt") if name in body), None)
    system = body["instructions"] if isinstance(body.get("instructions"), str) else None
    if not isinstance(prompt, list):
        return (prompt if isinstance(prompt, str) else None), 1, system
    messages = [(message.get("role"), _text_of(message.get("content"))) for message in map(_dict, prompt)]
    users = [text for role, text in messages if role == "user"]
    systems = [text for text in (system, *(text for role, text in messages if role in ("system", "developer"))) if text]
    turns = sum(role in ("user", "assistant") for role, _ in messages)
    return (users[-1] if users else None), turns, "\n\n".join(systems) or None


def _text_of(content: Any) -> str | None:
    """Return the text of a message."""
    if isinstance(content, list):
        parts = [_dict(part).get("text") for part in content]
        return "".join(part for part in parts if isinstance(part, str)) or None
    return content if isinstance(content, str) else None
