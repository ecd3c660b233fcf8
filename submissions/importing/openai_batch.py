"""Read output files of OpenAI's Batch API and of compatible servers.

A line answers one request: `custom_id`, `response` with `status_code` and the `body` of the endpoint, and `error`.
Texts are in `choices[].message.content` (/v1/chat/completions), `choices[].text` (/v1/completions) or
`output[].content[].text` (/v1/responses). Lines are in any order. The output does not repeat the prompts: a request is
identified by its `custom_id` (the prompt's id, or the id and the sample's number, as in `curated-7-3`), or by its text,
which is in the file of requests.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from datasets_build.schema import Suite
from submissions.importing.imported import FACTS, Answer, Fields, Imported
from submissions.importing.response_rows import Prompts
from submissions.untrusted.findings import Findings
from submissions.untrusted.json_files import read_jsonl

_NUMBERED = re.compile(r"(?P<prompt_id>.+?)[-_:/#.](?P<sample>[0-9]{1,6})", re.DOTALL)
_LENGTHS = ("max_tokens", "max_completion_tokens", "max_output_tokens")  # names of three endpoints
_SAMPLING = ("temperature", "top_p", "seed")
_HINT = "give each request the prompt's id as custom_id, or give the file of requests with --requests"


def read_openai_batch(
    path: Path, findings: Findings, suite: Suite | None = None, requests: Path | None = None
) -> Imported:
    """Read the output file of a batch."""
    made = Imported(names={"prompt_id": "custom_id", "prompt": "custom_id", "responses": "response.body"})
    asked = {} if requests is None else _asked(requests, findings, own=suite is None)
    if suite is None and requests is None:
        message = "the output of a batch does not have the prompts"
        findings.error("prompt_text", path.name, None, "custom_id", message, _HINT)
        return made
    if findings.rejected():  # its prompts cannot be identified without the requests
        return made
    prompts = Prompts(suite)
    found: dict[str, list[Answer]] = {}
    texts: dict[str, str | None] = {}
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
        prompt, sampling = asked.get(custom_id, (None, {}))
        if asked and custom_id not in asked:
            fields.problem("custom_id", f"{custom_id!r} is not in {requests and requests.name}", "give its requests")
            continue
        prompt_id, sample = _named(custom_id, prompt, prompts, number)
        if prompt_id is None:
            continue
        made.note(number, {"model": body.get("model")} | sampling, set(FACTS))
        texts.setdefault(prompt_id, None if prompt is None else prompts.text_of(prompt_id, prompt))
        answers = [Answer(sample, number, *said) for said in _answers(fields, body)]
        found.setdefault(prompt_id, []).extend(answers)
    made.gather_all(found, texts)
    prompts.report_unknown("custom_id", path.name, findings, _HINT)
    made.trimmed = len(prompts.trimmed)
    return made


def _body(fields: Fields) -> Mapping[str, Any] | None:
    """Return the endpoint's reply; if the request failed, report it and return None."""
    response, error = fields.raw.get("response"), fields.raw.get("error")
    body = response.get("body") if isinstance(response, dict) else None
    if isinstance(response, dict) and response.get("status_code") == 200 and isinstance(body, dict):
        return body
    status = response.get("status_code") if isinstance(response, dict) else None
    told = error or (body.get("error") if isinstance(body, dict) else None)
    words = told.get("message") if isinstance(told, dict) else None
    message = "the request failed" + (f" with status {status}" if isinstance(status, int) else "")
    message += f": {words[:200]}" if isinstance(words, str) else ""
    fields.problem("response", message, "send the request again, and put its line in place of this one")
    return None


def _named(custom_id: str, prompt: str | None, prompts: Prompts, number: int) -> tuple[str | None, int]:
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
        for place, choice in enumerate(choices):
            message = choice.get("message", choice) if isinstance(choice, dict) else None
            field = "content" if isinstance(message, dict) and "content" in message else "text"
            said = message.get(field) if isinstance(message, dict) else None
            if isinstance(message, dict) and said is None and isinstance(message.get("refusal"), str):
                said = message["refusal"]
            name = f"response.body.choices[{place}].{field}"
            text = fields.checked_text(name, said)
            reason = choice.get("finish_reason") if isinstance(choice, dict) else None
            if text is not None:
                yield text, reason if isinstance(reason, str) else None
        return
    parts = _output_texts(body.get("output"))
    if not parts:
        hint = "batches of /v1/chat/completions, /v1/completions and /v1/responses can be imported"
        fields.problem("response.body", "has no texts", hint)
        return
    why = body.get("incomplete_details")
    cut = isinstance(why, dict) and why.get("reason") == "max_output_tokens"
    yield "".join(parts), "length" if cut else "stop"


def _output_texts(output: Any) -> list[str]:
    """Return the texts of a reply of /v1/responses, without reasoning and tool calls."""
    messages = [each for each in output if isinstance(each, dict)] if isinstance(output, list) else []
    contents = [each["content"] for each in messages if isinstance(each.get("content"), list)]
    parts = [part for content in contents for part in content if isinstance(part, dict)]
    return [part["text"] for part in parts if part.get("type") == "output_text" and isinstance(part.get("text"), str)]


def _asked(path: Path, findings: Findings, *, own: bool) -> dict[str, tuple[str, dict[str, Any]]]:
    """Return the text of each request, and its sampling parameters with the system prompt."""
    made: dict[str, tuple[str, dict[str, Any]]] = {}
    systems: dict[str, tuple[str | None, str]] = {}
    for number, raw in read_jsonl(path, findings):
        fields = Fields(raw, path.name, number, findings)
        custom_id, body = fields.text("custom_id"), raw.get("body")
        text, turns, system = _question(body) if isinstance(body, dict) else (None, 0, None)
        if custom_id is None:
            continue
        if not isinstance(body, dict) or text is None:
            fields.problem("body", "has no prompt", "give the batch's requests, with messages, input or prompt")
        elif custom_id in made:
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
            made[custom_id] = text, sampling
    return made


def _question(body: Mapping[str, Any]) -> tuple[str | None, int, str | None]:
    """Return the last user message, the number of all messages but the system's, and the system prompt."""
    asked = next((body[name] for name in ("messages", "input", "prompt") if name in body), None)
    system = body["instructions"] if isinstance(body.get("instructions"), str) else None
    if not isinstance(asked, list):
        return (asked if isinstance(asked, str) else None), 1, system
    messages = [each for each in asked if isinstance(each, dict)]
    told = [_text_of(each.get("content")) for each in messages if each.get("role") in ("system", "developer")]
    said = [each for each in messages if each.get("role") == "user"]
    turns = sum(each.get("role") in ("user", "assistant") for each in messages)
    texts = [text for text in (system, *told) if text]
    return (_text_of(said[-1].get("content")) if said else None), turns, "\n\n".join(texts) or None


def _text_of(content: Any) -> str | None:
    """Return the text of a message."""
    if isinstance(content, list):
        parts = [each.get("text") for each in content if isinstance(each, dict)]
        return "".join(part for part in parts if isinstance(part, str)) or None
    return content if isinstance(content, str) else None
