"""Reference values of other packages on constructed sets: `python -m tests.benchmark.peer_values` writes the file.

It needs emb-diversity 0.1.0 and vendi-score 0.0.3 (the extra `peers`) and diversity 0.3.1: see `benchmark.perf.peers`.
"""

import json
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmark.models.embedder import unit_rows
from benchmark.perf.peers import PAIRS, Floats, Pair, values
from tests.benchmark.helpers import GOLDEN
from tests.benchmark.samples import ALIKE

PATH = GOLDEN / "peers.json"
ORIGIN = (
    "emb-diversity 0.1.0, vendi-score 0.0.3 and diversity 0.3.1 with scipy 1.17 and scikit-learn 1.9, on the "
    "constructed sets of tests/benchmark/peer_values.py; made by python -m tests.benchmark.peer_values"
)


def vectors(responses: int, dimensions: int) -> Floats:
    """Unit vectors by a formula, so that no generator of random numbers has to stay the same."""
    return unit_rows(np.sin(0.7 * np.outer(np.arange(1, responses + 1) ** 2, np.arange(1, dimensions + 1))) + 0.4)


VECTORS = [vectors(3, 5), vectors(7, 12), vectors(10, 8), vectors(12, 64)]
TEXTS = [*ALIKE.values(), ("too short", "to repeat a phrase", "of four words")]


def tags(step: int) -> list[list[list[str]]]:
    """Tags by a formula: six responses of one to three sentences, of which some have a sequence in common."""
    kinds = ("DT", "JJ", "NN", "NNS", "VBZ", ".")
    starts = [[step * i + 7 * j for j in range(1 + i % 3)] for i in range(6)]
    return [
        [[kinds[(start + k * k % (5 + step)) % 6] for k in range(4 + start % 7)] for start in own] for own in starts
    ]


TAGS = [tags(step) for step in (1, 2, 3, 5)]


def sets_of(pair: Pair) -> Sequence[Any]:
    """The constructed sets of a measure."""
    of: dict[str, Sequence[Any]] = {"vectors": VECTORS, "texts": TEXTS, "tags": TAGS}
    return of[pair.reads]


def name_of(pair: Pair) -> str:
    """Package and measure."""
    return f"{pair.package} {pair.measure}"


def main() -> None:
    """Write the file."""
    here = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)  # emb-diversity keeps distances in a folder here
        found = {name_of(pair): values(pair.theirs, sets_of(pair)) for pair in PAIRS}
        os.chdir(here)
    PATH.write_text(json.dumps({"origin": ORIGIN, "values": found}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
