"""Texts and tables of votes: the outcome of a pair, strengths of systems, and agreement of metrics with people."""

from collections.abc import Mapping

from benchmark.analysis.votes import Strength
from benchmark.scoring.estimate import Estimate
from divbench.core.errors import counted
from divbench.core.tables import Cell, Table, number, number_cell, with_interval
from leaderboard.data.board import Board, Column, ranking_column
from leaderboard.data.votes import VoteResults
from submissions.judgements.votes import Answer, Question
from submissions.untrusted.plain_text import shortened

QUESTIONS: Mapping[Question, str] = {
    "more_different": "Which set has the more different ideas?",
    "preferred": "Which set would you rather have been given?",
}
SHORT: Mapping[Question, str] = {"more_different": "more different ideas", "preferred": "rather have been given"}
ANSWERS: Mapping[Answer, str] = {"left": "Left", "tie": "No difference", "right": "Right"}
_CHECKS = {
    "repeated": "This was a check: one side showed a single response of {}, repeated.",
    "shuffled": "This was a check: on one side the words of {}'s responses were shuffled.",
    "self": "This was a check: both sides showed the same responses of {}.",
}
_NAME = 60  # characters of an untrusted name


def outcome_text(left: str, right: str, answers: Mapping[Question, Answer], check: str) -> str:
    """The text that a visitor sees after the vote; contains untrusted names.

    Args:
        check: Kind of check; empty if the pair was not a check.
    """
    own = "; ".join(f"{SHORT[question]}: {ANSWERS[answer].lower()}" for question, answer in answers.items())
    said = f"Your vote is saved ({own})."
    if check:
        return f"{said} {_CHECKS[check].format(shortened(left, _NAME))}"
    return f"{said} Left: {shortened(left, _NAME)}. Right: {shortened(right, _NAME)}."


def metrics_of_pair(board: Board, values: Mapping[str, tuple[float | None, float | None]]) -> Table:
    """The values of each metric for a pair of response sets, and the side that it rates more diverse."""
    rows = []
    for column in board.columns:
        left, right = values.get(column.label, (None, None))
        if column.direction and left is not None and right is not None:
            gap = (left - right) * column.direction
            rows.append((column.label, left, right, "left" if gap > 0 else "right" if gap < 0 else "no difference"))
    return Table("", ("metric", "left", "right", "more diverse"), rows)


def votes_text(found: VoteResults) -> str:
    """Summarise the votes in a few sentences, which contain untrusted names."""
    asked: Question = "more_different"
    strongest, best = found.strengths[asked].systems, best_metric(found, asked)
    said = [f"{counted(found.pairs, 'pair')}, checks included, judged by {counted(found.voters, 'visitor')}."]
    if found.careless:
        said.append(f"{found.careless} of them failed at least half of their checks and do not count.")
    if strongest:
        first = strongest[0]
        said.append(
            f"{shortened(first.system, _NAME)} comes first for different ideas: {_points(first)} points per vote "
            "against an average system."
        )
        others = sum(each.ranks is not None and each.ranks[0] == 1 for each in strongest[1:])
        if first.points.low is None:
            said.append("There are too few visitors for intervals, so the order may be due to chance.")
        elif others:
            said.append(f"{counted(others, 'other system')} may be first as well, by the 95% intervals of ranks.")
    if best is not None:
        said.append(f"The metric that predicts the largest share of votes is {best[0]}: {_share(best[1])}.")
    ceiling = found.ceiling[asked]
    if ceiling.people.value is not None:
        pairs = "the one pair of sets" if ceiling.shown == 1 else f"the {ceiling.shown:,} pairs of sets"
        said.append(
            f"On {pairs} that several visitors judged, another visitor's vote predicts {_share(ceiling.people)} of "
            f"votes; by this estimate, a metric could predict at most {_share(ceiling.most)}."
        )
    return " ".join(said)


def _rank(found: Strength) -> str:
    if found.ranks is None or found.ranks[0] == found.ranks[1]:
        return str(found.rank)
    return f"{found.rank} ({found.ranks[0]}–{found.ranks[1]})"


def best_metric(found: VoteResults, question: Question) -> tuple[str, Estimate] | None:
    """The metric that predicts the largest share of votes, with its share; None if no metric has a share.

    Metrics that lack scores for more than half of the votes are not compared: a share of few votes is easily the best.
    """
    most = max((each.votes for each in found.agreement[question]), default=0)
    known = [each for each in found.agreement[question] if each.share.value is not None and 2 * each.votes >= most]
    best = max(known, key=lambda each: each.share.value or 0.0, default=None)
    return None if best is None else (best.metric, best.share)


def strengths_table(found: VoteResults) -> Table:
    """The strengths of systems on both questions, the most different first, with the board's headline."""
    column = None if found.board is None else ranking_column(found.board)
    rows: list[tuple[Cell, ...]] = []
    other = {each.system: each for each in found.strengths["preferred"].systems}
    for own in found.strengths["more_different"].systems:
        second, headline = other.get(own.system), _headline(found, column, own.system)
        rows.append(
            (
                number_cell(own.rank, _rank(own)),
                own.system,
                number_cell(own.points.value, _points(own)),
                None if second is None else number_cell(second.points.value, _points(second)),
                number_cell(own.votes, number(own.votes, 0)),
                number_cell(headline, number(headline, 3)),
            )
        )
    headers = ("rank", "system", SHORT["more_different"], SHORT["preferred"], "votes", column.label if column else "")
    last = len(headers) - (column is None)
    return Table("", headers[:last], [row[:last] for row in rows])


def agreement_table(found: VoteResults) -> Table:
    """The share of votes that each metric predicts, for both questions; the best first."""
    second = {each.metric: each for each in found.agreement["preferred"]}
    ordered = sorted(
        (each for each in found.agreement["more_different"] if each.share.value is not None),
        key=lambda each: -(each.share.value or 0.0),
    )
    rows: list[tuple[Cell, ...]] = []
    for each in ordered:
        other = second[each.metric].share
        shares = number_cell(each.share.value, _share(each.share)), number_cell(other.value, _share(other))
        rows.append((each.metric, *shares, each.votes))
    headers = ("metric", SHORT["more_different"], SHORT["preferred"], "votes")
    return Table("", headers, rows)


def _headline(found: VoteResults, column: Column | None, system: str) -> float | None:
    entry = found.entry(system)
    cell = None if entry is None or column is None else entry.cells.get(column.signature)
    return None if cell is None else cell.value


def _points(found: Strength) -> str:
    return _share(found.points)


def _share(found: Estimate) -> str:
    return with_interval(found.value, found.low, found.high, 2)
