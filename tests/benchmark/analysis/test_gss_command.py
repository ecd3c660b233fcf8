"""`divbench metrics gss` on sets of the suite, and once on all, with known accuracies."""

import csv
import json
import re
import shutil
import sys
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from functools import partial
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from benchmark.analysis.gss import pairs as gss_pairs
from benchmark.analysis.gss.accuracy import TABLE_2, USUAL
from benchmark.analysis.gss.pairs import compare_pairs, evaluate_pairs, scores_of_result
from benchmark.metrics import METRICS
from benchmark.scoring.internals_file import INTERNALS_FILE
from benchmark.scoring.profiles import find_profile
from datasets_build import load
from datasets_build.gssbench import SPLITS
from divbench.command_line import main
from divbench.core.files import plain_json
from submissions.checking.validate import open_submission
from tests.benchmark.analysis.gss_submissions import (
    LEVELS,
    PAIRS,
    SUITE,
    WHOLE,
    add_internals,
    submitted,
    texts_of,
    unusable,
)
from tests.conftest import divbench, document

HOSTILE = "=<img src=x onerror='window.hacked=1'> [/red] *b*"
FEW = 100  # resamples
NUMBER = sum(map(len, PAIRS.values()))
BLANK = PAIRS["complement"][0]["a_id"]
Found = dict[str, Any]
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("gss")


@pytest.fixture(scope="module")
def whole(root: Path) -> tuple[Path, dict[str, float]]:
    """A submission with internals, and the perplexities that they give."""
    submission = submitted(root / "whole", HOSTILE, texts_of, "org/<i>m</i>")
    return submission.folder, add_internals(submission)


@pytest.fixture(scope="module")
def plain(root: Path) -> Path:
    """One of the same name without internals, and with a prompt without answers."""

    def texts(place: int, k: int) -> tuple[str, ...]:
        return (" ",) * k if SUITE.prompts[place].prompt_id == BLANK else texts_of(place, k)

    return submitted(root / "plain", HOSTILE, texts, "org/other").folder


def run(root: Path, patch: pytest.MonkeyPatch, *arguments: object) -> int:
    """The command in this process, which has its libraries, on the pairs and the suite of these tests; its status."""
    known = load.load_suite
    patch.setattr(load, "load_suite", lambda name, *more: SUITE if name == "gssbench" else known(name, *more))
    patch.setattr(gss_pairs, "load_pairs", lambda: PAIRS)
    options = ("--profile", "lexical", "--results", root / "results", "--resamples", FEW)
    patch.setattr(sys, "argv", ["divbench", "metrics", "gss", *map(str, (*arguments, *options))])
    with pytest.raises(SystemExit) as end:
        main()
    return int(end.value.code or 0)


