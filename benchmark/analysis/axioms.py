"""Which axioms of diversity a metric obeys, tested on response sets constructed for each axiom.

*Monotonicity*, *uniqueness* and *continuity* follow Mironov & Prokhorenkova (arXiv:2410.14556), adapted to texts, where
distances cannot be chosen freely; *replication* and *twin property* come from ecology (Leinster & Cobbold 2012). A
metric obeys an axiom if it passes every case; if it has no value on a case, the outcome is unknown. Cases can show that
an axiom is violated, but not that it holds for all sets.
"""

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from benchmark.metrics import Metric
from benchmark.metrics.metric import Missing
from benchmark.scoring.backends import ScoringBackends
from benchmark.scoring.compute import Value, score_sets
from benchmark.surprisal.engine import ResponseSet
from divbench.core.tables import Cell, Report, Styled, Table

Texts = tuple[str, ...]
_TOLERANCE = 1e-6
_NEAR = 0.1  # relative change that counts as none when the texts themselves change


@dataclass(frozen=True, slots=True)
class Topic:
    """Texts to construct sets from."""

    prompt: str
    different: Texts  # responses that mean different things
    alike: Texts  # rewordings of the first of these responses
    translated: tuple[str, Texts]  # the prompt and the different responses in another language


@dataclass(frozen=True, slots=True)
class Case:
    """Response sets, and the condition that a metric's values on them must meet (higher is more diverse)."""

    prompts: tuple[str, ...]
    sets: tuple[Texts, ...]
    holds: Callable[[Sequence[float]], bool]


@dataclass(frozen=True, slots=True)
class Axiom:
    """An axiom and its cases."""

    name: str
    about: str
    cases: Callable[[Topic], list[Case]]


def _case(topic: Topic, holds: Callable[[Sequence[float]], bool], *sets: Texts) -> Case:
    return Case((topic.prompt,) * len(sets), sets, holds)


def _not_lower(values: Sequence[float]) -> bool:
    return values[1] >= values[0] - _TOLERANCE


def _higher(values: Sequence[float]) -> bool:
    return values[1] > values[0] + _TOLERANCE


def _equal(values: Sequence[float]) -> bool:
    return abs(values[1] - values[0]) <= _TOLERANCE * max(1.0, abs(values[0]))


def _about_equal(values: Sequence[float]) -> bool:
    return abs(values[1] - values[0]) <= _NEAR * max(abs(values[0]), abs(values[1]), _TOLERANCE)


def _monotonicity(topic: Topic) -> list[Case]:
    """A rewording is replaced by a different response."""
    d, a = topic.different, topic.alike
    return [_case(topic, _not_lower, (d[0], a[i], *d[1:4]), (d[0], d[4], *d[1:4])) for i in range(len(a))]


def _uniqueness(topic: Topic) -> list[Case]:
    """A duplicate is replaced by a new response: one of two copies, and one of three in a set of two clusters."""
    d = topic.different
    return [
        _case(topic, _higher, (d[0], d[0], d[1], d[2]), (d[0], d[3], d[1], d[2])),
        _case(topic, _higher, (d[0],) * 3 + (d[1],) * 3, (d[0],) * 3 + (d[1],) * 2 + (d[2],)),
    ]


def _continuity(topic: Topic) -> list[Case]:
    """Changing case and punctuation changes little compared with replacing the response."""
    d = topic.different

    def little(values: Sequence[float]) -> bool:
        return abs(values[1] - values[0]) <= max(0.25 * abs(values[2] - values[0]), _TOLERANCE)

    source = (d[0], d[0], d[1], d[2])
    return [_case(topic, little, source, (d[0], d[0].lower().rstrip(".") + "!", d[1], d[2]), (d[0], d[3], d[1], d[2]))]


def _replication(topic: Topic) -> list[Case]:
    """Two disjoint sets of the same structure have twice the value of one."""
    d = topic.different

    def twice(values: Sequence[float]) -> bool:
        return _about_equal([values[0] + values[1], values[2]])

    uneven = ((d[0],) * 3 + (d[1],), (d[2],) * 3 + (d[3],))
    return [_case(topic, twice, d[:2], d[2:4], d[:4]), _case(topic, twice, *uneven, uneven[0] + uneven[1])]


