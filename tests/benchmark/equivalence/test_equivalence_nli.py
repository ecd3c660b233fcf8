"""Entailment both ways, on tiny random models and on told verdicts: the authors' rules, the prompt, refusals."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from benchmark.equivalence.backend import EquivalenceSpec, Floats, ResponsePair
from benchmark.equivalence.classifiers import BothWaysNLI, NLIEquivalence
from benchmark.equivalence.partitioning import PartitionSpec, ResponsesToGroup, partition_sets
from benchmark.equivalence.rules import ShortAnswers
from benchmark.metrics.metric import Missing
from benchmark.metrics.partition import Labels
from benchmark.models import Algorithm
from benchmark.models.model_files import ModelFiles, find_model_files
from divbench.core.errors import ConfigurationError
from tests.benchmark.classifiers import (
    NLI_LABELS,
    POSITIONS,
    QUESTIONS,
    TEXTS,
    save_deberta,
    save_nli,
    save_roberta_nli,
)
from tests.benchmark.encoders import MAX_TOKENS


@pytest.fixture(scope="module")
def nli_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_nli(tmp_path_factory.mktemp("models") / "nli")


@pytest.fixture
def nli(nli_folder: Path) -> BothWaysNLI:
    return BothWaysNLI(find_model_files(str(nli_folder)), max_tokens=POSITIONS)


def by_hand(folder: Path, questions: Sequence[ResponsePair], limit: int) -> list[list[dict[str, float]]]:
    """The labels' probabilities in both directions, by the library's own model and joining, one pair at a time."""
    tokeniser = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForSequenceClassification.from_pretrained(folder).eval()

    def read(premise: str, hypothesis: str) -> dict[str, float]:
        given = tokeniser(premise, hypothesis, truncation=True, max_length=limit, return_tensors="pt")
        with torch.no_grad():
            p = model(**given).logits[0].double().softmax(-1)
        return {model.config.id2label[i].lower(): float(p[i]) for i in range(len(p))}

    made = []
    for question in questions:
        a, b = (f"{question.prompt} {text}" for text in (question.a, question.b))
        made.append([read(a, b), read(b, a)])
    return made


@pytest.mark.parametrize(("save", "limit"), [(save_nli, POSITIONS), (save_roberta_nli, MAX_TOKENS)])
def test_scores_are_the_margins_of_one_pair_at_a_time(save: Any, limit: int, tmp_path: Path) -> None:
    folder = save(tmp_path / "mine")
    spec = BothWaysNLI(find_model_files(str(folder)), max_tokens=limit)
    strict, lax = spec.load().scores(QUESTIONS), replace(spec, rule="lax").load().scores(QUESTIONS)
    for i, (forth, back) in enumerate(by_hand(folder, QUESTIONS, limit)):
        entailed = [p["entailment"] - max(p["neutral"], p["contradiction"]) for p in (forth, back)]
        compatible = [max(p["entailment"], p["neutral"]) - p["contradiction"] for p in (forth, back)]
        assert strict[i] == pytest.approx(min(entailed), abs=1e-5)
        assert lax[i] == pytest.approx(min(*compatible, max(entailed)), abs=1e-5)
    assert np.ptp(strict) > 0.05  # or being equal says little
    assert np.ptp(lax) > 0.05


def farquhar(labels: Sequence[str], rule: str) -> bool:
    """Whether two answers are equivalent, as the authors' rule has it."""
    first, second = labels
    if rule == "strict":
        return first == second == "entailment"
    return "contradiction" not in {first, second} and not first == second == "neutral"


class Told:
    """Stands for a model: labels, and logits by the texts that are compared."""

    context, labels = None, NLI_LABELS

    def __init__(self, logits: dict[tuple[str, str], tuple[float, float, float]]) -> None:
        self._logits = logits

    def encode_pairs(self, pairs: Sequence[tuple[str, str]], max_tokens: int) -> list[tuple[str, str]]:
        return list(pairs)

    def logits(self, sequences: Sequence[tuple[str, str]]) -> Floats:
        return np.array([self._logits[pair] for pair in sequences], dtype=np.float64)


@pytest.mark.parametrize("rule", ["strict", "lax"])
def test_all_verdicts_both_ways(rule: Any) -> None:
    spec = BothWaysNLI(ModelFiles("told", "0" * 40), rule, with_prompt=False)
    logits = {"contradiction": (2.0, 0.5, 1.9), "neutral": (1.9, 2.0, 0.5), "entailment": (0.5, 1.9, 2.0)}
    for first, second in product(logits, logits):
        told: Any = Told({("a", "b"): logits[first], ("b", "a"): logits[second]})
        forth, back = NLIEquivalence(spec, told).scores([ResponsePair("", "a", "b"), ResponsePair("", "b", "a")])
        assert forth == back
        assert (forth > 0) == farquhar((first, second), rule)


