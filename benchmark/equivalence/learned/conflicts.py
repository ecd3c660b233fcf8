"""Finds different meanings in the same sentence: another name, number, unit, time, negation or order.

These are what an embedder sees least: "My favourite month is March." and "My favourite month is May." are one sentence
to it. Two responses are compared word by word, without articles; what stands between the words that both have at their
beginning and at their end is the *slot*.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from benchmark.equivalence.learned.words import STOP_WORDS, Prompt

_TOKEN = re.compile(
    r"(?i)(?<!\d)\.\d+|\d+(?:[.,:/]\d+)*|(?<=\d)['\"′″]|(?<=\d)[a-z]+|n't\b|\w+?(?=n't\b)|\w+(?:'\w+)*|[€$£¥%°+]|(?<=\w)#"  # noqa: RUF001 - primes
)
_HALF_OF_DAY = re.compile(r"\b([ap])\.\s?m\b\.?", re.I)
_ITEM = re.compile(r"(?:^|\s)\d+[.)]\s|^\s*[*•-]\s", re.M)  # lists that differ in one item may mean the same
_SINGLE = re.compile(r"\S{1,12}")
_CODE = re.compile(r"[\d*#+'\"/\\<>=@&%^~|$€-]")  # signs of a single token that say something: A*, 5', .5
_ARTICLES = frozenset({"a", "an", "the"})
_NEGATIONS = frozenset(
    {"not", "n't", "no", "never", "none", "nobody", "nothing", "neither", "nor", "without", "cannot"}
)
_COORDINATING = frozenset({"and", "or", "nor", "as", "with", "plus"})
_TELLING = _NEGATIONS | frozenset(  # stop words elsewhere, but they say something in a slot
    """
    am pm before after above below under over up down in out on off more less most least all none every he she him her
    his hers my your our their
    """.split()  # noqa: SIM905 - a list would be ten lines
)
_ONES = """
    zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
    eighteen nineteen
