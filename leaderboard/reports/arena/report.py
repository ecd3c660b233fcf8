"""The results of votes as tables for the terminal and documents."""

from collections.abc import Sequence
from typing import Any

from benchmark.analysis.estimate import Estimate
from benchmark.analysis.votes.metrics import Agreement, Ceiling
from benchmark.analysis.votes.strengths import Strength
from divbench.core.tables import Block, Report, Table
from leaderboard.data.vote_results import VoteResults
from leaderboard.tables.table_view import TableView
from leaderboard.tables.votes import agreement_table, strengths_table, votes_text
from submissions.judgements.votes import QUESTIONS

NO_VOTES = "There are no votes. A board takes them: divbench board serve --results RESULTS --votes STORE"


def votes_report(found: Sequence[VoteResults]) -> Report:
    """The report of all suites."""
    blocks: list[Block] = [] if found else [NO_VOTES]
    for each in found:
        blocks.append(f"{each.suite}: {votes_text(each)}")
        blocks.append(_table("Points per vote against an average system; a tie counts half", strengths_table(each)))
        agreement = agreement_table(each)
        if agreement.values:
            blocks.append(_table("Share of votes for a side that a metric predicts", agreement))
        elif each.board is None:
            blocks.append("The results of these systems were not found, so no metric can be compared: give --results.")
    return Report("People's votes", blocks, {"suites": [_document(each) for each in found]}, blocks)


def _table(title: str, view: TableView) -> Table:
    numbers = [name for name, kind in zip(view.headers, view.kinds, strict=True) if kind == "number"]
    return Table(title, view.headers, view.shown, numbers=numbers)


def _document(found: VoteResults) -> dict[str, Any]:
    weights = found.weights
    return {
        "suite": found.suite,
        "board": None if found.board is None else found.board.name,
        "pairs": found.pairs,
        "voters": found.voters,
        "checks": {"answered": int(weights.checks.sum()), "passed": int(weights.passed.sum())},
        "voters_below_half": weights.left_out,
        "voters_excluded_for_bias": int(weights.hostile.sum()),
        "questions": {
            question: {
                "strengths": [_strength(each) for each in found.strengths[question].systems],
                "apart": list(found.strengths[question].apart),
                "agreement": [_agreement(each) for each in found.agreement[question]],
                "ceiling": _ceiling(found.ceiling[question]),
            }
            for question in QUESTIONS
        },
    }


def _strength(found: Strength) -> dict[str, Any]:
    interval, points = found.interval, found.points_interval
    return {
        "system": found.system,
        "rank": found.rank,
        "ranks": found.ranks and list(found.ranks),
        "strength": found.strength,
        "interval": interval and [interval.low, interval.high],
        "points": found.points,
        "points_interval": points and [points.low, points.high],
        "votes": found.votes,
    }


def _agreement(found: Agreement) -> dict[str, Any]:
    return {"metric": found.metric, "share": _estimate(found.share), "votes": found.votes, "missing": found.missing}


def _ceiling(found: Ceiling) -> dict[str, Any]:
    people, most = _estimate(found.people), _estimate(found.most)
    return {"people": people, "most": most, "pairs": found.pairs, "shown": found.shown}


def _estimate(found: Estimate) -> dict[str, float | None]:
    return {"value": found.value, "low": found.low, "high": found.high}
