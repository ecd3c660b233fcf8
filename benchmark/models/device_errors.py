"""Device errors: recovering from a lack of memory, and explaining why a model cannot be loaded."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from traceback import clear_frames
from typing import Any, TypeVar

from benchmark.models.causal_lm import OutOfMemory
from divbench.core.errors import ConfigurationError, first_line

T = TypeVar("T")
_FULL = ("out of memory", "allocate memory", "_STATUS_ALLOC_FAILED")  # messages of allocators, cuBLAS and cuDNN
_OTHERS_SHARE = 0.1  # share of a GPU's memory from which other processes are mentioned in the error
_CUDA_BUILDS = "https://pytorch.org/get-started/locally"
# Pattern of torch's error message, its meaning for a model on a device, and a hint.
_KNOWN = (
    (
        r"driver on your system is too old|driver version is insufficient",
        "the NVIDIA driver is too old for torch {torch}",
        f"update the driver, or install torch for an older CUDA: {_CUDA_BUILDS}; or --device cpu",
    ),
    (
        r"Found no NVIDIA driver|No CUDA GPUs are available",
        "torch {torch} finds no GPU",
        "nvidia-smi lists the machine's GPUs, and CUDA_VISIBLE_DEVICES can hide them; or --device cpu",
    ),
    (
        r"not compiled with CUDA enabled|not linked with support for",
        "torch {torch} is built without support for {device}",
        f"install a build with it: {_CUDA_BUILDS}; or --device cpu",
    ),
    (
        r"invalid device ordinal",
        "there is no {device}",
        "nvidia-smi lists the GPUs; the first is cuda:0, and CUDA_VISIBLE_DEVICES can hide and renumber them",
    ),
    (
        r"no kernel image is available",
        "torch {torch} has no kernels for this GPU",
        f"install a build for its compute capability: {_CUDA_BUILDS}; or --device cpu",
    ),
    (
        r"busy or unavailable",
        "{device} is in exclusive use by another process",
        "nvidia-smi lists it; wait, or choose another --device",
    ),
    (
        r"not implemented for '(Half|BFloat16)'|BFloat16 is not supported|does not support bfloat16"
        r"|CUBLAS_STATUS_(NOT_SUPPORTED|ARCH_MISMATCH)",
        "{device} does not compute in {dtype}",
        "--set dtype=float16 on a GPU, dtype=float32 elsewhere",
    ),
    (
        r"automatic conversion of the weights",  # a mixture's experts are joined on the device
        "transformers cannot convert its weights on {device}",
        "the report above names the cause; if that is memory, take a smaller model or another --device",
    ),
    (r"MPS (Tensor|framework).*float64", "{device} has no float64", "--device cpu"),
    (
        r"CUBLAS_STATUS_NOT_INITIALIZED",
        "cuBLAS does not start on {device}, usually because its memory is full",
        "nvidia-smi lists the processes that use it; wait, or choose another --device",
    ),
    (
        r"device type at start of device string|Invalid device string|needs to be a device name",
        "there is no device {device}",
        "--device cpu, cuda, cuda:1, mps or auto (all GPUs)",
    ),
)


@contextmanager
def loading_on(device: str, dtype: str, name: str) -> Iterator[None]:
    """Turn device errors during the loading of a model into a `ConfigurationError` with a hint."""
    try:
        yield
    except (RuntimeError, AssertionError, TypeError, MemoryError, OutOfMemory, ConfigurationError) as error:
        if (explanation := explained(error, device, dtype, name)) is None:
            raise
        raise explanation from error


def explained(error: BaseException, device: str, dtype: str, name: str) -> ConfigurationError | None:
    """Explain an error raised while a model was loaded; None if it has nothing to do with the device."""
    text = str(error)
    if isinstance(error, OutOfMemory) or is_out_of_memory(error):
        return _does_not_fit(text, device, dtype, name)
    try:
        torch = version("torch")
    except PackageNotFoundError:
        return None
    for pattern, message, hint in _KNOWN:
        if re.search(pattern, text):
            meaning = message.format(torch=torch, device=device, dtype=dtype)
            return ConfigurationError(f"{name} cannot be loaded: {meaning}", hint)
    return None


_SIZE = r"([\d.]+) (bytes|[KMGT]iB)"
_OF_GPU = re.compile(rf"total capac\w+ of {_SIZE} of which {_SIZE} is free")
_OWN = re.compile(rf"this process has {_SIZE} memory in use")
_UNITS = {"bytes": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}


def _does_not_fit(text: str, device: str, dtype: str, name: str) -> ConfigurationError:
    """Explain a lack of memory; torch's message tells whether other processes use the GPU."""
    found, own = _OF_GPU.search(text), _OWN.search(text)
    smaller = "a smaller model" + (", --set dtype=float16" if dtype == "float32" else "")
    if found is None:
        return ConfigurationError(f"{name} in {dtype} does not fit {device}", f"{smaller} or another --device")
    total, free = (float(found[i]) * _UNITS[found[i + 1]] for i in (1, 3))
    taken = total - free - (float(own[1]) * _UNITS[own[2]] if own else 0.0)
    if own and taken > _OTHERS_SHARE * total:
        return ConfigurationError(
            f"{name} in {dtype} does not fit {device}: other processes use {taken / 2**30:.1f} of its "
            f"{total / 2**30:.1f} GiB",
            f"nvidia-smi lists them; wait, or choose another --device or {smaller}",
        )
    return ConfigurationError(
        f"{name} in {dtype} does not fit the {total / 2**30:.1f} GiB of {device}",
        f"{smaller}, or --device auto to spread it over several GPUs",
    )


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error means that the memory of a device or of the host is full; torch has no single type for it."""
    if not isinstance(error, RuntimeError):
        return isinstance(error, MemoryError)
    # Compared by name, because torch may not be installed here.
    return type(error).__name__ == "OutOfMemoryError" or any(words in str(error) for words in _FULL)


def within_memory(run: Callable[[], T], what: str, device: Any, hint: str = "a smaller model or dtype fits") -> T:
    """Call a function that computes on a device, and free what it had allocated if the memory is full.

    A traceback keeps the model's frames alive, and these keep its activations alive, often in reference cycles that
    only a full garbage collection breaks. So the frames are cleared, and the new error has no cause.
    """
    try:
        return run()
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
        reason = first_line(error)
        _clear_frames_of_chain(error)
    if device.type == "cuda":
        import torch

        torch.cuda.empty_cache()
    raise OutOfMemory(f"{what}: out of memory: {reason}", hint)


def _clear_frames_of_chain(error: BaseException) -> None:
    """Clear the frames of an error and of all errors that led to it."""
    chain: list[BaseException] = [error]
    for each in chain:
        clear_frames(each.__traceback__)
        each.__traceback__ = None
        chain += [cause for cause in (each.__cause__, each.__context__) if cause is not None and cause not in chain]
        each.__cause__ = each.__context__ = None
