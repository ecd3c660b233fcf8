"""The equivalence backend learned from NoveltyBench's published partitions; see its card, model/README.md.

"Sure!", a greeting in another language and random words are not part of a response's content, but they change the
embedder's states of all later words. So responses are also compared without such openings: first sentences that are
about neither the prompt nor the text that follows.
"""

import re
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmark.equivalence.backend import Floats, ResponsePair
from benchmark.equivalence.learned.features import FEATURES, LINEAR, TextParts, pair_features, text_parts
from benchmark.models.embedder import (
    ALL_MINILM_L6_V2,
    Embedder,
    EmbedderSpec,
    SentenceTransformersEmbedder,
    TokenEmbedder,
    TokenStates,
)
from divbench.core.errors import ConfigurationError
from divbench.core.files import sha256_of

MODEL = Path(__file__).parent / "model" / "pair_model.npz"
MODEL_SHA256 = "878ec516378429adcd4f50257c88895ca362d9dd09fc4190adab627cc6ec333f"
_AT_ONCE = 256  # texts read at once: their token states take some tens of megabytes
_KEPT = 1024  # cached responses: a submission of 100 × 10, at most some hundreds of megabytes
MOST = 3  # openings removed from a response
_LONGEST = 60  # characters of an opening
_ABOUT = 0.25  # cosine from which an opening is about a text; 1 in 30 openings of four random words reaches it
_END = re.compile(r"(?<=[.!?:])\s+|(?<=[\u3002\uff01\uff1f\uff1a])|\n+")  # the latter are full-width marks
_WORD = re.compile(r"[^\W\d_]{3}")
_MOST_APART = 0.02  # not 0, because the published classes sometimes put different numbers together
_ASKS_FOR_A_NUMBER = re.compile(
    r"\b(?:dice|digits?|integers?|numbers?(?! of\b)|random year|(?:what|which) year|roll\b.{0,60}\bdie|zip codes?)\b",
    re.I,
)
_LIST_MARK = re.compile(r"^[^\w\n]*(?:\w+ )?\d+[.:)] ", re.M)  # "3. " or "Answer 3: "; who adds one says nothing new
_NUMBER = re.compile(r"(?<!\w)\d+(?!\w)")  # not part of a word
# Openings that consist of these words are so frequent that the model knows them; reading the rest would take time.
_ASSENTS = frozenset(
    """
    sure certainly of course absolutely definitely thing alright okay ok yes yeah great gladly you bet no problem
    """.split()  # noqa: SIM905 - a list would be twenty lines
)


def split_opening(text: str) -> tuple[str, str] | None:
    """Split a text after its first sentence or line; None if that is long, an assent, wordless or the whole text.

    >>> split_opening("Hi there! Red it is."), split_opening("Sure! Red."), split_opening("Dr. No")
    (('Hi there!', 'Red it is.'), None, None)
    """
    stripped = text.strip()
    end = _END.search(stripped)
    if end is None or end.start() > _LONGEST:
        return None
    opening, rest = stripped[: end.start()].strip(), stripped[end.end() :].strip()
    if not _WORD.search(opening) or not _WORD.search(rest) or _ASSENTS.issuperset(re.findall(r"\w+", opening.lower())):
        return None
    return opening, rest


def says_nothing(opening: Floats, text: Floats) -> bool:
    """Whether an opening is not about a text (the prompt, or what follows); both are unit vectors [dimensions]."""
    return float((opening * text).sum()) < _ABOUT


@dataclass(frozen=True, slots=True, eq=False)
class PairModel:
    """Computes probabilities; the log-odds are a weighted mean of those of the trees and of a linear model."""

    feature: NDArray[np.int16]  # [nodes], the feature that a node splits on; −1 for a leaf
    threshold: NDArray[np.float64]  # [nodes], values up to it go left
    missing_left: NDArray[np.bool_]  # [nodes], whether missing values go left
    left: NDArray[np.int32]  # [nodes], index of the left child; for a leaf, of itself
    right: NDArray[np.int32]  # [nodes], index of the right child; for a leaf, of itself
    value: NDArray[np.float64]  # [nodes], log-odds of a leaf
    roots: NDArray[np.int32]  # [trees], index of each tree's root
    baseline: Floats  # log-odds before any tree
    linear: Floats  # [LINEAR + 1], log-odds per unit of each of the first features, and the intercept
    share: Floats  # weight of the trees in the mean, in [0, 1]

    def probabilities(self, features: Floats) -> Floats:
        """Return the probability that each pair is equivalent, float64 [pairs], from features [pairs, features]."""
        log_odds = self.share * self.tree_log_odds(features) + (1 - self.share) * self.linear_log_odds(features)
        return np.asarray(1 / (1 + np.exp(-log_odds)))

    def higher_probabilities(self, whole: Floats, without_openings: Floats) -> Floats:
        """Return the higher of the two probabilities of each pair, float64 [pairs]."""
        return np.maximum(self.probabilities(whole), self.probabilities(without_openings))

    def tree_log_odds(self, features: Floats) -> Floats:
        """Return the log-odds of the trees alone, float64 [pairs]."""
        rows = np.arange(len(features))[:, None]
        at = np.tile(self.roots, (len(features), 1))  # [pairs, trees]
        while True:
            split = self.feature[at]
            inside = split >= 0
            if not inside.any():
                break
            values = features[rows, np.where(inside, split, 0)]
            goes_left = np.where(np.isnan(values), self.missing_left[at], values <= self.threshold[at])
            at = np.where(goes_left, self.left[at], self.right[at])  # both children of a leaf are itself
        return np.asarray(self.value[at].sum(axis=1) + self.baseline)

    def linear_log_odds(self, features: Floats) -> Floats:
        """Return the log-odds of the linear part alone, float64 [pairs]."""
        return np.asarray((features[:, :LINEAR] * self.linear[:-1]).sum(axis=1) + self.linear[-1])


