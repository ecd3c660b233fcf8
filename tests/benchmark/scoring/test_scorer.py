"""The scorer: what it writes, that it writes the same again, and what it refuses."""

import json
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from numpy.typing import NDArray

from benchmark.equivalence.partitioning import PartitionSpec, ResponsesToGroup, partition_by_pairs, rate_first_responses
from benchmark.equivalence.rules import Rouge1
from benchmark.metrics import METRICS, Metric
from benchmark.metrics.metric import Missing
from benchmark.models.embedder import SentenceTransformersEmbedder
from benchmark.models.tagger import PATTERN_TAGGER
from benchmark.scoring import shards
from benchmark.scoring.backends import ScoringBackends
from benchmark.scoring.estimate import bootstrap_means
from benchmark.scoring.inputs import Materials, ScoringFault, score_sets
from benchmark.scoring.profiles import find_profile
from benchmark.scoring.results import read_result
from benchmark.scoring.scorer import Options, Scored, score_submission
from benchmark.surprisal.engine import ResponseSet
from benchmark.validity.backend import QualityJudge
from datasets_build.schema import Suite
from divbench.core.errors import ConfigurationError
from submissions.checking.response_kinds import scorable_responses
from submissions.schema import Reported, Row
from submissions.storage.submission_folders import Submission
from tests.benchmark.fakes import HashEmbedder, HashPairScorer, HashReward
from tests.benchmark.helpers import (
    HASH_PAIR_SCORERS,
    HASH_READER,
    hash_internals,
    internals_of_submission,
    pattern_tagger,
    random_responses,
    rows_of,
    submit,
    suite_of,
    text_classes,
)
from tests.benchmark.results import read_results

LEXICAL = find_profile("lexical")
OFFLINE = replace(  # so that all metrics are computed
    find_profile("offline"),
    pair_scorers=HASH_PAIR_SCORERS,
    reward=HashReward(),
    partition=PartitionSpec(Rouge1()),
    tagger=PATTERN_TAGGER,
)
HASHED = ScoringBackends(OFFLINE, embedder=HashEmbedder(), reader=HASH_READER)
SMALL = suite_of(6)
# Where a reward model decides validity, nothing is estimated.
SCORED = tuple(metric for metric in METRICS if metric.reads not in ("partition+estimates", "partition+stated"))
NEEDS_NO_MODEL = next(metric for metric in METRICS if metric.reads == "responses")
SHARD = 8  # prompts
LARGE = suite_of(2 * SHARD + 2)  # three shards
QUICK = Options(resamples=200)


@pytest.fixture(autouse=True)
def _small_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shards, "SHARD_PROMPTS", SHARD)


def score(submission: Submission, suite: Suite, out: Path, options: Options = QUICK) -> Scored:
    return score_submission(submission, suite, HASHED, out, options, internals=internals_of_submission(submission))


def files_of(scored: Scored) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(scored.folder.iterdir())}


def reported_of(rows: Sequence[Row]) -> list[tuple[str, Reported]]:
    return [(row.prompt_id, text_classes(row.responses)) for row in rows]


class NoEmbedder:
    """Fails when it is asked for anything."""

    signature = "none"

    def embed(self, texts: Sequence[str]) -> NDArray[np.float64]:
        raise AssertionError("embedded")


def test_the_same_input_gives_the_same_bytes(tmp_path: Path) -> None:
    submission = submit(tmp_path / "in", LARGE, rows := rows_of(LARGE, k=4), reported_of(rows))
    one, other = (score(submission, LARGE, tmp_path / name) for name in ("one", "other"))
    assert set(files_of(one)) == {"result.json", "per_prompt.parquet"}
    assert files_of(one) == files_of(other)
    assert [path.name for path in (tmp_path / "one").iterdir()] == [one.result.result_id]  # and nothing is left over


def test_long_responses_make_smaller_shards_and_none_is_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = rows_of(LARGE, k=2)
    long = replace(rows[3], responses=("long " * 300, "short"))
    submission = submit(tmp_path / "in", LARGE, [*rows[:3], long, *rows[4:]])
    monkeypatch.setattr(shards, "SHARD_CHARACTERS", len("long " * 300))
    made = [[row.prompt_id for row in shard.rows] for shard in shards.shards_of(submission, LARGE, 2, None)]
    assert len(made[0]) == 4
    assert max(map(len, made)) <= SHARD
    assert [prompt_id for ids in made for prompt_id in ids] == list(LARGE.position)


