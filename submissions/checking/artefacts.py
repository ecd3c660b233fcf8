"""Traces that tools leave in responses: one table of them, how each is counted, and how it is removed.

Thinking text and echoes of the prompt are removed on import unless the user keeps them; the others on demand.
"""

import html
import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from divbench.core.errors import counted
from submissions.untrusted.plain_text import shortened

THINKING_MARKERS = ("<think>", "</think>")  # of most models
_TAGS = "think|thinking|thought|reasoning|seed:think"
_BEGIN = re.compile(rf"<(?:{_TAGS})>|\[THINK\]|◁think▷", re.IGNORECASE)
_END = re.compile(rf"</(?:{_TAGS})>|\[/THINK\]|◁/think▷", re.IGNORECASE)
# What gpt-oss writes, with its control tokens and without them.
_CHANNEL = re.compile(r"<\|channel\|>(\w+)[^<]*<\|message\|>(.*?)(?=<\|(?:end|start|return|call)\|>|\Z)", re.DOTALL)
_BARE_CHANNEL = re.compile(r"\Aanalysis.*?assistantfinal", re.DOTALL)
_THINKING = re.compile(rf"{_BEGIN.pattern}|{_END.pattern}|<\|channel\|>|\Aanalysis(?=.*assistantfinal)", re.I | re.S)
_CONTROL = re.compile(
    "<[|\uff5c][A-Za-z][\\w\u2581 -]{0,40}[|\uff5c]>"
    r"|</?s>|\[/?INST\]|<</?SYS>>|<(?:start|end)_of_turn>|<(?:eos|bos|pad|unk)>"
)
_ROLE = re.compile(r"\A\s*(?:#{1,3} ?)?(?:assistant|Assistant|ASSISTANT|AI|Bot|Response)\s*:\s*|\A\s*assistant\s*\n+")
_ENTITY = re.compile(r"&(?:amp|lt|gt|quot|nbsp|apos|#\d{2,6}|#x[\da-fA-F]{2,6});")
_MOJIBAKE = re.compile("[ÃÂ][\x80-\xbf\u0192\u2018-\u203a\u20ac\u0152\u0153\u0160\u0161\u017d\u017e]|â€|ðŸ")
_WRAPPER = re.compile(
    r'\A\s*(?:```(?:json)?\s*)?(\{\s*"(?:response|answer|output|text|content|completion|result|message)"\s*:'
    r".*\})\s*(?:```)?\s*\Z",
    re.DOTALL,
)
MOST_ECHO = 0.9  # share of responses that must repeat their prompts for these to be removed
MIN_ECHO = 8  # letters of a prompt whose repetition is no chance


@dataclass(frozen=True, slots=True)
class Artefact:
    """One kind of trace."""

    name: str
    what: str  # what a response with it does, as in "3 of 8 responses …"
    pattern: re.Pattern[str]
    clean: Callable[[str], str]  # the response without it
    hint: str = "if the system did not mean it, remove it: import with --clean"


def after_thinking(text: str) -> str:
    r"""Drop the thinking block at the beginning of a response; one without an end is all there is.

    >>> [after_thinking(text) for text in ("\n<think>a\n</think>\n\nb", "a<think>b</think>", "<think>a", "a</think>b")]
    ['b', 'a<think>b</think>', '', 'b']
    """
    if "<|channel|>" in text:
        return "".join(content for name, content in _CHANNEL.findall(text) if name == "final").strip()
    bare = _BARE_CHANNEL.match(text)
    begin, end = _BEGIN.search(text), bare or _END.search(text)
    begins = begin is not None and not text[: begin.start()].strip()
    if end is None:
        return "" if begins else text
    # An end without a beginning: the block began in the prompt.
    return text[end.end() :].lstrip() if begins or begin is None or end.start() < begin.start() else text


def after_prompt(text: str, prompt: str) -> str:
    """Return a response without the prompt that it repeats at its beginning, if it is long enough."""
    prompt, said = prompt.strip(), text.lstrip()
    return said[len(prompt) :].lstrip() if len(prompt) >= MIN_ECHO and said.startswith(prompt) else text


def _repaired(text: str) -> str:
    """Decode a text again that was UTF-8 and was read as Windows-1252."""
    try:
        return text.encode("cp1252").decode("utf-8")
    except UnicodeError:
        return text


def _unwrapped(text: str) -> str:
    """Return the only text of a JSON object."""
    match = _WRAPPER.match(text)
    try:
        values = list(json.loads(match[1]).values()) if match else []
    except (ValueError, RecursionError):
        return text
    return values[0] if len(values) == 1 and isinstance(values[0], str) else text


