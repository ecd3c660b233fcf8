"""D_Can 2026 (arXiv:2606.01811): tables 2, 3, 4, 5, 7.

Numbers that the authors computed with Qwen2.5-3B are recomputed from their released results: mean curves for tables 2,
3 and 7 (qwen25.py describes their limits), and surprisals of every order for Table 5. For Table 4, each prompt's values
can be read off their figures.
"""

import csv
import json
from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

from benchmark.analysis.metaeval.labelled import Labelled
from benchmark.analysis.reproduce.bundled import surprisal_columns
from benchmark.analysis.reproduce.cells import Found, Made, Place, cannot, needs, recomputed
from benchmark.analysis.reproduce.inputs import PER_PROMPT_D, SCENARIOS_GPT2, Inputs
from benchmark.analysis.reproduce.measures import MEASURES, Floats, both, rho
from benchmark.analysis.reproduce.qwen25 import ABOUT, RATIO
from benchmark.analysis.reproduce.qwen25 import SCENARIOS as QWEN_SCENARIOS
from benchmark.metrics import surprisal
from benchmark.metrics.surprisal import Surprisals, curve_bits
from benchmark.scoring.estimate import bonferroni, cohens_dz, wilcoxon
from benchmark.scoring.profiles import QWEN_25_3B
from divbench.core.errors import InputError

TASKS = ("prompt_gen", "resp_gen", "story_gen")
CONFIGS = {"ConTest": "contest", "McDiv_nuggets": "mcdiv_nuggets", "McDiv": "mcdiv"}
OURS = {"C*a_n": surprisal.d_can, "a_n": surprisal.a_n, "C": surprisal.coherence}
MODEL = f"{QWEN_25_3B.name}, 50 uniform orders, completion"


def _surprisal_scores(task: Labelled, inputs: Inputs) -> dict[str, Floats]:
    """Compute scores by row, each [sets], under the bundled model; empty if it is not used."""
    reader = inputs.reader()
    return {} if reader is None else surprisal_columns(reader, task, OURS, inputs.progress)


def _of_bundled(scores: Floats, labels: Floats) -> Mapping[str, float]:
    there = np.isfinite(scores)
    return both(scores[there], labels[there])


def _with_qwen(row: str, values: Floats | None, measure: Callable[[Floats], float], bundled: float | None) -> Found:
    """Return a cell from the released numbers [sets] of a row; without them, a cell that names the model it needs."""
    if values is None:
        return needs(MODEL, bundled)
    return recomputed(measure(values), RATIO if row in {"a_n", "C*a_n"} else ABOUT, bundled)


def content_test(inputs: Inputs) -> Made:
    """Recompute Table 2: rho and OCA with the class of a set; the baselines are from the released columns."""
    made: dict[Place, Found] = {}
    for dataset, config in CONFIGS.items():
        for name in TASKS:
            task = inputs.labelled(f"{config}/{name}")
            found: dict[str, Mapping[str, Found]] = {}
            for row, column in {"SentBERT": "sent_bert", "BERTsts": "bert_sts"}.items():
                found[row] = _cells(task.released.get(column), task.labels)
            found["distinct-n"] = _cells(task.released.get("averaged_distinct_ngrams"), task.labels)
            bundled = {row: _of_bundled(scores, task.labels) for row, scores in _surprisal_scores(task, inputs).items()}
            released = inputs.qwen25(task.name)
            for row in OURS:
                values = None if released is None else released.columns[row]
                found[row] = {
                    each: _with_qwen(row, values, partial(_measured, task.labels, each), bundled.get(row, {}).get(each))
                    for each in MEASURES
                }
            made |= {
                (f"{dataset} {row}", f"{name} {measure}"): cell
                for row, cells in found.items()
                for measure, cell in cells.items()
            }
    return made


def _measured(labels: Floats, measure: str, scores: Floats) -> float:
    return both(scores, labels)[measure]


