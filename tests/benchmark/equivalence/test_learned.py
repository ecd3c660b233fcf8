"""The learned backend: trees against scikit-learn, sets read together, frames, wordings, the demo."""

import json
from collections.abc import Sequence
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
    split_opening,
    telling_numbers_apart,
)
from benchmark.equivalence.learned.features import pair_features, prompted_text
from benchmark.equivalence.learned.model_file import Linear, PairModel, SetModel, load_set_model, save_set_model
from benchmark.equivalence.learned.train import (
    LabelledPairs,
    LabelledSet,
    agreement,
    fit,
    held_out_log_odds,
    judged_sets,
    paraphrase_sets,
    wording_sets,
    wrapper_sets,
)
from benchmark.equivalence.learned.words import BUCKETS
from benchmark.equivalence.partitioning import ResponsesToGroup, find_partition_spec, partition_by_pairs
from benchmark.models.boosted_trees import as_trees
from benchmark.models.embedder import SentenceTransformersEmbedder, read_whole
from divbench.core.errors import ConfigurationError
from divbench.core.files import sha256_of
from submissions.gaming.baselines import DEMO_TEXTS
from tests.benchmark.fakes import HashEmbedder

TEXTS = ["a red cat sat", "the red cat sat down", "", "?!", "7 **Dogs**", "雨が降っている。"]
MEANINGS = json.loads(Path(__file__).with_name("meanings.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def learned(minilm: SentenceTransformersEmbedder) -> LearnedEquivalence:
    return Learned().load(loaded=minilm)


def classes(backend: LearnedEquivalence, prompt: str, *texts: str) -> int:
    [labels] = partition_by_pairs([ResponsesToGroup.of(prompt, texts)], backend, "average")
    return len(set(labels))


def some_pairs() -> LabelledPairs:
    """Sets of two with random features of which the first decides, some of the others missing."""
    rng = np.random.default_rng(0)
    features = rng.random((3000, 6)).astype(np.float32)
    features[:, 3:][rng.random((3000, 3)) < 0.2] = np.nan
    same = features[:, 0] + rng.normal(0, 0.1, 3000) > 0.5
    sets = [
        LabelledSet("judged", f"system {i % 5}", i // 5 % 5, str(i), ("a", "b"), (0, 0 if each else 1))
        for i, each in enumerate(same)
    ]
    names = ("cosine", "far", "frame", "x", "log_words_lower", "conflict")
    return LabelledPairs(names, features, same, np.arange(3000), sets)


# The model as arrays


def test_trees_are_those_of_scikit_learn_with_missing_values_and_linear_part(tmp_path: Path) -> None:
    from sklearn.ensemble import HistGradientBoostingClassifier

    pairs = some_pairs()
    trees = HistGradientBoostingClassifier(max_iter=15, max_leaf_nodes=7, random_state=0)
    trees.fit(pairs.features, pairs.same)
    linear = Linear(np.full(6, 0.5), np.full(6, 0.1), np.arange(7) / 10)
    pair_model = PairModel(as_trees(trees), linear, np.array(0.25))
    model = SetModel(pairs.names, pair_model, linear, np.ones(BUCKETS, np.float32))
    save_set_model(model, tmp_path / "model.npz")
    read = load_set_model(tmp_path / "model.npz")
    features = pairs.features[::7].astype(np.float64)
    expected = trees.decision_function(features)
    assert np.ptp(expected) > 1
    assert read.pairs.trees.predict(features) == pytest.approx(expected, abs=1e-12)
    by_hand = np.clip((np.nan_to_num(features) - 0.5) / 0.1, -4, 4) @ (np.arange(6) / 10) + 0.6
    columns = dict(zip(pairs.names, features.T, strict=True))
    log_odds = 0.25 * expected + 0.75 * by_hand
    assert read.probabilities(columns) == pytest.approx(1 / (1 + np.exp(-log_odds)))


def test_training_twice_gives_the_same_model_and_held_out_pairs_are_not_learned() -> None:
    pairs = some_pairs()
    features = pairs.features.astype(np.float64)
    assert np.array_equal(fit(pairs).log_odds(features), fit(pairs).log_odds(features))
    held_out = held_out_log_odds(pairs)
    tested = pairs.of_sets([each.system == "system 1" and each.group == 2 for each in pairs.sets])
    turned = LabelledPairs(pairs.names, pairs.features, pairs.same ^ tested, pairs.set_index, pairs.sets)
    assert np.array_equal(held_out_log_odds(turned)[tested], held_out[tested])
    assert not np.array_equal(held_out_log_odds(turned), held_out)


def test_the_shipped_model_is_the_signed_one_and_small(learned: LearnedEquivalence) -> None:
    assert sha256_of(MODEL) == learned_backend.MODEL_SHA256
    assert MODEL.stat().st_size < 3 * 2**20
    assert learned.signature == Learned().signature == find_partition_spec("learned").backend.signature
    assert learned.signature.startswith(f"learned-v4@{sha256_of(MODEL)[:12]},sentence-transformers/all-MiniLM-L6-v2@")
    assert Learned(threshold=0.25).signature.endswith("over-0.25")


def test_another_file_in_the_models_place_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learned_backend, "MODEL_SHA256", "0" * 64)
    with pytest.raises(ConfigurationError, match="not the file of this version"):
        Learned().load()


# Reading


def test_a_long_text_is_read_whole_and_its_beginning_as_before(minilm: SentenceTransformersEmbedder) -> None:
    long = " ".join(f"Sentence {i} is about lighthouses." for i in range(150)) + " The keeper owned a parrot."
    [(beginning, whole), (short, same)] = read_whole(minilm, [long, "A parrot."])
    [read] = minilm.read([long])
    assert beginning.pieces == read.pieces
    assert len(whole.pieces) > 3 * len(beginning.pieces)
    assert "parrot" in whole.pieces
    assert "parrot" not in beginning.pieces
    assert short is same


def test_scores_are_probabilities_symmetric_and_the_same_in_any_company() -> None:
    backend = LearnedEquivalence(Learned(), HashEmbedder(), load_set_model(MODEL))
    pairs = [ResponsePair("which cat", a, b) for a in TEXTS for b in TEXTS]
    scores = backend.scores(pairs)
    assert ((scores >= 0) & (scores <= 1)).all()
    assert (scores[[pair.a == pair.b for pair in pairs]] == 1).all()
    assert np.array_equal(backend.scores([ResponsePair(pair.prompt, pair.b, pair.a) for pair in pairs]), scores)
    assert np.array_equal(np.concatenate([backend.scores([pair]) for pair in pairs]), scores)
    assert backend.scores([]).shape == (0,)


def test_scores_of_a_set_do_not_depend_on_the_order_of_its_responses() -> None:
    backend = LearnedEquivalence(Learned(), HashEmbedder(), load_set_model(MODEL))

    def by_pair(texts: Sequence[str]) -> dict[frozenset[str], float]:
        [scores, empty, single] = backend.set_scores([("which cat", texts), ("", ()), ("", ("one",))])
        assert len(empty) == len(single) == 0
        return dict(zip(map(frozenset, combinations(texts, 2)), scores.tolist(), strict=True))

    assert by_pair(TEXTS[::-1]) == by_pair(TEXTS)


def test_features_of_learned_diversity_are_those_of_the_first_256_tokens(learned: LearnedEquivalence) -> None:
    texts = ["Red. " * 300, "Blue is better."]
    read = dict(zip(["Why?", *texts], learned._embedder.read(["Why?", *texts]), strict=True))
    expected = pair_features(*(prompted_text(read[text], read["Why?"]) for text in sorted(texts)))
    learned.scores([ResponsePair("Why?", *texts)])
    for reader in (learned.reader, PairReader(learned._embedder)):
        assert reader.features([ResponsePair("Why?", *texts)])[0] == pytest.approx(expected, abs=1e-5)


OPENINGS = (
    "Unter uns gesagt:",
    "Sofa gravel eleven pardon.",
    "Bom dia a todos!",
    "qX7 plo9rt Zuu3:",
    "ご質問ありがとう。",
)


def test_openings_that_say_nothing_change_nothing(learned: LearnedEquivalence) -> None:
    prompt, text = "Name a fruit.", "One fruit that many people enjoy is the mango."
    plain = learned.scores([ResponsePair(prompt, text, "You could try a ripe mango, cut into slices.")])
    pairs = [ResponsePair(prompt, f"{a} {text}", f"{b} {text}") for a in OPENINGS for b in OPENINGS]
    assert learned.scores(pairs).min() == 1
    framed = [ResponsePair(prompt, f"{a} {text}", "You could try a ripe mango, cut into slices.") for a in OPENINGS]
    assert learned.scores(framed) == pytest.approx(np.repeat(plain, len(framed)), abs=1e-3)


@pytest.mark.parametrize(
    "text",
    ["Red.", "Sure! Red it is.", "Certainly: red.", "3.5 red", "- red", "Dr. No", "", "a " * 31 + ". Red.", "Red! 7"],
)
def test_what_has_no_opening_is_compared_whole(text: str) -> None:
    assert split_opening(text) is None


# What it decides


@pytest.mark.parametrize("prompt", MEANINGS["frames"])
def test_different_short_answers_stay_apart_bare_and_in_frames(learned: LearnedEquivalence, prompt: str) -> None:
    kind = MEANINGS["frames"][prompt]
    for frame in ("{}", *kind["frames"]):
        assert classes(learned, prompt, *(frame.format(answer) for answer in kind["bare"])) >= 7


def test_paraphrases_of_a_response_are_joined(learned: LearnedEquivalence) -> None:
    scores = learned.scores([ResponsePair(*pair) for pair in MEANINGS["paraphrases"]])
    assert np.mean(scores > learned.threshold) >= 0.85


def test_different_meanings_in_the_same_sentence_stay_apart(learned: LearnedEquivalence) -> None:
    scores = learned.scores([ResponsePair(*pair) for pair in MEANINGS["minimal_pairs"]])
    assert np.mean(scores <= learned.threshold) >= 0.9


def test_one_answer_in_other_words_is_one_class_also_if_nearly_all_give_it(learned: LearnedEquivalence) -> None:
    prompt = "Which pet should I get?"
    pets = ("A cat would be lovely.", "I would suggest a cat.", "A cat!", "A hamster, perhaps.")
    assert classes(learned, prompt, *pets) == 2
    assert classes(learned, prompt, *["A cat."] * 9, "A hamster.") == 2
    assert classes(learned, "Name a play.", "Seagull", "The Seagull", "Seagull!", "Sea Gull") == 1


@pytest.mark.parametrize("prompt", ["", "Hi", "¿Cuál es la capital?", "x = 1"])
def test_whatever_is_asked_and_answered_there_are_classes(learned: LearnedEquivalence, prompt: str) -> None:
    assert classes(learned, prompt, "Madrid", "print(1)", "I'm sorry, I can't help.", "🐢", "?!", "雨") >= 4


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
    assert classes(learned, prompt, *numbers) == 4
    marked = tuple(f"{mark} {numbers[0]}" for mark in ("1.", "Answer 2:", "(3)", "#4."))
    suffixed = tuple(f"{numbers[0]} {suffix}" for suffix in ("8kD2", "a7", "R2D2", "x99"))
    for texts in (marked, suffixed):
        pairs = [ResponsePair(prompt, a, b) for a, b in combinations(texts, 2)]
        assert telling_numbers_apart(pairs, np.ones(len(pairs))).min() == 1


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


def test_sets_of_our_own_are_the_same_each_time_and_have_pairs_of_both_kinds() -> None:
    for make in (wrapper_sets, wording_sets):
        sets = make()
        assert make() == sets
        labels = [same for each in sets for same in each.same()]
        assert 0.1 < np.mean(labels) < 0.5
        assert all(len(set(each.texts)) == len(each.texts) > 1 for each in sets)


@pytest.mark.mirror
def test_judged_sets_are_read_with_their_parts(mirror: Path) -> None:
    sets = judged_sets(mirror)
    assert len(sets) == 2300
    assert len({each.system for each in sets}) == 23
    whole = next(each for each in sets if len(each.texts) == 10)
    assert [len(part.texts) for part in whole.with_parts()] == [10, *[2] * 6, 5]
    assert {each.group for each in paraphrase_sets(mirror)} == set(range(20))


def test_perfect_scores_agree_perfectly() -> None:
    sets = [
        LabelledSet("judged", system, 0, "a prompt", ("one", "two", "three", "four"), labels)
        for system, labels in (("a", (0, 1, 0, 2)), ("b", (0, 0, 0, 1)))
    ]
    sets.append(LabelledSet("people", "", -2, "", ("one", "two"), (0, 0)))
    sets.append(LabelledSet("people", "", -3, "", ("one", "two"), (0, 1)))
    same = np.array([label for each in sets for label in each.same()])
    pairs = LabelledPairs(("conflict",), np.zeros((14, 1), np.float32), same, np.repeat(range(4), [6, 6, 1, 1]), sets)
    measured = dict(agreement(sets[:2], pairs, same.astype(np.float64)))
    assert measured["adjusted Rand index"] == measured["AUC, people's pairs"] == 1
    assert measured["mean absolute error of the classes"] == 0
    assert dict(agreement(sets[:2], pairs, 1 - same.astype(np.float64)))["AUC, people's pairs"] == 0


def demo_lines() -> list[str]:
    from datasets_build.sources.generated import TEXTS

    return TEXTS.read_text(encoding="utf-8").splitlines()
