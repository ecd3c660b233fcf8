"""What *intersection* combines: genres with the lengths, styles and structures that a text of them can have at once."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Genre:
    """A sort of short text.

    Attributes:
        noun: With its article; longer than "a piece", which stands where no genre is asked for.
        kind: Which of the styles and structures fit, besides those for any text.
        words: The shortest and the longest usual length, in words.
    """

    noun: str
    kind: str
    words: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Structure:
    """A way to build a text.

    Attributes:
        phrase: What follows the noun, or a comma.
        words: The shortest and the longest text that it suits, in words.
    """

    phrase: str
    words: tuple[int, int] = (50, 1000)


GENRES: tuple[Genre, ...] = (
    Genre("a fairy tale", "narrative", (300, 1000)),
    Genre("a ghost story", "narrative", (300, 1000)),
    Genre("a bedtime story", "narrative", (200, 700)),
    Genre("a detective story", "narrative", (300, 1000)),
    Genre("a travel article", "report", (300, 900)),
    Genre("a news article", "report", (150, 700)),
    Genre("a sports report", "report", (150, 500)),
    Genre("a press release", "report", (200, 500)),
    Genre("a book report", "report", (200, 700)),
    Genre("a popular science article", "report", (250, 900)),
    Genre("a short biography", "report", (120, 700)),
    Genre("a product review", "opinion", (100, 400)),
    Genre("a movie review", "opinion", (150, 600)),
    Genre("a restaurant review", "opinion", (100, 400)),
    Genre("a letter to the editor", "opinion", (120, 400)),
    Genre("a campaign speech", "opinion", (250, 900)),
    Genre("a love letter", "personal", (100, 500)),
    Genre("a thank-you letter", "personal", (100, 300)),
    Genre("a letter of apology", "personal", (100, 350)),
    Genre("a wedding toast", "personal", (100, 350)),
)

LENGTHS: tuple[int, ...] = (
    100,
    120,
    140,
    150,
    180,
    200,
    220,
    250,
    280,
    300,
    350,
    400,
    450,
    500,
    600,
    650,
    700,
    800,
    900,
)
"""In words."""

STYLES: Mapping[str, tuple[str, ...]] = {
    "any": (
        "in British English",
        "in short sentences",
        "in plain language",
        "without exclamation points",
        "without adverbs",
        "without contractions",
    ),
    "narrative": (
        "in long, winding sentences",
        "in old-fashioned language",
        "in the first person",
        "in the present tense",
        "in the voice of a child",
        "with a touch of humor",
        "with at least one proverb",
        "with plenty of dialogue",
    ),
    "report": (
        "in a lively tone",
        "in the present tense",
        "with a touch of irony",
        "with at least two direct quotations",
        "with several concrete numbers",
        "without direct quotations",
        "without technical terms",
    ),
    "opinion": (
        "in a sarcastic tone",
        "in an enthusiastic tone",
        "in a matter-of-fact tone",
        "in the first person",
        "in the second person",
        "with a touch of self-mockery",
        "with at least one proverb",
        "without superlatives",
    ),
    "personal": (
        "in a playful tone",
        "in a warm tone",
        "in formal language",
        "in long, winding sentences",
        "with a touch of humor",
        "with one mild exaggeration",
        "without clichés",
    ),
}
"""Kind of genre → the styles that fit it; those of `any` fit all."""

STRUCTURES: Mapping[str, tuple[Structure, ...]] = {
    "any": (
        Structure("in a single paragraph", (50, 300)),
        Structure("divided into two paragraphs", (80, 500)),
        Structure("divided into three paragraphs", (100, 700)),
        Structure("divided into four paragraphs", (150, 900)),
        Structure("divided into five paragraphs", (200, 1000)),
        Structure("divided into six short paragraphs", (200, 600)),
    ),
    "narrative": (
        Structure("told in reverse order", (150, 1000)),
        Structure("opening with a description of the weather", (100, 1000)),
        Structure("ending with a question"),
        Structure("framed by the same sentence at the beginning and the end"),
        Structure("divided into three scenes", (250, 1000)),
        Structure("interrupted by a short letter", (200, 1000)),
    ),
    "report": (
        Structure("preceded by a one-sentence summary"),
        Structure("preceded by a title and a subtitle"),
        Structure("divided into two sections with headings", (150, 600)),
        Structure("divided into three sections with headings", (200, 1000)),
        Structure("followed by a list of key facts", (150, 1000)),
        Structure("arranged in chronological order", (100, 1000)),
        Structure("built around three questions and answers", (150, 800)),
    ),
    "opinion": (
        Structure("ending with a call to action"),
        Structure("opening with a question"),
        Structure("opening with a quotation", (100, 1000)),
        Structure("built around three arguments", (150, 1000)),
        Structure("opening with a short anecdote", (120, 1000)),
        Structure("moving from the strongest point to the weakest", (120, 1000)),
        Structure("ending with a one-line summary"),
    ),
    "personal": (
        Structure("opening with a shared memory"),
        Structure("opening with a compliment"),
        Structure("ending with a promise"),
        Structure("ending with a rhyme"),
        Structure("built around a single anecdote", (100, 1000)),
        Structure("built around a single metaphor", (100, 1000)),
    ),
}
"""Kind of genre → the structures that fit it; those of `any` fit all."""
