"""Devices and precisions of models: the best available, chosen ones, several GPUs; their errors; how a model ran."""

import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, Literal

from benchmark.models import Dtype
from benchmark.models.memory import OutOfMemory, is_out_of_memory
from divbench.core.errors import ConfigurationError, first_line, need

ALL_GPUS = "auto"  # device name for all visible GPUs
DeviceMap = dict[str, Any] | str  # device of each module by name, as in transformers
AttentionPath = Literal["packed", "grouped", "alone"]
_DEVICE = re.compile(r"cpu|auto|(cuda|mps|xpu)(:\d+)?")  # xpu: Intel's GPUs, on which we have tested nothing
_CUDA_BUILDS = "install a build of torch for this GPU and its driver (https://pytorch.org/get-started/locally)"
_IN_USE = "nvidia-smi lists what uses a GPU; wait, or choose another --device"
# Patterns of torch's messages about a device, and what to do.
_KNOWN = (
    (
        r"driver on your system is too old|driver version is insufficient|no kernel image is available"
        r"|not compiled with CUDA enabled|not linked with support for",
        f"{_CUDA_BUILDS}, or --device cpu",
    ),
    (
        r"Found no NVIDIA driver|No CUDA GPUs are available|invalid device ordinal"
        r"|device type at start of device string|Invalid device string|needs to be a device name",
        "--device cpu, cuda, cuda:1, mps or auto (all GPUs); nvidia-smi lists the GPUs, and CUDA_VISIBLE_DEVICES can "
        "hide and renumber them",
    ),
    (
        r"not implemented for '(Half|BFloat16)'|BFloat16 is not supported|does not support bfloat16"
        r"|CUBLAS_STATUS_(NOT_SUPPORTED|ARCH_MISMATCH)|MPS (Tensor|framework).*float64",
        "another precision: --set dtype=float16 on a GPU, dtype=float32 elsewhere; or --device cpu",
    ),
    # cuBLAS does not start if the memory is full; a mixture's experts are joined on the device.
    (r"busy or unavailable|CUBLAS_STATUS_NOT_INITIALIZED|automatic conversion of the weights", _IN_USE),
)


@dataclass(frozen=True, slots=True)
class DeviceChoice:
    """Device and precision of models."""

    device: str  # device as torch names it, or `ALL_GPUS`
    dtype: Dtype
    note: str | None = None  # message about what was chosen by default; None if both were given

    @property
    def one(self) -> str:
        """Device for a model that runs on a single one."""
        return single_device(self.device)


def single_device(device: str) -> str:
    """Return the device for a model that runs on a single one."""
    return "cuda" if device == ALL_GPUS else device


def choose_device(device: str | None = None, dtype: Dtype | None = None, *, mps: bool = True) -> DeviceChoice:
    """Choose the best available device, and float16 on CUDA or float32 elsewhere (docs/gpu.md), unless given."""
    name, why = (device, None) if device is not None else _best_device(mps=mps)
    precision = dtype or ("float16" if device_kind(name) == "cuda" else "float32")
    defaults = [] if device is not None else [f"device {name} ({why})"]
    defaults += [f"precision {precision}"] if dtype is None and (defaults or precision != "float32") else []
    note = f"Chosen by default: {', '.join(defaults)}. To change: --device, --set dtype=NAME." if defaults else None
    return DeviceChoice(name, precision, note)


def _best_device(*, mps: bool) -> tuple[str, str]:
    """Return the best available device, and the reason for that choice."""
    if find_spec("torch") is None:
        return "cpu", "torch is not installed"
    import torch

    with warnings.catch_warnings(record=True) as caught:  # torch warns about a driver that it cannot use
        warnings.simplefilter("always")
        if torch.cuda.is_available():
            return "cuda", torch.cuda.get_device_name()
    if mps and torch.backends.mps.is_available():
        return "mps", "Apple GPU"
    if caught:
        return "cpu", f"CUDA is not usable: {str(caught[0].message).partition('. ')[0]}"
    return "cpu", f"torch {torch.__version__} sees no GPU"


def device_kind(device: str) -> str:
    """Return the device as signatures name it, without a number: the number of GPUs changes no result."""
    return "cuda" if device == ALL_GPUS else device.split(":", maxsplit=1)[0]


