"""The report of fitted metrics on held-out sets: `divbench metrics learn`."""

from collections import Counter
from collections.abc import Sequence

from benchmark.analysis.learned.study import SCHEMES, OnTask, Outcome
from datasets_build.tables import Block, Report, Table, p_value
from leaderboard.reports.metaeval.report import OPTIMISTIC

_ABOUT = (
    "OCA: optimal classification accuracy, high above a threshold. Differences are from sent-BERT's released scores, "
    "on the same sets and the same resamples of groups of contexts; the fits are not repeated in the resamples. p is "
    "adjusted over the tasks (Holm). Each split chooses features and penalty by cross-validation on its training sets. "
    f"{OPTIMISTIC}"
)


def learned_report(found: Sequence[Outcome]) -> Report:
    """Make tables of each version's mean under each hold-out scheme, then of its tasks with the chosen candidates."""
    rows = [
        (
            each.version,
            each.scheme,
            each.tried,
            str(each.mean),
            f"{each.reference.value:.3f}",
            str(each.less),
            f"{each.wins} of {len(each.tasks)}",
            each.clear_wins,
        )
        for each in found
    ]
    columns = ("version", "held out", "tried", "mean OCA", "sent-BERT", "difference", "better on", "interval above 0")
    blocks: list[Block] = [Table("Means over tasks", columns, rows, notes=[_ABOUT])]
    columns = ("task", "sets", "OCA", "sent-BERT", "difference", "p (Holm)", "rho, people", "sent-BERT's")
    for each in found:
        title = f"{each.version}, {each.scheme}: {SCHEMES[each.scheme]}"
        blocks += [Table(title, columns, [_row(one) for one in each.tasks], notes=[_chosen(each)])]
    return Report("Learned metrics on held-out sets", blocks, {"outcomes": [each.as_json() for each in found]}, blocks)


def _row(found: OnTask) -> tuple[str | int, ...]:
    people = ("", "") if found.human is None else (str(found.human), str(found.human_reference))
    return (
        found.task,
        found.sets,
        str(found.oca),
        f"{found.reference.value:.3f}",
        str(found.less),
        p_value(found.holm, 3),
        *people,
    )


def _chosen(found: Outcome) -> str:
    counts = Counter(each.candidate for each in found.choices)
    named = "; ".join(f"{name} in {count}" for name, count in counts.most_common(3))
    return f"{found.tried} candidates in each of {len(found.choices)} splits; chosen most often: {named}."
