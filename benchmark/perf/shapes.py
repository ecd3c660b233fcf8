"""Language models with random weights and the shapes of known ones: their operations, and limits of their speed."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from benchmark.models.hf_lm import HFCausalLM
from benchmark.models.trie import build_trie
from benchmark.perf.limits import gemm, gpu_gemm
from benchmark.surprisal.engine import OrderPlan, ResponseSet
from benchmark.surprisal.prompt_layout import Layout, TokenisedText, lay_out

H200_FLOPS = 790e12  # measured for products of large bfloat16 matrices


@dataclass(frozen=True, slots=True)
class Shape:
    """Sizes of a causal language model."""

    kind: Literal["qwen2", "gpt2"]  # architecture in transformers
    layers: int  # number of blocks
    width: int  # size of the hidden states
    inner: int  # inner size of the MLP
    heads: int  # number of attention heads
    key_heads: int  # number of heads of keys and values
    vocabulary: int  # number of tokens


SHAPES = {
    "tiny": Shape("qwen2", 2, 32, 64, 4, 2, 4096),  # for tests
    "small": Shape("qwen2", 9, 512, 2048, 8, 2, 151_936),
    "gpt2": Shape("gpt2", 12, 768, 3072, 12, 12, 50_257),
    "qwen2.5-0.5b": Shape("qwen2", 24, 896, 4864, 14, 2, 151_936),
    "qwen2.5-3b": Shape("qwen2", 36, 2048, 11_008, 16, 2, 151_936),
    "qwen2.5-7b": Shape("qwen2", 28, 3584, 18_944, 28, 4, 152_064),
}


def random_model(name: str, device: str, dtype: str) -> HFCausalLM:
    """Make a model of a shape with random weights, and the tokeniser of the bundled model."""
    import torch
    import transformers

    from benchmark.models.bundled_lm.spec import OFFLINE_LM

    torch.manual_seed(0)
    library: Any = transformers
    with torch.device(device):
        model = library.AutoModelForCausalLM.from_config(
            _config(SHAPES[name]), attn_implementation="sdpa", dtype=getattr(torch, dtype)
        )
    tokeniser = library.AutoTokenizer.from_pretrained(str(OFFLINE_LM.folder), local_files_only=True)
    return HFCausalLM(model.eval(), tokeniser, f"random/{name},{dtype},{device}")


def _config(shape: Shape) -> Any:
    import transformers

    library: Any = transformers
    if shape.kind == "gpt2":
        return library.GPT2Config(
            vocab_size=shape.vocabulary,
            n_embd=shape.width,
            n_layer=shape.layers,
            n_head=shape.heads,
            n_inner=shape.inner,
            n_positions=1024,
        )
    return library.Qwen2Config(
        vocab_size=shape.vocabulary,
        hidden_size=shape.width,
        intermediate_size=shape.inner,
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.heads,
        num_key_value_heads=shape.key_heads,
        max_position_embeddings=32_768,
        tie_word_embeddings=shape.width < 3584,  # true for all but the largest
    )


def operations(shape: Shape, nodes: int, scored: int) -> float:
    """Count the floating-point operations of the products with weights, without attention (a few percent of these).

    Args:
        nodes: Number of tokens that the body reads.
        scored: Number of tokens that the head scores.
    """
    keys = shape.key_heads * (shape.width // shape.heads)
    mlp = (3 if shape.kind == "qwen2" else 2) * shape.width * shape.inner
    body = shape.layers * (2 * shape.width * shape.width + 2 * shape.width * keys + mlp)
    return 2.0 * (body * nodes + shape.width * shape.vocabulary * scored)


def laid_out(
    model: HFCausalLM, sets: Sequence[ResponseSet], layout: Layout, plan: OrderPlan
) -> list[list[TokenisedText]]:
    """Return the token sequences of each set: its orders, then its responses alone."""
    made = []
    for each in sets:
        orders = plan.design(each).orders.tolist()
        texts = [[each.responses[i] for i in order] for order in orders] + [[one] for one in each.responses]
        made.append(lay_out(model, layout, each.prompt, texts))
    return made


def counts(model: HFCausalLM, given: ResponseSet, layout: Layout, plan: OrderPlan) -> tuple[int, int, int]:
    """Count a set's tokens, its distinct prefixes, and the scored ones among them."""
    (laid,) = laid_out(model, [given], layout, plan)
    trie = build_trie([each.sequence.ids for each in laid])
    scored = [path[each.sequence.scored] for path, each in zip(trie.paths, laid, strict=True)]
    return sum(map(len, trie.paths)), len(trie.ids), len(np.unique(np.concatenate(scored)))


def limit_of(device: str) -> tuple[float, str]:
    """Return the operations per second that a device can do, and the source of that number.

    A CPU's float32 operations with torch's number of threads, measured here; an H200's in bfloat16, as measured once;
    another GPU's in bfloat16, measured here.
    """
    import torch

    if not device.startswith("cuda"):
        threads = torch.get_num_threads()
        return gemm(threads, 3), f"float32 products of large matrices on {threads} threads, measured beside"
    if "H200" in torch.cuda.get_device_name():
        return H200_FLOPS, "bfloat16 products of large matrices on an H200, measured once"
    _, found = gpu_gemm(3)
    return float(found or 0), "bfloat16 products of large matrices, measured beside"