def test_a_scored_submission_is_recognised_and_nothing_is_computed(tmp_path: Path) -> None:
    submission = submit(tmp_path / "in", SMALL, rows_of(SMALL, k=4))
    first = score(submission, SMALL, tmp_path)
    written = (first.folder / "result.json").stat().st_mtime_ns
    steps: list[int] = []
    again = score_submission(
        submission,
        SMALL,
        ScoringBackends(OFFLINE, embedder=NoEmbedder(), reader=HASH_READER),
        tmp_path,
        QUICK,
        internals=internals_of_submission(submission),
        progress=steps.append,
    )
    assert (first.recognised, again.recognised) == (False, True)
    assert again == replace(first, recognised=True)
    assert steps == []
    assert (first.folder / "result.json").stat().st_mtime_ns == written


class HeldEmbedder:
    """Waits in its first call until it is let go."""

    signature = "hash,16"

    def __init__(self) -> None:
        self.arrived, self.go = threading.Event(), threading.Event()

    def embed(self, texts: Sequence[str]) -> NDArray[np.float64]:
        self.arrived.set()
        assert self.go.wait(60)
        return HashEmbedder().embed(texts)


def test_a_second_run_of_the_same_work_waits_for_the_first_and_takes_its_result(tmp_path: Path) -> None:
    submission = submit(tmp_path / "in", SMALL, rows_of(SMALL, k=4))
    held = HeldEmbedder()
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(
            score_submission,
            submission,
            SMALL,
            ScoringBackends(OFFLINE, embedder=held, reader=HASH_READER),
            tmp_path / "out",
            QUICK,
        )
        assert held.arrived.wait(60)
        second = pool.submit(
            score_submission,
            submission,
            SMALL,
            ScoringBackends(OFFLINE, embedder=NoEmbedder(), reader=HASH_READER),
            tmp_path / "out",
            QUICK,
        )
        with pytest.raises(TimeoutError):  # it is neither done nor at work: its embedder would fail
            second.result(timeout=0.5)
        held.go.set()
        assert (first.result(60).recognised, second.result(60).recognised) == (False, True)
    assert second.result().result == first.result().result
    assert [path.name for path in (tmp_path / "out").iterdir()] == [first.result().result.result_id]


def test_the_order_of_rows_in_the_file_changes_no_byte(tmp_path: Path) -> None:
    rows = rows_of(LARGE, k=4)
    reported = reported_of(rows)
    shuffled = np.random.default_rng(0).permutation(len(rows))
    straight = submit(tmp_path / "straight", LARGE, rows, reported)
    mixed = submit(tmp_path / "mixed", LARGE, [rows[i] for i in shuffled], [reported[i] for i in shuffled[::-1]])
    assert (straight.folder / "generations.parquet").read_bytes() != (mixed.folder / "generations.parquet").read_bytes()
    assert files_of(score(straight, LARGE, tmp_path / "a")) == files_of(score(mixed, LARGE, tmp_path / "b"))


def test_the_table_has_each_prompt_in_the_suites_order(tmp_path: Path) -> None:
    rows = [replace(row, finish_reasons=("stop", "length", None)) for row in rows_of(SMALL, k=3)]
    rows[1] = replace(rows[1], responses=("one", "", "[Blocked]"))
    scored = score(submit(tmp_path / "in", SMALL, rows[::-1]), SMALL, tmp_path)
    table = pq.read_table(scored.folder / "per_prompt.parquet").to_pylist()
    assert [
        (r["prompt_id"], r["category"], r["prompt"], r["responses"], r["finish_reasons"]) for r in table
    ] == [
        (p.prompt_id, p.category, p.prompt, list(row.responses), ["stop", "length", None])
        for p, row in zip(SMALL.prompts, rows, strict=True)
    ]  # fmt: skip
    assert [row["answers"] for row in table] == [3, 1, 3, 3, 3, 3]
    assert set(table[0]) >= {metric.id for metric in SCORED}


