"""What the tests of this folder share: golden numbers, suites and submissions of any size, values of one metric."""

import json
from collections.abc import Callable, Sequence
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmark.metrics import METRICS, Metric, Reads
from benchmark.metrics.eigenscore import covariances_of
from benchmark.metrics.internals import Internals, ResponseScores
from benchmark.metrics.metric import Missing
from benchmark.metrics.partition import Partition, of_reported
from benchmark.models.embedder import Embedder
from benchmark.models.tagger import PATTERN_TAGGER, Tagger
from benchmark.scoring.inputs import Materials, score_sets
from benchmark.scoring.internals_file import INTERNALS_FILE, HowRead, InternalsFile, open_internals, write_internals
from benchmark.surprisal.engine import OrderPlan, ResponseSet, SurprisalReader
from benchmark.surprisal.prompt_layout import Layout
from benchmark.validity.backend import ValidityJudge
from datasets_build.schema import Prompt, Suite
from submissions.checking.response_kinds import is_scorable, scorable_responses
from submissions.checking.validate import validate
from submissions.schema import Generation, Manifest, Reported, Row, Submitter, System
from submissions.storage.submission_folders import Submission, write_submission
from tests.benchmark.fakes import HashEmbedder, HashLM, HashPairScorer

ROOT = Path(__file__).parents[2]
GOLDEN = ROOT / "tests" / "golden"
HASH_READER = SurprisalReader(HashLM(), Layout(), OrderPlan())
HASH_PAIR_SCORERS: dict[Reads, HashPairScorer] = {
    "pairs:bert_score": HashPairScorer(),
    "pairs:sts": HashPairScorer(),
}
WORDS = ("river", "stone", "lamp", "violet", "engine", "quick", "marble", "under", "paper", "salt", "window", "north")


def golden(name: str) -> dict[str, Any]:
    """A file of reference numbers. Each says where its numbers come from."""
    values: dict[str, Any] = json.loads((GOLDEN / f"{name}.json").read_text(encoding="utf-8"))
    assert values["origin"]
    return values


def text_classes(responses: Sequence[str], score: float = 5.0) -> Reported:
    """Equal texts as classes, each of the same quality: stands in for a judge's partition."""
    heads: dict[str, int] = {}
    labels = tuple(heads.setdefault(text, len(heads)) for text in responses)
    firsts = {labels.index(label) for label in set(labels)}
    scores = tuple(score if place in firsts else 0.0 for place in range(len(labels)))
    return Reported(labels, scores, len(heads), None)


def _text_partition(responses: Sequence[str]) -> Partition:
    """`text_classes` of the answers; what is no answer is in no class."""
    part = of_reported(text_classes(scorable_responses(responses)))
    labels, qualities = iter(part.labels), iter(part.qualities or ())
    places = [is_scorable(text) for text in responses]
    return Partition(
        tuple(next(labels) if there else None for there in places),
        tuple(next(qualities) if there else None for there in places),
    )


def hash_internals(responses: Sequence[str]) -> Internals:
    """Internals that depend on each text alone: stands in for a model. A blank text has no states."""
    scores, states = [], np.full((3, len(responses), 16), np.nan)
    for place, text in enumerate(responses):
        rng = np.random.default_rng(list(text.encode()))
        tokens = len(text.split()) + 1  # as if it had an end
        mean, largest, entropy = (tokens * rng.exponential(size=3)).tolist()
        scores.append(ResponseScores(tokens, -mean, -largest, tokens * float(rng.normal(20)), entropy))
        if text.strip():
            states[:, place] = rng.standard_normal((3, 16))
    last, mean = covariances_of(4, (2,), states[:1], "last"), covariances_of(4, (2, 3), states[1:], "mean")
    return Internals(tuple(scores), ResponseScores(4, -3.0, -3.0, 80.0, 5.0), last, mean)


def internals_of_submission(submission: Submission) -> InternalsFile:
    """`hash_internals` of all its responses, in the file where they are looked for."""
    how = HowRead(
        submission_id=submission.id,
        k=submission.manifest.generation.k,
        model="hash",
        blocks=4,
        features=16,
        original_layer=2,
        average_layers=(2, 3),
        tokens="text",
        drawing=None,
        prompt="none",
    )
    path = submission.folder / INTERNALS_FILE
    rows = sorted(submission.rows(), key=lambda row: row.prompt_id)
    if not path.exists():
        write_internals(path, how, ((row.prompt_id, hash_internals(row.responses)) for row in rows))
    return open_internals(path, submission.id)


@cache
def pattern_tagger() -> Tagger:
    """The tagger of parts of speech, loaded once."""
    return PATTERN_TAGGER.load()


def values_of(
    responses: Sequence[str], metrics: Sequence[Metric] = METRICS, embedder: Embedder | None = None
) -> dict[str, float | Missing]:
    """The values of metrics for one set, as the scorer gets them, in the order of the metrics."""
    found: dict[str, float | Missing] = {}
    for classed in (False, True):  # some metrics have the classes of all responses, the others of the scored
        found |= score_sets(
            Materials(
                [responses],
                embedder=embedder or HashEmbedder(),
                pair_scorers=HASH_PAIR_SCORERS,
                surprisals=HASH_READER.read([ResponseSet("Say a thing.", scorable_responses(responses))]),
                partitions=[
                    _text_partition(responses) if classed else of_reported(text_classes(scorable_responses(responses)))
                ],
                internals=[hash_internals(responses)],
                reported=[text_classes(responses)],
                prompts=["Say a thing."],
                validity=ValidityJudge(),
                tagger=pattern_tagger(),
            ),
            [m for m in metrics if (m.reads.startswith("partition+") and m.reads != "partition+rewards") == classed],
            ["it"],
        )[0]
    return {metric.id: found[metric.id] for metric in metrics}


def value_of(metric: Metric, responses: Sequence[str], embedder: Embedder | None = None) -> float | Missing:
    """The value of one metric for one set, as the scorer gets it."""
    return values_of(responses, [metric], embedder)[metric.id]


def suite_of(prompts: int) -> Suite:
    """A suite of that many prompts."""
    made = (Prompt(f"p-{i:04}", "Even" if i % 2 == 0 else "Odd", f"Say thing {i}.") for i in range(prompts))
    return Suite("made-up", "Made up", tuple(made))


def random_responses(place: int, k: int) -> tuple[str, ...]:
    """Responses drawn from a few words; always the same ones for a place."""
    rng = np.random.default_rng(place)
    return tuple(" ".join(rng.choice(WORDS, size=rng.integers(2, 9))) for _ in range(k))


def rows_of(suite: Suite, k: int, responses: Callable[[int, int], tuple[str, ...]] = random_responses) -> list[Row]:
    """Rows that answer a suite."""
    return [Row(i + 1, p.prompt_id, p.prompt, responses(i, k)) for i, p in enumerate(suite.prompts)]


def submit(
    folder: Path, suite: Suite, rows: Sequence[Row], reported: Sequence[tuple[str, Reported]] = ()
) -> Submission:
    """Write a submission and let it pass the checks."""
    folder.mkdir(parents=True)
    manifest = Manifest(
        name="made-up system",
        suite=suite.name,
        system=System(type="model"),
        generation=Generation(k=len(rows[0].responses)),
        submitter=Submitter(name="tester", date=date(2026, 1, 1)),
    )
    write_submission(folder, manifest, rows, reported)
    report = validate(folder, lambda name: suite)
    assert report.submission is not None, report.findings.problems
    return report.submission
