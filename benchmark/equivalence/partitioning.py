"""Groups responses into equivalence classes (NoveltyBench, arXiv:2504.05228, section 3.1).

Texts that differ only in case, spacing, encoding and punctuation at their ends are in one class without asking a model.
All other pairs are decided by a backend, for all prompts at once and only as many as the algorithm needs:

*greedy*: as published. In the given order, a response joins the first class whose first response it matches. The
classes depend on the order.
*components*: classes are the connected components of the matches. Independent of the order; a single wrong match merges
two classes.
*complete*: any two responses of a class match; the closest pairs are joined first. Independent of the order.
*average*: classes are joined, the closest first, while their pairs match on average. Independent of the order.

A truncated response may belong to a class, but a class that has only truncated responses does not count: an unfinished
response is never novel. Refusals, blanks and placeholders are in no class.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal, cast
from unicodedata import normalize

import numpy as np

from benchmark.equivalence.backend import (
    EquivalenceBackend,
    EquivalenceSpec,
    Floats,
    MemoisedBackend,
    Refusing,
    ResponsePair,
    SetJudge,
    SetScorer,
)
from benchmark.equivalence.classifiers import BothWaysNLI, find_generation_similarity
from benchmark.equivalence.learned.backend import Learned
from benchmark.equivalence.llm_judge import (
    REPLIES,
    JudgementCache,
    LLMJudge,
    LLMJudgeSpec,
    default_judgements_path,
)
from benchmark.equivalence.rules import MINILM_COSINE, Rouge1, ShortAnswers
from benchmark.metrics.metric import MOST_FOR_MODELS, Missing, too_many
from benchmark.metrics.partition import Labels, Partition
from benchmark.models import EQUIVALENCE_NAMES, Algorithm
from benchmark.models.model_files import find_model_files
from benchmark.models.reward import RewardModel, quality
from divbench.core.errors import ConfigurationError, counted
from submissions.checking.response_kinds import is_refusal, is_scorable

PARTITION_VERSION = 3  # changed with the normalisation or the algorithms; part of signatures
_NO_SELECTORS = dict.fromkeys((0xFE0E, 0xFE0F))  # of emoji: as text, as a picture
# Sentence punctuation and quotation marks of several scripts, and the signs of bold and italics.
_ENDS = " \t\r\n\v\f\"'`*_“”‘’„‚«»‹›.,;:!?…¿¡。．、，；：！？「」『』《》؟،؛۔।॥"  # noqa: RUF001
_BARE = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_CODED = re.compile(r"\w['\"*_]+$|^['\"*_.]+\w(?!.*['\"*_.]$)")  # signs at one end only: A*, 'n
_ENCLOSED = re.compile(r"(\*{1,3}|_{1,3}|[\"'`“”‘’„«»‹›「」『』《》]+)(.+?)(?:\1|[“”‘’»«›‹」』》])")  # noqa: RUF001
_SENTENCE_STOP = re.compile(r"(?<=[^.,;:!?…])(?:[.,;:!?…。．、，；：！？؟،؛۔।॥]|\.\.\.)$")  # noqa: RUF001
_DOTTED = "i\N{COMBINING DOT ABOVE}"  # lower case of the Turkish İ


@dataclass(frozen=True, slots=True)
class PartitionSpec:
    """How a profile groups responses."""

    backend: EquivalenceSpec | LLMJudgeSpec  # backend that compares two responses, or judge of whole sets
    # Algorithm that makes classes from a backend's decisions; *judge*: the judge makes the classes.
    algorithm: Algorithm | Literal["judge"] = "greedy"

    @property
    def signature(self) -> str:
        """Return the signature, such as `greedy-v2,rouge-1-f1,no-stemmer,over-0.458`."""
        return f"{self.algorithm}-v{PARTITION_VERSION},{self.backend.signature}"

    def load(self, device: str = "cpu") -> EquivalenceBackend | SetJudge:
        """Load the backend, or the judge with the cache of earlier judgements."""
        if isinstance(self.backend, LLMJudgeSpec):
            return self.backend.load(JudgementCache(default_judgements_path()))
        return self.backend.load(device)


def find_partition_spec(name: str, algorithm: Algorithm = "greedy", *, short_answers: bool = False) -> PartitionSpec:
    """Return the partition spec for the name of a backend."""
    kind, _, model = name.partition("=")
    if kind == "judge":
        judge, _, url = model.partition("@")
        if not judge or not url or short_answers:
            raise ConfigurationError(f"{name!r} names no judge", "write judge=NAME@URL, without short-answers")
        # The server's name for its model is part of the signature; it is requested once, then cached.
        return PartitionSpec(LLMJudgeSpec(url, judge).identified(JudgementCache(default_judgements_path())), "judge")
    backend = _backend(kind, model)
    if backend is None:
        raise ConfigurationError(f"there is no backend {name!r}", f"one of {EQUIVALENCE_NAMES}")
    return PartitionSpec(ShortAnswers(backend) if short_answers else backend, algorithm)


def _backend(kind: str, model: str) -> EquivalenceSpec | None:
    if not model:
        plain: dict[str, EquivalenceSpec] = {"rouge-1": Rouge1(), "embedding": MINILM_COSINE, "learned": Learned()}
        return plain.get(kind)
    if kind in ("deberta", "deberta-full"):
        return find_generation_similarity(model, 128 if kind == "deberta" else None)
    if kind in ("nli", "nli-lax"):
        return BothWaysNLI(find_model_files(model), "strict" if kind == "nli" else "lax")
    return None


@dataclass(frozen=True, slots=True)
class ResponsesToGroup:
    """The responses to one prompt, and whether each of them counts and is complete."""

    prompt: str
    texts: tuple[str, ...]  # [k], the responses in the given order
    counted: tuple[bool, ...]  # [k], whether each counts: it is not blank, a placeholder or a refusal
    whole: tuple[bool, ...]  # [k], whether each is complete, not truncated

    @staticmethod
    def of(
        prompt: str, responses: Sequence[str], finish_reasons: Sequence[str | None] | None = None
    ) -> "ResponsesToGroup":
        """Determine from texts and finish reasons [k] which responses count and which are complete."""
        return ResponsesToGroup(
            prompt,
            tuple(responses),
            tuple(is_scorable(text) and not is_refusal(text) for text in responses),
            tuple(reason != "length" for reason in finish_reasons or [None] * len(responses)),
        )


def normalised(text: str) -> str:
    """Normalise case, spacing and encoding, and strip punctuation at both ends, but never all characters.

    Unicode has several encodings of many letters and signs (composed or not, full-width, ligatures), and of many emoji,
    with and without a variation selector. From a single token with digits or signs, only what encloses all of it as
    bold or a quotation and the stop of a sentence behind it are stripped, because the rest may say something.

    >>> normalised(' **Nairobi**, Kenya. '), normalised("-5"), normalised("?!")
    ('nairobi**, kenya', '-5', '?!')
    >>> normalised("香蕉。"), normalised("القاهرة؟"), normalised("İstanbul")
    ('香蕉', 'القاهرة', 'istanbul')
    >>> normalised(".5"), normalised("**5**."), normalised("A*"), normalised("\N{FULLWIDTH DIGIT FIVE}")
    ('.5', '5', 'a*', '5')
    >>> normalised("caf\N{LATIN SMALL LETTER E WITH ACUTE}") == normalised("cafe\N{COMBINING ACUTE ACCENT}")
    True
    """
    encoded = normalize("NFKC", text).translate(_NO_SELECTORS)
    folded = " ".join(normalize("NFKC", encoded.casefold()).replace(_DOTTED, "i").split())
    if " " in folded or (_BARE.fullmatch(folded.strip(_ENDS)) and not _CODED.search(folded)):
        return folded.strip(_ENDS) or encoded or text
    return _without_frame(folded) or encoded or text


def _without_frame(token: str) -> str:
    """Strip the marks that enclose a whole token, and one full stop, comma or the like behind it."""
    stripped = _SENTENCE_STOP.sub("", token) or token
    enclosed = _ENCLOSED.fullmatch(stripped)
    return token if stripped == token and enclosed is None else _without_frame(enclosed[2] if enclosed else stripped)


def canonical(labels: Sequence[int | None]) -> Labels:
    """Renumber classes from 0 in the order of their first use.

    >>> canonical([7, None, 3, 7])
    (0, None, 1, 0)
    """
    numbers: dict[int, int] = {}
    return tuple(None if label is None else numbers.setdefault(label, len(numbers)) for label in labels)


def partition_sets(
    sets: Sequence[ResponsesToGroup], backend: EquivalenceBackend | SetJudge, spec: PartitionSpec
) -> list[Labels | Missing]:
    """Group each response set according to a spec."""
    if isinstance(spec.backend, LLMJudgeSpec):
        return partition_by_judge(sets, cast("SetJudge", backend))
    reasons = [_why_not(responses, backend) for responses in sets]
    others = [responses for responses, reason in zip(sets, reasons, strict=True) if reason is None]
    partitions = partition_by_pairs(others, cast("EquivalenceBackend", backend), cast("Algorithm", spec.algorithm))
    labels = iter(partitions)
    return [next(labels) if reason is None else Missing(reason) for reason in reasons]


def _why_not(responses: ResponsesToGroup, backend: EquivalenceBackend | SetJudge) -> str | None:
    """Return why a backend cannot group a response set; None if it can."""
    most = MOST_FOR_MODELS
    if len(responses.texts) > most and len(set(map(normalised, responses.texts))) > most:
        return too_many(most, "different responses")
    if not isinstance(backend, Refusing):
        return None
    texts = _DistinctTexts.of(responses, in_order=True)
    pairs = (texts.pair(i, j) for i, j in combinations(range(len(texts.texts)), 2))
    return next((reason for pair in pairs if (reason := backend.refusal(pair))), None)


def partition_by_pairs(
    sets: Sequence[ResponsesToGroup], backend: EquivalenceBackend, algorithm: Algorithm = "greedy"
) -> list[Labels]:
    """Group each response set by a backend's decisions; the module's docstring describes the algorithms."""
    distinct = [_DistinctTexts.of(responses, in_order=algorithm == "greedy") for responses in sets]
    cluster = {"greedy": _greedy, "components": _components, "complete": _complete, "average": _average}[algorithm]
    if isinstance(backend, SetScorer):
        scores = backend.set_scores([(texts.prompt, texts.texts) for texts in distinct])
        labels = [
            cluster([texts], _Scored(texts, own, backend))[0] for texts, own in zip(distinct, scores, strict=True)
        ]
    else:
        labels = cluster(distinct, MemoisedBackend(backend))
    return [
        _counted(responses, texts.spread(classes))
        for responses, texts, classes in zip(sets, distinct, labels, strict=True)
    ]


def partition_by_judge(sets: Sequence[ResponsesToGroup], judge: SetJudge) -> list[Labels | Missing]:
    """Group each response set by a judge that reads its distinct texts together."""
    distinct = [_DistinctTexts.of(responses, in_order=True) for responses in sets]
    replies = judge.partition([(responses.prompt, responses.texts) for responses in distinct])
    return [
        labels if isinstance(labels, Missing) else _counted(responses, texts.spread(labels))
        for responses, texts, labels in zip(sets, distinct, replies, strict=True)
    ]


def judge_note(parts: Iterable[Sequence[ResponsesToGroup]], judge: LLMJudge, *, scores: bool = False) -> str:
    """Return a line about the requests that will be sent for all parts together.

    With `scores`, each class's first response is scored: of a set without a partition yet, up to all that differ.
    """
    known: dict[str, bool] = {}
    scored: dict[str, bool] = {}
    for sets in parts:
        texts_of = (_DistinctTexts.of(responses, in_order=True) for responses in sets)
        distinct = list(dict.fromkeys((responses.prompt, responses.texts) for responses in texts_of))
        labels = judge.known(distinct)
        known |= {judge.key(item): item in labels for item in distinct if len(item[1]) > 1}
        if scores:
            heads = [
                (prompt, texts[head])
                for prompt, texts in distinct
                for head in Partition(labels.get((prompt, texts), tuple(range(len(texts))))).heads
            ]
            with_score = judge.known_scores(heads)
            scored |= {judge.score_key(pair): pair in with_score for pair in heads}
    cached, cached_scores = sum(known.values()), sum(scored.values())
    note = (
        f"judge {judge.model}: {counted(len(known) - cached, 'response set')} to judge, one request each (up to "
        f"{REPLIES} if a reply is no partition); {cached:,} from the cache"
    )
    if not scores:
        return note
    return (
        f"{note}. Then up to {counted(len(scored) - cached_scores, 'first response')} of classes to score, likewise; "
        f"{cached_scores:,} from the cache"
    )


def rate_first_responses(
    sets: Sequence[ResponsesToGroup], labels: Sequence[Labels | Missing], rater: RewardModel | SetJudge | None
) -> list[Partition | Missing]:
    """Make partitions from labels, with the quality, and a model's reward, of each class's first response.

    Only first responses are rated, because metrics read no other qualities.
    """
    partitions = [responses if isinstance(responses, Missing) else Partition(responses) for responses in labels]
    if rater is None:
        return list(partitions)
    firsts = [
        (responses.prompt, responses.texts[first])
        for responses, partition in zip(sets, partitions, strict=True)
        if not isinstance(partition, Missing)
        for first in partition.heads
    ]
    if not isinstance(rater, RewardModel):
        scores = iter(rater.scores(firsts))
        return [
            partition if isinstance(partition, Missing) else _scored(partition, [next(scores) for _ in partition.heads])
            for partition in partitions
        ]
    rewards = iter(rater.rewards(firsts).tolist())
    return [
        partition
        if isinstance(partition, Missing)
        else _rated(partition, [next(rewards) for _ in partition.heads], rater.thresholds)
        for partition in partitions
    ]


def _scored(partition: Partition, scores: list[int | Missing]) -> Partition:
    quality_of = {head: score for head, score in zip(partition.heads, scores, strict=True) if isinstance(score, int)}
    qualities = tuple(quality_of.get(position) for position in range(len(partition.labels)))
    unscored = next((score.reason for score in scores if isinstance(score, Missing)), None)
    return Partition(partition.labels, qualities, unscored=unscored and f"a class is unscored: {unscored}")


def _rated(partition: Partition, rewards: list[float], thresholds: tuple[float, ...] | None) -> Partition:
    qualities = None
    if thresholds is not None:
        rated = {
            first: float(quality(reward, thresholds)) for first, reward in zip(partition.heads, rewards, strict=True)
        }
        qualities = tuple(rated.get(position) for position in range(len(partition.labels)))
    return Partition(partition.labels, qualities, tuple(rewards))


@dataclass(frozen=True, slots=True)
class _DistinctTexts:
    """A response set's distinct texts."""

    prompt: str
    texts: tuple[str, ...]  # [texts], one for each normalised text
    index: tuple[int | None, ...]  # [k], index of each response's text among them; None if the response does not count

    @staticmethod
    def of(responses: ResponsesToGroup, *, in_order: bool) -> "_DistinctTexts":
        """Keep the order of the responses, or sort the texts, so that the order of the responses has no effect."""
        forms = [
            normalised(text) if counted else None
            for text, counted in zip(responses.texts, responses.counted, strict=True)
        ]
        text_of: dict[str, str] = {}
        for form, text in zip(forms, responses.texts, strict=True):
            if form is not None:
                text_of[form] = text_of.get(form, text) if in_order else min(text_of.get(form, text), text)
        ordered = list(text_of) if in_order else sorted(text_of)
        index = {form: i for i, form in enumerate(ordered)}
        return _DistinctTexts(
            responses.prompt,
            tuple(text_of[form] for form in ordered),
            tuple(None if form is None else index[form] for form in forms),
        )

    def spread(self, labels: Sequence[int]) -> Labels:
        """Return the label of each response from those of the distinct texts."""
        return tuple(None if i is None else labels[i] for i in self.index)

    def pair(self, i: int, j: int) -> ResponsePair:
        return ResponsePair(self.prompt, self.texts[i], self.texts[j])


