"""What a full device leaves behind: nothing; and what is told of devices that cannot have a model."""

import gc
import weakref
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from benchmark.metrics.metric import Missing
from benchmark.models.causal_lm import TokenSequence
from benchmark.models.devices import loading_on
from benchmark.models.hf_lm import CausalLMSpec, HFCausalLM, load_causal_lm
from benchmark.models.memory import OutOfMemory, is_out_of_memory, within_memory
from benchmark.scoring.profiles import find_profile
from benchmark.surprisal.engine import ResponseSet, SetSurprisals, read_sets
from divbench.core.errors import ConfigurationError
from tests.benchmark.lms import lm_of, one_thread

__all__ = ["one_thread"]  # a fixture

LONG = ResponseSet("Say one.", tuple(f"Item {i}, {90 * 'and on '}to its end." for i in range(3)))
SHORT = [ResponseSet(f"Say {i or 'one'}.", ("The lamp.", "A stone.", f"Item {i}.")) for i in range(2)]


@pytest.fixture
def no_collections() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


class Small:
    """Makes a model's last layer run out of memory with more tokens than a limit, as torch says it; watches the others.

    Attributes:
        alive: Outputs of the layers before.
        most: Most of them that lived when a pass was refused.
    """

    def __init__(self, lm: HFCausalLM, limit: int) -> None:
        self.alive: list[weakref.ref[torch.Tensor]] = []
        *before, last = lm.model.transformer.h
        self._hooks = [layer.register_forward_hook(self._watch) for layer in before]
        self._hooks.append(last.register_forward_pre_hook(self._refuse))
        self.limit = limit
        self.refused = self.most = 0

    def _watch(self, layer: Any, given: Any, made: Any) -> None:
        self.alive.append(weakref.ref(made[0] if isinstance(made, tuple) else made))

    def _refuse(self, layer: Any, given: Any) -> None:
        if given[0].shape[0] * given[0].shape[1] > self.limit:
            self.refused += 1
            self.most = max(self.most, self.left())
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity")

    def left(self) -> int:
        return sum(each() is not None for each in self.alive)

    def remove(self) -> None:
        for hook in self._hooks:
            hook.remove()


@pytest.fixture
def lm() -> HFCausalLM:
    return lm_of("gpt2")


def test_what_ran_out_of_memory_leaves_no_activations(lm: HFCausalLM, no_collections: None) -> None:
    sets = [*SHORT, LONG]
    small = Small(lm, limit=300)
    try:
        found = read_sets(sets, lm)
        assert small.refused > 3
        assert (small.most, small.left()) == (1, 0)  # of the pass itself
    finally:
        small.remove()
    assert [isinstance(each, SetSurprisals) for each in found] == [True, True, False]
    assert found[2] == Missing("out of memory, one sequence at a time")


def test_memory_is_free_before_the_cache_is_emptied(
    lm: HFCausalLM, no_collections: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    small, left = Small(lm, limit=3), []
    monkeypatch.setattr(torch.cuda, "empty_cache", lambda: left.append(small.left()))
    sequence = TokenSequence(np.arange(5, 25), np.arange(1, 20))
    try:
        with pytest.raises(OutOfMemory) as caught:
            within_memory(lambda: lm.read_apart([sequence]), "a model", torch.device("cuda"))
    finally:
        small.remove()
    assert (small.refused, left) == (1, [0])
    assert caught.value.__context__ is None
    assert str(caught.value).startswith("a model: out of memory: CUDA out of memory. Tried to allocate 2.00 GiB")


@pytest.mark.parametrize(
    ("error", "full"),
    [
        (torch.OutOfMemoryError("Allocation on device"), True),
        (MemoryError(), True),
        (RuntimeError("CUDA error: out of memory"), True),
        (RuntimeError("MPS backend out of memory (MPS allocated: 9.05 GB, max allowed: 9.07 GB)"), True),
        (RuntimeError("[enforce fail at alloc_cpu.cpp:115] DefaultCPUAllocator: can't allocate memory"), True),
        (RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"), True),
        (RuntimeError("cuDNN error: CUDNN_STATUS_ALLOC_FAILED"), True),
        (RuntimeError("CUDA error: an illegal memory access was encountered"), False),
        (RuntimeError("mat1 and mat2 shapes cannot be multiplied"), False),
        (ValueError("out of memory"), False),
    ],
)
def test_which_errors_say_that_memory_is_full(error: Exception, full: bool) -> None:
    assert is_out_of_memory(error) == full


@pytest.mark.parametrize(
    ("said", "hint"),
    [
        ("CUDA error: no kernel image is available for execution on the device", "install a build"),
        ("Torch not compiled with CUDA enabled", "install a build"),
        ("The NVIDIA driver on your system is too old (found version 11040). Please update", "install a build"),
        ("No CUDA GPUs are available", "CUDA_VISIBLE_DEVICES"),
        ("CUDA error: CUBLAS_STATUS_NOT_SUPPORTED when calling `cublasGemmEx( handle, opa, opb", "dtype=float16"),
        ("\"addmm_impl_cpu_\" not implemented for 'Half'", "dtype=float32"),
        ("CUDA error: CUBLAS_STATUS_NOT_INITIALIZED when calling `cublasCreate(handle)`", "nvidia-smi"),
    ],
)
def test_what_a_device_says_becomes_what_to_try(said: str, hint: str) -> None:
    with pytest.raises(ConfigurationError) as caught, loading_on("cuda", "bfloat16", "ORG/NAME"):
        raise RuntimeError(f"{said}\nCUDA kernel errors might be reported later")
    assert caught.value.message == f"ORG/NAME cannot be loaded on cuda in bfloat16: {said}"
    assert hint in (caught.value.hint or "")


@pytest.mark.parametrize("error", [torch.OutOfMemoryError("CUDA out of memory."), OutOfMemory("m: …"), MemoryError()])
def test_a_model_that_does_not_fit_a_device_is_told(error: Exception) -> None:
    with (
        pytest.raises(ConfigurationError, match="ORG/NAME in bfloat16 does not fit cuda"),
        loading_on("cuda", "bfloat16", "ORG/NAME"),
    ):
        raise error


def test_a_device_that_is_not_there_is_told_at_loading() -> None:
    """By the real torch of this machine."""
    found = find_profile("offline").causal_lm
    assert isinstance(found, CausalLMSpec)
    with pytest.raises(ConfigurationError, match="cannot be loaded on gpu") as caught:
        load_causal_lm(replace(found, device="gpu"))
    assert "cuda:1" in (caught.value.hint or "")
    if not torch.cuda.is_available():
        with pytest.raises(ConfigurationError, match="cannot be loaded on cuda") as caught:
            load_causal_lm(replace(found, device="cuda"))
        assert "--device cpu" in (caught.value.hint or "")
