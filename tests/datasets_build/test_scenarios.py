"""The synthetic sets have the structure that they claim, are the same everywhere, and metrics see it."""

import hashlib
import random
import re
import string
from collections import Counter
from functools import cache
from statistics import mean
from typing import Any, cast

import pytest

from benchmark.metrics import METRICS
from benchmark.scoring.inputs import score_set
from datasets_build.scenarios.sets import FAMILIES, SCHEMA, SEED, SPLITS, VERSION, rows, sea_forms, topics
from datasets_build.scenarios.texts import INCOHERENT, Form, noise
from datasets_build.schema import conform
from datasets_build.word_banks import word_bank
from divbench.core.errors import ConfigurationError
from divbench.core.files import canonical_json
from divbench.core.rng import stream

Row = dict[str, Any]

# Published results name the version: a digest changes only together with it, and that is to be seen in a review.
DIGESTS = {
    ("1.0.0", "scenarios"): "a0093a07615db15e1083992d9fc3677f967546296c5432f1a85ecfcb4197435a",
    ("1.0.0", "mode_count"): "d274d96d44da1aaa93450e0c301fdd804e5560d19b68cb86a43c16c71e0e238a",
    ("1.0.0", "pos_pattern"): "95bbb4da319c58c59eb5eea23939ae3c2422aa0bdabe0b7f72f907fa839f2f8b",
}
BY_SPLIT = {split: list(rows(split)) for split in SPLITS}
ALL_ROWS = [row for split in SPLITS for row in BY_SPLIT[split]]


def of_family(family: str) -> list[Row]:
    return [row for row in ALL_ROWS if row["family"] == family]


@cache
def value(set_id: str, metric: str) -> float:
    row = next(row for row in ALL_ROWS if row["set_id"] == set_id)
    return cast("float", score_set(row["responses"], [each for each in METRICS if each.id == metric])[metric])


def pattern(form: Form) -> re.Pattern[str]:
    """What a text of this form looks like: a second reading of template and banks."""
    parts = []
    for literal, field, _, _ in string.Formatter().parse(form.template):
        parts.append(re.escape(literal))
        if field:
            words = form.banks[field.lower().rstrip(string.digits)]
            shown = [w[0].upper() + w[1:] for w in words] if field[0].isupper() else words
            parts.append(f"(?:{'|'.join(map(re.escape, shown))})")
    return re.compile("".join(parts))


def fitting(text: str, forms: tuple[Form, ...]) -> list[int]:
    return [i for i, form in enumerate(forms) if pattern(form).fullmatch(text)]


def test_the_rows_of_this_version_are_the_published_ones() -> None:
    random.seed(7)
    before = random.getstate()
    for split in SPLITS:
        assert hashlib.sha256(canonical_json(list(rows(split, SEED)))).hexdigest() == DIGESTS[VERSION, split]
        assert conform(BY_SPLIT[split], SCHEMA, split).to_pylist() == BY_SPLIT[split]
    assert random.getstate() == before


def test_each_split_has_its_families_and_sizes() -> None:
    counts = {split: Counter((r["family"], len(r["responses"])) for r in BY_SPLIT[split]) for split in SPLITS}
    assert counts == {
        "scenarios": {(family, 10): 5 for family in FAMILIES},
        "mode_count": {("mode_count", 12): 200},
        "pos_pattern": {("pos_pattern", 40): 20, ("pos_scrambled", 40): 20},
    }
    assert len({row["set_id"] for row in ALL_ROWS}) == len({tuple(sorted(r["responses"])) for r in ALL_ROWS}) == 265
    assert all(len(set(row["responses"])) == len(row["responses"]) for row in ALL_ROWS)


def test_an_unknown_split_is_refused_at_the_call() -> None:
    with pytest.raises(ConfigurationError, match=r"no split 'noise' \(one of scenarios, mode_count, pos_pattern\)"):
        rows("noise")


def test_another_seed_gives_other_sets_of_the_same_shape() -> None:
    for split in SPLITS:
        for mine, other in zip(BY_SPLIT[split], rows(split, SEED + 1), strict=True):
            assert (mine["set_id"], mine["modes"]) == (other["set_id"], other["modes"])
            assert mine["responses"] != other["responses"]


def test_noise_is_60_to_100_printable_ascii_characters() -> None:
    texts = [noise(stream("noise", i)) for i in range(2000)]
    assert {len(text) for text in texts} == set(range(60, 101))
    assert set("".join(texts)) == {chr(code) for code in range(32, 127)}
    assert all(text == text.strip() for text in texts)


