"""Part-of-speech tags of English texts from textblob's tagger, which includes its lexicon and spelling rules."""

import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Protocol

from divbench.core.errors import ConfigurationError, need

Tags = tuple[tuple[str, ...], ...]  # of one text, sentence by sentence


class Tagger(Protocol):
    """Tags texts."""

    def tag(self, texts: Sequence[str]) -> list[Tags]:
        """Return the tags of each text, sentence by sentence."""
        ...


@dataclass(frozen=True, slots=True)
class TaggerSpec:
    """Names the tagger of a profile without loading it."""

    library: str
    version: str  # version of the library; other versions may have another lexicon

    @property
    def signature(self) -> str:
        """The library with its version, and the tag set."""
        return f"{self.library}@{self.version},penn-tags"

    def load(self) -> "PatternTagger":
        """Load the tagger."""
        return PatternTagger(self)


PATTERN_TAGGER = TaggerSpec("textblob", "0.20.0")

# textblob does not split at this apostrophe, so "isn't" can become "is n't", as in the Penn Treebank.
_APOSTROPHE = "\u02bc"
_CONTRACTION = re.compile(r"(?<=\w)(n't|'(?:s|m|d|re|ve|ll))(?!\w)", re.IGNORECASE)
_LONG = re.compile(r"\S{100}")  # textblob's time grows with the square of the length of a run of punctuation
_LATIN_ENDS = "\u024f"  # last character of Latin Extended-B
_LATIN_ADDITIONAL = ("\u1e00", "\u1eff")  # first and last character of Latin Extended Additional


class PatternTagger:
    """The Pattern library's tagger as included in textblob: a word gets its most common tag (Brill 1992)."""

    def __init__(self, spec: TaggerSpec = PATTERN_TAGGER) -> None:
        self._parser = need(f"{spec.library}.en", "syntax").parser
        if (found := version(spec.library)) != spec.version:
            raise ConfigurationError(
                f"version {found} of {spec.library} is installed, but {spec.version} is needed",
                'install that version: pip install "divbench[syntax]"',
            )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)  # on first use it reads its lexicon without closing it
            self._parser.find_tags(["a"])

    def tag(self, texts: Sequence[str]) -> list[Tags]:
        """Implement `Tagger.tag`; the time is proportional to the length of the texts.

        >>> PatternTagger().tag(["It isn't late. Go home!"])
        [(('PRP', 'VBZ', 'RB', 'JJ', '.'), ('VB', 'NN', '.'))]
        """
        known = {text: self._tags(text) for text in set(texts)}
        return [known[text] for text in texts]

    def _tags(self, text: str) -> Tags:
        plain = _LONG.sub(r"\g<0> ", text.replace("’", "'"))
        marked = _CONTRACTION.sub(lambda match: " " + match[0].replace("'", _APOSTROPHE), plain)
        sentences = (sentence.replace(_APOSTROPHE, "'").split() for sentence in self._parser.find_tokens(marked))
        return tuple(tuple(tag for _, tag in self._parser.find_tags(tokens)) for tokens in sentences if tokens)


def is_in_latin_script(text: str) -> bool:
    """Whether at least half of the letters of a text are Latin; true for a text without letters.

    >>> is_in_latin_script("42, Zürich!"), is_in_latin_script("Привет, Bob")
    (True, False)
    """
    letters = [letter for letter in text if letter.isalpha()]
    first, last = _LATIN_ADDITIONAL
    return 2 * sum(letter <= _LATIN_ENDS or first <= letter <= last for letter in letters) >= len(letters)
