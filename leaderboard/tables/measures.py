"""What the first page can be measured by: a few kinds of diversity, each with its agreement with people. Pure."""

from dataclasses import dataclass

from leaderboard.data.board import Board, Column, ranking_column
from leaderboard.data.metric_study.record import MetricStudy

# Each kind with its metrics; the first that a board has stands for it.
KINDS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("meaning", ("valid_distinct_k", "distinct_k", "embedding_diversity")),
    ("judged classes", ("distinct_k_reported",)),
    ("words", ("distinct_n", "ead", "self_bleu")),
    ("model's own", ("semantic_entropy", "e_average")),
)


@dataclass(frozen=True, slots=True)
class Measure:
    """A kind of diversity on a board.

    Attributes:
        name: Name of the kind, such as *meaning*.
        column: Column that stands for it.
        agreement: Mean Spearman correlation with human labels over the tasks written by people; None if not measured.
    """

    name: str
    column: Column
    agreement: float | None

    @property
    def label(self) -> str:
        """Name and agreement, such as `words (.43)`."""
        return self.name if self.agreement is None else f"{self.name} ({self.agreement:.2f})".replace("(0.", "(.")


def measures(board: Board, study: MetricStudy | None) -> tuple[Measure, ...]:
    """The kinds of diversity that a board can be measured by; the first is its headline.

    Args:
        board: The board.
        study: Study of metrics that says how far each agrees with people; None if there is none.
    """
    overall = {each.metric: each.measures for each in study.overall} if study else {}
    made = []
    for name, metrics in KINDS:
        column = next((c for metric in metrics for c in board.columns if c.metric == metric), None)
        if column is None:
            continue
        found = overall.get(column.metric, {}).get("spearman")
        made.append(Measure(name, column, found.value if found else None))
    headline = ranking_column(board)
    if not made and headline is not None:
        made.append(Measure(headline.label, headline, None))
    return tuple(made)
