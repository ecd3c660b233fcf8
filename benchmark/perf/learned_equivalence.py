"""Cost of the learned equivalence backend: `python -m benchmark.perf.learned_equivalence`.

A submission's embeddings and ROUGE-1 classes, and its embeddings and learned classes, alternating in one process. Both
embed every response once; the learned backend also reads the prompts, and compares the tokens of each pair.
"""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from time import process_time

from benchmark.equivalence.learned.backend import Learned
from benchmark.equivalence.partitioning import ResponsesToGroup, partition_by_pairs
from benchmark.equivalence.rules import Rouge1
from benchmark.models.embedder import ALL_MINILM_L6_V2, SentenceTransformersEmbedder
from benchmark.perf.equivalence import Responses, made_up_responses, released_responses
from datasets_build.download import mirror_folder


def rouge_seconds(sets: Sequence[ResponsesToGroup]) -> float:
    """Measure the CPU seconds of embeddings and ROUGE-1 classes."""
    embedder, backend = SentenceTransformersEmbedder(ALL_MINILM_L6_V2), Rouge1().load()
    start = process_time()
    partition_by_pairs(sets, backend)
    embedder.embed([text for each in sets for text in each.texts])
    return process_time() - start


def learned_seconds(sets: Sequence[ResponsesToGroup]) -> float:
    """Measure the CPU seconds of embeddings and learned classes with one embedder."""
    embedder = SentenceTransformersEmbedder(ALL_MINILM_L6_V2)
    backend = Learned().load(loaded=embedder)
    start = process_time()
    partition_by_pairs(sets, backend, "average")
    embedder.embed([text for each in sets for text in each.texts])
    return process_time() - start


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mirror", type=Path, help="Folder with the released files. [env: DIVBENCH_MIRROR]")
    parser.add_argument("--prompts", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true", help="Output as one JSON document.")
    given = parser.parse_args(arguments)
    mirror = mirror_folder(given.mirror)
    found: Responses = made_up_responses(given.prompts) if mirror is None else released_responses(mirror)
    # Every n-th row, because the rows are sorted by system.
    chosen = found[:: max(1, len(found) // given.prompts)][: given.prompts]
    sets = [ResponsesToGroup.of(prompt, texts) for prompt, texts in chosen]
    seconds: dict[str, list[float]] = {"rouge-1": [], "learned": []}
    for _ in range(given.rounds):
        seconds["rouge-1"].append(rouge_seconds(sets))
        seconds["learned"].append(learned_seconds(sets))
    document = {
        "data": "made up" if mirror is None else "NoveltyBench",
        "prompts": len(sets),
        "responses": sum(len(each.texts) for each in sets),
        "cpu_seconds": seconds,
        "ratio": median(seconds["learned"]) / median(seconds["rouge-1"]),
    }
    if given.json:
        print(json.dumps(document, indent=2))
        return
    print(f"{document['responses']:,} responses to {len(sets)} prompts ({document['data']})")
    for name, each in seconds.items():
        print(f"embeddings and {name:8} median {median(each):7.1f} CPU seconds   {len(each)} rounds")
    print(f"ratio of the medians: {document['ratio']:.2f}")


if __name__ == "__main__":
    main()
