"""The demonstration's six systems, scored with the real embedder: metrics put them in the order they were made for."""

from dataclasses import replace
from pathlib import Path

import pytest

from benchmark.metrics import METRICS, Metric
from benchmark.models.embedder import SentenceTransformersEmbedder
from benchmark.scoring.backends import ScoringBackends
from benchmark.scoring.profiles import find_profile
from benchmark.scoring.result_schema import Aggregate, Result
from benchmark.scoring.scorer import score_submission
from datasets_build.schema import Suite
from submissions.checking.validate import open_submission, validate
from submissions.demo.build import write_demo_submissions
from submissions.storage.submission_folders import Submission, write_submission

OFFLINE = find_profile("offline")
COMPUTED = [metric for metric in OFFLINE.metrics() if metric.reads != "reported" and metric.direction]
EACH = pytest.mark.parametrize("metric", COMPUTED, ids=lambda metric: metric.id)
SYSTEMS = ["varied", "paraphrased", "collapsed", "repeated", "random-characters", "shuffled-words"]


SURPRISALS = tuple(metric for metric in METRICS if metric.reads.startswith("surprisals"))
OTHERS = tuple(metric for metric in METRICS if metric not in SURPRISALS)
Results = dict[str, Result]


HALF = slice(0, 24, 2)
FEW = slice(4, 17, 4)  # four prompts, by which systems are further apart than models and machines differ


def part_of(folder: Path, prompts: slice, out: Path) -> tuple[Submission, Suite]:
    """A submission with some of the prompts of another."""
    submission, whole, _ = open_submission(folder)
    out.mkdir(parents=True)
    write_submission(out, submission.manifest, list(submission.rows())[prompts])
    suite = replace(whole, prompts=whole.prompts[prompts])
    part = validate(out, lambda name: suite).submission
    assert part is not None
    return part, suite


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory, minilm: SentenceTransformersEmbedder) -> Results:
    """The result of each demo system under the `offline` profile, over half of the prompts, all but surprisals."""
    folder = tmp_path_factory.mktemp("demo")
    backends, found = ScoringBackends(OFFLINE, embedder=minilm), {}
    for path in write_demo_submissions(folder / "submissions"):
        submission, suite = part_of(path, HALF, folder / "parts" / path.name)
        scored = score_submission(submission, suite, backends, folder / "results", metrics=OTHERS)
        found[scored.result.manifest.name] = scored.result
    return found


@pytest.fixture(scope="module")
def surprisals(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """The same of surprisals, over a few prompts: the language model takes ten times as long as all else."""
    folder = tmp_path_factory.mktemp("demo")
    backends, found = ScoringBackends(OFFLINE, folder / "cache.sqlite"), {}
    for path in write_demo_submissions(folder / "submissions"):
        submission, suite = part_of(path, FEW, folder / "parts" / path.name)
        scored = score_submission(submission, suite, backends, folder / "results", metrics=SURPRISALS)
        found[scored.result.manifest.name] = scored.result
    return found


@pytest.fixture
def known(metric: Metric, request: pytest.FixtureRequest) -> Results:
    """The results that have a metric."""
    found: Results = request.getfixturevalue("surprisals" if metric in SURPRISALS else "results")
    return found


def aggregate(result: Result, metric: Metric) -> Aggregate:
    return next(score for score in result.scores if score.metric == metric.id)


def diversity(result: Result, metric: Metric) -> float:
    """The mean, so turned that more is more diverse."""
    value = aggregate(result, metric).value
    assert value is not None
    return metric.direction * value


def test_all_six_systems_are_scored(results: Results, surprisals: Results) -> None:
    assert list(results) == list(surprisals) == SYSTEMS
    assert {(result.prompts, result.k, result.suite) for result in results.values()} == {(12, 10, "demo")}
    assert {(result.prompts, result.k) for result in surprisals.values()} == {(4, 10)}
    of_both = {score.metric for found in (results, surprisals) for score in found["varied"].scores}
    assert of_both == {metric.id for metric in OFFLINE.metrics()}


@EACH
def test_repeated_text_is_least_diverse_by_every_metric(known: Results, metric: Metric) -> None:
    values = {name: diversity(result, metric) for name, result in known.items()}
    if metric.id == "valid_distinct_k":  # which junk does not reach
        assert max(values.pop("shuffled-words"), values.pop("random-characters")) <= 1
    if metric.id != "self_repetition":  # a sum over phrases: of copies, longer ones have more
        assert values["repeated"] <= min(values.values()) + 1e-9
    assert values["repeated"] < values["varied"]


@EACH
def test_the_written_systems_stand_in_their_known_order(known: Results, metric: Metric) -> None:
    varied, paraphrased, collapsed = (diversity(known[name], metric) for name in SYSTEMS[:3])
    assert varied > paraphrased > collapsed


@pytest.mark.parametrize("name", ["embedding_diversity", "vendi_score"])
def test_varied_answers_stand_clear_of_the_less_varied(results: Results, name: str) -> None:
    metric = next(m for m in METRICS if m.id == name)
    varied = aggregate(results["varied"], metric)
    assert varied.low is not None
    for other in ("paraphrased", "collapsed", "repeated"):
        high = aggregate(results[other], metric).high
        assert high is not None
        assert varied.low > high  # the intervals do not touch


@pytest.mark.parametrize("metric", [m for m in METRICS if m.reads == "embeddings"], ids=lambda metric: metric.id)
def test_random_characters_do_not_pass_for_varied_answers(results: Results, metric: Metric) -> None:
    # Lexical metrics cannot tell: to most of them nothing is more diverse than random characters.
    assert diversity(results["random-characters"], metric) < diversity(results["varied"], metric)


def test_what_nobody_reported_is_absent_and_not_invented(results: Results) -> None:
    for result in results.values():
        for score in result.scores:
            if score.origin == "reported":
                assert (score.value, score.n, score.missing) == (None, 0, {"not reported": 12})


def test_results_can_be_compared(results: Results, surprisals: Results) -> None:
    for found in (results, surprisals):
        assert len({tuple(score.signature for score in result.scores) for result in found.values()}) == 1
        assert len({result.result_id for result in found.values()}) == len(SYSTEMS)
