"""Answers to classes that say the same (NoveltyBench, arXiv:2504.05228, section 3.1).

Texts that are equal but for case, spacing and marks at their ends are one class before any model is asked. What is left
is decided by an `Equivalence`, over all prompts at once and no pair more than an algorithm needs:

*greedy*: as published: in the given order, an answer joins the first class whose first answer it matches. It depends on
the order; `order_sensitivity` says how much.
*components*: classes are connected by matches. Does not depend on the order; one mistaken match joins two classes.
*complete*: any two answers of a class match, closest pairs joined first. Does not depend on the order.

An answer that was cut off may belong to a class, but a class of such answers alone does not count: what was not said to
its end is never novel. Refusals, blanks and placeholders are in no class.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from benchmark.equivalence.backend import Equivalence, EquivalenceSpec, Question
from benchmark.equivalence.llm_judge import JudgeSpec, SetJudge
from benchmark.metrics.metric import Missing
from benchmark.metrics.partition import Labels
from submissions.checking.response_kinds import is_answer, is_refusal

Algorithm = Literal["greedy", "components", "complete"]
ALGORITHMS: tuple[Algorithm, ...] = ("greedy", "components", "complete")
ByJudge = Literal["judge"]  # a judge of whole sets makes the classes itself
PARTITION_VERSION = 1  # of merging and algorithms; part of signatures
_ENDS = " \t\r\n\v\f\"'`*_“”‘’«».,;:!?…"


@dataclass(frozen=True, slots=True)
class PartitionSpec:
    """How a profile parts answers.

    Attributes:
        backend: Decides which two say the same; or judges whole sets.
        algorithm: Makes classes of that; *judge* of a judge.
    """

    backend: EquivalenceSpec | JudgeSpec
    algorithm: Algorithm | ByJudge = "greedy"

    @property
    def signature(self) -> str:
        """Such as `greedy-v1,rouge-1-f1,no-stemmer,over-0.458`.

        Raises:
            ConfigurationError: The backend's model is not pinned.
        """
        return f"{self.algorithm}-v{PARTITION_VERSION},{self.backend.signature}"


@dataclass(frozen=True, slots=True)
class Answers:
    """What is to be parted.

    Attributes:
        prompt: That was asked.
        texts: [k], in the given order.
        counted: [k], which are answers: no blanks, placeholders or refusals.
        whole: [k], which were not cut off.
    """

    prompt: str
    texts: tuple[str, ...]
    counted: tuple[bool, ...]
    whole: tuple[bool, ...]

    @staticmethod
    def of(prompt: str, responses: Sequence[str], finish_reasons: Sequence[str | None] | None = None) -> "Answers":
        """Of a row: what counts and what is whole is read off its texts and finish reasons."""
        return Answers(
            prompt,
            tuple(responses),
            tuple(is_answer(text) and not is_refusal(text) for text in responses),
            tuple(reason != "length" for reason in finish_reasons or [None] * len(responses)),
        )


def normalised(text: str) -> str:
    """A text without case, spacing and marks at its ends; itself, where nothing would be left.

    >>> normalised(' **Nairobi**, Kenya. '), normalised("-5"), normalised("?!")
    ('nairobi**, kenya', '-5', '?!')
    """
    return " ".join(text.casefold().split()).strip(_ENDS) or text


def canonical(labels: Sequence[int | None]) -> Labels:
    """The same classes, numbered from 0 in the order in which they appear.

    >>> canonical([7, None, 3, 7])
    (0, None, 1, 0)
    """
    numbers: dict[int, int] = {}
    return tuple(None if label is None else numbers.setdefault(label, len(numbers)) for label in labels)


def partition(sets: Sequence[Answers], backend: Equivalence, algorithm: Algorithm = "greedy") -> list[Labels]:
    """The class of each text of each set, None for what is in no class that counts.

    Args:
        sets: What is to be parted.
        backend: Decides whether two answers say the same.
        algorithm: See the head of this file.

    Returns:
        Canonical labels, [k] for each set.
    """
    merged = [_Merged.of(each, in_order=algorithm == "greedy") for each in sets]
    asked = _Memory(backend)
    ways = {"greedy": _greedy, "components": _components, "complete": _complete}
    labels = ways[algorithm](merged, asked)
    return [_counted(each, one.spread(found)) for each, one, found in zip(sets, merged, labels, strict=True)]


def judged(sets: Sequence[Answers], judge: SetJudge) -> list[Labels | Missing]:
    """As `partition`, by a judge that sees the different texts of a set together; or why it made no classes."""
    merged = [_Merged.of(each, in_order=True) for each in sets]
    asked = [i for i, each in enumerate(merged) if len(each.texts) > 1]
    replies = dict(zip(asked, judge.partition([(merged[i].prompt, merged[i].texts) for i in asked]), strict=True))
    made: list[Labels | Missing] = []
    for number, (each, one) in enumerate(zip(sets, merged, strict=True)):
        found = replies.get(number, tuple(range(len(one.texts))))
        made.append(found if isinstance(found, Missing) else _counted(each, one.spread(found)))
    return made


@dataclass(frozen=True, slots=True)
class _Merged:
    """A set's different texts.

    Attributes:
        prompt: That was asked.
        texts: [texts], one for each normalised text.
        place: [k], of each answer's text among them; None for what is no answer.
    """

    prompt: str
    texts: tuple[str, ...]
    place: tuple[int | None, ...]

    @staticmethod
    def of(answers: Answers, *, in_order: bool) -> "_Merged":
        """In the order of the answers; else in that of the texts, so that the order of the answers changes nothing."""
        forms = [
            normalised(text) if counted else None for text, counted in zip(answers.texts, answers.counted, strict=True)
        ]
        spoken: dict[str, str] = {}
        for form, text in zip(forms, answers.texts, strict=True):
            if form is not None:
                spoken[form] = spoken.get(form, text) if in_order else min(spoken.get(form, text), text)
        names = list(spoken) if in_order else sorted(spoken)
        number = {form: i for i, form in enumerate(names)}
        return _Merged(
            answers.prompt,
            tuple(spoken[form] for form in names),
            tuple(None if form is None else number[form] for form in forms),
        )

    def spread(self, labels: Sequence[int]) -> Labels:
        """Labels of the texts to labels of the answers."""
        return tuple(None if place is None else labels[place] for place in self.place)

    def question(self, a: int, b: int) -> Question:
        return Question(self.prompt, self.texts[a], self.texts[b])


class _Memory:
    """Asks each question once."""

    def __init__(self, backend: Equivalence) -> None:
        self._backend = backend
        self._known: dict[Question, float] = {}

    def margins(self, questions: Sequence[Question], *, both_ways: bool = False) -> NDArray[np.float64]:
        """How far each score lies above the threshold, [questions]; the mean of both ways where the backend has two."""
        if both_ways and not self._backend.symmetric:
            turned = [Question(each.prompt, each.b, each.a) for each in questions]
            there = self.margins([*questions, *turned])
            return np.asarray((there[: len(questions)] + there[len(questions) :]) / 2)
        new = [each for each in dict.fromkeys(questions) if each not in self._known]
        if new:
            self._known |= dict(zip(new, self._backend.scores(new).tolist(), strict=True))
        return np.array([self._known[each] for each in questions], np.float64) - self._backend.threshold


def _greedy(sets: Sequence[_Merged], asked: _Memory) -> list[list[int]]:
    """A round asks every set's newest head about all answers that have no class yet."""
    labels = [[-1] * len(each.texts) for each in sets]
    classes = [0] * len(sets)
    while True:
        questions: list[Question] = []
        about: list[tuple[int, int]] = []
        for number, each in enumerate(sets):
            free = [i for i, label in enumerate(labels[number]) if label < 0]
            if not free:
                continue
            head, *others = free
            labels[number][head] = classes[number]
            classes[number] += 1
            questions += [each.question(head, other) for other in others]
            about += [(number, other) for other in others]
        if not questions:
            return labels
        for (number, other), margin in zip(about, asked.margins(questions), strict=True):
            if margin > 0:
                labels[number][other] = classes[number] - 1


