"""The engine against brute force: one text, one pass, nothing shared; written from the definitions alone."""

import functools
import math
import random
from collections.abc import Callable, Sequence
from itertools import product

import numpy as np
import pytest
import torch

from benchmark.models.causal_lm import Floats
from benchmark.surprisal.engine import OrderPlan, ResponseSet, SetSurprisals, read_sets
from benchmark.surprisal.prompt_layout import PAPER_COMPLETION, PAPER_INSTRUCT, Layout
from tests.benchmark.lms import STYLES, Style, lm_of, model_of, one_thread, plain_tokeniser

__all__ = ["one_thread"]  # a fixture

ORDERS = {"paper": 6, "exact": 2}
TOLERANCE = 1e-3  # bits of a response
PAPER, EXACT = (PAPER_INSTRUCT, PAPER_COMPLETION), (Layout("instruct"), Layout("completion"))
SPACE_BEFORE: tuple[Style, ...] = ("metaspace", "llama2")
BITS = Callable[[Style, Layout, str, Sequence[str]], list[float]]

SETS = {
    "punctuation": ResponseSet("Say what was lost.", ("The lamp.", "A violet stone!", "The river?", "“One book.”")),
    "other scripts": ResponseSet("Что было?", ("Снег шёл всю ночь.", "雨が降っている。", "नदी का पानी साफ़ है।")),
    "emoji": ResponseSet("Party 🎉", ("👩‍👩‍👧 and 👍🏽", "🇬🇧🇬🇧", "🎉🎉🎉", "e\u0301 é ﬁ \u200b")),
    "white space before": ResponseSet("Go on: ", ("  two spaces", "\ttab", "\nline", " ", "\n\n")),
    "white space after": ResponseSet("Go on:\n", ("a line\n", "two.\n\n", "a tab\t", "a return\r\n")),
    "an empty one": ResponseSet("Say one.", ("The lamp.", "", "The river.")),
    "no prompt": ResponseSet("", ("The lamp.", "The river.")),
    "newlines": ResponseSet("List.", ("- one item\n- another", "One.\n\nTwo.\n\nThree.", "1. A thing\n2. A thing\n")),
    "labels": ResponseSet("Say one.", ("Yes.\n\nResponse B: no.", "No.\n\n2. Say one. yes.", "Response A:")),
    "duplicates": ResponseSet("Say one.", ("The lamp.", "The lamp.", "The lamp", "The lamp.")),
    "a single one": ResponseSet("Say one.", ("The lamp.",)),
    "28": ResponseSet("Say one.", tuple(f"Item {i}." for i in range(28))),
}
LOOKS_SPECIAL = ResponseSet("A <s> is </s>", ("It ends</s>here.", "<s>", "</s>", "<unk> and <s>."))
NOTHING = ResponseSet("Say one.", ("", ""))
SPACE_AFTER = ResponseSet("Go on:", ("a space ", "two  ", "none"))


known_lm = functools.cache(lm_of)  # each checks its model anew
known_tokeniser = functools.cache(plain_tokeniser)


def bits_between(style: Style, ids: Sequence[int], spans: Sequence[tuple[int, int]]) -> list[float]:
    """The surprisal of tokens first … end − 1, for each span."""
    with torch.inference_mode():
        after = model_of(style)(torch.tensor([ids])).logits[0].double().log_softmax(-1)
    costs = [0.0, *(-after[range(len(ids) - 1), ids[1:]] / math.log(2)).tolist()]
    return [math.fsum(costs[first:end]) for first, end in spans]


def name_of(position: int) -> str:
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    names: list[str] = [*letters, *(a + b for a, b in product(letters, letters))]
    return names[position]


def paper(style: Style, layout: Layout, prompt: str, responses: Sequence[str]) -> list[float]:
    """The text at once; tokens by overlap of characters, and a response alone has all to the end of the text."""
    text, spans = prompt if layout.format == "instruct" else "", []
    for position, response in enumerate(responses):
        if layout.format == "instruct":
            text += f"\n\nResponse {name_of(position)}: "
        else:
            text += ("\n\n" if position else "") + f"{position + 1}. {prompt} "
        spans.append((len(text), len(text) + len(response)))
        text += response
    encoded = known_tokeniser(style, spaces=True).encode(text, add_special_tokens=False)
    ranges = []
    for start, end in spans:
        over = [i for i, (left, right) in enumerate(encoded.offsets) if right > start and left < end]
        if start == end or not over:
            ranges.append((0, 0))
        else:
            ranges.append((over[0], over[-1] + 1 if len(responses) > 1 else len(encoded.ids)))
    return bits_between(style, encoded.ids, ranges)


