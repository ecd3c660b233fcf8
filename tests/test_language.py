"""The language of what users read: help texts that teach, and one word for each concept (the field's word)."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from divbench.command_line import COMMANDS, build

ROOT = Path(__file__).parent.parent
# Words that no help text, page or message uses, and what they say instead.
BANNED = {
    r"\bstranger": "untrusted",
    r"\bhand(s|ed|ing)? (it |them |this )?in\b": "submit",
    r"\bmend(s|ed|ing)?\b": "fix",
    r"\bsay the same\b": "equivalence class",
    r"\btold apart\b": "statistically tied, or detected",
    r"\bheld against\b": "compared with",
    r"\bha(s|ve) no say\b": "ignored",
    r"\btr(y|ied) again\b": "retry",
    r"(?-i:\bElse (from|the|one|as)\b)": "default: …",
    r"\bparted\b": "grouped, partitioned",
}
# A help text begins with a noun or an adjective of one, not with one of these.
NO_NOUN = {
    "a",
    "an",
    "the",
    "of",
    "in",
    "on",
    "at",
    "for",
    "from",
    "to",
    "with",
    "without",
    "by",
    "as",
    "before",
    "after",
    "if",
    "else",
    "only",
    "also",
    "likewise",
    "which",
    "what",
    "who",
    "whose",
    "how",
    "where",
    "when",
    "why",
    "keep",
    "use",
    "write",
    "show",
    "say",
    "make",
    "take",
    "give",
    "read",
    "run",
    "end",
    "let",
    "put",
    "choose",
    "compute",
    "print",
    "list",
}


def leaves(command: Any, words: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """All commands that do something, with their words."""
    subcommands = getattr(command, "commands", None)
    if subcommands is None:
        yield words, command
    else:
        for name, each in subcommands.items():
            yield from leaves(each, (*words, name))


def faults(text: str | None) -> list[str]:
    """What is wrong with an option's help text."""
    if not text:
        return ["is missing"]
    first = text.split()[0].strip(":;,.")
    found = [] if text[0].isupper() or not text[0].isalpha() else ["begins with a small letter"]
    found += [f"begins with {first!r}"] if first.lower() in NO_NOUN and first != "List" else []
    return found + ([] if text.endswith((".", ")")) else ["has no full stop"])


def banned(text: str) -> list[str]:
    """The banned words in a text, with what to say instead."""
    return [f"{word}: say {instead}" for word, instead in BANNED.items() if re.search(word, text, re.IGNORECASE)]


def test_every_help_text_begins_with_a_noun_and_every_command_has_an_example() -> None:
    command = typer.main.get_command(build())
    found = list(leaves(command))
    assert len(found) > len(COMMANDS)
    problems = []
    for words, each in found:
        name = " ".join(words)
        problems += [f"{name} {p.name}: {fault}" for p in each.params for fault in faults(p.help)]
        problems += [f"{name} {p.name}: {fault}" for p in each.params for fault in banned(p.help or "")]
        problems += [f"{name}: {fault}" for fault in banned(each.help)]
        if not re.search(rf"divbench {name}\b", each.help):
            problems.append(f"{name} has no example")
    assert problems == []


def test_bad_help_texts_would_be_found() -> None:
    assert faults("Of the bootstrap.") == ["begins with 'Of'"]
    assert faults("else from the file") == [
        "begins with a small letter",
        "begins with 'else'",
        "has no full stop",
    ]
    assert faults(None) == ["is missing"]
    assert banned("Let strangers hand it in") != []


# The instructions to a judge are part of its signature.
KEPT = {"benchmark/equivalence/llm_judge.py": "same"}


def test_no_text_of_the_product_uses_a_banned_word() -> None:
    problems = []
    for package in ("datasets_build", "submissions", "benchmark", "leaderboard"):
        for path in sorted((ROOT / package).rglob("*.py")):
            name = path.relative_to(ROOT).as_posix()
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Constant) and isinstance(node.value, str):
                    found = [each for each in banned(node.value) if KEPT.get(name, "\0") not in each]
                    problems += [f"{name}:{node.lineno} {each}" for each in found]
    assert problems == []