def _components(sets: Sequence[_Merged], asked: _Memory) -> list[list[int]]:
    """A round asks about the pairs at one distance, but for those that are connected already."""
    labels = [list(range(len(each.texts))) for each in sets]
    for distance in range(1, max((len(each.texts) for each in sets), default=0)):
        about = [
            (number, i, i + distance)
            for number, each in enumerate(sets)
            for i in range(len(each.texts) - distance)
            if labels[number][i] != labels[number][i + distance]
        ]
        margins = asked.margins([sets[number].question(i, j) for number, i, j in about], both_ways=True)
        for (number, i, j), margin in zip(about, margins, strict=True):
            if margin > 0:
                old, new = labels[number][j], labels[number][i]
                labels[number] = [new if label == old else label for label in labels[number]]
    return labels


def _complete(sets: Sequence[_Merged], asked: _Memory) -> list[list[int]]:
    from scipy.cluster.hierarchy import fcluster, linkage

    about = [[(i, j) for i in range(len(each.texts)) for j in range(i + 1, len(each.texts))] for each in sets]
    questions = [each.question(i, j) for each, pairs in zip(sets, about, strict=True) for i, j in pairs]
    margins = asked.margins(questions, both_ways=True)
    made, start = [], 0
    for each, pairs in zip(sets, about, strict=True):
        own = margins[start : start + len(pairs)]
        start += len(pairs)
        if not pairs:
            made.append([0] * len(each.texts))
            continue
        # The ranks of the margins as distances: what matches comes before what does not, exactly.
        levels, ranks = np.unique(-own, return_inverse=True)
        tree = linkage(ranks.astype(np.float64), method="complete")
        made.append(fcluster(tree, t=float((levels < 0).sum()) - 0.5, criterion="distance").tolist())
    return made


