"""Hidden states to the bits of given tokens, in tiles, so that no [rows × vocabulary] tensor is large."""

import math
from dataclasses import dataclass
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
        sums = []
        for start in range(0, len(head.weight), tokens):
            logits = logits_of(head, states, slice(start, start + tokens))
            sums.append(logits[:, 0] - torch.log_softmax(logits, dim=-1)[:, 0])  # one pass; torch.logsumexp takes four
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
    else:
        logits = torch.mm(states.float(), weight.float().T)
    if head.bias is not None:
        logits += head.bias[tokens].float()
    return _shaped(head, logits)


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
