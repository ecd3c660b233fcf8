"""The prompt pairs: their counts, that `a` is the smaller space, that they read well and are always the same."""

import hashlib
import random
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import pytest

from datasets_build.gssbench import PAIRS, PROMPTS, SEED, SPLITS, VERSION, pairs, prompts
from datasets_build.gssbench.lattices import INCLUSIONS, MEMBERS, genres, one_of, request, structures
from datasets_build.gssbench.questions import templates
from datasets_build.gssbench.rows import prompt_id
from datasets_build.gssbench.writing_tasks import families
from datasets_build.schema import conform
from datasets_build.word_banks import word_bank
from divbench.core.errors import ConfigurationError
from divbench.core.files import canonical_json

Rows = list[dict[str, Any]]

ROWS: Mapping[str, Rows] = {split: list(pairs(split)) for split in SPLITS}
FAMILIES = families()
FACTS = [fact for template in templates() for fact in template.facts()]

# Digest of the rows of version 1.0.0 and seed 0. If this test fails, the rows changed, and so must VERSION.
DIGEST = "c5c77f46ba3338ef036c6506e85617e8cb557a139bbbeb4e98d22fa09c6ca93b"


def sets(rows: Iterable[dict[str, Any]]) -> dict[str, Rows]:
    """The rows by their set."""
    by_set: dict[str, Rows] = defaultdict(list)
    for row in rows:
        by_set[row["set_id"]].append(row)
    return by_set


def accuracy(rows: Rows, score: Callable[[str], float]) -> float:
    """The share of pairs whose `b` scores higher."""
    return sum(score(row["a"]) < score(row["b"]) for row in rows) / len(rows)


def test_the_rows_of_this_version_are_pinned() -> None:
    random.seed(3)
    before = random.getstate()
    rows = [[list(pairs(split, SEED)) for split in SPLITS], list(prompts(SEED))]
    assert random.getstate() == before
    assert (VERSION, hashlib.sha256(canonical_json(rows)).hexdigest()) == ("1.0.0", DIGEST)


def test_the_splits_have_as_many_pairs_and_sets_as_the_paper_says() -> None:
    counts = {split: (len(rows), len(sets(rows))) for split, rows in ROWS.items() if split != "factualqa"}
    assert counts == {
        "complement": (500, 500),
        "random_choice": (500, 500),
        "subset": (1800, 180),
        "union": (3000, 60),
        "intersection": (3000, 60),
    }
    assert sum(map(len, ROWS.values())) == 9300


def test_the_prompts_are_the_texts_of_the_pairs_each_once() -> None:
    table = list(prompts())
    assert conform(table, PROMPTS, "prompts").to_pylist() == table
    uses: Counter[str] = Counter()
    splits: dict[str, list[str]] = defaultdict(list)
    for split, rows in ROWS.items():
        assert conform(rows, PAIRS, split).to_pylist() == rows
        for row in rows:
            for side in ("a", "b"):
                assert row[f"{side}_id"] == prompt_id(row[side])
                uses[row[side]] += 1
                if split not in splits[row[side]]:
                    splits[row[side]].append(split)
    assert {row["prompt"]: row["pairs"] for row in table} == uses
    assert {row["prompt"]: row["splits"] for row in table} == splits
    assert len(table) == len(uses)


def test_no_pair_occurs_twice_or_turned_round() -> None:
    rows = [row for split in SPLITS for row in ROWS[split]]
    texts = {(row["a"], row["b"]) for row in rows}
    assert len({row["pair_id"] for row in rows}) == len(texts) == len(rows)
    assert not texts & {(b, a) for a, b in texts}


def test_an_unknown_split_is_refused_with_the_known_names() -> None:
    with pytest.raises(ConfigurationError, match=r"no split 'unions' .*subset, union, intersection"):
        pairs("unions")


def test_complement_is_the_item_and_anything_else_100_of_each_family() -> None:
    assert Counter(row["template"] for row in ROWS["complement"]) == {family.name: 100 for family in FAMILIES}
    for row in ROWS["complement"]:
        assert row["b"] == f"Generate anything that is not {row['a'].removeprefix('Generate ')}"


