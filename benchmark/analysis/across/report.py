"""The report of `divbench contrast --across`: each system by itself, and all pairs."""

from collections.abc import Mapping
from dataclasses import asdict, fields
from types import MappingProxyType

from benchmark.analysis.across.study import Alone, Homogeneity, Pair
from divbench.core.errors import counted
from divbench.core.tables import Block, Report, Table

LEGEND = (
    "Similarity: mean cosine of embeddings over pairs of a response of each. Equivalent: the probability that two "
    "valid responses are in one class. In common: share of both systems' classes that both have. Together: expected "
    "classes among k responses, half from each; gain: the same less those of the better one alone. Classes are of "
    "all systems' responses together, so a system's number of different ones can differ from its valid_distinct_k. "
    "Means over prompts with 95% bootstrap intervals over prompts."
)


def report_of(
    found: Homogeneity, suite: str, profile: str, left_out: Mapping[str, int] = MappingProxyType({})
) -> Report:
    """Return the report of a study of homogeneity.

    Args:
        left_out: Number of excluded prompts, by reason.
    """
    title = f"{suite}, k = {found.k}, profile {profile}, {counted(found.prompts, 'prompt')}"
    alone = Table(
        f"Alone: {title}",
        ("system", "different", "similarity to own", "equivalent to own"),
        [
            (found.systems[i], str(own.distinct), str(own.similarity), str(own.same_class))
            for i, own in ((i, found.alone[i]) for i in found.order)
        ],
    )
    pairs = Table(
        "Two systems together",
        ("first", "second", "together", "gain", "similarity", "equivalent", "in common"),
        [
            (
                found.systems[pair.first],
                found.systems[pair.second],
                *map(str, (pair.together, pair.gain, pair.similarity, pair.same_class, pair.in_common)),
            )
            for pair in sorted(found.pairs, key=lambda pair: -(pair.together.value or 0.0))
        ],
        numbers=("together", "gain", "similarity", "equivalent", "in common"),
    )
    several = (
        f"{found.size} responses of one system give {found.of_one} different valid responses; one response of each of "
        f"{found.size} systems gives {found.of_several}."
    )
    below = [several] if found.size > 1 else []
    below += [f"{counted(count, 'prompt')} excluded: {reason}." for reason, count in sorted(left_out.items())]
    document = {"suite": suite, "profile": profile, **asdict(found), "left_out": dict(left_out)}
    blocks: list[Block] = [LEGEND, alone, pairs, *below]
    return Report("How alike systems are", blocks, document, [alone, pairs, *below, LEGEND], _records(found))


def _records(found: Homogeneity) -> Table:
    """Return a row for each measure of a system, of a pair, and of one system beside several."""
    names = found.systems
    parts: list[tuple[str, str, Alone | Pair]] = [(names[i], "", own) for i, own in enumerate(found.alone)]
    parts += [(names[pair.first], names[pair.second], pair) for pair in found.pairs]
    numbers = [
        (first, second, each.name, getattr(own, each.name))
        for first, second, own in parts
        for each in fields(own)
        if each.name not in ("first", "second")
    ]
    numbers += [("", "", "of_one", found.of_one), ("", "", "of_several", found.of_several)]
    rows = [(*row, own.value, own.low, own.high) for *row, own in numbers]
    return Table("", ("first", "second", "measure", "value", "low", "high"), rows)