def test_the_prompt_goes_before_both_answers(nli: BothWaysNLI) -> None:
    one, other = nli.load().scores([ResponsePair("Where is it?", *TEXTS[:2]), ResponsePair("Who said so?", *TEXTS[:2])])
    assert one != other
    bare = replace(nli, with_prompt=False).load()
    one, other = bare.scores([ResponsePair("Where is it?", *TEXTS[:2]), ResponsePair("Who said so?", *TEXTS[:2])])
    assert one == other
    joined = ResponsePair("", f"Where is it? {TEXTS[0]}", f"Where is it? {TEXTS[1]}")
    assert bare.scores([joined]) == pytest.approx(
        nli.load().scores([ResponsePair("Where is it?", *TEXTS[:2])]), abs=1e-6
    )


def test_a_prompt_that_leaves_no_room_for_the_responses_is_refused(nli: BothWaysNLI) -> None:
    def asked(words: int) -> list[ResponsePair]:
        return [ResponsePair("stone " * words, *TEXTS[:2]), ResponsePair("stone " * words, TEXTS[0], TEXTS[2])]

    room = (POSITIONS - 3) // 2  # for each of both texts
    backend, bare = nli.load(), replace(nli, with_prompt=False).load()
    per_word = len(backend._classifier.encode(["stone " * 8])[0]) / 8
    fits, too_long = int(room / 2 / per_word), int(room / per_word) + 1
    different, same = backend.scores(asked(fits))
    assert different != same
    with pytest.raises(
        ConfigurationError, match=f"no room for responses in the {POSITIONS} tokens.*'stone st"
    ) as caught:
        backend.scores(asked(too_long))
    assert "rouge-1" in caught.value.hint
    assert np.isfinite(bare.scores(asked(too_long))).all()


@pytest.mark.parametrize("algorithm", ["greedy", "average"])
def test_only_the_responses_to_a_prompt_that_leaves_no_room_are_missing(nli: BothWaysNLI, algorithm: Algorithm) -> None:
    long = "stone " * POSITIONS
    sets = [
        ResponsesToGroup.of(prompt, texts) for prompt, texts in (("Who?", TEXTS), (long, TEXTS), (long, ("a b", "a B")))
    ]
    reason = Missing(f"the prompt leaves no room for responses in the {POSITIONS} tokens of the equivalence model")

    def grouped(spec: EquivalenceSpec) -> list[Labels | Missing]:
        return partition_sets(sets, spec.load(), PartitionSpec(spec, algorithm))

    alone = partition_sets(sets[:1], nli.load(), PartitionSpec(nli, algorithm))
    assert grouped(nli) == [*alone, reason, (0, 0)]
    sets[2] = ResponsesToGroup.of(long, ("a b", "a c"))
    assert grouped(nli)[2] == reason
    assert grouped(ShortAnswers(nli))[1:] == [reason, (0, 0)]  # where the rule decides, the model reads nothing


@pytest.mark.parametrize(
    ("labels", "rule", "fits"),
    [
        (("entailment", "neutral", "contradiction"), "lax", True),
        (("not_entailment", "entailment"), "strict", True),
        (("not_entailment", "entailment"), "lax", False),
        (("LABEL_0", "LABEL_1", "LABEL_2"), "strict", False),
        (("Entailment", "entailment"), "strict", False),
        (("entailment",), "strict", False),
    ],
)
def test_a_model_that_does_not_name_its_labels_is_refused(
    labels: tuple[str, ...], rule: Any, fits: bool, tmp_path: Path
) -> None:
    folder = save_deberta(tmp_path / "mine", outputs=len(labels), labels=labels)
    spec = BothWaysNLI(find_model_files(str(folder)), rule, max_tokens=POSITIONS)
    if fits:
        assert np.isfinite(spec.load().scores(QUESTIONS[:2])).all()
        return
    with pytest.raises(ConfigurationError, match=f"mine has the labels .*{rule} needs .*entailment"):
        spec.load()


def test_more_tokens_than_the_model_has_positions_are_refused(nli: BothWaysNLI) -> None:
    with pytest.raises(ConfigurationError, match=f"reads at most {POSITIONS} tokens, and up to 97 are needed"):
        replace(nli, max_tokens=97).load()
