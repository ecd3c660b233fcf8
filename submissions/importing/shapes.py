"""What the fields of other tools' files mean, and how their values hold texts: one table, and the rules that read it.

A value may be a text; a list of texts; an object with a text in one of the fields of `INSIDE`, at any depth; a list of
such objects (choices, candidates, outputs), of the parts of one text, or of the messages of a conversation.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from submissions.untrusted.json_files import loose_json

# Fields that hold a list of responses; the first is ours.
LISTS = (
    *("responses", "generations", "outputs", "completions", "samples", "texts", "predictions", "resps"),
    *("candidates", "choices", "all_completions"),
)
# Fields that hold one response; the first is ours. With several of the others, such as a reference `answer`, which one
# is not clear.
TEXTS = (
    *("response", "generation", "output", "completion", "sample", "text", "answer", "prediction", "generated_text"),
    *("generated", "output_text", "response_text", "model_answer", "model_output", "model_response", "actual_output"),
    *("solution", "result", "content", "message", "reply", "pred", "hypothesis"),
)
OURS = (LISTS[0], LISTS[1], TEXTS[0])
PROMPTS = (
    *("prompt", "instruction", "question", "query", "user_input", "problem", "origin_prompt", "input", "inputs"),
    *("prompts", "context"),
)
CHATS = ("messages", "conversations", "conversation", "dialogue", "contents")  # prompts, with responses or without
IDS = ("prompt_id", "id")
OTHER_IDS = ("custom_id", "key", "question_id", "task_id", "request_id", "sample_id", "example_id", "qid", "uid")
# Fields that are part of the prompt, beside the one that is taken for its text.
MORE_OF_A_PROMPT = ("context", "input", "passage", "system_prompt", *PROMPTS[:3])
SYSTEM_PROMPTS = ("system_prompt", "instructions", "system_instruction", "system")
REASONS = ("finish_reason", "stop_reason", "finishReason", "done_reason", "incomplete_details", "promptFeedback")
TRUNCATED = ("length", "max_tokens", "max_output_tokens", "MAX_TOKENS", "model_length")
REFUSED = "refusal"  # why a response ended that an API marks as a refusal
REQUESTS = ("body", "params", "request", "arguments", "turns")  # fields with the prompt of a request
# Objects with the settings of a request or reply.
SETTINGS = ("response.body", "response", "result.message", "message", "body", "params", "request", "sampling_params")
_SAME_SETTINGS = {"modelVersion": "model", "max_completion_tokens": "max_tokens", "max_output_tokens": "max_tokens"}
# Fields in which the rows of a document are written.
ROWS = ("results.results", "results", "request_states", "samples", "data", "rows", "examples", "instances")
# Fields in which an object holds its texts, in this order.
INSIDE = (
    *("body", "message", "choices", "candidates", "completions", "outputs", "output", "response", "parts", "content"),
    *("text", "turns", "generated_text", "completion", "generation", "value"),
)
_TEXT_PARTS = ("text", "output_text", "input_text")  # other parts of a text are reasoning and tools
_ASSISTANT = ("assistant", "gpt", "model", "bot", "chatgpt", "ai", "message")
_USER = ("user", "human", "prompter")
_SYSTEM = ("system", "developer")
_DEPTH = 12


class Output(NamedTuple):
    """One response: its text, blank if an API gave none, and why it ended."""

    text: str
    reason: str | None = None


class Question(NamedTuple):
    """A prompt: the last message of the user, the messages before it, and the system prompt."""

    text: str
    before: tuple[str, ...] = ()
    system: str | None = None


def get(raw: Any, path: str) -> Any:
    """Return the value of a field, or at a path of fields with dots; None if there is none.

    >>> get({"a": {"b.c": 1}}, "a.b.c"), get({"a": [{"b": 2}]}, "a.0.b"), get({}, "a")
    (1, 2, None)
    """
    if isinstance(raw, Mapping):
        if path in raw:
            return raw[path]
        dots = (i for i, letter in enumerate(path) if letter == "." and path[:i] in raw)
        return next((get(raw[path[:i]], path[i + 1 :]) for i in dots), None)
    name, _, rest = path.partition(".")
    if isinstance(raw, list) and name.isdecimal() and len(name) < 9 and int(name) < len(raw):
        return get(raw[int(name)], rest) if rest else raw[int(name)]
    return None


def rows_of(document: Any) -> list[Any]:
    """Return the rows of a JSON document: an array, columns, responses by prompt, or an object with rows."""
    if isinstance(document, list):
        return [item if isinstance(item, dict) else {LISTS[0]: item} for item in document]
    asks = not isinstance(document, dict) or not document.keys().isdisjoint({*PROMPTS, *CHATS, *IDS})
    found = (get(document, path) for path in (() if asks else ROWS))
    rows = next((rows for rows in found if rows and isinstance(rows, list) and isinstance(rows[0], dict)), None)
    values = list(document.values()) if isinstance(document, dict) else []
    if rows is not None:
        return rows
    asks_nothing = not asks and document.keys().isdisjoint({*LISTS, *TEXTS})
    if asks_nothing and values and all(isinstance(value, list | str) for value in values):
        return [{PROMPTS[0]: n, LISTS[0] if isinstance(v, list) else TEXTS[0]: v} for n, v in document.items()]
    for kind in (list, dict) if asks else ():  # columns, as pandas writes them
        if values and all(isinstance(value, kind) and len(value) == len(values[0]) for value in values):
            cells = [value.values() if isinstance(value, dict) else value for value in values]
            return [dict(zip(document, row, strict=True)) for row in zip(*cells, strict=True)]
    if len(values) > 1 and all(isinstance(value, dict) for value in values):  # rows by their numbers or prompts
        return [{PROMPTS[0] if " " in name else IDS[1]: name} | value for name, value in document.items()]
    return [document]


def outputs_of(value: Any, depth: int = 0, lists: int = 0) -> list[Output] | None:
    """Return the responses that a value holds; None if it holds none. A list may have one level of lists inside."""
    if isinstance(value, list) and lists < 2:
        if messages := _messages(value):
            text = _last(messages, _ASSISTANT)
            return None if text is None else [Output(text)]
        if value and all(isinstance(part, dict) and "type" in part for part in value):
            return [_joined(value)]
        inner = [outputs_of(item, depth, lists + 1) for item in value]
        return None if None in inner else [output for outputs in inner for output in outputs or ()]
    if isinstance(value, dict) and depth < _DEPTH:
        return _outputs_of_object(value, depth + 1, lists)
    return [Output(value)] if isinstance(value, str) else None


def _outputs_of_object(value: Mapping[str, Any], depth: int, lists: int) -> list[Output] | None:
    if isinstance(value.get("refusal"), str) and not value.get("content"):
        return [Output(value["refusal"], REFUSED)]
    reason = reason_of(value)
    name = next((name for name in INSIDE if value.get(name) is not None), None)
    if name is None:
        is_blank = reason is not None or not value.keys().isdisjoint({"content", "text", "message"})
        return [Output("", reason)] if is_blank else None
    inside = value[name]
    if isinstance(inside, list) and name == "turns":
        inside = inside[:1]  # the answer to the first question
    is_text = isinstance(inside, list) and name in ("content", "parts")
    outputs = [_joined(inside)] if is_text else outputs_of(inside, depth, lists)
    return None if outputs is None else [Output(text, own or reason) for text, own in outputs]


def reason_of(value: Mapping[str, Any]) -> str | None:
    """Return why a response ended; *length* if it was truncated."""
    found = next((value[name] for name in REASONS if value.get(name) is not None), None)
    if isinstance(found, Mapping):
        found = next((found[name] for name in ("reason", "type", "blockReason") if name in found), None)
    if not isinstance(found, str):
        return None
    return "length" if found in TRUNCATED else found


def _joined(parts: Sequence[Any]) -> Output:
    """Return the text of a list of parts, without reasoning and tools."""
    objects = [part for part in parts if isinstance(part, dict)]
    refusals = [part["refusal"] for part in objects if isinstance(part.get("refusal"), str)]
    shown = [part for part in objects if part.get("type", "text") in _TEXT_PARTS and not part.get("thought")]
    texts = [part["text"] for part in shown if isinstance(part.get("text"), str)]
    return Output("".join(texts or refusals), REFUSED if refusals and not texts else None)


def _messages(value: Any) -> list[tuple[str, Any]]:
    """Return the roles and contents of a conversation; none if a list is no conversation."""
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        return []
    named = [(str(item.get("role", item.get("from", item.get("type")))).lower(), item) for item in value]
    known = [(role, item) for role, item in named if role in (*_ASSISTANT, *_USER, *_SYSTEM)]
    fields = ("content", "value", "parts", "prompt", "text")
    return [(role, next((item[name] for name in fields if name in item), None)) for role, item in known]


def _last(messages: Sequence[tuple[str, Any]], roles: Sequence[str]) -> str | None:
    """Return the text of the last message of a role."""
    return next((_text(content) for role, content in reversed(messages) if role in roles), None)


def _text(content: Any) -> str:
    """Return the text of a message's content; blank if it has none."""
    if isinstance(content, list):
        return _joined(content).text
    if isinstance(content, Mapping):
        return _text(content.get("parts", content.get("text")))
    return content if isinstance(content, str) else ""


