"""Score a submission of a synthetic suite on a Ray cluster whose actors and machines are killed on request.

Not a test: `python -m tests.benchmark.run_cluster SUBMISSION RESULTS …` from the repository's root.
"""

import argparse
import json
import os
import signal
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmark.cluster import actor, pool
from benchmark.cluster.connection import ActorLost, Cluster
from benchmark.cluster.session import open_cluster
from benchmark.models.embedder import Embedder, TokenStates
from benchmark.scoring import shards
from benchmark.scoring.backends import ScoringBackends
from benchmark.scoring.profiles import find_profile
from benchmark.scoring.scorer import Options, score_submission
from benchmark.validity.backend import ValidityJudge
from divbench.core.errors import ConfigurationError, DivBenchError
from submissions.checking.validate import validate
from tests.benchmark.fakes import HashEmbedder
from tests.benchmark.helpers import HASH_READER, suite_of

SHARD = 8  # prompts
DOOMED_NODE = "DIVBENCH_TEST_DOOMED_NODE"  # in the environment of a machine that may be killed


@dataclass(slots=True)
class TroublesomeEmbedder:
    """As `HashEmbedder`, but a response with a given text kills the actor or its machine, or raises an error.

    Attributes:
        what: *actor*: killed; *machine*: killed, if it is a doomed one; *refuses*: an error of ours is raised.
        text: Text in a response; the empty one is in all.
        marker: File whose existence means that it has happened; None: it happens every time.
    """

    what: str
    text: str
    marker: Path | None
    signature: str = HashEmbedder.signature

    def embed(self, texts: Sequence[str]) -> NDArray[np.float64]:
        here = self.what != "machine" or DOOMED_NODE in os.environ
        if not here:
            self._wait_for_the_others()
        done = self.marker is not None and self.marker.exists()
        if here and not done and any(self.text in each for each in texts):
            if self.marker is not None:
                self.marker.touch()
            if self.what == "refuses":
                raise ConfigurationError("the embedder is out of order", "repair it")
            os.kill(os.getppid() if self.what == "machine" else os.getpid(), signal.SIGKILL)
        return HashEmbedder().embed(texts)

    def read(self, texts: Sequence[str]) -> list[TokenStates]:
        return HashEmbedder().read(texts)

    def _wait_for_the_others(self) -> None:
        """Until the doomed machine has something in hand: else all may be done before its actors are up."""
        until = time.monotonic() + 200
        while self.marker is not None and not self.marker.exists() and time.monotonic() < until:
            time.sleep(0.05)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("submission", type=Path)
    parser.add_argument("results", type=Path)
    parser.add_argument("--prompts", type=int, required=True)
    parser.add_argument("--address", required=True)
    parser.add_argument("--actors", type=int, default=2)
    parser.add_argument("--patience", type=float, default=300)
    parser.add_argument("--other-numpy", action="store_true", help="here; the actors have their own")
    parser.add_argument("--trouble", default="none")
    parser.add_argument("--text", default="")
    parser.add_argument("--marker", type=Path)
    parser.add_argument("--kill-after", type=int, help="prompts")
    given = parser.parse_args()

    def progress(prompts: int) -> None:
        if given.kill_after is not None and prompts >= given.kill_after:
            os.kill(os.getpid(), signal.SIGKILL)

    if given.other_numpy:
        real = actor.versions_of
        setattr(pool, "versions_of", lambda backends: real(backends) | {"numpy": "0.1"})  # noqa: B010
    shards.SHARD_PROMPTS = SHARD
    suite = suite_of(given.prompts)
    submission = validate(given.submission, lambda name: suite).submission
    assert submission is not None
    embedder: Embedder = HashEmbedder()
    if given.trouble != "none":
        embedder = TroublesomeEmbedder(given.trouble, given.text, given.marker)
    backends = ScoringBackends(find_profile("offline"), embedder=embedder, reader=HASH_READER, validity=ValidityJudge())
    lost: list[ActorLost] = []
    place = Cluster(given.address, given.actors, patience=given.patience, events=lost.append)
    try:
        with open_cluster(place, backends, backends.profile.metrics()) as session:
            scored = score_submission(
                submission,
                suite,
                backends,
                given.results,
                Options(resamples=200),
                progress=progress,
                run=session.run,
            )
        report = {"folder": scored.folder.name, "recognised": scored.recognised, "resumed": scored.resumed}
    except DivBenchError as error:
        report = error.as_json()
    sys.stdout.write(json.dumps(report | {"lost": len(lost), "again": sum(each.prompts for each in lost)}))


if __name__ == "__main__":
    main()
