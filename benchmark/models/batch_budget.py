"""How many tokens a causal language model reads at once."""

from typing import Any

CPU_TOKENS = 4096  # more shares more beginnings, fewer stay in a processor's caches; 1024 to 32,768 differ by a fifth
LEAST, MOST = 1024, 65_536  # more keeps no GPU busier
_USED = 0.8  # of the memory that is free: it is lent in pieces, and other things need some, too
_IN_STEPS = {"gelu_new", "gelu_fast", "quick_gelu"}  # by transformers
_HEAD_BYTES = 1 << 30  # tiles of logits of 256 MiB, and what is made of them


def batch_budget(model: Any) -> int:
    """Tokens that fit a model's device together, shared beginnings counted each time.

    On a GPU: 0.8 of the free bytes (of the fullest, where there are several) without 1 GiB for the head, over
    `bytes_per_token`, rounded down to a power of two so that it is the same from run to run, and at least 1024, at most
    65,536. On a CPU 4096, however much is free. The engine halves a batch that does not fit all the same.
    """
    import torch

    if model.device.type != "cuda":
        return CPU_TOKENS
    torch.cuda.empty_cache()
    devices = {each.device for each in model.parameters() if each.device.type == "cuda"}
    free = min(torch.cuda.mem_get_info(device)[0] for device in devices)
    return budget_of(free, bytes_per_token(model.config.get_text_config(), model.dtype.itemsize))


def budget_of(free: int, per_token: int) -> int:
    """That of free bytes and of bytes a token.

    >>> budget_of(130 * 2**30, 90_000), budget_of(9 * 2**30, 200_000), budget_of(2**20, 200_000)
    (65536, 32768, 1024)
    """
    tokens = max(1, int((_USED * free - _HEAD_BYTES) / per_token))
    return min(MOST, max(LEAST, 1 << (tokens.bit_length() - 1)))


def bytes_per_token(config: Any, itemsize: int) -> int:
    """Bytes of the tensors that exist at a time in a layer, for each token, where nothing is shared.

    With w the width, m the MLP's, q the width of all queries, k that of all keys (as of all values) and b the bytes of
    a number: the residual and what was made of it by the norm and by adding are 4w. In the MLP come gate, activation
    and product, 3m, or 5m where the activation is written in steps, and what goes down, w. In attention come queries,
    keys and values twice, as made and as gathered by paths that are up to 1.3 times as long for padding, keys and
    values once more for each query where several share them, and twice what is found: 4.6q + 4.6k, and 2.6q. Of both
    the larger, b bytes a number; or that of a norm of half precision, w numbers of which are three times in float32.
    Experts of a mixture are taken for one MLP of all that a token sees.
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
