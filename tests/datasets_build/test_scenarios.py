"""The synthetic sets have the structure that they claim, are the same everywhere, and metrics see it."""

import hashlib
import os
import random
import re
import string
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from functools import cache
from itertools import combinations, pairwise
from math import perm, prod
from statistics import mean
from typing import Any, cast

import pytest

from benchmark.metrics import METRICS
from benchmark.scoring.compute import Value, score_set
from datasets_build.scenarios import SCHEMA, SEED, SPLITS, VERSION, rows
from datasets_build.scenarios.forms import Form
from datasets_build.scenarios.garbage import INCOHERENT, noise
from datasets_build.scenarios.mode_count import sea_forms
from datasets_build.scenarios.structures import FAMILIES, topics
from datasets_build.schema import conform
from datasets_build.word_banks import word_bank
from divbench.core.errors import ConfigurationError
from divbench.core.files import canonical_json
from divbench.core.rng import below, different, pick, shuffled, some, stream
from submissions.checking.response_kinds import is_scorable

Row = dict[str, Any]

# Published results name the version: a digest changes only together with it, and that is to be seen in a review.
DIGESTS = {
    ("1.0.0", "scenarios"): "a0093a07615db15e1083992d9fc3677f967546296c5432f1a85ecfcb4197435a",
    ("1.0.0", "mode_count"): "d274d96d44da1aaa93450e0c301fdd804e5560d19b68cb86a43c16c71e0e238a",
    ("1.0.0", "pos_pattern"): "95bbb4da319c58c59eb5eea23939ae3c2422aa0bdabe0b7f72f907fa839f2f8b",
}

FORMS = sea_forms()
TOPICS = topics()
TOPIC_FORMS = [each for topic in TOPICS for each in (*topic.forms, topic.paragraph)]
EVERY_FORM = [*FORMS, *TOPIC_FORMS]

PARTS = word_bank("scenarios", "parts_of_speech")
LETTERS = {"adjectives": "A", "agents": "N", "places": "N", "verbs": "V", "adverbs": "R", "prepositions": "P"}
CLASSES = {word: LETTERS[part] for part, words in PARTS.items() for word in words}


@cache
def of(split: str) -> list[Row]:
    return list(rows(split))


def of_family(family: str) -> list[Row]:
    return [row for split in SPLITS for row in of(split) if row["family"] == family]


def everything() -> list[Row]:
    return [row for split in SPLITS for row in of(split)]


def digest(split: str, seed: int = SEED) -> str:
    return hashlib.sha256(canonical_json(list(rows(split, seed)))).hexdigest()


SEEN_BY = ("distinct_n", "distinct_n_tevet", "cosine_diversity_tevet", "compression_ratio", "entropy_2")
SINGLE_WORDS = ("unique_1grams", "type_token_ratio", "entropy_1")


@cache
def scores(set_id: str) -> dict[str, Value]:
    row = next(row for row in everything() if row["set_id"] == set_id)
    return score_set(row["responses"], [metric for metric in METRICS if metric.id in SEEN_BY + SINGLE_WORDS])


def value(row: Row, metric: str) -> float:
    return cast("float", scores(row["set_id"])[metric])


def pattern(made: Form) -> re.Pattern[str]:
    """What a text of this form looks like: a second reading of template and banks."""
    parts = []
    for literal, field, _, _ in string.Formatter().parse(made.template):
        parts.append(re.escape(literal))
        if field:
            words = made.banks[field.lower().rstrip(string.digits)]
            shown = [w[0].upper() + w[1:] for w in words] if field[0].isupper() else words
            parts.append(f"(?:{'|'.join(map(re.escape, shown))})")
    return re.compile("".join(parts))


# The rows


def test_each_split_has_its_families_prompts_and_sizes() -> None:
    assert SPLITS == ("scenarios", "mode_count", "pos_pattern")
    counts = {split: Counter((r["family"], len(r["responses"])) for r in of(split)) for split in SPLITS}
    assert counts["scenarios"] == {(family, 10): 5 for family in FAMILIES}
    assert list(FAMILIES) == ["noise", "incoherent", "multi_mode", "one_mode", "mixed"]
    assert counts["mode_count"] == {("mode_count", 12): 200}
    assert counts["pos_pattern"] == {("pos_pattern", 40): 20, ("pos_scrambled", 40): 20}
    assert {len({r["context"] for r in of(split)}) for split in ("mode_count", "pos_pattern")} == {1}
    for family in FAMILIES:
        assert [r["context"] for r in of_family(family)] == [topic.prompt for topic in TOPICS]
    assert len({topic.prompt for topic in TOPICS}) == 5


