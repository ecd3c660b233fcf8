"""Values and speed of our metrics compared with other packages: `python -m benchmark.perf.peers [--sets N]`.

Vectors and texts are synthetic, so neither side loads a model. Each measure runs over all sets, theirs and ours
alternating in one process; values are compared before any time is printed. emb-diversity and vendi-score are in the
extra `peers`; diversity 0.3.1 needs transformers below 5, so install it separately (`pip install --no-deps --target DIR
diversity==0.3.1`) and add DIR to PYTHONPATH. Packages that are not installed are left out.
"""

import importlib
import importlib.util
import math
import os
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from statistics import median
from time import process_time
from types import ModuleType
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

from benchmark.metrics import distance_graphs, distances, embedding, kernels, syntax, text_overlap
from benchmark.perf.script import option_parser, print_document, timed_in_turns

Floats = NDArray[np.float64]
Measure = Callable[[Any], float]
TOLERANCE = 1e-9
RESPONSES = 10  # per set
_PACKAGES = {"emb-diversity": "emb_diversity", "vendi-score": "vendi_score", "diversity": "diversity"}


@dataclass(frozen=True, slots=True)
class Pair:
    """A measure of another package, and ours."""

    package: str  # name of the other package
    measure: str  # name of its function
    ours: Measure  # function that computes the same number with ours
    theirs: Measure  # function that calls theirs
    reads: Literal["vectors", "texts", "tags"] = "vectors"  # input of both: unit vectors, texts, or part-of-speech tags
    differs: str | None = None  # why their value may differ; None: both are equal up to `TOLERANCE`


def is_installed(package: str) -> bool:
    """Whether a package is installed."""
    return importlib.util.find_spec(_PACKAGES[package]) is not None


def _emb(name: str, **options: Any) -> Measure:
    """Call a measure of emb-diversity."""

    def call(vectors: Floats) -> float:
        return float(importlib.import_module("emb_diversity").__getattr__(name)(vectors, **options)["value"])

    return call


def _vendi(order: float | str) -> Measure:
    """Call vendi-score on the cosine kernel."""
    return lambda vectors: float(importlib.import_module("vendi_score.vendi").score_K(vectors @ vectors.T, q=order))


@cache
def _diversity(file: str) -> ModuleType:
    """Load a module of diversity from its file, because the package imports a tagger and a model hub."""
    found = importlib.util.find_spec("diversity")
    path = Path(str(found and found.origin)).parent / file
    name = f"peer_diversity.{path.stem}"
    for stub in ("peer_diversity", "peer_diversity.functions"):  # template.py imports `extract_patterns` from there
        sys.modules.setdefault(stub, ModuleType(stub)).__dict__.setdefault("extract_patterns", None)
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"diversity has no {file}")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _self_repetition(texts: Sequence[str]) -> float:
    return float(_diversity("self_repetition.py").self_repetition_score(list(texts), verbose=False))


def _templates(responses: Sequence[Sequence[Sequence[str]]]) -> tuple[list[str], dict[str, list[str]]]:
    """Make texts with these tags, and our templates, for diversity, which searches for a template's words in texts.

    Each word is its own tag, in brackets so that no word is a prefix of another. Two spaces end a sentence, so that no
    template extends over it; diversity counts words by white space, so their number is the number of tags.
    """
    texts = ["  ".join(" ".join(f"<{tag}>" for tag in tags) for tags in each) for each in responses]
    found = _diversity("patterns/Token.py").token_patterns
    held = Counter(pattern for text in texts for pattern, _ in found(text.split("  "), 6, None))
    return texts, {pattern: [pattern] for pattern, holders in held.items() if holders > 1}


def _template_rate(responses: Sequence[Sequence[Sequence[str]]]) -> float:
    return float(_diversity("template.py").template_rate(*_templates(responses)))


def _templates_per_token(responses: Sequence[Sequence[Sequence[str]]]) -> float:
    return float(np.mean(_diversity("template.py").templates_per_token(*_templates(responses))))


def _pairs(vectors: Floats) -> int:
    return len(vectors) * (len(vectors) - 1) // 2


_NO_EDGE = "theirs counts the distance 0 of equal vectors as no edge and joins each copy anew"
_APPROXIMATE = "theirs is an approximation (Christofides), ours the shortest circuit"
_EMB = "emb-diversity"

