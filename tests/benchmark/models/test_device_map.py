"""Models laid over several devices: what accelerate does to one changes no number."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
import typer
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_leaves

from benchmark.models import devices, lm_head
from benchmark.models.causal_lm import TokenSequence
from benchmark.models.devices import ALL_GPUS, DeviceChoice, checked_device, choose_device, device_map_options
from benchmark.models.hf_lm import CausalLMSpec, HFCausalLM, load_causal_lm
from benchmark.models.hf_states import TokenisedResponse, read_statistics
from benchmark.scoring.profiles import find_profile
from divbench.core.errors import ConfigurationError
from tests.benchmark.lms import one_thread, random_model, tokeniser

__all__ = ["one_thread"]  # a fixture


@pytest.fixture
def spec() -> CausalLMSpec:
    found = find_profile("offline").causal_lm
    assert isinstance(found, CausalLMSpec)
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
    monkeypatch.setattr(devices, "check_not_offloaded", lambda *given: None)
    laid = load_causal_lm(spec, device_map=device_map)
    assert set(laid.model.hf_device_map.values()) == {"cpu", "disk"}
    assert laid.shares
    whole = load_causal_lm(spec)
    for found, wanted in zip(laid.surprisals(sequences()), whole.surprisals(sequences()), strict=True):
        np.testing.assert_array_equal(found, wanted)


def test_all_gpus_are_signed_as_one_and_need_one(spec: CausalLMSpec, monkeypatch: pytest.MonkeyPatch) -> None:
    everywhere, one = replace(spec, device=ALL_GPUS), replace(spec, device="cuda:1")
    assert everywhere.signature == one.signature
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(ConfigurationError, match="needs a GPU, and there is none"):
        load_causal_lm(everywhere)


def split_over_two(kind: str) -> Any:
    """A model whose first layer is on one device, and all after it on another, as accelerate's hooks have it.

    There is one device here, so the first is *meta*, whose tensors have no numbers, and what leaves it becomes zeros.
    """

    def move(layer: Any, given: Any, options: dict[str, Any]) -> Any:
        def there(each: Any) -> Any:
            if isinstance(each, tuple):
                return tuple(map(there, each))
            is_meta = isinstance(each, torch.Tensor) and each.is_meta
            return torch.zeros_like(each, device="cpu") if is_meta else each

        return there(given), {name: there(each) for name, each in options.items()}

    model = random_model(kind, len(tokeniser("gpt2")))
    first, *others = model.model.layers
    for part in (model.model.embed_tokens, model.model.rotary_emb, first):
        part.to("meta")
    for part in (*others, model.model.norm):
        part.register_forward_pre_hook(move, with_kwargs=True)
    assert (model.device.type, model.lm_head.weight.device.type) == ("meta", "cpu")
    return model


class Strict(TorchFunctionMode):
    """Refuses to index a tensor of one device by one of the other, as torch does on two GPUs."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if getattr(func, "__name__", "") in {"__getitem__", "__setitem__", "gather"}:
            indices = [leaf for leaf in tree_leaves(args[1:]) if isinstance(leaf, torch.Tensor)]
            if any(each.device != args[0].device for each in indices):
                raise RuntimeError("indices should be either on cpu or on the same device as the indexed tensor")
        return func(*args, **(kwargs or {}))


def test_indices_lie_where_what_they_index_lies(monkeypatch: pytest.MonkeyPatch) -> None:
    """On two GPUs, a tensor of one cannot be indexed by a tensor of the other."""
    monkeypatch.setattr("transformers.masking_utils.find_packed_sequence_indices", lambda places: None)  # reads numbers
    monkeypatch.setattr(
        "benchmark.models.hf_states._statistics", lambda sums, states, *rest: (sums, [each.device for each in states])
    )
    ids = [np.array([5, 6, 7, 8]), np.array([5, 6, 9])]
    given = [TokenSequence(each, np.arange(1, len(each))) for each in ids]
    responses = [TokenisedResponse((5,), tuple(each[1:].tolist()), 2) for each in ids]
    model, whole = split_over_two("qwen2"), []
    with Strict():
        lm = HFCausalLM(model, tokeniser("gpt2"), "split")
        assert (lm.understands_head, lm.shares, lm.fallbacks) == (True, True, ())
        for shares, understands in ((True, True), (False, True), (False, False)):
            lm.shares, lm.understands_head = shares, understands
            whole.append(np.concatenate(lm.surprisals(given)))
            read: Any = read_statistics(lm, responses)
            for sums, devices in read:
                assert sums.device.type == "cpu"
                assert {each.type for each in devices} == {"meta", "cpu"}
    assert np.isfinite(whole).all()
    np.testing.assert_allclose(whole[0], whole[1], atol=1e-5)
    np.testing.assert_allclose(whole[0], whole[2], atol=1e-5)


def test_float64_is_on_the_cpu_where_a_device_has_none() -> None:
    """Apple's GPUs: there a language model runs, and sums are made on the CPU."""
    numbers = torch.tensor([0.1, 1e-9])
    there: Any = SimpleNamespace(device=torch.device("mps"), cpu=lambda: numbers)
    assert torch.equal(lm_head._double(there), numbers.double())
    assert lm_head._double(torch.empty(2, device="meta")).device.type == "meta"


def test_weights_go_from_their_files_to_the_device(spec: CausalLMSpec, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a device map, the host has to hold the whole model."""
    pytest.importorskip("accelerate")
    asked = []

    def seen(where: str, **options: Any) -> Any:
        asked.append(options.get("device_map"))
        raise OSError("enough")

    monkeypatch.setattr("transformers.AutoModelForCausalLM.from_pretrained", seen)
    for device in ("cuda:1", "cpu"):
        with pytest.raises(ConfigurationError, match="enough"):
            load_causal_lm(replace(spec, device=device))
    assert asked == [{"": "cuda:1"}, None]
    monkeypatch.setattr("benchmark.models.devices.find_spec", lambda name: None)
    assert device_map_options("cuda:1") == {}  # without accelerate it is moved after loading


def test_the_best_device_is_chosen_and_said(monkeypatch: pytest.MonkeyPatch) -> None:
    there: dict[str, bool] = {"cuda": True, "mps": True}
    monkeypatch.setattr(torch.cuda, "is_available", lambda: there["cuda"])
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "NVIDIA H200")
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: there["mps"])
    said = "Chosen by default: device cuda (NVIDIA H200), precision float16. To change: --device, --set dtype=NAME."
    assert choose_device() == DeviceChoice("cuda", "float16", said)
    assert choose_device(dtype="bfloat16").dtype == "bfloat16"
    there["cuda"] = False
    assert (choose_device().device, choose_device().dtype) == ("mps", "float32")
    assert choose_device(mps=False).device == "cpu"
    there["mps"] = False
    found = choose_device()
    assert (found.device, found.dtype) == ("cpu", "float32")
    assert "sees no GPU" in (found.note or "")


@pytest.mark.parametrize("name", ["", "cud", "cuda1", "cuda:", "CPU", "gpu", "cpu\n"])
def test_a_misspelt_device_is_refused(name: str) -> None:
    with pytest.raises(typer.BadParameter, match="give cuda, cuda:1, mps, cpu or auto"):
        checked_device(name)
    assert [checked_device(good) for good in (None, "auto", "mps", "cuda:12")] == [None, "auto", "mps", "cuda:12"]