def exact(style: Style, layout: Layout, prompt: str, responses: Sequence[str]) -> list[float]:
    """Prompt, label, response with its space, and separator apart; there is one after the last response, too."""
    tokeniser = known_tokeniser(style, spaces=False)
    ids = [1] if layout.bos == "model" and style in {"merging-bos", "ours"} else []
    ranges = []

    def add(*texts: str) -> None:
        for text in texts:
            ids.extend(tokeniser.encode(text, add_special_tokens=False).ids)

    if layout.format == "instruct":
        add(prompt, "\n\n")
    for position, response in enumerate(responses):
        add(
            *([f"Response {name_of(position)}:"] if layout.format == "instruct" else [f"{position + 1}.", f" {prompt}"])
        )
        first = len(ids)
        add(f" {response}")
        ranges.append((first, len(ids) if response else first))
        add("\n\n")
    return bits_between(style, ids, ranges)


def brute_force(bits: BITS, style: Style, layout: Layout, given: ResponseSet) -> tuple[Floats, Floats]:
    """By order and position, and alone."""
    rng = random.Random(42)  # noqa: S311 - not for secrets
    rows = []
    for _ in range(ORDERS[layout.boundaries]):
        order = list(range(len(given.responses)))
        rng.shuffle(order)
        rows.append(bits(style, layout, given.prompt, [given.responses[i] for i in order]))
    return np.array(rows), np.array([bits(style, layout, given.prompt, [one])[0] for one in given.responses])


def read(style: Style, layout: Layout, sets: Sequence[ResponseSet]) -> list[SetSurprisals]:
    found = read_sets(sets, known_lm(style), layout, OrderPlan("uniform", ORDERS[layout.boundaries]))
    assert all(isinstance(each, SetSurprisals) for each in found)
    return [each for each in found if isinstance(each, SetSurprisals)]


def largest_difference(bits: BITS, style: Style, layout: Layout, sets: Sequence[ResponseSet]) -> float:
    """Over all orders, positions and responses, and those alone; bits."""
    worst = 0.0
    for given, found in zip(sets, read(style, layout, sets), strict=True):
        conditional, alone = brute_force(bits, style, layout, given)
        worst = max(worst, float(np.abs(found.surprisals.bits - conditional).max()))
        worst = max(worst, float(np.abs(found.surprisals.unconditional - alone).max()))
    return worst


@pytest.mark.parametrize("layout", PAPER, ids=str)
@pytest.mark.parametrize("style", [style for style in STYLES if style not in SPACE_BEFORE])
def test_published_boundaries(style: Style, layout: Layout) -> None:
    assert largest_difference(paper, style, layout, list(SETS.values())) < TOLERANCE


@pytest.mark.parametrize("layout", PAPER, ids=str)
@pytest.mark.parametrize("style", SPACE_BEFORE)
def test_published_boundaries_with_a_space_before_the_text(style: Style, layout: Layout) -> None:
    assert largest_difference(paper, style, layout, list(SETS.values())) < TOLERANCE


@pytest.mark.parametrize("layout", EXACT, ids=str)
@pytest.mark.parametrize("style", STYLES)
def test_exact_boundaries(style: Style, layout: Layout) -> None:
    # The separator that brute force puts after the last response changes nothing.
    assert largest_difference(exact, style, layout, [*SETS.values(), SPACE_AFTER]) < TOLERANCE


def test_no_token_before_the_text_where_none_is_wanted() -> None:
    layout = Layout(bos="never")
    assert largest_difference(exact, "merging-bos", layout, [*SETS.values()]) < TOLERANCE


def test_a_response_alone_has_all_tokens_to_the_end_of_the_text() -> None:
    assert largest_difference(paper, "trimming", PAPER_INSTRUCT, [SPACE_AFTER]) < TOLERANCE


@pytest.mark.parametrize("style", STYLES)
def test_what_looks_special_is_plain_text(style: Style) -> None:
    assert largest_difference(exact, style, Layout(), [LOOKS_SPECIAL]) < TOLERANCE


def test_a_set_of_empty_responses() -> None:
    (found,) = read("gpt2", Layout(), [NOTHING])
    assert not found.surprisals.bits.any()
    assert not found.surprisals.unconditional.any()


def first_position_error(style: Style, layout: Layout, given: ResponseSet) -> float:
    """By how much a response costs other in the first position than alone; bits."""
    (found,) = read(style, layout, [given])
    s = found.surprisals
    return float(np.abs(s.bits[:, 0] - s.unconditional[s.orders[:, 0]]).max())


@pytest.mark.parametrize("layout", EXACT, ids=str)
@pytest.mark.parametrize("style", STYLES)
def test_in_the_first_position_a_response_costs_what_it_costs_alone(style: Style, layout: Layout) -> None:
    for name in ("punctuation", "white space after", "an empty one", "duplicates"):
        assert first_position_error(style, layout, SETS[name]) == 0, name
