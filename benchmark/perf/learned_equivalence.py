"""Cost of the learned equivalence backend: `python -m benchmark.perf.learned_equivalence`.

A submission's embeddings and ROUGE-1 classes, and its embeddings and learned classes, alternating in one process. Both
embed every response once; the learned backend also reads the prompts, and compares the tokens of each pair.
"""

from collections.abc import Sequence
from statistics import median
from time import process_time

from benchmark.equivalence.learned.backend import Learned
from benchmark.equivalence.partitioning import ResponsesToGroup, partition_by_pairs
from benchmark.equivalence.rules import Rouge1
from benchmark.models.embedder import ALL_MINILM_L6_V2, SentenceTransformersEmbedder
from benchmark.perf.classifier_work import Responses, made_up_responses, released_responses
from benchmark.perf.script import option_parser, print_document


def cpu_seconds(sets: Sequence[ResponsesToGroup], *, learned: bool) -> float:
    """Measure the CPU seconds of embeddings and of learned or ROUGE-1 classes, with one embedder."""
    embedder = SentenceTransformersEmbedder(ALL_MINILM_L6_V2)
    backend = Learned().load(loaded=embedder) if learned else Rouge1().load()
    start = process_time()
    partition_by_pairs(sets, backend, "average" if learned else "greedy")
    embedder.embed([text for each in sets for text in each.texts])
    return process_time() - start


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print one JSON document."""
    parser = option_parser(__doc__, mirror=True)
    parser.add_argument("--prompts", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args(arguments)
    found: Responses = made_up_responses(given.prompts) if given.mirror is None else released_responses(given.mirror)
    # Every n-th row, because the rows are sorted by system.
    chosen = found[:: max(1, len(found) // given.prompts)][: given.prompts]
    sets = [ResponsesToGroup.of(prompt, texts) for prompt, texts in chosen]
    seconds: dict[str, list[float]] = {"rouge-1": [], "learned": []}
    for _ in range(given.rounds):
        seconds["rouge-1"].append(cpu_seconds(sets, learned=False))
        seconds["learned"].append(cpu_seconds(sets, learned=True))
    document = {
        "data": "made up" if given.mirror is None else "NoveltyBench",
        "prompts": len(sets),
        "responses": sum(len(each.texts) for each in sets),
        "cpu_seconds": seconds,
        "ratio": median(seconds["learned"]) / median(seconds["rouge-1"]),
    }
    print_document(document)


if __name__ == "__main__":
    main()