def test_each_number_of_modes_and_each_pos_family_has_twenty_draws() -> None:
    draws = Counter((r["modes"], r["draw"]) for r in of("mode_count"))
    assert draws == {(modes, draw): 1 for modes in range(1, 11) for draw in range(20)}
    assert Counter((r["family"], r["draw"]) for r in of("pos_pattern")) == {
        (family, draw): 1 for family in ("pos_pattern", "pos_scrambled") for draw in range(20)
    }


def test_the_rows_are_exactly_of_the_schema() -> None:
    for split in SPLITS:
        table = conform(of(split), SCHEMA, split)
        assert table.to_pylist() == of(split)
        assert {f.name for f in SCHEMA if f.nullable} == {"modes", "mode_of"}


def test_no_two_sets_share_an_id_and_no_two_responses_of_a_set_are_equal() -> None:
    assert len({row["set_id"] for row in everything()}) == len(everything()) == 265
    for row in everything():
        assert len(set(row["responses"])) == len(row["responses"]), row["set_id"]


def test_no_two_sets_have_equal_responses() -> None:
    assert len({tuple(sorted(row["responses"])) for row in everything()}) == 265


def test_an_unknown_split_is_refused_at_the_call() -> None:
    with pytest.raises(ConfigurationError, match=r"no split 'noise' \(one of scenarios, mode_count, pos_pattern\)"):
        rows("noise")


# Determinism


def test_the_rows_of_this_version_are_the_published_ones() -> None:
    for split in SPLITS:
        assert digest(split) == DIGESTS[VERSION, split]