def question_of(value: Any) -> Question | None:
    """Return the prompt that a value holds: a text, a conversation, also as JSON, or a request."""
    if isinstance(value, str):
        conversation = None
        if value.lstrip().startswith("[{"):
            with suppress(ValueError, RecursionError):
                conversation = question_of(loose_json(value))
        return conversation or Question(value)
    if isinstance(value, list):
        first = value[0] if value and isinstance(value[0], str | list) else None
        return _question_of_messages(_messages(value)) if first is None else question_of(first)
    if not isinstance(value, dict):
        return None
    names = (*CHATS, *PROMPTS, "turns", "raw", "text", "content", "gen_args_0", "arg_0")
    found = (question_of(value[name]) for name in names if value.get(name) is not None)
    question = next(filter(None, found), None)
    return question and question._replace(system=system_of(value) or question.system)


def _question_of_messages(messages: Sequence[tuple[str, Any]]) -> Question | None:
    last = max((i for i, (role, _) in enumerate(messages) if role in _USER), default=None)
    if last is None:
        return None
    system = "\n\n".join(text for role, content in messages if role in _SYSTEM and (text := _text(content)))
    before = tuple(_text(content) for role, content in messages[:last] if role not in _SYSTEM)
    text = _text(messages[last][1])
    return Question(text, before, system or None) if text else None


