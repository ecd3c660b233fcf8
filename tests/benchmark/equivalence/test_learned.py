"""The learned backend: features by hand, trees against scikit-learn, wrappers, paraphrases, the demo."""

import json
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from benchmark.equivalence.backend import ResponsePair
from benchmark.equivalence.learned import backend as learned_backend
from benchmark.equivalence.learned.backend import (
    MODEL,
    Learned,
    LearnedEquivalence,
    PairReader,
    load_pair_model,
    split_opening,
    telling_numbers_apart,
)
from benchmark.equivalence.learned.features import FEATURES, LINEAR
from benchmark.equivalence.learned.train import (
    LabelledPairs,
    LabelledSet,
    agreement,
    as_pair_model,
    fit,
    fold_of,
    held_out_probabilities,
    paraphrase_sets,
    people_auc,
    published_sets,
    save_pair_model,
    wrapper_sets,
)
from benchmark.equivalence.partitioning import ResponsesToGroup, find_partition_spec, partition_by_pairs
from benchmark.equivalence.rules import Rouge1
from benchmark.models.embedder import SentenceTransformersEmbedder
from divbench.core.errors import ConfigurationError
from divbench.core.files import sha256_of
from submissions.gaming.baselines import DEMO_TEXTS
from tests.benchmark.fakes import HashEmbedder

NAMES = [name for name, _ in FEATURES]
TEXTS = ["a red cat sat", "the red cat sat down", "", "?!", "7 **Dogs**", "雨が降っている。"]
QUESTIONS = [ResponsePair("which cat", a, b) for a in TEXTS for b in TEXTS]


@pytest.fixture(scope="module")
def learned(minilm: SentenceTransformersEmbedder) -> LearnedEquivalence:
    return Learned().load(loaded=minilm)


def some_pairs(count: int = 600, seed: int = 0) -> LabelledPairs:
    """Random features of which the first decides, some of the later ones missing."""
    rng = np.random.default_rng(seed)
    features = rng.random((count, len(FEATURES)))
    features[:, LINEAR:][rng.random((count, len(FEATURES) - LINEAR)) < 0.2] = np.nan
    labels = features[:, 0] + rng.normal(0, 0.1, count) > 0.5
    systems = np.array(["a", "b", ""])[np.arange(count) % 3]
    folds = np.where(systems == "", -1, np.arange(count) // 3 % 3)
    return LabelledPairs(features, features, labels, np.zeros(count, np.bool_), systems, folds)


# The model as arrays


def test_trees_are_those_of_scikit_learn_with_missing_values_and_linear_part(tmp_path: Path) -> None:
    from sklearn.ensemble import HistGradientBoostingClassifier

    pairs = some_pairs()
    trees = HistGradientBoostingClassifier(max_iter=15, max_leaf_nodes=7, random_state=0)
    trees.fit(pairs.features, pairs.corrected)
    linear = np.arange(LINEAR + 1) / 10
    save_pair_model(as_pair_model(trees, linear, 0.25), tmp_path / "model.npz")
    model = load_pair_model(tmp_path / "model.npz")
    other = some_pairs(seed=1).features
    expected = trees.decision_function(other)
    assert np.ptp(expected) > 1
    assert model.tree_log_odds(other) == pytest.approx(expected, abs=1e-12)
    assert model.linear_log_odds(other) == pytest.approx(other[:, :LINEAR] @ linear[:-1] + linear[-1])
    both = 0.25 * expected + 0.75 * model.linear_log_odds(other)
    assert model.probabilities(other) == pytest.approx(1 / (1 + np.exp(-both)))


def test_training_twice_makes_the_same_bytes_and_held_out_pairs_are_not_learned(tmp_path: Path) -> None:
    pairs = some_pairs()
    for name in ("one", "two"):
        save_pair_model(fit(pairs), tmp_path / name)
    one, two = ((tmp_path / f"{name}.npz").read_bytes() for name in ("one", "two"))
    assert one == two
    held_out = held_out_probabilities(pairs)
    assert np.isnan(held_out[pairs.system == ""]).all()
    tested = (pairs.system == "a") & (pairs.fold == 1)
    turned = LabelledPairs(
        pairs.features,
        pairs.features,
        pairs.corrected ^ tested,
        pairs.identical,
        pairs.system,
        pairs.fold,
    )
    assert np.array_equal(held_out_probabilities(turned)[tested], held_out[tested])
    assert not np.array_equal(held_out_probabilities(turned)[pairs.system == "b"], held_out[pairs.system == "b"])


def test_the_shipped_model_is_the_signed_one_and_small(learned: LearnedEquivalence) -> None:
    assert sha256_of(MODEL) == learned_backend.MODEL_SHA256
    assert MODEL.stat().st_size < 15 * 2**20
    assert learned.signature == Learned().signature == find_partition_spec("learned").backend.signature
    assert learned.signature.startswith(f"learned-v3@{sha256_of(MODEL)[:12]},sentence-transformers/all-MiniLM-L6-v2@")
    assert Learned(threshold=0.25).signature.endswith("over-0.25")


def test_another_file_in_the_models_place_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learned_backend, "MODEL_SHA256", "0" * 64)
    with pytest.raises(ConfigurationError, match="not the file of this version"):
        Learned().load()