def _cells(scores: Floats | None, labels: Floats) -> dict[str, Found]:
    if scores is None:
        return dict.fromkeys(MEASURES, cannot("the released column is not in the mirror"))
    return {name: recomputed(value, "from the released column") for name, value in both(scores, labels).items()}


def decoding_test(inputs: Inputs) -> Made:
    """Recompute Table 3: rho with temperature. The set of blank responses is left out, as by the authors."""
    made: dict[Place, Found] = {}
    released = {"distinct-n": "averaged_distinct_ngrams", "cos-sim": "averaged_cosine_similarity"}
    released |= {"BERTScore": "bert_score", "SentBERT": "sent_bert"}
    for name in TASKS:
        whole = inputs.labelled(f"dectest/{name}")
        there = np.array([any(text.strip() for text in texts) for texts in whole.responses])
        task, qwen = whole.rows(there), inputs.qwen25(whole.name)
        left_out = len(whole.set_ids) - len(task.set_ids)
        about = "from the released column" + (f", {left_out} blank set left out" if left_out else "")
        for row, column in released.items():
            cell = recomputed(rho(task.released[column], task.labels), about) if column in task.released else None
            made[row, f"{name} rho"] = cell or cannot("the released column is not in the mirror")
        bundled = _surprisal_scores(task, inputs)
        for row in OURS:
            scores = bundled.get(row)
            ours = None if scores is None else _of_bundled(scores, task.labels)["rho"]
            values = None if qwen is None else qwen.columns[row][there]
            made[row, f"{name} rho"] = _with_qwen(row, values, partial(_measured, task.labels, "rho"), ours)
    return made


PROMPT_SETS = {"AlpacaEval": "alpacaeval", "NoveltyBench curated": "nbcurated"}
STAGES = ("base", "sft", "dpo", "instruct")
EXPECTED = (("base", "sft"), ("sft", "dpo"), ("base", "instruct"))  # one-sided, corrected over the three
EXPLORED = ("dpo", "instruct")  # two-sided, not corrected
_PROMPTS = {"alpacaeval": 150, "nbcurated": 39}
_MARKERS = "from the values of each prompt, read off the authors' figures"


def per_prompt(inputs: Inputs) -> dict[str, dict[str, dict[str, float]]]:
    """Read the length-matched D_Ca_n by prompt set, stage and prompt.

    Raises:
        ConfigurationError: The file is not available.
        InputError: The file does not have every prompt in every stage.
    """
    path = inputs.file(PER_PROMPT_D)
    made: dict[str, dict[str, dict[str, float]]] = {}
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if row["variant"] == "length_matched":
                of_set = made.setdefault(row["prompt_set"], {stage: {} for stage in STAGES})
                of_set[row["stage"]][row["prompt_id"]] = float(row["D_Can"])
    for prompt_set, wanted in _PROMPTS.items():
        prompts = {frozenset(values) for values in made.get(prompt_set, {}).values()}
        if [len(each) for each in prompts] != [wanted]:
            raise InputError(f"{path}: {prompt_set} does not have the same {wanted} prompts in each stage")
    return made


def stages(inputs: Inputs) -> Made:
    """Recompute Table 4: D_Ca_n of OLMo's stages and their paired contrasts."""
    made: dict[Place, Found] = {}
    for title, prompt_set in PROMPT_SETS.items():
        by_prompt = per_prompt(inputs)[prompt_set]
        prompts = sorted(by_prompt["base"])
        values = {stage: np.array([by_prompt[stage][name] for name in prompts]) for stage in STAGES}
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
        made |= {
            (f"{title} {row}", column): recomputed(value, _MARKERS)
            for row, columns in rows.items()
            for column, value in columns.items()
        }
    return made


def _p(p: float | None) -> float:
    return float("nan") if p is None else p