def test_random_choice_offers_two_of_the_ten_options_of_one_category() -> None:
    options = word_bank("gssbench", "options")
    assert set(Counter(row["template"] for row in ROWS["random_choice"]).values()) == {500 // len(options)}
    start = "Choose one from the following: "
    for row in ROWS["random_choice"]:
        few, many = (row[side].removeprefix(start).removesuffix(".").split(", ") for side in ("a", "b"))
        assert (len(few), len(set(many))) == (row["a_size"], row["b_size"]) == (2, 10)
        assert set(few) < set(many) <= set(options[row["template"]])


def test_each_level_of_subset_begins_with_the_one_before() -> None:
    for rows in sets(ROWS["subset"]).values():
        texts = {row["relation"][0]: row["a"] for row in rows} | {"A": rows[0]["b"]}
        for shorter, longer in zip("ABCD", "BCDE", strict=True):
            assert texts[longer].startswith(f"{texts[shorter].removesuffix('.')} ")
        for row in rows:
            a, b = row["relation"].split("<")
            assert (row["a"], row["b"]) == (texts[a], texts[b])
            assert (row["a_size"], row["b_size"]) == ("ABCDE".index(a) + 1, "ABCDE".index(b) + 1)
        assert len({row["relation"] for row in rows}) == 10
    begins = Counter(row["b"] for row in ROWS["subset"] if row["relation"] == "B<A")
    assert (len(begins), set(begins.values())) == (30, {6})


def test_the_lattice_has_the_50_strict_inclusions_among_15_subsets() -> None:
    assert (len(MEMBERS), len(INCLUSIONS), len(set(INCLUSIONS))) == (15, 50, 50)
    for split in ("union", "intersection"):
        for rows in sets(ROWS[split]).values():
            assert len({text for row in rows for text in (row["a"], row["b"])}) == 15
            assert len({row["relation"] for row in rows}) == len(rows) == 50


def members(rows: Rows) -> dict[str, str]:
    """The 15 texts of a set of a lattice."""
    return {
        name: text for row in rows for name, text in zip(row["relation"].split("<"), (row["a"], row["b"]), strict=True)
    }


def test_union_allows_more_alternatives_in_b_and_all_those_of_a() -> None:
    themes = word_bank("gssbench", "alternatives")
    for rows in sets(ROWS["union"]).values():
        theme, texts = themes[rows[0]["template"]], members(rows)
        ((stem, _),) = [
            (stem, quadruple)
            for stem in theme["requests"]
            for quadruple in theme["quadruples"]
            if {texts[letter] for letter in "ABCD"} == {stem.format(member) for member in quadruple}
        ]
        start, end = stem.split("{}")
        single = {letter: texts[letter].removeprefix(start).removesuffix(end) for letter in "ABCD"}
        assert texts == {name: stem.format(one_of([single[letter] for letter in name])) for name in MEMBERS}
        assert all(set(a) < set(b) for a, b in (row["relation"].split("<") for row in rows))


def test_intersection_asks_for_more_in_a_and_all_that_b_asks_for() -> None:
    for rows in sets(ROWS["intersection"]).values():
        texts = members(rows)
        phrases = {
            "A": texts["A"].removeprefix("Write ").removesuffix("."),
            **{letter: texts[letter].removeprefix("Write a piece ").removesuffix(".") for letter in "BCD"},
        }
        for name in MEMBERS:
            assert texts[name] == request(phrases, name)
            assert all((phrase in texts[name]) == (letter in name) for letter, phrase in phrases.items())
        assert all(set(a) > set(b) for a, b in (row["relation"].split("<") for row in rows))


def test_the_constraints_of_a_set_can_be_met_at_once() -> None:
    bank = word_bank("gssbench", "constraints")
    by_noun = {genre.noun: genre for genre in genres()}
    for row in (row for row in ROWS["intersection"] if row["relation"] == "ABCD<A"):
        genre = by_noun[row["b"].removeprefix("Write ").removesuffix(".")]
        pattern = rf"Write {genre.noun} of about (\d+) words ([^,]+(?:, winding sentences)?), (.+)\."
        match = re.fullmatch(pattern, row["a"])
        assert match is not None
        length, limits = int(match[1]), {s.phrase: s.words for s in structures(genre.kind)}
        assert genre.words[0] <= length <= genre.words[1]
        assert limits[match[3]][0] <= length <= limits[match[3]][1]
        assert match[2] in bank["styles"]["any"] + bank["styles"][genre.kind]


def test_a_question_occurs_once_and_no_prompt_gives_its_answer_away() -> None:
    assert len({fact.question for fact in FACTS}) == len(FACTS) > 800
    for fact in FACTS:
        answer = re.compile(rf"\b{re.escape(fact.answer.removeprefix('the '))}\b", re.IGNORECASE)
        assert not answer.search(f"{fact.question} {fact.naming}"), fact


def test_pairs_of_one_factual_set_share_their_open_request() -> None:
    by_set = sets(ROWS["factualqa"])
    assert all(len({row["b"] for row in rows}) == 1 for rows in by_set.values())
    assert len(by_set) == len({row["b"] for row in ROWS["factualqa"]})
    assert max(Counter(row["template"] for row in ROWS["factualqa"]).values()) <= 12


def test_a_scorer_of_length_is_always_right_or_always_wrong_but_for_facts() -> None:
    accuracies = {split: accuracy(ROWS[split], len) for split in SPLITS}
    assert accuracies.pop("factualqa") < 0.4
    assert accuracies == {"complement": 1, "random_choice": 1, "union": 1, "subset": 0, "intersection": 0}


FLAWS = {
    "a before a vowel": re.compile(r"\b[Aa] (?!US\b|one|uni|use|Eur|uku)[aeiouAEIOU]\w*"),
    "an before a consonant": re.compile(r"\b[Aa]n (?!hour|heir|honest|SI |SQL|herb)[^aeiouAEIOU\W]\w*"),
    "spaces": re.compile(r"\s\s|^\s|\s$|\s[.,?;:]|[\t\n\r\xa0]"),
    "an unfilled field": re.compile(r"[{}]|\bNone\b|__|<|>"),
    "a word twice": re.compile(r"\b(\w+) \1\b", re.IGNORECASE),
    "the end": re.compile(r"[^.?]$|\.\.|[,;:][.?]|\?\."),
    "the beginning": re.compile(r"^[^A-Z]"),
    "curly quotes": re.compile("[\u2018-\u201f]"),
}


def test_another_seed_gives_other_rows_of_the_same_kind_and_no_text_has_a_flaw() -> None:
    texts = {row["prompt"] for seed in range(2) for row in prompts(seed)}
    for name, flaw in FLAWS.items():
        assert not [text for text in texts if flaw.search(text)], name
    for split in SPLITS:
        first, other = ({(row["a"], row["b"]) for row in pairs(split, seed)} for seed in (SEED, SEED + 1))
        assert len(other) == len(first)
        assert len(other - first) > len(first) // 5
