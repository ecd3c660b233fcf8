"""Results whose answers have qualities: the demonstration, scored at the profile lexical with a fake reward model."""

from dataclasses import replace
from pathlib import Path

from benchmark.metrics import METRICS
from benchmark.models.embedder import ALL_MINILM_L6_V2
from benchmark.scoring.backends import ScoringBackends
from benchmark.scoring.profiles import find_profile
from benchmark.scoring.scorer import Options, Scored, score_submission
from benchmark.validity.backend import ValidityJudge
from submissions.checking.validate import open_submission
from submissions.gaming.baselines import write_demo_submissions
from tests.benchmark.fakes import HashReward

_WORDS = find_profile("lexical")
# Metrics of words, and of validity as texts alone tell it, so that boards have the headline without an embedder.
_METRICS = tuple(
    m for m in METRICS if m in _WORDS.metrics() or m.reads in ("partition+validity", "partition+estimates")
)


def score_words(folder: Path, results: Path, seed: int = 0) -> Scored:
    """Score a submission by words, with the headline."""
    submission, suite, _ = open_submission(folder)
    backends = ScoringBackends(replace(_WORDS, embedder=ALL_MINILM_L6_V2), validity=ValidityJudge())
    return score_submission(submission, suite, backends, results, Options(seed=seed), metrics=_METRICS)


def judged_results(folder: Path) -> Path:
    """Six systems on the demonstration's prompts, with classes by ROUGE-1 and qualities."""
    backends = ScoringBackends(replace(find_profile("lexical"), reward=HashReward()))
    for each in write_demo_submissions(folder / "submissions"):
        submission, suite, _ = open_submission(each)
        score_submission(submission, suite, backends, folder / "results")
    return folder / "results"
