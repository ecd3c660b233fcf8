"""Pairs of responses per second with NoveltyBench's classifier: `python -m benchmark.perf.equivalence`.

A model of the shape of deberta-v3-large with random weights, by the package (each different pair once, pairs of similar
length together) and as published (one pair after the other), alternating in one process, so that other load on the
machine affects both. The pairs are all those of the ten responses to some of NoveltyBench's prompts, if a mirror has
them, otherwise synthetic. The values are compared before any time is printed. With fewer `--layers`, the embeddings and
the output take a larger share than in the whole model.
"""

import json
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from benchmark.equivalence.backend import Floats, ResponsePair
from benchmark.equivalence.classifiers import ClassifierEquivalence, GenerationSimilarity
from benchmark.equivalence.pair_classifier import PairClassifier
from benchmark.models.model_files import ModelFiles
from benchmark.perf.script import largest_difference, option_parser, print_document, timed_in_turns

TOLERANCE = 1e-4  # for probabilities, due to another order of float32 sums
LAYERS = 24
WINDOW = 128
Responses = list[tuple[str, list[str]]]  # prompt, responses


@dataclass(frozen=True, slots=True)
class Comparison:
    """Measurements of both ways.

    Attributes:
        data: Origin of the pairs.
        layers: Layers of the model; deberta-v3-large has 24.
        different_pairs: Number of distinct pairs.
        tokens: Mean number of tokens of a pair.
        largest_difference: Largest difference of probabilities.
        plain_seconds: Seconds of one pair after the other, one per round.
        package_seconds: Seconds of the package, one per round.
        plain_pairs_per_second: Rate at the median time.
        package_pairs_per_second: Rate at the median time.
        ratio: Ratio of the medians.
    """

    data: str
    layers: int
    pairs: int
    different_pairs: int
    tokens: float
    largest_difference: float
    plain_seconds: list[float]
    package_seconds: list[float]
    plain_pairs_per_second: float
    package_pairs_per_second: float
    ratio: float


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
        layers: Number of layers; fewer for slow machines.
        changes: Changes to the configuration.
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


def one_after_the_other(classifier: PairClassifier, questions: Sequence[ResponsePair]) -> Floats:
    """Classify as published: each pair is tokenised and read separately."""
    import torch

    model, tokeniser = classifier.model, classifier.tokeniser
    made = []
    with torch.inference_mode():
        for question in questions:
            a, b = (
                tokeniser.encode(text, truncation=True, max_length=WINDOW, add_special_tokens=False)
                for text in (question.a, question.b)
            )
            ids = [tokeniser.cls_token_id, *a, tokeniser.sep_token_id, *b, tokeniser.sep_token_id]
            types = [0] * (len(a) + 2) + [1] * (len(b) + 1)
            logits = model(input_ids=torch.tensor([ids]), token_type_ids=torch.tensor([types])).logits
            made.append(float(logits.softmax(-1)[0, 1]))
    return np.array(made)


def compare(questions: Sequence[ResponsePair], classifier: PairClassifier, rounds: int, data: str) -> Comparison:
    """Time both ways in turns.

    Raises:
        ValueError: Their values differ, or are all equal.
    """
    spec = GenerationSimilarity(ModelFiles("random", "0" * 40), window=WINDOW)
    backend = ClassifierEquivalence(spec, classifier)
    backend.scores(questions[:2])  # warm up
    one_after_the_other(classifier, questions[:2])
    ways = {
        "package": partial(backend.scores, questions),
        "plain": partial(one_after_the_other, classifier, questions),
    }
    seconds, values = timed_in_turns(ways, rounds)
    largest = largest_difference(values["package"], values["plain"])
    spread = min(map(np.ptp, values["plain"]))
    if not largest <= TOLERANCE or spread < 10 * TOLERANCE:
        raise ValueError(f"the two ways differ by {largest}, where the values range over {spread}")
    ids = classifier.encode([text for question in questions for text in (question.a, question.b)])
    medians = {name: statistics.median(each) for name, each in seconds.items()}
    return Comparison(
        data=data,
        layers=classifier.model.config.num_hidden_layers,
        pairs=len(questions),
        different_pairs=len({(question.a, question.b) for question in questions}),
        tokens=3 + 2 * float(np.mean([min(len(one), WINDOW) for one in ids])),
        largest_difference=largest,
        plain_seconds=seconds["plain"],
        package_seconds=seconds["package"],
        plain_pairs_per_second=len(questions) / medians["plain"],
        package_pairs_per_second=len(questions) / medians["package"],
        ratio=medians["plain"] / medians["package"],
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print one JSON document."""
    parser = option_parser(__doc__, mirror=True)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--pairs", type=int, default=900, help="Maximum number of pairs.")
    parser.add_argument("--layers", type=int, default=LAYERS, help="Number of layers; fewer for slow machines.")
    given = parser.parse_args(arguments)
    responses = made_up_responses(given.pairs // 45 + 1) if given.mirror is None else released_responses(given.mirror)
    questions = questions_of(responses, given.pairs)
    classifier = random_classifier([text for _, texts in responses for text in texts], given.layers)
    found = compare(questions, classifier, given.rounds, "made up" if given.mirror is None else "NoveltyBench")
    print_document(found)


if __name__ == "__main__":
    main()
