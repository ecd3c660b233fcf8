"""`benchmark.perf.surprisal` with a tiny model: the engine and the naive way give the same, and the report is whole."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForCausalLM

from benchmark.models.hf_lm import HFCausalLM
from benchmark.perf import shapes, surprisal
from benchmark.perf.surprisal import Work, released, works
from benchmark.surprisal.engine import OrderPlan, ResponseSet
from benchmark.surprisal.prompt_layout import PAPER_COMPLETION
from divbench.core.errors import ConfigurationError
from tests.benchmark.lms import one_thread

__all__ = ["one_thread"]  # a fixture

TEXTS = ("a lamp on the table.", "a river that nobody knows.", "the old stone.")
WORK = Work("three sets", [ResponseSet("There is", TEXTS[:k]) for k in (3, 2, 3)], PAPER_COMPLETION, 4)


@pytest.fixture(scope="module")
def tiny() -> HFCausalLM:
    return shapes.random_model("tiny", "cpu", "float32")


def test_both_ways_are_timed_and_agree(tiny: HFCausalLM) -> None:
    found = surprisal.compare(tiny, WORK, rounds=2)
    assert (found["sets"], len(found["naive_seconds"]), len(found["balanced_seconds"])) == (3, 2, 2)
    assert 0 < found["largest_difference"] <= surprisal.TOLERANCE
    assert 0 < found["nodes"] < found["tokens"]


def test_it_stops_where_they_differ(tiny: HFCausalLM, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(surprisal, "TOLERANCE", -1.0)
    with pytest.raises(ValueError, match="the naive way and the engine differ by"):
        surprisal.compare(tiny, WORK, rounds=1)
    with pytest.raises(ValueError, match="the naive way and the engine differ by"):
        surprisal.throughput(tiny, WORK, "tiny", rounds=1, naive_sets=1)


def test_throughput_counts_sets_that_are_alike_once(tiny: HFCausalLM) -> None:
    uniform, balanced = surprisal.throughput(tiny, WORK, "tiny", rounds=1, naive_sets=2)
    assert (uniform["orders"], balanced["orders"]) == (str(OrderPlan("uniform", 4)), str(OrderPlan("balanced", 1)))
    assert (uniform["sets"], uniform["different"]) == (3, 2)
    laid = shapes.laid_out(tiny, WORK.sets[:2], PAPER_COMPLETION, OrderPlan("uniform", 4))
    sequences = [tuple(each.sequence.ids.tolist()) for of_set in laid for each in of_set]
    assert uniform["tokens"] == sum(map(len, sequences))
    # The two sets share beginnings, too, but are counted apart.
    several = [[tuple(each.sequence.ids.tolist()) for each in of_set] for of_set in laid]
    assert uniform["nodes"] == sum(len({ids[:end] for ids in one for end in range(1, len(ids) + 1)}) for one in several)
    assert 0 < uniform["share_of_limit"] < 1
    assert uniform["nodes_per_second"] == pytest.approx(uniform["nodes"] / uniform["seconds"])
    assert uniform["naive_tokens_per_second"] == balanced["naive_tokens_per_second"]
    assert uniform["largest_difference"] is not None
    assert uniform["largest_difference"] <= surprisal.TOLERANCE
    assert balanced["largest_difference"] is None
    alone = surprisal.throughput(tiny, WORK, "tiny", rounds=1, naive_sets=0)
    assert [(each["ratio"], each["naive_tokens_per_second"]) for each in alone] == [(None, None)] * 2


@pytest.mark.parametrize("name", ["tiny", "small", "gpt2"])
def test_operations_are_those_of_the_weights(name: str) -> None:
    shape = shapes.SHAPES[name]
    build: Any = AutoModelForCausalLM.from_config
    with torch.device("meta"):
        model = build(shapes._config(shape))
    weights = [w for n, w in model.base_model.named_parameters() if w.dim() == 2 and "emb" not in n and "wpe" not in n]
    body = sum(w.numel() for w in weights if w.shape[0] != shape.vocabulary)
    assert shapes.operations(shape, 1, 0) == 2 * body
    assert shapes.operations(shape, 0, 1) == 2 * shape.width * shape.vocabulary


def test_the_shapes_are_those_of_their_names() -> None:
    # Parameters of the models' cards, without embeddings: 0.36 and 2.77 and 6.53 thousand million; GPT-2's 85 million.
    billions = {name: shapes.operations(shape, 1, 0) / 2e9 for name, shape in shapes.SHAPES.items()}
    assert billions["qwen2.5-0.5b"] == pytest.approx(0.358, abs=0.001)
    assert billions["qwen2.5-3b"] == pytest.approx(2.774, abs=0.002)
    assert billions["qwen2.5-7b"] == pytest.approx(6.525, abs=0.002)
    assert billions["gpt2"] == pytest.approx(0.0849, abs=0.0001)


@pytest.mark.thorough
def test_the_command_without_a_mirror(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DIVBENCH_MIRROR", raising=False)
    surprisal.main(["--shape", "tiny", "--small", "1", "--large", "1", "--rounds", "1"])
    document = json.loads(capsys.readouterr().out)
    assert [each["sets"] for each in document["timings"]] == [1, 1]
    assert document["peak_memory_mib"] > 100


def test_released_sets_need_a_mirror(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DIVBENCH_MIRROR", raising=False)
    with pytest.raises(ConfigurationError, match="released sets"):
        surprisal.main(["--shape", "tiny", "--work", "mcdiv"])


@pytest.mark.parametrize("device", ["cud", "cuda:99"])
def test_a_device_that_is_not_there_is_told(device: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        surprisal.main(["--shape", "tiny", "--device", device])
    assert "error: argument --device: a model cannot be loaded" in capsys.readouterr().err


@pytest.mark.thorough
@pytest.mark.mirror
def test_the_works_are_those_of_the_studies(mirror: Path) -> None:
    olmo, mcdiv = released("olmo-matched", mirror, None), released("mcdiv", mirror, None)
    assert (len(olmo.sets), {len(each.responses) for each in olmo.sets}, olmo.uniform) == (756, {10}, 25)
    assert (len(mcdiv.sets), {len(each.responses) for each in mcdiv.sets}, mcdiv.uniform) == (9741, {5}, 50)
    assert len(set(mcdiv.sets)) == 6002
    assert [len(work.sets) for work in works(mirror, 3, 2)] == [3, 2]
    assert len(released("mcdiv", mirror, 12).sets) == 12


@pytest.mark.thorough
@pytest.mark.mirror
def test_the_command_with_released_sets(mirror: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = ["--shape", "tiny", "--work", "mcdiv", "--sets", "3", "--rounds", "1", "--naive-sets", "1"]
    surprisal.main([*given, "--mirror", str(mirror)])
    document = json.loads(capsys.readouterr().out)
    assert [each["sets"] for each in document["throughput"]] == [3, 3]
    assert document["limit_flops"] > 1e9
    assert all(each["ratio"] > 0 for each in document["throughput"])
