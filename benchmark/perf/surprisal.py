"""Speed of the surprisal engine beside the naive way: `python -m benchmark.perf.surprisal [--mirror DIR]`.

The naive way is that of the published code: one set at a time, its sequences padded into batches, no sharing, float32
logits of the whole vocabulary for every position, and a log-softmax over all of them. Both get the same model (random
weights, 152 thousand tokens) and the same token sequences. *Equal orders* is the engine's gain at equal work;
*balanced* uses Latin squares instead, whose means are more precise. Without a mirror the sets are synthetic.
"""

import argparse
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmark.metrics.metric import Missing
from benchmark.models.hf_lm import HFCausalLM
from benchmark.models.trie import build_trie
from benchmark.perf import print_document, timed_in_turns
from benchmark.surprisal.engine import OrderPlan, ResponseSet, SetSurprisals, read_sets
from benchmark.surprisal.prompt_layout import PAPER_COMPLETION, PAPER_INSTRUCT, Layout, TokenisedText, lay_out

Floats = NDArray[np.float64]
NAIVE_BATCH = {"instruct": 8, "completion": 16}  # as in the published code for OLMo's sets and McDiv's
TOLERANCE = 1e-3  # bits per response


@dataclass(frozen=True, slots=True)
class Shape:
    """Sizes of a model of Qwen2's architecture."""

    layers: int
    width: int  # size of the hidden states
    inner: int  # inner size of the MLP
    heads: int
    key_heads: int  # number of heads of keys and values
    vocabulary: int


SHAPES = {
    "tiny": Shape(2, 32, 64, 4, 2, 4096),  # for tests
    "small": Shape(9, 512, 2048, 8, 2, 151_936),
    "qwen2.5-0.5b": Shape(24, 896, 4864, 14, 2, 151_936),
    "qwen2.5-3b": Shape(36, 2048, 11_008, 16, 2, 151_936),
    "qwen2.5-7b": Shape(28, 3584, 18_944, 28, 4, 152_064),
}


def random_model(name: str, device: str, dtype: str) -> HFCausalLM:
    """Make a model of a shape with random weights, and the tokeniser of the bundled model."""
    import torch
    import transformers

    from benchmark.models.bundled_lm import OFFLINE_LM

    library: Any = transformers
    shape = SHAPES[name]
    config = library.Qwen2Config(
        vocab_size=shape.vocabulary,
        hidden_size=shape.width,
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.heads,
        num_key_value_heads=shape.key_heads,
        intermediate_size=shape.inner,
        max_position_embeddings=32_768,
        tie_word_embeddings=shape.width < 3584,  # true for all but the largest
    )
    torch.manual_seed(0)
    with torch.device(device):
        model = library.AutoModelForCausalLM.from_config(
            config, attn_implementation="sdpa", dtype=getattr(torch, dtype)
        )
    tokeniser = library.AutoTokenizer.from_pretrained(str(OFFLINE_LM.folder), local_files_only=True)
    return HFCausalLM(model.eval(), tokeniser, f"random/{name},{dtype},{device}")


def laid_out(
    model: HFCausalLM, sets: Sequence[ResponseSet], layout: Layout, plan: OrderPlan
) -> list[list[TokenisedText]]:
    """Return the token sequences of each set: its orders, then its responses alone."""
    sequences = []
    for response_set in sets:
        orders = plan.design(response_set).orders.tolist()
        texts = [[response_set.responses[i] for i in order] for order in orders]
        texts += [[response] for response in response_set.responses]
        sequences.append(lay_out(model, layout, response_set.prompt, texts))
    return sequences


@dataclass(frozen=True, slots=True)
class Work:
    """Sets with their layout and number of uniform orders in the published code."""

    name: str
    sets: list[ResponseSet]
    layout: Layout
    uniform: int


def works(mirror: Path | None, small: int, large: int) -> list[Work]:
    """Make conTest-like and OLMo-like work: released sets if there is a mirror, otherwise synthetic ones."""
    if mirror is None:
        rng = np.random.default_rng(0)
        words = [f"{a}{b}" for a in ("ri", "sto", "la", "vi", "en") for b in ("ver", "ne", "mp", "olet", "gine")]

        def texts(length: int, k: int) -> tuple[str, ...]:
            return tuple(" ".join(rng.choice(words, size=length)) + "." for _ in range(k))

        contest = [ResponseSet("Suppose there is an open door", texts(9, 5)) for _ in range(small)]
        olmo = [ResponseSet("What should I cook tonight?", texts(75, 10)) for _ in range(large)]
    else:
        from datasets_build.load import load_split

        rows: list[dict[str, Any]] = load_split("contest", "prompt_gen", mirror=mirror).to_list()
        contest = [ResponseSet(row["context"], tuple(row["responses"])) for row in rows[:small]]
        rows = load_split("olmo_stages", "alpacaeval", mirror=mirror).to_list()
        sft = [row for row in rows if row["stage"] == "sft"]
        olmo = [ResponseSet(row["prompt"], tuple(row["responses"])) for row in sft[:large]]
    return [
        Work("conTest-like: n = 5, completion, 50 uniform orders", contest, PAPER_COMPLETION, 50),
        Work("OLMo-like: n = 10, instruct, 25 uniform orders", olmo, PAPER_INSTRUCT, 25),
    ]


