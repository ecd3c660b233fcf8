"""What is posted to a server of OpenAI's chat completions for a request, and what its answer says; pure."""

import re
from dataclasses import asdict
from pathlib import PurePosixPath
from typing import Any

from benchmark.generation.sampler import Failed, Outcome, Request, Sampled
from benchmark.models.http_client import ServerFault
from submissions.checking.checks import MAX_RESPONSE_BYTES

UNYIELDING = {  # fields without which answers were of another distribution, and what to do where a server refuses one
    "temperature": "ask for a temperature that it takes, mostly 1",
    "top_p": "leave out top_p",
    "top_k": "leave out top_k",
}

_SEEDS = _NUMBERS = 1 << 31  # servers take none beyond; nor do we
_FILTERED = ("content_filter", "content management policy", "responsibleaipolicy")
_BROKEN_OFF = ("error", "abort")  # what servers give as reason where the model did not end


class MalformedError(Exception):
    """What is wrong with an answer."""


def body_of(model: str, request: Request, without: frozenset[str]) -> dict[str, Any]:
    """What is posted for a request to a server that does not know some fields."""
    settings = request.settings
    body: dict[str, Any] = {
        "model": model,
        "messages": [asdict(message) for message in request.messages],
        "temperature": settings.temperature,
        "max_completion_tokens" if "max_tokens" in without else "max_tokens": settings.max_tokens,
    }
    if "top_p" not in without:  # said even where it is 1: some servers have another default
        body["top_p"] = settings.top_p
    if settings.top_k is not None:
        body["top_k"] = settings.top_k
    if "seed" not in without:
        body["seed"] = request.seed % _SEEDS
    return body


def refused_fields(error: ServerFault, body: dict[str, Any]) -> frozenset[str]:
    """The fields that a refusal names; of those that cannot be given up not what it may have quoted of the prompt."""
    if error.status not in {400, 422} or error.too_long or is_filtered(error):
        return frozenset()
    named = {
        name for name in (*UNYIELDING, "max_tokens", "seed") if name in body and re.search(rf"\b{name}\b", error.said)
    }
    prompt = "".join(message["content"] for message in body["messages"])
    return frozenset(named - {name for name in UNYIELDING if name in prompt})


def is_filtered(error: ServerFault) -> bool:
    """Whether a filter of the server's refused a request."""
    return error.status in {400, 403, 422} and any(words in error.said.lower() for words in _FILTERED)


def outcome_of(document: dict[str, Any], strip_thinking: bool) -> Outcome:
    """The first choice of the server's document.

    Raises:
        MalformedError: There is none, or it is none.
    """
    choices = document.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(choice, dict) or not isinstance(message, dict) or not {"role", "content"} & message.keys():
        raise MalformedError("no choices")
    finish_reason = choice.get("finish_reason")
    if not isinstance(finish_reason, str) or not re.fullmatch(r"[\w.-]{1,64}", finish_reason, re.ASCII):
        finish_reason = None
    if finish_reason in _BROKEN_OFF or choice.get("error"):
        raise MalformedError("it was broken off by an error")
    text = _text(message, finish_reason)
    if isinstance(text, Failed):
        return text
    if strip_thinking:
        text = _after_thinking(text, finish_reason)
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        return Failed("the answer has lone surrogates, which UTF-8 cannot hold")
    if size > MAX_RESPONSE_BYTES:
        return Failed(f"the answer has {size:,} bytes; at most {MAX_RESPONSE_BYTES:,} are taken")
    tokens, reasoning_tokens = _usage(document.get("usage"))
    return Sampled(text, finish_reason, tokens=tokens, reasoning_tokens=reasoning_tokens)


def _text(message: dict[str, Any], finish_reason: str | None) -> str | Failed:
    """A message's content; nothing is an empty response, unless there is another reason for it."""
    content = message.get("content")
    if not content and finish_reason == "content_filter":
        return Failed("the server's filter withheld the answer")
    if not content and (message.get("tool_calls") or message.get("function_call")):
        return Failed("the model called a tool instead of answering")
    if not isinstance(content, str | None):
        raise MalformedError(f"a {type(content).__name__} for an answer's text")
    return content or ""


def _after_thinking(text: str, finish_reason: str | None) -> str:
    r"""What comes after the thinking that an answer begins with; nothing where it was cut off before that.

    >>> [_after_thinking(text, None) for text in ("<think>a\n</think>\n\nb", "a<think>b</think>", "<think>a")]
    ['b', 'a<think>b</think>', '<think>a']
    """
    if not text.startswith("<think>"):
        return text
    _, end, rest = text.partition("</think>")
    if end:
        return rest.lstrip()
    return "" if finish_reason == "length" else text


def _usage(usage: object) -> tuple[int | None, int | None]:
    """How many tokens were drawn, and how many of those before the answer, where a server tells it."""
    if not isinstance(usage, dict):
        return None, None
    details = usage.get("completion_tokens_details")
    reasoning = details.get("reasoning_tokens") if isinstance(details, dict) else None
    return _number(usage.get("completion_tokens")), _number(reasoning)


def _number(said: object) -> int | None:
    return said if type(said) is int and 0 <= said < _NUMBERS else None


def plain_name(said: object) -> str | None:
    """What a server calls its model, if that is a name; of a path on its machine the last part."""
    if not isinstance(said, str) or not re.fullmatch(r"[\w./:@+-]{1,200}", said):
        return None
    return PurePosixPath(said).name if said.startswith("/") else said
