"""What a model finds in one set: every part against the surprisals it is made of, or against brute force."""

import json
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from benchmark.analysis import explain as explaining
from benchmark.analysis.explain import SCALARS, Explanation, explain
from benchmark.metrics import METRICS, Unscorable, surprisal
from benchmark.metrics.metric import Missing
from benchmark.metrics.surprisal import Surprisals, curve_bits, fit_exponential, fit_sigmoid
from benchmark.models.causal_lm import CausalLM, Encoding
from benchmark.surprisal.engine import (
    OrderPlan,
    PairwiseSurprisals,
    ResponseSet,
    SetSurprisals,
    pairwise_surprisals,
    read_sets,
)
from benchmark.surprisal.prompt_layout import (
    PAPER_COMPLETION,
    PAPER_INSTRUCT,
    Layout,
    lay_out,
    pair_tokens,
    token_surprisals,
)
from benchmark.surprisal.response_orders import balanced, orders_for, standard_errors
from divbench.core.errors import ConfigurationError
from tests.benchmark.fakes import HashLM
from tests.benchmark.lms import STYLES, Style, Wrapped, lm_of

PROMPT = "Say what was lost."
RESPONSES = ("The lamp was lost.", "The lamp was lost, and a stone.", "Nobody had seen it!", "A violet stone")
SET = ResponseSet(PROMPT, RESPONSES)
HARD = (
    "雨が降っている。窓の外は静かだ。",
    "👩‍👩‍👧 and 👍🏽, 🎉🎉 नदी का",
    "  two spaces\n\nand\ttabs \n",
    "e\u0301 é ﬁ \u200b</s> <s> x",
    " ",
    "𐍈𐍉",
)
GIVEN_ORDER = OrderPlan("uniform", 1)  # a single one is not shuffled


class Offsetless(Wrapped):
    """A model whose tokeniser does not tell where its tokens lie."""

    def encode(self, texts: Sequence[str], **options: Any) -> list[Encoding]:
        return [Encoding(found.ids, None) for found in super().encode(texts, **options)]


@pytest.fixture
def without_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    """No function is fitted to a curve: for that of a fake model it takes seconds."""
    monkeypatch.setattr(explaining, "fit_sigmoid", lambda curve: None)
    monkeypatch.setattr(explaining, "fit_exponential", lambda curve: None)


def read(given: ResponseSet, model: CausalLM, layout: Layout, plan: OrderPlan) -> Surprisals:
    (found,) = read_sets([given], model, layout, plan)
    assert isinstance(found, SetSurprisals)
    return found.surprisals


def paired(found: Explanation) -> PairwiseSurprisals:
    assert not isinstance(found.pairs, Missing)
    return found.pairs


def one_text(model: CausalLM, layout: Layout, prompt: str, responses: Sequence[str]) -> float:
    """The bits of the last of some responses, from one text read on its own."""
    (laid,) = lay_out(model, layout, prompt, [responses])
    (bits,) = model.surprisals([laid.sequence])
    return float(bits[laid.positions == len(responses) - 1].sum())


def no_constants(text: str) -> Any:
    def refuse(name: str) -> None:
        raise AssertionError(name)

    return json.loads(text, parse_constant=refuse)


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("layout", [Layout(), Layout("completion"), PAPER_INSTRUCT, PAPER_COMPLETION], ids=str)
def test_the_bits_of_tokens_add_up_to_those_of_responses(style: Style, layout: Layout) -> None:
    model = lm_of(style)
    for responses in (RESPONSES, HARD):
        tokens = token_surprisals(model, layout, PROMPT, responses)
        wanted = read(ResponseSet(PROMPT, responses), model, layout, GIVEN_ORDER).bits[0]
        assert [sum(token.bits for token in row) for row in tokens] == pytest.approx(wanted.tolist(), abs=1e-3)


@pytest.mark.parametrize("style", STYLES)
def test_the_texts_of_tokens_make_up_the_response(style: Style) -> None:
    tokens = token_surprisals(lm_of(style), Layout(), PROMPT, (*HARD, *RESPONSES, ""))
    assert tuple("".join(token.text for token in row) for row in tokens) == (*HARD, *RESPONSES, "")
    assert tokens[-1] == ()
    assert len(tokens[0]) > 5  # not by being one token


def test_a_character_of_several_tokens_stands_in_the_first_alone() -> None:
    (row,) = token_surprisals(lm_of("gpt2"), Layout(), "", ["𐍈"])
    texts = [token.text for token in row]
    assert texts.count("𐍈") == 1
    assert set(texts) == {"𐍈", ""}
    assert len(texts) > 2


@pytest.mark.parametrize("style", ["merging", "gpt2"])
def test_the_papers_tokens_hold_what_is_charged_to_a_response(style: Style) -> None:
    tokens = token_surprisals(lm_of(style), PAPER_INSTRUCT, PROMPT, ["The lamp.", "The river."])
    first, last = ("".join(token.text for token in row).strip(" ") for row in tokens)
    assert first.startswith("The lamp.")
    assert first.removeprefix("The lamp.") == ("\n\n" if style == "merging" else "")
    assert last == "The river."