def _counted(answers: Answers, labels: Labels) -> Labels:
    """Without the classes that no whole answer is in."""
    whole = {label for label, is_whole in zip(labels, answers.whole, strict=True) if is_whole}
    return canonical([label if label in whole else None for label in labels])


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """What the order of the answers does to greedy classes, over random orders of each set.

    Attributes:
        orders: Of each set.
        mean: Number of classes, [sets], over the orders.
        sd: Likewise, ddof 1.
        lowest: [sets].
        highest: [sets].
        rand_index: [sets], mean adjusted Rand index of the classes of a random order with those of the given one.
    """

    orders: int
    mean: NDArray[np.float64]
    sd: NDArray[np.float64]
    lowest: NDArray[np.int64]
    highest: NDArray[np.int64]
    rand_index: NDArray[np.float64]


def order_sensitivity(sets: Sequence[Answers], backend: Equivalence, *, orders: int = 20, seed: int = 0) -> Sensitivity:
    """Part each set greedily in random orders.

    Args:
        sets: What is to be parted.
        backend: Decides; each question is asked once, whatever the number of orders.
        orders: At least 2.
        seed: Of the orders.
    """
    asked = _Remembering(backend)
    rng = np.random.default_rng(seed)
    given = partition(sets, asked)
    counts, indices = np.zeros((orders, len(sets)), np.int64), np.zeros((orders, len(sets)))
    for turn in range(orders):
        places = [rng.permutation(len(each.texts)) for each in sets]
        found = partition([_reordered(each, order) for each, order in zip(sets, places, strict=True)], asked)
        for number, (labels, order) in enumerate(zip(found, places, strict=True)):
            back: list[int | None] = [None] * len(labels)
            for label, place in zip(labels, order.tolist(), strict=True):
                back[place] = label
            counts[turn, number] = classes_of(labels)
            indices[turn, number] = adjusted_rand_index(back, given[number])
    return Sensitivity(
        orders,
        counts.mean(axis=0),
        counts.std(axis=0, ddof=1),
        counts.min(axis=0),
        counts.max(axis=0),
        indices.mean(axis=0),
    )


class _Remembering:
    """A backend that is asked each question once, over many partitions."""

    def __init__(self, backend: Equivalence) -> None:
        self.signature, self.threshold, self.symmetric = backend.signature, backend.threshold, backend.symmetric
        self._memory = _Memory(backend)

    def scores(self, questions: Sequence[Question]) -> NDArray[np.float64]:
        """As the backend's."""
        return self._memory.margins(questions) + self.threshold


def _reordered(answers: Answers, order: NDArray[np.int64]) -> Answers:
    places = order.tolist()
    return Answers(
        answers.prompt,
        tuple(answers.texts[i] for i in places),
        tuple(answers.counted[i] for i in places),
        tuple(answers.whole[i] for i in places),
    )


def classes_of(labels: Labels) -> int:
    """How many classes there are."""
    return len({label for label in labels if label is not None})


def adjusted_rand_index(a: Sequence[int | None], b: Sequence[int | None]) -> float:
    """Agreement of two partitions beyond chance (Hubert & Arabie 1985); what is in no class is a class of its own.

    >>> adjusted_rand_index((0, 0, 1), (5, 5, 2))
    1.0
    """
    both, only_a, only_b = pair_counts(a, b)
    pairs = len(a) * (len(a) - 1) // 2
    apart = pairs - both - only_a - only_b
    if only_a == only_b == 0:
        return 1.0
    # scikit-learn's form of Hubert & Arabie's index; its own function takes a millisecond, and there are thousands.
    spread = (both + only_a) * (only_a + apart) + (both + only_b) * (only_b + apart)
    return 2.0 * (both * apart - only_a * only_b) / spread


def pair_counts(a: Sequence[int | None], b: Sequence[int | None]) -> tuple[int, int, int]:
    """Of all pairs of answers: together in both, together in `a` alone, together in `b` alone.

    Pair F1 of many sets is 2·both / (2·both + only_a + only_b) over their sums.
    """

    def together(*labels: Sequence[int | None]) -> int:
        counts = Counter(key for key in zip(*labels, strict=True) if None not in key)
        return sum(count * (count - 1) // 2 for count in counts.values())

    both = together(a, b)
    return both, together(a) - both, together(b) - both
