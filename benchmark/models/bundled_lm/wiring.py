"""Initial weights that already copy: two layers wired as an induction circuit, to predict what followed a token before.

From random weights, a model this small did not learn to copy in over a million tokens; from these it copies random
tokens within fifty steps, and training may change all of them. The circuit is the induction head of Olsson et al. 2022,
arXiv:2209.11895: a head in the first layer passes each token's predecessor on to it, and the heads of the second layer
look for tokens whose predecessor is the current token.
"""

import math
from typing import Any

_SPREAD = 0.06  # standard deviation of the embeddings, so that their length is about 1
_SHARP = 8.0  # size of the biases that make the first head attend to the previous token
_TOLD = 0.17  # scale of the first head's output
_MATCH = 1.6  # scale of the second layer's queries and keys
_COPIED = 0.2  # scale of the second layer's output
_PAIRS = 4  # number of fastest rotations used, which distinguish the previous token from the one before it
_WIDTH = 32  # dimensions in which the predecessor is encoded


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
        for pair in range(_PAIRS):  # with rotary embeddings, query and key then match best one token apart
            angle = config.rope_parameters["rope_theta"] ** (-pair / half)
            first.q_proj.bias[pair] = _SHARP
            first.k_proj.bias[pair] = _SHARP * math.cos(angle)
            first.k_proj.bias[pair + half] = _SHARP * math.sin(angle)
        first.v_proj.weight[:_WIDTH] = said.T
        first.v_proj.weight[_WIDTH:size] = 0
        first.o_proj.weight[:, :size] = 0
        first.o_proj.weight[:, :_WIDTH] = _TOLD * told
        slow = torch.tensor([*range(half // 2, half), *range(half + half // 2, size)])  # hardly rotated by position
        second.q_proj.weight.zero_()
        second.k_proj.weight.zero_()
        for head in range(heads):
            second.q_proj.weight[size * head + slow] = _MATCH * said.T
            second.k_proj.weight[size * head + slow] = _MATCH * told.T
        turned = torch.linalg.qr(torch.randn(config.hidden_size, config.hidden_size))[0]
        second.v_proj.weight.copy_(turned)
        second.o_proj.weight.copy_(_COPIED * turned.T)
