"""Offers pairs to arena visitors under opaque ids, records each vote once, and sends votes to the store.

Visitors see no system names before they vote: the names stay on the server, under a random id.
"""

import atexit
import logging
import random
import secrets
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime

from divbench.core.errors import ConfigurationError
from leaderboard.data.arena import Arena, Pair, arenas, choose_pair
from leaderboard.data.board import Board
from leaderboard.data.live_results import LiveResults
from leaderboard.data.votes import Tally
from submissions.judgements.vote_store import VoteSpool, delete_votes, merge_past_days
from submissions.judgements.votes import (
    ANSWERS,
    QUESTIONS,
    Answer,
    Question,
    RateLimit,
    Vote,
    salt_of,
    vote_id,
    voter_of,
)
from submissions.storage.file_store import NoWriteAccess
from submissions.untrusted.plain_text import one_line

COMMIT_SECONDS = 15.0
PAIRS_A_MINUTE = 20  # limit per visitor
PAIRS_AN_ADDRESS = 120  # limit per IP address and minute; many visitors may share an address
_OFFERS = 20_000  # maximum number of pairs kept; the oldest are dropped first
_LOG = logging.getLogger("divbench.votes")


@dataclass(frozen=True, slots=True, eq=False)
class Offer:
    """A pair as it was shown to one visitor."""

    pair_id: str  # opaque id, 32 hex digits
    voter: str
    arena: Arena
    pair: Pair
    prompt: str
    answers: Mapping[Question, Answer] | None = None  # the visitor's answers by question; None before the vote


