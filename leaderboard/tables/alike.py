"""Tables of the page Alike or different?: similarity of systems, and what two of them cover together."""

from collections.abc import Mapping

from benchmark.analysis.across import Homogeneity
from benchmark.scoring.estimate import Estimate
from divbench.core.tables import Cell, Table, estimate_cell, number, with_interval
from submissions.untrusted.plain_text import shortened

MEASURES: Mapping[str, str] = {
    "similarity": "mean cosine similarity of embeddings",
    "same_class": "probability that two valid responses are equivalent",
}
_NAME = 40  # characters of an untrusted name


def about_alike(found: Homogeneity) -> str:
    """Summarise the similarity of the systems in a few sentences, which contain untrusted names."""
    names = [shortened(name, _NAME) for name in found.systems]
    closest = max(found.pairs, key=lambda pair: pair.similarity.value or 0.0)
    widest = max(found.pairs, key=lambda pair: pair.together.value or 0.0)
    best = max(range(len(names)), key=lambda i: found.alone[i].distinct.value or 0.0)
    half = f"{found.k // 2}" if found.k % 2 == 0 else f"{found.k / 2:g}"
    own = [number(found.alone[i].similarity.value, 2) for i in (closest.first, closest.second)]
    return (
        f"{found.size} responses from one ranked system include {_text(found.of_one)} different valid responses; one "
        f"response from each of {found.size} ranked systems gives {_text(found.of_several)}. The pair that covers most "
        f"is {names[widest.first]} with {names[widest.second]}: {half} responses from each include "
        f"{_text(widest.together)}; {found.k} responses from {names[best]}, the best single system, "
        f"{_text(found.alone[best].distinct)}. The most similar pair is {names[closest.first]} with "
        f"{names[closest.second]}: the similarity of their responses is {number(closest.similarity.value, 2)} "
        f"between the two systems, and {own[0]} and {own[1]} within each. "
        f"{found.prompts} prompts; intervals are 95%, by bootstrap over prompts."
    )


def _text(estimate: Estimate) -> str:
    return with_interval(estimate.value, estimate.low, estimate.high, 1)


def pairs_table(found: Homogeneity) -> Table:
    """All pairs of systems, one per row, the one that covers most first."""
    numbers = ("together", "more than the better alone", "similarity", "equivalent", "classes in common")
    rows = [
        (
            found.systems[pair.first],
            found.systems[pair.second],
            *map(_cell, (pair.together, pair.gain, pair.similarity, pair.same_class, pair.in_common)),
        )
        for pair in sorted(found.pairs, key=lambda pair: -(pair.together.value or 0.0))
    ]
    return Table("", ("first", "second", *numbers), rows)


def _cell(estimate: Estimate) -> Cell:
    return estimate_cell(estimate.value, estimate.low, estimate.high, 2)


def alone_table(found: Homogeneity) -> Table:
    """Each system on its own: its number of different responses, their similarity, and the most similar system."""
    own_columns = ("different valid responses", "similarity to its own", "equivalent to its own")
    rows = []
    for place in found.order:
        own, name = found.alone[place], found.systems[place]
        near = max(
            (pair for pair in found.pairs if place in (pair.first, pair.second)),
            key=lambda pair: pair.similarity.value or 0.0,
        )
        other = found.systems[near.second if near.first == place else near.first]
        numbers = map(_cell, (own.distinct, own.similarity, own.same_class))
        rows.append((name, *numbers, other, _cell(near.similarity)))
    return Table("", ("system", *own_columns, "most alike", "similarity to those"), rows)
