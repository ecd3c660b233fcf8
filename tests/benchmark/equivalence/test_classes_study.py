"""Backends compared: counts, agreement, choice on one half and report on the other; backends by name."""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest

from benchmark.analysis.equivalence_study import System, choose, measure
from benchmark.analysis.estimate import Resampling
from benchmark.equivalence.agreement import adjusted_rand_index
from benchmark.equivalence.llm_judge import LLMJudgeSpec
from benchmark.equivalence.named_backends import find_partition_spec
from benchmark.equivalence.partition_columns import record
from benchmark.equivalence.partitioning import PartitionSpec, ResponsesToGroup, partition_by_judge, rate_first_responses
from benchmark.equivalence.rules import Rouge1
from benchmark.metrics import METRICS
from benchmark.metrics.metric import Missing
from benchmark.metrics.partition import Labels, Partition
from benchmark.models.choices import EQUIVALENCE_NAMES
from benchmark.models.device_map import DeviceChoice
from benchmark.models.hf_lm import CausalLMSpec
from benchmark.models.reward import HFRewardSpec, quality
from benchmark.scoring.backends import ScoringBackends
from benchmark.scoring.compute import score_sets
from benchmark.scoring.profile_overrides import REWARDS, on_device, with_overrides
from benchmark.scoring.profiles import find_profile
from benchmark.scoring.resampling import half_of
from benchmark.surprisal.engine import ResponseSet
from divbench.core.errors import ConfigurationError
from divbench.core.files import plain_json
from divbench.core.tables import Table
from leaderboard.reports.equivalence.report import report_of
from tests.benchmark.fakes import HashEquivalence, HashReward

FEW = Resampling(resamples=200)


def random_labels(k: int, rng: np.random.Generator) -> Labels:
    seen: dict[int, int] = {}
    return tuple(seen.setdefault(label, len(seen)) for label in rng.integers(0, 4, k).tolist())


def system(name: str, prompts: int = 60, k: int = 6, seed: int = 0) -> System:
    rng = np.random.default_rng(seed)
    answers = tuple(ResponsesToGroup.of(f"prompt {i}", tuple(f"{i} {j}" for j in range(k))) for i in range(prompts))
    return System(name, tuple(f"p-{i}" for i in range(prompts)), answers, tuple(random_labels(k, rng) for _ in answers))


def noisy(given: System, share: float, seed: int) -> list[Labels | str]:
    """The published classes, some prompts' replaced by random ones."""
    rng = np.random.default_rng(seed)
    assert given.published is not None
    return [random_labels(len(own), rng) if rng.random() < share else own for own in given.published]


def test_the_published_classes_agree_with_themselves() -> None:
    systems = [system(name, seed=seed) for seed, name in enumerate("abc")]
    parts = {each.name: list(each.published or ()) for each in systems}
    found = measure("same", "signature", systems, parts, FEW)
    assert found.rand_index is not None
    assert (found.rand_index.value, found.rand_index.low) == (1.0, 1.0)
    for estimate, value in ((found.pair_f1, 1.0), (found.count_error, 0.0), (found.ranking, 1.0)):
        assert estimate is not None
        assert estimate.value == pytest.approx(value)
    for own in found.systems:
        assert own.published is not None
        assert own.distinct.value == own.published.value
        assert own.curve[0] == pytest.approx(1.0)
        assert own.curve[-1] == pytest.approx(own.distinct.value)


def test_numbers_are_those_of_a_loop() -> None:
    given = system("a")
    parts = noisy(given, 0.5, seed=3)
    found = measure("noisy", "s", [given], {"a": parts}, FEW).systems[0]
    assert given.published is not None
    labels = [part for part in parts if not isinstance(part, str)]
    both = list(zip(labels, given.published, strict=True))
    assert found.rand_index is not None
    assert found.rand_index.value == pytest.approx(np.mean([adjusted_rand_index(a, b) for a, b in both]))
    assert found.distinct.value == pytest.approx(np.mean([len(set(own)) for own in labels]))
    assert (found.rand_index.low or 0) < (found.rand_index.value or 0) < (found.rand_index.high or 0)


