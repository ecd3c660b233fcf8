"""Every value that was published with the texts, on every row."""

import csv
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from benchmark.metrics.embedding import cosine_diversity
from benchmark.metrics.lexical import (
    distinct_n,
    expectation_adjusted_distinct,
    ngram_cosine_diversity,
    ngram_statistics,
    tevet_tokens,
)
from benchmark.models.embedder import SentenceTransformersEmbedder
from tests.benchmark.helpers import golden

pytestmark = pytest.mark.mirror
RELEASED = golden("released_columns")


def csv_rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_the_released_files_are_all_covered(mirror: Path) -> None:
    folder = mirror / "tevet" / "raw"
    assert {path.relative_to(folder).as_posix() for path in folder.rglob("*.csv")} == set(RELEASED["tevet"])
    assert len(RELEASED["tevet"]) == 18
    assert sum(RELEASED["tevet"].values()) == 13_929


@pytest.mark.parametrize(("name", "expected_rows"), RELEASED["tevet"].items())
def test_tevet_metrics_equal_the_released_columns_on_every_row(mirror: Path, name: str, expected_rows: int) -> None:
    raw = csv_rows(mirror / "tevet" / "raw" / name)
    released = csv_rows(mirror / "tevet" / "reference" / name)
    places = [column for column in raw[0] if column.startswith("resp_")]
    # Blank responses count here as they did there; the scorer leaves them out before it counts.
    found = ngram_statistics([[row[place] for place in places] for row in raw], tevet_tokens)
    ours = [(f"{distinct_n(one):.3f}", f"{ngram_cosine_diversity(one):.3f}") for one in found]
    theirs = [(r["metric_averaged_distinct_ngrams"], r["metric_averaged_cosine_similarity"]) for r in released]
    assert [(r["sample_id"], float(r["label_value"])) for r in raw] == [
        (r["sample_id"], float(r["label_value"])) for r in released
    ]
    assert len(ours) == expected_rows
    assert ours == theirs


def olmo_sets(mirror: Path) -> list[tuple[dict[str, Any], list[str]]]:
    """Each row of the released baselines with its ten responses."""
    responses: dict[tuple[str, str, str], dict[int, str]] = defaultdict(dict)
    for path in sorted((mirror / "olmo" / "generations").glob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            responses[row["stage"], row["prompt_set"], row["prompt_id"]][row["sample_idx"]] = row["response"]
    lines = (mirror / "olmo" / "reference" / "baseline_metrics.jsonl").read_text(encoding="utf-8").splitlines()
    made = []
    for row in map(json.loads, lines):
        texts = responses[row["stage"], row["prompt_set"], row["prompt_id"]]
        assert sorted(texts) == list(range(10))
        made.append((row, [texts[i] for i in range(10)]))
    return made


def test_distinct_n_and_ead_equal_the_released_baselines_on_every_row(mirror: Path) -> None:
    rows = olmo_sets(mirror)
    found = ngram_statistics([texts for _, texts in rows])
    assert len(found) == RELEASED["olmo_rows"]
    assert [distinct_n(one) for one in found] == pytest.approx([row["distinct_n"] for row, _ in rows], abs=1e-12)
    ead = [expectation_adjusted_distinct(one, vocabulary=50257) for one in found]
    assert ead == pytest.approx([row["ead"] for row, _ in rows], abs=1e-12)


def test_embedding_diversity_equals_the_released_sentbert_diversity(
    mirror: Path, minilm: SentenceTransformersEmbedder
) -> None:
    sample = olmo_sets(mirror)[::110]  # all four stages, both prompt sets
    assert len(sample) == 11
    vectors = minilm.embed([text for _, texts in sample for text in texts]).reshape(11, 10, -1)
    ours = [cosine_diversity(each) for each in vectors]
    # Theirs was computed on another machine; the greatest difference seen is 2e-7.
    assert ours == pytest.approx([row["sentbert_diversity"] for row, _ in sample], abs=1e-5)
