"""What scores shards in a process of its own, perhaps on another machine."""

import pickle
import platform
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version

import pyarrow as pa

from benchmark.metrics import Metric
from benchmark.scoring.backends import ScoringBackends
from benchmark.scoring.scorer import library_versions
from benchmark.scoring.shards import Shard, score_shard
from datasets_build.errors import DivBenchError


@dataclass(frozen=True, slots=True)
class Failed:
    """An error of ours on its way here.

    Attributes:
        error: That would be the same on any other actor.
        causes: What it came from, which pickling would lose, and which tells whose fault it is.
    """

    error: DivBenchError
    causes: tuple[BaseException, ...] = ()

    @classmethod
    def of(cls, error: DivBenchError) -> "Failed":
        """With its causes, as far as they can travel."""
        causes: list[BaseException] = []
        cause = error.__cause__
        while cause is not None:
            causes.append(_travelling(cause))
            cause = cause.__cause__
        return cls(error, tuple(causes))

    def whole(self) -> DivBenchError:
        """The error with its causes."""
        last: BaseException = self.error
        for cause in self.causes:
            last.__cause__ = cause
            last = cause
        return self.error


class Actor:
    """Holds the models of a profile, loaded once."""

    def __init__(self, instruments: ScoringBackends) -> None:
        self._instruments = instruments

    def come_up(self, metrics: Sequence[Metric]) -> tuple[str, dict[str, str], Failed | None]:
        """Load what metrics need. The machine, the versions there, and why the models cannot be loaded if so."""
        failed = None
        try:
            self._instruments.load(metrics)
        except DivBenchError as error:
            failed = Failed.of(error)
        return platform.node(), versions_of(self._instruments), failed

    def score(self, shard: Shard, metrics: Sequence[Metric]) -> pa.Table | Failed:
        """The table of a shard, or why there would be none anywhere."""
        try:
            return score_shard(shard, metrics, self._instruments)
        except DivBenchError as error:
            return Failed.of(error)


def versions_of(instruments: ScoringBackends) -> dict[str, str]:
    """Of all that numbers may depend on."""
    ours = {"divbench": version("divbench"), "Python": platform.python_version()}
    return ours | library_versions(instruments.profile)


def _travelling(error: BaseException) -> BaseException:
    """An exception, or another that says the same, where it cannot be pickled and read again."""
    try:
        found = pickle.loads(pickle.dumps(error))  # noqa: S301 - what was written in the same line
        return found if isinstance(found, BaseException) else RuntimeError(str(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