def test_prompts_without_classes_are_counted_and_left_out() -> None:
    given = replace(system("a", prompts=4), published=None)
    found = measure("some", "s", [given], {"a": [(0, 1, 0), "no reply", (0, 0, 0), "no reply"]}, FEW)
    assert found.systems[0].unjudged == {"no reply": 2}
    assert found.systems[0].distinct.value == 1.5
    assert (found.rand_index, found.ranking) == (None, None)
    json.dumps(plain_json(found), allow_nan=False)
    (printed,) = report_of([given], [found], {}, [], []).printed
    assert isinstance(printed, Table)
    assert printed.notes == ["a, prompts without classes: 2 no reply"]


def test_the_best_is_chosen_on_one_half_and_reported_on_the_other() -> None:
    systems = [system(name, prompts=200, seed=seed) for seed, name in enumerate("ab")]
    backends: dict[str, tuple[str, dict[str, Sequence[Labels | str]]]] = {
        name: (name, {each.name: noisy(each, share, seed=place) for each in systems})
        for place, (name, share) in enumerate((("good", 0.2), ("bad", 0.8)))
    }
    found = choose(backends, systems, FEW)
    assert [each.chosen for each in found] == ["good", "good"]
    for choice in found:
        reported = {own.backend: own for own in choice.reported}
        ids = [name for name in systems[0].prompt_ids if half_of(name) == 1 - choice.half]
        assert {own.prompts for own in reported["good"].systems} == {len(ids)}
        on_the_rest = reported["good"].rand_index
        assert on_the_rest is not None
        assert on_the_rest.value == pytest.approx(0.8, abs=0.12)


def test_backends_by_name() -> None:
    assert find_partition_spec("rouge-1") == PartitionSpec(Rouge1(), "greedy")
    assert find_partition_spec("rouge-1", "complete", short_answers=True).signature == (
        "complete-v2,short-answers-to-5-words,rouge-1-f1,no-stemmer,over-0.458"
    )
    model = "org/name@" + "0" * 40
    names = ("embedding", f"deberta={model}", f"deberta-full={model}", f"nli={model}", f"nli-lax={model}")
    assert len({find_partition_spec(name).signature for name in names}) == len(names)
    for name in EQUIVALENCE_NAMES.partition(" (")[0].split(", "):  # a judge's server would be asked
        assert name == "judge=NAME@URL" or find_partition_spec(name.replace("MODEL", model)).signature
    for wrong in ("nothing", "rouge-1=x", "deberta", "deberta=org/name", "judge=gpt", "judge=@http://x"):
        with pytest.raises(ConfigurationError):
            find_partition_spec(wrong)
    with pytest.raises(ConfigurationError, match="no algorithm"):
        find_partition_spec("rouge-1", "fastest")


def test_a_profile_gets_other_judges_and_says_so() -> None:
    plain = find_profile("lexical")
    assert plain.partition is not None
    assert "utility_k" not in {metric.id for metric in plain.metrics()}
    rated = with_overrides(plain, "embedding", "components", reward="skywork-1.7b")
    assert {"utility_k", "distinct_k"} <= {metric.id for metric in rated.metrics()}
    assert rated.partition is not None
    assert rated.partition.signature.startswith("components-v2,cosine")
    published = on_device(find_profile("paper"), DeviceChoice("cuda", "float16"))
    assert isinstance(published.reward, HFRewardSpec)
    assert (published.reward.device, published.reward.dtype) == ("cuda", "bfloat16")
    assert isinstance(published.causal_lm, CausalLMSpec)
    assert (published.causal_lm.device, published.causal_lm.dtype, published.device) == ("cuda", "float16", "cuda")
    assert set(REWARDS) == {"skywork-27b", "skywork-1.7b"}
    with pytest.raises(ConfigurationError, match="no reward model"):
        with_overrides(plain, reward="gpt")


