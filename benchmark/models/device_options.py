"""Command-line options for the device and precision of models, and their defaults."""

import re
from typing import TYPE_CHECKING, Annotated

import typer

from benchmark.models.choices import Dtype
from divbench.core.console import models_option

if TYPE_CHECKING:
    from benchmark.models.device_map import DeviceChoice

_DEVICE = re.compile(r"cpu|auto|(cuda|mps|xpu)(:\d+)?")  # xpu: Intel's GPUs, on which we have tested nothing


def checked_device(name: str | None) -> str | None:
    """Return the name of a device, as it was given."""
    if name is None or _DEVICE.fullmatch(name):
        return name
    raise typer.BadParameter(f"there is no device {name!r}: give cuda, cuda:1, mps, cpu or auto (all GPUs)")


DeviceOption = Annotated[
    str | None,
    models_option(
        callback=checked_device,
        help=(
            "Device of the models: cuda, cuda:1, mps, cpu, or auto (the language model over all GPUs); default: the "
            "best available (printed to stderr)."
        ),
    ),
]


def device_named(device: str | None = None, dtype: Dtype | None = None, *, mps: bool = True) -> "DeviceChoice":
    """Choose a device and a precision with `choose_device`, and report defaults on stderr."""
    from benchmark.models.device_map import choose_device
    from divbench.core.console import err

    found = choose_device(device, dtype, mps=mps)
    if found.note:
        err().print(found.note, markup=False, soft_wrap=True)
    return found
