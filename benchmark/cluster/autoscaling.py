"""Decides how many actors to request: all at once, or one more whenever the work so far pays for another.

While an actor loads its models it occupies a GPU without scoring: sixty-four actors for ten submissions would spend
more time loading than scoring. An elastic pool therefore starts with one actor, and requests another whenever there is
a backlog and the present ones have scored for `PAYBACK` times the loading time. After the first actor, loading takes at
most a fifth of the time that is paid for, nobody has to guess the amount of work, and the number of actors grows
exponentially.
"""

from dataclasses import dataclass

BACKLOG_PER_ACTOR = 2  # waiting shards; with fewer, actors will soon be idle
PAYBACK = 4  # seconds of scoring that pay for one of loading
IDLE_SECONDS = 600.0  # without work, after which an elastic pool ends an actor


@dataclass(slots=True)
class Autoscaler:
    """Decides when to request actors."""

    max_actors: int
    elastic: bool = False  # whether to request actors as they are earned; otherwise all at once
    requested: int = 0
    # Time from the request of the last actor until its models were loaded; None: none has loaded yet.
    load_seconds: float | None = None
    credit: float = 0.0  # seconds of scoring that have not been spent on another actor

    def request(self, waiting: int) -> int:
        """Return how many actors to start now; they count as requested."""
        count = self._earned(waiting) if self.elastic else self.max_actors - self.requested
        self.requested += count
        return count

    def _earned(self, waiting: int) -> int:
        if not self.requested:
            return min(waiting, 1)
        if self.load_seconds is None or waiting < BACKLOG_PER_ACTOR * self.requested:
            return 0
        price = PAYBACK * self.load_seconds
        count = min(int(self.credit // price) if price else self.requested, self.max_actors - self.requested)
        self.credit -= count * price
        return count

    def loaded(self, seconds: float) -> None:
        """Record how long after its request an actor had its models loaded."""
        self.load_seconds = seconds

    def scored(self, seconds: float) -> None:
        """Record that an actor has scored; credit is limited to what doubles the number of actors."""
        limit = self.requested * PAYBACK * (self.load_seconds or 0.0)
        self.credit = min(self.credit + seconds, limit)

    def ended(self) -> None:
        """Record that an idle actor was ended, and forget the credit."""
        self.requested -= 1
        self.credit = 0.0