# Features


def test_features_by_hand() -> None:
    pair = ResponsePair("which cat", "A red Cat sat", "the red cat ran to 7 Dogs")
    [row], [without] = PairReader(HashEmbedder()).features([pair])
    assert np.array_equal(row, without, equal_nan=True)
    found = dict(zip(NAMES, row, strict=True))
    assert found["words_f1"] == pytest.approx(2 * 2 / 11)
    assert found["bigrams_f1"] == pytest.approx(2 * 1 / 9)
    assert found["content_words_jaccard"] == pytest.approx(1 / 5)  # red | red, sat, ran, 7, dogs
    assert found["content_words_overlap"] == pytest.approx(1 / 2)
    assert found["capitalised_jaccard"] == 0
    assert found["numbers_jaccard"] == 0
    assert np.isnan(found["marked_jaccard"])
    # Weights: 1; .1 for "cat", of the prompt; .15 for "a", "the" and "to". Left over: the, ran, to, 7, dogs; a, sat.
    assert found["unmatched_higher"] == pytest.approx((3 + 2 * 0.15) / (4 + 2 * 0.15 + 0.1))
    assert found["unmatched_lower"] == pytest.approx((1 + 0.15) / (2 + 0.15 + 0.1))
    assert found["shorter_log_words"] == pytest.approx(np.log1p(4))
    assert found["longer_log_words"] == pytest.approx(np.log1p(7))


def test_scores_are_probabilities_symmetric_and_the_same_in_any_company() -> None:
    backend = LearnedEquivalence(Learned(), HashEmbedder(), load_pair_model(MODEL))
    found = backend.scores(QUESTIONS)
    assert np.isfinite(found).all()
    assert ((found >= 0) & (found <= 1)).all()
    assert (found[[pair.a == pair.b for pair in QUESTIONS]] == 1).all()
    assert np.array_equal(backend.scores([ResponsePair(q.prompt, q.b, q.a) for q in QUESTIONS]), found)
    assert np.array_equal(np.concatenate([backend.scores([question]) for question in QUESTIONS]), found)
    assert backend.scores([]).shape == (0,)


OPENINGS = (
    "Unter uns gesagt:",
    "Sofa gravel eleven pardon.",
    "Bom dia a todos!",
    "qX7 plo9rt Zuu3:",
    "ご質問ありがとう。",
)


