"""Which pairs visitors are shown: known answers now and then, else what teaches most."""

import random
from collections import Counter
from dataclasses import replace

import numpy as np

from leaderboard.data.arena import CHECK_SHARE, REPEAT_SHARE, Contest, Pair, choose_pair
from submissions.judgements.votes import Vote, vote_id

PROMPTS = tuple(f"p{i}" for i in range(6))
NAMES = ("a", "b", "c", "d")
# Two metrics: they agree on all prompts but the last.
SCORES = np.array([[[4.0, 3, 2, 1]] * 6, [[4.0, 3, 2, 1]] * 5 + [[1.0, 2, 3, 4]]])
CONTEST = Contest("demo", NAMES, tuple(f"{i:012x}" for i in range(4)), PROMPTS, SCORES)


def texts(system: int, prompt: str) -> list[str]:
    return [f"response {i} of a system, number {system}, to {prompt}" for i in range(8)]


def draw(count: int, votes: list[Vote] = [], strengths: dict[str, float] = {}, voter: str = "0" * 32) -> list[Pair]:  # noqa: B006
    rng = random.Random(0)  # noqa: S311 - the same each time
    made = [choose_pair(CONTEST, votes, strengths, voter, texts, rng) for _ in range(count)]
    assert None not in made
    return [pair for pair in made if pair is not None]


def judged(pair: Pair, number: int, voter: str) -> Vote:
    left, right, pair_id = pair.left, pair.right, f"{number:032x}"
    return Vote(
        vote_id=vote_id(pair_id, "preferred"),
        pair_id=pair_id,
        time=0,
        voter=voter,
        suite=CONTEST.suite,
        prompt_id=pair.prompt_id,
        left=NAMES[left.system],
        right=NAMES[right.system],
        left_result=CONTEST.results[left.system],
        right_result=CONTEST.results[right.system],
        left_positions=left.positions,
        right_positions=right.positions,
        question="preferred",
        answer="left",
    )


def test_one_pair_in_ten_has_a_known_answer() -> None:
    pairs = draw(3000)
    checks = [pair for pair in pairs if pair.check]
    assert abs(len(checks) / 3000 - CHECK_SHARE) < 0.02  # 3.6 standard errors
    assert len({(pair.check, pair.altered) for pair in checks}) == 5
    for pair in checks:
        given = {"left": pair.left, "right": pair.right}
        assert pair.left.system == pair.right.system
        if pair.check == "self":
            assert sorted(pair.left.texts) == sorted(pair.right.texts)
            assert dict(pair.expected) == {"more_different": "tie", "preferred": "tie"}
            continue
        bad = given.pop(pair.altered)
        ((question, answer),) = pair.expected
        assert list(given) == [answer]
        if pair.check == "repeated":
            assert (question, len(set(bad.texts)), len(set(given[answer].texts))) == ("more_different", 1, 5)
        else:
            words = [[sorted(text.split()) for text in side.texts] for side in (bad, given[answer])]
            assert question == "preferred"
            assert words[0] == words[1]
            assert bad.texts != given[answer].texts


def test_the_same_set_is_shown_to_all_in_the_same_order_and_sides_by_chance() -> None:
    pairs = [pair for pair in draw(1000) if not pair.check]
    shown: dict[tuple[int, str], set[tuple[int, ...]]] = {}
    for pair in pairs:
        for side in (pair.left, pair.right):
            assert side.texts == tuple(texts(side.system, pair.prompt_id)[i] for i in side.positions)
            shown.setdefault((side.system, pair.prompt_id), set()).add(side.positions)
    assert all(len(each) == 1 for each in shown.values())
    assert len(set.union(*shown.values())) > 12
    assert abs(np.mean([pair.left.system < pair.right.system for pair in pairs]) - 0.5) < 0.06


def test_what_teaches_most_is_shown_more_often() -> None:
    pairs = [pair for pair in draw(1000) if not pair.check]
    prompts = Counter(pair.prompt_id for pair in pairs)
    assert prompts["p5"] > 5 * max(prompts[name] for name in PROMPTS[:5])  # on which the metrics disagree
    close = [pair for pair in draw(1000, strengths={"a": 9.0, "b": 3.0, "c": 3.0, "d": -3.0}) if not pair.check]
    met = Counter(frozenset((pair.left.system, pair.right.system)) for pair in close)
    assert met[frozenset((1, 2))] > 0.8 * len(close)  # of like strength
    others = [pair for pair in pairs if 3 not in (pair.left.system, pair.right.system)]
    votes = [judged(pair, i, "1" * 32) for i, pair in enumerate(others)]
    seen = Counter(side.system for pair in draw(500, votes) if not pair.check for side in (pair.left, pair.right))
    assert seen[3] > 1.5 * max(seen[0], seen[1], seen[2])  # who has no votes yet


def test_some_pairs_are_judged_by_several_but_none_twice_by_one() -> None:
    first = next(pair for pair in draw(20) if not pair.check)
    votes = [judged(first, 0, "1" * 32)]

    def is_it(pair: Pair) -> bool:
        return (
            not pair.check
            and pair.prompt_id == first.prompt_id
            and {pair.left, pair.right}
            == {
                first.left,
                first.right,
            }
        )

    again = sum(map(is_it, draw(1000, votes)))
    assert again > 1000 * REPEAT_SHARE * 0.6
    assert not any(map(is_it, draw(1000, [replace(votes[0], voter="0" * 32)])))


def test_where_there_is_nothing_to_show_there_is_no_pair() -> None:
    rng = random.Random(0)  # noqa: S311
    for contest, given in (
        (replace(CONTEST, names=("a",) * 4), texts),
        (replace(CONTEST, prompts=()), texts),
        (CONTEST, lambda *_: None),
        (CONTEST, lambda *_: ["x"] * 4),
        (CONTEST, lambda *_: ["x" * 10_000] * 5),
    ):
        assert choose_pair(contest, [], {}, "0" * 32, given, rng) is None


def test_who_has_judged_all_pairs_is_shown_none_again() -> None:
    voter, rng, votes = "f" * 32, random.Random(0), list[Vote]()  # noqa: S311
    for number in range(100):
        pair = choose_pair(CONTEST, votes, {}, voter, texts, rng)
        if pair is None:
            break
        if not pair.check:
            votes.append(judged(pair, number, voter))
    seen = {(vote.prompt_id, *sorted((vote.left, vote.right))) for vote in votes}
    assert len(votes) == len(seen) == 6 * len(PROMPTS)
    assert all(choose_pair(CONTEST, votes, {}, voter, texts, rng) is None for _ in range(50))
    assert choose_pair(CONTEST, votes, {}, "e" * 32, texts, rng) is not None


def test_a_visitor_who_judged_an_older_result_does_not_see_the_pair_again() -> None:
    voter = "f" * 32
    pairs = {(pair.prompt_id, *sorted((pair.left.system, pair.right.system))): pair for pair in draw(2000)}
    votes = [judged(pair, number, voter) for number, pair in enumerate(pairs.values()) if not pair.check]
    chosen = [each for each in votes if each.prompt_id in PROMPTS[:3]]
    again = replace(CONTEST, results=tuple(f"{i:012x}" for i in range(10, 14)), older=tuple(zip(CONTEST.results)))
    rng, seen = random.Random(0), {(each.prompt_id, frozenset((each.left, each.right))) for each in chosen}  # noqa: S311
    for _ in range(200):
        pair = choose_pair(again, chosen, {}, voter, texts, rng)
        assert pair is not None
        assert (
            pair.check or (pair.prompt_id, frozenset((NAMES[pair.left.system], NAMES[pair.right.system]))) not in seen
        )
