"""Devices of a model: one, or several for a model that is larger than one."""

from typing import Any

from datasets_build.errors import ConfigurationError, need

ALL_GPUS = "auto"  # as a device: all visible GPUs
DeviceMap = dict[str, Any] | str  # as in transformers: a device for each module, by its name


def device_kind(device: str) -> str:
    """Return the device as in signatures: the number of GPUs changes no result."""
    return "cuda" if device == ALL_GPUS else device.split(":", maxsplit=1)[0]


def device_map_options(device: str, device_map: DeviceMap | None = None) -> dict[str, Any]:
    """Return the options for `from_pretrained`; none for a model that is moved to one device.

    Args:
        device: Device as torch names it, or `ALL_GPUS`.
        device_map: Device map to use in its place.

    Raises:
        ConfigurationError: There is no GPU.
        MissingExtra: accelerate is not installed.
    """
    if device == ALL_GPUS and device_map is None:
        if not need("torch", "score").cuda.is_available():
            raise ConfigurationError(f"--device {ALL_GPUS} needs a GPU, and there is none", "--device cpu")
        device_map = "auto"
    if device_map is None:
        return {}
    need("accelerate", "cluster")
    return {"device_map": device_map}


def check_not_offloaded(model: Any, name: str, device: str) -> None:
    """Refuse a model with offloaded weights, which would be fetched for every batch.

    Args:
        model: Model of transformers.
        name: Model's name, for the message.
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
