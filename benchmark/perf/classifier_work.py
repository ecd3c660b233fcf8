"""Inputs for timing classifiers of response pairs: responses, their pairs, and a model of deberta-v3-large's shape."""

import json
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from benchmark.equivalence.backend import ResponsePair
from benchmark.equivalence.classifiers import PairClassifier

LAYERS = 24
Responses = list[tuple[str, list[str]]]  # prompt, responses


def released_responses(mirror: Path) -> Responses:
    """Read the prompts and ten responses each of the released submissions, system after system."""
    made: Responses = []
    for path in sorted((mirror / "noveltybench" / "submissions").glob("*.jsonl")):
        with path.open(encoding="utf-8") as file:
            rows = [json.loads(line) for line in file]
        made += [(row["prompt"], row["generations"]) for row in sorted(rows, key=lambda row: str(row["id"]))]
    return made


def made_up_responses(count: int) -> Responses:
    """Make prompts with ten responses each: a few words for half of the prompts, some sentences for the others."""
    rng = np.random.default_rng(0)
    words = [f"word{i}" for i in range(500)]
    made = []
    for i in range(count):
        lengths = rng.poisson(4 if i % 2 else 70, size=10)
        made.append((f"prompt {i}", [" ".join(rng.choice(words, size=max(n, 1))) for n in lengths]))
    return made


def questions_of(responses: Responses, count: int) -> list[ResponsePair]:
    """Return `count` pairs: all pairs of responses of randomly drawn prompts."""
    drawn = np.random.default_rng(0).permutation(len(responses))
    made = [
        ResponsePair(prompt, a, b) for prompt, texts in (responses[i] for i in drawn) for a, b in combinations(texts, 2)
    ]
    return made[:count]


def random_classifier(texts: Sequence[str], layers: int = LAYERS, **changes: Any) -> PairClassifier:
    """Make a classifier of the shape of deberta-v3-large, with random weights and a tokeniser trained on some texts.

    Args:
        texts: Texts to train the tokeniser on, so that it makes about as many tokens as DeBERTa's.
    """
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers
    from transformers import DebertaV2Config, DebertaV2ForSequenceClassification, PreTrainedTokenizerFast

    made = Tokenizer(models.BPE(unk_token="[UNK]"))  # noqa: S106 - no password
    made.pre_tokenizer = pre_tokenizers.Metaspace()
    special = ["[PAD]", "[CLS]", "[SEP]", "[UNK]", "[MASK]"]
    made.train_from_iterator(
        sorted(texts), trainers.BpeTrainer(vocab_size=16_000, special_tokens=special, show_progress=False)
    )
    build: Any = PreTrainedTokenizerFast
    names = {f"{name.strip('[]').lower()}_token": name for name in special}
    tokeniser = build(tokenizer_object=made, **names)
    shape: dict[str, Any] = {
        "vocab_size": 128_100,
        "hidden_size": 1024,
        "intermediate_size": 4096,
        "num_attention_heads": 16,
        "max_position_embeddings": 512,
        "type_vocab_size": 0,
        "relative_attention": True,
        "position_buckets": 256,
        "max_relative_positions": -1,
        "position_biased_input": False,
        "norm_rel_ebd": "layer_norm",
        "share_att_key": True,
        "pos_att_type": ["p2c", "c2p"],
        "pooler_hidden_act": "gelu",
        "num_labels": 2,
    }
    torch.manual_seed(0)
    config: Any = DebertaV2Config
    model = DebertaV2ForSequenceClassification(config(**shape | {"num_hidden_layers": layers} | changes))
    with torch.no_grad():
        model.classifier.weight.mul_(20)  # so that probabilities differ and comparing them is meaningful
    return PairClassifier(model, tokeniser)
