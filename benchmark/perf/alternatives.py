"""Speed of the package's models compared with common libraries: `python -m benchmark.perf.alternatives`.

*embeddings*: all-MiniLM-L6-v2 by the package and by sentence-transformers' own `encode`, on responses of all lengths.
*classifier*: all pairs of some response sets under a classifier of deberta-v3-large's shape with random weights, by the
package and by transformers' pipeline, one pair at a time as by default and eight at a time.

Both ways alternate in one process; the numbers are compared before any time is printed. Seconds are processor time of
all threads, since other programs distort wall-clock time more. `benchmark.perf.surprisal` compares the surprisal engine
with one pass per order. Without a mirror the responses are synthetic.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from time import process_time
from typing import Any

import numpy as np

from benchmark.equivalence.backend import Floats, ResponsePair
from benchmark.equivalence.classifiers import ClassifierEquivalence, GenerationSimilarity
from benchmark.models.embedder import ALL_MINILM_L6_V2, SentenceTransformersEmbedder, unit_rows
from benchmark.models.model_files import ModelFiles
from benchmark.models.unknown_words import with_known_words
from benchmark.perf.classifier_work import made_up_responses, questions_of, random_classifier, released_responses
from benchmark.perf.script import Comparison, largest_difference, option_parser, print_document, timed_in_turns

TOLERANCE = {"embeddings": 1e-6, "classifier": 1e-4}  # for a coordinate, for a probability
MAX_TOKENS = 512  # per pair


Way = Callable[[], Floats]


def compare(
    work: str, items: int, tokens: int, package: Way, others: Mapping[str, Way], rounds: int
) -> list[Comparison]:
    """Time the package and its alternatives in turns, in processor time; ratios are of the fastest rounds.

    Raises:
        ValueError: Their numbers differ.
    """
    seconds, results = timed_in_turns({"package": package, **others}, rounds, process_time)
    made = []
    for name in others:
        largest = largest_difference(results[name], results["package"])
        if not largest <= TOLERANCE[work]:
            raise ValueError(f"{work}: the package and {name} differ by {largest}")
        about = {"work": work, "alternative": name, "items": items, "tokens": tokens}
        ratio = min(seconds[name]) / min(seconds["package"])
        made.append(Comparison(about, largest, seconds[name], seconds["package"], ratio))
    return made


def embeddings(texts: Sequence[str], rounds: int) -> list[Comparison]:
    """Compare the bundled embedder on different texts with sentence-transformers' `encode` with its own batches."""
    embedder = SentenceTransformersEmbedder(ALL_MINILM_L6_V2)
    model: Any = embedder._model
    # The library by itself reads an unknown word as one token, whatever it is: the numbers would differ.
    known = with_known_words(model.tokenizer, texts, ALL_MINILM_L6_V2.max_tokens)

    def encoded() -> Floats:
        return unit_rows(model.encode(known, show_progress_bar=False).astype(np.float64))

    tokens = sum(
        map(len, model.tokenizer(list(texts), truncation=True, max_length=ALL_MINILM_L6_V2.max_tokens).input_ids)
    )
    embedder.embed(texts[:2])
    package = partial(embedder.embed, texts)
    return compare("embeddings", len(texts), tokens, package, {"sentence-transformers' encode": encoded}, rounds)


def classifier(
    pairs: Sequence[ResponsePair], texts: Sequence[str], layers: int, rounds: int, **changes: Any
) -> list[Comparison]:
    """Compare a classifier of DeBERTa's shape on pairs with transformers' pipeline on the same model."""
    from tokenizers.processors import TemplateProcessing
    from transformers import pipeline

    loaded = random_classifier(texts, layers, **changes)
    tokeniser: Any = loaded.tokeniser
    special = [(name, tokeniser.convert_tokens_to_ids(name)) for name in ("[CLS]", "[SEP]")]
    tokeniser.backend_tokenizer.post_processor = TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=special
    )
    build: Any = pipeline
    piped = build("text-classification", model=loaded.model, tokenizer=tokeniser, top_k=None, device="cpu")
    given = [{"text": pair.a, "text_pair": pair.b} for pair in pairs]

    def by_pipeline(size: int) -> Floats:
        found = piped(given, batch_size=size, truncation="longest_first", max_length=MAX_TOKENS)
        return np.array([next(one["score"] for one in each if one["label"] == "LABEL_1") for each in found])

    spec = GenerationSimilarity(ModelFiles("random", "0" * 40), window=None, max_tokens=MAX_TOKENS)
    backend = ClassifierEquivalence(spec, loaded)
    backend.scores(pairs[:2])
    tokens = sum(
        len(ids)
        for ids in tokeniser(
            [each["text"] for each in given],
            [each["text_pair"] for each in given],
            truncation="longest_first",
            max_length=MAX_TOKENS,
        ).input_ids
    )
    others = {
        "transformers' pipeline, one at a time": partial(by_pipeline, 1),
        "the same, eight at a time": partial(by_pipeline, 8),
    }
    return compare("classifier", len(pairs), tokens, partial(backend.scores, pairs), others, rounds)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print one JSON document."""
    parser = option_parser(__doc__, mirror=True)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--texts", type=int, default=2000, help="Number of different responses to embed.")
    parser.add_argument("--pairs", type=int, default=450, help="Number of pairs to classify.")
    parser.add_argument(
        "--layers", type=int, default=24, help="Number of layers of the classifier; fewer for slow machines."
    )
    given = parser.parse_args(arguments)
    responses = made_up_responses(given.texts // 10 + 1) if given.mirror is None else released_responses(given.mirror)
    texts = list(dict.fromkeys(text for _, of_set in responses for text in of_set))
    drawn = [texts[i] for i in np.random.default_rng(0).permutation(len(texts))[: given.texts]]
    pairs = questions_of(responses, given.pairs)
    found = [*embeddings(drawn, given.rounds), *classifier(pairs, texts, given.layers, given.rounds)]
    data = "made up" if given.mirror is None else "NoveltyBench"
    print_document({"data": data, "layers": given.layers, "comparisons": found})


if __name__ == "__main__":
    main()
