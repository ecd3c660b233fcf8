"""The scripts run at a small size, compare equal numbers, and stop where numbers differ."""

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmark.equivalence.backend import ResponsePair
from benchmark.metrics.metric import Missing
from benchmark.perf import alternatives, board, compare, gpu_check, peers, surprisal
from benchmark.perf.peers import Pair
from benchmark.perf.surprisal import SHAPES, Work
from benchmark.surprisal.engine import ResponseSet
from benchmark.surprisal.prompt_layout import PAPER_COMPLETION
from tests.benchmark.lms import one_thread
from tests.benchmark.results import read_results

__all__ = ["one_thread"]  # a fixture

TEXTS = ("a lamp on the table.", "a river that nobody knows.", "the old stone.")
TINY: dict[str, Any] = {"hidden_size": 32, "intermediate_size": 48, "num_attention_heads": 4, "initializer_range": 0.3}


def test_ways_are_timed_only_if_their_numbers_agree() -> None:
    ways = {"package": lambda: [np.array([0.5])], "other": lambda: [np.array([0.6])]}
    [row] = compare("x", ways, 2, 0.2, iter(range(99)).__next__)
    assert (row["alternative"], row["ratio"]) == ("other", 1)
    with pytest.raises(ValueError, match="x: the package and other differ by"):
        compare("x", ways, 1, 0.01, iter(range(99)).__next__)


def test_the_embedder_and_the_library_give_the_same_numbers() -> None:
    # Words that the library does not know do not stop it.
    [row] = alternatives.embeddings(["A 🐢 in a shell.", "A 🎲 on a table.", "A red ball."], 1)
    assert row["difference"] <= 1e-6


def test_the_classifier_and_the_pipeline_give_the_same_numbers() -> None:
    pairs = [ResponsePair("", a, b) for a, b in pairwise(TEXTS)]
    rows = alternatives.classifier(pairs, 1, num_hidden_layers=1, **TINY)
    assert len(rows) == 2
    assert max(row["difference"] for row in rows) <= 1e-4


def test_the_naive_way_and_the_engine_give_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    tiny = surprisal.random_model("tiny", "cpu", "float32")
    work = Work("two sets", [ResponseSet("There is", TEXTS[:k]) for k in (3, 2)], PAPER_COMPLETION, 4)
    row = surprisal.compare(tiny, work, rounds=1)
    assert 0 < row["difference"] <= surprisal.TOLERANCE
    assert 0 < row["distinct_prefixes"] < row["tokens"]
    monkeypatch.setattr(surprisal, "TOLERANCE", -1.0)
    with pytest.raises(ValueError, match="the naive way and the engine differ by"):
        surprisal.compare(tiny, work, rounds=1)


def test_operations_are_those_of_the_weights() -> None:
    # Parameters of the models' cards, without embeddings, in thousand million.
    for name, billions in (("qwen2.5-0.5b", 0.358), ("qwen2.5-3b", 2.774), ("qwen2.5-7b", 6.525)):
        assert gpu_check._operations(SHAPES[name], 1, 0) / 2e9 == pytest.approx(billions, abs=0.002)


def test_peers_are_timed_only_if_values_agree(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    same = Pair("one", "same", lambda x: float(x.sum()), lambda x: float(x.sum()))
    other = Pair("one", "other", lambda x: 1.0, lambda x: 2.0)
    monkeypatch.setattr(peers, "is_installed", lambda package: True)
    monkeypatch.setattr(peers, "PAIRS", (same,))
    peers.main(["--sets", "3"])
    [row] = json.loads(capsys.readouterr().out)["measures"]
    assert (row["measure"], row["difference"]) == ("same", 0)
    monkeypatch.setattr(peers, "PAIRS", (other,))
    with pytest.raises(ValueError, match=r"other of one and ours differ by 0\.5"):
        peers.main(["--sets", "3"])


def test_copies_of_the_shipped_results_are_results(tmp_path: Path) -> None:
    board.make_results(tmp_path, 77)
    names = {result.manifest.name for _, result in read_results(tmp_path) if not isinstance(result, Missing)}
    assert names == {f"system {number}" for number in range(77)}
