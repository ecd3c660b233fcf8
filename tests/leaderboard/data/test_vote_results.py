"""What is said of votes: no more than the intervals support."""

from pathlib import Path

from leaderboard.data.vote_results import vote_results
from leaderboard.tables.votes import votes_text
from submissions.judgements.votes import Answer
from tests.benchmark.analysis.test_votes import vote
from tests.conftest import divbench


def test_systems_that_may_be_first_as_well_are_counted_and_the_ceiling_names_its_pairs() -> None:
    def text(answers: list[Answer]) -> str:
        votes = [vote(i, "a", "b", answers[i % len(answers)], voter=i % 6, prompt=f"p{i % 5}") for i in range(60)]
        (found,) = vote_results(votes, {})
        return votes_text(found)

    tied, clear = text(["left", "right"]), text(["left"] * 9 + ["right"])
    assert "1 other system may be first as well, by the 95% intervals of ranks." in tied
    assert "may be first" not in clear
    assert "a comes first for different ideas" in clear
    assert "On the 5 pairs of sets that several visitors judged, another visitor's vote predicts" in clear


def test_a_downloaded_folder_of_votes_is_no_store_without_votes(tmp_path: Path) -> None:
    assert "There are no votes" in divbench("people", "votes", tmp_path).stdout
    (tmp_path / "votes").mkdir()
    ended = divbench("people", "votes", tmp_path)
    assert (ended.returncode, ended.stdout) == (1, "")
    assert "no commits, so it is not a store" in ended.stderr