def _twin(topic: Topic) -> list[Case]:
    """Every response twice, or thrice, changes nothing."""
    d = topic.different[:3]
    return [_case(topic, _equal, d, d * 2), _case(topic, _equal, d, d * 3)]


def _order(topic: Topic) -> list[Case]:
    """The order of the responses changes nothing."""
    texts = (*topic.different[:3], *topic.alike[:2])
    return [_case(topic, _equal, texts, texts[::-1]), _case(topic, _equal, texts, texts[2:] + texts[:2])]


def _length(topic: Topic) -> list[Case]:
    """Responses cut to half their words have about the same value."""
    texts = topic.different
    halves = tuple(" ".join(text.split()[: (len(text.split()) + 1) // 2]) for text in texts)
    return [_case(topic, _about_equal, texts, halves)]


def _language(topic: Topic) -> list[Case]:
    """The same responses in another language have about the same value."""
    prompt, texts = topic.translated
    return [Case((topic.prompt, prompt), (topic.different, texts), _about_equal)]


AXIOMS: tuple[Axiom, ...] = (
    Axiom("monotonicity", "something different in place of a rewording never lowers it", _monotonicity),
    Axiom("uniqueness", "something new in place of a duplicate raises it", _uniqueness),
    Axiom("continuity", "case and punctuation of one response hardly change it", _continuity),
    Axiom("replication", "two disjoint sets of one structure have twice the value", _replication),
    Axiom("twin property", "every response twice changes nothing", _twin),
    Axiom("order", "the order of the responses changes nothing", _order),
    Axiom("length", "responses cut to half have about the same value (within 10%)", _length),
    Axiom("language", "the same responses in another language, likewise", _language),
)


@cache
def topics() -> tuple[Topic, ...]:
    """Return the texts of axioms.toml."""
    document = tomllib.loads(Path(__file__).with_name("axioms.toml").read_text(encoding="utf-8"))
    return tuple(
        Topic(
            each["prompt"],
            tuple(each["different"]),
            tuple(each["alike"]),
            (each["translated_prompt"], tuple(each["translated"])),
        )
        for each in document["topics"]
    )


def axioms_obeyed(backends: ScoringBackends, metrics: Sequence[Metric]) -> dict[str, dict[str, bool | None]]:
    """Return by metric and axiom whether it holds in every case; None where a case has no value.

    Args:
        metrics: Metrics that their profile can compute, with a direction.
    """
    cases = [(axiom.name, case) for axiom in AXIOMS for topic in topics() for case in axiom.cases(topic)]
    sets = [each for _, case in cases for each in map(ResponseSet, case.prompts, case.sets)]
    values = iter(score_sets(backends.materials(sets, metrics), metrics))
    found: dict[str, dict[str, bool | None]] = {metric.id: {axiom.name: True for axiom in AXIOMS} for metric in metrics}
    for name, case in cases:
        own = [next(values) for _ in case.sets]
        for metric in metrics:
            holds = _holds(case, [each[metric.id] for each in own], metric.direction)
            before = found[metric.id][name]
            found[metric.id][name] = None if before is None or holds is None else before and holds
    return found


def _holds(case: Case, values: Sequence[Value], direction: int) -> bool | None:
    numbers = [value * direction for value in values if not isinstance(value, Missing)]
    return case.holds(numbers) if len(numbers) == len(values) else None


def axioms_report(found: Mapping[str, Mapping[str, bool | None]], profile: str) -> Report:
    """Return the table of metrics and axioms."""
    signs: dict[bool | None, str] = {True: "yes", False: "no", None: "-"}
    names = [axiom.name for axiom in AXIOMS]
    rows: list[list[Cell]] = [
        [Styled(metric, "code"), *(signs[own[name]] for name in names), sum(own[name] is True for name in names)]
        for metric, own in found.items()
    ]
    rows.sort(key=lambda row: -int(str(row[-1])))
    notes = [f"{axiom.name}: {axiom.about}." for axiom in AXIOMS]
    if any(None in own.values() for own in found.values()):
        notes.append("-: unknown, because the metric has no value on a set.")
    title = f"Axioms that metrics obey on constructed sets, profile {profile}"
    table = Table(title, ("metric", *names, "obeyed"), rows, notes, numbers=("obeyed",))
    document: dict[str, Any] = {"profile": profile, "metrics": {metric: dict(own) for metric, own in found.items()}}
    return Report("Axioms of diversity", [table], document, [table])