def naive(model: HFCausalLM, work: Work, laid: list[list[TokenisedText]]) -> list[list[Floats]]:
    """Compute the bits of the scored tokens of each set and sequence in the naive way."""
    import torch

    device, size = model.model.device, NAIVE_BATCH[work.layout.format]
    bits = []
    for of_set in laid:
        bits_of_set: list[Floats] = []
        for start in range(0, len(of_set), size):
            batch = [text.sequence for text in of_set[start : start + size]]
            longest = max(len(sequence.ids) for sequence in batch)
            ids = torch.from_numpy(np.stack([np.pad(s.ids, (0, longest - len(s.ids))) for s in batch]))
            mask = torch.from_numpy(np.stack([np.arange(longest) < len(s.ids) for s in batch]).astype(np.int64))
            with torch.inference_mode():
                inputs = {"input_ids": ids.to(device), "attention_mask": mask.to(device)}
                logits = model.model(**inputs, use_cache=False).logits
                logprobs = torch.log_softmax(logits.float(), dim=-1)
                del logits
            for row, sequence in zip(logprobs, batch, strict=True):
                where = (torch.from_numpy(x).to(device) for x in (sequence.scored - 1, sequence.ids[sequence.scored]))
                bits_of_set.append(-row[tuple(where)].double().cpu().numpy() / math.log(2))
        bits.append(bits_of_set)
    return bits


def compare(model: HFCausalLM, work: Work, rounds: int) -> dict[str, Any]:
    """Time the naive way and the engine in turns; raise ValueError if their bits differ."""
    uniform, balanced = OrderPlan("uniform", work.uniform), OrderPlan("balanced", 1)
    laid = laid_out(model, work.sets, work.layout, uniform)
    ways: dict[str, Callable[[], Any]] = {
        "naive": partial(naive, model, work, laid),
        "equal": partial(read_sets, work.sets, model, work.layout, uniform),
        "balanced": partial(read_sets, work.sets, model, Layout(work.layout.format), balanced),
    }
    seconds, read = timed_in_turns(ways, rounds)
    difference = _difference(laid, read["naive"], read["equal"])
    if not difference <= TOLERANCE:
        raise ValueError(f"the naive way and the engine differ by {difference} bits")
    sequences = [[text.sequence.ids for text in of_set] for of_set in laid]
    return {
        "work": work.name,
        "sets": len(work.sets),
        "tokens": sum(len(ids) for of_set in sequences for ids in of_set),
        "distinct_prefixes": sum(len(build_trie(of_set).ids) for of_set in sequences),
        "difference": difference,  # in bits of a response, at equal orders
        "seconds": seconds,
        **{f"{name}_ratio": seconds["naive"] / seconds[name] for name in ("equal", "balanced")},
    }


def _difference(
    laid: list[list[TokenisedText]], expected: list[list[Floats]], found: Sequence[SetSurprisals | Missing]
) -> float:
    """Return the largest difference between the bits of any response in any order."""
    largest = 0.0
    for of_set, bits, read in zip(laid, expected, found, strict=True):
        if isinstance(read, Missing):
            raise TypeError(f"a set was not read: {read.reason}")
        ours = [*read.surprisals.bits, *read.surprisals.unconditional[:, None]]
        for text, theirs, mine in zip(of_set, bits, ours, strict=True):
            by_response = np.bincount(text.positions, weights=theirs, minlength=len(mine))
            largest = max(largest, float(np.abs(by_response - mine).max()))
    return largest


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print one JSON document."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mirror", type=Path, help="Folder with the released files; default: synthetic sets.")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--small", type=int, default=4, help="Number of conTest-like sets.")
    parser.add_argument("--large", type=int, default=1, help="Number of OLMo-like sets.")
    parser.add_argument("--shape", choices=sorted(SHAPES), default="small")
    parser.add_argument("--dtype", choices=["float32", "bfloat16", "float16"], default="float32")
    parser.add_argument("--device", default="cpu")
    options = parser.parse_args(arguments)
    model = random_model(options.shape, options.device, options.dtype)
    timings = [compare(model, work, options.rounds) for work in works(options.mirror, options.small, options.large)]
    print_document({"shape": options.shape, "dtype": options.dtype, "device": options.device, "timings": timings})


if __name__ == "__main__":
    main()
