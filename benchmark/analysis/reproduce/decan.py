"""D_Can 2026 (arXiv:2606.01811): tables 2, 3, 4, 5, 7.

Numbers that the authors computed with Qwen2.5-3B are recomputed from their released results: mean curves for tables 2,
3 and 7 (metaeval/qwen25.py describes their limits), and surprisals of every order for Table 5. For Table 4, each
prompt's values can be read off their figures.
"""

import csv
import json
from collections.abc import Mapping

import numpy as np

from benchmark.analysis.metaeval.labelled import Floats
from benchmark.analysis.metaeval.qwen25 import ABOUT, SCENARIOS
from benchmark.analysis.reproduce.cells import PER_PROMPT_D, SCENARIOS_GPT2, Inputs, Ours, Place
from benchmark.analysis.reproduce.tevet import released, rho, rho_and_oca
from benchmark.metrics import surprisal
from benchmark.metrics.surprisal import Surprisals
from benchmark.scoring.estimate import bonferroni, cohens_dz, wilcoxon
from divbench.core.errors import InputError

TASKS = ("prompt_gen", "resp_gen", "story_gen")
CONFIGS = {"ConTest": "contest", "McDiv_nuggets": "mcdiv_nuggets", "McDiv": "mcdiv"}
_RELEASED = {
    "SentBERT": "sent_bert",
    "BERTsts": "bert_sts",
    "BERTScore": "bert_score",
    "distinct-n": "averaged_distinct_ngrams",
    "cos-sim": "averaged_cosine_similarity",
}
_RATIO = f"{ABOUT}: mean bits by mean bytes at the last place; the paper's mean of ratios needs each order's bits"
QWEN = {"C*a_n": _RATIO, "a_n": _RATIO, "C": ABOUT}  # rows under Qwen2.5-3B, and how they are computed


def content_test(inputs: Inputs) -> Ours:
    """Recompute Table 2: rho and OCA with the class of a set; the baselines are from the released columns."""
    ours: dict[Place, tuple[float, str]] = {}
    for dataset, config in CONFIGS.items():
        for name in TASKS:
            task, curves = inputs.labelled(f"{config}/{name}"), inputs.curves(f"{config}/{name}")
            about = "from the released column"
            rows = {row: (released(task, _RELEASED[row]), about) for row in ("SentBERT", "BERTsts", "distinct-n")}
            rows |= {row: (curves[row], about) for row, about in QWEN.items()}
            for row, (scores, about) in rows.items():
                for measure, value in rho_and_oca(scores, task.labels).items():
                    ours[f"{dataset} {row}", f"{name} {measure}"] = value, about
    return ours


def decoding_test(inputs: Inputs) -> Ours:
    """Recompute Table 3: rho with temperature. The set of blank responses is left out, as by the authors."""
    ours: dict[Place, tuple[float, str]] = {}
    for name in TASKS:
        whole, curves = inputs.labelled(f"dectest/{name}"), inputs.curves(f"dectest/{name}")
        has_text = np.array([any(text.strip() for text in texts) for texts in whole.responses])
        task = whole.rows(has_text)
        left_out = len(whole.set_ids) - len(task.set_ids)
        about = "from the released column" + (f", {left_out} blank set left out" if left_out else "")
        rows = {row: (released(task, column), about) for row, column in _RELEASED.items() if row != "BERTsts"}
        rows |= {row: (curves[row][has_text], about) for row, about in QWEN.items()}
        ours |= {(row, f"{name} rho"): (rho(scores, task.labels), about) for row, (scores, about) in rows.items()}
    return ours


PROMPT_SETS = {"AlpacaEval": "alpacaeval", "NoveltyBench curated": "nbcurated"}
STAGES = ("base", "sft", "dpo", "instruct")
EXPECTED = (("base", "sft"), ("sft", "dpo"), ("base", "instruct"))  # one-sided, corrected over the three
EXPLORED = ("dpo", "instruct")  # two-sided, not corrected
_PROMPTS = {"alpacaeval": 150, "nbcurated": 39}


def per_prompt(inputs: Inputs) -> dict[str, dict[str, dict[str, float]]]:
    """Read the length-matched D_Ca_n by prompt set, stage and prompt."""
    path = inputs.file(PER_PROMPT_D)
    values: dict[str, dict[str, dict[str, float]]] = {}
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if row["variant"] == "length_matched":
                by_stage = values.setdefault(row["prompt_set"], {stage: {} for stage in STAGES})
                by_stage[row["stage"]][row["prompt_id"]] = float(row["D_Can"])
    for prompt_set, count in _PROMPTS.items():
        prompts = {frozenset(by_prompt) for by_prompt in values.get(prompt_set, {}).values()}
        if [len(ids) for ids in prompts] != [count]:
            raise InputError(f"{path}: {prompt_set} does not have the same {count} prompts in each stage")
    return values


