"""Attacks are what they say: as many texts, seeded, independent of the rows' order, and each in its own way."""

import random
import shutil
import unicodedata
from collections import Counter
from pathlib import Path

import pytest

from datasets_build.load import load_suite
from divbench.core.errors import ConfigurationError
from submissions.checking.response_kinds import is_blank
from submissions.checking.validate import open_submission
from submissions.gaming.attacks import ATTACKS, LETTERS, ZERO_WIDTH, Attack, AttackedSet, banks, sentences
from submissions.gaming.baselines import (
    attacked,
    derive,
    find_attack,
    write_baseline,
    write_demo_submissions,
)
from submissions.storage.submission_folders import Submission
from tests.conftest import TOY, write_toy
from tests.submissions.conftest import check, find_toy

PROMPTS = {f"p{i}": f"What is good about number {i}?" for i in range(12)}
TEXTS = {
    prompt_id: tuple(
        f"It is a big number, {j} \n times {i}. I like\tit very much. Many people do not {'really ' * j}know why!"
        for j in range(10)
    )
    for i, prompt_id in enumerate(PROMPTS)
}


def made(name: str, seed: int = 0) -> dict[str, tuple[str, ...]]:
    return attacked(find_attack(name), PROMPTS, TEXTS, seed)


def pairs(name: str) -> list[tuple[str, str]]:
    """Each text beside its source."""
    return [each for i, texts in made(name).items() for each in zip(texts, TEXTS[i], strict=True)]


@pytest.fixture
def given(tmp_path: Path) -> Submission:
    from submissions.schema import Row

    rows = [Row(i + 1, p.prompt_id, p.prompt, TEXTS[f"p{i}"][:3]) for i, p in enumerate(TOY.prompts)]
    return open_submission(write_toy(tmp_path / "given", rows), find_toy)[0]


def test_attacks_have_names() -> None:
    assert len({attack.name for attack in ATTACKS}) == len({attack.fn for attack in ATTACKS}) == len(ATTACKS) == 24
    with pytest.raises(ConfigurationError, match="did you mean shuffled-words"):
        find_attack("shufled-words")


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
def test_an_attack_makes_as_many_texts_and_depends_on_its_seed_alone(attack: Attack) -> None:
    texts = attacked(attack, PROMPTS, TEXTS, 1)
    assert list(texts) == list(TEXTS)
    assert {len(each) for each in texts.values()} == {10}
    assert not any(is_blank(text) for each in texts.values() for text in each)
    backwards = dict(reversed(TEXTS.items()))
    assert attacked(attack, PROMPTS, backwards, 1) == texts
    assert (attacked(attack, PROMPTS, TEXTS, 2) != texts) == (attack.seeded)
    different = {"repeated": 1}.get(attack.name, 9)
    assert all(len(set(each)) >= different for each in texts.values())
    # Nothing breaks on the shortest of submissions.
    for text in ("7", "x.", "?!", "Ünï"):
        alone = AttackedSet("Pick a number", (text,), ())
        assert len(attack.fn(alone, random.Random(0))) == 1  # noqa: S311


def test_junk_has_nothing_of_the_responses_but_their_form() -> None:
    for text, source in pairs("shuffled-words"):
        assert Counter(text.split()) == Counter(source.split())
        assert text.split() != source.split()
        assert text == " ".join(text.split())
    for text, source in pairs("random-characters"):
        assert set(text) <= set(LETTERS)
        assert len(source) - 4 <= len(text) <= len(source)  # white space at the ends is taken off
    for text, source in pairs("random-words"):
        assert len(text.split()) == len(source.split())
        assert set(text.split()) <= set(banks()["words"])
    for prompt_id, texts in made("other-prompts").items():
        homes = [home for text in texts for home, own in TEXTS.items() if text in own]
        assert len(set(homes)) == 10
        assert prompt_id not in homes
    for text, source in pairs("book-sentences"):
        assert text.startswith(tuple(banks()["book"]["who"]))
        assert len(source) - 130 < len(text) < len(source) + 170
    assert all(PROMPTS[i] in text for i, texts in made("echoes").items() for text in texts)
    assert all(text.startswith(tuple(banks()["refusals"])) for texts in made("refusals").values() for text in texts)


def test_junk_may_contain_words_of_the_prompt_or_another_script() -> None:
    for prompt_id, texts in made("random-sentences").items():
        for text, source in zip(texts, TEXTS[prompt_id], strict=True):
            words = [word for each in sentences(text) for word in each.rstrip(".").lower().split()]
            assert len(words) == len(source.split()) + len(PROMPTS[prompt_id].split())
            assert set(words) <= {*banks()["words"], *PROMPTS[prompt_id].lower().rstrip("?").split()}
            assert all(each[0] == each[0].upper() and each.endswith(".") for each in sentences(text))
    for text, _ in pairs("chinese-characters"):
        assert len(text) == 12
        assert all(unicodedata.name(letter).startswith("CJK UNIFIED IDEOGRAPH") for letter in text)
    for prompt_id, texts in made("prompt-openings").items():
        for text in texts:
            opening, _, junk = text.partition(": ")
            assert set(opening.split()[1:]) <= set(PROMPTS[prompt_id].split())
            assert junk.startswith(tuple(banks()["book"]["who"]))


