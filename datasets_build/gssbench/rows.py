"""Schemas of the pairs and the prompts."""

import hashlib
from typing import Any

import pyarrow as pa

_TEXTS = ("pair_id", "set_id", "a_id", "b_id", "a", "b", "relation", "template")
_SIZES = ("a_size", "b_size")
_FIELDS: "list[pa.Field[Any]]" = [pa.field(name, pa.string(), nullable=False) for name in _TEXTS]
_FIELDS += [pa.field(name, pa.int32()) for name in _SIZES]

PAIRS = pa.schema(_FIELDS)
"""Two prompts; the generation space of `a` is strictly smaller than that of `b`.

pair_id: Unique over all splits.
set_id: Id of the set. Pairs of one set share texts, so intervals must resample sets, not pairs. (Sets share a few short
    texts too: the requests without a topic in *subset*, single constraints in *intersection*.)
a_id, b_id: `prompt_id` of the texts.
relation: Letters of the two texts within the set, the smaller space first, such as `AB<ABC`.
template: Family, category, theme or question that the pair was made from.
a_size, b_size: Number of options (*random_choice*), alternatives (*union*) or constraints (*intersection*), or level
    from 1 to 5 (*subset*); null elsewhere. More constraints and a higher level make a smaller space.
"""

PROMPTS = pa.schema(
    [
        pa.field("prompt_id", pa.string(), nullable=False),
        pa.field("prompt", pa.string(), nullable=False),
        pa.field("splits", pa.list_(pa.string()), nullable=False),
        pa.field("pairs", pa.int32(), nullable=False),
    ]
)
"""The unique texts of all pairs, which are the prompts for a model.

splits: Splits that contain it.
pairs: Number of pairs that contain it, over all splits.
"""


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
    sizes: tuple[int, int] | None = None,
) -> dict[str, Any]:
    """Make a row that fits `PAIRS`.

    Args:
        a: Text with the smaller generation space.
        b: Text with the larger one.
        sizes: `a_size` and `b_size`, if they are defined.
    """
    a_size, b_size = sizes or (None, None)
    return {
        "pair_id": pair_id,
        "set_id": set_id,
        "a_id": prompt_id(a),
        "b_id": prompt_id(b),
        "a": a,
        "b": b,
        "relation": relation,
        "template": template,
        "a_size": a_size,
        "b_size": b_size,
    }
