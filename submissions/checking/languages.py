"""Whether a text is in a language other than English, which the bundled models read."""

import re
import tomllib
from collections.abc import Sequence
from functools import cache, lru_cache
from pathlib import Path
from unicodedata import normalize

READS_ENGLISH = "classes, validity and embeddings read English, and metrics of words split at spaces"
_ACCENTED = 0.03  # of the letters of a set


@cache
def _words(bank: str) -> frozenset[str]:
    return frozenset(tomllib.loads(Path(__file__).with_name("languages.toml").read_text(encoding="utf-8"))[bank])


def is_foreign(text: str) -> bool:
    """Whether a text is in a language other than English, for which models of English are uninformative.

    It is precise rather than complete: a few words in Latin letters do not show their language.

    >>> is_foreign("Il était une fois un roi."), is_foreign("The time is one o'clock."), is_foreign("Жили-были")
    (True, False, True)
    """
    text = normalize("NFC", text[:20_000])
    letters, others = count_letters(text)
    if others > 0.3 * letters:
        return True
    known = _words("other_languages")
    words = [word.strip(".,;:!?¿¡\"'()«»").casefold() for word in text.split(None, 200)[:200]]
    return sum(word in known for word in words) > max(1, 0.08 * len(words))


@lru_cache(maxsize=64)  # the responses to a prompt follow each other
def is_foreign_prompt(prompt: str) -> bool:
    """Whether a prompt is in a language other than English, and does not only quote one.

    >>> is_foreign_prompt("Warum ist der Himmel blau?"), is_foreign_prompt("Translate 'Warum ist der Himmel blau?'")
    (True, False)
    """
    return is_foreign(prompt) and _words("english_prompt").isdisjoint(re.findall(r"[a-z]+", prompt.casefold()))


def is_foreign_set(prompt: str, responses: Sequence[str]) -> bool:
    """Whether a response set is in a language other than English.

    Its texts count together, because each may be a single word, and letters with accents count as well.
    """
    text = "\n".join(text[:200] for text in (*responses[:50], prompt))
    letters = _letters(normalize("NFC", text))
    return is_foreign(text) or len(letters) - len(letters.encode("ascii", "ignore")) > _ACCENTED * len(letters)


def count_letters(text: str) -> tuple[int, int]:
    """Number of letters at the beginning of a text, and how many of them are not Latin."""
    letters = _letters(text[:2000])
    return len(letters), 0 if letters.isascii() else sum(letter > "\u024f" for letter in letters)


def _letters(text: str) -> str:
    return "".join(filter(str.isalpha, text))