def test_other_processes_make_the_same_rows() -> None:
    for hash_seed in ("1", "4242"):
        program = (
            "import hashlib, sys\n"
            "from divbench.core.files import canonical_json\n"
            "from datasets_build.scenarios import SPLITS, rows\n"
            "print(*(hashlib.sha256(canonical_json(list(rows(s)))).hexdigest() for s in SPLITS))\n"
            "heavy = {'torch', 'transformers', 'datasets', 'pandas', 'sklearn', 'scipy'}\n"
            "assert not heavy & sys.modules.keys(), heavy & sys.modules.keys()\n"
        )
        done = subprocess.run(
            [sys.executable, "-c", program],
            env=os.environ | {"PYTHONHASHSEED": hash_seed},
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout.split() == [digest(split) for split in SPLITS]


def test_the_global_generator_is_neither_read_nor_moved() -> None:
    random.seed(7)
    before = random.getstate()
    first = digest("scenarios")
    assert random.getstate() == before
    random.seed(8)
    assert digest("scenarios") == first


def test_another_seed_gives_other_sets_of_the_same_shape() -> None:
    for split in SPLITS:
        for mine, other in zip(of(split), rows(split, SEED + 1), strict=True):
            assert mine["set_id"] == other["set_id"]
            assert mine["modes"] == other["modes"]
            assert mine["responses"] != other["responses"]


# The texts


def test_texts_are_ascii_without_unfilled_slots_or_extra_spaces() -> None:
    for row in everything():
        for text in row["responses"]:
            assert text.isascii(), row["set_id"]
            assert text == text.strip(), row["set_id"]
            assert is_scorable(text), row["set_id"]
            if row["family"] not in ("noise", "mixed"):
                assert not re.search(r"[{}]|  | \n|\n |\n\n| [,.;:?!]", text.replace("... ", "")), text


def test_noise_is_60_to_100_printable_ascii_characters() -> None:
    texts = [text for row in of_family("noise") for text in row["responses"]]
    texts += [noise(stream("noise", i)) for i in range(2000)]
    assert {len(text) for text in texts} == set(range(60, 101))
    assert set("".join(texts)) == {chr(code) for code in range(32, 127)}


# The modes


def test_the_number_of_modes_is_as_stated() -> None:
    for row in everything():
        if row["modes"] is None:
            assert row["mode_of"] is None
        else:
            assert len(row["mode_of"]) == len(row["responses"])
            assert len(set(row["mode_of"])) == row["modes"], row["set_id"]
    stated = {row["family"]: row["modes"] for row in of("scenarios")}
    assert stated == {"noise": None, "incoherent": 5, "multi_mode": 5, "one_mode": 1, "mixed": None}


def test_modes_are_used_as_evenly_as_they_can_be() -> None:
    for row in everything():
        if row["modes"] is not None:
            shares = Counter[int](row["mode_of"]).values()
            assert max(shares) - min(shares) <= 1, row["set_id"]


def test_modes_are_shuffled() -> None:
    """Two responses of one mode side by side as often as chance has it: 1 in 9 in a set of five pairs."""
    beside = [a == b for i in range(100) for a, b in _neighbours(rows("scenarios", i), "multi_mode")]
    assert mean(beside) == pytest.approx(1 / 9, abs=0.02)


def _neighbours(given: Any, family: str) -> list[tuple[int, int]]:
    labels = [row["mode_of"] for row in given if row["family"] == family]
    return [pair for each in labels for pair in pairwise(each)]


def test_each_response_of_mode_count_fits_the_form_it_names_and_no_other() -> None:
    patterns = [pattern(each) for each in FORMS]
    for row in of("mode_count"):
        for text, which in zip(row["responses"], row["mode_of"], strict=True):
            assert [i for i, each in enumerate(patterns) if each.fullmatch(text)] == [which], text


def test_each_form_of_mode_count_is_drawn() -> None:
    assert {which for row in of("mode_count") for which in row["mode_of"]} == set(range(len(FORMS)))


def test_each_coherent_response_fits_its_topic_and_its_form() -> None:
    for topic in TOPICS:
        by_family = {row["family"]: row for row in of("scenarios") if row["context"] == topic.prompt}
        assert len(topic.forms) == 5
        multi, one = by_family["multi_mode"], by_family["one_mode"]
        for text, which in zip(multi["responses"], multi["mode_of"], strict=True):
            assert [i for i, each in enumerate(topic.forms) if pattern(each).fullmatch(text)] == [which]
        assert all(pattern(topic.paragraph).fullmatch(text) for text in one["responses"])


GARBAGE = {
    "inventory": r"(ITEM \d{3}:( [A-Z]+){3};? ?){3}",
    "equations": r"([a-z]+ [-+*/] [a-z]+ = ([a-z]+|\d+)(; )?){3}",
    "record": r"([a-z]+=[a-z]+( \| )?){6}",
    "chant": r"([A-Z][a-z]+( [a-z]+)+, ([a-z]+ ){2}[a-z]+! ?){2}",
    "salad": r"The( [a-z]+){5},( [a-z]+){3} of the( [a-z]+){4}\.",
}


def kinds_of(text: str) -> list[str]:
    return [kind for kind, shape in GARBAGE.items() if re.fullmatch(shape, text)]


def test_incoherent_responses_have_five_formats_that_no_sensible_response_has() -> None:
    names = [write.__name__ for write in INCOHERENT]
    assert names == list(GARBAGE)
    for row in of_family("incoherent"):
        assert [kinds_of(text) for text in row["responses"]] == [[names[i]] for i in row["mode_of"]]
    assert not any(kinds_of(each.write(stream("any"))) for each in EVERY_FORM)


def test_mixed_sets_are_half_sensible_and_half_not() -> None:
    for topic, row in zip(TOPICS, of_family("mixed"), strict=True):
        sensible = [i for text in row["responses"] for i, f in enumerate(topic.forms) if pattern(f).fullmatch(text)]
        senseless = [kind for text in row["responses"] for kind in kinds_of(text)]
        assert sorted(sensible) == [0, 1, 2, 3, 4]
        assert len(senseless) == len(set(senseless)) == 3


# The forms


def test_there_are_more_than_fifty_forms_of_different_names() -> None:
    assert len({each.name for each in FORMS}) == len(FORMS) == 67
    for topic in TOPICS:
        assert len({each.name for each in topic.forms}) == 5


def test_the_banks_of_a_form_are_its_slots_and_give_many_texts() -> None:
    for made in EVERY_FORM:
        assert set(made.banks) == set(made.slots)
        for name, bank in made.banks.items():
            assert len(set(bank)) == len(bank) >= len(made.slots[name]), name
            assert all(word == word.strip() and word for word in bank), name
            assert not any(set(word) & {"{", "}"} for word in bank), name
        assert number_of_texts(made) >= 200
        assert len({made.write(stream(made.name, i)) for i in range(20)}) >= 18


def test_texts_of_one_form_are_more_alike_than_texts_of_any_two() -> None:
    """A mode is a mode: for every form, mean overlap of words within it exceeds that with each other form."""
    words = {f.name: [set(f.write(stream("like", f.name, i)).lower().split()) for i in range(6)] for f in FORMS}
    flat = [text for texts in words.values() for text in texts]
    assert len({tuple(sorted(text)) for text in flat}) == len(flat)
    for name, texts in words.items():
        within = mean(overlap(a, b) for a, b in combinations(texts, 2))
        for other, others in words.items():
            if other != name:
                assert within > 1.5 * mean(overlap(a, b) for a in texts for b in others), (name, other)


def number_of_texts(made: Form) -> int:
    return prod(perm(len(made.banks[bank]), len(slots)) for bank, slots in made.slots.items())


def overlap(a: set[str], b: set[str]) -> float:
    return len(a & b) / len(a | b)


def test_a_slot_is_filled_alike_each_time_and_differently_under_another_number() -> None:
    made = Form("toy", "{Animal1}, {animal2}, {animal1}; {n}", {"animal": ("ape", "bee", "cat"), "n": ("1",)})
    seen = {made.write(stream("toy", i)) for i in range(200)}
    assert seen == {
        f"{a.capitalize()}, {b}, {a}; 1" for a in made.banks["animal"] for b in made.banks["animal"] if a != b
    }


# Words in order and out of order


def test_both_pos_families_have_the_same_words_sentence_by_sentence() -> None:
    for ordered, scrambled in zip(of_family("pos_pattern"), of_family("pos_scrambled"), strict=True):
        assert ordered["draw"] == scrambled["draw"]
        for a, b in zip(ordered["responses"], scrambled["responses"], strict=True):
            assert Counter(a.split()) == Counter(b.split())


def test_one_family_has_one_pattern_and_the_other_never_has_it() -> None:
    def classes(text: str) -> str:
        return "".join(CLASSES[word] for word in text.split())

    assert len(CLASSES) == sum(map(len, PARTS.values()))
    assert {classes(t) for row in of_family("pos_pattern") for t in row["responses"]} == {"ANVRPAN"}
    orders = Counter(classes(t) for row in of_family("pos_scrambled") for t in row["responses"])
    assert "ANVRPAN" not in orders
    assert {"".join(sorted(order)) for order in orders} == {"AANNPRV"}
    # 800 draws of 1,259 equally likely orders hit 592 of them on average, give or take 13.
    assert 592 - 52 < len(orders) < 592 + 52


# What metrics see


def test_many_modes_are_more_diverse_than_one_on_every_prompt() -> None:
    for metric in SEEN_BY:
        for many, one in zip(of_family("multi_mode"), of_family("one_mode"), strict=True):
            assert many["context"] == one["context"]
            assert value(many, metric) > value(one, metric)


def test_mean_diversity_rises_with_every_mode() -> None:
    for metric in ("distinct_n", "distinct_n_tevet", "compression_ratio"):
        means = [mean(value(r, metric) for r in of("mode_count") if r["modes"] == modes) for modes in range(1, 11)]
        assert means == sorted(means)
        assert means[-1] > 1.5 * means[0]


def test_response_length_does_not_reveal_the_number_of_modes() -> None:
    means = [mean(len(t) for r in of("mode_count") if r["modes"] == m for t in r["responses"]) for m in range(1, 11)]
    assert max(means) < 1.2 * min(means)


def test_metrics_of_single_words_see_no_difference_between_the_pos_families() -> None:
    for metric in SINGLE_WORDS:
        for ordered, scrambled in zip(of_family("pos_pattern"), of_family("pos_scrambled"), strict=True):
            assert value(ordered, metric) == pytest.approx(value(scrambled, metric), abs=1e-12)


def test_metrics_of_order_find_the_scrambled_words_more_diverse() -> None:
    for metric in ("distinct_n", "entropy_2", "compression_ratio"):
        pairs = zip(of_family("pos_pattern"), of_family("pos_scrambled"), strict=True)
        assert mean(value(scrambled, metric) - value(ordered, metric) for ordered, scrambled in pairs) > 0


# The draws


class OnlyRandom:
    """A generator that has nothing but `random()`, the one method whose stream Python promises."""

    def __init__(self, *numbers: float) -> None:
        self.numbers = iter(numbers * 50)

    def random(self) -> float:
        return next(self.numbers)


DRAWS: list[tuple[Callable[[random.Random], Any], Any]] = [
    (lambda rng: [below(rng, 10) for _ in range(3)], [0, 9, 5]),
    (lambda rng: pick(rng, "abc"), "a"),
    (lambda rng: some(rng, "abcd", 2), ["a", "d"]),
    (lambda rng: shuffled(rng, "abcd"), ["a", "d", "b", "c"]),
    (lambda rng: different(2, lambda: pick(rng, "ab")), ["a", "b"]),
]


def test_draws_read_random_alone() -> None:
    for draw, wanted in DRAWS:
        assert draw(cast("random.Random", OnlyRandom(0.0, 0.999, 0.5))) == wanted


def test_impossible_draws_are_refused() -> None:
    with pytest.raises(ValueError, match="3 of 2 items"):
        some(stream(0), "ab", 3)
    with pytest.raises(ValueError, match="only 2 of 3 different texts"):
        different(3, lambda: pick(stream_of_two, "ab"))


stream_of_two = stream("two")
