"""Rewrites words that a tokeniser does not know, which a model would otherwise read as one and the same token.

The vocabulary of all-MiniLM-L6-v2, for example, has no emoji, no Thai and no word of more than 100 characters: unread,
🐢 and 🎲 have equal vectors.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from divbench.core.errors import need

_LONGEST = 100  # characters of a word that WordPiece looks up; a longer one is unknown whatever it is
# Only these can be unknown to a vocabulary with all letters and signs of ASCII.
_SUSPECT = re.compile(rf"[^\x00-\x7f]|[^\s\x80-\U0010ffff]{{{_LONGEST + 1}}}")


def with_known_words(tokeniser: Any, texts: Sequence[str], max_tokens: int) -> list[str]:
    """Transliterate the words of each text that the tokeniser does not know, [texts]; all others are kept as they are.

    An emoji becomes its name (🐢 is *turtle*), and letters of a script become those of the Latin alphabet (สวัสดี is
    *swsdi*; the package anyascii). What has no transliteration stays unknown.
    """
    known = list(texts)
    unknown_token = getattr(tokeniser, "unk_token_id", None)
    if unknown_token is None or not getattr(tokeniser, "is_fast", False):
        return known
    suspects = [i for i, text in enumerate(known) if _SUSPECT.search(text)]
    if suspects:
        found = tokeniser(
            [known[i] for i in suspects], truncation=True, max_length=max_tokens, return_offsets_mapping=True
        )
        for i, ids, offsets in zip(suspects, found["input_ids"], found["offset_mapping"], strict=True):
            unknown = [span for token, span in zip(ids, offsets, strict=True) if token == unknown_token]
            if unknown:
                known[i] = "".join(_parts(known[i], unknown))
    return known


def _parts(text: str, unknown: Sequence[tuple[int, int]]) -> Iterator[str]:
    """Yield the text in parts, with the words in the given spans transliterated."""
    end = 0
    for start, next_end in unknown:
        yield text[end:start]
        yield _transliterated(text[start:next_end])
        end = next_end
    yield text[end:]


def _transliterated(word: str) -> str:
    """Return a word in ASCII, with spaces around names of emoji and within long words; as it is if that is empty."""
    ascii_word = need("anyascii", "score").anyascii(word)
    pieces = re.split(r"[:_\s]+", ascii_word)  # anyascii writes the names of emoji as :game_die:
    cut = [piece[at : at + _LONGEST] for piece in pieces for at in range(0, len(piece), _LONGEST)]
    return f" {' '.join(cut)} " if cut else word
