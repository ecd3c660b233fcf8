"""How a model ran: settings that may change the last digits of a number and are not part of any signature."""

from dataclasses import dataclass
from typing import Any, Literal

AttentionPath = Literal["packed", "grouped", "alone"]


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
        return ", ".join(parts) + "".join(f"; {each}" for each in self.fallbacks)


def device_name(model: Any) -> str:
    """Name the devices of a loaded model: `cpu`, `cuda (NVIDIA H200)`, `cuda (2 × NVIDIA H200)`."""
    import torch

    devices = {each.device for each in model.parameters()}
    gpus = sorted(torch.cuda.get_device_name(each) for each in devices if each.type == "cuda")
    if not gpus:
        return str(model.device.type)
    counted = [f"{gpus.count(name)} × {name}" if gpus.count(name) > 1 else name for name in dict.fromkeys(gpus)]
    return f"cuda ({' and '.join(counted)})"
