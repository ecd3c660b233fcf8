"""The effects of D_Can's defects: `python -m benchmark.perf.d_can_costs --mirror DIR --figures docs`.

Three defects, measured on the data released by D_Can's authors and on the bundled model:

* the last position: if a tokeniser merges a full stop with the newlines after it, the last response has another last
  token than all others. Measured on the same responses at the last position and the one before;
* uniform orders: the response in the last position is random. Errors and rankings from resampled released orders;
* cut responses: bits/byte depend on length. The same response sets, cut to fewer and fewer bytes.

Prints one JSON document; with `--figures` also draws two figures, which needs matplotlib (in the extra *dev*).
"""

import csv
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import spearmanr

from benchmark.analysis.metaeval.labelled import BINARY_TASKS, load_labelled
from benchmark.analysis.reproduce.decan import stored_surprisals
from benchmark.analysis.reproduce.qwen25 import MeanCurves, path_of, read_mean_curves
from benchmark.metrics.coherence import coherence
from benchmark.metrics.metric import Missing
from benchmark.metrics.surprisal import d_can
from benchmark.metrics.surprisal_curve import Surprisals, curve_rate
from benchmark.models.bundled_lm.spec import OFFLINE_LM
from benchmark.models.hf_lm import load_causal_lm
from benchmark.perf.script import option_parser, print_document
from benchmark.surprisal.engine import OrderPlan, ResponseSet, read_sets
from benchmark.surprisal.prompt_layout import PAPER_INSTRUCT, Layout
from benchmark.surprisal.response_orders import OrderDesign, order_variance
from datasets_build.load import load_split
from datasets_build.sources.olmo import STAGES, cut, shortest_of
from divbench.core.errors import InputError

Floats = NDArray[np.float64]
RELEASED = {"GPT-2": "gpt2", "Qwen2.5-3B": "qwen3b"}  # only Qwen's tokeniser merges a full stop with newlines after it

COUNTS = (1, 3, 10, 25, 50)  # of uniform orders
CUTS = (25, 50, 100, 200)  # bytes
DRAWS = 2000  # of orders
ENDS = (".", "!", "?")
Scenarios = Mapping[str, Sequence[Surprisals]]


def released_scenarios(mirror: Path, model: str) -> Scenarios:
    """Read the released sets of the five scenarios: ten responses in 100 uniform orders."""
    path = mirror / "scenarios" / f"scenario_metrics_v3_{model}_100perm.json"
    scenarios = json.loads(path.read_text(encoding="utf-8"))["scenarios"]
    return {name: [stored_surprisals(record) for record in records] for name, records in scenarios.items()}


def rates_by_response(s: Surprisals) -> Floats:
    """Compute mean bits/byte of each response at each position, [responses, positions]; NaN if it was never there."""
    n = len(s.byte_counts)
    rates = s.rates
    made = np.full((n, n), np.nan)
    for response in range(n):
        for position in range(n):
            there = s.orders[:, position] == response
            if there.any():
                made[response, position] = rates[there, position].mean()
    return made


def balanced_curve(s: Surprisals) -> Floats:
    """Compute the a_k curve in bits/byte with equal weights of the responses, as with balanced orders, [n]."""
    return np.asarray(np.nanmean(rates_by_response(s), axis=0))


def last_position(model: str, scenario: str, sets: Sequence[Surprisals]) -> dict[str, Any]:
    """Compare the same responses at the last position and the one before.

    Returns:
        Also `rise`, the difference in bits/byte, mean over sets, and `share`, the rise divided by a_n.
    """
    tables = [rates_by_response(s) for s in sets]
    rise = float(np.mean([np.nanmean(t[:, -1] - t[:, -2]) for t in tables]))
    end = float(np.mean([np.nanmean(t[:, -1]) for t in tables]))
    return {"model": model, "scenario": scenario, "rise": rise, "share": rise / end}


def last_position_by_ending(mirror: Path) -> list[dict[str, Any]]:
    """Compute the rise of the released mean curves at the last position, in bits, by the share of . ! ? endings."""
    rises, shares = [], []
    for task in (*BINARY_TASKS[3:6], *(f"dectest/{split}" for split in ("prompt_gen", "resp_gen", "story_gen"))):
        labelled, curves = _curves(mirror, task)
        scored = (curves.sizes > 0).all(axis=1)  # one set has only blank responses
        rises.append(np.where(scored, curves.bits[:, -1] - curves.bits[:, -2], np.nan))
        shares.append([np.mean([text.strip().endswith(ENDS) for text in texts]) for texts in labelled])
    rise, share = np.concatenate(rises), np.concatenate([np.array(each, np.float64) for each in shares])
    made = []
    for name, chosen in (("none", share == 0), ("some", (share > 0) & (share < 1)), ("all", share == 1)):
        own = rise[chosen & np.isfinite(rise)]
        error = float(own.std(ddof=1) / np.sqrt(len(own)))
        made.append({"end in . ! ?": name, "sets": len(own), "rise in bits": float(own.mean()), "error": error})
    return made


