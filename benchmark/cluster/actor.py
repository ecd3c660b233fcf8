"""The process that scores shards, possibly on another machine."""

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
from divbench.core.errors import DivBenchError


@dataclass(frozen=True, slots=True)
class RemoteError:
    """An error of this package, packed for sending to another process."""

    error: DivBenchError  # an error that every other actor would raise as well
    # Its chain of `__cause__`, which pickling drops; it shows whether the error is a host failure.
    causes: tuple[BaseException, ...] = ()

    @classmethod
    def pack(cls, error: DivBenchError) -> "RemoteError":
        """Pack an error with its causes; those that cannot be pickled become text."""
        causes: list[BaseException] = []
        cause = error.__cause__
        while cause is not None:
            causes.append(_picklable(cause))
            cause = cause.__cause__
        return cls(error, tuple(causes))

    def unpack(self) -> DivBenchError:
        """Return the error with its chain of causes restored."""
        last: BaseException = self.error
        for cause in self.causes:
            last.__cause__ = cause
            last = cause
        return self.error


class Actor:
    """Holds the models of a profile, loaded once."""

    def __init__(self, backends: ScoringBackends) -> None:
        self._backends = backends

    def load(self, metrics: Sequence[Metric]) -> tuple[str, dict[str, str], RemoteError | None]:
        """Load the models of metrics; return the host's name, its versions, and why the models cannot be loaded."""
        failure = None
        try:
            self._backends.load(metrics)
        except DivBenchError as error:
            failure = RemoteError.pack(error)
        return platform.node(), versions_of(self._backends), failure

    def score(self, shard: Shard, metrics: Sequence[Metric]) -> pa.Table | RemoteError:
        """Score a shard; an error of this package is returned, since another actor would raise it as well."""
        try:
            return score_shard(shard, metrics, self._backends)
        except DivBenchError as error:
            return RemoteError.pack(error)


def versions_of(backends: ScoringBackends) -> dict[str, str]:
    """Return the public versions of everything that numbers may depend on.

    Local labels are dropped, because torch 2.13.0+cpu (on a head without a GPU) and 2.13.0+cu130 are the same release.
    The provenance of a result has the full versions of the machines that computed it.
    """
    ours = {"divbench": version("divbench"), "Python": platform.python_version()}
    found = ours | library_versions(backends.profile)
    return {name: each.partition("+")[0] for name, each in found.items()}


def _picklable(error: BaseException) -> BaseException:
    """Return the exception if it survives pickling, else one with the same text."""
    try:
        found = pickle.loads(pickle.dumps(error))  # noqa: S301 - what was written in the same line
        return found if isinstance(found, BaseException) else RuntimeError(str(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