""".split()  # noqa: SIM905
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()  # noqa: SIM905
_NUMBERS = (
    {word: str(number) for number, word in enumerate(_ONES)}
    | {word: str(10 * number) for number, word in enumerate(_TENS, start=2)}
    | {"dozen": "12", "hundred": "100", "thousand": "1000"}
)
# Words of closed classes that exclude each other, or that say which half of a contrast is meant.
_EXACT = _NEGATIONS | frozenset(
    """
    am pm before after above below under over up down in out on off more less most least all none every left right
    first last north south east west today tomorrow yesterday noon midnight morning afternoon evening night open closed
    january february march april june july august september october november december spring summer autumn fall winter
    monday tuesday wednesday thursday friday saturday sunday second seconds minute minutes hour hours day days week
    weeks month months year years decade decades century mm cm m km g kg mg ml l litre litres liter liters mb gb kb tb
    inch inches foot feet yard yards mile miles metre metres meter meters kilometre kilometres gram grams kilogram
    kilograms ounce ounces pound pounds ton tons gallon gallons pint pints cup cups spoon spoons teaspoon teaspoons
    tablespoon tablespoons acre acres hectare hectares mph kmh degrees celsius fahrenheit c f half third quarter twice
    once he she him her his hers black white red blue green yellow grey gray brown pink purple orange
    """.split()  # noqa: SIM905
)
_LONGEST_SLOT = 4  # words of a slot that say something
_LONGEST_BARE = 2  # the same if the responses have nothing in common
_OPPOSITES = ("un", "in", "im", "il", "ir", "dis", "non")
_LONGEST_NAME = 3  # words of a name that may be written with or without spaces
_LONGEST = 30  # words of a response


@dataclass(frozen=True, slots=True)
class Sentence:
    """A response as the rule reads it."""

    token: str  # the whole response if it is a single short token, else empty
    cased: tuple[str, ...]  # words and signs without articles, numbers in digits; the first of several in lower case
    words: tuple[str, ...]  # the same in lower case
    masked: tuple[str, ...]  # the same without the numbers

    @staticmethod
    def of(text: str) -> "Sentence":
        """Split a response; a long one has no words, because the rule does not read it."""
        stripped = text.strip()
        found = _TOKEN.findall(_HALF_OF_DAY.sub(r"\1m", stripped[: _LONGEST * 20].replace("’", "'")))
        if len(found) > _LONGEST or len(stripped) > _LONGEST * 20 or len(_ITEM.findall(stripped)) > 1:
            found = []
        kept = [word for word in found[:-1] if word.casefold() not in _ARTICLES] + found[-1:]
        cased = [_NUMBERS.get(word.casefold(), word).removesuffix("'s") for word in kept]
        if len(cased) > 1:
            cased[0] = cased[0].casefold()
        words = tuple(word.casefold() for word in cased)
        masked = tuple("#" if any(map(str.isdigit, word)) else word for word in words)
        return Sentence(stripped if _SINGLE.fullmatch(stripped) else "", tuple(cased), words, masked)


def conflict(a: Sentence, b: Sentence, prompt: Prompt) -> bool:
    """Whether two responses are one sentence with a different name, number, unit, time, negation or order.

    >>> march, may = Sentence.of("My favourite month is March."), Sentence.of("My favourite month is May.")
    >>> asked = Prompt("Which month?", frozenset({"which", "month"}), [1.0] * 2**16)
    >>> conflict(march, may, asked), conflict(march, Sentence.of("March is the month that I like most."), asked)
    (True, False)
    """
    if a.token and b.token and (_CODE.search(a.token) or _CODE.search(b.token)):
        return a.token != b.token
    if a.words == b.words or not a.words or not b.words:
        return False
    return a.masked == b.masked or _in_slot(a, b, prompt)


def _in_slot(a: Sentence, b: Sentence, prompt: Prompt) -> bool:
    """Whether the words between what both have at their beginning and at their end mean different things."""
    start, end = _common(a.words, b.words)
    left, right = (slice(start, len(words) - end) for words in (a.words, b.words))
    slots = a.words[left], b.words[right]
    if _swapped(*slots):
        return True
    framed = start + end
    if framed and sum(map(len, slots)) <= 3 and len({_NEGATIONS.isdisjoint(slot) for slot in slots}) == 2:
        return True
    if "".join(slots[0]) == "".join(slots[1]) or 0 < framed * 2 < max(map(len, slots)):
        return False
    frame = (*a.cased[:start], *a.cased[len(a.words) - end :])
    return _exclusive(_content(a.cased[left]), _content(b.cased[right]), frame, prompt)


def _exclusive(said: Sequence[str], instead: Sequence[str], frame: Sequence[str], prompt: Prompt) -> bool:
    """Whether two slots exclude each other: both are names, numbers or the like, or say more than their frame does."""
    if not said or not instead or max(len(said), len(instead)) > (_LONGEST_SLOT if frame else _LONGEST_BARE):
        return False
    words = [(x.casefold(), y.casefold()) for x in said for y in instead]
    if len(words) == 1 and any(f"{prefix}{x}" == y or x == f"{prefix}{y}" for prefix in _OPPOSITES for x, y in words):
        return True
    if any(_alike(x, y) for x, y in words):
        return False
    if any(map(_exact, said)) and any(map(_exact, instead)):
        return True
    told = min(max(map(prompt.weight, slot)) for slot in (said, instead))
    return told >= max((prompt.weight(word) for word in frame if word.casefold() not in prompt.words), default=0.0)


def same(a: Sentence, b: Sentence) -> bool:
    """Whether two responses differ only in articles, case, punctuation, digits for words, or spaces within a name.

    >>> same(Sentence.of("Sea Gull"), Sentence.of("The seagull!")), same(Sentence.of("Try C#"), Sentence.of("Try C"))
    (True, False)
    """
    if not a.words or (a.token != b.token and any(token and _CODE.search(token) for token in (a.token, b.token))):
        return False
    short = len(a.words) <= _LONGEST_NAME and len(b.words) <= _LONGEST_NAME
    return a.words == b.words or (short and "".join(a.words) == "".join(b.words))


def _common(one: Sequence[str], two: Sequence[str]) -> tuple[int, int]:
    """Return how many words two sequences have in common at their beginning, and at their end."""
    shorter = min(len(one), len(two))
    start = next((i for i in range(shorter) if one[i] != two[i]), shorter)
    end = next((i for i in range(shorter - start) if one[-1 - i] != two[-1 - i]), shorter - start)
    return start, end


def _content(words: Sequence[str]) -> list[str]:
    """Return the words that say something; a capital makes a name of any word (May, A)."""
    return [
        word
        for word in words
        if word in _TELLING or ((word[0].isupper() or word not in STOP_WORDS) and not re.match(r"(?i)i\b", word))
    ]


def _exact(word: str) -> bool:
    """Whether a word is a name, a number or of a closed class, so that another one in its place is another meaning."""
    return word[0].isupper() or not word.isalpha() or word in _EXACT


def _alike(x: str, y: str) -> bool:
    """Whether two words may be forms of one; numbers only if they are equal."""
    if x == y:
        return True
    if any(map(str.isdigit, x + y)):
        return False
    start, _ = _common(x, y)
    return start >= 4 and start >= max(len(x), len(y)) - 3


def _swapped(left: Sequence[str], right: Sequence[str]) -> bool:
    """Whether two parts have changed sides around a third that does more than join them."""
    if len(left) != len(right) or sorted(left) != sorted(right):
        return False
    size = len(left)
    return any(
        left[:x] == right[size - x :] and left[size - y :] == right[:y] and left[x : size - y] == right[y : size - x]
        for x in range(1, size - 1)
        for y in range(1, size - x)
        if any(word.isalpha() and word not in _COORDINATING for word in left[x : size - y])
    )
