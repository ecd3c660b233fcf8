"""How a model ran: what may change a number's last digits and is in no signature."""

from dataclasses import dataclass
from typing import Any, Literal

AttentionPath = Literal["packed", "grouped", "alone"]


@dataclass(frozen=True, slots=True)
class ModelRun:
    """How a model ran.

    Attributes:
        device: Device, with the name of a GPU.
        dtype: Precision of its body; None: that of its signature.
        torch: Version of torch with its build, such as `2.13.0+cu130`.
        attention: *packed*: without padding; *grouped*: paths of similar length together; *alone*: every sequence by
            transformers' own attention. None: the model has no choice.
        shares_prefixes: Whether prefixes that sequences share were read once; None likewise.
        batch_tokens: Most tokens that were read at once, in the end; None likewise.
        fallbacks: Slower ways that were taken, each with its reason.
        prompts: Number of prompts that it read like that.
    """

    model: str
    device: str
    dtype: str | None = None
    torch: str | None = None
    attention: AttentionPath | None = None
    shares_prefixes: bool | None = None
    batch_tokens: int | None = None
    fallbacks: tuple[str, ...] = ()
    prompts: int = 0

    def __str__(self) -> str:
        """A line for people."""
        said = [f"{self.model.partition('@')[0]} on {self.device}"]
        said += [self.dtype] if self.dtype else []
        said += [f"attention {self.attention}"] if self.attention else []
        said += [] if self.shares_prefixes is None else [f"prefixes {'' if self.shares_prefixes else 'not '}shared"]
        said += [f"{self.batch_tokens:,} tokens at once"] if self.batch_tokens else []
        return ", ".join(said) + "".join(f"; {each}" for each in self.fallbacks)


def device_name(model: Any) -> str:
    """Name the devices of a loaded model: `cpu`, `cuda (NVIDIA H200)`, `cuda (2 × NVIDIA H200)`."""
    import torch

    devices = {each.device for each in model.parameters()}
    gpus = sorted(torch.cuda.get_device_name(each) for each in devices if each.type == "cuda")
    if not gpus:
        return str(model.device.type)
    counted = [f"{gpus.count(name)} × {name}" if gpus.count(name) > 1 else name for name in dict.fromkeys(gpus)]
    return f"cuda ({' and '.join(counted)})"