class Judge:
    """Parts by the first letter, and has nothing to say of prompts that ask for it."""

    signature = "letters"

    def __init__(self) -> None:
        self.asked: list[tuple[str, Sequence[str]]] = []

    def partition(self, sets: Sequence[tuple[str, Sequence[str]]]) -> list[tuple[int, ...] | Missing]:
        self.asked += sets
        made: list[tuple[int, ...] | Missing] = []
        for prompt, answers in sets:
            seen: dict[str, int] = {}
            labels = tuple(seen.setdefault(text[0], len(seen)) for text in answers)
            made.append(Missing("the judge's reply is not a partition") if prompt == "silence" else labels)
        return made


def test_a_judge_sees_each_text_once_and_its_silence_is_no_score() -> None:
    judge = Judge()
    sets = [
        ResponsesToGroup.of("ask", ("axe", "apple", "bee", "Axe.", "")),
        ResponsesToGroup.of("silence", ("a", "b")),
        ResponsesToGroup.of("one", ("same", "SAME")),
    ]
    found = partition_by_judge(sets, judge)
    assert found == [(0, 0, 1, 0, None), Missing("the judge's reply is not a partition"), (0, 0)]
    assert judge.asked == [("ask", ("axe", "apple", "bee")), ("silence", ("a", "b")), ("one", ("same",))]
    spec = PartitionSpec(LLMJudgeSpec("http://127.0.0.1:1", "m", reported="m-1"), "judge")
    assert spec.signature == "judge-v2,m=m-1,judge-v1,4096-tokens"
    profile = replace(find_profile("lexical"), partition=spec)
    chosen = [metric for metric in METRICS if metric.reads == "partition"]
    backends = ScoringBackends(profile, equivalence=judge)
    made = score_sets(backends.materials([ResponseSet(s.prompt, s.texts) for s in sets], chosen), chosen)
    assert made[0]["distinct_k"] == 2.0
    assert made[1]["distinct_k"] == Missing("the judge's reply is not a partition")


def test_only_first_answers_are_judged_for_quality() -> None:
    asked: list[tuple[str, str]] = []

    class Counting(HashReward):
        def rewards(self, pairs: Sequence[tuple[str, str]]) -> "np.ndarray[tuple[int, ...], np.dtype[np.float64]]":
            asked.extend(pairs)
            return super().rewards(pairs)

    answers = [ResponsesToGroup.of("p", ("a", "b", "a", "")), ResponsesToGroup.of("q", ("c",))]
    found = rate_first_responses(answers, [(0, 1, 0, None), Missing("no reply")], Counting())
    assert asked == [("p", "a"), ("p", "b")]
    part = found[0]
    assert isinstance(part, Partition)
    thresholds = HashReward().thresholds
    assert part.rewards is not None
    assert thresholds is not None
    expected = [float(quality(reward, thresholds)) for reward in part.rewards]
    assert part.qualities == (*expected, None, None)
    assert found[1] == Missing("no reply")
    assert record(found[1]) is None
    kept = record(part)
    assert kept is not None
    assert (kept["labels"], kept["qualities"], kept["curve"][0]) == ([0, 1, 0, None], expected, pytest.approx(1.0))
    assert record(Partition((None,))) == {
        "labels": [None],
        "curve": [],
        "rewards": None,
        "qualities": None,
    }


@pytest.mark.parametrize("order", [lambda x: x, lambda x: x[::-1]])
def test_a_hashed_backend_runs_through_the_instruments(order: Callable[[list[str]], list[str]]) -> None:
    profile = replace(find_profile("lexical"), partition=PartitionSpec(Rouge1(), "components"))
    texts = order(["one", "One.", "two", "three"])
    chosen = [metric for metric in METRICS if metric.id == "distinct_k"]
    backends = ScoringBackends(profile, equivalence=HashEquivalence())
    (found,) = score_sets(backends.materials([ResponseSet("p", tuple(texts))], chosen), chosen)
    assert found["distinct_k"] == 3.0
