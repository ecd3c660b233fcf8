"""The papers' tables from the released data, against published numbers and an independent reproduction."""

import json
from pathlib import Path

import numpy as np
import pytest

from benchmark.analysis.metaeval.labelled import BINARY_TASKS, load_labelled
from benchmark.analysis.metaeval.qwen25 import path_of, read_mean_curves
from benchmark.analysis.reproduce import tevet
from benchmark.analysis.reproduce.cells import GEMINI, KNOWN, Inputs, Place, Reproduced
from benchmark.analysis.reproduce.decan import EXPECTED, EXPLORED, per_prompt
from benchmark.analysis.reproduce.tables import TABLES, on_curated, reproduce_table
from benchmark.analysis.reproduce.tevet import ngram_columns
from benchmark.scoring.estimate import Alternative, wilcoxon
from divbench.core.errors import InputError
from tests.benchmark.helpers import golden

pytestmark = pytest.mark.mirror
INDEPENDENT = golden("tevet_reproduction")
NONE = {"same": 0, "differs": 0, "unexplained": 0, "cannot": 0}
COUNTS = {
    "tevet-2": {"same": 30, "differs": 3, "cannot": 1},
    "tevet-4": {"same": 33, "differs": 3, "cannot": 12},
    "tevet-8": {"same": 29, "differs": 1},
    "tevet-9": {"same": 27, "differs": 3},
    "tevet-10": {"same": 35, "differs": 1},
    "decan-2": {"same": 77, "differs": 31},
    "decan-3": {"same": 15, "differs": 6},
    "decan-4": {"same": 48},
    "decan-5": {"same": 70},
    "decan-7": {"same": 11},
    "gssbench-2": {"same": 40},
    "gssbench-a10": {"same": 224, "cannot": 448},
    "noveltybench-1": {"same": 5, "differs": 1, "cannot": 40},
}

# The pooled numbers of classes on NoveltyBench's website since 2025-05-24.
WEBSITE = {
    "Claude-3.5 Haiku": 1.94,
    "Claude-3.5 Sonnet": 1.76,
    "Claude-3 Opus": 2.04,
    "gpt-4o-mini": 2.65,
    "gpt-4o": 2.88,
    "gemini-1.5-pro": 1.85,
    "gemini-2.0-flash-lite": 2.83,
    "gemini-2.0-flash": 2.81,
    "gemini-2.0-pro": 2.25,
    "command-r7b": 3.58,
    "command-r": 2.68,
    "command-r-plus": 2.79,
    "gemma-2-2b-it": 5.66,
    "gemma-2-9b-it": 3.25,
    "gemma-2-27b-it": 3.03,
    "Llama-3.2-1B": 6.74,
    "Llama-3.2-3B": 5.10,
    "Llama-3.1-8B": 5.24,
    "Llama-3.3-70B": 2.49,
    "Llama-3.1-405B": 3.20,
}


@pytest.fixture(scope="module")
def inputs(mirror: Path) -> Inputs:
    return Inputs(mirror)


@pytest.fixture(scope="module")
def tables(inputs: Inputs) -> dict[str, Reproduced]:
    return {table.id: reproduce_table(table, inputs) for table in TABLES}


def ours(found: Reproduced) -> dict[Place, float]:
    return {cell.published.place: cell.ours for cell in found.cells if cell.ours is not None}


@pytest.mark.parametrize("name", COUNTS)
def test_verdicts(tables: dict[str, Reproduced], name: str) -> None:
    assert tables[name].counts == NONE | COUNTS[name]


def test_every_known_difference_is_met(tables: dict[str, Reproduced]) -> None:
    met = [cell for found in tables.values() for cell in found.cells if cell.verdict == "differs"]
    assert {(c.published.table, *c.published.place) for c in met} == {key[:3] for key in KNOWN}
    for cell in met:  # what these reasons say of the numbers is so
        value, printed = cell.ours or 0.0, cell.published.value
        if cell.about.startswith("printed is 1 − ours"):
            assert cell.published.agrees(1 - value)
        if cell.about.startswith("printed cut off"):
            assert int(value * 100) / 100 == printed
        if cell.about.startswith("the paper's is over 100 random draws"):
            # Twice the standard error of a standard deviation over 100 draws, from the nearest that rounds to it.
            assert abs(value - printed) - 0.005 < 2 * value / np.sqrt(2 * 99)
        if cell.about.startswith("ours is mean bits by mean bytes"):
            assert cell.published.row.split()[-1] in {"a_n", "C*a_n"}  # C, which is exact, has no such reason
            assert abs(value - printed) < 0.07
        if cell.about.startswith("printed is the number of classes plus one"):
            assert cell.published.agrees(value + 1)


