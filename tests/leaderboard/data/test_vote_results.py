"""What is said of votes: no more than the intervals support."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from leaderboard.data.board import Board, Entry, ranking_column
from leaderboard.data.live_results import LiveResults
from leaderboard.data.scores import BoardScores
from leaderboard.data.sources import FolderSource
from leaderboard.data.votes import vote_results
from leaderboard.pages.votes import best_metric, strengths_table, votes_text
from submissions.judgements.votes import Answer, Vote, vote_id
from tests.benchmark.analysis.test_votes import vote
from tests.conftest import divbench

NINE_TO_ONE: tuple[Answer, ...] = ("left",) * 9 + ("right",)


def test_systems_that_may_be_first_as_well_are_counted_and_the_ceiling_names_its_pairs() -> None:
    def text(answers: Sequence[Answer], number: int = 60, voters: int = 6) -> str:
        given = [(answers[i % len(answers)], i % voters, f"p{i % 7}") for i in range(number)]
        votes = [vote(i, "a", "b", answer, voter=voter, prompt=p) for i, (answer, voter, p) in enumerate(given)]
        (found,) = vote_results(votes, {})
        assert (strengths_table(found).values[0][0] is None) == (number < 20 or voters < 5)
        return votes_text(found)

    tied, clear = text(["left", "right"]), text(NINE_TO_ONE)
    assert "1 other system may be first as well, by the 95% intervals of ranks." in tied
    assert "may be first" not in clear
    for few in (text(NINE_TO_ONE, number=19), text(NINE_TO_ONE, voters=4)):
        assert ("No system has a rank yet" in few, "comes first" in few) == (True, False)
    assert "a comes first for different ideas" in clear
    assert "On the 7 pairs of sets that several visitors judged, another visitor's vote predicts" in clear


def test_suites_have_the_most_votes_first_and_a_strength_is_the_mean_over_both_questions() -> None:
    votes = [vote(i, "a", "b", NINE_TO_ONE[i % 10], voter=i % 6, prompt=f"p{i % 5}") for i in range(60)]
    votes += [replace(each, question="preferred", vote_id=vote_id(each.pair_id, "preferred")) for each in votes[:20]]
    first, second = vote_results([replace(votes[0], suite="another"), *votes[1:]], {})
    assert (first.suite, second.suite) == ("demo", "another")
    one, other = (
        next(each.log_odds.value for each in found.systems if each.system == "a") for found in first.strengths.values()
    )
    assert one is not None
    assert other is not None
    assert one != other
    assert first.log_odds()["a"] == pytest.approx((one + other) / 2)


def test_a_downloaded_folder_of_votes_is_no_store_without_votes(tmp_path: Path) -> None:
    assert "There are no votes" in divbench("people", "votes", tmp_path).stdout
    (tmp_path / "votes").mkdir()
    ended = divbench("people", "votes", tmp_path)
    assert (ended.returncode, ended.stdout) == (1, "")
    assert "no commits, so it is not a store" in ended.stderr


@pytest.mark.parametrize("metric", ["distinct_k", "self_bleu"])  # of self_bleu, less is more diverse
def test_votes_are_compared_with_the_scores_of_the_results_that_were_shown(results: Path, metric: str) -> None:
    """Two submissions may have one name; each vote is about the texts of one of them."""
    live = LiveResults(FolderSource(results), refresh=None)
    board = max(live.snapshot().boards, key=lambda each: len(each.entries))
    scores = live.scores(board)
    column = next(each for each in board.columns if each.metric == metric)
    matrix = column.direction * scores.matrix(column)
    order = np.argsort(np.nanmean(matrix, axis=0))
    twins, other = (int(order[0]), int(order[-1])), int(order[len(order) // 2])
    entries = list(board.entries)
    for place in twins:
        manifest = entries[place].result.manifest.model_copy(update={"name": "twin"})
        entries[place] = replace(entries[place], result=entries[place].result.model_copy(update={"manifest": manifest}))
    votes: list[Vote] = []
    ids = [entry.result.result_id for entry in entries]
    for row, prompt in enumerate(scores.prompts):
        for twin in twins:
            gap = matrix[row, twin] - matrix[row, other]
            if gap:
                answer: Answer = "left" if gap > 0 else "right"
                made = vote(len(votes), "twin", "other", answer, voter=len(votes) % 7, prompt=prompt)
                votes.append(replace(made, suite=board.suite, left_result=ids[twin], right_result=ids[other]))
    (found,) = vote_results(votes, {"board": (replace(board, entries=tuple(entries)), scores)})
    share = {each.metric: each.share.value for each in found.agreement["more_different"]}
    assert {vote.answer for vote in votes} == {"left", "right"}
    assert share[column.label] == pytest.approx(1.0)
    few = [replace(each, votes=2 if each.metric == column.label else 20) for each in found.agreement["more_different"]]
    best = best_metric(replace(found, agreement={"more_different": tuple(few)}), "more_different")
    assert best is not None
    assert best[0] != column.label  # all of two votes are not the largest share


def test_votes_on_a_withdrawn_submission_have_no_scores_even_if_another_has_its_name(results: Path) -> None:
    live = LiveResults(FolderSource(results), refresh=None)
    board = max(live.snapshot().boards, key=lambda each: len(each.entries))
    scores = live.scores(board)
    (name, own), (other, second) = (
        (entry.result.manifest.name, entry.result.result_id) for entry in (board.entries[0], board.entries[-1])
    )
    votes = [
        replace(
            vote(i, name, other, "left", voter=i % 7, prompt=prompt),
            suite=board.suite,
            left_result=own if i % 2 else "e" * 16,  # half of the votes are on a submission that is gone
            right_result=second,
        )
        for i, prompt in enumerate(scores.prompts)
    ]
    boards = {board.name: (board, scores)}

    def counted(given: dict[str, tuple[Board, BoardScores]]) -> int:
        (found,) = vote_results(votes, given)
        return max(each.votes for each in found.agreement["more_different"])

    assert counted(boards) == len(votes) // 2
    older = (replace(board.entries[0], older=("e" * 16,)), *board.entries[1:])
    assert counted({board.name: (replace(board, entries=older), scores)}) == len(votes)  # scored again, not withdrawn
    elsewhere = replace(board.entries[0], result=board.entries[0].result.model_copy(update={"result_id": "e" * 16}))
    profile = replace(board, profile="other", entries=(elsewhere,))
    assert counted({**boards, profile.name: (profile, scores)}) == len(votes)
    (found,) = vote_results(votes, {board.name: (replace(board, entries=older[:1]), scores)})
    assert found.board is not None  # it shares only an older result
    (found,) = vote_results(votes, {board.name: (replace(board, entries=board.entries[1:2]), scores)})
    assert found.board is None  # it has none of the judged results


def test_submissions_of_one_name_are_systems_of_their_own(results: Path) -> None:
    live = LiveResults(FolderSource(results), refresh=None)
    board = max(live.snapshot().boards, key=lambda each: len(each.entries))
    first, second, third = board.entries[:3]
    name, other = first.result.manifest.name, third.result.manifest.name
    twin = replace(second, result=second.result.model_copy(update={"manifest": first.result.manifest}))
    column = ranking_column(board)
    assert column is not None
    values = [each.cells[column.signature].value for each in (first, second, third)]
    ids = [each.result.submission_id[:6] for each in (first, twin)]

    def strengths(left: Sequence[str], *entries: Entry) -> dict[object, tuple[object, ...]]:
        """Rank and headline, after votes in which the first of the results always won and the others always lost."""
        votes = [
            replace(
                vote(i, "a", "b", "left" if i % len(left) == 0 else "right", voter=i % 7, prompt=f"p{i % 9}"),
                suite=board.suite,
                left=name,
                right=other,
                left_result=left[i % len(left)],
                right_result=third.result.result_id,
            )
            for i in range(60)
        ]
        (found,) = vote_results(votes, {board.name: (replace(board, entries=entries), live.scores(board))})
        return {row[1]: (row[0], row[-1]) for row in strengths_table(found).values}

    own, others = first.result.result_id, twin.result.result_id
    assert strengths([own], first, third) == {name: (1, values[0]), other: (2, values[2])}
    assert strengths([own, others], first, twin, third) == {
        f"{name} ({ids[0]})": (1, values[0]),
        other: (2, values[2]),
        f"{name} ({ids[1]})": (3, values[1]),
    }
    assert strengths([own, others], first, third) == {  # the other one was withdrawn
        f"{name} ({ids[0]})": (1, values[0]),
        other: (2, values[2]),
        f"{name} (gone)": (3, None),
    }
