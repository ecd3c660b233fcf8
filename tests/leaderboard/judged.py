"""Results whose answers have qualities: the demonstration, scored at the profile lexical with a fake reward model."""

from dataclasses import replace
from pathlib import Path

from benchmark.scoring.backends import ScoringBackends
from benchmark.scoring.profiles import find_profile
from benchmark.scoring.scorer import score_submission
from submissions.checking.validate import open_submission
from submissions.gaming.baselines import write_demo_submissions
from tests.benchmark.fakes import HashReward


def judged_results(folder: Path) -> Path:
    """Six systems on the demonstration's prompts, with classes by ROUGE-1 and qualities."""
    backends = ScoringBackends(replace(find_profile("lexical"), reward=HashReward()))
    for each in write_demo_submissions(folder / "submissions"):
        submission, suite, _ = open_submission(each)
        score_submission(submission, suite, backends, folder / "results")
    return folder / "results"