@pytest.mark.parametrize("name", [each for each in INDEPENDENT if each != "origin"])
def test_the_independent_reproduction_is_met_from_the_texts(tables: dict[str, Reproduced], name: str) -> None:
    measures = ("rho",) if name == "tevet-2" else ("rho", "OCA")
    columns = [f"{task} {measure}" for task in tevet.SPLITS for measure in measures]
    found = {cell.published.place: cell for cell in tables[name].cells}
    for row, expected in INDEPENDENT[name].items():
        values = [found[row, column].ours for column in columns]
        assert values == pytest.approx(expected, abs=5e-4 + 1e-9), row
        if row in {"distinct-n", "cos-sim"}:
            assert {found[row, column].about for column in columns} <= {"from the texts"} | {
                reason for _, reason in KNOWN.values()
            }


@pytest.mark.parametrize("name", [*BINARY_TASKS, "dectest/prompt_gen"])
def test_our_metrics_on_the_texts_are_the_released_columns(mirror: Path, name: str) -> None:
    task = load_labelled(name, mirror=mirror)
    found = ngram_columns(task)
    assert found["distinct-n"].tolist() == task.released["averaged_distinct_ngrams"].tolist()
    assert found["cos-sim"].tolist() == task.released["averaged_cosine_similarity"].tolist()


def test_the_wilcoxon_contrasts_of_decans_table_4(inputs: Inputs) -> None:
    path = inputs.mirror / "olmo" / "reference" / "analysis_length_matched.json"  # type: ignore[operator]
    released = json.loads(path.read_text(encoding="utf-8"))
    tested = {"HoneA": EXPECTED[0], "HoneB": EXPECTED[1], "HoneC": EXPECTED[2], "Hpa": EXPLORED}
    for prompt_set, by_stage in per_prompt(inputs).items():
        for name, (a, b) in tested.items():
            wanted = released[prompt_set]["tests"]["D_Can"][name]
            assert (wanted["a"], wanted["b"]) == (a, b)
            prompts = sorted(by_stage[a])
            alternative: Alternative = "two-sided" if name == "Hpa" else "greater"
            first, second = (np.array([by_stage[stage][prompt] for prompt in prompts]) for stage in (a, b))
            found = wilcoxon(first, second, alternative)
            assert (found.n, found.statistic) == (wanted["n"], wanted["stat"])
            assert found.p == pytest.approx(wanted["p_raw"], rel=1e-9)


def test_noveltybench_on_the_curated_prompts(inputs: Inputs, tables: dict[str, Reproduced]) -> None:
    found = on_curated(GEMINI, inputs)
    assert found["distinct"] == pytest.approx(1.83, abs=1e-12)
    assert found["utility"] == pytest.approx(2.865825595336219, abs=1e-12)
    pooled = ours(tables["noveltybench-1"])
    assert pooled["gemini-1.5-pro", "distinct"] == pytest.approx(1.846, abs=5e-4)
    assert pooled["gemini-1.5-pro", "utility"] == pytest.approx(2.7269, abs=5e-5)


def test_the_table_is_one_more_than_the_website_for_every_model(inputs: Inputs) -> None:
    printed = {one.row: one.value for one in inputs.published["noveltybench-1"] if one.column == "distinct"}
    for model, classes in WEBSITE.items():
        assert printed[model] - classes == pytest.approx(1, abs=0.0101)


def test_released_curves_of_other_texts_are_refused(inputs: Inputs, tmp_path: Path) -> None:
    task = inputs.labelled("contest/prompt_gen")
    released = json.loads(inputs.file(path_of(task.name)).read_text())
    keys = list(released)
    swapped = {**released, keys[0]: released[keys[2]], keys[2]: released[keys[0]]}
    for changed, message in (
        (swapped, "other lengths than the texts, the first in row 1"),
        (keys[:9], "9 rows for 200"),
    ):
        records = changed if isinstance(changed, dict) else {key: released[key] for key in changed}
        (tmp_path / "x.json").write_text(json.dumps(records))
        with pytest.raises(InputError, match=message):
            read_mean_curves(tmp_path / "x.json", task)
