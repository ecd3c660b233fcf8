"""What no batch, company or sharing may change; and the trie against a plain one."""

from collections.abc import Iterable, Sequence
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmark.metrics.metric import Missing
from benchmark.models.hf_lm import HFCausalLM
from benchmark.models.trie import build_trie
from benchmark.surprisal.engine import OrderPlan, ResponseSet, SetSurprisals, read_sets
from benchmark.surprisal.prompt_layout import PAPER_COMPLETION, Layout
from tests.benchmark.lms import Style, Wrapped, lm_of, model_of, one_thread

__all__ = ["one_thread"]  # a fixture

TOLERANCE = 1e-3  # bits of a response
few = settings(max_examples=25)
families = pytest.mark.parametrize("style", ["merging", "gpt2"])

responses = st.lists(st.text("ab .!\n雨🎉", max_size=6), min_size=1, max_size=4).map(tuple)
sets = st.builds(ResponseSet, st.sampled_from(["Say one.", "Go on:", "雨"]), responses)
companies = st.lists(sets, min_size=1, max_size=4)
layouts = st.sampled_from([Layout(), Layout("completion"), PAPER_COMPLETION])
sequences = st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=8), min_size=1, max_size=8)

SETS = [ResponseSet("Say one.", (*"abc"[i % 2 :], f"Item {i}.", "long " * i)) for i in range(5)]


@cache
def the_lm(style: Style) -> HFCausalLM:
    lm = lm_of(style)
    assert lm.shares
    return lm


@cache
def the_lm_that_reads_all_sequences_whole(style: Style) -> HFCausalLM:
    lm = lm_of(style)
    lm.shares = False
    return lm


def differ(a: Sequence[SetSurprisals | Missing], b: Sequence[SetSurprisals | Missing]) -> float:
    """By how much a response does at most; bits."""
    worst = 0.0
    for one, other in zip(a, b, strict=True):
        assert isinstance(one, SetSurprisals)
        assert isinstance(other, SetSurprisals)
        s, t = one.surprisals, other.surprisals
        worst = max(worst, np.abs(s.bits - t.bits).max(), np.abs(s.unconditional - t.unconditional).max())
    return worst


@families
@few
@given(companies, layouts, st.integers(1, 1500), st.data())
def test_batches_company_and_order_of_sets_change_nothing(
    style: Style, company: list[ResponseSet], layout: Layout, batch_tokens: int, data: st.DataObject
) -> None:
    alone = [read_sets([one], the_lm(style), layout)[0] for one in company]
    order = data.draw(st.permutations(range(len(company))))
    lm = Wrapped(the_lm(style), batch_tokens=batch_tokens)
    together = read_sets([company[i] for i in order], lm, layout)
    assert differ([alone[i] for i in order], together) < TOLERANCE
    assert all(sum(map(len, call)) <= batch_tokens or len(call) == 1 for call in lm.asked)


@families
@few
@given(companies, layouts)
def test_sharing_changes_nothing(style: Style, company: list[ResponseSet], layout: Layout) -> None:
    apart = read_sets(company, the_lm_that_reads_all_sequences_whole(style), layout)
    assert differ(read_sets(company, the_lm(style), layout), apart) < TOLERANCE


@few
@given(sets, st.sampled_from(["balanced", "exact", "endpoint"]), st.data())
def test_the_order_in_which_responses_are_given_changes_nothing(
    one: ResponseSet, kind: str, data: st.DataObject
) -> None:
    plan = OrderPlan(kind)  # type: ignore[arg-type]
    order = data.draw(st.permutations(range(len(one.responses))))
    other = ResponseSet(one.prompt, tuple(one.responses[i] for i in order))
    found, again = read_sets([one, other], the_lm("merging"), Layout(), plan)
    assert isinstance(found, SetSurprisals)
    assert isinstance(again, SetSurprisals)
    assert np.abs(found.surprisals.bits - again.surprisals.bits).max() < TOLERANCE
    assert np.abs(found.surprisals.unconditional[list(order)] - again.surprisals.unconditional).max() < TOLERANCE


