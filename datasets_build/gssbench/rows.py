"""Rows of prompt pairs: their schemas, and random orders that are the same on any machine and version of Python."""

import hashlib
import random
from collections.abc import Iterable, Iterator
from itertools import chain, zip_longest
from typing import Any, TypeVar

import pyarrow as pa

Item = TypeVar("Item")

# Two prompts; the generation space of `a` is strictly smaller than that of `b`. Pairs of one set share texts, so
# intervals must resample sets, not pairs. (Sets share a few short texts, too: the requests without a topic in *subset*,
# single constraints in *intersection*.)
_TEXTS = (
    "pair_id",  # unique over all splits
    "set_id",
    "a_id",  # `prompt_id` of the texts
    "b_id",
    "a",
    "b",
    "relation",  # letters of the two texts within the set, the smaller space first, such as `AB<ABC`
    "template",  # family, category, theme or question that the pair was made from
)
# Number of options (*random_choice*), alternatives (*union*) or constraints (*intersection*), or level from 1 to 5
# (*subset*); null elsewhere. More constraints and a higher level make a smaller space.
_SIZES = ("a_size", "b_size")
_FIELDS: "list[pa.Field[Any]]" = [pa.field(name, pa.string(), nullable=False) for name in _TEXTS]
PAIRS = pa.schema([*_FIELDS, *(pa.field(name, pa.int32()) for name in _SIZES)])
# The unique texts of all pairs, which are the prompts for a model.
PROMPTS = pa.schema(
    [
        pa.field("prompt_id", pa.string(), nullable=False),
        pa.field("prompt", pa.string(), nullable=False),
        pa.field("splits", pa.list_(pa.string()), nullable=False),  # that contain it
        pa.field("pairs", pa.int32(), nullable=False),  # number of pairs that contain it, over all splits
    ]
)


def prompt_id(prompt: str) -> str:
    """Return the id of a text: `gss-` and the first 10 hex digits of its SHA-256.

    >>> prompt_id("Write an email.")
    'gss-b7c517d570'
    """
    return f"gss-{hashlib.sha256(prompt.encode()).hexdigest()[:10]}"


def pair_row(
    pair_id: str,
    a: str,
    b: str,
    *,
    set_id: str,
    relation: str,
    template: str,
    sizes: tuple[int, int] | tuple[None, None] = (None, None),
) -> dict[str, Any]:
    """Make a row that fits `PAIRS`; `a` is the text with the smaller generation space."""
    texts = (pair_id, set_id, prompt_id(a), prompt_id(b), a, b, relation, template)
    return dict(zip((*_TEXTS, *_SIZES), (*texts, *sizes), strict=True))


def shuffled(items: Iterable[Item], rng: random.Random) -> list[Item]:
    """Return the items in random order: sorted by values of `random()`, whose stream Python guarantees.

    The shuffle in `divbench.core.rng` works differently; the published pairs depend on this one.
    """
    keyed = [(rng.random(), item) for item in items]
    return [item for _, item in sorted(keyed, key=lambda entry: entry[0])]


def by_turns(groups: Iterable[Iterable[Item]]) -> Iterator[Item]:
    """Yield the first item of each group, then the second of each, and so on until all groups are exhausted.

    >>> list(by_turns(["abc", "d", "ef"]))
    ['a', 'd', 'e', 'b', 'f', 'c']
    """
    boxed = ([(item,) for item in group] for group in groups)
    return (box[0] for box in chain.from_iterable(zip_longest(*boxed)) if box is not None)