PAIRS: tuple[Pair, ...] = (
    Pair(_EMB, "mean_pw_dist", embedding.cosine_diversity, _emb("mean_pw_dist")),
    Pair(_EMB, "sum_pw_dist", lambda x: embedding.cosine_diversity(x) * _pairs(x), _emb("sum_pw_dist")),
    Pair(_EMB, "chamfer_dist", lambda x: distances.nearest_neighbour_distance(x, 1), _emb("chamfer_dist")),
    Pair(_EMB, "knn", lambda x: distances.nearest_neighbour_distance(x, 2), _emb("knn")),
    Pair(_EMB, "energy", lambda x: distances.pairwise_energy(x, 1e-12), _emb("energy")),
    Pair(_EMB, "diameter", distances.diameter, _emb("diameter")),
    Pair(_EMB, "bottleneck", distances.bottleneck, _emb("bottleneck")),
    Pair(_EMB, "sum_diameter", distances.sum_diameter, _emb("sum_diameter")),
    Pair(
        _EMB,
        "sum_bottleneck",
        lambda x: len(x) * distances.nearest_neighbour_distance(x, 1),
        _emb("sum_bottleneck"),
    ),
    Pair(_EMB, "geo_mean_std", distances.geometric_std, _emb("geo_mean_std")),
    Pair(_EMB, "span_centroid", lambda x: distances.span_centroid(x, 90), _emb("span_centroid")),
    Pair(_EMB, "span_medoid", distances.span_medoid, _emb("span_medoid")),
    Pair(_EMB, "log_determinant", lambda x: kernels.log_determinant(x, 1e-6), _emb("log_determinant")),
    Pair(_EMB, "vendi_score", lambda x: embedding.vendi_score(x, 1), _emb("vendi_score")),
    Pair(_EMB, "renyi_entropy", lambda x: kernels.renyi_entropy(x, 2), _emb("renyi_entropy")),
    Pair(_EMB, "dcscore", lambda x: kernels.dcscore(x, 1), _emb("dcscore")),
    Pair(_EMB, "mst_dispersion", distance_graphs.mst_dispersion, _emb("mst_dispersion"), differs=_NO_EDGE),
    Pair(_EMB, "graph_entropy", distance_graphs.graph_entropy, _emb("graph_entropy")),
    Pair(_EMB, "hamdiv", distance_graphs.hamdiv, _emb("hamdiv"), differs=_APPROXIMATE),
    Pair("vendi-score", "score_K, q = 1", lambda x: embedding.vendi_score(x, 1), _vendi(1)),
    Pair("vendi-score", "score_K, q = 2", lambda x: embedding.vendi_score(x, 2), _vendi(2)),
    Pair("vendi-score", "score_K, q = inf", lambda x: embedding.vendi_score(x, math.inf), _vendi("inf")),
    Pair(
        "diversity",
        "self_repetition_score",
        lambda x: text_overlap.self_repetition(x, 4),
        _self_repetition,
        reads="texts",
    ),
    Pair("diversity", "template_rate", lambda x: syntax.template_rate(x, 6), _template_rate, reads="tags"),
    Pair(
        "diversity",
        "templates_per_token",
        lambda x: syntax.templates_per_token(x, 6),
        _templates_per_token,
        reads="tags",
    ),
)


def made_up_vectors(sets: int) -> list[Floats]:
    """Make unit vectors with about the cosines of responses to one question."""
    rng = np.random.default_rng(0)
    made = rng.standard_normal((sets, RESPONSES, 384)) + 0.8 * rng.standard_normal((sets, 1, 384))
    return list(made / np.linalg.norm(made, axis=-1, keepdims=True))


def made_up_texts(sets: int) -> list[list[str]]:
    """Make texts of 40 words from a small vocabulary, so that some phrases of four words repeat."""
    rng = np.random.default_rng(0)
    vocabulary = np.array(["red", "green", "blue", "stone", "river", "lamp", "and", "the"])
    return [[" ".join(rng.choice(vocabulary, size=40)) for _ in range(RESPONSES)] for _ in range(sets)]


def made_up_tags(sets: int) -> list[list[list[list[str]]]]:
    """Make responses of four sentences of ten tags, some of which share a template."""
    rng = np.random.default_rng(0)
    vocabulary = np.array(["DT", "JJ", "NN", "NNS", "VBZ", "IN"])
    made = rng.choice(vocabulary, size=(sets, RESPONSES, 4, 10), p=[0.2, 0.1, 0.3, 0.1, 0.1, 0.2])
    return cast("list[list[list[list[str]]]]", made.tolist())


def values(measure: Measure, given: Sequence[Any]) -> list[float]:
    """Return a measure's value of each set, with the warnings of other packages silenced."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [measure(each) for each in given]


def compare(pair: Pair, given: Sequence[Any], rounds: int) -> dict[str, Any]:
    """Time both in turns; return CPU seconds over all sets in each round, and the largest relative difference.

    Raises:
        ValueError: Values differ that should be equal.
    """
    values(pair.ours, given[:2])  # imports at first use are not timed
    values(pair.theirs, given[:2])
    ways = {"ours": partial(values, pair.ours, given), "theirs": partial(values, pair.theirs, given)}
    seconds, found = timed_in_turns(ways, rounds, process_time)
    ours, theirs = np.array(found["ours"]), np.array(found["theirs"])
    difference = float(np.max(np.abs(ours - theirs) / np.maximum(1.0, np.abs(theirs))))
    if pair.differs is None and difference > TOLERANCE:
        raise ValueError(f"{pair.measure} of {pair.package} and ours differ by {difference:g}")
    ratio = median(seconds["theirs"]) / median(seconds["ours"])
    about = {"package": pair.package, "measure": pair.measure, "differs": pair.differs}
    return about | seconds | {"ratio": ratio, "difference": difference}


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print one JSON document."""
    parser = option_parser(__doc__)
    parser.add_argument("--sets", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=1)
    given = parser.parse_args(arguments)
    sets: dict[str, Sequence[Any]] = {
        "vectors": made_up_vectors(given.sets),
        "texts": made_up_texts(given.sets),
        "tags": made_up_tags(given.sets),
    }
    here = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)  # emb-diversity writes each set's distances to a folder here
        try:
            found = [compare(pair, sets[pair.reads], given.rounds) for pair in PAIRS if is_installed(pair.package)]
        finally:
            os.chdir(here)
    ours, theirs = (sum(median(each[side]) for each in found) for side in ("ours", "theirs"))
    ratio = theirs / ours if found else None
    print_document({"sets": given.sets, "responses": RESPONSES, "measures": found, "ratio": ratio})


if __name__ == "__main__":
    main()
