"""The same response in other words, by rules: for attacks, not for writing well."""

import random
import re
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

_WORD = re.compile(r"[A-Za-z]+(?:['’][A-Za-z]+)?")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")


@cache
def banks() -> Mapping[str, Any]:
    """Return the words and sentences of `banks.toml`."""
    return tomllib.loads(Path(__file__).with_name("banks.toml").read_text(encoding="utf-8"))


def sentences(text: str) -> list[str]:
    """Split a text after full stops, question and exclamation marks.

    >>> sentences("Yes. Why not? 3.5 km")
    ['Yes.', 'Why not?', '3.5 km']
    """
    return [each for each in _SENTENCE_END.split(text.strip()) if each]


def swap_synonyms(text: str, rng: random.Random, share: float = 1.0) -> str:
    """Replace this share of the words that the table has by one of their synonyms, in the same case."""
    table: Mapping[str, Sequence[str]] = banks()["synonyms"]

    def swapped(match: re.Match[str]) -> str:
        word = match.group()
        found = table.get(word.casefold())
        if found is None or rng.random() >= share:
            return word
        return _in_case_of(word, rng.choice(found))

    return _WORD.sub(swapped, text)


def reorder_sentences(text: str, rng: random.Random) -> str:
    """Put the sentences of a text in another order; a text of one sentence turns around its first comma.

    >>> reorder_sentences("If it rains, take a coat.", random.Random(0))
    'Take a coat, if it rains.'
    """
    parts = sentences(text)
    if len(parts) > 1:
        turned = parts[:]
        while turned == parts and len(set(parts)) > 1:
            rng.shuffle(turned)
        return " ".join(turned)
    before, comma, after = text.strip().rstrip(".!?").partition(", ")
    if not comma or not before or not after:
        return text
    return f"{after[0].upper()}{after[1:]}, {before[0].lower()}{before[1:]}."


def contract(text: str) -> str:
    """Write pairs of words as contractions.

    >>> contract("It is late, and I am tired.")
    "It's late, and I'm tired."
    """
    table = {long.casefold(): short for long, short in banks()["contractions"].items()}
    pattern = rf"\b({'|'.join(table)})\b"
    return re.sub(pattern, lambda m: _in_case_of(m.group(), table[m.group().casefold()]), text, flags=re.IGNORECASE)


def reword(text: str, position: int, rng: random.Random) -> str:
    """Say a response in other words: another opening or closing, synonyms, contractions, reordered sentences.

    Args:
        position: Index of the rewording; the first is the text itself.
    """
    if position == 0:
        return text
    made = swap_synonyms(text, rng, share=0.7)
    if position % 2:
        made = contract(made)
    if position % 3 == 2:
        made = reorder_sentences(made, rng)
    openings, closings = banks()["openings"], banks()["closings"]
    if position % 4 != 3:
        made = f"{openings[position % len(openings)]} {made}"
    if position % 3 == 0:
        made = f"{made} {closings[position % len(closings)]}"
    return made


def _in_case_of(pattern: str, word: str) -> str:
    return word[0].upper() + word[1:] if pattern[0].isupper() and word[0].islower() else word
