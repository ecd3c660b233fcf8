"""Results that D_Can's authors released for Qwen2.5-3B: mean curves of all sets of conTest, McDiv, nuggets and decTest.

They were computed with 50 uniform orders of the responses, in the completion format, in float16. The numbers have these
flaws: the last position of an order is scored in another context than in training (last-slot bias), orders are uniform
instead of balanced, and byte counts by position are rounded means. A set's curve has the mean bits at each position
over orders, so a_n is only known as a ratio of means; the paper's a_n is the mean of the orders' ratios, and the orders
were not released.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmark.analysis.metaeval.labelled import CONFIGS, Floats, Labelled
from benchmark.analysis.metaeval.scores import Scores
from benchmark.metrics.metric import Missing
from benchmark.metrics.surprisal import tail
from benchmark.scoring.inputs import Value
from datasets_build.download import Fetcher
from datasets_build.sources.source import File, Source
from divbench.core.errors import ConfigurationError, InputError

NAME = "qwen25_curves"  # of these results among a command's files of scores
ABOUT = "from the released results of Qwen2.5-3B"
SCENARIOS = "scenarios/scenario_metrics_v3_qwen3b_100perm.json"
_FOUND_IN = "results of the authors' repository (AMindToThink/icl-diversity)"
_STEMS = {  # by config and whether the split is the smaller one with human scores
    ("contest", False): "conTest/con_test_200_with_hds_{}",
    ("mcdiv", False): "McDiv/mcdiv_all_no_hds_{}",
    ("mcdiv_nuggets", False): "McDiv_nuggets/mcdiv_nuggets_no_hds_{}",
    ("mcdiv_nuggets", True): "McDiv_nuggets/mcdiv_nuggets_200_with_hds_{}",
    ("dectest", False): "decTest/dec_test_1000_no_hds_{}",
    ("dectest", True): "decTest/dec_test_200_with_hds_{}",
}
SOURCE = Source(
    name="results of Qwen2.5-3B",
    title="Surprisals of Qwen2.5-3B for the sets of Tevet & Berant and the scenarios",
    version="1.0.0",
    files=tuple(
        File(path, sha256, found_in=_FOUND_IN, optional=True)
        for sha256, path in map(str.split, Path(__file__).with_name("qwen25.sha256").read_text("utf-8").splitlines())
    ),
    licence="none stated",
    citation="",
    paper="",
    flaws=(),
    configs=(),
)


def path_of(task: str) -> str:
    """Return the path of a task's file, such as that of `contest/prompt_gen`."""
    config, _, split = task.partition("/")
    kind = split.removesuffix("_with_hds")
    return f"tevet/curves_qwen25/{_STEMS[config, kind != split].format(kind)}.icl_mean_curves.qwen25_completion_v3.json"


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
        values = {
            "retained_surprise": retained,
            "coherent_retained": coherence * retained,
            "d_can": coherence * curve[:, -1],
            "tail_d_can": coherence * tail(curve.T).mean(axis=0),
            "a_n": curve[:, -1],
            "coherence": coherence,
            "coherence_spread": self.rates.std(axis=1),
        }
        has_text = (self.sizes > 0).all(axis=1)
        return {name: np.where(has_text, column, np.nan) for name, column in values.items()}


def _ratio(bits: Floats, sizes: Floats) -> Floats:
    """Divide bits by bytes; NaN where there are no bytes, because one set has only blank responses."""
    return np.divide(bits, sizes, out=np.full_like(bits, np.nan), where=sizes > 0)


def read_mean_curves(path: Path, task: Labelled) -> MeanCurves:
    """Read a released file, and check that its rows belong to the sets of the whole task.

    One response has another length in bytes than in the released texts (decTest's prompt_gen: 41 instead of 38).
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


def curve_scores(tasks: Sequence[Labelled], mirror: Path | None = None) -> list[Scores]:
    """Return this package's metrics of surprisals under Qwen2.5-3B for whole tasks; other tasks are left out."""
    known = [task for task in tasks if "/" in task.name and task.name.partition("/")[0] in CONFIGS]
    if not known:
        raise ConfigurationError(f"{NAME} has no results for these tasks", f"name one of {', '.join(CONFIGS)}")
    fetch = Fetcher(SOURCE, mirror, network=False)
    columns: dict[str, dict[str, Value]] = {}
    for task in known:
        for name, values in read_mean_curves(fetch(path_of(task.name)), task).metrics.items():
            column = columns.setdefault(name, {})
            for set_id, value in zip(task.set_ids, values.tolist(), strict=True):
                column[set_id] = Missing("no text") if np.isnan(value) else value
    origin = f"{ABOUT}: last-slot bias, 50 uniform orders, float16, a_n a ratio of means"
    return [Scores(f"{NAME}:{name}", origin, values) for name, values in columns.items()]