class _Scored(MemoisedBackend):
    """The scores of the pairs of one set."""

    def __init__(self, texts: _DistinctTexts, scores: Floats, backend: EquivalenceBackend) -> None:
        super().__init__(backend)
        pairs = [texts.pair(i, j) for i, j in combinations(range(len(texts.texts)), 2)]
        self._known = dict(zip(pairs, scores.tolist(), strict=True))


def _margins(backend: MemoisedBackend, pairs: Sequence[ResponsePair], *, both_ways: bool = False) -> Floats:
    """Return each score minus the threshold, [pairs]; with `both_ways` the mean over both orders of a pair."""
    if both_ways and not backend.symmetric:
        turned = [ResponsePair(pair.prompt, pair.b, pair.a) for pair in pairs]
        margins = _margins(backend, [*pairs, *turned])
        return np.asarray((margins[: len(pairs)] + margins[len(pairs) :]) / 2)
    return backend.scores(pairs) - backend.threshold


def _greedy(sets: Sequence[_DistinctTexts], backend: MemoisedBackend) -> list[list[int]]:
    """Open a class in every set in each round, and compare its first text with all texts that have no class yet."""
    labels = [[-1] * len(texts.texts) for texts in sets]
    classes = [0] * len(sets)
    while True:
        pairs: list[ResponsePair] = []
        compared: list[tuple[int, int]] = []
        for number, texts in enumerate(sets):
            free = [i for i, label in enumerate(labels[number]) if label < 0]
            if not free:
                continue
            first, *others = free
            labels[number][first] = classes[number]
            classes[number] += 1
            pairs += [texts.pair(first, other) for other in others]
            compared += [(number, other) for other in others]
        if not pairs:
            return labels
        for (number, other), margin in zip(compared, _margins(backend, pairs), strict=True):
            if margin > 0:
                labels[number][other] = classes[number] - 1


