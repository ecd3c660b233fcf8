"""What small models find on demand: the engine's own numbers, and a reason wherever they are not asked."""

import importlib.util
from typing import Any

import pytest

from benchmark.scoring.profiles import find_profile
from benchmark.surprisal.prompt_layout import token_surprisals
from divbench.core.errors import InputError
from leaderboard.pages import live_models
from leaderboard.pages.live_models import (
    MOST_BYTES,
    read_tokens,
    tokens_table,
    why_no_tokens,
)
from tests.benchmark.fakes import HashLM
from tests.leaderboard.read_results import ODD

PROMPT = "Say one thing."
ANSWERED = tuple(text for text in ODD if text.strip() and text != "[Blocked]")


def test_tokens_are_those_of_the_answers_in_their_order() -> None:
    found = read_tokens("offline", PROMPT, ODD, HashLM())
    assert found.numbers == (1, 4, 5, 6, 7, 8, 9, 10)
    assert found.costs == token_surprisals(HashLM(), find_profile("offline").layout, PROMPT, ANSWERED)
    assert ["".join(token.text for token in own) for own in found.costs] == list(ANSWERED)
    rows = tokens_table(found).values
    assert [row[1] for row in rows] == pytest.approx([sum(t.bits for t in own) for own in found.costs])
    assert str(rows[4][3]).isprintable()


def test_the_model_that_ships_here_reads_on_demand() -> None:
    found = read_tokens("offline", PROMPT, ANSWERED[:3])
    assert found.model.startswith("divbench/offline-lm@")
    assert ["".join(token.text for token in own) for own in found.costs] == list(ANSWERED[:3])
    assert all(token.bits >= 0 for own in found.costs for token in own)


@pytest.mark.parametrize(
    ("profile", "responses", "reason"),
    [
        ("lexical", ODD, "The profile lexical has no"),
        ("paper", ODD, "is not bundled with the package"),
        ("<b>", ODD, "The profile <b> has no"),
        ("offline", ("x" * MOST_BYTES, "y", "z"), "bytes; the limit"),
        ("offline", ("x",) * 51, "51 responses; the limit here is 50"),
    ],
)
def test_where_nothing_is_read_it_is_said_why(profile: str, responses: tuple[str, ...], reason: str) -> None:
    assert reason in str(why_no_tokens(profile, PROMPT, responses))
    with pytest.raises(InputError, match=r"profile|package|the limit here"):
        read_tokens(profile, PROMPT, responses)


def test_a_text_beyond_the_context_is_told() -> None:
    with pytest.raises(InputError, match="longer than the model's context"):
        read_tokens("offline", PROMPT, ANSWERED, HashLM(context=5))


def test_what_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    there = importlib.util.find_spec

    def find(name: str, *rest: Any) -> Any:
        return None if name == "torch" else there(name, *rest)

    monkeypatch.setattr(live_models, "find_spec", find)
    assert why_no_tokens("offline", PROMPT, ODD) == "torch is not installed here."
