"""A start that already copies: two layers wired so that what followed a token before is expected after it again.

From random weights a model this small took over a million tokens without learning to copy at all; from these it copies
random tokens within fifty steps, and training is free to change all of it. The circuit is the induction head of Olsson
et al. 2022, arXiv:2209.11895: a head of the first layer tells each token what stood before it, and the second layer's
heads look for tokens that were told of the current one.
"""

import math
from typing import Any

_SPREAD = 0.06  # standard deviation of embeddings, so that their length is about 1
_SHARP = 8.0  # of the biases that make the first head look one token back
_TOLD = 0.17  # how loudly it tells
_MATCH = 1.6  # of queries and keys in the second layer
_COPIED = 0.2  # how loudly the second layer repeats what it found
_PAIRS = 4  # of the fastest rotations: they tell one token back from two
_WIDTH = 32  # of what is told


def wire_copying(model: Any) -> None:
    """Set the embeddings and the attention of the first two layers of a Llama with attention biases."""
    import torch

    config = model.config
    size, heads = config.head_dim, config.num_attention_heads
    half = size // 2
    first, second = (layer.self_attn for layer in model.model.layers[:2])
    with torch.no_grad():
        model.model.embed_tokens.weight.normal_(0, _SPREAD)
        said, told = (torch.linalg.qr(torch.randn(config.hidden_size, _WIDTH))[0] for _ in range(2))
        for pair in range(_PAIRS):  # rotary positions: query and key agree best one token apart
            angle = config.rope_parameters["rope_theta"] ** (-pair / half)
            first.q_proj.bias[pair] = _SHARP
            first.k_proj.bias[pair] = _SHARP * math.cos(angle)
            first.k_proj.bias[pair + half] = _SHARP * math.sin(angle)
        first.v_proj.weight[:_WIDTH] = said.T
        first.v_proj.weight[_WIDTH:size] = 0
        first.o_proj.weight[:, :size] = 0
        first.o_proj.weight[:, :_WIDTH] = _TOLD * told
        slow = torch.tensor([*range(half // 2, half), *range(half + half // 2, size)])  # hardly turned by position
        second.q_proj.weight.zero_()
        second.k_proj.weight.zero_()
        for head in range(heads):
            second.q_proj.weight[size * head + slow] = _MATCH * said.T
            second.k_proj.weight[size * head + slow] = _MATCH * told.T
        turned = torch.linalg.qr(torch.randn(config.hidden_size, config.hidden_size))[0]
        second.v_proj.weight.copy_(turned)
        second.o_proj.weight.copy_(_COPIED * turned.T)
