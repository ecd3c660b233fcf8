"""Speed of the package's models beside common libraries: `python -m benchmark.perf.alternatives`.

*embeddings*: all-MiniLM-L6-v2 by the package and by sentence-transformers' own `encode`, on responses of all lengths.
*classifier*: pairs of responses under a DeBERTa classifier with random weights, by the package and by transformers'
pipeline, one pair at a time as by default and eight at a time. Seconds are processor time of all threads.
"""

import argparse
from collections.abc import Callable, Sequence
from functools import partial
from itertools import combinations
from time import process_time
from typing import Any

import numpy as np

from benchmark.equivalence.backend import Floats, ResponsePair
from benchmark.equivalence.classifiers import ClassifierEquivalence, GenerationSimilarity, PairClassifier
from benchmark.models.embedder import ALL_MINILM_L6_V2, SentenceTransformersEmbedder, unit_rows
from benchmark.models.model_files import ModelFiles
from benchmark.models.tokenisers import with_known_words
from benchmark.perf import compare, print_document

MAX_TOKENS = 512  # per pair
Ways = dict[str, Callable[[], Floats]]
DEBERTA_V3_LARGE: dict[str, Any] = {
    "vocab_size": 30_522,  # of all-MiniLM-L6-v2's tokeniser, which it reads with here
    "hidden_size": 1024,
    "intermediate_size": 4096,
    "num_attention_heads": 16,
    "type_vocab_size": 0,
    "relative_attention": True,
    "position_buckets": 256,
    "max_relative_positions": -1,
    "position_biased_input": False,
    "norm_rel_ebd": "layer_norm",
    "share_att_key": True,
    "pos_att_type": ["p2c", "c2p"],
    "num_labels": 2,
}


def synthetic_responses(prompts: int) -> list[list[str]]:
    """Make ten responses per prompt: a few words for half of the prompts, some sentences for the others."""
    rng = np.random.default_rng(0)
    words = [f"word{i}" for i in range(500)]
    lengths = [rng.poisson(4 if i % 2 else 70, size=10) for i in range(prompts)]
    return [[" ".join(rng.choice(words, size=max(n, 1))) for n in row] for row in lengths]


def embeddings(texts: Sequence[str], rounds: int) -> list[dict[str, Any]]:
    """Compare the bundled embedder on different texts with sentence-transformers' `encode` with its own batches."""
    embedder = SentenceTransformersEmbedder(ALL_MINILM_L6_V2)
    model: Any = embedder._model
    # The library by itself reads an unknown word as one token, whatever it is: the numbers would differ.
    known = with_known_words(model.tokenizer, texts, ALL_MINILM_L6_V2.max_tokens)

    def encode() -> Floats:
        return unit_rows(model.encode(known, show_progress_bar=False).astype(np.float64))

    ways: Ways = {"package": partial(embedder.embed, texts), "sentence-transformers' encode": encode}
    return compare("embeddings", ways, rounds, 1e-6, process_time)


def classifier(pairs: Sequence[ResponsePair], rounds: int, **changes: Any) -> list[dict[str, Any]]:
    """Compare a classifier of deberta-v3-large's shape on pairs with transformers' pipeline on the same model."""
    import torch
    import transformers

    library: Any = transformers
    torch.manual_seed(0)
    model = library.DebertaV2ForSequenceClassification(library.DebertaV2Config(**DEBERTA_V3_LARGE | changes))
    with torch.no_grad():
        model.classifier.weight.mul_(20)  # so that probabilities differ and comparing them is meaningful
    tokeniser = library.AutoTokenizer.from_pretrained(ALL_MINILM_L6_V2.files.locate()[0])
    pipeline = library.pipeline("text-classification", model=model, tokenizer=tokeniser, top_k=None, device="cpu")
    inputs = [{"text": pair.a, "text_pair": pair.b} for pair in pairs]

    def by_pipeline(size: int) -> Floats:
        outputs = pipeline(inputs, batch_size=size, truncation="longest_first", max_length=MAX_TOKENS)
        return np.array([next(one["score"] for one in row if one["label"] == "LABEL_1") for row in outputs])

    spec = GenerationSimilarity(ModelFiles("random", "0" * 40), window=None, max_tokens=MAX_TOKENS)
    ways: Ways = {
        "package": partial(ClassifierEquivalence(spec, PairClassifier(model.eval(), tokeniser)).scores, pairs),
        "transformers' pipeline, one at a time": partial(by_pipeline, 1),
        "the same, eight at a time": partial(by_pipeline, 8),
    }
    return compare("classifier", ways, rounds, 1e-4, process_time)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print one JSON document."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--texts", type=int, default=2000, help="Number of responses to embed.")
    parser.add_argument("--pairs", type=int, default=450, help="Number of pairs to classify.")
    parser.add_argument("--layers", type=int, default=24, help="Layers of the classifier; fewer for slow machines.")
    options = parser.parse_args(arguments)
    responses = synthetic_responses(max(options.texts // 10, options.pairs // 45) + 1)
    texts = [text for of_prompt in responses for text in of_prompt][: options.texts]
    pairs = [ResponsePair("", a, b) for of_prompt in responses for a, b in combinations(of_prompt, 2)][: options.pairs]
    rows = embeddings(texts, options.rounds)
    print_document(rows + classifier(pairs, options.rounds, num_hidden_layers=options.layers))


if __name__ == "__main__":
    main()
