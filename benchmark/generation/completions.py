"""OpenAI's chat completions: makes request bodies and reads the responses from replies. Pure functions."""

import re
from dataclasses import asdict
from typing import Any

from benchmark.generation.sampler import Failed, Outcome, Request, Sampled
from benchmark.models.servers import ServerFault, first_choice, malformed
from submissions.checking.checks import MAX_RESPONSE_BYTES

REQUIRED = {  # fields that change the distribution of responses, with the hint if a server rejects one
    "temperature": "use a temperature that the server accepts, mostly 1",
    "top_p": "leave out --top-p",
    "top_k": "sample from all tokens: --top-k 0",
}

_SEEDS = _MOST_TOKENS = 1 << 31  # the most that servers accept
UNSEPARATED = Failed(
    "the response contains the model's reasoning, up to </think>: start the server with its reasoning parser "
    "(vLLM: --reasoning-parser), and sample with --restart"
)
_TRUNCATED = ("max_tokens", "max_output_tokens", "model_length")  # what some servers and proxies say instead of length
_BROKEN_OFF = ("error", "abort")  # servers' finish reasons if the model did not end by itself


def body_of(model: str, request: Request, without: frozenset[str]) -> dict[str, Any]:
    """Return the body of a request, without the fields that the server does not know."""
    settings = request.settings
    body: dict[str, Any] = {
        "model": model,
        "messages": [asdict(message) for message in request.messages],
        "temperature": settings.temperature,
        "max_completion_tokens" if "max_tokens" in without else "max_tokens": settings.max_tokens,
    }
    # Sent even where it is 1: some servers have another default. It is left out only where it would cut nothing off.
    if "top_p" not in without or settings.top_p != 1:
        body["top_p"] = settings.top_p
    if settings.top_k is not None:
        body["top_k"] = settings.top_k
    if "seed" not in without:
        body["seed"] = request.seed % _SEEDS
    return body


def refused_fields(error: ServerFault, body: dict[str, Any]) -> frozenset[str]:
    """Return the optional fields that an error message names. (It may quote required ones from the prompt.)"""
    if error.status not in {400, 422} or error.too_long or error.filtered:
        return frozenset()
    named = {
        name for name in (*REQUIRED, "max_tokens", "seed") if name in body and re.search(rf"\b{name}\b", error.reply)
    }
    prompt = "".join(message["content"] for message in body["messages"])
    return frozenset(named - {name for name in REQUIRED if name in prompt})


def outcome_of(document: dict[str, Any]) -> Outcome:
    """Return the response in the first choice of a server's reply, or why there is none.

    Raises:
        ServerFault: There is no choice, or it is malformed.
    """
    choice = first_choice(document)
    message = choice.get("message")
    if not isinstance(message, dict) or not {"role", "content"} & message.keys():
        raise malformed("no choices")
    finish_reason = choice.get("finish_reason")
    if not isinstance(finish_reason, str) or not re.fullmatch(r"[\w.-]{1,64}", finish_reason, re.ASCII):
        finish_reason = None
    elif finish_reason.lower() in _TRUNCATED:
        finish_reason = "length"
    if finish_reason in _BROKEN_OFF or choice.get("error"):
        raise malformed("it was broken off by an error")
    text = _text(message, finish_reason)
    if isinstance(text, Failed):
        return text
    apart = message.get("reasoning_content") or message.get("reasoning")
    if not apart and "</think>" in text and "<think>" not in text.partition("</think>")[0]:
        return UNSEPARATED  # the block begins in the prompt; in responses truncated inside it, nothing marks it
    text = _after_thinking(text)
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        return Failed("the response has lone surrogates, which UTF-8 cannot encode")
    if size > MAX_RESPONSE_BYTES:
        return Failed(f"the response has {size:,} bytes; the limit is {MAX_RESPONSE_BYTES:,}")
    tokens, reasoning_tokens = _usage(document.get("usage"))
    return Sampled(text, finish_reason, tokens=tokens, reasoning_tokens=reasoning_tokens)


def _text(message: dict[str, Any], finish_reason: str | None) -> str | Failed:
    """Return a message's content or refusal; without both, it is empty unless a filter or tool call explains it."""
    content = message.get("content")
    if isinstance(content, list):
        content = _joined(content)
    if not content and finish_reason == "content_filter":
        return Failed("the server's content filter withheld the response")
    if not content and (message.get("tool_calls") or message.get("function_call")):
        return Failed("the model called a tool instead of responding")
    if not isinstance(content, str | None):
        raise malformed(f"a {type(content).__name__} for a response's text")
    return content or (message["refusal"] if isinstance(message.get("refusal"), str) else "")


def _joined(parts: list[Any]) -> str:
    """Return the text of a content in parts, without parts of other kinds, such as reasoning.

    Raises:
        ServerFault: There is no part of text.
    """
    texts = [part.get("text") for part in parts if isinstance(part, dict) and part.get("type") == "text"]
    if not texts or not all(isinstance(text, str) for text in texts):
        raise malformed("a list without text for a response's text")
    return "".join(map(str, texts))


def _after_thinking(text: str) -> str:
    r"""Drop the thinking block at the beginning of a response; one without an end is all there is.

    >>> [_after_thinking(text) for text in ("\n<think>a\n</think>\n\nb", "a<think>b</think>", "<think>a")]
    ['b', 'a<think>b</think>', '']
    """
    return text.partition("</think>")[2].lstrip() if text.lstrip().startswith("<think>") else text


def _usage(usage: object) -> tuple[int | None, int | None]:
    """Return the number of generated tokens and of reasoning tokens among them, if the server reports them."""
    if not isinstance(usage, dict):
        return None, None
    details = usage.get("completion_tokens_details")
    reasoning = details.get("reasoning_tokens") if isinstance(details, dict) else None
    return _number(usage.get("completion_tokens")), _number(reasoning)


def _number(reported: object) -> int | None:
    return reported if type(reported) is int and 0 <= reported < _MOST_TOKENS else None