def agreement_by_position(mirror: Path) -> dict[str, float]:
    """Compute the mean Spearman correlation with the nine tasks' labels of C times a_n, and of C times a_(n-1)."""
    found: dict[str, list[float]] = {"C * a_n": [], "C * a_(n-1)": []}
    for task in BINARY_TASKS:
        labels = load_labelled(task, mirror=mirror).labels
        _, curves = _curves(mirror, task)
        for name, position in (("C * a_n", -1), ("C * a_(n-1)", -2)):
            rate = curves.bits[:, position] / curves.sizes[:, position]
            score = np.exp2(-curves.rates.mean(axis=1)) * rate
            there = np.isfinite(score)
            found[name].append(float(spearmanr(score[there], labels[there]).statistic))
    return {name: float(np.mean(values)) for name, values in found.items()}


def _curves(mirror: Path, task: str) -> tuple[Sequence[Sequence[str]], MeanCurves]:
    labelled = load_labelled(task, mirror=mirror)
    return labelled.responses, read_mean_curves(mirror / path_of(task), labelled)


def uniform_orders(sets: Scenarios) -> list[dict[str, Any]]:
    """Compute the spread of D_Can with uniform orders, and how often all five scenarios are ranked correctly.

    As in the release, all sets share the same orders. The correct ranking is that of the balanced values.
    """
    rng = np.random.default_rng(0)
    truth = np.array([np.mean([coherence(s) * balanced_curve(s)[-1] for s in own]) for own in sets.values()])
    ends = np.array(
        [
            np.mean([coherence(s) * s.bits[:, -1] / s.byte_counts[s.orders[:, -1]] for s in own], axis=0)
            for own in sets.values()
        ]
    )  # [scenarios, orders]
    made = []
    for count in COUNTS:
        drawn = ends[:, rng.integers(0, ends.shape[1], (DRAWS, count))].mean(axis=2)  # [scenarios, draws]
        right = (np.argsort(drawn, axis=0) == np.argsort(truth)[:, None]).all(axis=0).mean()
        errors = dict(zip(sets, (drawn.std(axis=1) / truth).tolist(), strict=True))
        made.append({"orders": count, "ranked right": float(right), "relative error": errors})
    return made


def balanced_orders(sets: Scenarios) -> dict[str, float]:
    """Compute the relative standard error of D_Can of each scenario with one Latin square of ten orders.

    It is based on the variance between released orders with the same response last (`order_variance`). Each set draws
    its own square, so the errors of a scenario's sets are independent.
    """
    made = {}
    for name, own in sets.items():
        designs = [OrderDesign("released", s.orders, np.arange(len(s.orders))) for s in own]
        rates = [s.rates for s in own]
        variances = [order_variance(design, rate)[-1] for design, rate in zip(designs, rates, strict=True)]
        squares = [(coherence(s) ** 2) * v / len(s.byte_counts) for s, v in zip(own, variances, strict=True)]
        value = np.mean([coherence(s) * balanced_curve(s)[-1] for s in own])
        made[name] = float(np.sqrt(np.sum(squares)) / len(own) / value)
    return made


def released_values(sets: Scenarios) -> list[dict[str, Any]]:
    """Compute D_Can of each scenario from the 100 released orders, and with each response last equally often."""
    made = []
    for name, own in sets.items():
        as_released = float(np.mean([d_can(s) for s in own]))
        even = float(np.mean([coherence(s) * balanced_curve(s)[-1] for s in own]))
        made.append({"scenario": name, "100 uniform orders": as_released, "balanced": even})
    return made


