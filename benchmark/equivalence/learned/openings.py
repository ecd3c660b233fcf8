"""Empty openings: first sentences that are about neither the prompt nor the text that follows.

"Sure!", a greeting in another language and random words are not part of a response's content, but they change the
embedder's states of all later words. So responses are also compared without them.
"""

import re

from benchmark.equivalence.backend import Floats

MOST = 3  # openings removed from a response
_LONGEST = 60  # characters of an opening
_ABOUT = 0.25  # cosine from which an opening is about a text; 1 in 30 openings of four random words reaches it
_END = re.compile(r"(?<=[.!?:])\s+|(?<=[\u3002\uff01\uff1f\uff1a])|\n+")  # the latter are full-width marks
_WORD = re.compile(r"[^\W\d_]{3}")
# Openings that consist of these words are so frequent that the model knows them; reading the rest would take time.
_ASSENTS = frozenset(
    """
    sure certainly of course absolutely definitely thing alright okay ok yes yeah great gladly you bet no problem
    """.split()  # noqa: SIM905 - a list would be twenty lines
)


def split_opening(text: str) -> tuple[str, str] | None:
    """Split a text after its first sentence or line; None if that is long, an assent, wordless or the whole text.

    >>> split_opening("Hi there! Red it is."), split_opening("Sure! Red."), split_opening("Dr. No")
    (('Hi there!', 'Red it is.'), None, None)
    """
    stripped = text.strip()
    found = _END.search(stripped)
    if found is None or found.start() > _LONGEST:
        return None
    opening, rest = stripped[: found.start()].strip(), stripped[found.end() :].strip()
    if not _WORD.search(opening) or not _WORD.search(rest) or _ASSENTS.issuperset(re.findall(r"\w+", opening.lower())):
        return None
    return opening, rest


def says_nothing(opening: Floats, text: Floats) -> bool:
    """Whether an opening is not about a text (the prompt, or what follows); both are unit vectors [dimensions]."""
    return float((opening * text).sum()) < _ABOUT
