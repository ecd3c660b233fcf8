"""The device of a model: the best available, a chosen one, or several GPUs for a model too large for one."""

import warnings
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from benchmark.models.choices import Dtype
from divbench.core.errors import ConfigurationError, need

ALL_GPUS = "auto"  # device name for all visible GPUs
DeviceMap = dict[str, Any] | str  # device of each module by name, as in transformers


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
    """Choose the best available device and its usual precision, unless they are given.

    The default precision is float16 on CUDA, which is as fast as bfloat16 and several times more exact (docs/gpu.md),
    and float32 elsewhere: it is several times slower on a GPU, but the fastest on a CPU.
    """
    found, why = (device, None) if device is not None else _best_device(mps=mps)
    chosen = dtype or ("float16" if device_kind(found) == "cuda" else "float32")
    defaults = [] if device is not None else [f"device {found} ({why})"]
    defaults += [f"precision {chosen}"] if dtype is None and (defaults or chosen != "float32") else []
    note = f"Chosen by default: {', '.join(defaults)}. To change: --device, --set dtype=NAME." if defaults else None
    return DeviceChoice(found, chosen, note)


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
    """Return the device options of `from_pretrained`; empty if the model is to be moved to its device after loading.

    With accelerate, weights are loaded directly onto the device; without it, the whole model first goes through the
    host's memory.
    """
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
    if outside := sorted({str(place) for place in getattr(model, "hf_device_map", {}).values()} & slow):
        raise ConfigurationError(
            f"{name} does not fit the devices: some of its weights are on {' and '.join(outside)}",
            "give it more GPUs, or a smaller precision (--set dtype=NAME)",
        )
