"""Homogeneity across systems: exact counts against enumeration, and the laws that they obey."""

import csv
import io
import shutil
from collections.abc import Sequence
from datetime import date
from functools import partial
from itertools import combinations, product
from pathlib import Path
from statistics import fmean

import numpy as np
import pytest
from numpy.typing import NDArray

from benchmark.analysis.across import (
    NONE,
    AcrossSystems,
    across_systems,
    class_counts,
    classes_in_common,
    cluster_order,
    group_prompt,
    homogeneity,
    one_of_several,
    pooled,
    report_of,
    same_class,
    several_of_one,
    valid_responses,
)
from benchmark.metrics.metric import MOST_FOR_MODELS
from benchmark.scoring.backends import ScoringBackends
from benchmark.scoring.profiles import find_profile
from submissions.schema import Generation, Manifest, Row, Submitter, System
from submissions.storage.submission_folders import write_submission
from tests.conftest import divbench, document


def across(labels: NDArray[np.int64]) -> AcrossSystems:
    prompts, systems, k = labels.shape
    names = tuple(f"system {i}" for i in range(systems))
    similarity = np.full((prompts, systems, systems), np.nan)
    return AcrossSystems(names, tuple(map(str, range(prompts))), k, labels, similarity)


def drawn(k: int = 4, seed: int = 3) -> AcrossSystems:
    return across(np.random.default_rng(seed).integers(NONE, 5, (3, 4, k)))


def distinct(labels: object) -> int:
    return len(set(np.ravel(np.array(labels)).tolist()) - {NONE})


def test_pairs_of_responses_and_shared_classes_agree_with_enumeration() -> None:
    found = drawn()
    same, common = same_class(class_counts(found)), classes_in_common(class_counts(found))
    for prompt, (a, b) in product(range(3), product(range(4), repeat=2)):
        first, second = ([x for x in found.labels[prompt, i] if x != NONE] for i in (a, b))
        pairs = [(x, y) for i, x in enumerate(first) for j, y in enumerate(second) if a != b or i != j]
        assert same[prompt, a, b] == pytest.approx(fmean(x == y for x, y in pairs))
        assert common[prompt, a, b] == pytest.approx(len(set(first) & set(second)) / len(set(first) | set(second)))


