"""Which device a model lies on, or which of its parts on which: for models that are larger than one."""

from typing import Any

from datasets_build.errors import ConfigurationError, need

ALL_GPUS = "auto"  # a device: all GPUs that this process sees
DeviceMap = dict[str, Any] | str  # as transformers has it: a device for each part, by its name


def device_kind(device: str) -> str:
    """A device as signatures have it: over how many GPUs a model lies changes no number."""
    return "cuda" if device == ALL_GPUS else device.split(":", maxsplit=1)[0]


def device_map_options(device: str, device_map: DeviceMap | None = None) -> dict[str, Any]:
    """What `from_pretrained` is to be told; nothing, for a model that is moved as a whole.

    Args:
        device: As torch names it, or `ALL_GPUS`.
        device_map: In its place.

    Raises:
        ConfigurationError: There is no GPU.
        MissingExtra: accelerate is not installed.
    """
    if device == ALL_GPUS and device_map is None:
        if not need("torch", "score").cuda.is_available():
            raise ConfigurationError(f"--device {ALL_GPUS} lays a model over GPUs, and there is none", "--device cpu")
        device_map = "auto"
    if device_map is None:
        return {}
    need("accelerate", "cluster")
    return {"device_map": device_map}


def check_not_offloaded(model: Any, name: str, device: str) -> None:
    """Refuse a model of which parts lie where they are not read from, but fetched for every batch.

    Args:
        model: Of transformers.
        name: For people.
        device: As of `device_map_options`.

    Raises:
        ConfigurationError: They do.
    """
    slow = {"disk", "meta"} if device == "cpu" else {"disk", "meta", "cpu"}
    if outside := sorted({str(place) for place in getattr(model, "hf_device_map", {}).values()} & slow):
        raise ConfigurationError(
            f"{name} does not fit the devices: parts of it were left on {' and '.join(outside)}",
            "give it more GPUs (--gpus-per-actor on a cluster), or a smaller --dtype",
        )
