"""`divbench metrics gss` on sets of the suite, and once on all, with known accuracies."""

import csv
import json
import re
import shutil
import sys
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from dataclasses import replace
from datetime import date
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmark.analysis.gss import pairs as gss_pairs
from benchmark.analysis.gss.pairs import compare_pairs, evaluate_pairs, load_pairs, sanity_scores, scorers_of_result
from benchmark.metrics.eigenscore import Covariances
from benchmark.metrics.internals import Internals, ResponseScores
from benchmark.scoring.backends import ScoringBackends
from benchmark.scoring.internals_file import INTERNALS_FILE, HowRead, write_internals
from benchmark.scoring.profiles import find_profile
from benchmark.scoring.scorer import Options, score_submission
from datasets_build import load
from datasets_build.gssbench import SPLITS
from datasets_build.load import load_suite
from datasets_build.schema import Suite
from divbench.command_line import main
from divbench.core.files import plain_json
from submissions.checking.validate import open_submission
from submissions.schema import Generation, Manifest, Row, Submitter, System
from submissions.storage.submission_folders import Submission, write_submission
from tests.benchmark.helpers import hash_internals, rows_of

WHOLE = load_suite("gssbench")
_SETS = {"complement": 60, "factualqa": 60, "random_choice": 60, "subset": 6, "union": 3, "intersection": 3}


def _first_sets(split: str, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Whole sets: pairs of one share prompts."""
    kept = list(dict.fromkeys(row["set_id"] for row in rows))[: _SETS[split]]
    return [row for row in rows if row["set_id"] in kept]


ALL_PAIRS = load_pairs()
PAIRS = {split: _first_sets(split, rows) for split, rows in ALL_PAIRS.items()}
_IN_PAIRS = {row[name] for rows in PAIRS.values() for row in rows for name in ("a_id", "b_id")}
SUITE = replace(WHOLE, prompts=tuple(prompt for prompt in WHOLE.prompts if prompt.prompt_id in _IN_PAIRS))
LEVELS = sanity_scores(ALL_PAIRS)["oracle"]  # of each prompt: they order every pair


def texts_of(place: int, k: int, suite: Suite = SUITE) -> tuple[str, ...]:
    """The larger the prompt's space, the fewer words its responses share: ROUGE-L, of which less is more, finds all."""
    level = int(LEVELS[suite.prompts[place].prompt_id])
    same = [f"w{n}" for n in range(9 - level)]
    return tuple(" ".join([*same, *(f"x{j}{n}" for n in range(level))]) for j in range(k))


def submitted(
    folder: Path, name: str, texts: Callable[[int, int], tuple[str, ...]], model_id: str, suite: Suite = SUITE
) -> Submission:
    folder.mkdir(parents=True)
    manifest = Manifest(
        name=name,
        suite="gssbench",
        system=System(type="model", model_id=model_id),
        generation=Generation(k=2),
        submitter=Submitter(name="tester", date=date(2026, 1, 1)),
    )
    write_submission(folder, manifest, rows_of(suite, 2, texts))
    return open_submission(folder, lambda name: suite)[0]


def add_internals(submission: Submission, states: bool = True) -> dict[str, float]:
    """E_average orders all pairs, E_original all the other way round, energy none; perplexities are drawn and given."""
    rows = list(submission.rows())[::-1]  # the file may have another order than the suite
    drawn = np.random.default_rng(3).exponential(size=len(rows)).round(1).tolist()
    perplexities = {row.prompt_id: value for row, value in zip(rows, drawn, strict=True)}
    how = HowRead(
        submission_id=submission.id,
        k=2,
        model="a-model@1",
        blocks=4,
        features=16,
        original_layer=2 if states else None,
        average_layers=(2, 3) if states else (),
        tokens="text",
        drawing=None,
        prompt="chat template",
    )

    def internals(row: Row) -> Internals:
        spread, level = np.eye(2)[None], LEVELS[row.prompt_id]
        return replace(
            hash_internals(row.responses),
            greedy=ResponseScores(2, -2 * perplexities[row.prompt_id], -3.0, 80.0, 5.0),
            last=Covariances(4, 16, (2,), spread * 10.0**-level, "last") if states else None,
            mean=Covariances(4, 16, (2, 3), np.repeat(spread * 10.0**level, 2, axis=0), "mean") if states else None,
        )

    write_internals(submission.folder / INTERNALS_FILE, how, ((row.prompt_id, internals(row)) for row in rows))
    return perplexities


def unusable(kind: str, parent: Path, plain: Path, result: Path) -> Path:
    """A folder that the command must refuse, made from a submission and its result."""
    folder = parent / kind
    if kind in ("old", "damaged"):
        shutil.copytree(result, folder)
        path = folder / "result.json"
        changed = json.loads(path.read_text()) | {"suite_revision": "0" * 12}
        path.write_text(json.dumps(changed) if kind == "old" else "{")
    elif kind == "strange":
        shutil.copytree(plain, folder)
    else:
        folder.mkdir()
    if kind.startswith("demo"):
        opened = open_submission(plain, lambda name: SUITE)[0]
        manifest = opened.manifest.model_copy(update={"suite": "demo"})
        write_submission(folder, manifest, rows_of(load_suite("demo"), 2))
    if kind == "demo_result":
        submission, suite, _ = open_submission(folder)
        backends = ScoringBackends(find_profile("lexical"))
        return score_submission(submission, suite, backends, parent / "results", Options(resamples=100)).folder
    return folder


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


def test_internals_are_read_by_prompt_and_compared_in_the_metrics_direction(found: Found) -> None:
    evaluations = found["models"][0]["evaluations"]
    assert strict(evaluations["e_average"]) == [1.0] * 6
    assert strict(evaluations["e_original"]) == [0.0] * 6
    assert strict(evaluations["rouge_l_similarity"]) == [1.0] * 6
    assert found["models"][0]["best"] == ["e_average", "rouge_l_similarity"]
    signatures = found["models"][0]["signatures"]
    assert "a-model@1" in signatures["e_average"]
    assert signatures.keys() == evaluations.keys()


def test_every_number_is_that_of_the_evaluation(root: Path, found: Found) -> None:
    for model in found["models"]:
        scorers = scorers_of_result(result_folder(root, model))
        assert set(model["evaluations"]) == {scorer.name for scorer in scorers}
        for scorer in scorers:
            evaluation = evaluate_pairs(PAIRS, scorer.scores, resamples=FEW)
            assert model["evaluations"][scorer.name] == plain_json(evaluation)
    first = {scorer.name: scorer.scores for scorer in scorers_of_result(result_folder(root, found["models"][0]))}
    compared = compare_pairs(PAIRS, first["rouge_l_similarity"], first["e_average"], resamples=FEW)
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


def test_a_result_gives_the_same_numbers_as_its_submission(run_here: Run, root: Path, found: Found) -> None:
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
    assert (status, f"e_average: {reason}" in told) == (2, True), told


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
        (["nowhere", "--out", "x.txt"], 2, "does not end in .md, .tex, .csv, .json"),
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
