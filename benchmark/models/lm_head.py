"""Hidden states to the bits of given tokens, in tiles, so that no [rows × vocabulary] tensor is large."""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock
from typing import Any

_TILE_ROWS = 512
_TILE_TOKENS = 8192  # a tile of float32 logits takes 16 MiB and stays in a processor's cache
_CUDA_TILE_ROWS, _CUDA_TILE_TOKENS = 4096, 16_384  # 256 MiB


@dataclass(frozen=True, slots=True, eq=False)
class Head:
    """The last layer of a language model."""

    weight: Any  # [vocabulary, width]
    bias: Any | None  # [vocabulary], or None
    scale: float
    softcap: float | None  # s in s · tanh(logits / s), or None


def head_of(model: Any) -> Head:
    """Return the head of a causal model with the operations on logits that its configuration names; it may do more."""
    layer = model.get_output_embeddings()
    config = model.config.get_text_config()
    scale = float(getattr(config, "logit_scale", None) or 1.0)  # Cohere
    scale /= float(getattr(config, "logits_scaling", None) or 1.0)  # Granite
    softcap = getattr(config, "final_logit_softcapping", None)  # Gemma
    return Head(layer.weight, getattr(layer, "bias", None), scale, softcap)


def token_bits(head: Head, hidden: Any, targets: Any) -> Any:
    """Compute −log2 p of each target after its hidden state: float64 [rows]."""
    import torch

    # At least float32: half-precision logits alone would cost 0.04 bits (float16) to 0.29 (bfloat16) per response.
    # A model may be spread over several devices.
    hidden, targets = hidden.to(head.weight.device), targets.to(head.weight.device)
    on_gpu = hidden.device.type == "cuda"
    rows, tokens = (_CUDA_TILE_ROWS, _CUDA_TILE_TOKENS) if on_gpu else (_TILE_ROWS, _TILE_TOKENS)
    bits = []
    for states, wanted in zip(hidden.split(rows), targets.split(rows), strict=True):
        sums = [
            _log_sum_exp(logits_of(head, states, slice(start, start + tokens)))
            for start in range(0, len(head.weight), tokens)
        ]
        chosen = _chosen_logits(head, states, wanted)
        bits.append((torch.logsumexp(_double(torch.stack(sums)), dim=0) - chosen) / math.log(2))
    return torch.cat(bits) if bits else torch.empty(0, dtype=torch.float64)


def logits_of(head: Head, states: Any, tokens: slice = slice(None)) -> Any:
    """Compute the logits for a slice of the vocabulary after each hidden state: float32 [rows, tokens of the slice]."""
    import torch

    weight = head.weight[tokens]
    if states.is_cuda and weight.dtype != torch.float32:
        # Products of half-precision numbers are exact in float32, and the sums are float32 as well.
        logits = torch.mm(states.to(weight.dtype), weight.T, out_dtype=torch.float32)
    elif states.dtype == weight.dtype == torch.bfloat16 and not states.is_cuda:
        with _bfloat16_factors():
            logits = torch.mm(states.float(), weight.float().T)
    else:
        logits = torch.mm(states.float(), weight.float().T)
    if head.bias is not None:
        logits += head.bias[tokens].float()
    return _shaped(head, logits)


def _log_sum_exp(logits: Any) -> Any:
    """Compute the log-sum-exp [rows] in one pass over the logits; torch.logsumexp takes four."""
    import torch

    return logits[:, 0] - torch.log_softmax(logits, dim=-1)[:, 0]


_lock = Lock()
_settings: list[str] = []  # the process's setting before each use that has not ended


@contextmanager
def _bfloat16_factors() -> Iterator[None]:
    """Let products of float32 matrices on a CPU round their factors to bfloat16, with sums in float32."""
    import torch

    # Nothing is lost if the factors are bfloat16 numbers. The setting applies to the whole process, so no other thread
    # may multiply other float32 matrices meanwhile.
    products: Any = getattr(torch.backends.mkldnn, "matmul", None)
    if products is None:  # torch before 2.9
        yield
        return
    with _lock:
        _settings.append(products.fp32_precision)
        products.fp32_precision = "bf16"
    try:
        yield
    finally:
        with _lock:
            products.fp32_precision = _settings.pop()  # "bf16" if another thread still needs it


def _chosen_logits(head: Head, states: Any, targets: Any) -> Any:
    """Compute only the targets' logits: float64 [rows]."""
    logits = (_double(states) * _double(head.weight[targets])).sum(-1)
    if head.bias is not None:
        logits = logits + _double(head.bias[targets])
    return _shaped(head, logits)


def _double(numbers: Any) -> Any:
    """Convert to float64, on the CPU if the device does not support it (Apple's GPUs)."""
    return numbers.cpu().double() if numbers.device.type == "mps" else numbers.double()


def _shaped(head: Head, logits: Any) -> Any:
    import torch

    if head.scale != 1.0:
        logits = logits * head.scale
    if head.softcap is not None:
        logits = torch.tanh(logits / head.softcap) * head.softcap
    return logits
