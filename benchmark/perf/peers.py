"""Values and speed of our metrics beside other packages: `python -m benchmark.perf.peers [--sets N]`.

Inputs are synthetic, so neither side loads a model. emb-diversity and vendi-score are in the extra `peers`; diversity
0.3.1 needs transformers below 5, so install it separately (`pip install --no-deps --target DIR diversity==0.3.1`) and
add DIR to PYTHONPATH. Packages that are not installed are left out.
"""

import argparse
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
from functools import cache
from pathlib import Path
from time import process_time
from types import ModuleType
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from benchmark.metrics import distances, embedding, similarities, syntax, text_overlap
from benchmark.perf import print_document, timed_in_turns

Floats = NDArray[np.float64]
Measure = Callable[[Any], float]
TOLERANCE = 1e-9
RESPONSES = 10  # per set
_PACKAGES = {"emb-diversity": "emb_diversity", "vendi-score": "vendi_score", "diversity": "diversity"}


@dataclass(frozen=True, slots=True)
class Pair:
    """A measure of another package, and ours."""

    package: str
    measure: str  # name of its function
    ours: Measure
    theirs: Measure
    reads: Literal["vectors", "texts", "tags"] = "vectors"  # input of both: unit vectors, texts, or part-of-speech tags
    differs: str | None = None  # why their value may differ; None: both are equal up to `TOLERANCE`


def is_installed(package: str) -> bool:
    """Whether a package is installed."""
    return importlib.util.find_spec(_PACKAGES[package]) is not None


def _emb(name: str) -> Measure:
    """Call a measure of emb-diversity."""
    return lambda vectors: float(getattr(importlib.import_module("emb_diversity"), name)(vectors)["value"])


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


OURS_BY_EMB: dict[str, Measure] = {
    "mean_pw_dist": embedding.cosine_diversity,
    "sum_pw_dist": lambda x: embedding.cosine_diversity(x) * (len(x) * (len(x) - 1) // 2),
    "chamfer_dist": lambda x: distances.nearest_neighbour_distance(x, 1),
    "knn": lambda x: distances.nearest_neighbour_distance(x, 2),
    "energy": lambda x: distances.pairwise_energy(x, 1e-12),
    "diameter": distances.diameter,
    "bottleneck": distances.bottleneck,
    "sum_diameter": distances.sum_diameter,
    "sum_bottleneck": lambda x: len(x) * distances.nearest_neighbour_distance(x, 1),
    "geo_mean_std": distances.geometric_std,
    "span_centroid": lambda x: distances.span_centroid(x, 90),
    "span_medoid": distances.span_medoid,
    "log_determinant": lambda x: similarities.log_determinant(x, 1e-6),
    "vendi_score": lambda x: embedding.vendi_score(x, 1),
    "renyi_entropy": lambda x: similarities.renyi_entropy(x, 2),
    "dcscore": lambda x: similarities.dcscore(x, 1),
    "mst_dispersion": distances.mst_dispersion,
    "graph_entropy": distances.graph_entropy,
    "hamdiv": distances.hamdiv,
}
DIFFERS = {
    "mst_dispersion": "theirs counts the distance 0 of equal vectors as no edge and joins each copy anew",
    "hamdiv": "theirs is an approximation (Christofides), ours the shortest circuit",
}
PAIRS: tuple[Pair, ...] = (
    *(Pair("emb-diversity", name, ours, _emb(name), differs=DIFFERS.get(name)) for name, ours in OURS_BY_EMB.items()),
    Pair("vendi-score", "score_K, q = 1", lambda x: embedding.vendi_score(x, 1), _vendi(1)),
    Pair("vendi-score", "score_K, q = 2", lambda x: embedding.vendi_score(x, 2), _vendi(2)),
    Pair("vendi-score", "score_K, q = inf", lambda x: embedding.vendi_score(x, math.inf), _vendi("inf")),
    Pair("diversity", "self_repetition_score", lambda x: text_overlap.self_repetition(x, 4), _self_repetition, "texts"),
    Pair("diversity", "template_rate", lambda x: syntax.template_rate(x, 6), _template_rate, "tags"),
    Pair("diversity", "templates_per_token", lambda x: syntax.templates_per_token(x, 6), _templates_per_token, "tags"),
)


def synthetic(sets: int) -> dict[str, list[Any]]:
    """Make vectors with about the cosines of responses to one question, texts with repeats, and tags with templates."""
    rng = np.random.default_rng(0)
    vectors = rng.standard_normal((sets, RESPONSES, 384)) + 0.8 * rng.standard_normal((sets, 1, 384))
    words = np.array(["red", "green", "blue", "stone", "river", "lamp", "and", "the"])
    tags = np.array(["DT", "JJ", "NN", "NNS", "VBZ", "IN"])
    return {
        "vectors": list(vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)),
        "texts": [[" ".join(rng.choice(words, size=40)) for _ in range(RESPONSES)] for _ in range(sets)],
        "tags": rng.choice(tags, size=(sets, RESPONSES, 4, 10), p=[0.2, 0.1, 0.3, 0.1, 0.1, 0.2]).tolist(),
    }


def values(measure: Measure, sets: Sequence[Any]) -> list[float]:
    """Return a measure's value of each set, with the warnings of other packages silenced."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [measure(response_set) for response_set in sets]


def compare(pair: Pair, sets: Sequence[Any]) -> dict[str, Any]:
    """Time both in turns, in CPU seconds over all sets; raise ValueError if values differ that should be equal."""
    values(pair.ours, sets[:2])  # imports at first use are not timed
    values(pair.theirs, sets[:2])
    ways = {"ours": lambda: values(pair.ours, sets), "theirs": lambda: values(pair.theirs, sets)}
    seconds, results = timed_in_turns(ways, 1, process_time)
    ours, theirs = np.array(results["ours"]), np.array(results["theirs"])
    difference = float(np.max(np.abs(ours - theirs) / np.maximum(1.0, np.abs(theirs))))
    if pair.differs is None and difference > TOLERANCE:
        raise ValueError(f"{pair.measure} of {pair.package} and ours differ by {difference:g}")
    row = {"package": pair.package, "measure": pair.measure, "differs": pair.differs, "difference": difference}
    return row | seconds | {"ratio": seconds["theirs"] / seconds["ours"]}


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print one JSON document."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", type=int, default=2000)
    options = parser.parse_args(arguments)
    sets, folder = synthetic(options.sets), Path.cwd()
    with tempfile.TemporaryDirectory() as scratch:
        os.chdir(scratch)  # emb-diversity writes each set's distances to a folder here
        try:
            rows = [compare(pair, sets[pair.reads]) for pair in PAIRS if is_installed(pair.package)]
        finally:
            os.chdir(folder)
    ratio = sum(row["theirs"] for row in rows) / sum(row["ours"] for row in rows) if rows else None
    print_document({"sets": options.sets, "responses": RESPONSES, "measures": rows, "ratio": ratio})


if __name__ == "__main__":
    main()
