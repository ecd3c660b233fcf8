"""Equivalence backends by name, judges, and what a partition records."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from benchmark.equivalence.llm_judge import LLMJudgeSpec
from benchmark.equivalence.partitioning import (
    PartitionSpec,
    ResponsesToGroup,
    find_partition_spec,
    partition_by_judge,
    rate_first_responses,
)
from benchmark.equivalence.rules import Rouge1
from benchmark.metrics import METRICS
from benchmark.metrics.metric import Missing
from benchmark.metrics.partition import Partition
from benchmark.models import EQUIVALENCE_NAMES
from benchmark.models.hf_lm import CausalLMSpec
from benchmark.models.reward import HFRewardSpec, quality
from benchmark.scoring.backends import ScoringBackends
from benchmark.scoring.inputs import score_sets
from benchmark.scoring.per_prompt import class_record
from benchmark.scoring.profiles import find_profile
from benchmark.surprisal.engine import ResponseSet
from divbench.core.errors import ConfigurationError
from tests.benchmark.fakes import HashReward


def test_backends_by_name() -> None:
    assert find_partition_spec("rouge-1") == PartitionSpec(Rouge1(), "greedy")
    assert find_partition_spec("rouge-1", "complete", short_answers=True).signature == (
        "complete-v3,short-answers-to-5-words,rouge-1-f1,no-stemmer,over-0.458"
    )
    model = "org/name@" + "0" * 40
    names = ("embedding", f"deberta={model}", f"deberta-full={model}", f"nli={model}", f"nli-lax={model}")
    assert len({find_partition_spec(name).signature for name in names}) == len(names)
    for name in EQUIVALENCE_NAMES.partition(" (")[0].split(", "):  # a judge's server would be asked
        assert name == "judge=NAME@URL" or find_partition_spec(name.replace("MODEL", model)).signature
    for wrong in ("nothing", "rouge-1=x", "deberta", "deberta=org/name", "judge=gpt", "judge=@http://x"):
        with pytest.raises(ConfigurationError):
            find_partition_spec(wrong)


def test_a_profile_gets_other_judges_and_says_so() -> None:
    plain = find_profile("lexical")
    assert plain.partition is not None
    assert "utility_k" not in {metric.id for metric in plain.metrics()}
    rated = plain.replace(equivalence="embedding", algorithm="components", reward="skywork-1.7b")
    assert {"utility_k", "distinct_k"} <= {metric.id for metric in rated.metrics()}
    assert rated.partition is not None
    assert rated.partition.signature.startswith("components-v3,cosine")
    published = find_profile("paper").replace(device="cuda", dtype="float16")
    assert isinstance(published.reward, HFRewardSpec)
    assert (published.reward.device, published.reward.dtype) == ("cuda", "bfloat16")
    assert isinstance(published.causal_lm, CausalLMSpec)
    assert (published.causal_lm.device, published.causal_lm.dtype, published.device) == ("cuda", "float16", "cuda")
    with pytest.raises(ConfigurationError, match="no reward model"):
        plain.replace(reward="gpt")


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

    def scores(self, pairs: Sequence[tuple[str, str]]) -> list[int | Missing]:
        raise AssertionError("only classes are read")


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
    assert spec.signature == "judge-v3,m=m-1,judge-v1,4096-tokens"
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
    assert class_record(found[1]) is None
    kept = class_record(part)
    assert kept is not None
    assert (kept["labels"], kept["qualities"], kept["curve"][0]) == ([0, 1, 0, None], expected, pytest.approx(1.0))
    assert class_record(Partition((None,))) == {
        "labels": [None],
        "curve": [],
        "rewards": None,
        "qualities": None,
    }
