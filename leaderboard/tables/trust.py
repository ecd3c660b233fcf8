"""Which metric to trust: agreement with people, and how many attacks a metric rewards. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from leaderboard.data.board import RANKED_BY
from leaderboard.data.metric_study.attack_gains import PAID, GamingRecord
from leaderboard.data.metric_study.record import MetricStudy
from leaderboard.tables.measures import agreements, metric_sentences
from leaderboard.tables.table_view import number_text

ROWS = 10


@dataclass(frozen=True, slots=True)
class Trusted:
    """A metric on the page Metrics.

    Attributes:
        metric: Its name; a user's own metric has any.
        value: Agreement with people: mean Spearman correlation over tasks.
        low: Lower end of its interval; None if there is none.
        high: Upper end, likewise.
        about: What it is, in plain words; empty if unknown.
        paid: Number of attacks that it rewards; None if not measured.
        worst: The attack that gains most under it and its gain; empty if it rewards none.
    """

    metric: str
    value: float
    low: float | None
    high: float | None
    about: str
    paid: int | None
    worst: str


def trusted(study: MetricStudy, gaming: GamingRecord | None, most: int = ROWS) -> tuple[Trusted, ...]:
    """The metrics that agree best with people, the best first, each with the attacks that it rewards.

    Args:
        study: Study of metrics.
        gaming: What attacks gain; None if it was not studied.
        most: Maximum number of metrics.
    """
    sentences = metric_sentences(study)
    found = [(number, name) for name, number in agreements(study).items() if number.value is not None]
    found.sort(key=lambda each: (-(each[0].value or 0.0), each[1]))
    made = []
    for number, name in found[:most]:
        gains = {attack: gain.value or 0.0 for attack, gain in gaming.gains(name).items()} if gaming else {}
        paid = [attack for attack, gain in gains.items() if gain > PAID]
        worst = max(paid, key=lambda attack: gains[attack], default=None)
        said = "" if worst is None else f"{worst.replace('-', ' ')} +{number_text(gains[worst], 2)}"
        about = sentences.get(name, "")
        made.append(
            Trusted(name, number.value or 0.0, number.low, number.high, about, len(paid) if gains else None, said)
        )
    return tuple(made)


def trust_sentence(rows: Sequence[Trusted], study: MetricStudy, gaming: GamingRecord | None) -> str:
    """The answer in one sentence, and what the numbers are."""
    if not rows:
        return "There is no study of agreement with people here."
    best = rows[0]
    tasks = max(each.tasks for each in study.overall)
    said = (
        f"{best.metric} agrees best with people: Spearman {number_text(best.value, 2)}, mean of {tasks} tasks with "
        "response sets that people wrote to be more or less diverse."
    )
    robust = [row for row in rows if row.paid == 0]
    if robust and gaming:
        said += f" Of these {len(rows)}, {robust[0].metric} agrees best among those that no attack raises."
    elif gaming and any(row.paid is not None for row in rows):
        said += f" Every one of these {len(rows)} that was attacked can be raised without saying anything new."
    return said


def trust_caption(gaming: GamingRecord | None) -> str:
    """How to read the rows."""
    said = "Dot: mean Spearman correlation with people's labels; line: 95% interval over contexts."
    if gaming is not None:
        said += (
            f" Attacks rewarded: of {len(gaming.attacks)} attacks on {gaming.source} ({gaming.prompts} prompts, "
            f"profile {gaming.profile}), those that gain more than {PAID:g} of the distance between the least and the "
            "most diverse real system; the largest gain beside them. –: not measured."
        )
        headline = [gain.value or 0.0 for gain in gaming.gains(RANKED_BY[0]).values()]
        if headline:
            said += f" {RANKED_BY[0]} rewards {sum(gain > PAID for gain in headline)} of them; boards rank by it."
    return said