def _components(sets: Sequence[_DistinctTexts], backend: MemoisedBackend) -> list[list[int]]:
    """Compare texts at one distance in each round, except those that are already connected."""
    labels = [list(range(len(texts.texts))) for texts in sets]
    for distance in range(1, max((len(texts.texts) for texts in sets), default=0)):
        compared = [
            (number, i, i + distance)
            for number, texts in enumerate(sets)
            for i in range(len(texts.texts) - distance)
            if labels[number][i] != labels[number][i + distance]
        ]
        margins = _margins(backend, [sets[number].pair(i, j) for number, i, j in compared], both_ways=True)
        for (number, i, j), margin in zip(compared, margins, strict=True):
            if margin > 0:
                old, new = labels[number][j], labels[number][i]
                labels[number] = [new if label == old else label for label in labels[number]]
    return labels


def _complete(sets: Sequence[_DistinctTexts], backend: MemoisedBackend) -> list[list[int]]:
    def cluster(margins: Floats) -> list[int]:
        # Ranks of the margins as distances, so that matches come before non-matches exactly.
        levels, ranks = np.unique(-margins, return_inverse=True)
        return _linked(ranks.astype(np.float64), "complete", float((levels < 0).sum()) - 0.5)

    return _of_all_pairs(sets, backend, cluster)


