"""Junk is refused for the right reason, honest responses are not, and nothing but the set decides."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from unicodedata import normalize

import numpy as np
import pytest
from numpy.typing import NDArray

from benchmark.metrics.partition import Partition
from benchmark.models.embedder import ALL_MINILM_L6_V2, SentenceTransformersEmbedder
from benchmark.validity.backend import BLANK, REFUSAL, SCRIPT, ValidityJudge, ValiditySpec
from benchmark.validity.discriminator import (
    PARAMETERS,
    REASONS,
    Features,
    evidence,
    from_json,
    load_discriminator,
    mixture,
    other_prompts,
    refusal_texts,
    suspicions,
    text_evidence,
    vector_evidence,
)
from benchmark.validity.text_statistics import WordOrderModel, word_order
from benchmark.validity.train import halves_of, to_json
from datasets_build.load import load_suite
from submissions.gaming.baselines import DEMO_TEXTS, attacked, find_attack
from tests.benchmark.fakes import HashEmbedder
from tests.benchmark.validity.honest import HONEST

Sets = dict[str, tuple[str, ...]]
# For most of each kind of junk, why it is refused.
REASON_OF = {
    "random-characters": "unreadable",
    "homoglyphs": "unreadable",
    "shuffled-words": "word salad",
    "echoes": "echo of the prompt",
    "refusals": "refusal",
    "other-prompts": "not about the prompt",
    "book-sentences": "not about the prompt",
}


@pytest.fixture(scope="module")
def demo() -> tuple[dict[str, str], Sets]:
    lines = (DEMO_TEXTS / "varied.jsonl").read_text(encoding="utf-8").splitlines()
    # Six prompts, to be fast, whose responses are sentences: words of names and numbers have no order to lose.
    sets = {row["prompt_id"]: tuple(row["responses"]) for row in map(json.loads, lines)}
    sets = dict([(i, own) for i, own in sets.items() if min(len(text.split()) for text in own) > 4][-6:])
    return {prompt.prompt_id: prompt.prompt for prompt in load_suite("demo").prompts}, sets


@pytest.fixture(scope="module")
def whole(minilm: SentenceTransformersEmbedder) -> ValidityJudge:
    """The judge of the profile `offline`, which embeds once what all responses are compared with."""
    return ValidityJudge(embedder=minilm)


def few_of(sets: Sets) -> Sets:
    """Three of the six, where the embedder reads them."""
    return dict([*sets.items()][::2])


def refused(judge: ValidityJudge, prompts: dict[str, str], sets: Sets) -> Counter[str | None]:
    """Number of responses by reason."""
    partitions = [Partition((0,) * len(own)) for own in sets.values()]
    made = judge.reasons([prompts[i] for i in sets], list(sets.values()), partitions, {})
    return Counter(reason for own in made for reason in own)


def test_junk_is_refused_for_its_reason_and_its_source_is_not(
    demo: tuple[dict[str, str], Sets], whole: ValidityJudge
) -> None:
    prompts, sets = demo
    assert refused(whole, prompts, few_of(sets))[None] >= 0.95 * 30
    for kind, reason in REASON_OF.items():
        found = refused(whole, prompts, few_of(attacked(find_attack(kind), prompts, sets)))
        assert found[None] <= 0.45 * 30, (kind, found)
        assert found[reason] >= 0.5 * 30, (kind, found)


def test_without_an_embedder_texts_alone_tell(demo: tuple[dict[str, str], Sets]) -> None:
    prompts, sets = demo
    judge = ValidityJudge()
    assert refused(judge, prompts, sets)[None] >= 0.95 * 60
    for kind in ("random-characters", "homoglyphs", "shuffled-words", "echoes"):
        found = refused(judge, prompts, attacked(find_attack(kind), prompts, sets))
        assert found[None] <= 0.3 * 60, (kind, found)


@pytest.mark.parametrize("kind", HONEST)
def test_honest_responses_of_every_kind_are_valid(kind: str, whole: ValidityJudge) -> None:
    for judge in (ValidityJudge(), whole):
        for prompt, responses in HONEST[kind]:
            (made,) = judge.reasons([prompt], [responses], [Partition((0,) * len(responses))], {})
            assert dict(zip(responses, made, strict=True)) == dict.fromkeys(responses), prompt


# Prompts and responses of 2026-11-25; the words are ours. The rule for notation was made with the first ones in view.
# The others were written without knowledge of it; two details were changed later (docs/gaming.md).
NOTATION: dict[str, Sets] = {
    name: {prompt: tuple(texts) for prompt, texts in sets.items()}
    for name, sets in json.loads(Path(__file__).with_name("notation.json").read_text(encoding="utf-8")).items()
}


# 800 honest responses to prompts of all kinds, written without knowledge of the rules; the words are ours.
CHATS: Sets = {
    prompt: tuple(responses)
    for prompt, responses in json.loads(Path(__file__).with_name("chats.json").read_text(encoding="utf-8")).items()
}


def test_responses_of_many_kinds_are_valid_and_junk_of_their_words_is_not() -> None:
    judge, prompts, count = ValidityJudge(), {prompt: prompt for prompt in CHATS}, 800
    assert count - refused(judge, prompts, CHATS)[None] <= 0.02 * count
    for kind, fewest in (("shuffled-words", 0.85), ("random-characters", 0.94), ("homoglyphs", 0.95)):
        junk = attacked(find_attack(kind), prompts, CHATS)
        assert count - refused(judge, prompts, junk)[None] >= fewest * count, kind


def test_another_script_is_no_answer_unless_the_prompt_allows_it() -> None:
    hanzi = attacked(find_attack("chinese-characters"), {"": ""}, {"": ("",) * 4})[""]
    cases: tuple[tuple[str | None, tuple[str, ...], str | None], ...] = (
        ("Name a good book.", hanzi, SCRIPT),
        ("Name a good book in Chinese.", hanzi, None),
        ("讲一个笑话。", hanzi, None),
        ("What sound does 好 make?", ("好听的声音",), None),
        ("Make me a kaomoji.", ("ಠ_ಠ ლ(ಠ益ಠ)",), None),
        ("Name a constant.", ("π",), None),
        (None, hanzi, None),
        ("Suggest a password.", ("пароль",), None),
        ("Draw a cat.", ("ᓚᘏᗢ",), None),
        ("What does 好 mean?", ("好的意思",), None),
        ("Name a fruit.", ("да", "abc где", "abcdefgh где"), None),  # two letters; half of six; three of eleven
        ("Name a fruit.", ("нет", "abc если"), SCRIPT),  # three letters; four of seven
        ("Wie kann ich nachts besser schlafen?", ("Здесь",), None),  # an English one is assumed to want Latin letters
    )
    for prompt, texts, reason in cases:
        (made,) = ValidityJudge().reasons([prompt], [texts], [Partition((0,) * len(texts))], {})
        assert made == (reason,) * len(texts), prompt
    suspicious = ValidityJudge(replace(load_discriminator(), thresholds=dict.fromkeys(REASONS, 1.1)))
    (made,) = suspicious.reasons(["Name a good book."], [hanzi], [Partition((0,) * 4)], {})
    assert made == (SCRIPT,) * 4  # the surest reason is the one that is given


def test_responses_to_prompts_in_other_languages_are_neither_word_salad_nor_off_topic(whole: ValidityJudge) -> None:
    """The models of word order and of vectors read English, so they say nothing about these."""
    cases = {
        "Tại sao bầu trời màu xanh?": (
            "Không khí tán xạ ánh sáng xanh mạnh hơn ánh sáng đỏ.",
            "Đó là hiệu ứng tán xạ Rayleigh.",
            "Ánh sáng xanh có bước sóng ngắn hơn.",
            "Ánh sáng đỏ ít bị tán xạ.",
        ),
        "Mengapa langit berwarna biru? Jelaskan dengan singkat untuk saya.": (
            "Udara menghamburkan cahaya biru lebih kuat daripada merah.",
            "Karena gelombang pendek sinar matahari dihamburkan oleh udara.",
            "Atmosfer menyebarkan warna biru ke segala arah.",
        ),
        "Wie kann ich nachts besser schlafen?": (
            "Go to bed at the same time.",
            "Drink no coffee.",
            "Take a long walk.",
        ),
    }
    for prompt, texts in cases.items():
        for encoding in ("NFC", "NFD"):  # the same text in either encoding
            own = tuple(normalize(encoding, text) for text in texts)
            (made,) = whole.reasons([normalize(encoding, prompt)], [own], [Partition(tuple(range(len(own))))], {})
            assert made == (None,) * len(own), prompt


@pytest.mark.parametrize(
    ("sets", "embedded", "most", "fewest"),
    [("development", True, 0.05, 0.7), ("held_out", False, 0.26, 0.85)],
)
def test_honest_notation_is_mostly_valid_and_random_characters_are_not(
    sets: str, embedded: bool, most: float, fewest: float, whole: ValidityJudge
) -> None:
    judge, given = whole if embedded else ValidityJudge(), NOTATION[sets]
    prompts = {prompt: prompt for prompt in given}
    count = sum(map(len, given.values()))
    assert count - refused(judge, prompts, given)[None] <= most * count
    # Random characters are many tokens: of the larger file, those of half of the prompts are read.
    source = dict([*given.items()][:: 2 if sets == "held_out" else 1])
    junk = attacked(find_attack("random-characters"), prompts, source)
    count = sum(map(len, source.values()))
    assert count - refused(judge, prompts, junk)[None] >= fewest * count


def test_homoglyphs_are_unreadable_even_if_they_are_about_the_prompt() -> None:
    given = load_discriminator()
    # Seven standard deviations more like the prompt than like other prompts.
    about: Features = {"not about the prompt": (0.5, 3.0, 1.5, 7.0, 0.3)}

    def answers(text: str, more: Features) -> float:
        found = text_evidence("State a law of physics.", text, given.order, given.bits)
        return suspicions([found | more], given)[0][1]

    assert answers("$E = mc^2$", {}) < 0.1
    assert answers("$E = mc^2$", about) > 0.5
    for text in (
        "\u0422h\u0435 f\u043er\u0441\u0435 is m\u0430ss tim\u0435s",
        "Ex\u200btra ma\u200bss i\u200bs for\u200bce",
    ):
        assert answers(text, about) < 0.2
        assert text_evidence("Draw a cat.", text, given.order, given.bits)["unreadable"] is not None
    for prompt, judged in (("Draw a cat.", False), ("Describe a cat.", True), ("Play chess with me.", True)):
        found = text_evidence(prompt, "(=^.^=)", given.order, given.bits)
        assert (found["unreadable"] is not None) == judged, prompt


def test_blanks_and_plain_refusals_are_no_answers() -> None:
    texts = ("", "[Blocked]", "I'm sorry, but I can't assist with that.", "Nairobi")
    (made,) = ValidityJudge().reasons(["Name a city."], [texts], [Partition((None, None, None, 0))], {})
    assert made == (BLANK, BLANK, REFUSAL, None)


def test_neither_the_order_of_responses_nor_other_sets_matter(
    demo: tuple[dict[str, str], Sets], whole: ValidityJudge
) -> None:
    prompts, sets = demo
    mixed = {i: (*own[:5], *attacked(find_attack("random-words"), prompts, sets)[i][5:]) for i, own in sets.items()}
    ids = list(mixed)[:2]
    partitions = [Partition((0,) * 10)] * 2
    together = whole.reasons([prompts[i] for i in ids], [mixed[i] for i in ids], partitions, {})
    for i, expected in zip(ids, together, strict=True):
        assert whole.reasons([prompts[i]], [mixed[i]], partitions[:1], {}) == [expected]
        assert whole.reasons([prompts[i]], [mixed[i][::-1]], partitions[:1], {}) == [expected[::-1]]


def test_word_order_is_against_the_mean_of_all_shuffles() -> None:
    model = load_discriminator().order
    text = "the cat sat on the mat and looked at me"
    found = word_order(text, model)
    rng = np.random.default_rng(0)
    words = text.split()
    own = _mean_of_neighbours(words, model)
    shuffled = [_mean_of_neighbours([words[i] for i in rng.permutation(len(words))], model) for _ in range(4000)]
    assert found.gain == pytest.approx(own - np.mean(shuffled), abs=0.05)
    assert found.z > 2
    assert word_order(" ".join(sorted(words)), model).z < 1


def test_lines_and_marks_are_no_order_of_words() -> None:
    model = load_discriminator().order
    plain, marked = "Here is another number: 48226", "Here is **another** number: **48226**"
    assert word_order(marked, model) == word_order(plain, model)
    items = ("Mix the flour with salt", "Add two eggs", "Bake for an hour")
    found = word_order("\n".join(f"- {item}" for item in items), model)
    assert (found.words, found.pairs) == (12, 9)
    scores = [
        score
        for item in items
        for score in model.scores[model.classes(item.split())[:-1], model.classes(item.split())[1:]].tolist()
    ]
    every = model.classes(" ".join(items).split())
    apart = model.scores[np.ix_(every, every)][~np.eye(12, dtype=bool)]
    assert found.gain == pytest.approx(np.mean(scores) - apart.mean())
    # The end of a line before a capital is an end of a sentence, and a full stop after an abbreviation is none.
    assert found.ends_z > word_order(" ".join(items), model).ends_z
    with_dot = "She leads Apple Inc. and sits on a board. He cooks."
    assert word_order(with_dot, model).ends_z == word_order(with_dot.replace("Inc.", "Inc"), model).ends_z


def test_short_texts_have_a_beginning_an_end_and_capitals() -> None:
    model = load_discriminator().order
    for right, wrong in (("The humble turnip", "turnip humble The"), ("It is my number.", "number my is It.")):
        assert word_order(right, model).edges > word_order(wrong, model).edges
        assert word_order(wrong, model).late_capital
        assert not word_order(right, model).late_capital
    assert not word_order("okra, I think. Yes", model).late_capital


def test_an_embedder_that_is_loaded_is_used_only_if_it_is_the_one_of_the_signature(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    own = HashEmbedder()
    monkeypatch.setattr("benchmark.validity.backend.SentenceTransformersEmbedder", lambda spec, device: own)
    spec, other = ValiditySpec(ALL_MINILM_L6_V2), HashEmbedder()
    assert getattr(spec.load(other), "embedder", None) is own
    monkeypatch.setattr(other, "signature", ALL_MINILM_L6_V2.signature)
    assert getattr(spec.load(other), "embedder", None) is other


def test_what_a_prompt_asks_for_decides_what_is_judged() -> None:
    given = load_discriminator()
    for prompt, judged in (("Suggest a password.", False), ("Suggest a fruit.", True), ("Password a fruit.", True)):
        found = text_evidence(prompt, "kJ4!t", given.order, given.bits)
        assert (found["unreadable"] is not None) == judged
    vectors = (np.ones(1), np.ones(1), np.ones((2, 1)), np.array([[1.0], [0.5]]))
    said = "I'm sorry, but I can't help with that."
    unlike = vector_evidence("Name a fruit.", said, np.ones(1), np.ones(1), np.zeros((2, 1)), vectors[-1])
    assert (unlike["refusal"] or ())[0] == 1.0  # the words are enough
    for prompt, response, judged in (
        ("What is a good name?", "Greg Hill", False),
        ("What is a good name?", "a hill", True),
        ("What is a good plan?", "Greg Hill", True),
        ("Give me one good question.", "Why?", False),
        ("Give me one good question.", "Why", True),
        ("Tell me a funny joke about anything.", "a hill", False),
        ("Tell me a funny joke about hills.", "a hill", True),
        ("It is a", "hill", False),
    ):
        assert (vector_evidence(prompt, response, *vectors)["not about the prompt"] is not None) == judged, prompt


def test_a_word_alone_is_what_the_others_of_its_set_are(demo: tuple[dict[str, str], Sets]) -> None:
    prompts, sets = demo
    judge, i = ValidityJudge(), next(iter(sets))
    shuffled = attacked(find_attack("shuffled-words"), prompts, sets)
    for others, valid in ((sets[i], True), (shuffled[i], False)):
        (made,) = judge.reasons([prompts[i]], [(*others, "Celeriac")], [Partition((0,) * 11)], {})
        assert (made[-1] is None) == valid


def test_a_repeated_text_is_judged_as_if_it_were_alone() -> None:
    given = load_discriminator()
    [[found]] = evidence(["Name a ship."], [["turnip humble The"]], given, None)
    assert suspicions([found] * 10, given) == suspicions([found], given) * 10


def _mean_of_neighbours(words: list[str], model: WordOrderModel) -> float:
    classes = model.classes(words)
    return float(model.scores[classes[:-1], classes[1:]].mean())


def test_the_mixture_is_a_fixed_point_of_its_shares() -> None:
    rng = np.random.default_rng(0)
    ratios = np.column_stack([np.zeros(40), rng.normal(0, 4, (40, 5))])
    found = mixture(ratios, (2.0, 0.5))
    shares = (found.sum(axis=0) + np.array([2.0, *[0.5] * 5])) / (40 + 4.5)
    again = np.exp(ratios) * shares
    assert found == pytest.approx(again / again.sum(axis=1, keepdims=True), abs=1e-3)


def test_parameters_come_back_from_their_file() -> None:
    document = json.loads(PARAMETERS.read_text(encoding="utf-8"))
    assert json.loads(json.dumps(to_json(from_json(document)))) == document


def test_what_all_responses_are_compared_with_is_embedded_once() -> None:
    read: list[str] = []

    class Counting(HashEmbedder):
        def embed(self, texts: Sequence[str]) -> NDArray[np.float64]:
            read.extend(texts)
            return super().embed(texts)

    judge = ValidityJudge(embedder=Counting())
    for prompt in ("Name a city.", "Name a river."):
        judge.reasons([prompt], [(f"{prompt} Nairobi", refusal_texts()[0])], [Partition((0, 1))], {})
    assert Counter(read) == dict.fromkeys(read, 1)
    assert {*refusal_texts(), *other_prompts(), "Name a city.", "Name a river. Nairobi"} <= set(read)


def test_prompts_that_are_nearly_the_same_are_not_on_both_sides_of_the_error_rates() -> None:
    halves = halves_of(f"curated-{i}" for i in range(100))
    assert [len(half) for half in halves] == [50, 50]
    assert not halves[0] & halves[1]
    # A girl and her dog, or a boy; half empty or half full; a city in Africa, or a capital; and others.
    for one, other in ((0, 1), (11, 12), (21, 22), (34, 35), (38, 39), (47, 48), (58, 59), (94, 95), (96, 99)):
        assert any({f"curated-{one}", f"curated-{other}"} <= half for half in halves)
