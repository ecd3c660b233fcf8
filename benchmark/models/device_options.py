"""Command-line options for the device and precision of models, and their defaults."""

from typing import TYPE_CHECKING, Annotated

from benchmark.models.choices import Dtype
from datasets_build.console import models_option

if TYPE_CHECKING:
    from benchmark.models.device_map import DeviceChoice

DEVICE_HELP = "Device of the models: cuda, cuda:1, mps or cpu; default: the best available (printed to stderr)."
DTYPE_HELP = (
    "Precision of the language model; log-probabilities are float32 or better; default: float16 on cuda, else float32."
)

DeviceOption = Annotated[str | None, models_option(help=DEVICE_HELP)]
DtypeOption = Annotated[Dtype | None, models_option(help=DTYPE_HELP)]


def device_named(device: str | None = None, dtype: Dtype | None = None, *, mps: bool = True) -> "DeviceChoice":
    """Choose a device and a precision with `choose_device`, and report defaults on stderr."""
    from benchmark.models.device_map import choose_device
    from datasets_build.console import err

    found = choose_device(device, dtype, mps=mps)
    if found.note:
        err().print(found.note, markup=False, soft_wrap=True)
    return found
