"""The papers' tables from the released data, against published numbers and an independent reproduction."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmark.analysis.metaeval.labelled import BINARY_TASKS, load_labelled
from benchmark.analysis.reproduce import noveltybench, tevet
from benchmark.analysis.reproduce.cells import Counts, Place, Reproduced, read_published
from benchmark.analysis.reproduce.decan import EXPECTED, EXPLORED, per_prompt
from benchmark.analysis.reproduce.inputs import GEMINI, Inputs
from benchmark.analysis.reproduce.measures import ngram_columns, rho
from benchmark.analysis.reproduce.qwen25 import ABOUT, SCENARIOS, path_of, read_mean_curves, released_files
from benchmark.analysis.reproduce.tables import KNOWN, TABLES, find_tables, reproduce_table
from benchmark.scoring.estimate import Alternative, wilcoxon
from benchmark.surprisal.engine import OrderPlan, SurprisalReader
from benchmark.surprisal.prompt_layout import Layout
from divbench.core.errors import InputError
from tests.benchmark.fakes import HashLM
from tests.benchmark.helpers import golden
from tests.conftest import divbench, document

pytestmark = pytest.mark.mirror
INDEPENDENT = golden("tevet_reproduction")
COUNTS = {
    "tevet-2": Counts(same=30, differs=3, cannot=1),
    "tevet-4": Counts(same=33, differs=3, cannot=12),
    "tevet-8": Counts(same=29, differs=1),
    "tevet-9": Counts(same=27, differs=3),
    "tevet-10": Counts(same=35, differs=1),
    "decan-2": Counts(same=77, differs=31),
    "decan-3": Counts(same=15, differs=6),
    "decan-4": Counts(same=48),
    "decan-5": Counts(same=70),
    "decan-7": Counts(same=11),
    "gssbench-2": Counts(same=40),
    "gssbench-a10": Counts(same=224, cannot=448),
    "noveltybench-1": Counts(same=5, differs=1, cannot=40),
}


@pytest.fixture(scope="module")
def inputs(mirror: Path) -> Inputs:
    return Inputs(read_published(), mirror)


@pytest.fixture(scope="module")
def tables(inputs: Inputs) -> dict[str, Reproduced]:
    return {table.id: reproduce_table(table, inputs) for table in TABLES}


def ours(found: Reproduced) -> dict[Place, float]:
    return {cell.published.place: cell.ours for cell in found.cells if cell.ours is not None}


@pytest.mark.parametrize("name", COUNTS)
def test_verdicts(tables: dict[str, Reproduced], name: str) -> None:
    assert tables[name].counts == COUNTS[name]


def test_every_known_difference_is_met(tables: dict[str, Reproduced]) -> None:
    met = [cell for found in tables.values() for cell in found.cells if cell.verdict == "differs"]
    assert {(c.published.table, *c.published.place) for c in met} == {(k.table, k.row, k.column) for k in KNOWN}
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


def test_all_baselines_of_decans_table_2(tables: dict[str, Reproduced]) -> None:
    baselines = [
        c for c in tables["decan-2"].cells if c.published.row.split()[1] in {"SentBERT", "BERTsts", "distinct-n"}
    ]
    assert len(baselines) == 27 * 2  # rho and OCA
    assert {cell.verdict for cell in baselines} == {"same"}


def test_all_fifteen_of_tevets_table_2_from_the_released_columns(inputs: Inputs, tables: dict[str, Reproduced]) -> None:
    columns = {"distinct-n": "averaged_distinct_ngrams", "cos-sim": "averaged_cosine_similarity"} | tevet.RELEASED
    found = ours(tables["tevet-2"])
    published = {one.place: one for one in inputs.numbers("tevet-2")}
    for name, split in tevet.SPLITS.items():
        task = inputs.labelled(f"dectest/{split}")
        for row, column in columns.items():
            value = rho(task.released[column], task.labels)
            assert published[row, f"{name} rho"].agrees(value)
            assert found[row, f"{name} rho"] == value


@pytest.mark.parametrize("name", [each for each in INDEPENDENT if each != "origin"])
def test_the_independent_reproduction_is_met_from_the_texts(tables: dict[str, Reproduced], name: str) -> None:
    measures = ("rho",) if name == "tevet-2" else ("rho", "OCA")
    columns = [f"{task} {measure}" for task in tevet.SPLITS for measure in measures]
    found = {cell.published.place: cell for cell in tables[name].cells}
    for row, expected in INDEPENDENT[name].items():
        values = [found[row, column].ours for column in columns]
        assert values == pytest.approx(expected, abs=5e-4 + 1e-9), row
        if row in {"distinct-n", "cos-sim"}:
            assert {found[row, column].about for column in columns} <= {"from the texts"} | {k.reason for k in KNOWN}


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
    found = noveltybench.on_curated(GEMINI, inputs)
    assert found["distinct"] == pytest.approx(1.83, abs=1e-12)
    assert found["utility"] == pytest.approx(2.865825595336219, abs=1e-12)
    pooled = ours(tables["noveltybench-1"])
    assert pooled["gemini-1.5-pro", "distinct"] == pytest.approx(1.846, abs=5e-4)
    assert pooled["gemini-1.5-pro", "utility"] == pytest.approx(2.7269, abs=5e-5)


def test_the_table_is_one_more_than_the_website_for_every_model(inputs: Inputs) -> None:
    printed = {one.row: one.value for one in inputs.numbers("noveltybench-1") if one.column == "distinct"}
    assert len(noveltybench.WEBSITE) == 20
    for model, classes in noveltybench.WEBSITE.items():
        assert printed[model] - classes == pytest.approx(1, abs=0.0101)


@pytest.mark.parametrize(
    ("name", "row", "column", "wrong"),
    [
        ("tevet-4", "distinct-n", "storyGen rho", "0.58"),
        ("tevet-4", "distinct-n", "respGen rho", "0.33"),  # a known difference hides no other
        ("decan-4", "AlpacaEval base>sft", "p", "3.5e-24"),
        ("decan-5", "mixed", "GPT-2 D", "0.53"),
    ],
)
def test_a_wrong_published_value_is_found(inputs: Inputs, name: str, row: str, column: str, wrong: str) -> None:
    changed = tuple(replace(o, printed=wrong) if o.place == (row, column) else o for o in inputs.published[name])
    found = reproduce_table(find_tables([name])[0], Inputs(inputs.published | {name: changed}, inputs.mirror))
    assert [c.published.place for c in found.cells if c.verdict.startswith("differs w")] == [(row, column)]


def test_bundled_numbers_stand_beside_the_released_models_and_change_no_verdict(mirror: Path) -> None:
    read = Inputs(read_published(), mirror, lambda: SurprisalReader(HashLM(), Layout("completion"), OrderPlan()))
    found = reproduce_table(find_tables(["decan-7"])[0], read)
    assert found.counts == COUNTS["decan-7"]
    bundled = {cell.published.place: cell.bundled for cell in found.cells if cell.bundled is not None}
    assert bundled.keys() == {c.published.place for c in found.cells if c.about == ABOUT}
    gap = bundled["a_1 bits", "low"] - bundled["a_1 bits", "high"]
    assert bundled["a_1 bits", "gap"] == pytest.approx(gap)


def test_all_tables_by_the_command(mirror: Path) -> None:
    ended = divbench("metrics", "reproduce", "--mirror", mirror, "--json")
    assert ended.returncode == 0, ended.stderr
    told = document(ended)
    assert told["not_run"] == {}
    assert {each["id"]: Counts(**each["counts"]) for each in told["tables"]} == COUNTS


def test_released_curves_of_other_texts_are_refused(inputs: Inputs, tmp_path: Path) -> None:
    task = inputs.labelled("contest/prompt_gen")
    path = inputs.optional(path_of(task.name))
    assert path is not None
    released = json.loads(path.read_text())
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


def test_the_mean_of_ratios_differs_from_the_ratio_of_means_as_told(inputs: Inputs) -> None:
    """Where the bits of every order were released both are known: sets stand in nearly the same order."""
    stored = json.loads(inputs.file(next(f for f in released_files() if f.path == SCENARIOS)).read_text())["scenarios"]
    records = [record for name in stored for record in stored[name]]
    mean_of_ratios, ratio_of_means = [], []
    for record in records:
        bits = np.array(record["per_permutation_a_k_curves"])[:, -1]
        sizes = np.array(record["per_permutation_byte_counts"])[:, -1]
        mean_of_ratios.append(float((bits / sizes).mean()))
        ratio_of_means.append(float(bits.mean() / sizes.mean()))
    assert mean_of_ratios != pytest.approx(ratio_of_means, rel=1e-6)
    assert rho(np.array(mean_of_ratios), np.array(ratio_of_means)) > 0.98
