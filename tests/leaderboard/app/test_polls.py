"""The arena's clerk: a pair stays until it is answered, an answer is taken once, and nothing tells names before it."""

import json
import random
import shutil
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from benchmark.scoring.estimate import Estimate
from divbench.core.errors import ConfigurationError
from leaderboard.app import polls as module
from leaderboard.app.polls import Offer, Polls
from leaderboard.data.live_results import LiveResults
from leaderboard.data.reference.results import WithReference
from leaderboard.data.sources import FolderSource
from leaderboard.pages import page_text
from leaderboard.pages.votes import agreement_table, strengths_table, votes_text
from submissions.judgements.vote_store import VoteReader, VoteSpool
from submissions.judgements.votes import CHECKS, Answer, Question
from submissions.storage.file_store import FolderStore
from tests.conftest import divbench
from tests.leaderboard.stores import scored, scored_again

LEFT: dict[Question, object] = {"more_different": "left", "preferred": "left"}


def open_polls(results: Path, home: Path) -> Polls:
    spool = VoteSpool(FolderStore(home / "store"), home / "spool")
    return Polls(LiveResults(FolderSource(results)), spool, seed=0)


@pytest.fixture
def polls(results: Path, tmp_path: Path) -> Polls:
    return open_polls(results, tmp_path)


def offered(polls: Polls, voter: str) -> Offer:
    offer = polls.offer(voter)
    assert offer is not None
    return offer


def test_a_pair_stays_until_it_is_answered_and_counts_once(polls: Polls) -> None:
    me, other = polls.voter("0" * 32, None), polls.voter("1" * 32, None)
    offer = offered(polls, me)
    assert polls.offer(me) is offer  # nobody reloads until they like the pair
    assert polls.find(offer.pair_id, other) is None
    bad = ((other, LEFT), (me, {"preferred": "left"}), (me, LEFT | {"preferred": "both"}))
    for voter, answers in bad:
        with pytest.raises(ConfigurationError):
            polls.vote(offer.pair_id, voter, answers, "here")  # type: ignore[arg-type]
    assert polls.tally.votes() == []
    done, is_new = polls.vote(offer.pair_id, me, LEFT, "here")
    again, is_new_again = polls.vote(offer.pair_id, me, LEFT | {"preferred": "right"}, "another tab")
    assert done.answers == again.answers == LEFT
    assert (is_new, is_new_again) == (True, False)
    assert len(polls.tally.votes()) == 2
    assert offered(polls, me).pair_id != offer.pair_id


def test_visitors_are_given_no_commands_for_operators() -> None:
    assert not any("divbench" in text for text in (page_text.NO_VOTES, page_text.NO_PAIRS, page_text.ALL_JUDGED))


def test_a_skipped_pair_and_an_undone_vote_leave_nothing_and_do_not_come_back(polls: Polls) -> None:
    me, seen = polls.voter("0" * 32, None), []
    for _ in range(12):
        offer = offered(polls, me)
        seen.append((offer.prompt, *sorted((offer.pair.left.texts, offer.pair.right.texts))))
        polls.skip(offer.pair_id, me, f"address {len(seen)}")
        if len(seen) == 6:
            polls.vote(offered(polls, me).pair_id, me, LEFT, "here")
            polls.send()
            polls.tally.refresh()
    assert len(set(seen)) == 12
    kept = polls.tally.votes()
    assert polls.may_undo(me)
    polls.undo(me)
    assert VoteReader(polls._spool.store).read().votes == tuple(polls.tally.votes()) == ()
    assert len(kept) == 2
    with pytest.raises(ConfigurationError, match="no vote of yours"):
        polls.undo(me)


def test_a_pair_goes_with_its_submission_and_one_that_was_scored_again_stays(results: Path, tmp_path: Path) -> None:
    own = tmp_path / "results"
    shutil.copytree(results, own)
    polls, me = open_polls(own, tmp_path), "0" * 32
    offer = offered(polls, me)
    while offer.pair.check:  # whose two sides are of one system
        polls.vote(offer.pair_id, me, LEFT, "here")
        offer = offered(polls, me)
    entry = offer.arena.entries[offer.pair.left.system]
    given = next(each for each in scored(results) if each.result.submission_id == entry.result.submission_id)
    again = scored_again(given, own, 1)
    (board,) = (each for each in polls._live.reload().boards)
    assert again.result.result_id in {each.result.result_id for each in board.entries}
    assert polls.find(offer.pair_id, me) is offer
    polls.vote(offer.pair_id, me, LEFT, "here")
    polls.send()
    divbench("people", "export", tmp_path / "store", "--results", own, "--out", tmp_path / "exported")
    rows = pq.read_table(tmp_path / "exported" / "votes.parquet").to_pylist()
    shown = {row["pair_id"]: row["left_responses"] for row in rows}
    assert shown[offer.pair_id] == list(offer.pair.left.texts)  # of a result that another one has replaced
    offer = offered(polls, me)
    gone = offer.arena.entries[offer.pair.right.system].result
    for name in offer.arena.entries[offer.pair.right.system].results:
        shutil.rmtree(own / name)
    polls._live.reload()
    assert polls.find(offer.pair_id, me) is None
    assert gone.manifest.name not in offered(polls, me).arena.contest.names


