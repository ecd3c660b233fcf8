"""Whatever a number depends on stands in its signature, and the profiles say which metrics they can compute."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from benchmark.equivalence.learned.backend import Learned
from benchmark.metrics import METRICS as ALL_METRICS
from benchmark.metrics import Metric, Version
from benchmark.models.bundled_lm import OFFLINE_LM
from benchmark.models.embedder import ALL_MINILM_L6_V2
from benchmark.models.tagger import PATTERN_TAGGER
from benchmark.scoring.internals_file import HowRead
from benchmark.scoring.profiles import Profile, find_profile
from benchmark.scoring.results import sign
from benchmark.surprisal.engine import OrderPlan
from benchmark.surprisal.prompt_layout import Layout
from datasets_build.schema import Suite
from tests.benchmark.fakes import HashPairScorer
from tests.benchmark.helpers import suite_of

OF_PARTITIONS = ("partition", "partition+rewards", "partition+internals", "partition+validity", "partition+estimates")
OF_INTERNALS = ("metrics", "internals", "partition+internals")
READ = HowRead(
    submission_id="0" * 16,
    k=10,
    model="ORG/M@abc,float32,cpu,sdpa",
    blocks=28,
    features=64,
    original_layer=14,
    average_layers=(20, 21),
    tokens="sampled",
    drawing=None,
    prompt="chat template",
)
OF_TAGS = ["template_rate", "templates_per_token", "tag_compression_ratio"]
OF_ONE_EMBEDDER = "pairs:beside_prompt"  # not that of the profile paper
OF_MODELS = ("tags", "embeddings", OF_ONE_EMBEDDER, "pairs:bert_score", "pairs:sts", "surprisals", "surprisals:curve")
METRICS = tuple(metric for metric in ALL_METRICS if metric.reads != "partition+stated")  # of a profile by itself
BY_ID = {metric.id: metric for metric in METRICS}
OFFLINE, PAPER = find_profile("offline"), find_profile("paper")
FULL = replace(OFFLINE, pair_scorers=PAPER.pair_scorers, reward=PAPER.reward, tagger=PATTERN_TAGGER)
SUITE = suite_of(3)


def signature(
    metric: Metric = BY_ID["vendi_score"],
    profile: Profile = OFFLINE,
    suite: Suite = SUITE,
    k: int = 10,
    reported_by: str | None = None,
    read: HowRead = READ,
) -> str:
    return str(sign(metric, profile, suite, k, reported_by, read))


def test_a_signature_is_one_line_that_names_everything() -> None:
    assert signature() == (
        "vendi_score|v:1|kernel:cosine|q:1|profile:offline"
        f"|model:{ALL_MINILM_L6_V2.signature}|data:made-up@{SUITE.revision}|k:10|divbench:0.1"
    )


def of_surprisals(**changes: Any) -> str:
    """The signature of D_Can under the offline profile with something changed."""
    return signature(BY_ID["d_can"], replace(OFFLINE, **changes))


def test_a_number_of_surprisals_names_model_layout_and_orders() -> None:
    assert (
        f"|layout:instruct-exact-bos:model-outer-space:stripped|orders:balanced-1-seed:42|profile:offline|model:{OFFLINE_LM.signature}|"
    ) in of_surprisals()
    changed = [
        of_surprisals(causal_lm=replace(OFFLINE_LM, revision="0" * 64)),
        of_surprisals(causal_lm=replace(OFFLINE_LM, dtype="bfloat16")),
        of_surprisals(causal_lm=replace(OFFLINE_LM, device="cuda:0")),
        of_surprisals(causal_lm=replace(OFFLINE_LM, attention="eager")),
        of_surprisals(layout=Layout("completion")),
        of_surprisals(layout=Layout(boundaries="paper")),
        of_surprisals(layout=Layout(bos="never")),
        of_surprisals(orders=OrderPlan("uniform", 1)),
        of_surprisals(orders=OrderPlan(count=2)),
        of_surprisals(orders=OrderPlan(seed=1)),
        of_surprisals(orders=OrderPlan("exact")),
    ]
    assert len({of_surprisals(), *changed}) == 1 + len(changed)


OTHER = replace(ALL_MINILM_L6_V2.files, revision="0" * 64)
CHANGES: dict[str, Callable[[], str]] = {
    "metric": lambda: signature(BY_ID["vendi_score_q2"]),
    "version": lambda: signature(replace(BY_ID["vendi_score"], history=(Version(2, "2026-11-22", "tried"),))),
    "parameter": lambda: signature(replace(BY_ID["vendi_score"], parameters={"q": "3", "kernel": "cosine"})),
    "profile": lambda: signature(profile=replace(OFFLINE, name="other")),
    "weights": lambda: signature(profile=replace(OFFLINE, embedder=replace(ALL_MINILM_L6_V2, files=OTHER))),
    "token limit": lambda: signature(profile=replace(OFFLINE, embedder=replace(ALL_MINILM_L6_V2, max_tokens=128))),
    "prompts": lambda: signature(suite=suite_of(4)),
    "a prompt's text": lambda: signature(
        suite=replace(SUITE, prompts=(replace(SUITE.prompts[0], prompt="Say it."), *SUITE.prompts[1:]))
    ),
    "order of prompts": lambda: signature(suite=replace(SUITE, prompts=SUITE.prompts[::-1])),
    "k": lambda: signature(k=9),
    "package": lambda: str(sign(BY_ID["vendi_score"], OFFLINE, SUITE, 10, None).model_copy(update={"divbench": "0.2"})),
}


def test_reported_numbers_name_who_reported_them() -> None:
    metric = BY_ID["distinct_k_reported"]
    made = {signature(metric, reported_by=who) for who in (None, "a judge", "another judge")}
    assert len(made) == 3
    assert "|reported-by:not stated|" in signature(metric)
    assert "reported-by" not in signature(reported_by="a judge")


def test_only_numbers_that_a_model_made_name_it() -> None:
    named = {metric.id for metric in METRICS if "|model:" in signature(metric, FULL)}
    assert named == {metric.id for metric in METRICS if metric.reads in (*OF_MODELS, *OF_PARTITIONS, *OF_INTERNALS)}
    assert f"|model:average-v3,{Learned().signature}|" in signature(BY_ID["distinct_k"])
    by_words = signature(BY_ID["distinct_k"], find_profile("lexical"))
    assert "|model:greedy-v3,rouge-1-f1,no-stemmer,over-0.458|" in by_words
    rated = signature(BY_ID["utility_k"], FULL)
    assert FULL.partition is not None
    assert FULL.reward is not None
    assert f"|model:{FULL.partition.signature}|model:{FULL.reward.signature}|" in rated


def test_a_number_of_internals_names_the_model_that_answered_and_what_was_read_of_it() -> None:
    for name in ("e_average", "semantic_entropy"):
        metric = BY_ID[name]
        assert f"|model:{READ.model},layers:14/20+21,tokens:sampled|" in signature(metric)
        changes = ({"model": "x"}, {"original_layer": 28}, {"average_layers": (20, 22)}, {"tokens": "text"})
        assert len({signature(metric, read=READ.model_copy(update=each)) for each in ({}, *changes)}) == 5
        # Another submission by the same model has its numbers in the same column.
        assert signature(metric, read=READ.model_copy(update={"submission_id": "1" * 16})) == signature(metric)


def test_a_profile_computes_what_it_has_the_models_for() -> None:
    rated = tuple(metric for metric in METRICS if metric.reads != "partition+estimates")  # by a reward model
    assert FULL.metrics(internals=True) == rated
    assert PAPER.metrics(internals=True) == tuple(m for m in rated if m.reads not in ("tags", OF_ONE_EMBEDDER))
    assert FULL.metrics() == tuple(metric for metric in rated if metric.reads not in OF_INTERNALS)
    # A quality is never invented.
    lacking = ("tags", "pairs:bert_score", "pairs:sts", "partition+rewards", *OF_INTERNALS)
    assert OFFLINE.metrics() == tuple(metric for metric in METRICS if metric.reads not in lacking)
    one = replace(FULL, pair_scorers={"pairs:sts": HashPairScorer()}).metrics()
    assert one == tuple(metric for metric in rated if metric.reads not in ("pairs:bert_score", *OF_INTERNALS))
    texts_alone = find_profile("lexical").metrics()
    judged = ("partition+rewards", "partition+validity", "partition+estimates")  # words do not tell what does as asked
    assert texts_alone == tuple(m for m in METRICS if m.reads not in (*OF_MODELS, *judged, *OF_INTERNALS))
    assert len(texts_alone) < len(METRICS)
    tagged = find_profile("syntax").metrics()
    assert tagged == tuple(metric for metric in METRICS if metric in texts_alone or metric.id in OF_TAGS)
    assert OFFLINE.replace(metrics=["vendi_score"]) == OFFLINE
    named = OFFLINE.replace(metrics=["template_rate"]).metrics()
    assert [metric.id for metric in named if metric not in OFFLINE.metrics()] == OF_TAGS
    ends = replace(FULL, orders=OrderPlan("endpoint")).metrics()
    assert ends == tuple(metric for metric in rated if metric.reads not in ("surprisals:curve", *OF_INTERNALS))
    assert BY_ID["d_can"] in ends
