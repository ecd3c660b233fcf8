"""Words of responses, and how telling each is: words that many texts have say little."""

import re
from dataclasses import dataclass
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

BUCKETS = 2**16  # rows of the table of generic words, by hash
OF_PROMPT = 0.1  # weight of a word of the prompt
WORD = re.compile(r"\d+(?:[.,:]\d+)*|\w+(?:['’]\w+)*")
STOP_WORDS = frozenset(
    """
    a an the and or but if of to in on at by for with from as is are was were be been being am i you he she it
    we they me him her us them my your his its our their this that these those there here so not no do does
    did done have has had will would can could should may might must shall what which who whom how when where
    why s t ll re ve d m don isn wasn about into over up down out than then too very just also some any all
    more most such own same only each every other
    """.split()  # noqa: SIM905 - a list would be a hundred lines
)


def bucket(word: str) -> int:
    """Return the row of a word in the table of generic words."""
    return crc32(word.encode()) % BUCKETS


def words_of(text: str) -> frozenset[str]:
    """Return a text's words in lower case."""
    return frozenset(word.lower() for word in WORD.findall(text))


def piece_word(piece: str) -> str:
    """Return a word piece without the mark of one within a word."""
    return piece.removeprefix("##")


@dataclass(frozen=True, slots=True, eq=False)
class Prompt:
    """A prompt, and how telling words are in responses to it."""

    text: str
    words: frozenset[str]
    generic: NDArray[np.float32]  # [BUCKETS], how telling each word is in responses to any prompt, in [0, 1]

    def weight(self, word: str) -> float:
        """Return how telling a word is, in [0, 1]."""
        folded = word.lower()
        return float(self.generic[bucket(folded)]) * (OF_PROMPT if folded in self.words else 1.0)
