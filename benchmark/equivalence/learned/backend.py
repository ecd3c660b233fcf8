"""The equivalence backend learned from judged partitions of whole response sets; see its card, model/README.md.

All responses of a set are read together: a model of pairs sees what the other responses have in common
(`set_features.py`), and a rule keeps different meanings in the same sentence apart (`conflicts.py`).

"Sure!", a greeting in another language and random words are not part of a response's content, but they change the
embedder's states of all later words. So responses are compared without such openings: first sentences that are about
neither the prompt nor the text that follows.
"""

import re
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np

from benchmark.equivalence.backend import Floats, ResponsePair
from benchmark.equivalence.learned.conflicts import same
from benchmark.equivalence.learned.features import PromptedText, pair_features, prompted_text
from benchmark.equivalence.learned.model_file import SetModel, load_set_model
from benchmark.equivalence.learned.set_features import SetText, set_features, set_text
from benchmark.equivalence.learned.words import Prompt, words_of
from benchmark.models.embedder import (
    ALL_MINILM_L6_V2,
    Embedder,
    EmbedderSpec,
    SentenceTransformersEmbedder,
    TokenEmbedder,
    TokenStates,
    read_whole,
)
from divbench.core.errors import ConfigurationError
from divbench.core.files import sha256_of

MODEL = Path(__file__).parent / "model" / "set_model.npz"
MODEL_SHA256 = "ec03d868b7d4b4d836be4d7fda5120fb1281ead8f4e6c369aa451b64f1c17acb"
_AT_ONCE = 256  # texts read at once: their token states take some hundreds of megabytes
_KEPT = 20_000  # cached vectors of responses: some hundreds of megabytes
APART = -1.0  # score of a pair that is not in one class unless most other pairs of the class say that it is
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


@dataclass(frozen=True, slots=True)
class Learned:
    """A small model of response sets that reads all-MiniLM-L6-v2's token states, words and the prompt.

    The score is the probability that a judge who sees the whole set would put both responses into one class. Responses
    are compared without empty openings (`openings`). Equal responses have the score 1, and different meanings in the
    same sentence are never equivalent (`conflicts.py`); nor are different numbers where the prompt asks for one
    (`telling_numbers_apart`).
    """

    embedder: EmbedderSpec = ALL_MINILM_L6_V2
    threshold: float = 0.5  # probability above which responses are equivalent; probabilities are calibrated, so 0.5

    @property
    def signature(self) -> str:
        """Implement `Spec.signature`."""
        return f"learned-v4@{MODEL_SHA256[:12]},{self.embedder.signature},whole-texts,p-over-{self.threshold}"

    def load(self, device: str = "cpu", loaded: Embedder | None = None) -> "LearnedEquivalence":
        """Implement `Spec.load`; `loaded` replaces the spec's embedder if it returns token states."""
        if sha256_of(MODEL) != MODEL_SHA256:
            raise ConfigurationError(f"{MODEL} is not the file of this version", "install the package again")
        if not isinstance(loaded, TokenEmbedder):
            loaded = SentenceTransformersEmbedder(self.embedder, device)
        return LearnedEquivalence(self, loaded, load_set_model(MODEL))


class LearnedEquivalence:
    """Scores the pairs of response sets by the probability that they are equivalent; each set's texts are read once."""

    symmetric = True

    def __init__(self, spec: Learned, embedder: TokenEmbedder, model: SetModel) -> None:
        self.signature = spec.signature
        self.threshold = spec.threshold
        self._embedder = embedder
        self.reader = PairReader(embedder)
        self._model = model

    def scores(self, pairs: Sequence[ResponsePair]) -> Floats:
        """Implement `EquivalenceBackend.scores`: each pair is a set of two, and its score is in [0, 1]."""
        known = {key: 1.0 for key in set(map(_key, pairs)) if key[1] == key[2]}
        keys = sorted({_key(pair) for pair in pairs} - known.keys())
        scores = self.set_scores([(prompt, (a, b)) for prompt, a, b in keys])
        known |= {key: max(float(score), 0.0) for key, [score] in zip(keys, scores, strict=True)}
        return np.array([known[_key(pair)] for pair in pairs], np.float64)

    def set_scores(self, sets: Sequence[tuple[str, Sequence[str]]]) -> list[Floats]:
        """Implement `SetScorer.set_scores`."""
        scores: list[Floats] = []
        for group in _in_groups(sets):
            read = self._read({prompt for prompt, _ in group} | {text for _, texts in group for text in texts})
            rests = _without_openings(self._embedder, {(prompt, t) for prompt, texts in group for t in texts}, read)
            for prompt, texts in group:
                for text in texts:
                    self.reader.remember(prompt, text, read[text][0], read[prompt][0])
                asked = Prompt(prompt, words_of(prompt), self._model.generic)
                order = sorted(range(len(texts)), key=lambda i: texts[i])
                sorted_texts = [rests.get((prompt, texts[i]), texts[i]) for i in order]
                parts = [set_text(text, read[text][1], asked) for text in sorted_texts]
                matrix = np.zeros((len(texts), len(texts)))
                rows, columns = np.triu_indices(len(texts), 1)
                values = self._scores(asked, read[prompt][1].vector, parts, sorted_texts)
                where = np.array(order, np.int64)
                matrix[where[rows], where[columns]] = matrix[where[columns], where[rows]] = values
                scores.append(matrix[rows, columns])
        return scores

    def forget(self) -> None:
        """Clear the cache of texts; see `ScoringBackends.materials`."""
        self.reader = PairReader(self._embedder)

    def _read(self, texts: Iterable[str]) -> dict[str, tuple[TokenStates, TokenStates]]:
        distinct = sorted(set(texts))
        return dict(zip(distinct, read_whole(self._embedder, distinct), strict=True))

    def _scores(self, prompt: Prompt, direction: Floats, parts: Sequence[SetText], texts: Sequence[str]) -> Floats:
        """Return the score of each pair of a set's responses, [pairs]."""
        if len(parts) < 2:
            return np.empty(0)
        values = self._model.probabilities(features := set_features(prompt, direction, parts))
        pairs = list(combinations(range(len(parts)), 2))
        values = telling_numbers_apart([ResponsePair(prompt.text, texts[i], texts[j]) for i, j in pairs], values)
        sentences = [part.sentence for part in parts]
        values[features["conflict"] == 1] = APART
        values[[texts[i] == texts[j] or same(sentences[i], sentences[j]) for i, j in pairs]] = 1.0
        return values


