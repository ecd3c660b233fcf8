"""How many actors a cluster is asked for: all at once, or ever more as those that are there earn what another costs.

An actor that comes up takes a GPU for as long as it loads its models, and scores nothing. Where machines are paid for
only while they are used, that decides what little work costs: sixty-four actors for ten submissions load for longer
than they score. So one that grows begins with one actor, and asks for another whenever those that are there have scored
for `EARNS` times as long as one loads, while they have enough to do. Loading after the first is then no more than a
fifth of what is paid for, without anyone having to guess how much will come; and their number grows exponentially.
"""

from dataclasses import dataclass

HUNGRY = 2  # shards an actor: fewer that wait are soon done
EARNS = 4  # seconds of scoring that pay for one of loading
KEPT = 600.0  # seconds without work, after which an actor that may grow again is let go


@dataclass(slots=True)
class Autoscaler:
    """The number of actors that were asked for, and when another is.

    Attributes:
        most: Actors, at once.
        elastic: Ask for more as those that are there have earned them; else for all at once.
        asked: Actors that are there or on their way.
        loading: Seconds that the last one took from being asked for to having its models; None: none is there yet.
        earned: Seconds of scoring that have not been spent on another actor.
    """

    most: int
    elastic: bool = False
    asked: int = 0
    loading: float | None = None
    earned: float = 0.0

    def more(self, waiting: int) -> int:
        """How many actors to ask for now; they are counted as asked for.

        Args:
            waiting: Shards that nobody has been given yet.
        """
        made = self.most - self.asked if not self.elastic else self._earned_ones(waiting)
        self.asked += made
        return made

    def _earned_ones(self, waiting: int) -> int:
        if not self.asked:
            return min(waiting, 1)
        if self.loading is None or waiting < HUNGRY * self.asked:
            return 0
        price = EARNS * self.loading
        made = min(int(self.earned // price) if price else self.asked, self.most - self.asked)
        self.earned -= made * price
        return made

    def came_up(self, seconds: float) -> None:
        """An actor has its models, so long after it was asked for."""
        self.loading = seconds

    def scored(self, seconds: float) -> None:
        """An actor has scored for so long. What is earned while nothing waits pays for twice as many, and no more."""
        most = self.asked * EARNS * (self.loading or 0.0)
        self.earned = min(self.earned + seconds, most)

    def let_go(self) -> None:
        """An actor was let go, and what was earned with it is forgotten: others are asked for when they are earned."""
        self.asked -= 1
        self.earned = 0.0