def device_map_options(device: str, device_map: DeviceMap | None = None) -> dict[str, Any]:
    """Return the device options of `from_pretrained`; none if the model is moved to its device after loading."""
    if device_map is None and device != ALL_GPUS:
        return {} if device == "cpu" or find_spec("accelerate") is None else {"device_map": {"": device}}
    if device_map is None:
        if not need("torch", "score").cuda.is_available():
            raise ConfigurationError(f"--device {ALL_GPUS} needs a GPU, and there is none", "--device cpu")
        device_map = "auto"
    need("accelerate", "cluster")
    return {"device_map": device_map}


def check_not_offloaded(model: Any, name: str, device: str) -> None:
    """Refuse a model with offloaded weights, which would be fetched again for every batch."""
    slow = {"disk", "meta"} if device == "cpu" else {"disk", "meta", "cpu"}
    if outside := sorted({str(part) for part in getattr(model, "hf_device_map", {}).values()} & slow):
        raise ConfigurationError(
            f"{name} does not fit the devices: some of its weights are on {' and '.join(outside)}",
            "give it more GPUs, or a smaller precision (--set dtype=NAME)",
        )


def checked_device(name: str | None) -> str | None:
    """Return the name of a device, as it was given."""
    if name is None or _DEVICE.fullmatch(name):
        return name
    import typer  # not at the top: gpu_check runs with few libraries

    raise typer.BadParameter(f"there is no device {name!r}: give cuda, cuda:1, mps, cpu or auto (all GPUs)")


def device_named(device: str | None = None, dtype: Dtype | None = None, *, mps: bool = True) -> DeviceChoice:
    """Choose a device and a precision with `choose_device`, and report defaults on stderr."""
    from divbench.core.console import err

    choice = choose_device(device, dtype, mps=mps)
    if choice.note:
        err().print(choice.note, markup=False, soft_wrap=True)
    return choice


@dataclass(frozen=True, slots=True)
class ModelRun:
    """How a model ran."""

    model: str
    device: str  # device, with the name of a GPU
    dtype: str | None = None  # precision of its body; None: as in its signature
    torch: str | None = None  # version of torch with its build, such as `2.13.0+cu130`
    # *packed*: without padding; *grouped*: paths of similar length together; *alone*: each sequence separately, by
    # transformers' own attention. None: not applicable to this kind of model.
    attention: AttentionPath | None = None
    # Whether prefixes shared by several sequences were read once; None: not applicable.
    shares_prefixes: bool | None = None
    batch_tokens: int | None = None  # batch budget in tokens at the end of the run; None: not applicable
    fallbacks: tuple[str, ...] = ()  # slower methods that were used, each with its reason
    prompts: int = 0  # number of prompts read this way

    def __str__(self) -> str:
        """Describe the run in one line."""
        parts = [f"{self.model.partition('@')[0]} on {self.device}"]
        parts += [self.dtype] if self.dtype else []
        parts += [f"attention {self.attention}"] if self.attention else []
        parts += [] if self.shares_prefixes is None else [f"prefixes {'' if self.shares_prefixes else 'not '}shared"]
        parts += [f"{self.batch_tokens:,} tokens at once"] if self.batch_tokens else []
        return ", ".join(parts) + "".join(f"; {reason}" for reason in self.fallbacks)


def device_name(model: Any) -> str:
    """Name the devices of a loaded model: `cpu`, `cuda (NVIDIA H200)`, `cuda (2 × NVIDIA H200)`."""
    import torch

    devices = {weight.device for weight in model.parameters()}
    gpus = sorted(torch.cuda.get_device_name(device) for device in devices if device.type == "cuda")
    if not gpus:
        return str(model.device.type)
    counted = [f"{gpus.count(name)} × {name}" if gpus.count(name) > 1 else name for name in dict.fromkeys(gpus)]
    return f"cuda ({' and '.join(counted)})"


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
        smaller = "a smaller model" + (", --set dtype=float16" if dtype == "float32" else "")
        hint = f"{smaller}, another --device, or --device auto over several GPUs; nvidia-smi lists what else uses a GPU"
        return ConfigurationError(f"{name} in {dtype} does not fit {device}", hint)
    for pattern, hint in _KNOWN:
        if re.search(pattern, text):
            said = first_line(error)[:200]
            return ConfigurationError(f"{name} cannot be loaded on {device} in {dtype}: {said}", hint)
    return None
