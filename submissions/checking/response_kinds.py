"""Kinds of response: blank, placeholder for a missing one, refusal, truncated, repeated."""

import re
import tomllib
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from operator import or_
from pathlib import Path
from typing import Any
from unicodedata import normalize

from divbench.core.errors import counted
from submissions.schema import Row

# Sampling programs write these if the system gave no response: NoveltyBench's Gemini client writes "[Blocked]", its
# later versions "[empty]" and "[refused]".
_PLACEHOLDER = re.compile(
    r"[\[<(](blocked|refused|refusal|empty|error|no (response|answer)|none|null|(content )?filtered|timeout)[\])>]",
    re.IGNORECASE,
)
# A refusal and nothing else. Precise rather than complete: English, at the start of a short text, and without an answer
# after it. "I can't generate a sound, but here is one in words" is not a refusal.
_SORRY = (
    r"(?:(?:(?:i'm|i am|we're|we are) )?(?:very |really |truly |so )?(?:sorry|afraid)\b[^.!?\n]{0,40}?"
    r"|i apologi[sz]e\b[^.!?\n]{0,40}?|unfortunately,? )"
)
_CANNOT = (
    r"\b(?:i|we) (?:can't|cannot|can not|(?:am|are) (?:un|not )able to|won't|will not|(?:must )?decline to)"
    r"|\bi'm (?:not |un)able to"
)
_HELP = (
    r" (?:be able to )?(?:help\b(?! but| it\b| my)|assist\b|comply\b|fulfil+\b|engage\b|participate\b|respond\b"
    r"|(?:provide|do|answer|continue|discuss|support) (?:that|this|with|your)\b)"
)
_REFUSAL = re.compile(rf"(?:{_SORRY}(?:but )?)?(?:{_CANNOT}){_HELP}", re.IGNORECASE)
_LONGEST_REFUSAL = 400  # characters


def is_blank(text: str) -> bool:
    """Whether a text is invisible: empty, or only white space, control and zero-width characters."""
    return all(letter.isspace() or unicodedata.category(letter) in {"Cc", "Cf"} for letter in text)


def is_placeholder(text: str) -> bool:
    """Whether a text is a placeholder for a missing response.

    >>> is_placeholder("[Blocked]"), is_placeholder("The road was [blocked].")
    (True, False)
    """
    return _PLACEHOLDER.fullmatch(text.strip()) is not None


def is_refusal(text: str) -> bool:
    """Whether a text is a refusal and nothing else: a heuristic for English with few false positives.

    >>> is_refusal("I'm sorry, but I can't assist with that."), is_refusal("I can't help with that. Try: 7")
    (True, False)
    """
    plain = text.strip().replace("’", "'")
    return len(plain) <= _LONGEST_REFUSAL and ":" not in plain and _REFUSAL.match(plain) is not None


def is_scorable(text: str) -> bool:
    """Whether a response is scored: neither blank nor a placeholder."""
    return not is_blank(text) and not is_placeholder(text)


def scorable_responses(texts: Iterable[str]) -> tuple[str, ...]:
    """Return the scorable responses, in their order."""
    return tuple(filter(is_scorable, texts))


def kinds_text(counts: Mapping[str, Any]) -> str:
    """Say how many responses are of each kind, from the fields of `ResponseCounts`.

    >>> kinds_text({"blank": 2, "placeholder": 1, "refused": 1, "cut_off": 0, "repeated": 1200})
    '2 blank, 1 placeholder, 1 refusal, 0 truncated, 1,200 repeated'
    """
    without_answer = (
        f"{counts['blank']:,} blank, {counted(counts['placeholder'], 'placeholder')}, "
        f"{counted(counts['refused'], 'refusal')}"
    )
    return f"{without_answer}, {counts['cut_off']:,} truncated, {counts['repeated']:,} repeated"


@dataclass(slots=True)
class ResponseCounts:
    """Numbers of responses by kind."""

    prompts: int = 0
    responses: int = 0
    blank: int = 0
    placeholder: int = 0
    refused: int = 0
    cut_off: int = 0
    repeated: int = 0

    def add(self, row: Row) -> None:
        """Count one prompt's responses; `repeated` are those equal to an earlier one of the same prompt."""
        self.prompts += 1
        self.responses += len(row.responses)
        self.blank += sum(map(is_blank, row.responses))
        self.placeholder += sum(map(is_placeholder, row.responses))
        marked = [reason == "refusal" for reason in row.finish_reasons or [None] * len(row.responses)]
        self.refused += sum(map(or_, marked, map(is_refusal, row.responses)))
        self.cut_off += sum(reason == "length" for reason in row.finish_reasons or ())
        self.repeated += len(row.responses) - len(set(row.responses))


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