def system_of(raw: Mapping[str, Any]) -> str | None:
    """Return the system prompt that is written beside a prompt; `system` may also be the name of a system."""
    values = {name: raw[name] for name in SYSTEM_PROMPTS if raw.get(name)}
    return next(
        (text for name, value in values.items() if (text := _text(value)) and (name != "system" or " " in text)), None
    )


def settings_of(raw: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a row states about the system in the objects of its request and reply."""
    settings: dict[str, Any] = {}
    for path in SETTINGS:
        inner = get(raw, path)
        for name, value in inner.items() if isinstance(inner, Mapping) else ():
            settings.setdefault(str(_SAME_SETTINGS.get(name, name)), value)
    return settings


def failure_of(raw: Mapping[str, Any]) -> str | None:
    """Return why the request of a row failed, as far as the row says; None if it did not."""
    places = (raw, *filter(None, (get(raw, path) for path in ("response.body", "response", "result"))))
    error = next((place["error"] for place in places if isinstance(place, Mapping) and place.get("error")), None)
    status, kind = get(raw, "response.status_code"), get(raw, "result.type")
    if error is None and status in (None, 200) and kind not in ("errored", "canceled", "expired"):
        return None
    for _ in range(_DEPTH):
        error = error.get("message") or error.get("error") or error.get("code") if isinstance(error, Mapping) else error
    reason = error if isinstance(error, str) else kind
    message = "the request failed" + (f" with status {status}" if isinstance(status, int) and status != 200 else "")
    return f"{message}: {reason[:200]}" if isinstance(reason, str) else message
