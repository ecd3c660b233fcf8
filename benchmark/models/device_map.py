"""Devices of a model: the best there is, or one that is named, or several for a model that is larger than one."""

import warnings
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from benchmark.models.choices import Dtype
from datasets_build.errors import ConfigurationError, need

ALL_GPUS = "auto"  # as a device: all visible GPUs
DeviceMap = dict[str, Any] | str  # as in transformers: a device for each module, by its name


@dataclass(frozen=True, slots=True)
class DeviceChoice:
    """Device and precision of models.

    Attributes:
        device: Device as torch names it, or `ALL_GPUS`.
        note: What was chosen by default, for people; None where both were named.
    """

    device: str
    dtype: Dtype
    note: str | None = None

    @property
    def one(self) -> str:
        """The device of a model that is not spread over several."""
        return "cuda" if self.device == ALL_GPUS else self.device


def choose_device(device: str | None = None, dtype: Dtype | None = None, *, mps: bool = True) -> DeviceChoice:
    """Choose what was not named: the best device there is, and on CUDA float16, elsewhere float32.

    Float16 is as fast as bfloat16 and several times more exact (docs/gpu.md); float32 is several times slower
    on a GPU, and on a CPU the fastest.

    Args:
        device: Device that was named; None: CUDA if there is a GPU, then Apple's (mps), then the CPU.
        mps: Whether Apple's GPUs may be chosen; they have no float64.
    """
    found, why = (device, None) if device is not None else _best_device(mps=mps)
    chosen = dtype or ("float16" if device_kind(found) == "cuda" else "float32")
    told = [] if device is not None else [f"device {found} ({why})"]
    told += [f"precision {chosen}"] if dtype is None and (told or chosen != "float32") else []
    note = f"Chosen by default: {', '.join(told)}. Others: --device, --dtype." if told else None
    return DeviceChoice(found, chosen, note)


def _best_device(*, mps: bool) -> tuple[str, str]:
    """The best device, and what it is."""
    if find_spec("torch") is None:
        return "cpu", "torch is not installed"
    import torch

    with warnings.catch_warnings(record=True) as caught:  # torch warns of a driver that it cannot use
        warnings.simplefilter("always")
        if torch.cuda.is_available():
            return "cuda", torch.cuda.get_device_name()
    if mps and torch.backends.mps.is_available():
        return "mps", "Apple GPU"
    if caught:
        return "cpu", f"CUDA is not usable: {str(caught[0].message).partition('. ')[0]}"
    return "cpu", f"torch {torch.__version__} sees no GPU"


def device_kind(device: str) -> str:
    """Return the device as in signatures: the number of GPUs changes no result."""
    return "cuda" if device == ALL_GPUS else device.split(":", maxsplit=1)[0]


def device_map_options(device: str, device_map: DeviceMap | None = None) -> dict[str, Any]:
    """Return the options for `from_pretrained`; none for a model that is moved to its device after loading.

    With accelerate, weights go from their files to the device; without, the whole model is in the host's memory first.

    Raises:
        ConfigurationError: There is no GPU.
        MissingExtra: accelerate is not installed, and the model is to lie on several devices.
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
    """Refuse a model with offloaded weights, which would be fetched for every batch.

    Args:
        device: Device as of `device_map_options`.

    Raises:
        ConfigurationError: Some weights are offloaded.
    """
    slow = {"disk", "meta"} if device == "cpu" else {"disk", "meta", "cpu"}
    if outside := sorted({str(place) for place in getattr(model, "hf_device_map", {}).values()} & slow):
        raise ConfigurationError(
            f"{name} does not fit the devices: some of its weights are on {' and '.join(outside)}",
            "give it more GPUs (--gpus-per-actor on a cluster), or a smaller --dtype",
        )