def test_openings_that_say_nothing_change_nothing(learned: LearnedEquivalence) -> None:
    prompt, text = "Name a fruit.", "One fruit that many people enjoy is the mango."
    for other in (text, "You could try a ripe pear, cut into slices."):
        plain = ResponsePair(prompt, text, other)
        pairs = [ResponsePair(prompt, f"{a} {text}", f"{b} {other}") for a in OPENINGS for b in OPENINGS]
        pairs.append(ResponsePair(prompt, f"{OPENINGS[0]} {OPENINGS[1]}\n\n{OPENINGS[2]} {text}", other))
        (expected, _), (_, found) = learned.reader.features([plain]), learned.reader.features(pairs)
        np.testing.assert_allclose(found, np.repeat(expected, len(pairs), axis=0), atol=1e-3)
        assert learned.scores(pairs).min() >= learned.scores([plain])[0] - 0.01 - (text == other) * 0.1


def test_openings_about_the_prompt_or_what_follows_are_compared(learned: LearnedEquivalence) -> None:
    for prompt, follows in (("Name a fruit.", "It is sweet and cheap."), ("What now?", "That is a fruit.")):
        whole, without = learned.reader.features([ResponsePair(prompt, f"Mango. {follows}", f"Pear. {follows}")])
        assert np.array_equal(whole, without, equal_nan=True)


@pytest.mark.parametrize(
    "text",
    ["Red.", "Sure! Red it is.", "Certainly: red.", "3.5 red", "- red", "Dr. No", "", "a " * 31 + ". Red.", "Red! 7"],
)
def test_what_has_no_opening_is_compared_whole(text: str) -> None:
    assert split_opening(text) is None


# What it decides


@pytest.mark.parametrize(
    ("prompt", "wrapped", "answers", "classes"),
    [
        (
            "I need a name for my puffle.",
            "Of course! A sweet name for your little puffle could be {}, which sounds playful.",
            ("Sparkle", "Biscuit", "Thunder", "Noodle"),
            3,
        ),
        (
            "What country should I visit?",
            "You could think about visiting {} this year.",
            ("Peru", "Iceland", "Japan"),
            2,
        ),
    ],
)
def test_other_names_in_the_same_sentence_are_other_answers_to_it_and_one_to_rouge(
    learned: LearnedEquivalence, prompt: str, wrapped: str, answers: tuple[str, ...], classes: int
) -> None:
    sentences = tuple(wrapped.format(answer) for answer in answers)
    given = ResponsesToGroup.of(prompt, sentences)
    [found], [by_words] = (partition_by_pairs([given], each, "average") for each in (learned, Rouge1().load()))
    assert len(set(by_words)) == 1
    assert len(set(found)) >= classes  # not all: see the card
    near = learned.scores([ResponsePair(prompt, text, text.replace("could", "might")) for text in sentences])
    assert near.min() > learned.threshold


@pytest.mark.parametrize(
    ("prompt", "sentence"),
    [
        ("Roll a die.", "You rolled a {}!"),
        ("Pick a number from 1 to 100.", "Out of 1 to 100, I choose **{}**."),
        ("Which 4-digit code shall I take?", "Take {}, because nobody would think of it."),
        ("Pick a random year.", "{} it is."),
    ],
)
def test_other_numbers_in_the_same_sentence_are_other_answers_if_the_prompt_asks_for_one(
    learned: LearnedEquivalence, prompt: str, sentence: str
) -> None:
    numbers = [sentence.format(number) for number in ("2", "5", "3", "6")]
    [found] = partition_by_pairs([ResponsesToGroup.of(prompt, tuple(numbers))], learned, "average")
    assert len(set(found)) == 4
    marked = tuple(f"{mark} {numbers[0]}" for mark in ("1.", "Answer 2:", "(3)", "#4."))
    suffixed = tuple(f"{numbers[0]} {suffix}" for suffix in ("8kD2", "a7", "R2D2", "x99"))
    for texts in (marked, suffixed):
        pairs = [ResponsePair(prompt, a, b) for a, b in combinations(texts, 2)]
        assert telling_numbers_apart(pairs, np.ones(len(pairs))).min() == 1


