"""Scores a submission for a made-up suite in a process of its own, which tests kill, starve, or look into.

Not a test: `python -m tests.benchmark.run_scorer SUBMISSION RESULTS …` from the repository's root.
"""

import argparse
import json
import os
import resource
import signal
import sys
from pathlib import Path

from benchmark.scoring import shards
from benchmark.scoring.backends import ScoringBackends
from benchmark.scoring.profiles import find_profile
from benchmark.scoring.scorer import Options, score_submission
from benchmark.validity.backend import ValidityJudge
from submissions.checking.validate import validate
from tests.benchmark.fakes import HashEmbedder
from tests.benchmark.helpers import HASH_READER, suite_of

SHARD = 8  # prompts


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("submission", type=Path)
    parser.add_argument("results", type=Path)
    parser.add_argument("--prompts", type=int, required=True)
    parser.add_argument("--profile", default="offline")
    parser.add_argument("--k", type=int)
    parser.add_argument("--kill-after", type=int, help="prompts")
    parser.add_argument("--largest-file", type=int, help="bytes; writing more fails as on a full disk")
    parser.add_argument("--deadly", action="store_true", help="writing more kills, in the middle of the write")
    given = parser.parse_args()

    def progress(prompts: int) -> None:
        if prompts == given.kill_after:
            os.kill(os.getpid(), signal.SIGKILL)

    shards.SHARD_PROMPTS = SHARD
    suite, profile = suite_of(given.prompts), find_profile(given.profile)
    submission = validate(given.submission, lambda name: suite).submission
    assert submission is not None
    if given.deadly:
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    if given.largest_file is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (given.largest_file, given.largest_file))
    scored = score_submission(
        submission,
        suite,
        ScoringBackends(
            profile,
            embedder=HashEmbedder() if profile.embedder else None,
            reader=HASH_READER if profile.causal_lm else None,
            validity=ValidityJudge() if profile.embedder else None,
        ),
        given.results,
        Options(k=given.k, resamples=200),
        progress=progress,
    )
    report = {"folder": scored.folder.name, "recognised": scored.recognised, "resumed": scored.resumed}
    sys.stdout.write(json.dumps(report | {"modules": sorted(sys.modules)}))


if __name__ == "__main__":
    main()
