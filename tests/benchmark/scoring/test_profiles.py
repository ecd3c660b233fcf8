"""The profile *paper*, and profiles with other models or another way of reading."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
import transformers
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer import modules

from benchmark.metrics.metric import Missing
from benchmark.models.embedder import ALL_MINILM_L6_V2
from benchmark.models.model_files import ModelFiles, find_model_files
from benchmark.models.pair_scorer import ROBERTA_LARGE_BERT_SCORE, CrossEncoderSpec
from benchmark.models.reward import HFRewardSpec
from benchmark.scoring.backends import ScoringBackends
from benchmark.scoring.inputs import score_sets
from benchmark.scoring.profiles import PROFILES, Profile, find_profile
from benchmark.scoring.results import sign
from benchmark.scoring.scorer import Options, score_submission
from benchmark.surprisal.engine import OrderPlan, ResponseSet
from benchmark.surprisal.prompt_layout import PAPER_INSTRUCT, Layout
from divbench.core.errors import ConfigurationError
from tests.benchmark.encoders import save_cross_encoder, save_roberta, save_sentence_bert
from tests.benchmark.helpers import HASH_READER, rows_of, submit, suite_of
from tests.benchmark.lms import tokeniser
from tests.benchmark.reward_models import TEMPLATE

LEXICAL, OFFLINE, PAPER = (find_profile(name) for name in ("lexical", "offline", "paper"))
COMMIT = "0123456789" * 4
NAMED = f"org/name@{COMMIT}"
FILES = ModelFiles("org/name", COMMIT)


def test_the_paper_is_read_as_its_authors_did() -> None:
    assert (PAPER.layout, PAPER.orders) == (PAPER_INSTRUCT, OrderPlan("uniform", 50, 42))
    assert PAPER.causal_lm is not None
    assert PAPER.causal_lm.signature == "Qwen/Qwen2.5-3B@3aab1f1954e9,float32,cpu,sdpa"
    assert {name: spec.signature.split("@")[0] for name, spec in PAPER.pair_scorers.items()} == {
        "pairs:bert_score": "FacebookAI/roberta-large",
        "pairs:sts": "cross-encoder/stsb-roberta-large",
    }


def test_numbers_of_the_paper_need_an_embedder_that_is_named() -> None:
    metric = next(metric for metric in PAPER.metrics() if metric.reads == "embeddings")
    with pytest.raises(ConfigurationError, match=r"bert-large-nli-stsb-mean-tokens is pinned.*--set embedder"):
        sign(metric, PAPER, suite_of(1), 2, None)
    assert f"|model:org/name@{COMMIT[:12]},float32,128-tokens,unknown-words-transliterated|" in str(
        sign(metric, PAPER.replace(embedder=NAMED), suite_of(1), 2, None)
    )


def test_models_that_are_named_take_the_place_of_the_profiles() -> None:
    found = LEXICAL.replace(embedder=NAMED, bert_score=NAMED, sts=NAMED)
    assert found.embedder is not None
    assert (found.embedder.files, found.embedder.max_tokens) == (FILES, ALL_MINILM_L6_V2.max_tokens)
    assert found.pair_scorers["pairs:sts"] == CrossEncoderSpec(FILES)
    layer = f"layer-17,idf-off,baseline-{ROBERTA_LARGE_BERT_SCORE.baseline}"
    assert found.pair_scorers["pairs:bert_score"].signature == f"org/name@{COMMIT[:12]},float32,512-tokens,{layer}"
    one = PAPER.replace(sts=NAMED)
    assert one.pair_scorers["pairs:bert_score"] == ROBERTA_LARGE_BERT_SCORE
    assert (one.embedder, one.causal_lm) == (PAPER.embedder, PAPER.causal_lm)


@pytest.mark.parametrize("profile", PROFILES, ids=lambda profile: profile.name)
def test_nothing_named_changes_nothing(profile: Profile) -> None:
    assert profile.replace() == profile


@pytest.mark.parametrize(
    ("profile", "options", "layout", "orders"),
    [
        (OFFLINE, {"boundaries": "paper"}, PAPER_INSTRUCT, OrderPlan()),
        (OFFLINE, {"format": "completion"}, Layout("completion"), OrderPlan()),
        (OFFLINE, {"orders": "uniform"}, Layout(), OrderPlan("uniform", 1)),
        (OFFLINE, {"orders": "uniform", "order_count": 50}, Layout(), OrderPlan("uniform", 50)),
        (OFFLINE, {"orders": "balanced", "order_count": 2}, Layout(), OrderPlan("balanced", 2)),
        (OFFLINE, {"order_count": 3}, Layout(), OrderPlan("balanced", 3)),
        (PAPER, {"format": "completion"}, Layout("completion", "paper", "never"), OrderPlan("uniform", 50)),
        (PAPER, {"boundaries": "exact"}, Layout(), OrderPlan("uniform", 50)),
        (PAPER, {"orders": "uniform"}, PAPER_INSTRUCT, OrderPlan("uniform", 50)),
        (PAPER, {"orders": "balanced"}, PAPER_INSTRUCT, OrderPlan("balanced", 1)),
        (PAPER, {"order_count": 2}, PAPER_INSTRUCT, OrderPlan("uniform", 2)),
    ],
)
def test_reading_is_the_profiles_but_for_what_is_said(
    profile: Profile, options: dict[str, str | int], layout: Layout, orders: OrderPlan
) -> None:
    found = profile.replace(**options)  # type: ignore[arg-type]
    assert (found.layout, found.orders) == (layout, orders)


def test_a_submission_is_scored_with_models_from_folders(tmp_path: Path) -> None:
    profile = PAPER.replace(
        embedder=str(save_sentence_bert(tmp_path / "sentences")),
        sts=str(save_cross_encoder(tmp_path / "pairs")),
    )
    suite = suite_of(2)
    submission = submit(tmp_path / "in", suite, rows_of(suite, k=3))
    wanted = [metric for metric in profile.metrics() if metric.id in {"embedding_diversity", "bert_sts_diversity"}]
    scored = score_submission(
        submission,
        suite,
        ScoringBackends(profile, reader=HASH_READER),
        tmp_path,
        Options(resamples=100),
        metrics=tuple(wanted),
    )
    assert {score.metric: score.n for score in scored.result.scores} == {metric.id: 2 for metric in wanted}
    assert {score.signature.models[0].split("@")[0] for score in scored.result.scores} == {
        "sentences",
        "pairs",
    }


def test_another_family_than_roberta_is_refused_for_bert_score(tmp_path: Path) -> None:
    spec = PAPER.replace(bert_score=str(save_roberta(tmp_path / "small"))).pair_scorers["pairs:bert_score"]
    with pytest.raises(ConfigurationError, match="no RoBERTa with 17 layers"):
        spec.load()
    spec = PAPER.replace(bert_score=str(save_sentence_bert(tmp_path / "bert"))).pair_scorers["pairs:bert_score"]
    with pytest.raises(ConfigurationError, match="no RoBERTa"):
        spec.load()


def qwen3(folder: Path, task: str) -> Path:
    """A random Qwen 3: *embeddings* pools the last token, *rewards* has one output, *texts* is a language model."""
    made = tokeniser("merging")
    made.add_special_tokens({"additional_special_tokens": ["<|user|>", "<|assistant|>", "<|end|>"]})
    made.pad_token, made.padding_side, made.chat_template = "<|end|>", "left", TEMPLATE
    parts = folder / "parts" if task == "embeddings" else folder
    made.save_pretrained(parts)
    sizes = {
        "hidden_size": 32,
        "intermediate_size": 48,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "head_dim": 8,
    }
    config = transformers.Qwen3Config(
        vocab_size=len(made), num_key_value_heads=2, pad_token_id=made.pad_token_id, num_labels=1, **sizes
    )
    torch.manual_seed(0)
    kinds = {"embeddings": "Qwen3Model", "rewards": "Qwen3ForSequenceClassification", "texts": "Qwen3ForCausalLM"}
    getattr(transformers, kinds[task])(config).save_pretrained(parts)
    if task == "embeddings":
        body = modules.Transformer(str(parts))
        pooled = [body, modules.Pooling(32, "lasttoken"), modules.Normalize()]
        SentenceTransformer(modules=pooled, device="cpu").save(str(folder), create_model_card=False)
    return folder


def test_the_standard_profile_runs_on_models_of_its_classes(tmp_path: Path) -> None:
    standard = find_profile("standard")
    assert isinstance(standard.reward, HFRewardSpec)
    names = {task: qwen3(tmp_path / task, task) for task in ("embeddings", "rewards", "texts")}
    tiny = standard.replace(embedder=str(names["embeddings"]), lm=str(names["texts"]))
    tiny = replace(
        tiny, reward=replace(standard.reward, files=find_model_files(str(names["rewards"])), dtype="float32")
    )
    assert tiny.embedder is not None
    assert tiny.embedder.max_tokens == 512
    backends, metrics = ScoringBackends(tiny), tiny.metrics()
    sets = [ResponseSet("Name a colour.", ("Red.", "Blue, like the sea.", "red", "Green", "A pale yellow.", "Black"))]
    [values] = score_sets(backends.materials(sets, metrics), metrics)
    lacking = {name: value for name, value in values.items() if isinstance(value, Missing)}
    assert lacking.keys() == {metric.id for metric in metrics if metric.reads == "reported"}
    assert {"utility_k", "d_can", "vendi_score", "valid_distinct_k"} <= values.keys()
    assert values["valid_distinct_k"] == 5.0  # by our estimate, whatever a random reward model says