ARTEFACTS: tuple[Artefact, ...] = (
    Artefact("thinking", "contain thinking text", _THINKING, after_thinking, "import them without --keep-thinking"),
    Artefact(
        "control tokens", "contain control tokens of a chat template", _CONTROL, lambda text: _CONTROL.sub("", text)
    ),
    Artefact("roles", "begin with the name of a role", _ROLE, lambda text: _ROLE.sub("", text)),
    Artefact("HTML entities", "contain HTML entities", _ENTITY, html.unescape),
    Artefact("mojibake", "contain UTF-8 that was read as another encoding", _MOJIBAKE, _repaired),
    Artefact("JSON wrappers", "are wrapped in a JSON object", _WRAPPER, _unwrapped),
)
PROMPT_ECHO = "prompt echoes"
THINKING = ARTEFACTS[0].name


@dataclass(slots=True)
class ArtefactCounts:
    """Responses with traces: how many, and the first of each kind."""

    responses: int = 0
    counts: dict[str, int] = field(default_factory=dict)
    first: dict[str, tuple[int, str]] = field(default_factory=dict)  # row and example

    def add(self, number: int, prompt: str, texts: Sequence[str]) -> None:
        """Count the responses of a row."""
        for text in texts:
            self.responses += 1
            found = [
                (artefact.name, match.start()) for artefact in ARTEFACTS if (match := artefact.pattern.search(text))
            ]
            found += [(PROMPT_ECHO, 0)] if after_prompt(text, prompt) != text else []
            for name, at in found:
                self.counts[name] = self.counts.get(name, 0) + 1
                self.first.setdefault(name, (number, shortened(text[max(0, at - 10) : at + 80], 60)))

    def sentences(self) -> Iterator[tuple[int, str, str]]:
        """Yield the first row, the sentence and the hint of each kind that occurs."""
        kinds = [(artefact.name, artefact.what, artefact.hint) for artefact in ARTEFACTS]
        kinds.append((PROMPT_ECHO, "repeat the prompt", "import them again: it is removed if most repeat it"))
        for name, what, hint in kinds:
            if name in self.counts:
                row, example = self.first[name]
                yield row, f"{self.counts[name]:,} of {counted(self.responses, 'response')} {what}: {example!r}", hint


def without_traces(
    prompts: Sequence[str], sets: Sequence[tuple[str, ...]], keep_thinking: bool, clean: bool
) -> tuple[list[tuple[str, ...]], list[tuple[str, str, str]]]:
    """Return response sets without thinking text, without the prompts if most repeat them, and cleaned on demand.

    The second value has the name of each kind that was removed, how many responses had it, and the hint.
    """
    total = counted(sum(map(len, sets)), "response")
    removed: list[tuple[str, str, str]] = []

    def changed(name: str, new: list[tuple[str, ...]], what: str, hint: str, least: float = 0) -> list[tuple[str, ...]]:
        pairs = [pair for a, b in zip(sets, new, strict=True) for pair in zip(a, b, strict=True) if pair[0].strip()]
        count, blank = sum(a != b for a, b in pairs), sum(a != b and not b.strip() for a, b in pairs)
        if not count or count < least * len(pairs):
            return list(sets)
        left = f"; {counted(blank, 'response')} had nothing else and counted as blank" if blank else ""
        removed.append((name, f"{what} {count:,} of {total}{left}", hint))
        return new

    if not keep_thinking:
        new = [tuple(map(after_thinking, texts)) for texts in sets]
        hint = "to keep it: --keep-thinking, in Python keep_thinking=True"
        sets = changed(THINKING, new, "thinking text was removed from", hint)
    if clean:
        new = [tuple(map(cleaned, texts)) for texts in sets]
        sets = changed(
            "other traces", new, "other traces of tools were removed from", "to keep them, leave out --clean"
        )
    new = [tuple(after_prompt(text, prompt) for text in texts) for prompt, texts in zip(prompts, sets, strict=True)]
    hint = "if they are no repetitions, give the responses without them"
    sets = changed(PROMPT_ECHO, new, "the prompt was removed from the beginning of", hint, MOST_ECHO)
    return list(sets), removed


def cleaned(text: str) -> str:
    """Return a response without the traces of the table that are left, and without white space at its ends."""
    for artefact in ARTEFACTS[1:]:
        if artefact.pattern.search(text):
            text = artefact.clean(text)
    return text.strip()
