"""Which metric to trust: agreement with people, and the number of attacks that a metric rewards, as a forest plot."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from benchmark.metrics import METRICS, Metric
from benchmark.scoring.estimate import Estimate
from benchmark.scoring.inputs import input_of
from divbench.core.errors import counted
from divbench.core.tables import number
from leaderboard.data.board import RANKED_BY
from leaderboard.data.metric_study.study import OVERALL, PAID, Gaming, MetricStudy
from leaderboard.pages.ranking import template

ROWS = 10
FITTED = frozenset({"learned_diversity"})
"""Metrics fitted to the study's labels. Their agreement with the same labels says little, so it is not compared."""
_RELEASED = (
    "Names that begin with “released:” are scores that were published with the response sets, of models that this "
    "package does not run."
)
_TICKS = (-0.2, 0.0, 0.2, 0.4, 0.6, 0.8, 1.0)


def agreements(study: MetricStudy | None) -> Mapping[str, Estimate]:
    """Return each metric's agreement with people: mean Spearman correlation over the tasks written by people.

    Metrics in `FITTED` are left out; docs/metrics.md has their agreement on sets that they were not fitted to.
    """
    if study is None:
        return {}
    return {name: rho for name, rho in study.measured(OVERALL, "spearman").items() if name not in FITTED}


def metric_sentences(study: MetricStudy | None) -> dict[str, str]:
    """Describe each metric by id: a summary, its direction, and its agreement with people under the study's profile."""
    known, sentences = agreements(study), {}
    directions = {1: "Higher = more diverse. ", -1: "Lower = more diverse. ", 0: ""}
    profile = "" if study is None else f" (profile {study.settings['profile']})"
    for metric in METRICS:
        rho = known.get(metric.id, Estimate(None)).value
        agreement = "not measured." if rho is None else f"Spearman {_short(rho)}."
        where = profile if metric.id in known else ""
        text = f"{metric.summary} {directions[metric.direction]}Agreement with people{where}: {agreement}"
        sentences[metric.id] = text
    return sentences


def _short(value: float) -> str:
    """Return a correlation with two decimals and without the leading zero.

    >>> _short(0.432), _short(-0.1)
    ('.43', '-.10')
    """
    return f"{value:.2f}".replace("0.", ".", 1)


@dataclass(frozen=True, slots=True)
class Trusted:
    """A metric on the page Metrics."""

    metric: str  # name of the metric, which may be a user's own
    agreement: Estimate
    about: str  # description in plain words; empty if unknown
    paid: int | None  # number of attacks that the metric rewards; None if not measured
    worst: str  # the attack with the largest gain, and the gain; empty if the metric rewards no attack


def trusted(study: MetricStudy, gaming: Gaming | None, most: int = ROWS) -> tuple[Trusted, ...]:
    """Return the metrics that agree best with people, best first, each with the attacks that it rewards."""
    sentences = metric_sentences(study)
    known = [(-rho.value, name, rho) for name, rho in agreements(study).items() if rho.value is not None]
    rows = []
    for _, name, rho in sorted(known, key=lambda row: row[:2])[:most]:
        gains = gaming.gains.get(name, {}) if gaming else {}
        paid = [attack for attack, gain in gains.items() if gain > PAID]
        worst = max(paid, key=lambda attack: gains[attack], default=None)
        gain = "" if worst is None else f"{worst.replace('-', ' ')} +{number(gains[worst], 2)}"
        rows.append(Trusted(name, rho, sentences.get(name, ""), len(paid) if gains else None, gain))
    return tuple(rows)


def trust_table(study: MetricStudy, gaming: Gaming | None, link: Callable[[str], str] | None = None) -> Markup:
    """Render the answer and the table of metrics, whose names link to an address."""
    rows = trusted(study, gaming)
    released = any(row.metric.startswith("released:") for row in rows)
    fitted = sorted(FITTED & study.measured(OVERALL, "spearman").keys())
    notes = (
        _caption(gaming),
        _RELEASED if released else "",
        dominated_sentence(study, gaming),
        f"Not compared, because they were fitted to these labels: {', '.join(fitted)}." if fitted else "",
    )
    ends = [end for row in rows for end in (row.agreement.interval or (row.agreement.value or 0.0,) * 2)]
    low, high = min([0.0, *ends]) - 0.04, max([0.5, *ends]) + 0.04

    def at(value: float) -> float:
        return round(100 * (value - low) / (high - low), 2)

    return Markup(  # noqa: S704 - the template escapes
        template("trust.html").render(
            rows=rows,
            sentence=trust_sentence(rows, study, gaming),
            caption=" ".join(filter(None, notes)),
            link=link,
            at=at,
            ticks=[tick for tick in _TICKS if low < tick < high],
            text=number,
        )
    )


