"""Part-of-speech tags of English texts, by textblob's tagger: its wheel has the lexicon and the rules of spelling."""

import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Protocol

from datasets_build.errors import ConfigurationError, need

Tags = tuple[tuple[str, ...], ...]  # those of each sentence of a text


class Tagger(Protocol):
    """Something that tags texts."""

    def tag(self, texts: Sequence[str]) -> list[Tags]:
        """Return the tags of each text, sentence by sentence."""
        ...


@dataclass(frozen=True, slots=True)
class TaggerSpec:
    """Which tagger a profile uses; loading it is another step.

    Attributes:
        version: Version of the library: another one may have another lexicon.
    """

    library: str
    version: str

    @property
    def signature(self) -> str:
        """The library with its version, and the tags that it gives."""
        return f"{self.library}@{self.version},penn-tags"

    def load(self) -> "PatternTagger":
        """Load the tagger.

        Raises:
            MissingExtra: The library is not installed.
            ConfigurationError: Another version of it is installed.
        """
        return PatternTagger(self)


PATTERN_TAGGER = TaggerSpec("textblob", "0.20.0")

# An apostrophe that textblob does not split off, so that "isn't" becomes "is n't", as in the Penn Treebank.
_APOSTROPHE = "\u02bc"
_CONTRACTION = re.compile(r"(?<=\w)(n't|'(?:s|m|d|re|ve|ll))(?!\w)", re.IGNORECASE)
_LONG = re.compile(r"\S{100}")  # textblob's time grows with the square of a run of punctuation
_LATIN_ENDS = "\u024f"  # of Latin Extended-B
_LATIN_ADDITIONAL = ("\u1e00", "\u1eff")


class PatternTagger:
    """Tagger of the Pattern library in textblob: tags of the Penn Treebank, each word by itself.

    A word has its commonest tag in the lexicon (Brill 1992), whatever stands around it; a word that is not there gets
    one by its capital, digits or ending. So the same text always has the same tags, and no model is read.
    """

    def __init__(self, spec: TaggerSpec = PATTERN_TAGGER) -> None:
        self._parser = need(f"{spec.library}.en", "syntax").parser
        if (found := version(spec.library)) != spec.version:
            raise ConfigurationError(
                f"{spec.library} is {found}, and tags are those of {spec.version}",
                "install that version: pip install 'divbench[syntax]'",
            )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)  # it reads its lexicon on first use, and closes no file
            self._parser.find_tags(["a"])

    def tag(self, texts: Sequence[str]) -> list[Tags]:
        """Implement `Tagger.tag`; a text of n characters takes time in proportion to n.

        >>> PatternTagger().tag(["It isn't late. Go home!"])
        [(('PRP', 'VBZ', 'RB', 'JJ', '.'), ('VB', 'NN', '.'))]
        """
        known = {text: self._tags(text) for text in set(texts)}
        return [known[text] for text in texts]

    def _tags(self, text: str) -> Tags:
        plain = _LONG.sub(r"\g<0> ", text.replace("’", "'"))
        marked = _CONTRACTION.sub(lambda found: " " + found[0].replace("'", _APOSTROPHE), plain)
        sentences = (each.replace(_APOSTROPHE, "'").split() for each in self._parser.find_tokens(marked))
        return tuple(tuple(tag for _, tag in self._parser.find_tags(tokens)) for tokens in sentences if tokens)


def is_in_latin_script(text: str) -> bool:
    """Whether at least half of the letters of a text are Latin; a text without letters is in any script.

    >>> is_in_latin_script("42, Zürich!"), is_in_latin_script("Привет, Bob")
    (True, False)
    """
    letters = [letter for letter in text if letter.isalpha()]
    first, last = _LATIN_ADDITIONAL
    return 2 * sum(letter <= _LATIN_ENDS or first <= letter <= last for letter in letters) >= len(letters)
