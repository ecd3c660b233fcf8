"""The demonstration's six systems, scored with the real embedder: metrics put them in the order they were made for."""

import pytest

from benchmark.instruments import Instruments
from benchmark.metrics import METRICS, Metric
from benchmark.models.embedder import SentenceTransformersEmbedder
from benchmark.profiles import find_profile
from benchmark.schema import Aggregate, Result
from benchmark.scorer import score_submission
from benchmark.surprisal_cache import default_cache_path
from submissions.demo import write_demo_submissions
from submissions.validate import open_submission

OFFLINE = find_profile("offline")
COMPUTED = [metric for metric in OFFLINE.metrics() if metric.reads != "reported" and metric.direction]
EACH = pytest.mark.parametrize("metric", COMPUTED, ids=lambda metric: metric.id)
SYSTEMS = ["varied", "paraphrased", "collapsed", "repeated", "random-characters", "shuffled-words"]


@pytest.fixture(scope="session")
def results(tmp_path_factory: pytest.TempPathFactory, minilm: SentenceTransformersEmbedder) -> dict[str, Result]:
    """The result of each demo system under the `offline` profile."""
    folder = tmp_path_factory.mktemp("demo")
    found = {}
    # The cache is of the tests' own home: commands that score these systems later find it.
    instruments = Instruments(OFFLINE, default_cache_path(), minilm)
    for path in write_demo_submissions(folder / "submissions"):
        submission, suite, _ = open_submission(path)
        scored = score_submission(submission, suite, instruments, folder / "results")
        found[scored.result.manifest.name] = scored.result
    return found


def aggregate(result: Result, metric: Metric) -> Aggregate:
    return next(score for score in result.scores if score.metric == metric.id)


def diversity(result: Result, metric: Metric) -> float:
    """The mean, so turned that more is more diverse."""
    value = aggregate(result, metric).value
    assert value is not None
    return metric.direction * value


def test_all_six_systems_are_scored(results: dict[str, Result]) -> None:
    assert list(results) == SYSTEMS
    assert {(result.prompts, result.k, result.suite) for result in results.values()} == {(24, 10, "demo")}


@EACH
def test_repeated_text_is_least_diverse_by_every_metric(results: dict[str, Result], metric: Metric) -> None:
    values = {name: diversity(result, metric) for name, result in results.items()}
    assert values["repeated"] <= min(values.values()) + 1e-9
    assert values["repeated"] < values["varied"]


@EACH
def test_the_written_systems_stand_in_their_known_order(results: dict[str, Result], metric: Metric) -> None:
    varied, paraphrased, collapsed = (diversity(results[name], metric) for name in SYSTEMS[:3])
    assert varied > paraphrased > collapsed


@pytest.mark.parametrize("name", ["embedding_diversity", "vendi_score"])
def test_varied_answers_stand_clear_of_the_less_varied(results: dict[str, Result], name: str) -> None:
    metric = next(m for m in METRICS if m.id == name)
    varied = aggregate(results["varied"], metric)
    assert varied.low is not None
    for other in ("paraphrased", "collapsed", "repeated"):
        high = aggregate(results[other], metric).high
        assert high is not None
        assert varied.low > high  # the intervals do not touch


@pytest.mark.parametrize("metric", [m for m in METRICS if m.reads == "embeddings"], ids=lambda metric: metric.id)
def test_random_characters_do_not_pass_for_varied_answers(results: dict[str, Result], metric: Metric) -> None:
    # Lexical metrics cannot tell: to most of them nothing is more diverse than random characters.
    assert diversity(results["random-characters"], metric) < diversity(results["varied"], metric)


def test_what_nobody_reported_is_absent_and_not_invented(results: dict[str, Result]) -> None:
    for result in results.values():
        for score in result.scores:
            if score.origin == "reported":
                assert (score.value, score.n, score.missing) == (None, 0, {"not reported": 24})


def test_results_can_be_compared(results: dict[str, Result]) -> None:
    assert len({tuple(score.signature for score in result.scores) for result in results.values()}) == 1
    assert len({result.result_id for result in results.values()}) == len(SYSTEMS)