class Polls:
    """Pairs and votes for all visitors of one application; a seed, for tests, makes the choices reproducible."""

    def __init__(self, live: LiveResults, spool: VoteSpool, seed: int | None = None) -> None:
        self._live, self._spool = live, spool
        self._rng = random.SystemRandom() if seed is None else random.Random(seed)  # noqa: S311 - for tests
        self._salt = salt_of(spool.folder)
        self._lock, self._voting = threading.Lock(), threading.Lock()
        self._offers: OrderedDict[str, Offer] = OrderedDict()
        self._open: dict[str, str] = {}  # the pair that a visitor has not answered yet
        self._last: OrderedDict[str, str] = OrderedDict()  # the pair on which a visitor voted last
        self._passed: deque[Vote] = deque(maxlen=_OFFERS)  # as votes, pairs that visitors skipped or undid
        self._visitors, self._addresses = RateLimit(PAIRS_A_MINUTE, 60), RateLimit(PAIRS_AN_ADDRESS, 60)
        self._merged: date | None = None  # the last day on which the votes of past days were merged
        self._arenas: tuple[tuple[Board, ...] | None, tuple[Arena, ...]] = None, ()
        self._present: tuple[tuple[Board, ...] | None, frozenset[str]] = None, frozenset()
        self.fault = ""  # why voting is off; empty if it is on
        self.tally = Tally(live, spool)

    def start(self) -> None:
        """Start a background thread that sends votes to the store and counts them."""
        threading.Thread(target=self._work, daemon=True, name="votes").start()
        atexit.register(self.send)

    def arenas(self) -> tuple[Arena, ...]:
        """Return the arenas of the latest results; none if no suite has two systems with responses to show."""
        boards = self._live.snapshot().boards
        if self._arenas[0] is not boards:
            self._arenas = boards, arenas(self._live)
        return self._arenas[1]

    def _submissions(self) -> frozenset[str]:
        """The ids of all submissions on the boards."""
        boards = self._live.snapshot().boards
        if self._present[0] is not boards:
            self._present = boards, frozenset(entry.result.submission_id for board in boards for entry in board.entries)
        return self._present[1]

    def voter(self, token: str, login: str | None) -> str:
        """Return the hash that identifies a visitor."""
        return voter_of(self._salt, login=login, token=token)

    def offer(self, voter: str) -> Offer | None:
        """Return the visitor's unanswered pair, or else a new one, so that nobody can choose a pair by reloading.

        None if there is nothing to show, or nothing that the visitor has not judged.
        """
        with self._lock:
            pair_id = self._open.get(voter, "")
        if (known := self.find(pair_id, voter)) is not None:
            return known
        arenas = self.arenas()
        if not arenas:
            return None
        chance = random.Random(self._rng.getrandbits(128))  # noqa: S311 - seeded by the system
        with self._lock:
            votes = [*self.tally.votes(), *(vote for vote in self._passed if vote.voter == voter)]
        for arena in chance.sample(arenas, len(arenas)):
            strengths = self.tally.log_odds(arena.contest.suite)
            if (pair := choose_pair(arena.contest, votes, strengths, voter, arena.texts, chance)) is not None:
                break
        else:
            return None
        offer = Offer(secrets.token_hex(16), voter, arena, pair, arena.prompt(pair.prompt_id))
        with self._lock:
            self._offers[offer.pair_id] = offer
            self._open[voter] = offer.pair_id
            while len(self._offers) > _OFFERS:
                _, oldest = self._offers.popitem(last=False)
                if self._open.get(oldest.voter) == oldest.pair_id:
                    del self._open[oldest.voter]
        return offer

    def find(self, pair_id: object, voter: str) -> Offer | None:
        """Find a visitor's pair by its id; None if it was offered to another visitor or has been dropped.

        A pair is dropped with its submissions: nobody sees or judges texts that were withdrawn.
        """
        offer = self._offers.get(pair_id) if isinstance(pair_id, str) else None
        if offer is None or offer.voter != voter:
            return None
        shown = {offer.arena.entries[side.system].result.submission_id for side in (offer.pair.left, offer.pair.right)}
        return offer if shown <= self._submissions() else None

    def vote(self, pair_id: object, voter: str, answers: Mapping[Question, object], address: str) -> tuple[Offer, bool]:
        """Record a visitor's answers on disk; return the pair with its answers, and whether they are new.

        A second vote on the same pair, as from another tab, changes nothing. The IP address is used only for the rate
        limit and never stored.
        """
        with self._voting:
            offer = self._found(pair_id, voter)
            if offer.answers is not None:
                return offer, False
            judgements = _checked(answers)
            self._limit(voter, address)
            votes = _records(offer, judgements, int(time.time()))
            self._spool.accept(votes)
            judged = replace(offer, answers=judgements)
            with self._lock:
                self._offers[offer.pair_id] = judged
                self._close(offer)
                self._last.pop(voter, None)
                self._last[voter] = offer.pair_id
                while len(self._last) > _OFFERS:
                    self._last.popitem(last=False)
        self.tally.add(votes)
        return judged, True

    def skip(self, pair_id: object, voter: str, address: str) -> None:
        """Close a visitor's pair without a vote; they do not see it again."""
        offer = self._found(pair_id, voter)
        if offer.answers is None:
            self._limit(voter, address)
            self._pass(offer)

    def may_undo(self, voter: str) -> bool:
        """Whether a visitor's last vote can be undone: once, until this process ends."""
        return voter in self._last

    def undo(self, voter: str) -> None:
        """Delete a visitor's last vote, also from the store; they have seen the names, so the pair does not return."""
        with self._voting:
            pair_id = self._last.get(voter, "")
            if pair_id not in self._offers:
                raise ConfigurationError("there is no vote of yours that can be undone", "only the last one can")
            delete_votes(self._spool, pair_id)
            self.tally.remove(pair_id)
            self._pass(self._offers[pair_id])
            with self._lock:
                del self._last[voter], self._offers[pair_id]

    def _found(self, pair_id: object, voter: str) -> Offer:
        offer = self.find(pair_id, voter)
        if offer is None:
            raise ConfigurationError("this pair has expired", "reload the page")
        return offer

    def _limit(self, voter: str, address: str) -> None:
        if not (self._visitors.allows(voter) and self._addresses.allows(address)):
            raise ConfigurationError("you are judging faster than anyone can read", "wait a minute, then go on")

    def _close(self, offer: Offer) -> None:
        if self._open.get(offer.voter) == offer.pair_id:
            del self._open[offer.voter]

    def _pass(self, offer: Offer) -> None:
        with self._lock:
            self._close(offer)
            self._passed += _records(offer, {"preferred": "tie"}, 0)  # never saved

    def send(self) -> None:
        """Send pending votes to the store; a failure is logged, and the votes are sent the next time."""
        try:
            self._spool.commit()
            self.fault = ""
            today = datetime.now(UTC).date()
            if today != self._merged:
                merge_past_days(self._spool.store, today)
                self._merged = today
        except NoWriteAccess:
            self.fault = "Voting is closed: this board has no write access to the store of votes."
        except Exception as error:  # the thread must continue: the votes are safe on disk
            _LOG.warning("votes could not be sent to the store yet: %s", one_line(str(error)))

    def _work(self) -> None:
        while True:
            time.sleep(COMMIT_SECONDS)
            self.send()
            self.tally.refresh()


def _checked(answers: Mapping[Question, object]) -> dict[Question, Answer]:
    judgements: dict[Question, Answer] = {}
    for question in QUESTIONS:
        answer = next((known for known in ANSWERS if known == answers.get(question)), None)
        if answer is None:
            raise ConfigurationError("an answer is missing", "answer both questions")
        judgements[question] = answer
    return judgements


def _records(offer: Offer, answers: Mapping[Question, Answer], now: int) -> tuple[Vote, ...]:
    contest, pair = offer.arena.contest, offer.pair
    left, right, expected = pair.left, pair.right, dict(pair.expected)
    return tuple(
        Vote(
            vote_id=vote_id(offer.pair_id, question),
            pair_id=offer.pair_id,
            time=now,
            voter=offer.voter,
            suite=contest.suite,
            prompt_id=pair.prompt_id,
            left=contest.names[left.system],
            right=contest.names[right.system],
            left_result=contest.results[left.system],
            right_result=contest.results[right.system],
            left_positions=left.positions,
            right_positions=right.positions,
            question=question,
            answer=answer,
            check=pair.check,
            altered=pair.altered,
            expected=expected.get(question, ""),
        )
        for question, answer in answers.items()
    )
