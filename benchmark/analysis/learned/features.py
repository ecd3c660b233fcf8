"""Features of labelled sets: distances of pairs without the prompt's part, surprisals, and stored scores."""

from collections.abc import Sequence
from itertools import combinations
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from benchmark.analysis.metaeval.labelled import Labelled
from benchmark.analysis.metaeval.scores import Progress, Scores, file_scores, unique_sets
from benchmark.analysis.reproduce.qwen25_scores import ORIGIN, released_curves
from benchmark.equivalence.backend import ResponsePair
from benchmark.equivalence.learned.backend import PairReader
from benchmark.equivalence.learned.features import FEATURES, LINEAR
from benchmark.metrics.surprisal_curve import tail
from benchmark.models.embedder import ALL_MINILM_L6_V2, SentenceTransformersEmbedder
from benchmark.scoring.compute import Value
from divbench.core.files import atomic_file
from submissions.checking.response_kinds import scorable_responses

PAIR_FEATURES = tuple(name for name, _ in FEATURES[:LINEAR])
_ALIKE = {name for name, sign in FEATURES[:LINEAR] if sign > 0}  # similarities, converted to distances
_AT_ONCE = 50  # sets
PAIR_NAMES = ("relevance", *(f"{name}_distance" if name in _ALIKE else name for name in PAIR_FEATURES))
SURPRISAL_NAMES = ("retained_surprise", "tail_retained", "bits_alone", "log_bits_alone", "bytes", "log_bytes")


def surprisal_features(tasks: Sequence[Labelled], mirror: Path | None) -> list[Scores]:
    """Compute features of Qwen2.5-3B's released curves: R, the same for the second half in rates, bits and bytes.

    Args and errors as in `released_curves`.
    """
    found: dict[str, dict[str, Value]] = {}
    curves = released_curves(tasks, mirror)
    for task in tasks:
        curve = curves[task.name]
        with np.errstate(divide="ignore", invalid="ignore"):  # one set has blank responses only
            rates = (curve.bits / curve.sizes).T
            bits = curve.alone.mean(axis=1)
            columns = {
                "retained_surprise": curve.metrics["retained_surprise"],
                "tail_retained": tail(rates).mean(axis=0) / rates[0],
                "bits_alone": bits,
                "log_bits_alone": np.log(bits),
                "bytes": task.lengths,
                "log_bytes": np.log(task.lengths),
            }
        for name, values in columns.items():
            found.setdefault(name, {}).update(zip(task.set_ids, values.tolist(), strict=True))
    return [Scores(name, ORIGIN, values) for name, values in found.items()]


def pair_features(tasks: Sequence[Labelled], progress: Progress = lambda what, done, total: None) -> list[Scores]:
    """Compute the relevance of responses to the prompt, and means over pairs of the learned backend's features.

    The features are used as distances, without the backend's model, whose weights were chosen with these sets in view.
    """
    sets = unique_sets(tasks)
    embedder = SentenceTransformersEmbedder(ALL_MINILM_L6_V2)
    reader = PairReader(embedder)
    found = {name: np.full(len(PAIR_NAMES), np.nan) for name in sets}
    names = list(sets)
    for start in range(0, len(names), _AT_ONCE):
        pairs, of = [], []
        for name in names[start : start + _AT_ONCE]:
            context, responses = sets[name]
            for a, b in combinations(sorted(scorable_responses(responses)), 2):
                pairs.append(ResponsePair(context, a, b))
                of.append(name)
        features = reader.features(pairs)[0][:, : len(PAIR_FEATURES)]
        texts = sorted({text for pair in pairs for text in (pair.prompt, pair.a, pair.b)})
        vectors = dict(zip(texts, embedder.embed(texts), strict=True))
        near = [float((vectors[p.a] + vectors[p.b]) @ vectors[p.prompt]) / 2 for p in pairs]
        for name in dict.fromkeys(of):
            own = [each == name for each in of]
            found[name] = np.array([np.mean(near, where=own), *_as_distances(features[own].mean(axis=0))])
        progress("comparing responses", min(start + _AT_ONCE, len(names)), len(names))
    return [
        Scores(name, "all-MiniLM-L6-v2 with the prompt", {each: float(row[i]) for each, row in found.items()})
        for i, name in enumerate(PAIR_NAMES)
    ]


def _as_distances(features: NDArray[np.float64]) -> list[float]:
    """Convert similarities among the features to distances, [features]."""
    return [
        1 - value if name in _ALIKE else value for name, value in zip(PAIR_FEATURES, features.tolist(), strict=True)
    ]


def write_features(path: Path, features: Sequence[Scores]) -> None:
    """Write features as a scores file atomically; values read back are equal to the last digit."""
    ids = sorted(features[0].values)
    columns = [pa.array(each.column(ids)) for each in features]
    table = pa.Table.from_arrays([pa.array(ids), *columns], names=["set_id", *(each.name for each in features)])
    with atomic_file(path) as temporary:
        pq.write_table(table, temporary, compression="zstd")


def read_features(path: Path, tasks: Sequence[Labelled]) -> list[Scores]:
    """Read the columns of a scores file by their own names. Raises as `file_scores`."""
    found = file_scores(path, "set_id", unique_sets(tasks).keys())
    return [Scores(each.name.partition(":")[2], each.origin, each.values, each.problems) for each in found]