def test_the_same_answer_in_another_sentence_is_closer_than_another_answer_in_the_same_one(
    learned: LearnedEquivalence,
) -> None:
    prompt, fruits = "Name a fruit.", ("mango", "pear", "kiwi")
    sentences = [f"One fruit that many people enjoy is the {fruit}." for fruit in fruits]
    same = [ResponsePair(prompt, f"{fruit.capitalize()}!", text) for fruit, text in zip(fruits, sentences, strict=True)]
    different = [ResponsePair(prompt, a, b) for a, b in combinations(sentences, 2)]
    found = learned.scores(same)
    assert found.min() > learned.scores(different).max()
    assert np.mean(found > learned.threshold) > 0.5  # not all: see the card
    assert learned.scores(different).max() < learned.threshold
    rouge = Rouge1().load()
    assert rouge.scores(same).max() < rouge.threshold < rouge.scores(different).min()


def test_demo_paraphrases_are_few_classes_and_varied_responses_many(learned: LearnedEquivalence) -> None:
    prompts = {row["prompt_id"]: row["prompt"] for row in map(json.loads, demo_lines())}
    counts = {}
    for name in ("varied", "paraphrased", "collapsed"):
        rows = [json.loads(line) for line in (DEMO_TEXTS / f"{name}.jsonl").read_text().splitlines()][::4]
        sets = [ResponsesToGroup.of(prompts[row["prompt_id"]], tuple(row["responses"])) for row in rows]
        counts[name] = np.mean([len(set(labels)) for labels in partition_by_pairs(sets, learned, "average")])
    assert counts["varied"] >= 9
    assert counts["paraphrased"] <= 5.5  # one idea in ten wordings; ROUGE-1 has 8.5
    assert counts["collapsed"] <= 1.5


# Data and evaluation


def test_wrappers_are_the_same_answer_in_any_sentence() -> None:
    sets = wrapper_sets()
    assert wrapper_sets() == sets
    for each in sets:
        labels = np.array(each.labels)
        assert len(set(each.texts)) == len(labels) == 12
        assert sum(each.published()) == 4 * 3


@pytest.mark.mirror
def test_published_sets_and_the_labels_that_are_corrected(mirror: Path) -> None:
    sets = published_sets(mirror)
    assert len(sets) == 600
    assert sum(len(each.pairs()) for each in sets) == 25_300
    changed = {each.system: 0 for each in sets}
    for each in sets:
        changed[each.system] += sum(a != b for a, b in zip(each.published(), each.corrected(), strict=True))
    assert changed["humans"] == 0
    assert changed["gemini-1.5-pro"] == max(changed.values())
    paraphrases = paraphrase_sets(mirror)
    assert len(paraphrases) == 100
    assert {fold_of(each.prompt_id) for each in paraphrases} == {0, 1, 2}


def test_perfect_scores_agree_perfectly() -> None:
    sets = [
        LabelledSet("published", system, "p", "a prompt", ("one", "two", "three", "four"), labels)
        for system, labels in (("a", (0, 1, 0, 2)), ("b", (0, 0, 0, 1)))
    ]
    scores = np.array([float(label) for each in sets for label in each.published()])
    assert agreement(sets, scores, 0.5) == (1, 1, 2.5, 2.5)
    auc, _, classes, published = agreement(sets, 1 - scores, 0.5)
    assert (auc, published) == (0, 2.5)
    assert classes != published


@pytest.mark.mirror
def test_pairs_that_people_labelled_are_told_apart_by_shared_words(mirror: Path) -> None:
    assert people_auc(Rouge1().load(), mirror) > 0.6


def demo_lines() -> list[str]:
    from datasets_build.sources.generated import TEXTS

    return TEXTS.read_text(encoding="utf-8").splitlines()
