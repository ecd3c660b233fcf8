"""Models averaged in probability."""

from collections.abc import Iterator, Sequence

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from benchmark.models.causal_lm import CausalLM, Encoding, Floats, OutOfMemory, TokenSequence
from benchmark.models.ensemble import EnsembleLM, mean_bits
from benchmark.models.hf_lm import HFCausalLM
from datasets_build.errors import ConfigurationError
from tests.benchmark.completions_server import TEXTS, tiny_model, tiny_tokeniser
from tests.benchmark.fakes import HashLM


@pytest.fixture(autouse=True, scope="module")
def one_thread() -> Iterator[None]:
    """Models this small are slower on several threads, much so where others compute, too."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


class Fake:
    """Costs what it is told, or as `HashLM`, and may have another beginning or other tokens."""

    def __init__(
        self, name: str = "fake", bits: float | None = None, bos: int | None = None, *, merges: bool = False
    ) -> None:
        self.signature = name
        self.context: int | None = None
        self.batch_tokens = 100
        self.bos = bos
        self._bits = bits
        self._merges = merges

    def encode(self, texts: Sequence[str], *, begin: bool = False) -> list[Encoding]:
        return HashLM().encode([text.replace(".\n\n", ".") if self._merges else text for text in texts])

    def surprisals(self, sequences: Sequence[TokenSequence]) -> list[Floats]:
        if self._bits is None:
            return HashLM().surprisals(sequences)
        return [np.full(len(sequence.scored), self._bits) for sequence in sequences]


def whole(model: CausalLM, texts: Sequence[str] = TEXTS) -> list[TokenSequence]:
    """All tokens of texts but the first, which is the same."""
    first = np.array([0])
    ids = [np.concatenate([first, each.ids]) for each in model.encode(texts)]
    return [TokenSequence(each, np.arange(1, len(each))) for each in ids]


def test_it_is_the_mean_of_the_members_probabilities() -> None:
    tokeniser, models = tiny_tokeniser(), [tiny_model(seed) for seed in range(3)]
    ensemble = EnsembleLM([HFCausalLM(model, tokeniser, f"tiny{i}") for i, model in enumerate(models)])
    for sequence, found in zip(sequences := whole(ensemble), ensemble.surprisals(sequences), strict=True):
        ids = torch.from_numpy(sequence.ids)[None]
        with torch.inference_mode():
            tables = [torch.softmax(model(input_ids=ids).logits[0].double(), -1) for model in models]
        means = torch.stack(tables).mean(0)[torch.arange(len(sequence.ids) - 1), ids[0, 1:]].numpy()
        assert found == pytest.approx(-np.log2(means), abs=1e-4)
        assert found.dtype == np.float64


BITS = arrays(np.float64, st.tuples(st.integers(2, 6), st.integers(0, 4)), elements=st.floats(0, 5000))


@given(BITS)
def test_it_lies_between_the_members_and_near_the_best(bits: Floats) -> None:
    found = mean_bits(bits)
    assert (found >= bits.min(axis=0)).all()
    assert (found <= bits.max(axis=0)).all()
    assert (found <= bits.min(axis=0) + np.log2(len(bits)) + 1e-9).all()  # the best alone has 1/M of the sum
    assert found == pytest.approx(mean_bits(bits[::-1]), abs=1e-9)


@given(BITS, st.integers(2, 5))
def test_copies_of_one_member_are_that_member(bits: Floats, copies: int) -> None:
    assert mean_bits(np.repeat(bits[:1], copies, axis=0)).tolist() == bits[0].tolist()


def test_a_model_with_itself_is_the_model() -> None:
    model = Fake()
    sequences = whole(model)
    both = EnsembleLM([model, model])
    for found, expected in zip(both.surprisals(sequences), model.surprisals(sequences), strict=True):
        assert found.tolist() == expected.tolist()


def test_what_a_member_could_not_give_is_missing() -> None:
    found = mean_bits(np.array([[1.0, np.nan, np.inf, np.inf], [1.0, 2.0, 3.0, np.inf]]))
    assert np.isnan(found).tolist() == [False, True, False, False]
    assert found[2:].tolist() == [4.0, np.inf]


def test_it_takes_on_what_the_least_able_member_can_do() -> None:
    def of(name: str, context: int | None, batch_tokens: int) -> Fake:
        member = Fake(name)
        member.context, member.batch_tokens = context, batch_tokens
        return member

    both = EnsembleLM([of("a@1,x", None, 700), of("b@2,y", 512, 900), of("c@3,z", 1024, 800)])
    assert both.signature == "mean(a@1,x+b@2,y+c@3,z)"
    assert (both.context, both.batch_tokens, both.bos) == (512, 700, None)
    assert EnsembleLM([of("a", None, 1), of("b", None, 2)]).context is None
    assert both.surprisals([]) == []
    begun = EnsembleLM([Fake(bos=7), Fake(bos=7)])
    assert begun.bos == 7


def test_a_member_without_memory_is_heard() -> None:
    class Full(Fake):
        def surprisals(self, sequences: Sequence[TokenSequence]) -> list[Floats]:
            raise OutOfMemory("full")

    both = EnsembleLM([Fake(), Full("full")])
    with pytest.raises(OutOfMemory):
        both.surprisals(whole(both))


def test_one_model_is_no_ensemble() -> None:
    with pytest.raises(ConfigurationError, match="of 0 models"):
        EnsembleLM([])
    with pytest.raises(ConfigurationError, match=r"of 1 models \(give at least two\)"):
        EnsembleLM([Fake()])


def test_members_with_other_tokens_or_beginnings_are_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"fake and merges tokenise 'Yes\.\\n\\nResponse"):
        EnsembleLM([Fake(), Fake("twin"), Fake("merges", merges=True)])
    with pytest.raises(ConfigurationError, match="begin texts differently: with token None and with token 7"):
        EnsembleLM([Fake(), Fake(bos=7)])
    smaller, model = tiny_tokeniser(262), tiny_model()
    with pytest.raises(ConfigurationError, match=r"a and b tokenise .* differently"):
        EnsembleLM([HFCausalLM(model, tiny_tokeniser(), "a"), HFCausalLM(model, smaller, "b")])


def test_each_member_counts_the_same() -> None:
    three = EnsembleLM([Fake("a", 1.0), Fake("b", 2.0), Fake("c", 2.0)])
    (found,) = three.surprisals([TokenSequence(np.array([1, 2]), np.array([1]))])
    assert found == pytest.approx([-np.log2((0.5 + 0.25 + 0.25) / 3)])
