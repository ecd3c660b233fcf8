"""How much faster than the naive way the engine is: `python -m benchmark.perf.surprisal [--mirror DIR]`.

The naive way is how the published code works: one set at a time, its sequences padded into batches, no sharing, float32
logits of the whole vocabulary for every position, a log-softmax over all of them. Both ways get the same model (random
weights, 152 thousand tokens) and the same token sequences, in turns in one process; their bits are compared before any
time is printed. *Equal orders* is the engine's gain at equal work; *balanced* gives the more precise means of Latin
squares instead. On a GPU (`--device cuda --shape qwen2.5-3b --skip-naive`) it tells tokens/s and the share of the peak.
"""

import argparse
import json
import math
import resource
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmark.engine import OrderPlan, Read, ResponseSet, Unread, read_sets
from benchmark.layout import PAPER_COMPLETION, PAPER_INSTRUCT, Laid, Layout, lay_out
from benchmark.models.hf_lm import HFCausalLM
from benchmark.models.trie import build_trie
from datasets_build.download import mirror_folder
from datasets_build.load import load_split

# Layers, width, width of the MLP, heads, key heads: of Qwen2.5's models, and of a small one with their vocabulary.
SHAPES = {
    "small": (9, 512, 2048, 8, 2),
    "qwen2.5-0.5b": (24, 896, 4864, 14, 2),
    "qwen2.5-3b": (36, 2048, 11_008, 16, 2),
}
Floats = NDArray[np.float64]
VOCABULARY = 151_936
NAIVE_BATCH = 8  # as the published code reads OLMo's sets; more would not fit beside its logits
PEAK_FLOPS = 790e12  # of an H200 in bfloat16
TOLERANCE = 1e-3  # bits a response


@dataclass(frozen=True, slots=True)
class Work:
    """Sets, and the orders that the published code and this package read them in.

    Attributes:
        name: For the report.
        sets: To read.
        layout: As published.
        uniform: Orders of a set.
    """

    name: str
    sets: list[ResponseSet]
    layout: Layout
    uniform: int


@dataclass(frozen=True, slots=True)
class Timing:
    """What was measured of one kind of work; seconds are one a round.

    Attributes:
        largest_difference: In bits of a response, between the naive way and the engine at equal orders.
        equal_ratio: Naive over engine, both with all uniform orders: the fastest rounds.
        balanced_ratio: Naive with uniform orders over engine with one Latin square.
    """

    work: str
    sets: int
    tokens: int
    nodes: int
    largest_difference: float
    naive_seconds: list[float]
    equal_seconds: list[float]
    balanced_seconds: list[float]
    equal_ratio: float
    balanced_ratio: float


def random_model(shape: str, device: str, dtype: str) -> HFCausalLM:
    """A Qwen2 with random weights and the tokeniser of the bundled model."""
    import torch
    import transformers

    from benchmark.profiles import OFFLINE_LM

    layers, width, inner, heads, key_heads = SHAPES[shape]
    torch.manual_seed(0)
    library: Any = transformers
    config = library.Qwen2Config(
        vocab_size=VOCABULARY,
        hidden_size=width,
        intermediate_size=inner,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        num_key_value_heads=key_heads,
        max_position_embeddings=32_768,
        tie_word_embeddings=True,
    )
    with torch.device(device):
        model = library.AutoModelForCausalLM.from_config(
            config, attn_implementation="sdpa", dtype=getattr(torch, dtype)
        )
    tokeniser = library.AutoTokenizer.from_pretrained(str(OFFLINE_LM.folder), local_files_only=True)
    return HFCausalLM(model.eval(), tokeniser, f"random/{shape},{dtype},{device}")