SCENARIOS = {  # row: name in the released file
    "noise": "pure_noise",
    "multi-incoherent": "multi_incoherent",
    "multi-mode": "multi_mode",
    "one-mode": "one_mode",
    "mixed": "mixed",
}
COLUMNS = {
    "a_1": surprisal.a_1,
    "a_n": surprisal.a_n,
    "C": surprisal.coherence,
    "D": surprisal.d_can,
    "E": surprisal.excess_entropy_rate,
    "C*E": surprisal.coherent_excess_rate,
    "sigma": surprisal.coherence_spread,
}


def scenarios(inputs: Inputs) -> Made:
    """Recompute Table 5: the mean of each number over five prompts, from the released surprisals of every order."""
    made: dict[Place, Found] = {}
    for model, path in (("GPT-2", inputs.file(SCENARIOS_GPT2)), ("Qwen2.5-3B", inputs.optional(QWEN_SCENARIOS))):
        stored = None if path is None else json.loads(path.read_text(encoding="utf-8"))["scenarios"]
        for row, name in SCENARIOS.items():
            sets = None if stored is None else [stored_surprisals(record) for record in stored[name]]
            for column, function in COLUMNS.items():
                if sets is None:
                    made[row, f"{model} {column}"] = needs(f"{QWEN_25_3B.name}, 100 uniform orders, the authors' texts")
                else:
                    value = float(np.mean([function(s) for s in sets]))
                    made[row, f"{model} {column}"] = recomputed(value, "from the released surprisals")
    return made


def stored_surprisals(record: Mapping[str, list[list[float]]]) -> Surprisals:
    """Return the surprisals of a set as the authors released them: in every order that they read."""
    orders = np.array(record["permutation_orders"], np.int64)
    sizes = np.array(record["per_permutation_byte_counts"], np.int64)[0][np.argsort(orders[0])]
    bits = np.array(record["per_permutation_a_k_curves"], np.float64)
    return Surprisals(bits, orders, np.array(record["unconditional_total_bits"], np.float64), sizes)


CLASSES = {"high": 1.0, "low": 0.0}
FIRST_PLACE: Mapping[str, Callable[[Surprisals], float]] = {
    "a_1 bits/byte": surprisal.a_1,
    "a_1 bits": lambda s: float(curve_bits(s)[0]),
}


def confound(inputs: Inputs) -> Made:
    """Recompute Table 7: how surprising the first response is in sets of each class.

    The caption defines the gap as high minus low, but the printed numbers are low minus high, as are ours.
    """
    task = inputs.labelled("mcdiv_nuggets/story_gen_with_hds")
    reader = inputs.reader()
    rows = {} if reader is None else surprisal_columns(reader, task, FIRST_PLACE, inputs.progress)
    rows["response bytes"] = task.lengths
    released = inputs.qwen25(task.name)
    made: dict[Place, Found] = {}
    for row in ("a_1 bits/byte", "a_1 bits", "response bytes"):
        means = {name: _mean(rows.get(row), task.labels == label) for name, label in CLASSES.items()}
        gap = None if means["high"] is None or means["low"] is None else means["low"] - means["high"]
        theirs = None if released is None or row not in released.columns else released.columns[row]
        high, low = (_mean(theirs, task.labels == label) for label in CLASSES.values())
        qwen = {"high": high, "low": low, "gap": None if high is None or low is None else low - high}
        for column, value in (*means.items(), ("gap", gap)):
            if row == "response bytes":
                made[row, column] = recomputed(float("nan") if value is None else value, "from the texts")
            elif (found := qwen[column]) is not None:
                made[row, column] = recomputed(found, ABOUT, value)
            else:
                made[row, column] = needs(MODEL, value)
    for name, label in CLASSES.items():
        made["sets", name] = recomputed(int((task.labels == label).sum()), "from the labels")
    return made


def _mean(values: Floats | None, rows: Floats) -> float | None:
    return None if values is None else float(np.nanmean(values[rows]))
