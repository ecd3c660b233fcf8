"""Known-bad systems are what they say: one text, noise of the same lengths, the same words in disorder."""

import random
from collections import Counter
from pathlib import Path

import pytest

from submissions.checking.validate import open_submission
from submissions.demo.baselines import BASELINES, LETTERS, Baseline, derive
from submissions.demo.build import write_baseline
from submissions.schema import Row
from submissions.storage.submission_folders import Submission
from tests.conftest import TOY, write_toy
from tests.submissions.conftest import check, find_toy

by_name = {baseline.name: baseline for baseline in BASELINES}
every = pytest.mark.parametrize("baseline", BASELINES, ids=lambda baseline: baseline.name)


def sentence(i: int, j: int) -> str:
    return f"One thing, number {j}, that I would say about prompt {i} \n is this: it has many\twords {'of sort ' * j}"


@pytest.fixture
def given(tmp_path: Path) -> Submission:
    rows = [
        Row(i + 1, p.prompt_id, p.prompt, tuple(sentence(i, j) for j in range(3))) for i, p in enumerate(TOY.prompts)
    ]
    return open_submission(write_toy(tmp_path / "given", rows), find_toy)[0]


def made(baseline: Baseline, given: Submission, seed: int = 0) -> list[Row]:
    return derive(baseline, given, seed)[1]


def test_baselines_have_names_of_their_own() -> None:
    assert list(by_name) == ["repeated", "random-characters", "shuffled-words"]
    assert all(b.about and b.fn.__doc__ for b in BASELINES)


@every
def test_a_baseline_is_the_same_for_the_same_seed(baseline: Baseline, given: Submission) -> None:
    assert made(baseline, given, 1) == made(baseline, given, 1)


@pytest.mark.parametrize("name", ["random-characters", "shuffled-words"])
def test_another_seed_makes_other_texts(name: str, given: Submission) -> None:
    one, other = made(by_name[name], given, 1), made(by_name[name], given, 2)
    assert all(a.responses != b.responses for a, b in zip(one, other, strict=True))


@every
def test_a_baseline_does_not_depend_on_the_order_of_rows(baseline: Baseline, given: Submission, tmp_path: Path) -> None:
    turned = open_submission(write_toy(tmp_path / "turned", list(given.rows())[::-1]), find_toy)[0]
    texts = [{row.prompt_id: row.responses for row in made(baseline, s)} for s in (given, turned)]
    assert texts[0] == texts[1]


@every
def test_prompts_and_their_number_of_responses_stay(baseline: Baseline, given: Submission) -> None:
    kept = [(r.prompt_id, r.prompt, len(r.responses)) for r in made(baseline, given)]
    assert kept == [(r.prompt_id, r.prompt, len(r.responses)) for r in given.rows()]


def test_repeated_is_the_first_text_alone(given: Submission) -> None:
    for row, old in zip(made(by_name["repeated"], given), given.rows(), strict=True):
        assert set(row.responses) == {old.responses[0]}


def test_shuffled_words_are_the_same_words_in_another_order(given: Submission) -> None:
    for row, old in zip(made(by_name["shuffled-words"], given), given.rows(), strict=True):
        for text, source in zip(row.responses, old.responses, strict=True):
            assert Counter(text.split()) == Counter(source.split())
            assert text.split() != source.split()
            assert text == " ".join(text.split())


def test_random_characters_have_the_lengths_of_the_texts(given: Submission) -> None:
    for row, old in zip(made(by_name["random-characters"], given), given.rows(), strict=True):
        assert len(set(row.responses)) == 3
        for text, source in zip(row.responses, old.responses, strict=True):
            assert set(text) <= set(LETTERS)
            assert len(source) - 4 <= len(text) <= len(source)  # white space at the ends is taken off


def test_random_characters_are_never_blank() -> None:
    row = Row(1, "p", None, ("", " ", "x") * 300)
    texts = by_name["random-characters"].fn(row, random.Random(0))  # noqa: S311
    assert all(len(text) == 1 and text != " " for text in texts)


@every
def test_a_baseline_is_a_submission_that_says_where_it_comes_from(
    baseline: Baseline, given: Submission, tmp_path: Path
) -> None:
    submission = write_baseline(baseline, given, TOY, tmp_path / "out", seed=7)
    assert submission.folder == tmp_path / "out"
    report = check(tmp_path / "out")
    assert report.findings.problems == []
    assert report.submission == submission
    manifest = submission.manifest
    assert (manifest.name, manifest.system.type, manifest.generation.k) == (baseline.name, "baseline", 3)
    assert manifest.origin is not None
    assert manifest.origin.format == "derived"
    assert manifest.notes == f"{baseline.about}, from the submission 'toy-system' ({given.id})"
    assert manifest.generation.seed == (None if baseline.name == "repeated" else 7)
