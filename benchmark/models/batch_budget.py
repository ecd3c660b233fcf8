"""The number of tokens that a causal language model reads at once."""

from typing import Any

CPU_TOKENS = 4096  # more share more prefixes, fewer stay in a CPU's caches; 1024 to 32,768 differ by a fifth
LEAST, MOST = 1024, 65_536  # more do not keep a GPU busier
_USED = 0.8  # share of the free memory: it is fragmented, and other things need some, too
_IN_STEPS = {"gelu_new", "gelu_fast", "quick_gelu"}  # activations that transformers computes in steps
_HEAD_BYTES = 1 << 30  # tiles of logits of 256 MiB, and what is computed from them


def batch_budget(model: Any) -> int:
    """Estimate how many tokens fit a model's device together, shared prefixes counted each time.

    On a GPU: 0.8 of the free bytes (of the fullest GPU) minus 1 GiB for the head, over `bytes_per_token`, rounded down
    to a power of two so that it is the same from run to run; at least 1024, at most 65,536. On a CPU: 4096. The engine
    halves a batch that does not fit all the same.
    """
    import torch

    if model.device.type != "cuda":
        return CPU_TOKENS
    torch.cuda.empty_cache()
    devices = {each.device for each in model.parameters() if each.device.type == "cuda"}
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
    """Scale a budget to reading that keeps the hidden states of all layers, beside what a layer needs for a while."""
    passing = bytes_per_token(config, itemsize)
    kept: int = itemsize * config.hidden_size * (config.num_hidden_layers + 1)
    return max(1, batch_tokens * passing // (passing + kept))


def bytes_per_token(config: Any, itemsize: int) -> int:
    """Estimate the bytes per token of the tensors that exist at the same time in a layer, where nothing is shared.

    With w the width, m the MLP's, q the width of all queries, k that of all keys (and of all values) and b the bytes of
    a number: the residual with its norm and sums takes 4w. The MLP adds gate, activation and product, 3m (5m where the
    activation is computed in steps), and its output, w. Attention adds queries, keys and values twice, as computed and
    as gathered along paths up to 1.3 times as long for padding, keys and values once more for each query where queries
    share them, and its output twice: 4.6q + 4.6k, and 2.6q. The larger of both counts, b bytes a number; or a norm in
    half precision, whose w numbers exist three times in float32. A mixture of experts counts as one MLP of all experts
    that a token uses.
    """
    width: int = config.hidden_size
    heads: int = config.num_attention_heads
    size: int = getattr(config, "head_dim", None) or width // heads
    queries, keys = heads * size, (getattr(config, "num_key_value_heads", None) or heads) * size
    inner = getattr(config, "intermediate_size", None) or getattr(config, "n_inner", None) or 4 * width
    experts = getattr(config, "num_experts_per_tok", None)
    if experts:
        inner = experts * (getattr(config, "moe_intermediate_size", None) or inner)
    activation = getattr(config, "hidden_act", None) or getattr(config, "activation_function", None)
    mlp = width + (5 if activation in _IN_STEPS else 3) * inner
    attention = int(4.6 * queries + 4.6 * keys + (2.6 * queries if keys < queries else 0))
    norm = 12 * width // itemsize if itemsize < 4 else 0
    return itemsize * (4 * width + max(mlp, attention, norm))
