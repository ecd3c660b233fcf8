"""The report of `divbench metrics gss`: names, notes, the paper's table, tables that fit a terminal."""

from pathlib import Path
from typing import Any

import pytest

from benchmark.analysis.gss.accuracy import (
    TABLE_2,
    GssStudy,
    Model,
    choose,
    evaluate,
    names_of,
    notes,
    published_blocks,
    report_of,
)
from benchmark.analysis.gss.pairs import Scorer, sanity_scores
from benchmark.analysis.reproduce.cells import read_published
from benchmark.metrics.metric import Missing
from benchmark.scoring.backends import ScoringBackends
from benchmark.scoring.estimate import Resampling
from benchmark.scoring.profiles import find_profile
from benchmark.scoring.results import Result
from benchmark.scoring.scorer import Options, score_submission
from datasets_build.gssbench import SPLITS
from divbench.core.errors import ConfigurationError
from tests.benchmark.helpers import rows_of, submit, suite_of

NAME = "made-up system"  # as `submit` calls it
ROWS = [
    {"a_id": f"p-{i:04}", "b_id": f"p-{i + 1:04}", "a": f"Say thing {i}.", "b": f"Say it {i}.", "set_id": f"{i // 2}"}
    for i in range(8)
]
PAIRS = dict.fromkeys(SPLITS, ROWS)
REFERENCES = sanity_scores(PAIRS)
HOW = Resampling(resamples=20)


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Result:
    folder, suite = tmp_path_factory.mktemp("gss-report"), suite_of(9)
    submission = submit(folder / "in", suite, rows_of(suite, 2))
    lexical = ScoringBackends(find_profile("lexical"))
    return score_submission(submission, suite, lexical, folder / "out", Options(resamples=100)).result


def model(result: Result, name: str = "a", *scorers: str) -> Model:
    made = tuple(Scorer(metric, REFERENCES["random"]) for metric in scorers)
    return Model(name, result, made, {} if made else {"energy": Missing("there are no internals (hint)")})


def evaluated(*models: Model, **options: Any) -> GssStudy:
    return evaluate(PAIRS, "gssbench@0", models, REFERENCES, HOW, **options)


def test_names_tell_systems_apart(result: Result) -> None:
    other = result.model_copy(update={"result_id": "b" * 16, "submission_id": "c" * 16})
    third = other.model_copy(update={"result_id": "d" * 16})
    alone = third.model_copy(update={"manifest": result.manifest.model_copy(update={"name": "x"})})
    assert names_of([result, alone]) == [NAME, "x"]
    assert names_of([result, other]) == [f"{NAME} {result.submission_id[:8]}", f"{NAME} cccccccc"]
    assert names_of([other, third]) == [f"{NAME} bbbbbbbb", f"{NAME} dddddddd"]
    with pytest.raises(ConfigurationError, match="given twice"):
        names_of([result, result])


def test_what_a_result_lacks_is_told_with_its_mend(result: Result) -> None:
    scorers = [Scorer(score.metric, {}) for score in result.scores if score.direction]
    wanted = ("vendi_score", "energy", "self_bleu", "distinct_k_reported", "rouge_l_similarity", "coherence")
    chosen, lacking = choose(result, scorers, wanted)
    assert [each.name for each in chosen] == ["rouge_l_similarity", "self_bleu"]
    assert Model("a", result, (), lacking).missing_lines == [
        "a: energy: there are no internals (divbench metrics internals SUBMISSION --model …, then give the submission)",
        "a: distinct_k_reported: no prompt has a value: not reported",
        "a: vendi_score: not in the result (give the submission instead)",
    ]
    _, scored_here = choose(result, scorers, ("energy", "vendi_score"), Path("subs/a"))
    assert [each.reason for each in scored_here.values()] == [
        "there are no internals (divbench metrics internals subs/a --model …)",
        "not made by the profile lexical (choose another by --profile)",
    ]
    every, none = choose(result, scorers, None)
    assert {each.name for each in every} == {score.metric for score in result.scores if score.direction and score.n}
    reasons = {name: each.reason for name, each in none.items()}
    assert reasons["e_average"].startswith("there are no internals (divbench")
    assert reasons["distinct_at_5"] == "no prompt has a value: fewer than 5 responses"
    assert reasons.keys().isdisjoint({each.name for each in every} | {"vendi_score", "coherence"})


def test_the_published_table_is_the_papers() -> None:
    tables = read_published()
    blocks = published_blocks(tables["gssbench-a10"])
    assert len(blocks) == 7
    assert [row.metric for row in blocks[0].rows] == list(TABLE_2)
    means = {(row.metric, block.title): row.cells["mean of splits"].value for block in blocks for row in block.rows}
    names = {"length_normalized_entropy": "normalised_entropy", "lexical_similarity": "rouge_l_similarity"}
    names |= {"eigenscore_original": "e_original", "eigenscore_average": "e_average"}
    for one in tables["gssbench-2"]:  # it is the mean of the other
        assert means[names.get(one.row, one.row), f"published: {one.column}"] == pytest.approx(one.value, abs=6e-4)
    a10 = {one.place: one.value for one in tables["gssbench-a10"]}
    entropy = blocks[0].rows[2].cells["factualqa"]
    place, column = "factual_qa length_normalized_entropy", "Llama-8B-Instruct"
    value, margin = a10[place, column], a10[place, f"{column} ±"]
    assert (entropy.value, entropy.low, entropy.high) == (value, value - margin, value + margin)


def signed(result: Result, *changes: tuple[str, str, int]) -> Result:
    """The result with the first metrics renamed, under another model and k."""
    scores = [
        score.model_copy(
            update={
                "metric": metric,
                "signature": score.signature.model_copy(update={"metric": metric, "models": (model,), "k": k}),
            }
        )
        for score, (metric, model, k) in zip(result.scores, changes, strict=False)
    ]
    return result.model_copy(update={"scores": scores})


def test_notes_tell_what_does_not_compare_and_what_is_lacking(result: Result) -> None:
    first = signed(result, ("energy", "a", 2), ("self_bleu", "a", 2), ("perplexity", "a", 2))
    second = signed(result, ("energy", "b", 2), ("self_bleu", "b", 2), ("perplexity", "a", 5))
    names = ("energy", "self_bleu", "perplexity")
    report = evaluated(model(first, "a", *names), model(second, "b", *names), model(result, "c"), against="energy")
    assert report.differing == ["perplexity", "self_bleu"]
    told = notes(report)
    assert told[0].endswith("differs: perplexity, self_bleu")
    assert told[1:] == ["c: energy: there are no internals (hint)", "c: nothing to compare with energy"]
    assert list(report.models[0].comparisons) == ["self_bleu", "perplexity"]
    markdown = report_of(report).text(".md")
    assert "## b" in markdown
    assert "## c" not in markdown  # it has no row; the notes say why
    assert "c: energy: there are no internals (hint)" in markdown
    assert notes(evaluated(model(first, "a", *names))) == []


def test_there_must_be_something_to_evaluate(result: Result) -> None:
    with pytest.raises(ConfigurationError, match="nothing to evaluate: a: energy: there are no internals"):
        evaluated(model(result))
