"""Speed of the surprisal engine compared with the naive way: `python -m benchmark.perf.surprisal [--mirror DIR]`.

The naive way is that of the published code: one set at a time, its sequences padded into batches, no sharing, float32
logits of the whole vocabulary for every position, and a log-softmax over all of them. Both ways get the same model
(random weights, 152 thousand tokens) and the same token sequences, in turns in one process; their bits are compared
before any time is printed. *Equal orders* is the engine's gain at equal work; *balanced* uses Latin squares instead,
whose means are more precise.

`--work olmo-matched` and `--work mcdiv` read released sets, all 756 of OLMo cut to equal length or all 9,741 of McDiv,
conTest and the nuggets, or `--sets N` of them, in the uniform orders of the papers and in balanced ones. They report
tokens/s (of distinct prefixes: shared prefixes of a set count once, equal sets are read once), the share of the
machine's limit, seconds and peak memory, and the naive way's rate on some of the sets.
On a GPU: `--device cuda --dtype bfloat16 --shape qwen2.5-3b --work mcdiv`.
"""

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
from benchmark.perf.script import option_parser, peak_memory, print_document, timed, timed_in_turns, usable_device
from benchmark.perf.shapes import SHAPES, counts, laid_out, limit_of, operations, random_model
from benchmark.surprisal.engine import OrderPlan, ResponseSet, SetSurprisals, read_sets
from benchmark.surprisal.prompt_layout import PAPER_COMPLETION, PAPER_INSTRUCT, Layout, TokenisedText
from datasets_build.load import load_split
from divbench.core.errors import ConfigurationError

RELEASED = {
    "olmo-matched": (("olmo_stages", ("alpacaeval_length_matched", "nbcurated_length_matched"), "prompt"),),
    "mcdiv": tuple(
        (name, ("story_gen", "resp_gen", "prompt_gen"), "context") for name in ("mcdiv", "contest", "mcdiv_nuggets")
    ),
}


@dataclass(frozen=True, slots=True)
class Work:
    """Sets, with the orders of the published code and of this package."""

    name: str  # name in the report
    sets: list[ResponseSet]  # sets to read
    layout: Layout
    uniform: int

    @property
    def plans(self) -> tuple[tuple[Layout, OrderPlan], ...]:
        """Layout and orders as published, and the defaults of this package."""
        return (
            (self.layout, OrderPlan("uniform", self.uniform)),
            (Layout(self.layout.format), OrderPlan("balanced", 1)),
        )


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
        rows: list[dict[str, Any]] = load_split("contest", "prompt_gen", mirror=mirror).to_list()
        contest = [ResponseSet(row["context"], tuple(row["responses"])) for row in rows[:small]]
        rows = load_split("olmo_stages", "alpacaeval", mirror=mirror).to_list()
        of_stage = [row for row in rows if row["stage"] == "sft"]
        olmo = [ResponseSet(row["prompt"], tuple(row["responses"])) for row in of_stage[:large]]
    return [
        Work("conTest-like: n = 5, completion, 50 uniform orders", contest, PAPER_COMPLETION, 50),
        Work("OLMo-like: n = 10, instruct, 25 uniform orders", olmo, PAPER_INSTRUCT, 25),
    ]


def released(name: str, mirror: Path | None, sets: int | None) -> Work:
    """Load the sets of a published study, or a number of evenly spaced ones.

    Raises:
        ConfigurationError: There is no folder with the released files.
    """
    if mirror is None:
        raise ConfigurationError("these are released sets", "name the folder: --mirror or DIVBENCH_MIRROR")
    found: list[ResponseSet] = []
    for dataset, splits, prompt in RELEASED[name]:
        for split in splits:
            rows: list[dict[str, Any]] = load_split(dataset, split, mirror=mirror).to_list()
            found += [ResponseSet(row[prompt], tuple(row["responses"])) for row in rows]
    if sets is not None and sets < len(found):
        found = [found[i] for i in np.linspace(0, len(found), sets, endpoint=False).astype(int).tolist()]
    if name == "mcdiv":
        return Work("McDiv, conTest and nuggets: n = 5, completion", found, PAPER_COMPLETION, 50)
    return Work("OLMo, length-matched: n = 10, instruct", found, PAPER_INSTRUCT, 25)


