"""Small classifiers of pairs in folders as people have them: random weights, a few pieces, no network."""

import json
from itertools import product
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, models, pre_tokenizers, trainers
from transformers import DebertaV2Config, DebertaV2ForSequenceClassification, DebertaV2Model, DebertaV2Tokenizer

from benchmark.equivalence.backend import ResponsePair
from tests.benchmark.encoders import save_cross_encoder
from tests.benchmark.lms import CORPUS

POSITIONS = 96
WINDOW = 24
NLI_LABELS = ("CONTRADICTION", "NEUTRAL", "ENTAILMENT")
TEXTS = [
    "The river was high, and the bridge was closed.",
    "Nobody had seen the lamp since Tuesday.",
    "Снег шёл всю ночь",
    "雨が降っている。 🙂",
    "yes",
    "",
    " \n",
    "a stone under the paper " * 20,  # over any window here
]
QUESTIONS = [ResponsePair("Where is it?", a, b) for a, b in product(TEXTS, TEXTS)]


def save_deberta(folder: Path, outputs: int = 2, **changes: Any) -> Path:
    """A classifier of the kind of deberta-v3-large, with its tokeniser; `labels` name the outputs."""
    labels = changes.pop("labels", None)
    tokeniser = deberta_tokeniser()
    tokeniser.save_pretrained(folder)
    config = _config(len(tokeniser), num_labels=outputs, **changes)
    if labels is not None:
        config.id2label = dict(enumerate(labels))
        config.label2id = {label: i for i, label in enumerate(labels)}
    torch.manual_seed(0)
    model = DebertaV2ForSequenceClassification(config).apply(_spread)
    with torch.no_grad():
        model.classifier.weight.mul_(0.3)  # neither all 0 nor all 1
        model.classifier.bias.normal_(generator=torch.Generator().manual_seed(1))
    model.save_pretrained(folder)
    return folder


def save_nli(folder: Path) -> Path:
    """A model for natural language inference of the kind of deberta-v2-xlarge-mnli, which has a convolution, too."""
    return save_deberta(folder, outputs=3, labels=NLI_LABELS, conv_kernel_size=3, conv_act="gelu")


def save_roberta_nli(folder: Path) -> Path:
    """Another, of a family without token types and with its own way of joining pairs."""
    save_cross_encoder(folder, outputs=3)
    path = folder / "config.json"
    config = json.loads(path.read_text(encoding="utf-8"))
    names = ("entailment", "neutral", "contradiction")
    config |= {"id2label": dict(enumerate(names)), "label2id": {name: i for i, name in enumerate(names)}}
    path.write_text(json.dumps(config), encoding="utf-8")
    return folder


def save_bare_deberta(folder: Path) -> Path:
    """The same without what classifies."""
    tokeniser = deberta_tokeniser()
    tokeniser.save_pretrained(folder)
    DebertaV2Model(_config(len(tokeniser))).save_pretrained(folder)
    return folder


def deberta_tokeniser() -> DebertaV2Tokenizer:
    """Of pieces, as DeBERTa's: special tokens are pieces of its vocabulary."""
    trained = Tokenizer(models.Unigram())
    trained.pre_tokenizer = pre_tokenizers.Metaspace()
    special = ["[PAD]", "[CLS]", "[SEP]", "[UNK]"]
    trainer = trainers.UnigramTrainer(
        vocab_size=400, special_tokens=special, unk_token=special[-1], show_progress=False
    )
    trained.train_from_iterator([*CORPUS, "[ ] ! ?"], trainer)
    pieces = sorted(trained.get_vocab(), key=lambda piece: trained.token_to_id(piece) or 0)
    build: Any = DebertaV2Tokenizer
    scores = [(piece, 0.0 if i < len(special) else -float(len(special) + i)) for i, piece in enumerate(pieces)]
    made: DebertaV2Tokenizer = build(vocab=[*scores, ("[MASK]", 0.0)], unk_id=3)
    return made


def _config(vocabulary: int, **changes: Any) -> Any:
    shape: dict[str, Any] = {
        "vocab_size": vocabulary,
        "hidden_size": 32,
        "intermediate_size": 48,
        "num_hidden_layers": 3,
        "num_attention_heads": 4,
        "max_position_embeddings": POSITIONS,
        "type_vocab_size": 2,  # deberta-v3-large has none, and would not show whether types are right
        "relative_attention": True,
        "position_buckets": 32,
        "position_biased_input": False,
        "norm_rel_ebd": "layer_norm",
        "share_att_key": True,
        "pos_att_type": ["p2c", "c2p"],
    }
    build: Any = DebertaV2Config
    return build(**shape | changes)


def _spread(module: torch.nn.Module) -> None:
    """Weights so large that texts differ."""
    if isinstance(module, torch.nn.Linear | torch.nn.Embedding):
        module.weight.data.mul_(12)