def test_without_offsets_a_response_is_one_token() -> None:
    model = Offsetless(HashLM())
    tokens = token_surprisals(model, Layout(), PROMPT, (*RESPONSES, ""))
    bits = read(SET, HashLM(), Layout(), GIVEN_ORDER).bits[0]
    assert [[token.text for token in row] for row in tokens] == [*([text] for text in RESPONSES), []]
    assert [row[0].bits for row in tokens[:-1]] == pytest.approx(bits.tolist())
    with pytest.raises(ConfigurationError, match="returns character offsets"):
        token_surprisals(model, PAPER_INSTRUCT, PROMPT, RESPONSES)


@pytest.mark.parametrize("layout", [Layout(), Layout("completion"), PAPER_INSTRUCT], ids=str)
@pytest.mark.parametrize("model", [HashLM(), lm_of("ours")], ids=["hash", "ours"])
def test_the_pair_matrix_is_that_of_brute_force(model: CausalLM, layout: Layout) -> None:
    responses = (*RESPONSES, RESPONSES[0])
    done: list[int] = []
    pairs = pairwise_surprisals(model, layout, PROMPT, responses, done.append)
    for i, text in enumerate(responses):
        assert pairs.alone[i] == pytest.approx(one_text(model, layout, PROMPT, [text]), abs=1e-3)
        for j, before in enumerate(responses):
            assert pairs.given[i, j] == pytest.approx(one_text(model, layout, PROMPT, [before, text]), abs=1e-3)
            assert pairs.saved[i, j] == pairs.alone[i] - pairs.given[i, j]
    assert done[-1] == 15


def test_pairs_of_empty_texts_or_of_one_say_so() -> None:
    with pytest.raises(Unscorable, match="an empty response"):
        pairwise_surprisals(HashLM(), Layout(), PROMPT, ["a", ""])
    with pytest.raises(Unscorable, match="longer than the model's context"):
        pairwise_surprisals(HashLM(context=12), Layout(), PROMPT, RESPONSES)
    alone = pairwise_surprisals(HashLM(), Layout(), PROMPT, ["a"])
    assert (alone.given.shape, alone.strongest) == ((1, 1), None)
    worse = PairwiseSurprisals(np.ones(2), np.array([[0.0, 3.0], [2.0, 0.0]]))
    assert worse.strongest == (1, 0)  # also where each text makes the other one dearer


def test_what_is_alike_spares_much_and_what_is_not_spares_little() -> None:
    found = explain(HashLM(), ResponseSet("Count.", ("one two three four", "one two three four", "五 六 七")))
    saved = paired(found).saved
    assert saved[0, 1] == saved[1, 0] > 10
    assert saved[0, 2] == saved[2, 0] == 0
    assert paired(found).strongest in {(0, 1), (1, 0)}
    assert found.alone[0] - found.last[0] > 10


def test_a_pairs_tokens_add_up_to_what_it_saves() -> None:
    model = lm_of("ours")
    found = explain(model, SET)
    pairs, strongest = paired(found), found.strongest
    assert pairs.strongest is not None
    assert strongest is not None
    i, j = pairs.strongest
    off = ~np.eye(len(RESPONSES), dtype=bool)
    assert pairs.saved[i, j] == pairs.saved[off].max()
    assert sum(token.saved for token in strongest) == pytest.approx(pairs.saved[i, j], abs=1e-3)
    assert "".join(token.text for token in strongest) == RESPONSES[i]
    assert strongest == pair_tokens(model, Layout(), PROMPT, RESPONSES[i], RESPONSES[j])
    assert [t.alone for t in strongest] == [
        t.bits for t in token_surprisals(model, Layout(), PROMPT, [RESPONSES[i]])[0]
    ]


def test_tokens_of_a_pair_need_exact_boundaries() -> None:
    with pytest.raises(ConfigurationError, match="exact"):
        pair_tokens(HashLM(), PAPER_INSTRUCT, PROMPT, "a", "b")
    assert explain(HashLM(), SET, PAPER_INSTRUCT).strongest is None


@pytest.mark.parametrize("plan", [OrderPlan(), OrderPlan("balanced", 2), OrderPlan("uniform", 9), OrderPlan("exact")])
def test_the_numbers_are_those_of_the_metrics(plan: OrderPlan) -> None:
    model = lm_of("ours")
    found = explain(model, SET, plan=plan)
    s = read(SET, model, Layout(), plan)
    assert found.values == {metric.id: metric.fn(s) for metric in SCALARS}
    assert {"a_1", *(m.id for m in METRICS if m.reads.startswith("surprisals"))} == set(found.values)
    assert found.bands == surprisal.bands(s)
    assert found.fits == {
        "sigmoid": fit_sigmoid(curve_bits(s)),
        "exponential": fit_exponential(curve_bits(s)),
    }
    rates = s.bits / s.byte_counts[s.orders]
    design = plan.design(SET)
    for mean, error, values in ((found.bits, found.bits_error, s.bits), (found.rate, found.rate_error, rates)):
        assert mean == pytest.approx(values.mean(axis=0))
        assert error.tolist() == standard_errors(design, values).curve.tolist()
    assert found.estimator == standard_errors(design, rates).estimator
    assert found.alone.tolist() == s.unconditional.tolist()


