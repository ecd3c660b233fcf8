"""Memory of devices: how many tokens fit at once, and recovering from a lack of it."""

from collections.abc import Callable
from traceback import clear_frames
from typing import Any, TypeVar

from divbench.core.errors import DivBenchError, first_line

T = TypeVar("T")
# Larger batches share more prefixes, smaller ones stay in a CPU's caches; from 1024 to 32,768 speed varies by a fifth.
CPU_TOKENS = 4096
LEAST, MOST = 1024, 65_536  # larger batches do not keep a GPU busier
_USED = 0.8  # usable share of the free memory; the rest allows for fragmentation and other allocations
_IN_STEPS = {"gelu_new", "gelu_fast", "quick_gelu"}  # activations that transformers computes in several steps
_HEAD_BYTES = 1 << 30  # tiles of 256 MiB of logits, and the tensors computed from them
_FULL = ("out of memory", "allocate memory", "_STATUS_ALLOC_FAILED")  # messages of allocators, cuBLAS and cuDNN


class OutOfMemory(DivBenchError):
    """A batch, or a single sequence, does not fit into the device's memory."""


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error means that the memory of a device or of the host is full; torch has no single type for it."""
    if not isinstance(error, RuntimeError):
        return isinstance(error, MemoryError)
    # Compared by name, because torch may not be installed here.
    return type(error).__name__ == "OutOfMemoryError" or any(words in str(error) for words in _FULL)


def within_memory(run: Callable[[], T], what: str, device: Any, hint: str = "a smaller model or dtype fits") -> T:
    """Call a function that computes on a device, and free what it had allocated if the memory is full."""
    try:
        return run()
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
        reason = first_line(error)
        # A traceback keeps the frames alive, and these the activations; so the new error has no cause either.
        _clear_frames_of_chain(error)
    if device.type == "cuda":
        import torch

        torch.cuda.empty_cache()
    raise OutOfMemory(f"{what}: out of memory: {reason}", hint)


def _clear_frames_of_chain(error: BaseException) -> None:
    """Clear the frames of an error and of all errors that led to it."""
    chain: list[BaseException] = [error]
    for link in chain:
        clear_frames(link.__traceback__)
        link.__traceback__ = None
        chain += [cause for cause in (link.__cause__, link.__context__) if cause is not None and cause not in chain]
        link.__cause__ = link.__context__ = None


def batch_budget(model: Any) -> int:
    """Estimate how many tokens fit on a model's device at once; the engine halves a batch that does not fit."""
    import torch

    if model.device.type != "cuda":
        return CPU_TOKENS
    torch.cuda.empty_cache()
    devices = {weight.device for weight in model.parameters() if weight.device.type == "cuda"}
    free = min(torch.cuda.mem_get_info(device)[0] for device in devices)
    return budget_of(free, bytes_per_token(model.config.get_text_config(), model.dtype.itemsize))


def budget_of(free: int, per_token: int) -> int:
    """Compute the budget in tokens from free bytes and bytes per token.

    >>> budget_of(130 * 2**30, 90_000), budget_of(9 * 2**30, 200_000), budget_of(2**20, 200_000)
    (65536, 32768, 1024)
    """
    tokens = max(1, int((_USED * free - _HEAD_BYTES) / per_token))
    return min(MOST, max(LEAST, 1 << (tokens.bit_length() - 1)))


def budget_with_states(batch_tokens: int, config: Any, itemsize: int) -> int:
    """Reduce a batch budget to leave room for the hidden states of all layers."""
    transient = bytes_per_token(config, itemsize)
    states: int = itemsize * config.hidden_size * (config.num_hidden_layers + 1)
    return max(1, batch_tokens * transient // (transient + states))


def bytes_per_token(config: Any, itemsize: int) -> int:
    """Estimate the peak memory per token of one layer in bytes, assuming no shared prefixes."""
    width: int = config.hidden_size
    heads: int = config.num_attention_heads
    size: int = getattr(config, "head_dim", None) or width // heads
    queries, keys = heads * size, (getattr(config, "num_key_value_heads", None) or heads) * size
    inner = getattr(config, "intermediate_size", None) or getattr(config, "n_inner", None) or 4 * width
    experts = getattr(config, "num_experts_per_tok", None)
    if experts:
        inner = experts * (getattr(config, "moe_intermediate_size", None) or inner)
    # The residual stream with its norm and sums takes 4 widths. The MLP adds gate, activation and product, and its
    # output. Attention holds queries, keys, values and its output twice: as computed, and gathered along paths, which
    # padding makes up to 1.3 times as long; shared keys and values are repeated for each query. A norm in half
    # precision holds its numbers three times in float32. The largest of the three counts.
    activation = getattr(config, "hidden_act", None) or getattr(config, "activation_function", None)
    mlp = width + (5 if activation in _IN_STEPS else 3) * inner
    attention = int(4.6 * queries + 4.6 * keys + (2.6 * queries if keys < queries else 0))
    norm = 12 * width // itemsize if itemsize < 4 else 0
    return itemsize * (4 * width + max(mlp, attention, norm))