def test_random_characters_are_never_blank() -> None:
    given = AttackedSet("p", ("", " ", "x") * 300, ())
    texts = find_attack("random-characters").fn(given, random.Random(0))  # noqa: S311
    assert all(len(text) == 1 and text != " " for text in texts)


def test_disguises_keep_what_the_responses_say() -> None:
    for text, source in pairs("numbered") + pairs("random-prefixes") + pairs("translated-openings"):
        assert text.endswith(f" {source}")
    for text, source in pairs("random-suffixes"):
        assert text.startswith(f"{source} ")
        assert len(text) == len(source) + 13
    back = {alike: letter for letter, alike in banks()["homoglyphs"].items()}
    for text, source in pairs("homoglyphs"):
        assert "".join(back.get(letter, letter) for letter in text if letter not in ZERO_WIDTH) == source
        assert not text.isascii()
    assert all(unicodedata.name(alike).split()[0] in ("CYRILLIC", "GREEK") for alike in back)
    for text, source in pairs("case-and-punctuation"):
        assert source.rstrip(".").casefold() in text.casefold()
        assert text != source
    for text, source in pairs("synonyms"):
        assert "big" not in text.split()
        assert text[-20:-1].split()[-1] == "why" == source.split()[-1][:-1]
    for text, source in pairs("reordered-sentences"):
        assert sorted(sentences(text)) == sorted(sentences(source))
        assert text != source
    for text, source in pairs("truncated"):
        assert " ".join(source.split()).startswith(text)
        assert 0.3 < len(text.split()) / len(source.split()) < 0.7
    for text, source in pairs("padded"):
        assert text.startswith(" ".join(sentences(source)))
        assert text.endswith(tuple(banks()["fillers"]))


def test_copies_are_the_first_response() -> None:
    assert all(set(texts) == {TEXTS[i][0]} for i, texts in made("repeated").items())
    for prompt_id, texts in made("reworded").items():
        assert texts[0] == TEXTS[prompt_id][0]
        assert all("know" in text and "why!" in text for text in texts)


def test_a_baseline_is_a_submission_that_says_where_it_comes_from(given: Submission, tmp_path: Path) -> None:
    for attack in ATTACKS:
        submission = write_baseline(attack, given, TOY, tmp_path / attack.name)
        assert submission.folder == tmp_path / attack.name
        report = check(submission.folder)
        assert [problem for problem in report.findings.problems if problem.severity == "error"] == []
        assert report.submission == submission
        manifest, rows = derive(attack, given, TOY)
        assert manifest == submission.manifest
        assert [(r.prompt_id, r.prompt, len(r.responses)) for r in rows] == [
            (r.prompt_id, r.prompt, 3) for r in given.rows()
        ]
        assert (manifest.name, manifest.system.type, manifest.generation.k) == (attack.name, "baseline", 3)
        assert manifest.origin is not None
        assert manifest.origin.format == "derived"
        assert manifest.notes == f"{attack.about}, from the submission 'toy-system' ({given.id})"
        assert manifest.generation.seed == (0 if attack.seeded else None)
    with pytest.raises(ConfigurationError, match="already exists"):
        write_baseline(ATTACKS[1], given, TOY, tmp_path / ATTACKS[0].name)


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_demo_submissions(tmp_path_factory.mktemp("demo") / "submissions")[0].parent


@pytest.mark.parametrize(
    "name", ["varied", "paraphrased", "collapsed", "repeated", "random-characters", "shuffled-words"]
)
def test_each_demo_submission_passes_every_check(demo: Path, name: str) -> None:
    submission, suite, report = open_submission(demo / name)
    assert report.findings.problems == []
    assert suite == load_suite("demo")
    assert (submission.prompts, submission.manifest.generation.k, report.counts.responses) == (24, 10, 240)
    rows = list(submission.rows())
    written = name in ("varied", "paraphrased", "collapsed")
    assert (submission.manifest.name, submission.manifest.system.type) == (name, "human" if written else "baseline")
    if name in ("varied", "paraphrased"):
        assert len({text for row in rows for text in row.responses}) == 240
    if name == "collapsed":
        assert all(sorted(Counter(row.responses).values()) == [1, 2, 7] for row in rows)


def test_demo_submissions_are_written_once_and_again_if_lost(demo: Path, tmp_path: Path) -> None:
    def contents(folder: Path) -> dict[str, bytes]:
        return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}

    write_demo_submissions(tmp_path)
    assert contents(tmp_path) == contents(demo)
    shutil.rmtree(tmp_path / "repeated")
    (tmp_path / "varied" / "manifest.json").touch()
    write_demo_submissions(tmp_path)
    assert contents(tmp_path) == contents(demo)
