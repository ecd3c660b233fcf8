"""Junk is refused, honest responses are mostly not, and nothing but the set and the record decides."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from benchmark.metrics.metric import Missing
from benchmark.models.embedder import ALL_MINILM_L6_V2, SentenceTransformersEmbedder
from benchmark.validity.backend import ValidityJudge, ValiditySpec
from benchmark.validity.estimate import BLANK, NO_PROMPT, OTHER_LANGUAGE, READS, SALAD, SCRIPT, load_models
from benchmark.validity.features import (
    ECHO,
    NEIGHBOURS,
    REFUSAL,
    UNREADABLE,
    asks,
    is_clear_refusal,
    neighbours,
    other_prompts,
    refusal_texts,
)
from benchmark.validity.record import VALID_FROM, Judgement, load_record, prompt_key, quantised, record_of, save_record
from benchmark.validity.train import bare_sets, judged_sets
from datasets_build.load import load_suite
from submissions.gaming.attacks import ATTACKS
from submissions.gaming.baselines import DEMO_TEXTS, attacked
from tests.benchmark.fakes import HashEmbedder
from tests.benchmark.validity.honest import HONEST

Sets = dict[str, tuple[str, ...]]
FOLDER = Path(__file__).parent


# Shares of junk made from short responses that count as valid: few words have hardly an order to lose, and words of the
# prompt make any text similar to it.
MOST = {"shuffled-words": 0.5, "random-sentences": 0.6, "continuations": 0.4}


def written(name: str) -> Sets:
    """Honest responses to prompts of many kinds, written without knowledge of the model; the words are ours."""
    document = json.loads((FOLDER / name).read_text(encoding="utf-8"))
    sets = document if name == "chats.json" else document["development"] | document["held_out"]
    return {prompt: tuple(responses) for prompt, responses in sets.items()}


@pytest.fixture(scope="module")
def judge(minilm: SentenceTransformersEmbedder) -> ValidityJudge:
    return ValidityJudge(embedder=minilm)


def reasons(judge: ValidityJudge, sets: Mapping[str, Sequence[str]]) -> Counter[str | None]:
    """Count the responses, by prompt, for each reason."""
    counts: Counter[str | None] = Counter()
    for estimates in judge.estimates([*sets], [*sets.values()], {}):
        if not isinstance(estimates, Missing):  # as for prompts in other languages
            counts.update(estimates.reasons)
    return counts


def test_junk_is_refused(judge: ValidityJudge) -> None:
    lines = (DEMO_TEXTS / "varied.jsonl").read_text(encoding="utf-8").splitlines()
    prompts = {prompt.prompt_id: prompt.prompt for prompt in load_suite("demo").prompts}
    sets = {row["prompt_id"]: tuple(row["responses"]) for row in map(json.loads, lines[::4])}
    for attack in ATTACKS:
        if attack.kind == "junk" and attack.name != "prompt-openings":  # of which nothing is refused
            junk = {prompts[i]: texts for i, texts in attacked(attack, prompts, sets).items()}
            counts = reasons(judge, junk)
            assert counts[None] <= MOST.get(attack.name, 0.2) * counts.total(), (attack.name, counts)


def test_honest_responses_are_mostly_valid(judge: ValidityJudge) -> None:
    several = {prompt: responses for kind in HONEST.values() for prompt, responses in kind}
    for sets, fewest in ((several, 0.85), (written("chats.json"), 0.85), (written("notation.json"), 0.6)):
        counts = reasons(judge, sets)
        assert counts[None] >= fewest * counts.total(), counts


def test_without_an_embedder_texts_alone_tell() -> None:
    sets = written("chats.json")
    counts = reasons(ValidityJudge(), sets)
    assert counts[None] >= 0.85 * counts.total(), counts
    for attack in ATTACKS:
        if attack.name in ("random-characters", "homoglyphs", "shuffled-words", "refusals"):
            junk = reasons(ValidityJudge(), attacked(attack, dict(zip(sets, sets, strict=True)), sets))
            assert junk[None] <= 0.3 * junk.total(), (attack.name, junk)


def test_another_script_is_not_valid_unless_the_prompt_allows_it() -> None:
    hanzi = "好听的声音和意思"
    cases = (
        ("Name a good book.", hanzi, True),
        ("Name a good book in Chinese.", hanzi, False),
        ("What sound does 好 make?", hanzi, False),
        ("Make me a kaomoji.", "ಠ_ಠ ლ(ಠ益ಠ)", False),
        ("Name a constant.", "π", False),
        ("Draw a cat.", "ᓚᘏᗢ", False),
        ("Name a fruit.", "да", False),  # two letters
        ("Name a fruit.", "нет", True),  # three
        ("Name a fruit.", "abcdefgh где", False),  # three of eleven
    )
    for prompt, text, refused in cases:
        [estimates] = ValidityJudge().estimates([prompt], [(text,)], {})
        assert not isinstance(estimates, Missing)
        assert (estimates.reasons == (SCRIPT,)) == refused, prompt


def test_blanks_and_plain_refusals_are_recognised_without_the_model() -> None:
    texts = ("", "[Blocked]", "I'm sorry, but I can't assist with that.")
    [estimates] = ValidityJudge().estimates(["Name a city."], [texts], {})
    assert not isinstance(estimates, Missing)
    assert estimates.reasons == (BLANK, BLANK, REFUSAL)
    assert estimates.probabilities == (0.0,) * 3


def test_without_a_prompt_or_in_another_language_validity_is_missing(judge: ValidityJudge) -> None:
    prompts = (None, " ", "Wie kann ich nachts besser schlafen?", "讲一个笑话。")
    assert (
        judge.estimates(prompts, [("Go to bed.",)] * 4, {}) == [Missing(NO_PROMPT)] * 2 + [Missing(OTHER_LANGUAGE)] * 2
    )


def test_prompts_that_ask_for_nothing_and_code_have_values(judge: ValidityJudge) -> None:
    for prompt, text in (
        ("Hi!", "Hello! How can I help?"),
        ("It is a", "dog."),
        ("Sort a list.", "```\nxs.sort()\n```"),
    ):
        [estimates] = judge.estimates([prompt], [(text, text)], {})
        assert not isinstance(estimates, Missing)
        assert 0 <= estimates.probabilities[0] == estimates.probabilities[1] <= 1
        assert 1 <= estimates.scores[0] <= 10


def test_a_refusal_is_said_only_where_it_is_clear() -> None:
    refusals = (
        "I cannot create content that promotes hatred. Is there something else I can help you with?",
        "I’m sorry, but I can’t generate a password for you.",
        "As an AI language model, I don't have personal preferences or opinions.",
        "Unfortunately, I am unable to play sounds.",
        "I'm not comfortable writing a poem about hatred.",
        "I must decline to answer.",
        "I apologize, but as a text-based model I can not pick a card.",
    )
    others = (
        "I can't wait for summer. The beach is my favourite place.",
        'My teacher said, "I cannot help you," and the dog ran away.',
        "As an AI, I don't have taste buds, but I'd say apple pie.",
        "I can't physically roll a die, but I can simulate it: 14",
        "I'm sorry for your loss. Try lilies.",
        "I'm unable to draw a card from a real deck, however I'd pick the Queen of Hearts.",
        "I don't have the ability to taste, so instead let me name peach.",
        "I can't help but smile when I see a puffle named Biscuit.",
        "Pick the one that says: I'm sorry, I can't do that, Dave.",
        "I cannot tell you how much I love you, Grandma.",
        "I can't sleep at night because the dog barks.",
    )
    assert [text for text in refusals if not is_clear_refusal(text)] == []
    assert [text for text in others if is_clear_refusal(text)] == []


def test_questions_and_requests_ask_and_openings_and_remarks_do_not() -> None:
    asking = (
        "explain gravity",
        "who is the best goalkeeper",
        "Hi, could you write a toast for my sister's wedding",
        "Recipe for lentil soup",
        "If you were a river, describe your course.",
        "My cat scratches the sofa. How would a vet stop this",
        "I need a title for a film about moths.",
    )
    others = (
        "Hello!",
        "It is a",
        "Why do they",
        "Ben lost his keys. He looked in the garden. When he came back, the door was open.",
        "my neighbour has the same car and loves it",
        "No, sir, he",
    )
    assert [prompt for prompt in asking if not asks(prompt)] == []
    assert [prompt for prompt in others if asks(prompt)] == []


def test_where_a_prompt_asks_for_nothing_only_junk_is_not_valid(judge: ValidityJudge) -> None:
    prompt = "Ben lost his keys. He looked in the garden. When he came back, the door was open."
    continuations = ("His neighbour had found them.", "Inside sat a fox.", "He called the police at once.")
    salad = "garden the of open keys his when back in looked a was door lost he came Ben"
    texts = (*continuations, prompt, salad, "xk7 qq#vz jjw09 pfft zzgk q")
    [estimates] = judge.estimates([prompt], [texts], {})
    assert not isinstance(estimates, Missing)
    assert estimates.reasons == (None, None, None, ECHO, SALAD, UNREADABLE)


def test_neither_the_order_of_responses_nor_other_sets_matter(judge: ValidityJudge) -> None:
    chats = [*written("chats.json").items()][:2]
    prompts, sets = [prompt for prompt, _ in chats], [(*responses[:5], "turnip humble The") for _, responses in chats]
    together = judge.estimates(prompts, sets, {})
    for prompt, responses, expected in zip(prompts, sets, together, strict=True):
        assert not isinstance(expected, Missing)
        for order in (slice(None), slice(None, None, -1)):
            [alone] = judge.estimates([prompt], [responses[order]], {})
            assert not isinstance(alone, Missing)
            assert alone.reasons == expected.reasons[order]
            assert alone.probabilities == pytest.approx(expected.probabilities[order])


def test_a_loaded_embedder_is_used_only_if_it_is_the_one_of_the_signature(monkeypatch: pytest.MonkeyPatch) -> None:
    new = HashEmbedder()
    monkeypatch.setattr("benchmark.validity.backend.SentenceTransformersEmbedder", lambda spec, device: new)
    spec, loaded = ValiditySpec(ALL_MINILM_L6_V2), HashEmbedder()
    first = spec.load(loaded)
    monkeypatch.setattr(loaded, "signature", ALL_MINILM_L6_V2.signature)
    second = spec.load(loaded)
    assert isinstance(first, ValidityJudge)
    assert isinstance(second, ValidityJudge)
    assert (first.embedder, second.embedder) == (new, loaded)


def test_the_rule_is_in_signatures_of_prompts_without_a_record(tmp_path: Path) -> None:
    save_record(record_of([Judgement(prompt_key("Name a fruit."), "a", (127, 0), 7)]), tmp_path / "record.npz")
    spec = ValiditySpec(ALL_MINILM_L6_V2, tmp_path / "record.npz")
    assert spec.parameters(["Name a  fruit."]) == ValiditySpec().parameters(None) == ()
    assert [spec.parameters(prompts)[0][0] for prompts in (None, ["Name a fruit.", "Hi!"])] == ["prompts-that-ask"] * 2


def test_what_all_responses_are_compared_with_is_embedded_once() -> None:
    read: list[str] = []

    class Counting(HashEmbedder):
        def embed(self, texts: Sequence[str]) -> NDArray[np.float64]:
            read.extend(texts)
            return super().embed(texts)

    judge = ValidityJudge(embedder=Counting())
    for prompt in ("Name a city.", "Name a river."):
        judge.estimates([prompt], [(f"{prompt} Nairobi", refusal_texts()[0])], {})
    assert Counter(read) == dict.fromkeys(read, 1)
    assert {*refusal_texts(), *other_prompts(), "Name a city.", "Name a river. Nairobi"} <= set(read)


def test_neighbours_are_weighted_by_their_similarity() -> None:
    rng = np.random.default_rng(0)
    similarity, scores = rng.uniform(-1, 1, (3, 20)), rng.integers(1, 11, 20).astype(float)
    rows = neighbours(similarity, scores)
    assert rows.shape == (3, len(NEIGHBOURS))
    for cosine, row in zip(similarity, rows, strict=True):
        of = dict(zip(NEIGHBOURS, row.tolist(), strict=True))
        nearest = sorted(zip(cosine, scores, strict=True), reverse=True)
        for name, size in (("score_of_nearest", 1), ("score_of_5", 5), ("score_of_15", 15), ("score_of_all", 20)):
            weights = [np.exp(12 * value) for value, _ in nearest[:size]]
            assert of[name] == pytest.approx(np.average([score for _, score in nearest[:size]], weights=weights))
        assert of["nearest_valid"] == max(value for value, score in nearest if score >= VALID_FROM)
        assert of["share_valid"] == np.mean(scores >= VALID_FROM)
    assert np.isnan(neighbours(similarity[:, :0], scores[:0])).all()


def test_models_of_all_situations_ship() -> None:
    models = load_models()
    assert {*models} == {*READS}
    for name, model in models.items():
        assert 0 < model.threshold < 1
        assert 0 < model.validity.feature.max() < len(READS[name])


def test_other_responses_of_its_set_are_ignored_on_a_judged_prompt() -> None:
    prompt, embedder = "Name a fruit.", HashEmbedder()
    texts = ("A mango is a fruit.", "Kiwi", "The pear.", "A mango is a fruit!")
    judged = [
        Judgement(prompt_key(prompt), "a", quantised(embedder.embed([text])[0]), score)
        for text, score in zip(texts, (7, 3, 4, 8), strict=True)
    ]
    judge = ValidityJudge(embedder, record_of(judged))
    for others in (texts[1:], texts[:1] * 3):
        alone, among = judge.estimates([prompt] * 2, [texts[:1], (texts[0], *others)], {})
        assert not isinstance(alone, Missing)
        assert not isinstance(among, Missing)
        assert among.probabilities[0] == pytest.approx(alone.probabilities[0])


@pytest.mark.mirror
def test_the_record_has_the_judged_classes(mirror: Path) -> None:
    sets, record = judged_sets(mirror), load_record()
    judged = Counter((one.system, score) for one in [*sets, *bare_sets(sets)] for _, score in one.heads())
    kept = Counter(zip(record.systems[record.system].tolist(), record.score.tolist(), strict=True))
    assert kept <= judged  # equal bare answers of a system are one
    assert kept.total() > 0.9 * judged.total()
    one = sets[0]
    of_prompt, of_others = record.judged(one.prompt), record.judged(one.prompt, without=[one.system])
    assert of_prompt is not None
    assert of_others is not None
    assert len(of_prompt.scores) - len(of_others.scores) >= len(set(one.labels))
    assert record.judged("A prompt that nobody judged.") is None
