"""Kinds of systems, and the facts about a system that a row shows."""

from dataclasses import replace
from typing import Any, get_args

import pytest

from leaderboard.data.board import Board, Entry
from leaderboard.data.kinds import KINDS, asked, cut_of, kind_of, model_link, size_of, weights_of
from leaderboard.data.reference.results import WithReference
from submissions.choices import SystemType


@pytest.fixture(scope="module")
def board() -> Board:
    boards = WithReference().read().boards
    return next(each for each in boards if (each.suite, each.k, each.profile) == ("noveltybench-curated", 8, "offline"))


def changed(entry: Entry, part: str, **values: Any) -> Entry:
    """An entry with another system or generation in its manifest."""
    manifest = entry.result.manifest
    manifest = manifest.model_copy(update={part: getattr(manifest, part).model_copy(update=values)})
    return replace(entry, result=entry.result.model_copy(update={"manifest": manifest}))


def test_every_type_of_system_has_a_kind() -> None:
    assert {kind.type for kind in KINDS} == set(get_args(SystemType))


def test_people_base_models_and_baselines_are_not_ranked(board: Board) -> None:
    entries = {entry.result.manifest.name: entry for entry in board.entries}
    ranked = {board.entries[i].result.manifest.name for i in board.ranked}
    for name, kind in (
        ("OLMo-2-7B base", "base model"),
        ("People (8 authors)", "people"),
        ("random-characters", "known-bad baseline"),
        ("GPT-4o (2024-11-20)", "chat model"),
        ("GPT-4o (2024-11-20), asked for a different one", "inference-time method"),
    ):
        assert kind_of(entries[name]).name == kind
        assert kind_of(entries[name]).is_ranked == (name in ranked)
    assert asked(entries["GPT-4o (2024-11-20)"]) == "independently"
    assert asked(entries["GPT-4o (2024-11-20), asked for a different one"]) == "for a different one"
    assert asked(entries["random-characters"]) is asked(entries["People (8 authors)"]) is None


def test_facts_of_a_system_are_shown_only_if_they_are_known(board: Board) -> None:
    olmo = next(entry for entry in board.entries if entry.result.manifest.name == "OLMo-2-7B SFT")
    assert (size_of(olmo), weights_of(olmo)) == ("7.3B", "open weights")
    assert model_link(olmo) == "https://huggingface.co/allenai/OLMo-2-1124-7B-SFT"
    assert cut_of(olmo) == "At most 100 tokens were sampled for each response, so that longer ones are cut off."
    assert size_of(changed(olmo, "system", parameters=1_230_000_000)) == "1.23B"
    assert size_of(changed(olmo, "system", parameters=350_000_000)) == "350M"
    assert size_of(changed(olmo, "system", parameters=None)) is None
    assert weights_of(changed(olmo, "system", open_weights=None)) is None
    for unlinked in ({"open_weights": False}, {"model_id": "a/b/c"}, {"model_id": "x/..\u202e"}, {"model_id": None}):
        assert model_link(changed(olmo, "system", **unlinked)) is None
    assert cut_of(changed(olmo, "generation", max_tokens=2048)) is None