def naive(model: HFCausalLM, work: Work, laid: list[list[Laid]]) -> list[list[Floats]]:
    """For each set and sequence the bits of its scored tokens, the naive way."""
    import torch

    made = []
    for of_set in laid:
        size = NAIVE_BATCH if work.layout.format == "instruct" else len(of_set)
        found: list[Floats] = []
        for start in range(0, len(of_set), size):
            batch = [each.sequence for each in of_set[start : start + size]]
            longest = max(len(each.ids) for each in batch)
            ids = torch.from_numpy(np.stack([np.pad(each.ids, (0, longest - len(each.ids))) for each in batch]))
            mask = torch.from_numpy(np.stack([np.arange(longest) < len(each.ids) for each in batch]).astype(np.int64))
            with torch.inference_mode():
                logits = model.model(input_ids=ids, attention_mask=mask, use_cache=False).logits
                chances = torch.log_softmax(logits.float(), dim=-1)
                del logits
            for row, each in zip(chances, batch, strict=True):
                picked = row[torch.from_numpy(each.scored - 1), torch.from_numpy(each.ids[each.scored])]
                found.append(-picked.double().numpy() / math.log(2))
        made.append(found)
    return made


def laid_out(model: HFCausalLM, work: Work) -> list[list[Laid]]:
    """The token sequences of each set: its uniform orders, then its responses alone."""
    made = []
    for each in work.sets:
        orders = OrderPlan("uniform", work.uniform).design(each).orders.tolist()
        texts = [[each.responses[i] for i in order] for order in orders] + [[one] for one in each.responses]
        made.append(lay_out(model, work.layout, each.prompt, texts))
    return made


def compare(model: HFCausalLM, work: Work, rounds: int) -> Timing:
    """Time the naive way and the engine in turns.

    Raises:
        ValueError: Their bits differ.
    """
    laid = laid_out(model, work)
    sequences = [[each.sequence for each in of_set] for of_set in laid]
    seconds: dict[str, list[float]] = {"naive": [], "equal": [], "balanced": []}
    largest = 0.0
    for _ in range(rounds):
        taken, expected = _timed(lambda: naive(model, work, laid))
        seconds["naive"].append(taken)
        taken, found = _timed(lambda: read_sets(work.sets, model, work.layout, OrderPlan("uniform", work.uniform)))
        seconds["equal"].append(taken)
        largest = max(largest, _difference(laid, expected, found))
        exact = Layout(work.layout.format)
        taken, _ = _timed(lambda: read_sets(work.sets, model, exact, OrderPlan("balanced", 1)))  # noqa: B023
        seconds["balanced"].append(taken)
    if not largest <= TOLERANCE:
        raise ValueError(f"the naive way and the engine differ by {largest} bits")
    fastest = {name: min(each) for name, each in seconds.items()}
    return Timing(
        work=work.name,
        sets=len(work.sets),
        tokens=sum(len(s.ids) for of_set in sequences for s in of_set),
        nodes=sum(len(build_trie([s.ids for s in of_set]).ids) for of_set in sequences),
        largest_difference=largest,
        naive_seconds=seconds["naive"],
        equal_seconds=seconds["equal"],
        balanced_seconds=seconds["balanced"],
        equal_ratio=fastest["naive"] / fastest["equal"],
        balanced_ratio=fastest["naive"] / fastest["balanced"],
    )


def _difference(laid: list[list[Laid]], expected: list[list[Floats]], found: Sequence[Read | Unread]) -> float:
    """The largest between the bits of any response in any order."""
    largest = 0.0
    for of_set, bits, read in zip(laid, expected, found, strict=True):
        if isinstance(read, Unread):
            raise TypeError(f"a set was not read: {read.reason}")
        s = read.surprisals
        ours = [*s.bits, *s.unconditional[:, None]]
        for each, theirs, mine in zip(of_set, bits, ours, strict=True):
            slots = np.bincount(each.slots, weights=theirs, minlength=len(mine))
            largest = max(largest, float(np.abs(slots - mine).max()))
    return largest


def _timed(run: Callable[[], Any]) -> tuple[float, Any]:
    start = perf_counter()
    found = run()
    return perf_counter() - start, found


