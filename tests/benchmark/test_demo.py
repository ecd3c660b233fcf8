"""The demonstration's six systems, scored with the real embedder: metrics put them in the order they were made for."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from benchmark.metrics import METRICS, Metric
from benchmark.models.embedder import SentenceTransformersEmbedder
from benchmark.scoring.backends import ScoringBackends
from benchmark.scoring.profiles import find_profile
from benchmark.scoring.results import Aggregate, Result
from benchmark.scoring.scorer import score_submission
from datasets_build.schema import Suite
from submissions.checking.validate import open_submission, validate
from submissions.gaming.baselines import write_demo_submissions
from submissions.storage.submission_folders import Submission, write_submission

OFFLINE = find_profile("offline")
COMPUTED = [metric for metric in OFFLINE.metrics() if metric.reads != "reported" and metric.direction]
EACH = pytest.mark.parametrize("metric", COMPUTED, ids=lambda metric: metric.id)
SYSTEMS = ["varied", "paraphrased", "collapsed", "repeated", "random-characters", "shuffled-words"]


SURPRISALS = tuple(metric for metric in METRICS if metric.reads.startswith("surprisals"))
WORDS = tuple(metric for metric in METRICS if metric.reads.startswith(("responses", "ngrams", "reported")))
MEANINGS = tuple(metric for metric in METRICS if metric not in SURPRISALS + WORDS)
FEW = (1, 3, 20)
Results = dict[str, Result]


def scored(folder: Path, prompts: Sequence[int], backends: ScoringBackends, metrics: tuple[Metric, ...]) -> Results:
    """The result of each demo system, over some of the prompts."""
    found = {}
    for path in write_demo_submissions(folder / "submissions"):
        submission, suite = part_of(path, prompts, folder / "parts" / path.name)
        result = score_submission(submission, suite, backends, folder / "results", metrics=metrics).result
        found[result.manifest.name] = result
    return found


def part_of(folder: Path, prompts: Sequence[int], out: Path) -> tuple[Submission, Suite]:
    """A submission with some of the prompts of another."""
    submission, whole, _ = open_submission(folder)
    out.mkdir(parents=True)
    rows = list(submission.rows())
    write_submission(out, submission.manifest, [rows[place] for place in prompts])
    suite = replace(whole, prompts=tuple(whole.prompts[place] for place in prompts))
    part = validate(out, lambda name: suite).submission
    assert part is not None
    return part, suite


# Models take nearly all of the time, by the length of the answers: they read prompts with short ones, by whose metrics
# systems are further apart than models and machines differ.


@pytest.fixture(scope="module")
def words(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """By metrics of the words, over half of the prompts."""
    return scored(tmp_path_factory.mktemp("words"), range(0, 24, 2), ScoringBackends(OFFLINE), WORDS)


@pytest.fixture(scope="module")
def meanings(tmp_path_factory: pytest.TempPathFactory, minilm: SentenceTransformersEmbedder) -> Results:
    """By metrics of what the real embedder makes, and by those of what it and the rules take for one answer."""
    backends = ScoringBackends(OFFLINE, embedder=minilm)
    return scored(tmp_path_factory.mktemp("meanings"), FEW, backends, MEANINGS)


@pytest.fixture(scope="module")
def surprisals(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """By metrics of surprisals."""
    folder = tmp_path_factory.mktemp("surprisals")
    return scored(folder, (4, 12), ScoringBackends(OFFLINE, folder / "cache.sqlite"), SURPRISALS)


@pytest.fixture
def known(metric: Metric, request: pytest.FixtureRequest) -> Results:
    """The results that have a metric."""
    name = "surprisals" if metric in SURPRISALS else "words" if metric in WORDS else "meanings"
    found: Results = request.getfixturevalue(name)
    return found


def aggregate(result: Result, metric: Metric) -> Aggregate:
    return next(score for score in result.scores if score.metric == metric.id)


def diversity(result: Result, metric: Metric) -> float:
    """The mean, so turned that more is more diverse."""
    value = aggregate(result, metric).value
    assert value is not None
    return metric.direction * value


def test_all_six_systems_are_scored(words: Results, meanings: Results, surprisals: Results) -> None:
    assert list(words) == list(meanings) == list(surprisals) == SYSTEMS
    for found, prompts in ((words, 12), (meanings, len(FEW)), (surprisals, 2)):
        assert {(result.prompts, result.k, result.suite) for result in found.values()} == {(prompts, 10, "demo")}
    of_all = {score.metric for found in (words, meanings, surprisals) for score in found["varied"].scores}
    assert of_all == {metric.id for metric in OFFLINE.metrics()}


@EACH
def test_repeated_text_is_least_diverse_by_every_metric(known: Results, metric: Metric) -> None:
    values = {name: diversity(result, metric) for name, result in known.items()}
    if metric.id == "valid_distinct_k":  # which most junk does not reach
        assert values.pop("random-characters") <= 1
        assert values.pop("shuffled-words") <= 3
    if metric.id != "self_repetition":  # a sum over phrases: of copies, longer ones have more
        assert values["repeated"] <= min(values.values()) + 1e-9
    assert values["repeated"] < values["varied"]


@EACH
def test_the_written_systems_stand_in_their_known_order(known: Results, metric: Metric) -> None:
    varied, paraphrased, collapsed = (diversity(known[name], metric) for name in SYSTEMS[:3])
    assert varied > paraphrased > collapsed


@pytest.mark.parametrize("name", ["embedding_diversity", "vendi_score"])
def test_varied_answers_stand_clear_of_the_less_varied(meanings: Results, name: str) -> None:
    metric = next(m for m in METRICS if m.id == name)
    varied = aggregate(meanings["varied"], metric)
    assert varied.low is not None
    for other in ("paraphrased", "collapsed", "repeated"):
        high = aggregate(meanings[other], metric).high
        assert high is not None
        assert varied.low > high  # the intervals do not touch


@pytest.mark.parametrize("metric", [m for m in METRICS if m.reads == "embeddings"], ids=lambda metric: metric.id)
def test_random_characters_do_not_pass_for_varied_answers(meanings: Results, metric: Metric) -> None:
    # Lexical metrics cannot tell: to most of them nothing is more diverse than random characters.
    assert diversity(meanings["random-characters"], metric) < diversity(meanings["varied"], metric)


def test_what_nobody_reported_is_absent_and_not_invented(words: Results) -> None:
    for result in words.values():
        for score in result.scores:
            if score.origin == "reported":
                assert (score.value, score.n, score.missing) == (None, 0, {"not reported": 12})


def test_results_can_be_compared(words: Results, meanings: Results, surprisals: Results) -> None:
    for found in (words, meanings, surprisals):
        assert len({tuple(score.signature for score in result.scores) for result in found.values()}) == 1
        assert len({result.result_id for result in found.values()}) == len(SYSTEMS)