@pytest.fixture
def run_here(root: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    """The command: its status, and what it writes."""

    def start(*arguments: object) -> tuple[int, str, str]:
        with pytest.MonkeyPatch.context() as patch:
            status = run(root, patch, *arguments)
        printed = capsys.readouterr()
        return status, printed.out, printed.err

    return start


@pytest.fixture(scope="module")
def found(root: Path, whole: tuple[Path, dict[str, float]], plain: Path) -> Found:
    """Both, compared with E_average; the Markdown and CSV lie in `root`."""
    files = ("--out", root / "out.csv", "--against", "e_average")
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(StringIO()) as printed:
        assert run(root, patch, whole[0], plain, *files, "--json") == 0
    made: Found = json.loads(printed.getvalue())
    return made


def strict(evaluation: Found) -> list[float]:
    return [evaluation["splits"][split]["accuracy"]["strict"]["value"] for split in SPLITS]


def result_folder(root: Path, model: Found) -> Path:
    return root / "results" / str(model["result_id"])


@pytest.mark.thorough
def test_the_whole_suite_in_a_process_of_its_own(root: Path) -> None:
    submission = submitted(root / "all", "all", partial(texts_of, suite=WHOLE), "org/all", WHOLE)
    options = ("--metric", "rouge_l_similarity", "--profile", "lexical", "--resamples", FEW)
    ended = divbench("metrics", "gss", submission.folder, *options, "--results", root / "all-results", "--json")
    assert ended.returncode == 0, ended.stderr
    made = document(ended)
    [model] = made["models"]
    assert strict(model["evaluations"]["rouge_l_similarity"]) == [1.0] * 6
    assert sum(split["pairs"] for split in model["evaluations"]["rouge_l_similarity"]["splits"].values()) == 9300
    assert strict(made["references"]["prompt_length"]) == [1.0, 0.092, 1.0, 0.0, 1.0, 0.0]


def test_internals_are_read_by_prompt_and_compared_in_the_metrics_direction(found: Found) -> None:
    evaluations = found["models"][0]["evaluations"]
    assert strict(evaluations["e_average"]) == [1.0] * 6
    assert strict(evaluations["e_original"]) == [0.0] * 6
    assert strict(evaluations["rouge_l_similarity"]) == [1.0] * 6
    assert found["models"][0]["best"] == ["e_average", "rouge_l_similarity"]
    signatures = found["models"][0]["signatures"]
    assert "a-model@1" in signatures["e_average"]
    assert signatures.keys() == evaluations.keys()


def test_drawn_scores_are_counted_pair_by_pair(found: Found, whole: tuple[Path, dict[str, float]]) -> None:
    scores, evaluation = whole[1], found["models"][0]["evaluations"]["perplexity"]
    for split in SPLITS:
        differences = [scores[row["b_id"]] - scores[row["a_id"]] for row in PAIRS[split]]
        right, ties = sum(each > 1e-9 for each in differences), sum(abs(each) < 1e-9 for each in differences)
        assert ties > 0
        accuracy = evaluation["splits"][split]["accuracy"]
        assert accuracy["strict"]["value"] == pytest.approx(right / len(differences))
        assert accuracy["half"]["value"] == pytest.approx((right + ties / 2) / len(differences))


def test_every_number_is_that_of_the_evaluation(root: Path, found: Found) -> None:
    directions = {metric.id: metric.direction for metric in METRICS}
    for model in found["models"]:
        scores = scores_of_result(result_folder(root, model))
        assert set(model["evaluations"]) == set(scores)
        for metric, values in scores.items():
            signed = {prompt: directions[metric] * value for prompt, value in values.items()}
            assert model["evaluations"][metric] == plain_json(evaluate_pairs(PAIRS, signed, resamples=FEW))
    first = scores_of_result(result_folder(root, found["models"][0]))
    similarity = {prompt: -value for prompt, value in first["rouge_l_similarity"].items()}
    compared = compare_pairs(PAIRS, similarity, first["e_average"], resamples=FEW)
    assert found["models"][0]["comparisons"]["rouge_l_similarity"] == plain_json(compared)


def test_what_is_missing_is_told_with_its_mend(found: Found, whole: tuple[Path, dict[str, float]], plain: Path) -> None:
    first, second = found["models"]
    assert {first["name"], second["name"]} == {f"{HOSTILE} {each['submission_id'][:8]}" for each in (first, second)}
    reason = "not made by the profile lexical (choose another by --profile)"
    assert first["missing"] == {"eigenscore_output": reason}
    assert list(second["missing"])[:2] == ["perplexity", "energy"]
    reason = f"there are no internals (divbench metrics internals {plain} --model …)"
    assert second["missing"]["energy"] == reason
    assert list(second["evaluations"]) == ["rouge_l_similarity", "semantic_entropy_discrete"]
    assert (list(second["comparisons"]), len(first["comparisons"])) == ([], 9)


def test_rows_are_in_the_published_order(found: Found) -> None:
    assert list(found["models"][0]["evaluations"]) == [name for name in USUAL if name != "eigenscore_output"]
    assert USUAL[:8] == TABLE_2


def test_a_result_gives_the_same_table_as_its_submission(run_here: Run, root: Path, found: Found, plain: Path) -> None:
    named = ("--metric", "rouge_l_similarity", "--metric", "semantic_entropy_discrete")
    given = run_here(root / "whole", plain, *named)
    again = run_here(*(result_folder(root, model) for model in found["models"]), *named)
    assert (given[0], again[0]) == (0, 0), given[2] + again[2]
    rows = [re.findall(r"│ (?:rouge_l|semantic_entropy).*", printed) for _, printed, _ in (given, again)]
    assert rows[0]
    assert rows[0] == rows[1]
    status, printed, told = run_here(result_folder(root, found["models"][0]), "--json")
    assert status == 0, told
    [same] = json.loads(printed)["models"]
    assert same["evaluations"] == found["models"][0]["evaluations"]
    assert next(iter(same["missing"].values())) == "not in the result (give the submission instead)"


def test_json_csv_and_markdown_have_the_same_numbers(run_here: Run, root: Path, found: Found) -> None:
    lines = list(csv.DictReader((root / "out.csv").read_text().splitlines()))
    model = found["models"][0]
    mine = [line for line in lines if line["result"] == model["result_id"]]
    assert {line["model"] for line in mine} == {f"'{model['name']}"}  # no formula
    for line in mine:
        evaluation = model["evaluations"][line["metric"]]
        names = {"mean of splits": "mean_of_splits", "pair-weighted": "pair_weighted"}
        key = names.get(line["part"], "length_balanced")
        accuracy = evaluation["splits"][line["part"]]["accuracy"] if line["part"] in SPLITS else evaluation[key]
        number = accuracy[line["number"]]
        assert [float(line[name]) for name in ("value", "low", "high")] == [number[n] for n in ("value", "low", "high")]
    assert len(mine) == len(model["evaluations"]) * 9 * 4
    assert {line["metric"] for line in lines if line["model"] == "references"} == set(found["references"])
    status, printed, told = run_here(result_folder(root, model), "--out", root / "out.md")
    assert status == 0, told
    markdown = (root / "out.md").read_text()
    for metric, evaluation in model["evaluations"].items():
        [row] = re.findall(rf"^\| {metric} \|.*$", markdown, re.MULTILINE)
        cells = [text.strip() for text in row.split("|")[1:-1]]
        assert [float(text.split()[0]) for text in cells[1:7]] == pytest.approx(strict(evaluation), abs=0.0051)
        assert re.fullmatch(r"\d\.\d+ \[\d\.\d+, \d\.\d+\]", cells[1])
        assert cells[7].startswith("**") == (metric in model["best"])
        assert f"│ {metric} " in printed
        assert cells[-1] == str(NUMBER)
    assert r"## =\<img src=x onerror='window.hacked=1'\> \[/red] \*b\*" in markdown
    said = " ".join(printed.split())
    assert "chance is .5. Ties are wrong, as published" in said
    assert f"{HOSTILE}: eigenscore_output: not in the result" in said
    backend = find_profile(model["profile"]).partition
    assert backend is not None
    assert model["equivalence"] == backend.signature
    assert f"Equivalence backend: {backend.signature}." in markdown
    assert "Equivalence backend: " in said


def test_scores_of_ones_own_stand_beside_the_references(run_here: Run, tmp_path: Path) -> None:
    asked = {row[side] for rows in PAIRS.values() for row in rows for side in ("a_id", "b_id")}
    lines = [f"{name},{LEVELS[name]}" for name in sorted(asked)]
    (tmp_path / "s.csv").write_text("\n".join(["prompt_id,m", *lines, "unknown,2"]))
    status, printed, told = run_here("--scores", tmp_path / "s.csv", "--against", "constant", "--json")
    assert (status, "s:m: left out: 1 id of no prompt asked for" in told) == (0, True), told
    [model] = json.loads(printed)["models"]
    assert strict(model["evaluations"]["s:m"]) == [1.0] * 6
    assert model["comparisons"]["s:m"]["strict"]["mean_of_splits"]["value"] == 1
    status, printed, told = run_here("--scores", tmp_path / "s.csv", "--out", tmp_path / "s.md")
    assert (status, "scores from a file" in printed) == (0, True), told


def test_metrics_of_states_that_were_not_read_have_no_accuracy(
    run_here: Run, tmp_path: Path, whole: tuple[Path, dict[str, float]]
) -> None:
    folder = tmp_path / "no-states"
    shutil.copytree(whole[0], folder)
    add_internals(open_submission(folder, lambda name: SUITE)[0], states=False)
    status, printed, told = run_here(folder, "--metric", "e_average", "--metric", "energy", "--json")
    assert status == 0, told
    [model] = json.loads(printed)["models"]
    assert list(model["evaluations"]) == ["energy"]
    reason = "no prompt has a value: no hidden states"
    assert model["missing"] == {"e_average": reason}
    status, _, told = run_here(folder, "--metric", "e_average")
    assert (status, f"there is nothing to evaluate: e_average: {reason}" in told) == (2, True), told


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        ([], 2, "nothing to evaluate is named"),
        (["--scores", "nothing.csv"], 1, "there is no file"),
        (["nowhere"], 2, "there is no folder nowhere"),
        (["{empty}"], 1, "has neither manifest.json nor result.json"),
        (["{demo}"], 1, "is a submission to demo (give one to the suite gssbench)"),
        (["{demo_result}"], 1, "is a result of demo (give one of the suite gssbench)"),
        (["{old}"], 1, "score the submission again"),
        (["{damaged}"], 1, "is not a complete result"),
        (["{plain}", "{plain}"], 2, "is given twice"),
        (["{strange}"], 1, "belongs to the submission"),
        (["{plain}", "--metric", "e_average"], 2, "none of the metrics can be computed: there are no internals"),
        (["{plain}", "--metric", "eigenscore_output"], 2, "the profile lexical has no metric 'eigenscore_output'"),
        (["nowhere", "--metric", "nothing"], 2, "there is no metric 'nothing'"),
        (["nowhere", "--metric", "coherence"], 2, "coherence does not measure diversity"),
        (["nowhere", "--against", "distinct_n"], 2, "there are no scores named 'distinct_n'"),
        (["nowhere", "--out", "x.txt"], 2, "does not end in .md, .csv, .json"),
        (["nowhere", "--set", "equivalence=nothing"], 2, "there is no backend 'nothing'"),
    ],
)
def test_what_cannot_be_done_is_told(
    run_here: Run,
    tmp_path: Path,
    root: Path,
    plain: Path,
    found: Found,
    arguments: Sequence[str],
    status: int,
    message: str,
) -> None:
    result = result_folder(root, found["models"][1])
    kind = next((each[1:-1] for each in arguments if each.startswith("{") and each != "{plain}"), None)
    made = {} if kind is None else {kind: unusable(kind, tmp_path, plain, result)}
    if kind == "strange":
        shutil.copy(root / "whole" / INTERNALS_FILE, tmp_path / kind)
    given = [each.format(**made, plain=plain) for each in arguments]
    code, _, told = run_here(*given)
    assert (code, message in told) == (status, True), told