Floats = NDArray[np.float64]
NAIVE_BATCH = {"instruct": 8, "completion": 16}  # as in the published code for OLMo's sets and McDiv's
TOLERANCE = 1e-3  # bits per response


def naive(model: HFCausalLM, work: Work, laid: list[list[TokenisedText]]) -> list[list[Floats]]:
    """Compute the bits of the scored tokens of each set and sequence in the naive way."""
    import torch

    device = model.model.device
    made = []
    for of_set in laid:
        size = NAIVE_BATCH[work.layout.format]
        found: list[Floats] = []
        for start in range(0, len(of_set), size):
            batch = [each.sequence for each in of_set[start : start + size]]
            longest = max(len(each.ids) for each in batch)
            ids = torch.from_numpy(np.stack([np.pad(each.ids, (0, longest - len(each.ids))) for each in batch]))
            mask = torch.from_numpy(np.stack([np.arange(longest) < len(each.ids) for each in batch]).astype(np.int64))
            with torch.inference_mode():
                given = {"input_ids": ids.to(device), "attention_mask": mask.to(device)}
                logits = model.model(**given, use_cache=False).logits
                chances = torch.log_softmax(logits.float(), dim=-1)
                del logits
            for row, each in zip(chances, batch, strict=True):
                places = (torch.from_numpy(x).to(device) for x in (each.scored - 1, each.ids[each.scored]))
                found.append(-row[tuple(places)].double().cpu().numpy() / math.log(2))
        made.append(found)
    return made


def compare(model: HFCausalLM, work: Work, rounds: int) -> dict[str, Any]:
    """Time the naive way and the engine in turns; return seconds per round, and ratios of the fastest rounds.

    Raises:
        ValueError: Their bits differ.
    """
    (layout, uniform), (exact, balanced) = work.plans
    laid = laid_out(model, work.sets, layout, uniform)
    sequences = [[each.sequence for each in of_set] for of_set in laid]
    ways: dict[str, Callable[[], Any]] = {
        "naive": partial(naive, model, work, laid),
        "equal": partial(read_sets, work.sets, model, layout, uniform),
        "balanced": partial(read_sets, work.sets, model, exact, balanced),
    }
    seconds, read = timed_in_turns(ways, rounds)
    largest = max(_difference(laid, *each) for each in zip(read["naive"], read["equal"], strict=True))
    _check(largest)
    fastest = {name: min(each) for name, each in seconds.items()}
    return {
        "work": work.name,
        "sets": len(work.sets),
        "tokens": sum(len(s.ids) for of_set in sequences for s in of_set),
        "nodes": sum(len(build_trie([s.ids for s in of_set]).ids) for of_set in sequences),
        "largest_difference": largest,  # in bits of a response, at equal orders
        **{f"{name}_seconds": each for name, each in seconds.items()},
        **{f"{name}_ratio": fastest["naive"] / fastest[name] for name in ("equal", "balanced")},
    }


def _check(largest: float) -> None:
    if not largest <= TOLERANCE:
        raise ValueError(f"the naive way and the engine differ by {largest} bits")


def _difference(
    laid: list[list[TokenisedText]], expected: list[list[Floats]], found: Sequence[SetSurprisals | Missing]
) -> float:
    """Return the largest difference between the bits of any response in any order."""
    largest = 0.0
    for of_set, bits, read in zip(laid, expected, found, strict=True):
        if isinstance(read, Missing):
            raise TypeError(f"a set was not read: {read.reason}")
        s = read.surprisals
        ours = [*s.bits, *s.unconditional[:, None]]
        for each, theirs, mine in zip(of_set, bits, ours, strict=True):
            slots = np.bincount(each.positions, weights=theirs, minlength=len(mine))
            largest = max(largest, float(np.abs(slots - mine).max()))
    return largest


