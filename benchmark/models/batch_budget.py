"""The number of tokens that a causal language model reads in one batch."""

from typing import Any

# Larger batches share more prefixes, smaller ones stay in a CPU's caches; from 1024 to 32,768 speed varies by a fifth.
CPU_TOKENS = 4096
LEAST, MOST = 1024, 65_536  # larger batches do not keep a GPU busier
_USED = 0.8  # usable share of the free memory; the rest allows for fragmentation and other allocations
_IN_STEPS = {"gelu_new", "gelu_fast", "quick_gelu"}  # activations that transformers computes in several steps
_HEAD_BYTES = 1 << 30  # tiles of 256 MiB of logits, and the tensors computed from them


def batch_budget(model: Any) -> int:
    """Estimate how many tokens fit on a model's device at once; a shared prefix counts once per sequence.

    On a GPU: 0.8 of the free bytes (of the fullest GPU) minus 1 GiB for the head, divided by `bytes_per_token` and
    rounded down to a power of two, so that the budget is the same from run to run; at least 1024, at most 65,536. On a
    CPU: 4096. If a batch still does not fit, the engine halves it.
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
    """Reduce a batch budget to leave room for the hidden states of all layers."""
    transient = bytes_per_token(config, itemsize)
    kept: int = itemsize * config.hidden_size * (config.num_hidden_layers + 1)
    return max(1, batch_tokens * transient // (transient + kept))


def bytes_per_token(config: Any, itemsize: int) -> int:
    """Estimate the peak memory per token of one layer in bytes, assuming no shared prefixes.

    Let w be the model's width, m the MLP's, q the total width of the queries, k that of the keys (the values have the
    same), and b the bytes per number. The residual stream with its norm and sums takes 4w. The MLP adds 3m for gate,
    activation and product (5m if the activation is computed in steps) and w for its output. Attention holds queries,
    keys, values and its output twice: as computed, and gathered along paths, which padding makes up to 1.3 times as
    long, 4.6q + 4.6k; if several queries share keys and values, these are repeated for each query, another 2.6q. A norm
    in half precision holds its w numbers three times in float32. The largest of MLP, attention and norm counts. A
    mixture of experts counts as one MLP made of all experts that a token uses.
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