class PairReader:
    """Computes `FEATURES` of pairs for `learned_diversity`; the most recent responses' vectors are cached."""

    def __init__(self, embedder: TokenEmbedder) -> None:
        self._embedder = embedder
        self._vectors: OrderedDict[tuple[str, str], PromptedText] = OrderedDict()

    def features(self, pairs: Sequence[ResponsePair]) -> Floats:
        """Return the features of each pair, float64 [pairs, features]; the order of a pair has no effect."""
        keys = {(pair.prompt, text) for pair in pairs for text in (pair.a, pair.b)}
        known = {key: self._vectors[key] for key in keys if key in self._vectors}
        if new := sorted(keys - known.keys()):
            texts = sorted({text for key in new for text in key})
            read = dict(zip(texts, self._embedder.read(texts), strict=True))
            for prompt, text in new:
                known[prompt, text] = self.remember(prompt, text, read[text], read[prompt])
        rows = [pair_features(known[prompt, a], known[prompt, b]) for prompt, a, b in map(_key, pairs)]
        return np.array(rows, np.float64)

    def remember(self, prompt: str, text: str, read: TokenStates, prompt_read: TokenStates) -> PromptedText:
        """Compute and cache the vectors of a response that has been read."""
        vectors = self._vectors[prompt, text] = prompted_text(read, prompt_read)
        if len(self._vectors) > _KEPT:
            self._vectors.popitem(last=False)
        return vectors


def _without_openings(
    embedder: TokenEmbedder, keys: Iterable[tuple[str, str]], read: dict[str, tuple[TokenStates, TokenStates]]
) -> dict[tuple[str, str], str]:
    """Return the rest of each text that has an empty opening, by prompt and text; `read` gets what is read for it."""

    def take(texts: Iterable[str]) -> None:
        if missing := sorted(set(texts) - read.keys()):
            read.update(zip(missing, read_whole(embedder, missing), strict=True))

    def vector(text: str) -> Floats:
        return read[text][0].vector

    rests = {key: key[1] for key in sorted(keys)}
    changed: Iterable[tuple[str, str]] = list(rests)
    for _ in range(MOST):
        split = {key: parts for key in changed if (parts := split_opening(rests[key])) is not None}
        take(opening for opening, _ in split.values())
        split = {key: parts for key, parts in split.items() if says_nothing(vector(parts[0]), vector(key[0]))}
        take(rest for _, rest in split.values())
        changed = [key for key, parts in split.items() if says_nothing(*map(vector, parts))]
        rests |= {key: split[key][1] for key in changed}
    return {key: rest for key, rest in rests.items() if rest != key[1]}


def _key(pair: ResponsePair) -> tuple[str, str, str]:
    """Return a pair with its texts sorted, so that (a, b) and (b, a) have equal scores to the last digit."""
    return pair.prompt, min(pair.a, pair.b), max(pair.a, pair.b)


def _in_groups(sets: Sequence[tuple[str, Sequence[str]]]) -> Iterator[list[tuple[str, Sequence[str]]]]:
    """Yield the sets in groups, so that few texts are in memory."""
    group: list[tuple[str, Sequence[str]]] = []
    size = 0
    for prompt, texts in sets:
        if group and size + len(texts) > _AT_ONCE:
            yield group
            group, size = [], 0
        group.append((prompt, texts))
        size += len(texts)
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