def _average(sets: Sequence[_DistinctTexts], backend: MemoisedBackend) -> list[list[int]]:
    return _of_all_pairs(sets, backend, average_linkage)


def average_linkage(margins: Floats) -> list[int]:
    """Return the class of each text of a set from the margins of all pairs [pairs]."""
    highest = float(margins.max())
    return _linked(highest - margins, "average", np.nextafter(highest, -np.inf))


def _linked(distances: Floats, method: Literal["complete", "average"], limit: float) -> list[int]:
    """Return the classes of a hierarchical clustering of distances [pairs], cut at a limit."""
    from scipy.cluster.hierarchy import fcluster, linkage

    labels: list[int] = fcluster(linkage(distances, method=method), t=limit, criterion="distance").tolist()
    return labels


def _of_all_pairs(
    sets: Sequence[_DistinctTexts], backend: MemoisedBackend, cluster: Callable[[Floats], list[int]]
) -> list[list[int]]:
    """Score all pairs of all sets at once; `cluster` makes the classes of a set from its margins [pairs]."""
    compared = [[(i, j) for i in range(len(texts.texts)) for j in range(i + 1, len(texts.texts))] for texts in sets]
    pairs = [texts.pair(i, j) for texts, indices in zip(sets, compared, strict=True) for i, j in indices]
    margins = _margins(backend, pairs, both_ways=True)
    classes, start = [], 0
    for texts, indices in zip(sets, compared, strict=True):
        margins_of_set = margins[start : start + len(indices)]
        start += len(indices)
        classes.append(cluster(margins_of_set) if indices else [0] * len(texts.texts))
    return classes


def _counted(responses: ResponsesToGroup, labels: Labels) -> Labels:
    """Drop the classes without a complete response."""
    whole = {label for label, is_whole in zip(labels, responses.whole, strict=True) if is_whole}
    return canonical([label if label in whole else None for label in labels])
