"""Texts and tables of votes: the outcome of a pair, strengths of systems, and agreement of metrics with people."""

from collections.abc import Mapping

from benchmark.analysis.votes import Strength
from benchmark.scoring.estimate import Estimate
from divbench.core.errors import counted
from divbench.core.tables import Cell, Table, estimate_cell, number, number_cell, with_interval
from leaderboard.data.board import Column, ranking_column
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
FEWEST_VOTES, FEWEST_VOTERS = 20, 5  # a system's votes, and the visitors whose votes count, before it has a rank


def outcome_text(left: str, right: str, answers: Mapping[Question, Answer], check: str, *, is_new: bool = True) -> str:
    """Return the text that a visitor sees after the vote, with untrusted names; `check` is empty if it was no check.

    Without `is_new`, the pair was judged before, perhaps in another tab.
    """
    votes = "; ".join(f"{SHORT[question]}: {ANSWERS[answer].lower()}" for question, answer in answers.items())
    text = f"Your vote is saved ({votes})." if is_new else f"You judged this pair before; that vote counts ({votes})."
    if check:
        return f"{text} {_CHECKS[check].format(shortened(left, _NAME))}"
    return f"{text} Left: {shortened(left, _NAME)}. Right: {shortened(right, _NAME)}."


def votes_text(results: VoteResults) -> str:
    """Summarise the votes in a few sentences, which contain untrusted names."""
    question: Question = "more_different"
    best = best_metric(results, question)
    strongest = [one for one in results.strengths[question].systems if has_rank(results, one)]
    lines = [f"{counted(results.pairs, 'pair')}, checks included, judged by {counted(results.voters, 'visitor')}."]
    if results.careless:
        lines.append(f"{results.careless} of them failed at least half of their checks and do not count.")
    if not strongest:
        lines.append(
            f"No system has a rank yet: a rank needs {FEWEST_VOTES} votes on the system and {FEWEST_VOTERS} visitors "
            "who pass their checks."
        )
    else:
        first = strongest[0]
        lines.append(
            f"{shortened(first.system, _NAME)} comes first for different ideas: {_text(first.points)} points per vote "
            "against an average system."
        )
        others = sum(other.ranks is not None and other.ranks[0] == 1 for other in strongest[1:])
        if first.points.low is None:
            lines.append("There are too few visitors for intervals, so the order may be due to chance.")
        elif others:
            lines.append(f"{counted(others, 'other system')} may be first as well, by the 95% intervals of ranks.")
    if best is not None:
        lines.append(f"The metric that predicts the largest share of votes is {best[0]}: {_text(best[1])}.")
    ceiling = results.ceiling[question]
    if ceiling.people.value is not None:
        pairs = "the one pair of sets" if ceiling.shown == 1 else f"the {ceiling.shown:,} pairs of sets"
        lines.append(
            f"On {pairs} that several visitors judged, another visitor's vote predicts {_text(ceiling.people)} of "
            f"votes; by this estimate, a metric could predict at most {_text(ceiling.most)}."
        )
    return " ".join(lines)


def has_rank(results: VoteResults, strength: Strength) -> bool:
    """Whether there are enough votes to show a system's rank."""
    return strength.votes >= FEWEST_VOTES and results.voters - results.careless >= FEWEST_VOTERS


def best_metric(results: VoteResults, question: Question) -> tuple[str, Estimate] | None:
    """Return the metric that predicts the largest share of votes, with its share; None if no metric has a share.

    Metrics that lack scores for more than half of the votes are not compared: a share of few votes is easily the best.
    """
    agreements = results.agreement[question]
    most = max((agreement.votes for agreement in agreements), default=0)
    known = [agreement for agreement in agreements if agreement.share.value is not None and 2 * agreement.votes >= most]
    best = max(known, key=lambda agreement: agreement.share.value or 0.0, default=None)
    return None if best is None else (best.metric, best.share)


def strengths_table(results: VoteResults) -> Table:
    """Return the strengths of systems on both questions, the most different first, with the board's headline."""
    column = None if results.board is None else ranking_column(results.board)
    preferred = {strength.system: strength for strength in results.strengths["preferred"].systems}
    rows: list[tuple[Cell, ...]] = []
    for strength in results.strengths["more_different"].systems:
        second = preferred.get(strength.system)
        rows.append(
            (
                number_cell(strength.rank, _rank(strength)) if has_rank(results, strength) else None,
                strength.system,
                _cell(strength.points),
                None if second is None else _cell(second.points),
                number_cell(strength.votes, number(strength.votes, 0)),
                *([] if column is None else [_headline(results, column, strength.system)]),
            )
        )
    headline = [] if column is None else [column.label]
    return Table("", ("rank", "system", SHORT["more_different"], SHORT["preferred"], "votes", *headline), rows)


def agreement_table(results: VoteResults) -> Table:
    """Return the share of votes that each metric predicts, for both questions; the best first."""
    preferred = {agreement.metric: agreement.share for agreement in results.agreement["preferred"]}
    known = [agreement for agreement in results.agreement["more_different"] if agreement.share.value is not None]
    known.sort(key=lambda agreement: -(agreement.share.value or 0.0))
    rows = [(a.metric, _cell(a.share), _cell(preferred[a.metric]), a.votes) for a in known]
    return Table("", ("metric", SHORT["more_different"], SHORT["preferred"], "votes"), rows)


def _rank(strength: Strength) -> str:
    if strength.ranks is None or strength.ranks[0] == strength.ranks[1]:
        return str(strength.rank)
    return f"{strength.rank} ({strength.ranks[0]}–{strength.ranks[1]})"


def _headline(results: VoteResults, column: Column, system: str) -> float | None:
    entry = results.entry(system)
    cell = None if entry is None else entry.cells.get(column.signature)
    return None if cell is None else cell.value


def _cell(estimate: Estimate) -> Cell:
    return estimate_cell(estimate.value, estimate.low, estimate.high, 2)


def _text(estimate: Estimate) -> str:
    return with_interval(estimate.value, estimate.low, estimate.high, 2)
