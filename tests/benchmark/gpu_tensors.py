"""Simulated GPU tensors: they report a GPU as their device, but their numbers are on the CPU.

Operations compute on the CPU and refuse to mix devices, as CUDA does.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_leaves, tree_map

GPU = torch.device("cuda:0")
_INDEXING = ("aten::index", "aten::index_put_", "aten::_index_put_impl_")  # which take indices on the CPU, too


class OnGPU(torch.Tensor):
    """A tensor with its numbers in `numbers`; torch's own code takes it for one of *meta*, which needs no driver."""

    numbers: torch.Tensor

    @staticmethod
    def __new__(cls: Any, numbers: torch.Tensor) -> "OnGPU":
        made = torch.empty_strided(numbers.shape, numbers.stride(), dtype=numbers.dtype, device="meta")
        build: Any = torch.Tensor._make_subclass
        found: OnGPU = build(cls, made, False, dispatch_device=True, device_for_backend_keys=GPU)
        found.numbers = numbers
        return found

    device: Any = property(lambda self: GPU)
    is_cuda: Any = property(lambda self: True)
    is_meta: Any = property(lambda self: False)

    def tolist(self) -> Any:
        return self.numbers.tolist()

    __torch_dispatch__: Any = classmethod(lambda cls, func, types, args=(), kwargs=None: _run(func, args, kwargs or {}))


def _inner(x: Any) -> Any:
    return x.numbers if isinstance(x, OnGPU) else x


def _run(func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    name = func._schema.name
    if name == "prim::device":
        return torch.device("meta")
    there = [x for x in tree_leaves((args, kwargs)) if isinstance(x, OnGPU)]
    here = [x for x in tree_leaves((args, kwargs)) if isinstance(x, torch.Tensor) and not isinstance(x, OnGPU)]
    indexed = name in _INDEXING and isinstance(args[0], OnGPU)
    if any(x.dim() for x in here) and not indexed and name not in ("aten::_to_copy", "aten::copy_"):
        raise RuntimeError(f"Expected all tensors to be on the same device: {name}")
    asked = kwargs.get("device")
    to_cpu = asked is not None and torch.device(asked).type == "cpu"
    options = tree_map(_inner, kwargs) | ({} if asked is None else {"device": "cpu"})
    if func is torch.ops.aten.mm.dtype:  # of GPUs only
        made = args[0].numbers.to(args[2]) @ args[1].numbers.to(args[2])
    else:
        made = func(*tree_map(_inner, args), **options)
    same = {id(x.numbers): x for x in there}  # what is changed in place

    def wrapped(x: Any) -> Any:
        if id(x) in same:
            return same[id(x)]
        return OnGPU(x) if isinstance(x, torch.Tensor) and not to_cpu else x

    return tree_map(wrapped, made)


class _Functions(TorchFunctionMode):
    """Makes tensors on the GPU where code asks for them, and computes the functions that torch would take apart."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        name = getattr(func, "__name__", "")
        given = [x for x in tree_leaves((args, kwargs)) if isinstance(x, OnGPU)]
        devices = [x for x in (*args, kwargs.get("device")) if isinstance(x, torch.device | str)]
        if any(str(each).startswith("cuda") for each in devices) and name not in ("__eq__", "device"):
            args = tuple("cpu" if isinstance(x, torch.device | str) else _inner(x) for x in args)
            return OnGPU(func(*args, **kwargs | ({"device": "cpu"} if "device" in kwargs else {})))
        if given and name == "__getitem__" and isinstance(args[1], tuple | list):  # lists become tensors on the device
            indices = args[1] if isinstance(args[1], tuple) else (args[1],)
            args = args[0], tuple(OnGPU(torch.tensor(x)) if isinstance(x, list) else x for x in indices)
        if given and name in ("scaled_dot_product_attention", "rms_norm", "where", "type_as"):
            tensors = [x for x in tree_leaves((args, kwargs)) if isinstance(x, torch.Tensor) and (x.dim() or x.is_cuda)]
            assert len(tensors) <= len(given) or name == "type_as", f"{name} of tensors on both devices"
            return OnGPU(func(*tree_map(_inner, tuple(args)), **tree_map(_inner, kwargs)))
        return func(*args, **kwargs)


def move(model: Any) -> Any:
    """Move a model's parameters and buffers to the GPU."""
    for module in model.modules():
        for tensors in (module._parameters, module._buffers):
            tensors |= {name: OnGPU(x.detach()) for name, x in tensors.items() if x is not None}
    return model


_to_cpu: Any = torch.nn.Module.to


def _to(model: Any, *where: Any, **options: Any) -> Any:
    on_gpu = [x for x in (*where, options.get("device")) if isinstance(x, torch.device | str) and "cuda" in str(x)]
    rest = [x for x in where if isinstance(x, torch.dtype)]
    return move(_to_cpu(model, *rest) if rest else model) if on_gpu else _to_cpu(model, *where, **options)


@contextmanager
def a_gpu(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let code run as on a machine with an H100."""
    generator = torch.Generator
    monkeypatch.setattr(torch, "Generator", lambda device="cpu": generator())
    # Its tensors cannot be taken for others. Changed in the class, because libraries decorate functions with it.
    monkeypatch.setattr(torch.inference_mode, "__enter__", torch.no_grad.__enter__)
    monkeypatch.setattr(torch.inference_mode, "__exit__", torch.no_grad.__exit__)
    monkeypatch.setattr(torch.nn.Module, "to", _to)
    monkeypatch.setattr(torch.cuda, "empty_cache", lambda: None)
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (60 * 2**30, 80 * 2**30))
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: (9, 0))
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: "NVIDIA H100")
    with _Functions():
        yield
