"""Which metric to trust: agreement with people, and the number of attacks that a metric rewards."""

from collections.abc import Sequence
from dataclasses import dataclass

from benchmark.metrics import METRICS, Metric
from benchmark.scoring.inputs import input_of
from divbench.core.errors import counted
from divbench.core.tables import number
from leaderboard.data.board import RANKED_BY
from leaderboard.data.metric_study.study import OVERALL, PAID, Gaming, MetricStudy
from leaderboard.tables.measures import FITTED, agreements, metric_sentences

ROWS = 10


@dataclass(frozen=True, slots=True)
class Trusted:
    """A metric on the page Metrics."""

    metric: str  # name of the metric, which may be a user's own
    value: float  # agreement with people: mean Spearman correlation over tasks
    low: float | None
    high: float | None
    about: str  # description in plain words; empty if unknown
    paid: int | None  # number of attacks that the metric rewards; None if not measured
    worst: str  # the attack with the largest gain, and the gain; empty if the metric rewards no attack


def trusted(study: MetricStudy, gaming: Gaming | None, most: int = ROWS) -> tuple[Trusted, ...]:
    """The metrics that agree best with people, best first, each with the attacks that it rewards."""
    sentences = metric_sentences(study)
    found = [(agreement, name) for name, agreement in agreements(study).items() if agreement.value is not None]
    found.sort(key=lambda each: (-(each[0].value or 0.0), each[1]))
    made = []
    for agreement, name in found[:most]:
        gains = gaming.gains.get(name, {}) if gaming else {}
        paid = [attack for attack, gain in gains.items() if gain > PAID]
        worst = max(paid, key=lambda attack: gains[attack], default=None)
        gain = "" if worst is None else f"{worst.replace('-', ' ')} +{number(gains[worst], 2)}"
        about = sentences.get(name, "")
        made.append(
            Trusted(
                name, agreement.value or 0.0, agreement.low, agreement.high, about, len(paid) if gains else None, gain
            )
        )
    return tuple(made)


def trust_sentence(rows: Sequence[Trusted], study: MetricStudy, gaming: Gaming | None) -> str:
    """Say which metrics agree best with people and resist attacks."""
    if not rows:
        return "There is no study of agreement with people here."
    best = rows[0]
    tasks = study.counts("spearman")[OVERALL]
    said = (
        f"{best.metric} agrees best with people: Spearman {number(best.value, 2)}, mean of {tasks} tasks with "
        "response sets that people wrote to be more or less diverse."
    )
    robust = [row for row in rows if row.paid == 0]
    if robust and gaming:
        said += f" Of these {len(rows)}, {robust[0].metric} agrees best among the metrics that reward no attack."
    elif gaming and any(row.paid is not None for row in rows):
        said += f" Each of these {len(rows)} metrics that was attacked can be raised without saying anything new."
    return said


def dominated(study: MetricStudy, gaming: Gaming | None) -> dict[str, str]:
    """The dominated metrics, each with the best metric that dominates it.

    A metric dominates another one if its interval of agreement with people is entirely above the other's, it needs no
    larger models (none, small ones, a language model), and it rewards no more attacks if both were attacked. Only
    metrics of this package are compared.
    """
    found = agreements(study)
    costs = {metric.id: _cost(metric) for metric in METRICS}
    known = [name for name in found if name in costs and found[name].value is not None]
    known.sort(key=lambda name: -(found[name].value or 0.0))
    made = {}
    for name in known:
        for other in known:
            low, high = found[other].low, found[name].high
            better = low is not None and high is not None and low > high
            if better and costs[other] <= costs[name] and not _rewards_more(gaming, other, name):
                made[name] = other
                break
    return made


def _cost(metric: Metric) -> int:
    """Cost of a metric: 0 without models (a tagger is only a lexicon), 1 with small models, 2 with a language model."""
    sources = set(input_of(metric).sources) - {"tagger"}
    return 2 if "causal_lm" in sources else 1 if sources else 0


def _rewards_more(gaming: Gaming | None, one: str, other: str) -> bool:
    """Whether one metric rewards more attacks than another; False if either was not attacked."""
    gains = [] if gaming is None else [gaming.gains.get(name, {}) for name in (one, other)]
    if not all(gains) or not gains:
        return False
    paid = [sum(gain > PAID for gain in each.values()) for each in gains]
    return paid[0] > paid[1]


def dominated_sentence(study: MetricStudy, gaming: Gaming | None) -> str:
    """Name the dominated metrics and the metrics that dominate them; empty if there are none."""
    by: dict[str, list[str]] = {}
    for name, other in dominated(study, gaming).items():
        by.setdefault(other, []).append(name)
    if not by:
        return ""
    said = "; ".join(f"{', '.join(names)} by {other}" for other, names in by.items())
    return (
        "Dominated metrics (another metric agrees better with people, with intervals that do not overlap, needs no "
        f"larger models and, if both were attacked, rewards no more attacks): {said}."
    )


def fitted_sentence(study: MetricStudy) -> str:
    """Name the metrics that are not compared because they were fitted to the study's labels; empty without any."""
    names = sorted(FITTED & study.measured(OVERALL, "spearman").keys())
    return f"Not compared, because they were fitted to these labels: {', '.join(names)}." if names else ""


def released_sentence(rows: Sequence[Trusted]) -> str:
    """Explain the names of metrics whose scores were released with the texts; empty without any."""
    if not any(row.metric.startswith("released:") for row in rows):
        return ""
    return (
        "Names that begin with “released:” are scores that were published with the response sets, of models that this "
        "package does not run."
    )


def trust_caption(gaming: Gaming | None) -> str:
    """Explain how to read the rows."""
    said = "Dot: mean Spearman correlation with people's labels; line: 95% interval over contexts."
    if gaming is not None:
        said += (
            f" Attacks rewarded: the number of {len(gaming.attacks)} attacks on {gaming.source} ({gaming.prompts} "
            f"prompts, profile {gaming.profile}) that gain more than {PAID:g} of the range between the least and the "
            f"most diverse of {counted(gaming.systems, 'real system')}, with the largest gain. –: not measured."
        )
        headline = gaming.gains.get(RANKED_BY[0], {}).values()
        if headline:
            said += f" {RANKED_BY[0]} rewards {sum(gain > PAID for gain in headline)} of them; boards rank by it."
    return said