def load_pair_model(path: Path) -> PairModel:
    """Read a file written by `save_pair_model`."""
    with np.load(path, allow_pickle=False) as arrays:
        model = PairModel(**{field.name: arrays[field.name] for field in fields(PairModel)})
    if model.feature.max() >= len(FEATURES) or len(model.linear) != LINEAR + 1:
        raise ValueError(f"{path} was trained on other features")
    return model


@dataclass(frozen=True, slots=True)
class Learned:
    """A small model of pairs that reads all-MiniLM-L6-v2's token states, shared words and the prompt.

    The score is the probability that NoveltyBench's classifier would put both responses into one class, corrected where
    the classifier is known to be wrong (short responses). Responses with empty openings (`openings`) are also compared
    without them, and the higher probability counts. Identical pairs have the score 1. Different numbers are not
    equivalent where the prompt asks for one (`telling_numbers_apart`).
    """

    embedder: EmbedderSpec = ALL_MINILM_L6_V2
    threshold: float = 0.5  # probability above which responses are equivalent; probabilities are calibrated, so 0.5

    @property
    def signature(self) -> str:
        """Implement `Spec.signature`."""
        return f"learned-v3@{MODEL_SHA256[:12]},{self.embedder.signature},p-over-{self.threshold}"

    def load(self, device: str = "cpu", loaded: Embedder | None = None) -> "LearnedEquivalence":
        """Implement `Spec.load`; `loaded` replaces the spec's embedder if it returns token states."""
        if sha256_of(MODEL) != MODEL_SHA256:
            raise ConfigurationError(f"{MODEL} is not the file of this version", "install the package again")
        if not isinstance(loaded, TokenEmbedder):
            loaded = SentenceTransformersEmbedder(self.embedder, device)
        return LearnedEquivalence(self, loaded, load_pair_model(MODEL))


class LearnedEquivalence:
    """Scores pairs by the probability, in [0, 1], that they are equivalent; each text is read once."""

    symmetric = True

    def __init__(self, spec: Learned, embedder: TokenEmbedder, model: PairModel) -> None:
        self.signature = spec.signature
        self.threshold = spec.threshold
        self._embedder = embedder
        self.reader = PairReader(embedder)
        self._model = model

    def scores(self, pairs: Sequence[ResponsePair]) -> Floats:
        """Implement `EquivalenceBackend.scores`."""
        if not pairs:
            return np.empty(0)
        probabilities = telling_numbers_apart(pairs, self._model.higher_probabilities(*self.reader.features(pairs)))
        probabilities[[pair.a == pair.b for pair in pairs]] = 1.0
        return probabilities

    def forget(self) -> None:
        """Clear the cache of texts; see `ScoringBackends.materials`."""
        self.reader = PairReader(self._embedder)