@pytest.mark.usefixtures("without_fits")
def test_the_last_place_is_averaged_over_the_orders_that_end_so() -> None:
    plan = OrderPlan("uniform", 3)
    found = explain(HashLM(), SET, plan=plan)
    s = found.read.surprisals
    ends = s.orders[:, -1].tolist()
    for i in range(len(RESPONSES)):
        bits = [row[-1] for row, end in zip(s.bits.tolist(), ends, strict=True) if end == i]
        assert found.last[i] == pytest.approx(np.mean(bits) if bits else math.nan, nan_ok=True)


def test_endpoint_orders_tell_of_the_end_alone() -> None:
    found = explain(HashLM(), SET, plan=OrderPlan("endpoint", 2))
    known = {name for name, value in found.values.items() if not isinstance(value, Missing)}
    assert known == {m.id for m in METRICS if m.reads == "surprisals"}
    assert np.isnan(found.bits).tolist() == np.isnan(found.rate_error).tolist() == [True, True, True, False]
    assert found.rate[-1] == found.values["a_n"]
    assert found.fits == {}
    made = no_constants(json.dumps(found.as_json(), allow_nan=False))
    assert made["bands"]["coherent_excess_rate"] == [None, None]
    assert made["values"]["excess_entropy"]["missing"] == "endpoint orders give a_n alone"
    assert made["curve"]["rate"][:3] == [None] * 3


@pytest.mark.parametrize(("responses", "plan"), [(HARD, OrderPlan()), (("a b", "a c"), OrderPlan("uniform", 1))])
def test_the_explanation_as_json_is_whole(responses: tuple[str, ...], plan: OrderPlan) -> None:
    found = explain(HashLM(), ResponseSet(PROMPT, responses), Layout(), plan)
    made = no_constants(json.dumps(found.as_json(), allow_nan=False))
    assert made == found.as_json()
    assert [each["text"] for each in made["responses"]] == [text.strip() for text in responses]
    again = Surprisals(
        np.array(made["bits"]),
        np.array(made["orders"]["orders"]),
        np.array([each["bits_alone"] for each in made["responses"]]),
        np.array([each["bytes"] for each in made["responses"]]),
    )
    assert surprisal.d_can(again) == made["values"]["d_can"]["value"]


def test_an_empty_response_leaves_errors_and_pairs_unknown() -> None:
    found = explain(HashLM(), ResponseSet(PROMPT, ("a b", "", "c d")))
    assert found.pairs == Missing("an empty response")
    assert np.isnan(found.rate_error).all()
    assert found.estimator == "none"
    assert found.tokens[1] == ()


def test_a_large_set_is_not_read_in_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(explaining, "MAX_PAIRED", 3)
    found = explain(HashLM(), SET)
    assert found.pairs == Missing("more than 3 responses")
    assert found.strongest is None
    assert found.as_json()["pairs"] == {"missing": "more than 3 responses"}


@pytest.mark.parametrize(
    ("responses", "model", "reason"),
    [
        ((), HashLM(), "no response"),
        (("one",), HashLM(), "fewer than two responses"),
        (RESPONSES, HashLM(context=20), "longer than the model's context"),
        (("x", "y"), Wrapped(HashLM(), poison=HashLM().encode([" x"])[0].ids.tolist()), "bits that are not finite"),
    ],
)
def test_a_set_that_cannot_be_read_says_why(responses: tuple[str, ...], model: CausalLM, reason: str) -> None:
    with pytest.raises(Unscorable, match=reason):
        explain(model, ResponseSet(PROMPT, responses))


def test_tokens_that_cannot_be_read_say_why() -> None:
    with pytest.raises(Unscorable, match="longer than"):
        token_surprisals(HashLM(context=5), Layout(), PROMPT, RESPONSES)
    poisoned = Wrapped(HashLM(), poison=HashLM().encode([" x"])[0].ids.tolist())
    with pytest.raises(Unscorable, match="not finite"):
        token_surprisals(poisoned, Layout(), PROMPT, ["x"])


@pytest.mark.usefixtures("without_fits")
def test_the_number_of_orders_is_judged_by_those_that_were_read() -> None:
    found = explain(HashLM(), ResponseSet(PROMPT, tuple(f"{word} two three" for word in "abcdefgh")))
    s = found.read.surprisals
    for precision in (1.0, 0.01, 0.001):
        wanted = orders_for(precision, found.read.design, s.bits / s.byte_counts[s.orders])
        assert found.orders_for(precision) == wanted
        assert wanted % 8 == 0
    assert explain(HashLM(), ResponseSet(PROMPT, ("a", "b"))).orders_for(0.01) == 2 == len(balanced(2).orders)
    with pytest.raises(ConfigurationError, match="is impossible"):
        found.orders_for(0)
    with pytest.raises(ConfigurationError, match="too few"):
        explain(HashLM(), SET, plan=GIVEN_ORDER).orders_for(0.1)
