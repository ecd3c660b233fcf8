"""A week of simulated votes on real responses, through the arena's own clerk, to look at the page and its tables.

Nobody judged anything: a simulated visitor prefers, by chance, the set whose five responses fall into more of the
classes that came with the submission; one in seven answers without looking. From the repository's root:

    python -m tests.leaderboard.simulated_week RESULTS STORE --visitors 150
"""

import argparse
import random
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from unittest.mock import patch

import numpy as np

from benchmark.analysis.votes.davidson import outcome_chances
from benchmark.equivalence.partition_columns import REPORTED_COLUMN
from leaderboard.app.voting.polls import Offer, Polls
from leaderboard.data.arena_pairs import ShownSet
from leaderboard.data.live_results import LiveResults
from leaderboard.data.scores import prompt_row
from leaderboard.data.sources import FolderSource
from submissions.judgements.visitors import RateLimit
from submissions.judgements.vote_store import VoteSpool
from submissions.judgements.votes import ANSWERS, Answer, Question
from submissions.storage.file_store import open_store

PER_CLASS: dict[Question, float] = {"more_different": 0.9, "preferred": 0.4}  # log-odds
LOG_TIE = -0.5
PASS = 0.95
CARELESS = 1 / 7
PAIRS = 15  # of a visitor, on average


def classes(offer: Offer, side: ShownSet) -> int:
    """The number of classes among the responses shown, as the submission reported them."""
    row = prompt_row(offer.arena.entries[side.system], offer.pair.prompt_id)
    assert row is not None
    return len({row[REPORTED_COLUMN]["labels"][position] for position in side.positions})


def answered(offer: Offer, careless: bool, chance: np.random.Generator) -> dict[Question, object]:
    """What a visitor answers."""
    known = dict(offer.pair.expected)
    gap = classes(offer, offer.pair.left) - classes(offer, offer.pair.right)
    made: dict[Question, object] = {}
    for question, slope in PER_CLASS.items():
        shares = [1 / 3] * 3 if careless else outcome_chances(np.array(slope * gap), LOG_TIE)
        answer: Answer = ANSWERS[chance.choice(3, p=shares)]
        if not careless and question in known and chance.random() < PASS:
            answer = known[question]
        made[question] = answer
    return made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", type=Path)
    parser.add_argument("store")
    parser.add_argument("--visitors", type=int, default=150)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    chance, days = np.random.default_rng(given.seed), random.Random(given.seed)  # noqa: S311 - to be repeated
    end = datetime.now(UTC).timestamp()
    begins = sorted(end - days.random() * timedelta(days=7).total_seconds() for _ in range(given.visitors))
    with tempfile.TemporaryDirectory() as spool:
        clerk = Polls(
            LiveResults(FolderSource(given.results)), VoteSpool(open_store(given.store), Path(spool)), given.seed
        )
        with patch.object(RateLimit, "allows", lambda *_: True):
            for number, begin in enumerate(begins):
                voter, careless = clerk.voter(f"{number:032x}", None), chance.random() < CARELESS
                for pair in range(chance.geometric(1 / PAIRS)):
                    offer = clerk.offer(voter)
                    assert offer is not None
                    with patch("time.time", lambda at=begin + 20 * pair: at):
                        clerk.vote(offer.pair_id, voter, answered(offer, careless, chance), "")
                if number % 25 == 24:
                    clerk.send()
                    clerk.tally.refresh()
        clerk.send()


if __name__ == "__main__":
    main()
