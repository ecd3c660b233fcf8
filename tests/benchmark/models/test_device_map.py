"""Models laid over several devices: what accelerate does to one changes no number."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from benchmark.models import hf_lm
from benchmark.models.causal_lm import TokenSequence
from benchmark.models.device_map import ALL_GPUS
from benchmark.models.hf_lm import CausalLMSpec, load_causal_lm
from benchmark.models.lm_head import Head, token_bits
from benchmark.models.trie import build_trie
from benchmark.models.trie_attention import _Plans
from benchmark.scoring.profiles import find_profile
from datasets_build.errors import ConfigurationError


@pytest.fixture
def spec() -> CausalLMSpec:
    found = find_profile("offline").causal_lm
    assert found is not None
    return found


def sequences() -> list[TokenSequence]:
    rng = np.random.default_rng(0)
    begin = rng.integers(0, 1000, 20)
    ways = [np.concatenate([begin, rng.integers(0, 1000, size)]).astype(np.int64) for size in (5, 30, 12)]
    return [TokenSequence(ids, np.arange(20, len(ids))) for ids in ways]


def parts_of(spec: CausalLMSpec) -> list[str]:
    """Names of parts as a map of devices has them: layers one by one."""
    model = load_causal_lm(spec).model
    inner = model.base_model_prefix
    layers = [f"{inner}.layers.{i}" for i in range(len(model.model.layers))]
    rest = [f"{inner}.{name}" for name, _ in model.model.named_children() if name != "layers"]
    return [*rest, *layers, "lm_head"]


def test_a_model_in_parts_reads_as_a_whole_one(spec: CausalLMSpec, monkeypatch: pytest.MonkeyPatch) -> None:
    """Half of its layers lie on disk, so accelerate's hooks fetch them and move what they are given."""
    pytest.importorskip("accelerate")
    parts = parts_of(spec)
    half = [part for part in parts if ".layers." in part][::2]
    device_map = {part: "disk" if part in half else "cpu" for part in parts}
    with pytest.raises(ConfigurationError, match="does not fit the devices: some of its weights are on disk"):
        load_causal_lm(spec, device_map=device_map)
    monkeypatch.setattr(hf_lm, "check_not_offloaded", lambda *given: None)
    laid = load_causal_lm(spec, device_map=device_map)
    assert set(laid.model.hf_device_map.values()) == {"cpu", "disk"}
    assert laid.shares
    whole = load_causal_lm(spec)
    for found, wanted in zip(laid.surprisals(sequences()), whole.surprisals(sequences()), strict=True):
        np.testing.assert_array_equal(found, wanted)


def test_a_map_of_one_device_is_no_other_model(spec: CausalLMSpec) -> None:
    pytest.importorskip("accelerate")
    laid = load_causal_lm(spec, device_map={"": "cpu"})
    assert laid.signature == spec.signature
    for found, wanted in zip(laid.surprisals(sequences()), load_causal_lm(spec).surprisals(sequences()), strict=True):
        np.testing.assert_array_equal(found, wanted)


def test_all_gpus_are_signed_as_one_and_need_one(spec: CausalLMSpec, monkeypatch: pytest.MonkeyPatch) -> None:
    everywhere, one = replace(spec, device=ALL_GPUS), replace(spec, device="cuda:1")
    assert everywhere.signature == one.signature
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(ConfigurationError, match="needs a GPU, and there is none"):
        load_causal_lm(everywhere)


def test_a_plan_is_where_the_layer_is() -> None:
    plans = _Plans(build_trie([sequence.ids for sequence in sequences()]), packed=False)
    here, there = (plans.on(torch.device(name)) for name in ("cpu", "meta"))
    assert {part.device.type for group in there.groups for part in group} == {"meta"}
    assert [[part.shape for part in group] for group in there.groups] == [
        [part.shape for part in group] for group in here.groups
    ]
    assert plans.on(torch.device("meta")) is there  # moved once


def test_bits_are_made_where_the_head_is() -> None:
    weight: Any = torch.empty((50, 8), device="meta")
    bits = token_bits(Head(weight, None, 1.0, None), torch.ones(3, 8), torch.tensor([1, 2, 3]))
    assert (bits.device.type, bits.shape) == ("meta", (3,))