def works(mirror: Path | None, small: int, large: int) -> list[Work]:
    """conTest-like and OLMo-like work: released sets where there is a mirror, else made-up ones of their shape."""
    if mirror is None:
        rng = np.random.default_rng(0)
        words = [f"{a}{b}" for a in ("ri", "sto", "la", "vi", "en") for b in ("ver", "ne", "mp", "olet", "gine")]

        def texts(length: int, k: int) -> tuple[str, ...]:
            return tuple(" ".join(rng.choice(words, size=length)) + "." for _ in range(k))

        contest = [ResponseSet("Suppose there is an open door", texts(9, 5)) for _ in range(small)]
        olmo = [ResponseSet("What should I cook tonight?", texts(75, 10)) for _ in range(large)]
    else:
        rows: list[dict[str, Any]] = load_split("contest", "prompt_gen", mirror=mirror).to_list()
        contest = [ResponseSet(row["context"], tuple(row["responses"])) for row in rows[:small]]
        rows = load_split("olmo_stages", "alpacaeval", mirror=mirror).to_list()
        of_stage = [row for row in rows if row["stage"] == "sft"]
        olmo = [ResponseSet(row["prompt"], tuple(row["responses"])) for row in of_stage[:large]]
    return [
        Work("conTest-like: n = 5, completion, 50 uniform orders", contest, PAPER_COMPLETION, 50),
        Work("OLMo-like: n = 10, instruct, 25 uniform orders", olmo, PAPER_INSTRUCT, 25),
    ]


def throughput(model: HFCausalLM, work: Work, shape: str) -> dict[str, Any]:
    """Of the engine alone, for a GPU: tokens/s, share of the peak, peak memory."""
    import torch

    layers, width, inner, heads, key_heads = SHAPES[shape]
    head_size = width // heads
    body = layers * (2 * width * width + 2 * width * key_heads * head_size + 3 * width * inner)
    plan = OrderPlan("balanced", 1)
    read_sets(work.sets[:1], model, Layout(work.layout.format), plan)  # warm up
    taken, _ = _timed(lambda: read_sets(work.sets, model, Layout(work.layout.format), plan))
    tokens = scored = 0
    for each in work.sets:
        texts = [[each.responses[i] for i in order] for order in plan.design(each).orders.tolist()]
        laid = lay_out(model, Layout(work.layout.format), each.prompt, texts)
        tokens += len(build_trie([one.sequence.ids for one in laid]).ids)
        scored += sum(len(one.sequence.scored) for one in laid)
    flops = 2 * (body * tokens + width * VOCABULARY * scored)
    memory = torch.cuda.max_memory_allocated() if torch.cuda.is_available() else 0
    return {
        "work": work.name,
        "tokens_per_second": tokens / taken,
        "share_of_peak": flops / taken / PEAK_FLOPS,
        "peak_memory_bytes": memory,
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mirror", type=Path, help="folder with the released files [env: DIVBENCH_MIRROR]")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--small", type=int, default=4, help="conTest-like sets")
    parser.add_argument("--large", type=int, default=1, help="OLMo-like sets")
    parser.add_argument("--shape", choices=sorted(SHAPES), default="small")
    parser.add_argument("--dtype", choices=["float32", "bfloat16", "float16"], default="float32")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--skip-naive", action="store_true", help="the engine's throughput alone")
    parser.add_argument("--json", action="store_true", help="one JSON document")
    given = parser.parse_args(arguments)
    model = random_model(given.shape, given.device, given.dtype)
    todo = works(mirror_folder(given.mirror), given.small, given.large)
    if given.skip_naive:
        rates = [throughput(model, work, given.shape) for work in todo]
        print(json.dumps(rates, indent=2))
        return
    found = [compare(model, work, given.rounds) for work in todo]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    if given.json:
        print(json.dumps({"timings": [asdict(each) for each in found], "peak_memory_mib": peak}, indent=2))
        return
    for each in found:
        print(f"{each.work}: {each.sets} sets, {each.tokens:,} tokens, {each.nodes:,} different")
        print(f"  largest difference {each.largest_difference:.1e} bits a response")
        rows = (("naive", each.naive_seconds), ("engine", each.equal_seconds), ("balanced", each.balanced_seconds))
        for name, seconds in rows:
            print(f"  {name:9} fastest {min(seconds):8.2f} s of {len(seconds)}")
        print(f"  ratio at equal orders {each.equal_ratio:.2f}, with one Latin square {each.balanced_ratio:.1f}")
    print(f"peak memory of the process {peak:,} MiB, the naive way's logits included")


if __name__ == "__main__":
    main()