@pytest.mark.parametrize("k", [4, 5])
def test_pooled_responses_agree_with_enumeration(k: int) -> None:
    found = drawn(k)
    made = pooled(class_counts(found), found.k)
    for prompt, (a, b) in product(range(3), combinations(range(4), 2)):
        one, other = found.labels[prompt, a], found.labels[prompt, b]
        halves = {k // 2, k - k // 2}
        wanted = fmean(
            fmean(distinct([*x, *y]) for x in combinations(one.tolist(), half) for y in combinations(other, k - half))
            for half in halves
        )
        assert made[prompt, a, b] == pytest.approx(wanted) == made[prompt, b, a]
    own = [[distinct(found.labels[prompt, a]) for a in range(4)] for prompt in range(3)]
    assert np.diagonal(made, axis1=1, axis2=2).tolist() == own


def test_one_of_several_and_several_of_one_agree_with_enumeration() -> None:
    found = drawn()
    for size in (1, 2, 3, 4):
        several, one = (
            several_of_one(class_counts(found), found.k, size),
            one_of_several(class_counts(found), found.k, size),
        )
        for prompt in range(3):
            for system in range(4):
                sets = combinations(found.labels[prompt, system].tolist(), size)
                assert several[prompt, system] == pytest.approx(fmean(map(distinct, sets)))
            chosen = combinations(found.labels[prompt].tolist(), size)
            assert one[prompt] == pytest.approx(fmean(distinct(each) for own in chosen for each in product(*own)))
    assert one_of_several(class_counts(found), found.k, 1) == pytest.approx(
        several_of_one(class_counts(found), found.k, 1).mean(axis=1)
    )


def test_a_copy_of_a_system_is_as_alike_as_can_be_and_adds_nothing() -> None:
    found = drawn()
    twice = across(np.concatenate([found.labels, found.labels[:, :1]], axis=1))
    assert np.nanmin(classes_in_common(class_counts(twice))[:, 0, 4]) == 1
    assert pooled(class_counts(twice), twice.k)[:, 0, 4] == pytest.approx(pooled(class_counts(twice), twice.k)[:, 4, 0])
    assert (
        pooled(class_counts(twice), twice.k)[:, 0, 4] <= pooled(class_counts(twice), twice.k)[:, 0, 0] + 1e-12
    ).all()  # two of one thing are no news
    everywhere = across(np.zeros((2, 3, 4), np.int64))
    assert (same_class(class_counts(everywhere)) == 1).all()
    assert (pooled(class_counts(everywhere), everywhere.k) == 1).all()
    assert (one_of_several(class_counts(everywhere), everywhere.k, 3) == 1).all()


def test_the_order_of_systems_and_of_responses_changes_nothing() -> None:
    found = drawn()
    order = [2, 0, 3, 1]
    turned = across(found.labels[:, order, ::-1])
    counts, turned_counts = class_counts(found), class_counts(turned)
    for measure in (same_class, classes_in_common, partial(pooled, k=found.k)):
        assert measure(turned_counts) == pytest.approx(measure(counts)[:, order][:, :, order], nan_ok=True)
    assert one_of_several(class_counts(turned), turned.k, 3) == pytest.approx(
        one_of_several(class_counts(found), found.k, 3)
    )


def test_nothing_valid_is_missing_not_alike() -> None:
    found = across(np.full((1, 2, 3), NONE))
    assert class_counts(found).shape == (1, 2, 0)
    assert np.isnan(same_class(class_counts(found))).all()
    assert np.isnan(classes_in_common(class_counts(found))).all()
    assert (pooled(class_counts(found), found.k) == 0).all()


def test_alike_systems_stand_together() -> None:
    alike = np.full((4, 4), 0.1)
    for pair in ((0, 2), (1, 3)):
        alike[pair] = alike[pair[::-1]] = 0.9
    order = cluster_order(alike[None])
    assert sorted(order) == [0, 1, 2, 3]
    assert {frozenset(order[:2]), frozenset(order[2:])} == {frozenset((0, 2)), frozenset((1, 3))}
    assert cluster_order(alike[None, :2, :2]) == [0, 1]


def test_the_summary_has_each_mean_in_its_place() -> None:
    found = drawn()
    made = homogeneity(found, [0, 1, 3], resamples=200)
    together, same = (
        pooled(class_counts(found), found.k).mean(axis=0),
        np.nanmean(same_class(class_counts(found)), axis=0),
    )
    assert [(each.first, each.second) for each in made.pairs] == list(combinations(range(4), 2))
    for pair in made.pairs:
        both = together[pair.first, pair.second]
        assert pair.together.value == pytest.approx(both)
        alone = max(together[pair.first, pair.first], together[pair.second, pair.second])
        assert pair.gain.value == pytest.approx(both - alone)
        assert pair.in_common.value == pytest.approx(
            classes_in_common(class_counts(found))[:, pair.first, pair.second].mean()
        )
    assert np.array(made.matrix("same_class"), float) == pytest.approx(same)
    assert made.size == 3
    assert made.of_one.value == pytest.approx(several_of_one(class_counts(found), found.k, 3)[:, [0, 1, 3]].mean())
    assert made.of_several.value == pytest.approx(one_of_several(class_counts(found)[:, [0, 1, 3]], found.k, 3).mean())


class Letters:
    """An embedder of the first two letters."""

    signature = "letters"

    def embed(self, texts: Sequence[str]) -> NDArray[np.float64]:
        made = np.array([[ord(text[0]), ord(text[1])] for text in texts], np.float64)
        return np.asarray(made / np.linalg.norm(made, axis=1, keepdims=True))


def test_the_report_has_every_number_in_csv() -> None:
    found = homogeneity(drawn(), resamples=100)
    rows = list(csv.reader(io.StringIO(report_of(found, "toy", "semantic").text(".csv"))))
    assert rows[0] == ["first", "second", "measure", "value", "low", "high"]
    assert len(rows) == 1 + 4 * 3 + 6 * 5 + 2
    pair, own = found.pairs[0], found.alone[3]
    assert ["system 0", "system 1", "gain", *map(str, (pair.gain.value, pair.gain.low, pair.gain.high))] in rows
    assert ["system 3", "", "distinct", *map(str, (own.distinct.value, own.distinct.low, own.distinct.high))] in rows


def test_responses_are_grouped_and_compared_across_systems() -> None:
    cat, dog = "A small grey cat is a good pet.", "Dogs of all kinds live in houses with people."
    sets = [(cat, dog, cat), (dog, dog, dog), (cat, ""), ("qzx vkq jjw", dog)]
    backends = ScoringBackends(find_profile("lexical"), embedder=Letters())
    found = group_prompt("Name a pet that lives in a house.", sets, (2, 3), backends)
    assert found.labels == ((0, 1, 0), (1, 1, 1), (0, None), (2, 1))
    a, b = Letters().embed([cat, dog])
    cosine = float(a @ b)
    wanted = [[cosine, (1 + cosine) / 2, (1 + cosine) / 2], [(1 + cosine) / 2, 1, cosine], [(1 + cosine) / 2, cosine]]
    assert found.similarity[2][0, :3].tolist() == pytest.approx(wanted[0])
    assert found.similarity[2][1, :3].tolist() == pytest.approx(wanted[1])
    assert found.similarity[2][2, :2].tolist() == pytest.approx(wanted[2])
    assert np.isnan(found.similarity[2][2, 2])  # one response has no other of its own
    assert np.isnan(found.similarity[3][:, 2:]).all()
    valid = [[True] * 3, [True] * 3, [True, False], [False, True]]
    names = ["both", "dogs", "cat", "junk"]
    made = across_systems(names, 2, {"p0": found}, [{"p0": each} for each in valid])
    assert made.systems == tuple(names)
    assert made.labels.tolist() == [[[0, 1], [1, 1], [0, NONE], [NONE, 1]]]
    assert across_systems(names, 3, {"p0": found}, [{"p0": each} for each in valid]).systems == ("both", "dogs")
    cut = group_prompt("A pet?", [(cat, dog)], (2,), backends, [("stop", "length")])
    assert cut.labels == ((0, None),)


def test_validity_is_that_of_the_profile() -> None:
    backends = ScoringBackends(find_profile("lexical"))
    sets = [
        ("A small grey cat is a good pet.", "", "I'm sorry, but I can't help with that."),
        ("Dogs live with people.",),
    ]
    assert valid_responses(["Name a pet."] * 2, sets, backends) == [[True, False, False], [True]]


def write_own(folder: Path, name: str, responses: dict[str, tuple[str, ...]]) -> None:
    """A submission to prompts of its own."""
    system = System(type="model")
    submitter = Submitter(name="tester", date=date(2026, 1, 1))
    k = len(next(iter(responses.values())))
    manifest = Manifest(name=name, suite="own", system=system, generation=Generation(k=k), submitter=submitter)
    folder.mkdir()
    rows = [Row(i, prompt, f"Say {prompt}.", texts) for i, (prompt, texts) in enumerate(responses.items(), 1)]
    write_submission(folder, manifest, rows)


def test_the_command_says_how_alike_systems_are(tmp_path: Path) -> None:
    for name, word in (("one", "cat"), ("other", "dog")):
        write_own(tmp_path / name, name, {"p0": (f"A small {word} lives here.", f"My {word} is not at home today.")})
    folders = (tmp_path / "one", tmp_path / "other")
    found = document(divbench("contrast", *folders, "--across", "--profile", "semantic", "--json"))
    assert found["systems"] == ["one", "other"]
    assert found["k"] == 2
    assert [(pair["first"], pair["second"]) for pair in found["pairs"]] == [(0, 1)]
    assert 0 < found["pairs"][0]["similarity"]["value"] < 1
    assert divbench("contrast", *folders, "--across", "--pairs", "all").returncode == 2
    single = divbench("contrast", *folders, "--across", "--profile", "semantic", "--k", 1).stdout
    assert "1 responses" not in single
    refused = divbench("contrast", *folders, "--across", "--profile", "lexical")
    assert refused.returncode == 2
    assert "such as semantic" in refused.stderr


def test_a_prompt_that_cannot_be_grouped_is_excluded_and_never_counts_as_no_classes(tmp_path: Path) -> None:
    third = MOST_FOR_MODELS // 3 + 1
    same = {"p1": ("A small cat lives here.",) * third}
    names = ("one", "other", "third")
    for name in names:
        texts = tuple(f"{name} {number}" for number in range(third))  # too many different ones only together
        write_own(tmp_path / name, name, {"p0": texts} | same)
    folders = [tmp_path / name for name in names]
    asked = ("contrast", *folders, "--across", "--profile", "semantic", "--json")
    found = document(divbench(*asked))
    assert found["prompts"] == 1
    assert found["left_out"] == {"more than 2,000 different responses, too many for all pairs": 1}
    for folder in folders:
        shutil.rmtree(folder)
        write_own(folder, folder.name, {"p0": tuple(f"{folder.name} {number}" for number in range(third))})
    refused = divbench(*asked)
    assert refused.returncode == 2
    assert "cannot be grouped on any prompt: more than 2,000 different responses" in refused.stderr
    assert "--k" in refused.stderr