def test_values_are_those_of_the_metrics_and_aggregates_those_of_the_values(tmp_path: Path) -> None:
    rows = rows_of(LARGE, k=5)
    for i in range(0, len(rows), 7):  # some prompts for which most metrics have no value
        rows[i] = replace(rows[i], responses=("only this one", "", " ", "[empty]", ""))
    scored = score(submit(tmp_path / "in", LARGE, rows, reported_of(rows)), LARGE, tmp_path)
    prompts = [LARGE.by_id[row.prompt_id].prompt for row in rows]
    sets = [ResponseSet(prompt, scorable_responses(row.responses)) for prompt, row in zip(prompts, rows, strict=True)]
    answers = [ResponsesToGroup.of(prompt, row.responses) for prompt, row in zip(prompts, rows, strict=True)]
    parted = rate_first_responses(answers, partition_by_pairs(answers, Rouge1().load()), HashReward())
    materials = Materials(
        [row.responses for row in rows],
        embedder=HashEmbedder(),
        pair_scorers=HASH_PAIR_SCORERS,
        surprisals=HASH_READER.read(sets),
        partitions=parted,
        internals=[hash_internals(row.responses) for row in rows],
        reported=[v for _, v in reported_of(rows)],
        prompts=prompts,
        tagger=pattern_tagger(),
        validity=QualityJudge(by_judge=False),  # the mark of the reward model decides
    )
    expected = score_sets(materials, SCORED)
    table = pq.read_table(scored.folder / "per_prompt.parquet")
    columns = []
    for metric, aggregate in zip(SCORED, scored.result.scores, strict=True):
        found = [values[metric.id] for values in expected]
        numbers = [value for value in found if not isinstance(value, Missing)]
        assert table[metric.id].to_pylist() == [None if isinstance(v, Missing) else v for v in found]
        assert (aggregate.metric, aggregate.n) == (metric.id, len(numbers))
        assert aggregate.value == pytest.approx(np.mean(numbers), abs=1e-12)
        assert aggregate.missing == Counter(v.reason for v in found if isinstance(v, Missing))
        assert aggregate.n + sum(aggregate.missing.values()) == len(rows)
        columns.append([np.nan if isinstance(v, Missing) else v for v in found])
    intervals = bootstrap_means(np.column_stack(columns), resamples=200)  # laid out as the scorer does: the last digits
    assert [(a.low, a.high) for a in scored.result.scores] == [(i.low, i.high) for i in intervals]
    reasons = Counter((item["metric"], item["reason"]) for row in table.to_pylist() for item in row["missing"])
    assert reasons["self_bleu", "fewer than 2 responses"] == 3
    assert reasons == Counter({(a.metric, why): n for a in scored.result.scores for why, n in a.missing.items()})


def test_responses_are_counted_by_what_they_are(tmp_path: Path) -> None:
    rows = rows_of(SMALL, k=4, responses=lambda i, k: ("same", "same", "", "[refused]"))
    rows = [replace(row, finish_reasons=("stop", "length", "length", None)) for row in rows]
    counts = score(submit(tmp_path / "in", SMALL, rows), SMALL, tmp_path).result.counts
    assert counts is not None
    assert counts.model_dump() == {
        "prompts": 6, "responses": 24, "blank": 6, "placeholder": 6, "refused": 0, "cut_off": 12, "repeated": 6,
        "invalid": {"blank or a placeholder": 12, "rated lowest by the reward model": 4},
    }  # fmt: skip


def test_a_metric_without_any_value_has_none_and_says_why(tmp_path: Path) -> None:
    rows = rows_of(SMALL, k=1)
    scores = {a.metric: a for a in score(submit(tmp_path / "in", SMALL, rows), SMALL, tmp_path).result.scores}
    alone = scores["self_bleu"]
    assert (alone.value, alone.low, alone.high, alone.n) == (None, None, None, 0)
    assert alone.missing == {"fewer than 2 responses": 6}
    assert scores["distinct_k_reported"].missing == {"not reported": 6}
    assert scores["unique_1grams"].n == 6


def test_the_first_k_score_as_a_submission_of_k(tmp_path: Path) -> None:
    rows = rows_of(SMALL, k=5)
    cut = [replace(row, responses=row.responses[:3]) for row in rows]
    of_five = score(submit(tmp_path / "5", SMALL, rows, reported_of(rows)), SMALL, tmp_path, replace(QUICK, k=3))
    of_three = score(submit(tmp_path / "3", SMALL, cut, reported_of(cut)), SMALL, tmp_path)
    assert of_five.result.k == of_three.result.k == 3
    assert of_five.result.scores == of_three.result.scores
    assert files_of(of_five)["per_prompt.parquet"] == files_of(of_three)["per_prompt.parquet"]


@pytest.mark.parametrize("k", [0, -1, 5])
def test_k_must_be_among_the_submissions(tmp_path: Path, k: int) -> None:
    submission = submit(tmp_path / "in", SMALL, rows_of(SMALL, k=4))
    with pytest.raises(ConfigurationError, match=rf"k = {k}, but .* has 4"):
        score(submission, SMALL, tmp_path, Options(k=k))


def cut_table(folder: Path) -> None:
    path = folder / "per_prompt.parquet"
    path.write_bytes(path.read_bytes()[:-100])


def change_a_byte(folder: Path) -> None:
    path = folder / "per_prompt.parquet"
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(bytes(data))


def cut_result(folder: Path) -> None:
    path = folder / "result.json"
    path.write_text(path.read_text(encoding="utf-8")[:-200], encoding="utf-8")


def unknown_field(folder: Path) -> None:
    path = folder / "result.json"
    path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8")) | {"extra": 1}), encoding="utf-8")


def empty_result(folder: Path) -> None:
    (folder / "result.json").write_bytes(b"")


