"""Results that D_Can's authors released for Qwen2.5-3B: mean curves of all sets of conTest, McDiv, nuggets and decTest.

They were computed with 50 uniform orders of the responses, in the completion format, in float16. The numbers have these
flaws: the last position of an order is scored in another context than in training (last-slot bias), orders are uniform
instead of balanced, and byte counts by position are rounded means. A set's curve has the mean bits at each position
over orders, so a_n is only known as a ratio of means; the paper's a_n is the mean of the orders' ratios, and the orders
were not released.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmark.analysis.metaeval.labelled import Labelled
from benchmark.metrics.surprisal import tail
from datasets_build.sources.source import File
from divbench.core.errors import InputError

Floats = NDArray[np.float64]
ABOUT = "from the released results of Qwen2.5-3B"
RATIO = f"{ABOUT}: mean bits by mean bytes at the last place; the paper's mean of ratios needs each order's bits"
SCENARIOS = "scenarios/scenario_metrics_v3_qwen3b_100perm.json"
_FOUND_IN = "results of the authors' repository (AMindToThink/icl-diversity)"
# By config and whether the split is the smaller one with human scores.
_STEMS = {
    ("contest", False): "conTest/con_test_200_with_hds_{}",
    ("mcdiv", False): "McDiv/mcdiv_all_no_hds_{}",
    ("mcdiv_nuggets", False): "McDiv_nuggets/mcdiv_nuggets_no_hds_{}",
    ("mcdiv_nuggets", True): "McDiv_nuggets/mcdiv_nuggets_200_with_hds_{}",
    ("dectest", False): "decTest/dec_test_1000_no_hds_{}",
    ("dectest", True): "decTest/dec_test_200_with_hds_{}",
}


def released_files() -> tuple[File, ...]:
    """List the released files with their digests."""
    listed = resources.files("benchmark.analysis.reproduce") / "published" / "qwen25.sha256"
    pairs = (line.split() for line in listed.read_text("utf-8").splitlines())
    return tuple(File(path, sha256, found_in=_FOUND_IN, optional=True) for sha256, path in pairs)


def path_of(task: str) -> str:
    """Return the path of a task's file, such as that of `contest/prompt_gen`."""
    config, _, split = task.partition("/")
    kind = split.removesuffix("_with_hds")
    stem = _STEMS[config, kind != split].format(kind)
    return f"tevet/curves_qwen25/{stem}.icl_mean_curves.qwen25_completion_v3.json"


@dataclass(frozen=True, slots=True)
class MeanCurves:
    """The released numbers of a task's sets."""

    bits: Floats  # mean bits of the response at each position, over the orders, [sets, responses]
    sizes: Floats  # mean bytes at each position, rounded to whole bytes, [sets, responses]
    rates: Floats  # bits per byte of each response by itself, [sets, responses]
    alone: Floats  # bits of each response by itself, [sets, responses]

    @property
    def columns(self) -> Mapping[str, Floats]:
        """Rows of the paper's tables, each [sets]: C is exact, a_n and C*a_n are ratios of means."""
        coherence = np.exp2(-self.rates.mean(axis=1))
        curve = _ratio(self.bits, self.sizes)
        first = {"a_1 bits/byte": curve[:, 0], "a_1 bits": self.bits[:, 0]}
        return {"C": coherence, "a_n": curve[:, -1], "C*a_n": coherence * curve[:, -1]} | first

    @property
    def metrics(self) -> Mapping[str, Floats]:
        """This package's metrics of surprisals by id, each [sets]; NaN for a set of blank responses."""
        coherence, curve = np.exp2(-self.rates.mean(axis=1)), _ratio(self.bits, self.sizes)
        alone = self.alone.mean(axis=1)
        retained = np.divide(self.bits[:, 1:].mean(axis=1), alone, out=np.full_like(alone, np.nan), where=alone > 0)
        found = {
            "retained_surprise": retained,
            "coherent_retained": coherence * retained,
            "d_can": coherence * curve[:, -1],
            "tail_d_can": coherence * tail(curve.T).mean(axis=0),
            "a_n": curve[:, -1],
            "coherence": coherence,
            "coherence_spread": self.rates.std(axis=1),
        }
        there = (self.sizes > 0).all(axis=1)
        return {name: np.where(there, values, np.nan) for name, values in found.items()}


def _ratio(bits: Floats, sizes: Floats) -> Floats:
    """Divide bits by bytes; NaN where there are no bytes, because one set has only blank responses."""
    return np.divide(bits, sizes, out=np.full_like(bits, np.nan), where=sizes > 0)


def read_mean_curves(path: Path, task: Labelled) -> MeanCurves:
    """Read a released file, and check that its rows belong to the task.

    Args:
        path: File of `path_of(task.name)`.
        task: All sets of the task, in the order of the released texts.

    Raises:
        InputError: It has another number of sets, or the length in bytes of more than one response differs from the
            released texts. (One does, in decTest's prompt_gen: 41 instead of 38.)
    """
    records = list(json.loads(path.read_text(encoding="utf-8")).values())
    sizes = np.array([[len(text.encode()) for text in texts] for texts in task.responses], np.float64)
    if len(records) != len(sizes):
        raise InputError(f"{path}: {len(records)} rows for {len(sizes)} sets")
    fields = ("a_k_curve", "a_k_byte_counts", "unconditional_total_bits", "unconditional_surprises")
    bits, counts, alone, rates = (np.array([record[name] for record in records], np.float64) for name in fields)
    others = np.argwhere(np.rint(np.nan_to_num(_ratio(alone, rates))) != sizes)
    if len(others) > 1:
        first = others[0][0] + 1
        raise InputError(f"{path}: {len(others)} responses of other lengths than the texts, the first in row {first}")
    return MeanCurves(bits, counts, rates, alone)
