"""Pairs in which one prompt has few right responses and the other has these and more.

*factualqa*: a question with one answer, and an open request that this answer fulfils. *random_choice*: pick one of two
options, or one of ten that include the two. From a user's questions, the seventh kind of the paper's section on
reasoning, in our wording: solve it by one given method, or by any of several.
"""

import json
import random
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

from datasets_build.gssbench.rows import by_turns, pair_row, shuffled
from datasets_build.word_banks import word_bank
from divbench.core.errors import ConfigurationError, InputError

BANKS = ("countries", "governments", "geography", "science", "nature", "history", "arts")  # of facts
PAIRS_IN_ALL = 500
FEW, MANY = 2, 10
_ENDED = re.compile(r"[.?!:;…][\"'”’»)\]$]*$")  # a sentence, perhaps within quotes, brackets or a formula


@dataclass(frozen=True, slots=True)
class Fact:
    """A question with one answer, and an open request that this answer and others fulfil."""

    question: str  # question, such as `What is the capital of Kenya?`
    naming: str  # open request, such as `Name a city in Kenya.`
    answer: str  # answer, such as `Nairobi`, for readers and checks; no prompt contains it


@dataclass(frozen=True, slots=True)
class Template:
    """Questions of one form."""

    name: str  # template name in the rows
    question: str  # question with the fields `{0}`, `{1}`
    naming: str  # open request with the same fields. It has several right answers, the question's among them.
    # Values of the fields, then the answer, for each fact. Only questions with a single, undisputed answer belong here:
    # no president of a monarchy, no capital of a country with two, no river that geographers argue about.
    rows: Sequence[Sequence[str]]

    def facts(self) -> Iterator[Fact]:
        """Yield the facts in the bank's order."""
        for *values, answer in self.rows:
            yield Fact(self.question.format(*values), self.naming.format(*values), answer)


@cache
def templates() -> tuple[Template, ...]:
    """Read all templates, in the order of `BANKS`."""
    return tuple(Template(**row) for name in BANKS for row in word_bank("gssbench", name)["templates"])


def factualqa(rng: random.Random) -> Iterator[dict[str, Any]]:
    """Yield 500 pairs, taken from the templates in turn, so that no large bank crowds out the others.

    Pairs with the same open request are one set, because they share its text and so a model's responses to it.
    """
    decks = [[(order, fact) for fact in shuffled(item.facts(), rng)] for order, item in enumerate(templates())]
    dealt = sorted(islice(by_turns(decks), PAIRS_IN_ALL), key=lambda entry: entry[0])
    sets: dict[str, str] = {}
    for number, (order, fact) in enumerate(dealt, start=1):
        yield pair_row(
            f"factualqa-{number:04d}",
            fact.question,
            fact.naming,
            set_id=sets.setdefault(fact.naming, f"factualqa-{len(sets) + 1:03d}"),
            relation="one<many",
            template=templates()[order].name,
        )


def random_choice(rng: random.Random) -> Iterator[dict[str, Any]]:
    """Yield 500 pairs, equally many of each category; each pair is a separate set.

    The two options are drawn from the ten, so one space contains the other; the paper seems to draw them separately.
    """
    options = word_bank("gssbench", "options")
    categories = list(options)
    seen: set[frozenset[str]] = set()
    number = 0
    while number < PAIRS_IN_ALL:
        category = categories[number % len(categories)]
        many = shuffled(options[category], rng)[:MANY]
        few = shuffled(many, rng)[:FEW]
        if frozenset(few) in seen or frozenset(many) in seen:
            continue
        seen |= {frozenset(few), frozenset(many)}
        number += 1
        pair_id = f"random_choice-{number:04d}"
        a, b = (f"Choose one from the following: {', '.join(texts)}." for texts in (few, many))  # the paper's words
        yield pair_row(pair_id, a, b, set_id=pair_id, relation=f"{FEW}<{MANY}", template=category, sizes=(FEW, MANY))


def read_questions(path: Path) -> Iterator[dict[str, Any]]:
    """Read the rows of a JSON Lines file of questions with their methods."""
    try:
        lines = path.read_bytes().splitlines()
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be read: {error.strerror}", "give a JSON Lines file") from error
    for number, line in enumerate(lines, start=1):
        try:
            row = json.loads(line.decode("utf-8"))
        except (ValueError, RecursionError) as error:
            raise InputError(f"{path}, row {number}: not JSON: {error}", "write one JSON object per line") from error
        if not isinstance(row, dict):
            raise InputError(f"{path}, row {number}: not a JSON object", "write one JSON object per line")
        yield row


def solution_path_pairs(rows: Iterable[Mapping[str, Any]], source: str = "questions") -> Iterator[dict[str, Any]]:
    """Make one pair from each question, as rows that fit `PAIRS`."""
    row_of: dict[str, int] = {}
    for number, row in enumerate(rows, start=1):
        at = f"{source}, row {number}, field"
        question, methods = row.get("question"), row.get("methods")
        if not isinstance(question, str) or not question.strip():
            raise InputError(f"{at} question: not a text", "give the question")
        texts = [text.strip() for text in methods if isinstance(text, str)] if isinstance(methods, list) else []
        if not isinstance(methods, list) or len(texts) != len(methods) or len(set(texts)) < 2 or "" in texts:
            raise InputError(f"{at} methods: not at least two different texts", "list the methods")
        if len(set(texts)) != len(texts):
            raise InputError(f"{at} methods: one occurs twice", "list each method once")
        listed = " ".join(f"{order}. {text}" for order, text in enumerate(texts, start=1))
        sentence = question.strip()
        sentence = sentence if _ENDED.search(sentence) else f"{sentence}."
        a = f"{sentence} Solve it by this method: {texts[0]}"
        b = f"{sentence} Solve it by one of these methods: {listed}"
        name = f"{number:04}" if row.get("id") in (None, "") else str(row["id"])
        if row_of.setdefault(name, number) != number:
            hint = "give each question its own id, or none"
            raise InputError(f"{at} id: {name!r} is also the id of row {row_of[name]}", hint)
        pair_id = f"solution_paths-{name}"
        sizes = (1, len(texts))
        yield pair_row(pair_id, a, b, set_id=pair_id, relation="one<many", template="solution_paths", sizes=sizes)