def throughput(model: HFCausalLM, work: Work, shape: str, rounds: int, naive_sets: int) -> list[dict[str, Any]]:
    """Measure the engine on all sets in uniform and in balanced orders, with the naive way on some in the same run.

    Raises:
        ValueError: Their bits differ, where the model is float32.
    """
    import torch

    on_gpu = model.model.device.type == "cuda"
    limit, _ = limit_of(model.model.device.type)
    measured: list[dict[str, Any]] = []
    for layout, plan in work.plans:
        different = list(dict.fromkeys(work.sets))
        tokens, nodes, scored = np.sum([counts(model, each, layout, plan) for each in different], axis=0).tolist()
        read_sets(different[:1], model, layout, plan)  # warm up
        if on_gpu:
            torch.cuda.reset_peak_memory_stats()
        read = partial(read_sets, work.sets, model, layout, plan)
        seconds = min(timed(read)[0] for _ in range(rounds))
        measured.append(
            {
                "work": work.name,
                "orders": str(plan),
                "sets": len(work.sets),
                "different": len(different),
                "tokens": tokens,  # of all sequences of the different sets
                "nodes": nodes,  # the same, with those of shared prefixes counted once per set
                "seconds": seconds,  # of the fastest round, including tokenising
                "nodes_per_second": nodes / seconds,
                "share_of_limit": operations(SHAPES[shape], nodes, scored) / seconds / limit,
                "peak_memory_bytes": torch.cuda.max_memory_allocated() if on_gpu else peak_memory(),
            }
        )
    # The naive way comes last, because its logits would be the process's peak.
    rate, largest = _naive_rate(model, work, naive_sets) if naive_sets else (None, None)
    unshared = measured[0]["tokens"]  # in uniform orders
    for each in measured:
        each["naive_tokens_per_second"] = rate
        each["ratio"] = unshared / rate / each["seconds"] if rate else None
        each["largest_difference"] = largest if each is measured[0] else None
    return measured


def _naive_rate(model: HFCausalLM, work: Work, sets: int) -> tuple[float, float]:
    """Measure the naive way's tokens per second on some sets, and the largest difference from the engine's bits."""
    import torch

    layout, uniform = work.plans[0]
    some = work.sets[:: max(1, len(work.sets) // sets)][:sets]
    laid = laid_out(model, some, layout, uniform)
    naive(model, work, [laid[0][:2]])  # warm up
    taken, expected = timed(partial(naive, model, work, laid))
    largest = _difference(laid, expected, read_sets(some, model, layout, uniform))
    if model.model.dtype == torch.float32:
        _check(largest)
    return sum(len(each.sequence.ids) for of_set in laid for each in of_set) / taken, largest


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print one JSON document."""
    parser = option_parser(__doc__, mirror=True)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--small", type=int, default=4, help="Number of conTest-like sets.")
    parser.add_argument("--large", type=int, default=1, help="Number of OLMo-like sets.")
    parser.add_argument(
        "--work", choices=sorted(RELEASED), help="Released sets to measure the engine's throughput on instead."
    )
    parser.add_argument("--sets", type=int, help="Number of released sets, evenly spaced; default: all.")
    parser.add_argument(
        "--naive-sets", type=int, default=4, help="Number of released sets that the naive way reads too; 0: none."
    )
    parser.add_argument("--shape", choices=sorted(SHAPES), default="small")
    parser.add_argument("--dtype", choices=["float32", "bfloat16", "float16"], default="float32")
    parser.add_argument("--device", type=usable_device, default="cpu")
    given = parser.parse_args(arguments)
    model = random_model(given.shape, given.device, given.dtype)
    document: dict[str, Any] = {"shape": given.shape, "dtype": given.dtype, "device": given.device}
    if given.work:
        work = released(given.work, given.mirror, given.sets)
        limit, known = limit_of(given.device)
        rates = throughput(model, work, given.shape, given.rounds, given.naive_sets)
        document |= {"limit_flops": limit, "limit_known": known, "throughput": rates}
    else:
        found = [compare(model, work, given.rounds) for work in works(given.mirror, given.small, given.large)]
        document |= {"timings": found}
    document["peak_memory_mib"] = peak_memory() // 2**20
    print_document(document)


if __name__ == "__main__":
    main()