def test_the_number_of_modes_is_as_stated_and_they_are_used_evenly() -> None:
    assert {row["family"]: row["modes"] for row in BY_SPLIT["scenarios"]} == {
        "noise": None,
        "incoherent": 5,
        "multi_mode": 5,
        "one_mode": 1,
        "mixed": None,
    }
    for row in ALL_ROWS:
        shares = Counter(row["mode_of"] or ())
        assert len(shares) == (row["modes"] or 0)
        assert not shares or max(shares.values()) - min(shares.values()) <= 1, row["set_id"]


def test_each_response_of_mode_count_fits_the_form_it_names_and_no_other() -> None:
    patterns = [pattern(form) for form in sea_forms()]
    for row in BY_SPLIT["mode_count"][::7]:
        for text, mode in zip(row["responses"], row["mode_of"], strict=True):
            assert [i for i, form in enumerate(patterns) if form.fullmatch(text)] == [mode], text
    assert {mode for row in BY_SPLIT["mode_count"] for mode in row["mode_of"]} == set(range(67))


GARBAGE = {
    "inventory": r"(ITEM \d{3}:( [A-Z]+){3};? ?){3}",
    "equations": r"([a-z]+ [-+*/] [a-z]+ = ([a-z]+|\d+)(; )?){3}",
    "record": r"([a-z]+=[a-z]+( \| )?){6}",
    "chant": r"([A-Z][a-z]+( [a-z]+)+, ([a-z]+ ){2}[a-z]+! ?){2}",
    "salad": r"The( [a-z]+){5},( [a-z]+){3} of the( [a-z]+){4}\.",
}


def kinds_of(text: str) -> list[str]:
    return [kind for kind, shape in GARBAGE.items() if re.fullmatch(shape, text)]


def test_responses_of_each_family_have_its_formats() -> None:
    names = [write.__name__ for write in INCOHERENT]
    for row in of_family("incoherent"):
        assert [kinds_of(text) for text in row["responses"]] == [[names[i]] for i in row["mode_of"]]
    families = [of_family(name) for name in ("multi_mode", "one_mode", "mixed")]
    for topic, many, one, mixed in zip(topics(), *families, strict=True):
        assert many["context"] == one["context"] == mixed["context"] == topic.prompt
        assert [fitting(text, topic.forms) for text in many["responses"]] == [[mode] for mode in many["mode_of"]]
        assert all(pattern(topic.paragraph).fullmatch(text) for text in one["responses"])
        assert sorted(i for text in mixed["responses"] for i in fitting(text, topic.forms)) == [0, 1, 2, 3, 4]
        assert len({kind for text in mixed["responses"] for kind in kinds_of(text)}) == 3


def test_a_slot_is_filled_alike_each_time_and_differently_under_another_number() -> None:
    form = Form("toy", "{Animal1}, {animal2}, {animal1}; {n}", {"animal": ("ape", "bee", "cat"), "n": ("1",)})
    animals = form.banks["animal"]
    assert {form.write(stream("toy", i)) for i in range(200)} == {
        f"{a.capitalize()}, {b}, {a}; 1" for a in animals for b in animals if a != b
    }


def test_the_two_families_of_patterns_differ_in_order_alone() -> None:
    letters = {"adjectives": "A", "agents": "N", "places": "N", "verbs": "V", "adverbs": "R", "prepositions": "P"}
    bank = word_bank("scenarios", "parts_of_speech")
    class_of = {word: letters[part] for part, words in bank.items() for word in words}
    orders = Counter[str]()
    for ordered, scrambled in zip(of_family("pos_pattern"), of_family("pos_scrambled"), strict=True):
        for a, b in zip(ordered["responses"], scrambled["responses"], strict=True):
            assert Counter(a.split()) == Counter(b.split())
            assert "".join(class_of[word] for word in a.split()) == "ANVRPAN"
            orders["".join(class_of[word] for word in b.split())] += 1
    assert "ANVRPAN" not in orders
    # 800 draws of 1,259 equally likely orders hit 592 of them on average, give or take 13.
    assert 592 - 52 < len(orders) < 592 + 52


def test_metrics_see_the_modes_and_the_order_of_words() -> None:
    for many, one in zip(of_family("multi_mode"), of_family("one_mode"), strict=True):
        assert value(many["set_id"], "distinct_n") > value(one["set_id"], "distinct_n")
        assert value(many["set_id"], "compression_ratio") > value(one["set_id"], "compression_ratio")
    by_modes = {m: [r["set_id"] for r in BY_SPLIT["mode_count"] if r["modes"] == m] for m in range(1, 11)}
    means = [mean(value(name, "distinct_n") for name in names) for names in by_modes.values()]
    assert means == sorted(means)
    for ordered, scrambled in zip(of_family("pos_pattern"), of_family("pos_scrambled"), strict=True):
        names = ordered["set_id"], scrambled["set_id"]
        assert value(names[0], "unique_1grams") == pytest.approx(value(names[1], "unique_1grams"), abs=1e-12)
        assert value(names[0], "entropy_2") < value(names[1], "entropy_2")
