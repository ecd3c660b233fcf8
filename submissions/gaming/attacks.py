"""Attacks: make responses that look diverse without being diverse. A good metric rewards none of them.

*junk* ignores the prompt, so none of its texts is a valid response. *disguise* changes how each response looks but not
what it means, so it adds no equivalence class. *copies* repeat or reword one response, so they form a single class.
"""

import random
import re
import string
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

LETTERS = string.ascii_letters + string.digits + string.punctuation + " "
ZERO_WIDTH = "\u200b\u200c\u200d\u2060"
CHINESE = range(0x4E00, 0x9000)  # the common part of Unicode's block of unified ideographs
AttackKind = Literal["junk", "disguise", "copies"]


@dataclass(frozen=True, slots=True)
class AttackedSet:
    """The input of an attack for one prompt."""

    prompt: str
    responses: tuple[str, ...]  # [k], the responses to it
    # Responses to each other prompt of the submission, in the order of the prompts' ids.
    elsewhere: Sequence[tuple[str, ...]]


Attacker = Callable[[AttackedSet, random.Random], tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Attack:
    """A way to look diverse."""

    name: str  # value of `divbench metrics baseline --kind`
    kind: AttackKind  # kind of attack; see the module's docstring
    about: str
    fn: Attacker  # function that makes as many texts as there are responses, none of them blank
    seeded: bool = True


def repeated(source: AttackedSet, rng: random.Random) -> tuple[str, ...]:
    """The first response, k times: no diversity at all."""
    return (source.responses[0],) * len(source.responses)


def random_characters(source: AttackedSet, rng: random.Random) -> tuple[str, ...]:
    """Random characters, as many as each response has."""
    return tuple("".join(rng.choices(LETTERS, k=max(len(text), 1))).strip() or "x" for text in source.responses)


def shuffled_words(source: AttackedSet, rng: random.Random) -> tuple[str, ...]:
    """The words of each response in random order: the same vocabulary without the sentences."""
    texts = []
    for text in source.responses:
        words = text.split()
        rng.shuffle(words)
        texts.append(" ".join(words))
    return tuple(texts)


def random_words(source: AttackedSet, rng: random.Random) -> tuple[str, ...]:
    """Random words, as many as each response has."""
    return tuple(" ".join(rng.choices(banks()["words"], k=max(len(text.split()), 1))) for text in source.responses)


def random_sentences(source: AttackedSet, rng: random.Random) -> tuple[str, ...]:
    """Random words and the words of the prompt, with the capitals and full stops of sentences."""
    about, texts = _bare_words(source.prompt), []
    for text in source.responses:
        words = [*rng.choices(banks()["words"], k=max(len(text.split()), 1)), *about]
        rng.shuffle(words)
        texts.append(" ".join(f"{' '.join(words[i : i + 8]).capitalize()}." for i in range(0, len(words), 8)))
    return tuple(texts)


def chinese_characters(source: AttackedSet, rng: random.Random) -> tuple[str, ...]:
    """Twelve random Chinese characters."""
    return tuple("".join(map(chr, rng.choices(CHINESE, k=12))) for _ in source.responses)


def other_prompts(source: AttackedSet, rng: random.Random) -> tuple[str, ...]:
    """Responses to other prompts, all different if there are enough; its own if there is no other prompt."""
    sets = rng.sample(source.elsewhere, k=min(len(source.elsewhere), len(source.responses))) or [source.responses]
    return tuple(rng.choice(sets[i % len(sets)]) for i in range(len(source.responses)))


def book_sentences(source: AttackedSet, rng: random.Random) -> tuple[str, ...]:
    """Sentences in the style of an old novel, at least one per response and together about as long as it."""
    book = banks()["book"]
    texts = []
    for text in source.responses:
        parts: list[str] = []
        while not parts or sum(map(len, parts)) < len(text) - 60:
            parts.append(" ".join(rng.choice(book[part]) for part in ("who", "did", "then")))
        texts.append(" ".join(parts))
    return tuple(texts)


def prompt_openings(source: AttackedSet, rng: random.Random) -> tuple[str, ...]:
    """Sentences in the style of an old novel, each response after "About" and four words of the prompt."""
    words = source.prompt.split()
    texts = book_sentences(source, rng)
    return tuple(f"About {' '.join(rng.sample(words, k=min(4, len(words))))}: {text}" for text in texts)


def echoes(source: AttackedSet, rng: random.Random) -> tuple[str, ...]:
    """The prompt itself, in different frames."""
    return tuple(frame.format(source.prompt) for frame in _drawn("echoes", source, rng))


def refusals(source: AttackedSet, rng: random.Random) -> tuple[str, ...]:
    """Refusals in different words."""
    ends = banks()["refusal_ends"]
    drawn = _drawn("refusals", source, rng)
    return tuple(text if i < len(banks()["refusals"]) else f"{text} {rng.choice(ends)}" for i, text in enumerate(drawn))


def questions_back(source: AttackedSet, rng: random.Random) -> tuple[str, ...]:
    """Questions back, some about words of the prompt."""
    words = [word for word in _bare_words(source.prompt) if len(word) > 3] or ["this"]
    drawn = _drawn("questions_back", source, rng)
    return tuple(text.format(" ".join(rng.sample(words, k=min(2, len(words))))) for text in drawn)


def continuations(source: AttackedSet, rng: random.Random) -> tuple[str, ...]:
    """Sentences that continue the prompt, at least two per response and together about as long as it."""
    bank, texts = banks()["continuations"], []
    for text in source.responses:
        parts = rng.sample(bank, k=2)
        while sum(map(len, parts)) < len(text) - 60 and len(parts) < len(bank):
            parts.append(rng.choice([part for part in bank if part not in parts]))
        texts.append(" ".join(parts))
    return tuple(texts)


def reworded(source: AttackedSet, rng: random.Random) -> tuple[str, ...]:
    """The first response in other words, by rules."""
    return tuple(reword(source.responses[0], position, rng) for position in range(len(source.responses)))


def numbered(source: AttackedSet, rng: random.Random) -> tuple[str, ...]:
    """Each response after its number."""
    return tuple(f"Answer {i}: {text}" for i, text in enumerate(source.responses, start=1))


def random_suffixes(source: AttackedSet, rng: random.Random) -> tuple[str, ...]:
    """Each response before twelve random letters and digits."""
    drawn = string.ascii_letters + string.digits
    return tuple(f"{text} {''.join(rng.choices(drawn, k=12))}" for text in source.responses)


def random_prefixes(source: AttackedSet, rng: random.Random) -> tuple[str, ...]:
    """Each response after four random words."""
    return tuple(f"{' '.join(rng.choices(banks()['words'], k=4)).capitalize()}. {text}" for text in source.responses)


def homoglyphs(source: AttackedSet, rng: random.Random) -> tuple[str, ...]:
    """Lookalike letters of other scripts, with zero-width characters in between."""
    alike = banks()["homoglyphs"]

    def disguised(letter: str) -> str:
        shown = alike.get(letter, letter) if rng.random() < 0.5 else letter
        return shown + rng.choice(ZERO_WIDTH) if rng.random() < 0.1 else shown

    return tuple("".join(map(disguised, text)) for text in source.responses)


def case_and_punctuation(source: AttackedSet, rng: random.Random) -> tuple[str, ...]:
    """Each response in another case, with other marks around it."""
    cases: tuple[Callable[[str], str], ...] = (str.upper, str.lower, str.title, str.swapcase, str)
    marks = ("{}!!!", "{} …", '"{}"', "**{}**", "- {}", "({})", "{}??", "~ {} ~")
    return tuple(rng.choice(marks).format(rng.choice(cases)(text.rstrip("."))) for text in source.responses)


def synonyms(source: AttackedSet, rng: random.Random) -> tuple[str, ...]:
    """Each response with words replaced by synonyms from a small table."""
    return tuple(swap_synonyms(text, rng) for text in source.responses)


def reordered_sentences(source: AttackedSet, rng: random.Random) -> tuple[str, ...]:
    """The sentences of each response in another order."""
    return tuple(reorder_sentences(text, rng) for text in source.responses)


def translated_openings(source: AttackedSet, rng: random.Random) -> tuple[str, ...]:
    """Each response after "Here is my answer" in another language."""
    drawn = _drawn("translated_openings", source, rng)
    return tuple(f"{opening} {text}" for opening, text in zip(drawn, source.responses, strict=True))


def truncated(source: AttackedSet, rng: random.Random) -> tuple[str, ...]:
    """The first words of each response, a third to two thirds of them."""
    texts = []
    for text in source.responses:
        words = text.split()
        texts.append(" ".join(words[: max(1, round(len(words) * rng.uniform(1 / 3, 2 / 3)))]))
    return tuple(texts)


def padded(source: AttackedSet, rng: random.Random) -> tuple[str, ...]:
    """Each response followed by empty phrases: at least one, up to about 300 characters."""
    fillers = banks()["fillers"]
    texts = []
    for text in source.responses:
        parts: list[str] = []
        length = rng.uniform(0, 300)
        while not parts or sum(map(len, parts)) < length:
            parts.append(rng.choice([filler for filler in fillers if filler not in parts[-1:]]))
        texts.append(" ".join([*sentences(text), *parts]))
    return tuple(texts)


def _bare_words(text: str) -> list[str]:
    """The words of a text in lower case, without the marks around them."""
    return [bare for word in text.lower().split() if (bare := word.strip(string.punctuation + "“”‘’"))]


def _drawn(bank: str, source: AttackedSet, rng: random.Random) -> list[str]:
    """Draw an entry of a bank for each response; none is repeated before all were drawn."""
    entries, drawn = banks()[bank], list[str]()
    while len(drawn) < len(source.responses):
        drawn += rng.sample(entries, k=len(entries))
    return drawn[: len(source.responses)]


ATTACKS: tuple[Attack, ...] = (
    Attack("repeated", "copies", "the first response, k times", repeated, seeded=False),
    Attack("random-characters", "junk", "random characters of the same lengths", random_characters),
    Attack("shuffled-words", "junk", "the words of each response in random order", shuffled_words),
    Attack("random-words", "junk", "random words, as many as in each response", random_words),
    Attack("random-sentences", "junk", "random words and those of the prompt, as sentences", random_sentences),
    Attack("chinese-characters", "junk", "twelve random Chinese characters", chinese_characters),
    Attack("other-prompts", "junk", "responses to other prompts", other_prompts),
    Attack("book-sentences", "junk", "sentences as of an old novel", book_sentences),
    Attack("prompt-openings", "junk", "sentences as of an old novel after words of the prompt", prompt_openings),
    Attack("echoes", "junk", "the prompt itself, differently framed", echoes),
    Attack("refusals", "junk", "refusals in different words", refusals),
    Attack("questions-back", "junk", "questions back instead of a response", questions_back),
    Attack("continuations", "junk", "what the author of the prompt might write next", continuations),
    Attack("reworded", "copies", "the first response in different words, by rules", reworded),
    Attack("numbered", "disguise", "each response behind its number", numbered, seeded=False),
    Attack("random-suffixes", "disguise", "each response before twelve random letters and digits", random_suffixes),
    Attack("random-prefixes", "disguise", "each response behind four random words", random_prefixes),
    Attack("homoglyphs", "disguise", "lookalike letters of other scripts, and zero-width characters", homoglyphs),
    Attack("case-and-punctuation", "disguise", "each response in another case and marks", case_and_punctuation),
    Attack("synonyms", "disguise", "words swapped for synonyms", synonyms),
    Attack("reordered-sentences", "disguise", "the sentences of each response in another order", reordered_sentences),
    Attack(
        "translated-openings", "disguise", "each response behind an opening in another language", translated_openings
    ),
    Attack("truncated", "disguise", "the first third to two thirds of each response", truncated),
    Attack("padded", "disguise", "each response before sentences that say nothing", padded),
)


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
    return [part for part in _SENTENCE_END.split(text.strip()) if part]


def swap_synonyms(text: str, rng: random.Random, share: float = 1.0) -> str:
    """Replace this share of the words that the table has by one of their synonyms, in the same case."""
    table: Mapping[str, Sequence[str]] = banks()["synonyms"]

    def swapped(match: re.Match[str]) -> str:
        word = match.group()
        synonyms = table.get(word.casefold())
        if synonyms is None or rng.random() >= share:
            return word
        return _in_case_of(word, rng.choice(synonyms))

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
    """Say a response in other words: another opening or closing, synonyms, contractions, reordered sentences."""
    if position == 0:
        return text
    rewording = swap_synonyms(text, rng, share=0.7)
    if position % 2:
        rewording = contract(rewording)
    if position % 3 == 2:
        rewording = reorder_sentences(rewording, rng)
    openings, closings = banks()["openings"], banks()["closings"]
    if position % 4 != 3:
        rewording = f"{openings[position % len(openings)]} {rewording}"
    if position % 3 == 0:
        rewording = f"{rewording} {closings[position % len(closings)]}"
    return rewording


def _in_case_of(pattern: str, word: str) -> str:
    return word[0].upper() + word[1:] if pattern[0].isupper() and word[0].islower() else word
