"""The prompt pairs: their counts, that `a` is the smaller space, that they read well and are always the same."""

import hashlib
import os
import random
import re
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from itertools import combinations
from statistics import fmean, stdev
from typing import Any

import pytest

from datasets_build.gssbench import PAIRS, PROMPTS, SEED, SPLITS, VERSION, pairs, prompts
from datasets_build.gssbench.facts import templates
from datasets_build.gssbench.intersection import genres, request, structures
from datasets_build.gssbench.lattice import INCLUSIONS, MEMBERS
from datasets_build.gssbench.rng import by_turns, shuffled
from datasets_build.gssbench.rows import prompt_id
from datasets_build.gssbench.tasks import families
from datasets_build.gssbench.union import one_of
from datasets_build.schema import conform
from datasets_build.word_banks import word_bank
from divbench.core.errors import ConfigurationError
from divbench.core.files import canonical_json
from divbench.core.rng import stream

Rows = list[dict[str, Any]]

ROWS: Mapping[str, Rows] = {split: list(pairs(split)) for split in SPLITS}
TEXTS = [row["prompt"] for row in prompts()]

FAMILIES = families()
TEMPLATES = templates()
GENRES = genres()
OPTIONS = word_bank("gssbench", "options")
THEMES = word_bank("gssbench", "alternatives")
CONSTRAINTS = word_bank("gssbench", "constraints")

DIGEST = "c5c77f46ba3338ef036c6506e85617e8cb557a139bbbeb4e98d22fa09c6ca93b"
"""Digest of the rows of version 1.0.0 and seed 0. If this test fails, the rows changed, and so must VERSION."""


def sets(rows: Iterable[dict[str, Any]]) -> dict[str, Rows]:
    """The rows by their set."""
    found: dict[str, Rows] = defaultdict(list)
    for row in rows:
        found[row["set_id"]].append(row)
    return found


def accuracy(rows: Rows, score: Callable[[str], float], ties: str = "wrong") -> float:
    """The share of pairs whose `b` scores higher; a tie counts as nothing or as a half."""
    tie = {"wrong": 0.0, "half": 0.5}[ties]
    a_and_b = [(score(row["a"]), score(row["b"])) for row in rows]
    return sum(1.0 if a < b else tie if a == b else 0.0 for a, b in a_and_b) / len(rows)


def digest(seed: int = SEED) -> str:
    """The SHA-256 of all pairs and prompts of a seed."""
    return hashlib.sha256(canonical_json([[list(pairs(s, seed)) for s in SPLITS], list(prompts(seed))])).hexdigest()


# Counts and tables


COUNTS = (
    ("complement", 500, 500),
    ("random_choice", 500, 500),
    ("subset", 1800, 180),
    ("union", 3000, 60),
    ("intersection", 3000, 60),
)