def test_votes_are_limited_for_visitors_and_addresses(
    results: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PAIRS_A_MINUTE", 2)
    monkeypatch.setattr(module, "PAIRS_AN_ADDRESS", 3)
    polls = open_polls(results, tmp_path)
    voters = [polls.voter(f"{number:032x}", None) for number in range(3)]  # a token is easily thrown away

    def vote(voter: str, address: str) -> None:
        polls.vote(offered(polls, voter).pair_id, voter, LEFT, address)

    for voter in (voters[0], voters[0], voters[1]):
        vote(voter, "here")
    for voter, address in ((voters[0], "elsewhere"), (voters[2], "here")):
        with pytest.raises(ConfigurationError, match="faster than anyone can read"):
            vote(voter, address)
    vote(voters[2], "elsewhere")


def test_votes_are_counted_with_what_metrics_predict(polls: Polls, results: Path, tmp_path: Path) -> None:
    order, chance = ["varied", "paraphrased", "collapsed"], random.Random(0)  # noqa: S311
    shown = {}
    for number in range(12):
        voter = polls.voter(f"{number:032x}", None)
        for _ in range(10):
            offer = offered(polls, voter)
            names = [offer.arena.contest.names[side.system] for side in (offer.pair.left, offer.pair.right)]
            places = [order.index(name) if name in order else 9 for name in names]
            side: Answer = "left" if places[0] < places[1] else "right"
            if 9 in places:
                side = chance.choice(("left", "right"))
            answers: dict[Question, object] = {"more_different": side, "preferred": side}
            answers.update(offer.pair.expected)
            polls.vote(offer.pair_id, voter, answers, f"{number}")
            shown[offer.pair_id] = [offer.prompt, *(list(side.texts) for side in (offer.pair.left, offer.pair.right))]
    polls.send()
    polls.tally.refresh()
    stored = VoteReader(polls._spool.store).read().votes
    assert sorted(v.vote_id for v in stored) == sorted(v.vote_id for v in polls.tally.votes())
    assert len(stored) == 240
    (found,) = polls.tally.results
    ranked = [each.system for each in found.strengths["more_different"].systems]
    assert [name for name in ranked if name in order] == order
    shares = {each.metric: each.share.value for each in found.agreement["more_different"]}
    assert shares["distinct_k"] == pytest.approx(share_by_hand(polls, "distinct_k"))
    assert (found.pairs, found.voters) == (120, 12)
    assert "120 pairs, checks included, judged by 12 visitors." in votes_text(found)
    assert "too few" not in votes_text(found)
    assert "3 of them failed at least half of their checks and do not count." in votes_text(replace(found, careless=3))
    first = found.strengths["more_different"]
    unsure = replace(first, systems=tuple(replace(each, points=Estimate(0.5)) for each in first.systems))
    few = replace(found, strengths={**found.strengths, "more_different": unsure})
    assert "too few visitors for intervals" in votes_text(few)
    assert [row[1] for row in strengths_table(found).values] == ranked
    assert len(agreement_table(found).values) == len([v for v in shares.values() if v is not None])
    store, exported = tmp_path / "store", tmp_path / "exported"
    told = divbench("people", "votes", store, "--results", results, "--json")
    (suite,) = json.loads(told.stdout)["suites"]
    assert [each["system"] for each in suite["questions"]["more_different"]["systems"]] == ranked
    divbench("people", "export", store, "--results", results, "--out", exported)
    rows = pq.read_table(exported / "votes.parquet").to_pylist()
    for row in rows:  # the sets as they were shown, those of checks too
        assert [row["prompt"], row["left_responses"], row["right_responses"]] == shown[row["pair_id"]]
    assert {row["check"] for row in rows} == {"", *CHECKS}
    assert all(row["passed"] is (True if row["expected"] else None) for row in rows)


def share_by_hand(polls: Polls, metric: str) -> float:
    """The share of votes on the first question that a metric predicts, equal scores as half."""
    (arena,) = polls.arenas()
    labels = [column.label for column in arena.board.columns if column.direction]
    points = []
    for vote in polls.tally.votes():
        if not vote.check and vote.question == "more_different" and vote.answer != "tie":
            row = arena.contest.prompts.index(vote.prompt_id)
            left, right = (
                arena.contest.scores[labels.index(metric), row, arena.contest.names.index(name)]
                for name in (vote.left, vote.right)
            )
            points.append(0.5 if left == right else float((left > right) == (vote.answer == "left")))
    return sum(points) / len(points)


def test_without_texts_there_is_nothing_to_judge(tmp_path: Path) -> None:
    spool = VoteSpool(FolderStore(tmp_path / "store"), tmp_path / "spool")
    reference = Polls(LiveResults(WithReference()), spool)
    assert reference.arenas() == ()
    assert reference.offer("0" * 32) is None
    assert reference.tally.results == ()