def length_matching(mirror: Path) -> list[dict[str, Any]]:
    """Average the published D_Can of OLMo's stages, raw and length-matched, on kept and on dropped prompts."""
    values: dict[tuple[str, str, str], dict[str, float]] = {}
    with (mirror / "olmo" / "reference" / "per_prompt_D.csv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            own = values.setdefault((row["prompt_set"], row["variant"], row["stage"]), {})
            own[row["prompt_id"]] = float(row["D_Can"])
    made = []
    for prompts in ("alpacaeval", "nbcurated"):
        for stage in STAGES:
            raw, matched = values[prompts, "raw", stage], values[prompts, "length_matched", stage]
            both, dropped = sorted(matched), sorted(set(raw) - set(matched))
            made.append(
                {
                    "prompts": prompts,
                    "stage": stage,
                    "kept": len(both),
                    "length-matched": float(np.mean([matched[i] for i in both])),
                    "raw": float(np.mean([raw[i] for i in both])),
                    "raw, dropped prompts": float(np.mean([raw[i] for i in dropped])),
                }
            )
    return made


def bundled_last_position(mirror: Path) -> list[dict[str, Any]]:
    """Measure the last position under the bundled model, on our own scenarios, with the paper's boundaries and ours."""
    rows = load_split("scenarios", "scenarios", mirror=mirror).to_list()
    made = []
    for name, layout in (("bundled, paper", PAPER_INSTRUCT), ("bundled, exact", Layout())):
        sets = [ResponseSet(row["context"], tuple(row["responses"])) for row in rows]
        found = _read(sets, layout, OrderPlan())
        families = list(dict.fromkeys(row["family"] for row in rows))
        for family in families:
            own = [s for s, row in zip(found, rows, strict=True) if row["family"] == family]
            made.append(last_position(name, family, own))
    return made


def bundled_cuts(mirror: Path, prompts: int) -> list[dict[str, Any]]:
    """Compute D_Can, a_n and C of OLMo's stages under the bundled model, with the same responses cut to fewer bytes.

    Args:
        prompts: Number of prompts, evenly spaced among those whose responses are all as long as the longest cut.
    """
    rows = load_split("olmo_stages", "nbcurated", mirror=mirror).to_list()
    rows += load_split("olmo_stages", "alpacaeval", mirror=mirror).to_list()
    long = sorted(name for name, length in shortest_of(rows).items() if length >= max(CUTS))
    chosen = set(long[:: max(1, len(long) // prompts)][:prompts])
    made = []
    for stage in STAGES:
        own = [row for row in rows if row["stage"] == stage and row["prompt_id"] in chosen]
        for length in CUTS:
            sets = [ResponseSet(row["prompt"], tuple(cut(text, length) for text in row["responses"])) for row in own]
            found = _read(sets, Layout(), OrderPlan("endpoint"))
            values = {name: float(np.mean([fn(s) for s in found])) for name, fn in (("D", d_can), ("C", coherence))}
            a_n = float(np.mean([curve_rate(s)[-1] for s in found]))
            made.append({"stage": stage, "bytes": length, "prompts": len(own), **values, "a_n": a_n})
    return made


def _read(sets: Sequence[ResponseSet], layout: Layout, plan: OrderPlan) -> list[Surprisals]:
    made = []
    for given, found in zip(sets, read_sets(sets, load_causal_lm(OFFLINE_LM), layout, plan), strict=True):
        if isinstance(found, Missing):
            raise InputError(f"a set of {given.prompt[:60]!r} cannot be read: {found.reason}")
        made.append(found.surprisals)
    return made


def measure(mirror: Path, *, released: bool, prompts: int) -> dict[str, Any]:
    """Measure everything; see the module's docstring."""
    scenarios = {name: released_scenarios(mirror, key) for name, key in RELEASED.items()}
    positions = [last_position(name, s, own) for name, sets in scenarios.items() for s, own in sets.items()]
    positions += [] if released else bundled_last_position(mirror)
    return {
        "last_position": positions,
        "last_position_by_ending": last_position_by_ending(mirror),
        "agreement_by_position": agreement_by_position(mirror),
        "curves": {
            name: {s: np.mean([balanced_curve(each) for each in own], axis=0).tolist() for s, own in sets.items()}
            for name, sets in scenarios.items()
        },
        "orders": {name: uniform_orders(sets) for name, sets in scenarios.items()},
        "balanced": {name: balanced_orders(sets) for name, sets in scenarios.items()},
        "values": {name: released_values(sets) for name, sets in scenarios.items()},
        "length_matching": length_matching(mirror),
        "cuts": [] if released else bundled_cuts(mirror, prompts),
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print one JSON document, and draw the figures if asked to."""
    parser = option_parser(__doc__, mirror=True)
    parser.add_argument("--figures", type=Path, help="Folder for d_can_last_position.png and d_can_orders.png.")
    parser.add_argument("--released", action="store_true", help="Released numbers only, without the bundled model.")
    parser.add_argument("--prompts", type=int, default=8, help="Number of prompts with cut responses.")
    given = parser.parse_args(arguments)
    if given.mirror is None:
        parser.error("released files are needed: give --mirror")
    document = measure(given.mirror, released=given.released, prompts=given.prompts)
    print_document(document)
    if given.figures is not None:
        from benchmark.perf.d_can_figures import draw

        draw(document, given.figures)


if __name__ == "__main__":
    main()