def test_a_split_has_as_many_pairs_and_sets_as_the_paper_says() -> None:
    for split, number, of_sets in COUNTS:
        assert len(ROWS[split]) == number
        assert Counter(len(rows) for rows in sets(ROWS[split]).values()) == {number // of_sets: of_sets}


def test_there_are_9300_pairs_over_at_most_5700_prompts() -> None:
    assert tuple(ROWS) == ("complement", "factualqa", "random_choice", "subset", "union", "intersection")
    assert len(ROWS["factualqa"]) == 500
    assert sum(map(len, ROWS.values())) == 9300
    assert len(TEXTS) <= 5700


def test_rows_fit_the_schema() -> None:
    for split in SPLITS:
        assert conform(ROWS[split], PAIRS, split).to_pylist() == ROWS[split]


def test_the_prompts_are_the_texts_of_the_pairs_each_once() -> None:
    table = list(prompts())
    assert conform(table, PROMPTS, "prompts").to_pylist() == table
    by_id = {row["prompt_id"]: row for row in table}
    assert len(by_id) == len({row["prompt"] for row in table}) == len(table)
    uses: Counter[str] = Counter()
    splits: dict[str, list[str]] = defaultdict(list)
    for split, rows in ROWS.items():
        for row in rows:
            for side in ("a", "b"):
                assert by_id[row[f"{side}_id"]]["prompt"] == row[side]
                uses[row[side]] += 1
                if split not in splits[row[side]]:
                    splits[row[side]].append(split)
    assert {row["prompt"]: row["pairs"] for row in table} == uses
    assert {row["prompt"]: row["splits"] for row in table} == splits


def test_the_id_of_a_prompt_comes_from_its_text_alone() -> None:
    assert prompt_id("é") == f"gss-{hashlib.sha256('é'.encode()).hexdigest()[:10]}"
    assert all(row["prompt_id"] == prompt_id(row["prompt"]) for row in prompts())


def test_no_pair_and_no_id_occurs_twice() -> None:
    rows = [row for split in SPLITS for row in ROWS[split]]
    assert len({row["pair_id"] for row in rows}) == len({(row["a"], row["b"]) for row in rows}) == len(rows)
    # Nor is any pair turned round: the order of sizes has no circle of two.
    assert not {(row["a"], row["b"]) for row in rows} & {(row["b"], row["a"]) for row in rows}
    assert all(row["pair_id"].startswith(f"{split}-") for split in SPLITS for row in ROWS[split])


def test_an_unknown_split_is_refused_with_the_known_names() -> None:
    with pytest.raises(ConfigurationError, match=r"no split 'unions' .*subset, union, intersection"):
        pairs("unions")


# The smaller space is the smaller one


def test_complement_is_the_item_and_anything_else_100_of_each_family() -> None:
    assert Counter(row["template"] for row in ROWS["complement"]) == {family.name: 100 for family in FAMILIES}
    assert [family.name for family in FAMILIES] == ["email", "poem", "program", "story", "persona"]
    for row in ROWS["complement"]:
        item = row["a"].removeprefix("Generate ")
        assert row["b"] == f"Generate anything that is not {item}"
        assert row["a_size"] is row["b_size"] is None


def test_each_form_of_complement_is_as_frequent_as_the_others() -> None:
    for family in FAMILIES:
        qualifiers = [q for kind in family.kinds for q in kind.qualifiers]
        texts = [row["a"] for row in ROWS["complement"] if row["template"] == family.name]
        qualified = [any(text.endswith(f" {q}.") for q in qualifiers) for text in texts]
        assert 60 <= sum(qualified) <= 72


def test_random_choice_offers_two_of_the_ten_options_of_one_category() -> None:
    assert len(OPTIONS) >= 8
    assert set(Counter(row["template"] for row in ROWS["random_choice"]).values()) == {500 // len(OPTIONS)}
    start = "Choose one from the following: "
    for row in ROWS["random_choice"]:
        few, many = (row[side].removeprefix(start).removesuffix(".").split(", ") for side in ("a", "b"))
        assert row["a"].startswith(start)
        assert row["b"].startswith(start)
        assert (len(few), len(many)) == (row["a_size"], row["b_size"]) == (2, 10)
        assert len(set(many)) == 10
        assert set(few) < set(many) <= set(OPTIONS[row["template"]])


def test_an_option_occurs_once_in_its_category_and_has_no_comma() -> None:
    for options in OPTIONS.values():
        assert len(set(options)) == len(options) == 20
        assert not any("," in option for option in options)


def test_each_level_of_subset_begins_with_the_one_before() -> None:
    for rows in sets(ROWS["subset"]).values():
        texts = {row["relation"][0]: row["a"] for row in rows} | {"A": rows[0]["b"]}
        assert sorted(texts) == list("ABCDE")
        for shorter, longer in zip("ABCD", "BCDE", strict=True):
            assert texts[longer].startswith(f"{texts[shorter].removesuffix('.')} ")
        assert " and follows the outline: 1) " in texts["E"]
        for row in rows:
            a, b = row["relation"].split("<")
            assert (row["a"], row["b"]) == (texts[a], texts[b])
            assert (row["a_size"], row["b_size"]) == ("ABCDE".index(a) + 1, "ABCDE".index(b) + 1)
            assert row["a_size"] > row["b_size"]
        assert len({row["relation"] for row in rows}) == 10


def test_subset_begins_with_30_requests_equally_often() -> None:
    begins = Counter(row["b"] for row in ROWS["subset"] if row["relation"] == "B<A")
    assert len(begins) == 30
    assert set(begins.values()) == {6}


def test_subset_has_36_sets_of_each_family() -> None:
    families = [rows[0]["template"] for rows in sets(ROWS["subset"]).values()]
    assert Counter(families) == {family.name: 36 for family in FAMILIES}


def test_the_lattice_has_the_50_strict_inclusions_among_15_subsets() -> None:
    assert len(MEMBERS) == 15
    assert len(INCLUSIONS) == len(set(INCLUSIONS)) == 50
    assert Counter((len(a), len(b)) for a, b in INCLUSIONS) == {
        (1, 2): 12, (1, 3): 12, (1, 4): 4, (2, 3): 12, (2, 4): 6, (3, 4): 4,
    }  # fmt: skip


def test_a_set_has_15_prompts_and_50_relations() -> None:
    for split in ("union", "intersection"):
        for rows in sets(ROWS[split]).values():
            assert len({text for row in rows for text in (row["a"], row["b"])}) == 15
            assert len({row["relation"] for row in rows}) == len(rows) == 50


def test_union_allows_more_alternatives_in_b_and_all_those_of_a() -> None:
    for rows in sets(ROWS["union"]).values():
        theme = THEMES[rows[0]["template"]]
        texts = {row["relation"].split("<")[1]: row["b"] for row in rows} | {
            row["relation"].split("<")[0]: row["a"] for row in rows
        }
        # The request and the alternatives, found again from the texts.
        found = [
            (stem, quadruple)
            for stem in theme["requests"]
            for quadruple in theme["quadruples"]
            if {texts[letter] for letter in "ABCD"} == {stem.format(member) for member in quadruple}
        ]
        assert len(found) == 1
        stem = found[0][0]
        start, end = stem.split("{}")
        single = {letter: texts[letter].removeprefix(start).removesuffix(end) for letter in "ABCD"}
        for member in MEMBERS:
            assert texts[member] == stem.format(one_of([single[letter] for letter in member]))
        for row in rows:
            a, b = row["relation"].split("<")
            assert set(a) < set(b)
            assert (row["a_size"], row["b_size"]) == (len(a), len(b))


def test_intersection_asks_for_more_in_a_and_all_that_b_asks_for() -> None:
    genres = {genre.noun for genre in GENRES}
    for rows in sets(ROWS["intersection"]).values():
        texts = {row["relation"].split("<")[0]: row["a"] for row in rows} | {
            row["relation"].split("<")[1]: row["b"] for row in rows
        }
        phrases = {
            "A": texts["A"].removeprefix("Write ").removesuffix("."),
            **{letter: texts[letter].removeprefix("Write a piece ").removesuffix(".") for letter in "BCD"},
        }
        assert phrases["A"] in genres
        for member in MEMBERS:
            assert texts[member] == request(phrases, member)
            assert all((phrase in texts[member]) == (letter in member) for letter, phrase in phrases.items())
        for row in rows:
            a, b = row["relation"].split("<")
            assert set(a) > set(b)
            assert (row["a_size"], row["b_size"]) == (len(a), len(b))


def test_no_two_intersections_share_two_constraints() -> None:
    couples: Counter[frozenset[str]] = Counter()
    for rows in sets(ROWS["intersection"]).values():
        couples.update({frozenset((row["a"],)) for row in rows if row["a_size"] == 2})
    assert max(couples.values()) == 1


def test_the_constraints_of_a_set_can_be_met_at_once() -> None:
    limits = {s.phrase: s.words for kind in CONSTRAINTS["structures"] for s in structures(kind)}
    words = {genre.noun: genre.words for genre in GENRES}
    kinds = {genre.noun: genre.kind for genre in GENRES}
    for row in ROWS["intersection"]:
        if row["relation"] != "ABCD<A":
            continue
        noun = row["b"].removeprefix("Write ").removesuffix(".")
        found = re.fullmatch(rf"Write {noun} of about (\d+) words ([^,]+(?:, winding sentences)?), (.+)\.", row["a"])
        assert found is not None
        length, style, structure = int(found[1]), found[2], found[3]
        assert words[noun][0] <= length <= words[noun][1]
        assert limits[structure][0] <= length <= limits[structure][1]
        assert style in CONSTRAINTS["styles"]["any"] + CONSTRAINTS["styles"][kinds[noun]]
        assert structure in {s.phrase for s in structures(kinds[noun])}


def test_every_genre_has_lengths_for_every_structure_that_fits_it() -> None:
    for genre in GENRES:
        for structure in structures(genre.kind):
            low, high = max(genre.words[0], structure.words[0]), min(genre.words[1], structure.words[1])
            assert any(low <= n <= high for n in CONSTRAINTS["lengths"]), (genre.noun, structure.phrase)


# Facts


def test_a_question_occurs_once_and_has_one_answer() -> None:
    facts = [fact for template in TEMPLATES for fact in template.facts()]
    assert len({fact.question for fact in facts}) == len(facts) > 800
    assert all(fact.answer.strip() == fact.answer and fact.answer for fact in facts)
    assert len({template.name for template in TEMPLATES}) == len(TEMPLATES) >= 60


def test_no_prompt_gives_its_answer_away() -> None:
    for template in TEMPLATES:
        for fact in template.facts():
            answer = re.compile(rf"\b{re.escape(fact.answer.removeprefix('the '))}\b", re.IGNORECASE)
            assert not answer.search(fact.question), fact
            assert not answer.search(fact.naming), fact


def test_an_open_request_of_several_facts_has_several_answers() -> None:
    answers: dict[str, set[str]] = defaultdict(set)
    for template in TEMPLATES:
        for fact in template.facts():
            answers[fact.naming].add(fact.answer)
    # A request that one question alone calls for is judged by a reader; those asked often must vary.
    often = Counter(fact.naming for template in TEMPLATES for fact in template.facts())
    for naming, number in often.items():
        if number > 3:
            assert len(answers[naming]) > 1, naming


def test_no_monarchy_has_a_president_and_no_country_of_several_languages_one() -> None:
    monarchies = {
        "Australia", "Bahrain", "Belgium", "Cambodia", "Canada", "Denmark", "Jamaica", "Japan", "Jordan", "Kuwait",
        "Lesotho", "Luxembourg", "Malaysia", "Morocco", "New Zealand", "Norway", "Oman", "Papua New Guinea", "Qatar",
        "Saudi Arabia", "Spain", "Sweden", "Thailand", "Tonga", "the Netherlands", "the United Kingdom",
    }  # fmt: skip
    plurilingual = {
        "Afghanistan", "Belarus", "Belgium", "Bolivia", "Canada", "Cyprus", "Ethiopia", "Finland", "India", "Iraq",
        "Ireland", "Israel", "Kazakhstan", "Kenya", "Luxembourg", "Malta", "Morocco", "New Zealand", "Norway",
        "Pakistan", "Paraguay", "Peru", "Rwanda", "Singapore", "South Africa", "South Korea", "Sri Lanka",
        "Switzerland", "the Philippines",
    }  # fmt: skip
    countries = {template.name: {row[0] for row in template.rows} for template in TEMPLATES}
    assert countries["first_president"]
    assert countries["official_language"]
    assert not monarchies & countries["first_president"]
    assert not plurilingual & countries["official_language"]


def test_pairs_of_one_factual_set_share_their_open_request() -> None:
    by_set = sets(ROWS["factualqa"])
    assert all(len({row["b"] for row in rows}) == 1 for rows in by_set.values())
    assert len(by_set) == len({row["b"] for row in ROWS["factualqa"]})


def test_no_factual_template_dominates() -> None:
    numbers = Counter(row["template"] for row in ROWS["factualqa"])
    assert set(numbers) == {template.name for template in TEMPLATES}
    assert max(numbers.values()) <= 12


# Sanity baselines


@pytest.mark.parametrize(
    ("split", "expected"),
    [("complement", 1.0), ("random_choice", 1.0), ("union", 1.0), ("subset", 0.0), ("intersection", 0.0)],
)
def test_a_scorer_of_length_is_always_right_or_always_wrong(split: str, expected: float) -> None:
    assert accuracy(ROWS[split], len) == expected
    assert accuracy(ROWS[split], len, ties="half") == expected  # no pair of equal length


def test_length_says_little_about_facts() -> None:
    assert accuracy(ROWS["factualqa"], len) < 0.4


def test_a_constant_scorer_gets_nothing_but_ties() -> None:
    for split in SPLITS:
        assert accuracy(ROWS[split], lambda _: 1.0) == 0.0
        assert accuracy(ROWS[split], lambda _: 1.0, ties="half") == 0.5


def test_a_random_scorer_gets_half() -> None:
    for split in SPLITS:
        texts = sorted({row[side] for row in ROWS[split] for side in ("a", "b")})
        shares = []
        for seed in range(40):
            rng = stream("a test", seed)
            shares.append(accuracy(ROWS[split], {text: rng.random() for text in texts}.__getitem__))
        assert fmean(shares) == pytest.approx(0.5, abs=0.02)
        assert stdev(shares) < 0.04  # no few texts decide a split


def test_an_oracle_of_known_sizes_gets_all() -> None:
    for split, sign in (("random_choice", 1), ("union", 1), ("subset", -1), ("intersection", -1)):
        assert all(sign * row["a_size"] < sign * row["b_size"] for row in ROWS[split])


# English

VOWEL_SOUND = re.compile(r"\b[Aa] (?!US\b|one|uni|use|Eur|uku)[aeiouAEIOU]\w*")
CONSONANT_SOUND = re.compile(r"\b[Aa]n (?!hour|heir|honest|SI |SQL|herb)[^aeiouAEIOU\W]\w*")


FLAWS = {
    "a before a vowel": VOWEL_SOUND,
    "an before a consonant": CONSONANT_SOUND,
    "spaces": re.compile(r"\s\s|^\s|\s$|\s[.,?;:]|[\t\n\r\xa0]"),
    "an unfilled field": re.compile(r"[{}]|\bNone\b|__|<|>"),
    "a word twice": re.compile(r"\b(\w+) \1\b", re.IGNORECASE),
    "the end": re.compile(r"[^.?]$|\.\.|[,;:][.?]|\?\."),
    "the beginning": re.compile(r"^[^A-Z]"),
    "curly quotes": re.compile("[\u2018-\u201f]"),
}


def test_no_text_of_several_seeds_has_a_flaw() -> None:
    texts = {row["prompt"] for seed in range(3) for row in prompts(seed)}
    for name, flaw in FLAWS.items():
        assert not [text for text in texts if flaw.search(text)], name


def test_the_flaws_are_found_where_they_are() -> None:
    assert VOWEL_SOUND.search("Name a apple.")
    assert not VOWEL_SOUND.search("Name a US state, a one-line verdict, a user persona or a European country.")
    assert CONSONANT_SOUND.search("Name an banana.")
    assert not CONSONANT_SOUND.search("Name an hour, an SI unit or an herb.")


def test_a_qualifier_is_a_clause_and_fits_in_a_sentence() -> None:
    for family in FAMILIES:
        topics = [topic for topic, _, _ in family.topics()]
        assert len(set(topics)) == len(topics) >= 40
        for kind in family.kinds:
            assert all(re.match(r"that [a-z]+ ", qualifier) for qualifier in kind.qualifiers)
            assert all(len(contexts) == len(set(contexts)) == 3 for contexts in kind.topics.values())
            assert all(point[0].isupper() and point[-1] != "." for outline in kind.outlines for point in outline)


def test_quadruples_of_a_theme_share_nothing_and_no_alternative_lies_inside_another() -> None:
    for theme in THEMES.values():
        members = [member for quadruple in theme["quadruples"] for member in quadruple]
        assert len(set(members)) == len(members)
        assert all(a not in b for quadruple in theme["quadruples"] for a in quadruple for b in quadruple if a != b)
        assert all(stem.count("{}") == 1 and stem.endswith(".") for stem in theme["requests"])


# Always the same


def test_the_rows_of_this_version_are_pinned() -> None:
    assert (VERSION, SEED) == ("1.0.0", 0)
    assert digest() == DIGEST


def test_another_process_makes_the_same_rows_and_imports_no_heavy_library() -> None:
    program = (
        "import hashlib, sys\n"
        "from divbench.core.files import canonical_json\n"
        "from datasets_build.gssbench import SPLITS, pairs, prompts\n"
        "for seed in (0, 7):\n"
        "    rows = [[list(pairs(s, seed)) for s in SPLITS], list(prompts(seed))]\n"
        "    print(hashlib.sha256(canonical_json(rows)).hexdigest())\n"
        "assert not {'datasets', 'pandas', 'torch'} & sys.modules.keys()\n"
    )
    for hash_seed in ("0", "12345"):
        done = subprocess.run(
            [sys.executable, "-c", program],
            env=os.environ | {"PYTHONHASHSEED": hash_seed},
            check=True,
            capture_output=True,
            text=True,
        )
        assert done.stdout.split() == [DIGEST, digest(7)]


def test_drawing_leaves_the_global_generator_alone() -> None:
    random.seed(3)
    before = random.getstate()
    list(prompts(5))
    assert random.getstate() == before


def test_another_seed_gives_other_rows_of_the_same_kind() -> None:
    for split in SPLITS:
        first = {(row["a"], row["b"]) for row in ROWS[split]}
        for seed in (1, 2, -3):
            rows = list(pairs(split, seed))
            other = {(row["a"], row["b"]) for row in rows}
            assert len(other) == len(rows) == len(ROWS[split])
            assert len(other - first) > len(first) // 5
            assert [row["pair_id"] for row in rows][:1] == [ROWS[split][0]["pair_id"]]


def test_many_seeds_find_room_for_every_intersection() -> None:
    for seed in range(20):
        assert sum(1 for _ in pairs("intersection", seed)) == 3000


def test_shuffling_uses_nothing_but_random_numbers() -> None:
    rng = stream("any", 0)
    numbers = [rng.random() for _ in range(5)]
    assert shuffled("abcde", stream("any", 0)) == [letter for _, letter in sorted(zip(numbers, "abcde", strict=True))]
    assert stream("any", 0).random() != stream("other", 0).random() != stream("any", 1).random()


def test_by_turns_skips_exhausted_groups() -> None:
    assert list(by_turns([(1, 2, 3), (), (4,), (None, 5)])) == [1, 4, None, 2, 5, 3]


def test_splits_of_a_seed_are_independent() -> None:
    for a, b in combinations(SPLITS, 2):
        list(pairs(a))
        assert list(pairs(b))[:3] == ROWS[b][:3]