def trust_sentence(rows: Sequence[Trusted], study: MetricStudy, gaming: Gaming | None) -> str:
    """Say which metrics agree best with people and resist attacks."""
    if not rows:
        return "There is no study of agreement with people here."
    best = rows[0]
    text = (
        f"{best.metric} agrees best with people: Spearman {number(best.agreement.value, 2)}, mean of "
        f"{study.counts('spearman')[OVERALL]} tasks with response sets that people wrote to be more or less diverse."
    )
    robust = [row for row in rows if row.paid == 0]
    if robust and gaming:
        text += f" Of these {len(rows)}, {robust[0].metric} agrees best among the metrics that reward no attack."
    elif gaming and any(row.paid is not None for row in rows):
        text += f" Each of these {len(rows)} metrics that was attacked can be raised without saying anything new."
    return text


def dominated(study: MetricStudy, gaming: Gaming | None) -> dict[str, str]:
    """Return the dominated metrics, each with the best metric that dominates it.

    A metric dominates another one if its interval of agreement with people is entirely above the other's, it needs no
    larger models (none, small ones, a language model), and it rewards no more attacks if both were attacked. Only
    metrics of this package are compared.
    """
    known = agreements(study)
    costs = {metric.id: _cost(metric) for metric in METRICS}
    names = [name for name in known if name in costs and known[name].value is not None]
    names.sort(key=lambda name: -(known[name].value or 0.0))

    def dominates(other: str, name: str) -> bool:
        low, high = known[other].low, known[name].high
        is_better = low is not None and high is not None and low > high
        return is_better and costs[other] <= costs[name] and not _rewards_more(gaming, other, name)

    best = {name: next((other for other in names if dominates(other, name)), None) for name in names}
    return {name: other for name, other in best.items() if other is not None}


def _cost(metric: Metric) -> int:
    """Return 0 without models (a tagger is only a lexicon), 1 with small models, 2 with a language model."""
    sources = set(input_of(metric).sources) - {"tagger"}
    return 2 if "causal_lm" in sources else 1 if sources else 0


def _rewards_more(gaming: Gaming | None, first: str, second: str) -> bool:
    """Whether one metric rewards more attacks than another; False if either was not attacked."""
    gains = [] if gaming is None else [gaming.gains.get(name, {}) for name in (first, second)]
    paid = [sum(gain > PAID for gain in of_metric.values()) for of_metric in gains]
    return bool(gains) and all(gains) and paid[0] > paid[1]


def dominated_sentence(study: MetricStudy, gaming: Gaming | None) -> str:
    """Name the dominated metrics and the metrics that dominate them; empty if there are none."""
    by: dict[str, list[str]] = {}
    for name, other in dominated(study, gaming).items():
        by.setdefault(other, []).append(name)
    if not by:
        return ""
    names = "; ".join(f"{', '.join(names)} by {other}" for other, names in by.items())
    return (
        "Dominated metrics (another metric agrees better with people, with intervals that do not overlap, needs no "
        f"larger models and, if both were attacked, rewards no more attacks): {names}."
    )


def _caption(gaming: Gaming | None) -> str:
    """Explain how to read the rows."""
    text = "Dot: mean Spearman correlation with people's labels; line: 95% interval over contexts."
    if gaming is not None:
        text += (
            f" Attacks rewarded: the number of {len(gaming.attacks)} attacks on {gaming.source} ({gaming.prompts} "
            f"prompts, profile {gaming.profile}) that gain more than {PAID:g} of the range between the least and the "
            f"most diverse of {counted(gaming.systems, 'real system')}, with the largest gain. –: not measured."
        )
        headline = gaming.gains.get(RANKED_BY[0], {}).values()
        if headline:
            text += f" {RANKED_BY[0]} rewards {sum(gain > PAID for gain in headline)} of them; boards rank by it."
    return text