def stages(inputs: Inputs) -> Ours:
    """Recompute Table 4: D_Ca_n of OLMo's stages and their paired contrasts."""
    ours: dict[Place, tuple[float, str]] = {}
    for title, prompt_set in PROMPT_SETS.items():
        by_stage = per_prompt(inputs)[prompt_set]
        values = {stage: np.array([by_stage[stage][prompt] for prompt in sorted(by_stage["base"])]) for stage in STAGES}
        rows: dict[str, dict[str, float]] = {
            stage: {"mean": float(d.mean()), "std": float(d.std(ddof=1)), "n": len(d)} for stage, d in values.items()
        }
        raw = [_p(wilcoxon(values[a], values[b], "greater").p) for a, b in EXPECTED]
        tested = {f"{a}>{b}": (a, b, p) for (a, b), p in zip(EXPECTED, bonferroni(raw).tolist(), strict=True)}
        a, b = EXPLORED
        tested[f"{a}!={b}"] = a, b, _p(wilcoxon(values[a], values[b]).p)
        for name, (a, b, p) in tested.items():
            gaps = values[a] - values[b]
            rows[name] = {"difference": float(gaps.mean()), "d_z": cohens_dz(gaps), "p": p}
        for row, columns in rows.items():
            for column, value in columns.items():
                ours[f"{title} {row}", column] = value, "from the values of each prompt, read off the authors' figures"
    return ours


def _p(p: float | None) -> float:
    return float("nan") if p is None else p


_SCENARIOS = ("noise", "multi-incoherent", "multi-mode", "one-mode", "mixed")
_COLUMNS = {
    "a_1": surprisal.a_1,
    "a_n": surprisal.a_n,
    "C": surprisal.coherence,
    "D": surprisal.d_can,
    "E": surprisal.excess_entropy_rate,
    "C*E": surprisal.coherent_excess_rate,
    "sigma": surprisal.coherence_spread,
}


def scenarios(inputs: Inputs) -> Ours:
    """Recompute Table 5: the mean of each number over five prompts, from the released surprisals of every order."""
    ours: dict[Place, tuple[float, str]] = {}
    for model, path in (("GPT-2", SCENARIOS_GPT2), ("Qwen2.5-3B", SCENARIOS)):
        stored = json.loads(inputs.file(path).read_text(encoding="utf-8"))["scenarios"]
        for row in _SCENARIOS:
            name = "pure_noise" if row == "noise" else row.replace("-", "_")
            sets = [stored_surprisals(record) for record in stored[name]]
            for column, function in _COLUMNS.items():
                value = float(np.mean([function(surprisals) for surprisals in sets]))
                ours[row, f"{model} {column}"] = value, "from the released surprisals"
    return ours


def stored_surprisals(record: Mapping[str, list[list[float]]]) -> Surprisals:
    """Return the surprisals of a set as the authors released them: in every order that they read."""
    orders = np.array(record["permutation_orders"], np.int64)
    sizes = np.array(record["per_permutation_byte_counts"], np.int64)[0][np.argsort(orders[0])]
    bits = np.array(record["per_permutation_a_k_curves"], np.float64)
    return Surprisals(bits, orders, np.array(record["unconditional_total_bits"], np.float64), sizes)


def confound(inputs: Inputs) -> Ours:
    """Recompute Table 7: how surprising the first response is in sets of each class.

    The caption defines the gap as high minus low, but the printed numbers are low minus high, as are ours.
    """
    task = inputs.labelled("mcdiv_nuggets/story_gen_with_hds")
    curves = inputs.curves(task.name)
    rows: dict[str, tuple[Floats, str]] = {row: (curves[row], ABOUT) for row in ("a_1 bits/byte", "a_1 bits")}
    rows["response bytes"] = task.lengths, "from the texts"
    classes = {"high": task.labels == 1, "low": task.labels == 0}
    ours: dict[Place, tuple[float, str]] = {}
    for row, (values, about) in rows.items():
        high, low = (float(np.nanmean(values[of_class])) for of_class in classes.values())
        for column, value in (("high", high), ("low", low), ("gap", low - high)):
            ours[row, column] = value, about
    return ours | {("sets", name): (float(of_class.sum()), "from the labels") for name, of_class in classes.items()}
