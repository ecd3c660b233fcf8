"""Results with curves and odd answers, made with fakes for models: fast, and read as real ones are."""

from dataclasses import replace
from pathlib import Path

from benchmark.scoring.backends import ScoringBackends
from benchmark.scoring.profiles import find_profile
from benchmark.scoring.scorer import score_submission
from benchmark.surprisal.engine import SurprisalReader
from submissions.checking.validate import open_submission
from submissions.gaming.baselines import write_demo_submissions
from submissions.schema import Row
from submissions.storage.submission_folders import write_submission
from tests.benchmark.fakes import HashEmbedder, HashLM, HashReward

ODD = (
    "One answer, to begin with.",
    "   ",
    "[Blocked]",
    "I'm sorry, but I can't help with that.",
    "One answer, to begin with.",
    "An answer that was cut off in the mid",
    "A \u202eturned\u202c answer with a bell\x07.",
    "Something else altogether, about whales.",
    "one answer to begin with",
    "A walnut tree says nothing.",
)
REASONS = (*(["stop"] * 5), "length", *(["stop"] * 4))
STAGES = ("base", "sft", "dpo")


def backends() -> ScoringBackends:
    """Those of the profile offline, with fakes for its models and a reward model."""
    profile = replace(find_profile("offline"), reward=HashReward()).replace(equivalence="rouge-1")
    reader = SurprisalReader(HashLM(), profile.layout, profile.orders)
    return ScoringBackends(profile, embedder=HashEmbedder(), reader=reader)


def odd_results(folder: Path) -> Path:
    """Two systems on the demonstration's prompts: one varied, and one that gives the odd answers to every prompt."""
    varied, *_ = write_demo_submissions(folder / "submissions")
    submission, _, _ = open_submission(varied)
    odd = folder / "submissions" / "odd"
    odd.mkdir()
    rows = [Row(row.number, row.prompt_id, row.prompt, ODD, REASONS) for row in submission.rows()]
    write_submission(odd, submission.manifest.model_copy(update={"name": "odd"}), rows)
    return _scored([varied, odd], folder / "results")


def stage_results(folder: Path) -> Path:
    """Three systems that are stages of one model by their names, the later the less varied, and one that is none.

    The last stage has no answers to the first prompt, so it has no curve there.
    """
    written = write_demo_submissions(folder / "submissions")
    made = [written[0]]
    for stage, texts in zip(STAGES, written[:3], strict=True):
        submission, _, _ = open_submission(texts)
        rows = list(submission.rows())
        if stage == STAGES[-1]:
            rows[0] = replace(rows[0], responses=("",) * len(rows[0].responses))
        made.append(folder / "submissions" / stage)
        made[-1].mkdir()
        write_submission(made[-1], submission.manifest.model_copy(update={"name": f"Toy-1B-{stage.upper()}"}), rows)
    return _scored(made, folder / "results")


def _scored(submissions: list[Path], results: Path) -> Path:
    score = backends()
    for each in submissions:
        submission, suite, _ = open_submission(each)
        score_submission(submission, suite, score, results)
    return results
