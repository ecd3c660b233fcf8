"""Training documents that make a small model learn in context.

Excerpts of books teach English. Labelled lists of passages teach what D_Can measures: that a passage may be repeated,
exactly or nearly, may alternate with others, or may not be repeated at all.
"""

import random
import re
import string
from collections.abc import Iterator

from benchmark.surprisal.prompt_layout import response_label

_ASKS = (
    "Tell me something.",
    "Write a sentence.",
    "Write a few lines.",
    "Say something.",
    "Continue.",
    "Write a short piece.",
    "What happened then?",
    "Tell me more.",
    "Describe what you see.",
    "Give an example.",
    "Write a short story.",
    "What do you think?",
    "Answer the question.",
    "Tell me about your day.",
    "Write anything you like.",
    "Make something up.",
)
_SENTENCE = re.compile("(?<=[.!?])[\"'\u201d\u2019)]*\\s+")
_OTHER_LETTERS = (range(0xC0, 0x180), range(0x391, 0x3CA), range(0x410, 0x450), range(0x5D0, 0x5EB))
_OTHER_SIGNS = (range(0x4E00, 0x9F00), range(0x3041, 0x30FF), range(0x1F300, 0x1F650), range(0x905, 0x940))
_ALPHABETS = (
    string.ascii_uppercase + " ",
    string.digits + " ",
    string.printable[:95],
    string.printable[:95],
    string.ascii_lowercase,
    "".join(chr(i) for letters in _OTHER_LETTERS for i in letters),
    "".join(chr(i) for signs in _OTHER_SIGNS for i in signs),
)
_PLAIN_SHARE = 0.45  # share of documents that are an excerpt of a book


def sentences(text: str) -> list[str]:
    """Return the sentences of a book that have 15 to 320 characters, with single spaces."""
    flat = (" ".join(part.split()) for paragraph in text.split("\n\n") for part in _SENTENCE.split(paragraph))
    return [part for part in flat if 15 <= len(part) <= 320]


def documents(books: list[str], characters: int, seed: int) -> Iterator[str]:
    """Yield documents forever."""
    rng = random.Random(seed)  # noqa: S311 - not for secrets
    split = [sentences(book) for book in books]
    weights = [len(book) ** 0.5 for book in books]
    while True:
        book = rng.choices(range(len(books)), weights)[0]
        if rng.random() < _PLAIN_SHARE:
            start = books[book].find(" ", rng.randrange(max(1, len(books[book]) - characters))) + 1
            yield books[book][start : start + characters]
        else:
            yield _listed(rng, split[book], characters)


def _listed(rng: random.Random, source: list[str], characters: int) -> str:
    """Make a list of passages: repeats, near-repeats, several modes in random order, or all different."""
    lister = rng.choice((_instruct, _instruct, _completion, _completion, _bare))
    kind = rng.choices(("same", "near", "modes", "different", "noise"), (3, 3, 3, 2, 1))[0]
    modes = 1 if kind in ("same", "near") else rng.choice((2, 2, 3, 4, 5))
    make = _noise if kind == "noise" else lambda r: _passage(r, source)
    pool = [make(rng) for _ in range(modes)]
    changes = {"same": 0.0, "near": rng.choice((0.05, 0.1, 0.2)), "modes": rng.choice((0.0, 0.0, 0.1))}.get(kind, 0.0)
    length, items = 0, []
    while length < characters:
        text = make(rng) if kind == "different" else _varied(rng, rng.choice(pool), changes, source)
        items.append(text)
        length += len(text) + 12
    ask = rng.choice(_ASKS) if rng.random() < 0.5 else rng.choice(source)
    return lister(ask, items)


def _passage(rng: random.Random, source: list[str]) -> str:
    """Make a passage of one to three consecutive sentences, or the beginning of one."""
    start = rng.randrange(max(1, len(source) - 3))
    text = " ".join(source[start : start + rng.choice((1, 1, 1, 2, 3))])
    if rng.random() < 0.25:
        words = text.split()
        text = " ".join(words[: rng.randint(2, max(2, min(12, len(words))))])
    return text


def _noise(rng: random.Random) -> str:
    """Make a text of random characters, including scripts that the books lack, so that their bytes are learnt, too."""
    alphabet = rng.choice(_ALPHABETS)
    return "".join(rng.choices(alphabet, k=rng.randint(10, 90))).strip() or "x"


def _varied(rng: random.Random, text: str, share: float, source: list[str]) -> str:
    """Drop some of a passage's words, or replace them with words from elsewhere."""
    if not share:
        return text
    made = []
    for word in text.split(" "):
        draw = rng.random()
        if draw < share:
            made.append(rng.choice(rng.choice(source).split()))
        elif draw > 1 - share / 4:
            continue
        else:
            made.append(word)
    return " ".join(made) or text


def _instruct(ask: str, items: list[str]) -> str:
    return ask + "".join(f"\n\nResponse {response_label(i)}: {item}" for i, item in enumerate(items))


def _completion(ask: str, items: list[str]) -> str:
    start = " ".join(ask.split()[:8])
    return "\n\n".join(f"{i}. {start} {item}" for i, item in enumerate(items, 1))


def _bare(ask: str, items: list[str]) -> str:
    return "\n\n".join([ask, *items])