def remove_table(folder: Path) -> None:
    (folder / "per_prompt.parquet").unlink()


@pytest.mark.parametrize(
    "damage",
    [cut_table, change_a_byte, cut_result, unknown_field, empty_result, remove_table],
    ids=lambda f: f.__name__,
)
def test_a_damaged_result_is_found_out_and_computed_again(tmp_path: Path, damage: Callable[[Path], None]) -> None:
    submission = submit(tmp_path / "in", SMALL, rows_of(SMALL, k=4))
    first = score(submission, SMALL, tmp_path / "out")
    whole = files_of(first)
    damage(first.folder)
    assert isinstance(read_result(first.folder), Missing)
    again = score(submission, SMALL, tmp_path / "out")
    assert not again.recognised
    assert files_of(again) == whole


def returns(value: float) -> Metric:
    return replace(METRICS[0], id="faulty", reads="responses", bounds=(0, 1), fn=lambda texts: value, needs=1)


def divides(texts: Sequence[str]) -> float:
    return 1 / texts.count("not there")


@pytest.mark.parametrize(
    ("metric", "says"),
    [
        (replace(returns(0), fn=divides), "failed on p-0000: ZeroDivisionError: division by zero"),
        (returns(float("nan")), "gave nan on p-0000"),
        (returns(float("inf")), "gave inf on p-0000"),
        (returns(float("-inf")), "gave -inf on p-0000"),
        (returns(1.001), r"gave 1.001 on p-0000, outside its bounds 0 to 1"),
        (replace(returns(4.001), bounds=(0, "k")), r"gave 4.001 on p-0000, outside its bounds 0 to k"),
        (returns(-0.001), "gave -0.001 on p-0000, outside its bounds"),
        (replace(returns(float("inf")), bounds=(None, None)), "gave inf on p-0000"),
        (replace(returns(float("-inf")), bounds=(None, None)), "gave -inf on p-0000"),
    ],
)
def test_a_faulty_metric_stops_the_run_by_name_and_leaves_no_result(tmp_path: Path, metric: Metric, says: str) -> None:
    submission = submit(tmp_path / "in", SMALL, rows_of(SMALL, k=4))
    with pytest.raises(ScoringFault, match=f"^faulty {says}"):
        score_submission(
            submission, SMALL, ScoringBackends(LEXICAL), tmp_path / "out", QUICK, metrics=(NEEDS_NO_MODEL, metric)
        )
    assert read_results(tmp_path / "out") == []


def test_a_metric_of_embeddings_or_tags_without_what_makes_them_is_a_fault() -> None:
    for reads in ("embeddings", "pairs:beside_prompt", "tags"):
        with pytest.raises(ScoringFault, match=f"metrics read {reads}"):
            score_sets(Materials([random_responses(0, k=3)]), [m for m in METRICS if m.reads == reads])


def test_scorers_of_pairs_are_loaded_if_a_metric_reads_them(tmp_path: Path) -> None:
    class Unloadable(HashPairScorer):
        def load(self, device: str = "cpu") -> HashPairScorer:
            raise AssertionError("loaded")

    profile = replace(LEXICAL, pair_scorers={"pairs:bert_score": HashPairScorer(), "pairs:sts": Unloadable()})
    submission = submit(tmp_path / "in", SMALL, rows_of(SMALL, k=3))
    one = tuple(metric for metric in METRICS if metric.reads == "pairs:bert_score")
    scored = score_submission(submission, SMALL, ScoringBackends(profile), tmp_path / "out", QUICK, metrics=one)
    assert [score.metric for score in scored.result.scores] == ["bert_score_diversity"]
    assert "torch" in scored.result.libraries
    with pytest.raises(AssertionError, match="loaded"):
        score_submission(submission, SMALL, ScoringBackends(profile), tmp_path / "out", QUICK)


def test_numbers_of_a_shard_do_not_depend_on_shards_before(minilm: SentenceTransformersEmbedder) -> None:
    # The last digits of a vector depend on the texts that are read with it.
    shared = "The cat sat on the mat."
    first = [ResponseSet("Where is it?", (shared, "It lies " + "under an old and very dusty book " * 12))]
    then = [ResponseSet("Where is it?", (shared, "Here.", "In the kitchen, I think, beside the stove."))]
    metrics = tuple(metric for metric in METRICS if metric.id in ("embedding_diversity", "distinct_k"))

    def vectors(*runs: list[ResponseSet]) -> bytes:
        backends = ScoringBackends(find_profile("semantic"), embedder=minilm)
        made = [backends.materials(sets, metrics) for sets in runs]
        return b"".join(made[-1].vectors[text].tobytes() for text in then[0].responses)

    assert vectors(first, then) == vectors(then)