class PairReader:
    """Computes the features of pairs; the most recent responses are cached for algorithms that ask in rounds."""

    def __init__(self, embedder: TokenEmbedder) -> None:
        self._embedder = embedder
        self._parts: OrderedDict[tuple[str, str], tuple[TextParts, TextParts]] = OrderedDict()

    def features(self, pairs: Sequence[ResponsePair]) -> tuple[Floats, Floats]:
        """Return the features of each pair with and without empty openings, each float64 [pairs, features]."""
        features_of: dict[tuple[str, str, str], tuple[list[float], list[float]]] = {}
        for prompts in _in_groups(pairs):
            parts = self._read(prompts)
            for prompt, wanted in prompts.items():
                for a, b in wanted:
                    (whole_a, rest_a), (whole_b, rest_b) = parts[prompt, a], parts[prompt, b]
                    whole = pair_features(whole_a, whole_b)
                    same = whole_a is rest_a and whole_b is rest_b
                    features_of[prompt, a, b] = whole, whole if same else pair_features(rest_a, rest_b)
        rows = [features_of[_key(pair)] for pair in pairs]
        return np.array([row for row, _ in rows], np.float64), np.array([row for _, row in rows], np.float64)

    def _read(self, prompts: dict[str, list[tuple[str, str]]]) -> dict[tuple[str, str], tuple[TextParts, TextParts]]:
        """Return the parts of all texts with and without empty openings, by prompt and text."""
        keys = sorted({(prompt, text) for prompt, wanted in prompts.items() for pair in wanted for text in pair})
        known = {key: self._parts[key] for key in keys if key in self._parts}
        new = [key for key in keys if key not in known]
        if new:
            rests, read = self._without_openings(new)
            for prompt, text in new:
                whole = text_parts(text, read[text], prompt, read[prompt])
                rest = rests.get((prompt, text))
                known[prompt, text] = (
                    whole,
                    whole if rest is None else text_parts(rest, read[rest], prompt, read[prompt]),
                )
        for key in keys:
            self._parts[key] = known[key]
            self._parts.move_to_end(key)
        while len(self._parts) > _KEPT:
            self._parts.popitem(last=False)
        return known

    def _without_openings(
        self, keys: Sequence[tuple[str, str]]
    ) -> tuple[dict[tuple[str, str], str], dict[str, TokenStates]]:
        """Return the rest of each text that has an empty opening, and the token states of everything that was read."""
        read: dict[str, TokenStates] = {}

        def take(texts: Iterable[str]) -> None:
            if missing := sorted(set(texts) - read.keys()):
                read.update(zip(missing, self._embedder.read(missing), strict=True))

        take(text for key in keys for text in key)
        rests = dict(zip(keys, (text for _, text in keys), strict=True))
        changed: Iterable[tuple[str, str]] = keys
        for _ in range(MOST):
            split = {key: parts for key in changed if (parts := split_opening(rests[key])) is not None}
            take(opening for opening, _ in split.values())
            split = {
                key: (opening, rest)
                for key, (opening, rest) in split.items()
                if says_nothing(read[opening].vector, read[key[0]].vector)
            }
            take(rest for _, rest in split.values())
            changed = [key for key, parts in split.items() if says_nothing(*(read[text].vector for text in parts))]
            rests |= {key: split[key][1] for key in changed}
        return {key: rest for key, rest in rests.items() if rest != key[1]}, read


def _key(pair: ResponsePair) -> tuple[str, str, str]:
    """Return a pair with its texts sorted, so that (a, b) and (b, a) have equal scores to the last digit."""
    return pair.prompt, min(pair.a, pair.b), max(pair.a, pair.b)


def _in_groups(pairs: Sequence[ResponsePair]) -> Iterator[dict[str, list[tuple[str, str]]]]:
    """Yield the distinct pairs by prompt, a few prompts at a time, so that few texts are in memory."""
    by_prompt: dict[str, list[tuple[str, str]]] = {}
    for prompt, a, b in sorted(set(map(_key, pairs))):
        by_prompt.setdefault(prompt, []).append((a, b))
    group: dict[str, list[tuple[str, str]]] = {}
    size = 0
    for prompt, wanted in by_prompt.items():
        texts = len({text for pair in wanted for text in pair})
        if group and size + texts > _AT_ONCE:
            yield group
            group, size = {}, 0
        group[prompt] = wanted
        size += texts
    if group:
        yield group


def telling_numbers_apart(pairs: Sequence[ResponsePair], probabilities: Floats) -> Floats:
    """Return the probabilities [pairs], at most 0.02 where a prompt asks for a number and the responses differ in it.

    They differ if both have numbers but none in common. Numbers of the prompt and of lists do not count. Other prompts
    do not matter, because an attack may add numbers.

    >>> asked = ResponsePair("Pick a number between 1 and 10.", "1 to 10? I choose 7.", "I choose 3.")
    >>> not_asked = ResponsePair("Name a film.", "Catch 22", "Catch 23")
    >>> telling_numbers_apart([asked, not_asked], np.array([0.7, 0.7])).tolist()
    [0.02, 0.7]
    """
    read = {(pair.prompt, text) for pair in pairs for text in (pair.a, pair.b)}
    numbers = {key: _numbers(*key) for key in read}  # once a response, not once a pair
    pairs_of_numbers = [(numbers[pair.prompt, pair.a], numbers[pair.prompt, pair.b]) for pair in pairs]
    different = [bool(a and b) and a.isdisjoint(b) for a, b in pairs_of_numbers]
    return np.where(different, np.minimum(probabilities, _MOST_APART), probabilities)


def _numbers(prompt: str, text: str) -> frozenset[str]:
    """Return the numbers of a response that are not the prompt's; none if the prompt asks for none."""
    if not _ASKS_FOR_A_NUMBER.search(prompt):
        return frozenset()
    return frozenset(_NUMBER.findall(_LIST_MARK.sub("", text))) - frozenset(_NUMBER.findall(prompt))