def test_sets_that_are_alike_are_read_once() -> None:
    once, thrice = Wrapped(the_lm("merging")), Wrapped(the_lm("merging"))
    found = read_sets(SETS, once)
    again = read_sets([*SETS, *SETS[::-1], *SETS], thrice)
    assert thrice.asked == once.asked
    assert differ(again, [*found, *found[::-1], *found]) == 0


def test_the_longest_set_is_read_first_and_the_work_is_told() -> None:
    several = [ResponseSet("Say one.", (f"Item {i}.", "long " * 4 * i)) for i in (2, 4, 0, 3, 1)]
    lm, told = Wrapped(the_lm("merging"), batch_tokens=260), list[int]()
    read_sets(several, lm, progress=told.append)
    longest = [max(map(len, call)) for call in lm.asked]
    assert longest == sorted(longest, reverse=True)
    assert told == sorted(set(told))
    assert len(set(longest)) > 2
    assert (told[0], told[-1]) == (0, len(several))


def beginnings(several: Iterable[tuple[int, ...]]) -> int:
    return len({ids[:end] for ids in several for end in range(1, len(ids) + 1)})


@families
def test_the_model_reads_each_beginning_of_a_batch_once(style: Style) -> None:
    lm, read = Wrapped(the_lm(style), batch_tokens=600), list[int]()
    embeddings = model_of(style).get_input_embeddings()
    seen = embeddings.register_forward_hook(lambda layer, ids, made: read.append(ids[0].numel()))
    try:
        read_sets(SETS, lm)
    finally:
        seen.remove()
    assert read == [beginnings(call) for call in lm.asked]
    assert sum(read) < 0.7 * sum(len(ids) for call in lm.asked for ids in call)


def test_a_set_that_is_cut_loses_little_of_what_it_shares() -> None:
    lm = Wrapped(the_lm("gpt2"), batch_tokens=300)
    given_set = ResponseSet("Say one.", ("The lamp.", "A stone.", "The river.", "A book."))
    read_sets([given_set], lm, plan=OrderPlan("uniform", 24))
    assert len(lm.asked) > 3
    assert sum(map(beginnings, lm.asked)) < 1.5 * beginnings(ids for call in lm.asked for ids in call)


@given(sequences)
def test_a_trie_has_one_node_for_each_beginning(given_ids: list[list[int]]) -> None:
    trie = build_trie([np.array(ids) for ids in given_ids])
    node_of: dict[tuple[int, ...], int] = {}
    for ids, path in zip(given_ids, trie.paths, strict=True):
        assert trie.ids[path].tolist() == ids
        assert trie.depths[path].tolist() == list(range(len(ids)))
        for length, node in enumerate(path.tolist(), 1):
            assert node_of.setdefault(tuple(ids[:length]), node) == node
    assert sorted(node_of.values()) == list(range(len(trie.ids)))
    assert len(trie.depths) == len(trie.ids)
    for path in trie.paths:
        assert trie.parents[path].tolist() == [-1, *path[:-1].tolist()]


@given(sequences)
def test_groups_take_every_node_once_and_from_where_it_stands(given_ids: list[list[int]]) -> None:
    trie = build_trie([np.array(ids) for ids in given_ids])
    taken = np.concatenate([group.taken_nodes for group in trie.groups])
    assert sorted(taken.tolist()) == list(range(len(trie.ids)))
    ways = {tuple(path.tolist()) for path in trie.paths}
    for group in trie.groups:
        assert np.array_equal(group.nodes.ravel()[group.taken], group.taken_nodes)
        # A node is taken where all before it in its row is its way; what follows a path's end is its last node again.
        assert np.array_equal(trie.depths[group.taken_nodes], group.taken % group.nodes.shape[1])
        assert all(tuple(dict.fromkeys(row)) in ways for row in group.nodes.tolist())
