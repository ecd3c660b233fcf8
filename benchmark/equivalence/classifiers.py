"""Equivalence by a model that reads both responses together: NoveltyBench's classifier, or entailment both ways.

`PairClassifier` computes the logits of any sequence classification model of transformers. Weights are safetensors of a
pinned revision, without remote code. Each distinct sequence is read once, in batches of similar length, the longest
first, so that a lack of memory shows at once; a batch that does not fit is halved until it does.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy.special import softmax

from benchmark.equivalence.backend import Floats, ResponsePair
from benchmark.models import Dtype
from benchmark.models.devices import loading_on
from benchmark.models.memory import OutOfMemory, within_memory
from benchmark.models.model_files import ModelFiles, find_model_files, load_weights, loading
from divbench.core.errors import ConfigurationError, need

# The commit is `main` on the model's page since March 2023.
DEBERTA_V3_LARGE_TOKENISER = ModelFiles("microsoft/deberta-v3-large", "64a8c8eab3e352a784c658aef62be1662607476f")
_BATCH_TOKENS = {"cpu": 2048, "cuda": 32_768}  # including padding; larger batches are not faster
_SPECIAL_TOKENS = 3  # [CLS], and [SEP] after each response


@dataclass(frozen=True, slots=True)
class PairTokens:
    """A pair as the model reads it."""

    ids: tuple[int, ...]
    types: tuple[int, ...] | None  # token types, 0 for the first text and 1 for the second; None if the model has none


def load_pair_classifier(
    files: ModelFiles, tokeniser: ModelFiles | None = None, dtype: Dtype = "float32", device: str = "cpu"
) -> "PairClassifier":
    """Load a classifier."""
    torch = need("torch", "score")
    transformers = need("transformers", "score")
    where, options = files.locate()
    its_where, its_options = (tokeniser or files).locate()
    try:
        with loading(its_where):
            its = transformers.AutoTokenizer.from_pretrained(its_where, **its_options)
    except ConfigurationError as error:
        if "tiktoken" not in error.message:  # the library's message if sentencepiece is missing
            raise
        raise ConfigurationError(
            f"{its_where}: its tokeniser is a sentencepiece model, and no reader of these is installed",
            'pip install "divbench[score]", or save the tokeniser as a tokenizer.json into the model\'s folder',
        ) from error
    kind, hint = transformers.AutoModelForSequenceClassification, "give a model that was trained to classify pairs"
    model = load_weights(kind, where, hint, dtype=getattr(torch, dtype), **options)
    with loading_on(device, dtype, files.name):
        return PairClassifier(model.to(device), its)


class PairClassifier:
    """A loaded model and its tokeniser."""

    def __init__(self, model: Any, tokeniser: Any, batch_tokens: int | None = None) -> None:
        self.model = model.eval()
        self.tokeniser = tokeniser
        config = model.config
        self.kind: str = config.model_type
        self.labels = tuple(str(config.id2label[i]) for i in range(config.num_labels))
        positions = getattr(config, "max_position_embeddings", None)
        limits = [limit for limit in (positions, tokeniser.model_max_length) if limit]
        self.context: int | None = min(limits, default=None)
        self.batch_tokens = batch_tokens or _BATCH_TOKENS["cuda" if model.device.type == "cuda" else "cpu"]
        self._special = [token for token in tokeniser.all_special_tokens if len(token) > 1]
        rows = model.get_input_embeddings().weight.shape[0]
        size = max(tokeniser.get_vocab().values()) + 1
        if size > rows:
            raise ConfigurationError(
                f"the tokeniser has ids up to {size - 1}, the model {rows} embeddings",
                "the tokeniser belongs to another model: give the one it was trained with",
            )

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """Tokenise each text without special tokens; strings that look like special tokens are plain text."""
        if not texts:
            return []
        ids: list[list[int]] = self.tokeniser(
            [self._plain(text) for text in texts], add_special_tokens=False, return_attention_mask=False, verbose=False
        ).input_ids
        return ids

    def _plain(self, text: str) -> str:
        """Put a space inside strings that would be special tokens, such as "[SEP]" in an untrusted text.

        The library's `split_special_tokens` has no effect if they are in the vocabulary, as in DeBERTa's.
        """
        for token in self._special:
            text = text.replace(token, f"{token[0]} {token[1:]}")
        return text

    def encode_pairs(self, pairs: Sequence[tuple[str, str]], max_tokens: int) -> list[PairTokens]:
        """Tokenise pairs; those with more than `max_tokens` are truncated at the end, the longer text first."""
        if not pairs:
            return []
        encoded = self.tokeniser(
            [self._plain(a) for a, _ in pairs],
            [self._plain(b) for _, b in pairs],
            truncation="longest_first",
            max_length=max_tokens,
            return_attention_mask=False,
            verbose=False,
        )
        types_of_pairs = encoded.get("token_type_ids") or [None] * len(pairs)
        return [
            PairTokens(tuple(ids), None if types is None else tuple(types))
            for ids, types in zip(encoded["input_ids"], types_of_pairs, strict=True)
        ]

    def logits(self, sequences: Sequence[PairTokens]) -> Floats:
        """Compute logits, float64 [sequences, labels]; equal sequences have equal logits, whatever their order."""
        # Sorted, so that batches do not depend on the order of the pairs.
        different = sorted(set(sequences), key=lambda one: (-len(one.ids), one.ids, one.types or ()))
        logits_of = {one: row for batch, rows in self._batches(different) for one, row in zip(batch, rows, strict=True)}
        logits: Floats = np.array([logits_of[one] for one in sequences], dtype=np.float64).reshape(-1, len(self.labels))
        if not np.isfinite(logits).all():
            raise ConfigurationError("the model's output is not finite", "use float32")
        return logits

    def _batches(self, ordered: Sequence[PairTokens]) -> Iterator[tuple[Sequence[PairTokens], Floats]]:
        start = 0
        while start < len(ordered):
            longest = len(ordered[start].ids)
            batch = ordered[start : start + max(1, self.batch_tokens // longest)]
            try:
                rows = self._read(batch)
            except OutOfMemory:
                if len(batch) == 1:
                    raise
                self.batch_tokens = len(batch) // 2 * longest  # later batches of this size would not fit either
                continue
            yield batch, rows
            start += len(batch)

    def _read(self, batch: Sequence[PairTokens]) -> Floats:
        """Compute the logits of one batch, whose first sequence is the longest: float64 [sequences, labels]."""
        import torch

        device = self.model.device
        longest = len(batch[0].ids)
        pad = self.tokeniser.pad_token_id or 0
        ids = np.array([one.ids + (pad,) * (longest - len(one.ids)) for one in batch], dtype=np.int64)
        mask = np.arange(longest) < np.array([[len(one.ids)] for one in batch])
        inputs = {"input_ids": ids, "attention_mask": mask.astype(np.int64)}
        if batch[0].types is not None:
            rows = [(one.types or ()) + (0,) * (longest - len(one.ids)) for one in batch]
            inputs["token_type_ids"] = np.array(rows, dtype=np.int64)

        def run() -> Floats:
            with torch.inference_mode():
                tensors = {name: torch.from_numpy(array).to(device) for name, array in inputs.items()}
                logits: Floats = self.model(**tensors).logits.cpu().double().numpy()
                return logits

        what = f"{len(batch)} pairs of up to {longest} tokens"
        return within_memory(run, what, device, "a smaller model or dtype fits, or a machine with more memory")


@dataclass(frozen=True, slots=True)
class GenerationSimilarity:
    """NoveltyBench's classifier of pairs of responses (arXiv:2504.05228, section 3.1).

    It reads [CLS] a [SEP] b [SEP], with token type 0 up to the first [SEP] and 1 after it; its second output is the
    probability that the responses are equivalent. It does not read the prompt, (a, b) and (b, a) have different scores,
    and strings that look like special tokens are plain text. It was trained on the first 128 tokens of each response.
    """

    files: ModelFiles  # files of a DeBERTa (v2 or v3) with two outputs
    tokeniser: ModelFiles | None = None  # files of its tokeniser; None: with the model
    # Number of tokens to read of each response, from the first; 128 as in training and as published. None: as many as
    # `max_tokens` allows, on which the model was not trained.
    window: int | None = 128
    # Maximum number of tokens per pair, including three special ones; DeBERTa has 512 positions. Longer pairs are
    # truncated, the longer response first.
    max_tokens: int = 512
    threshold: float = 0.102  # published threshold, which has the best F1 on the 100 pairs of the paper
    dtype: Dtype = "float32"

    @property
    def signature(self) -> str:
        """Implement `Spec.signature`."""
        its = "" if self.tokeniser is None else f"tokeniser-{self.tokeniser.signature},"
        read = f"full-text-to-{self.max_tokens}-tokens" if self.window is None else f"{self.window}-tokens-each"
        return f"{self.files.signature},{its}{self.dtype},{read},no-prompt,p-over-{self.threshold}"

    def load(self, device: str = "cpu") -> "ClassifierEquivalence":
        """Implement `Spec.load`."""
        return ClassifierEquivalence(self, load_pair_classifier(self.files, self.tokeniser, self.dtype, device))


def find_generation_similarity(name: str, window: int | None = 128) -> GenerationSimilarity:
    """Make the spec of a classifier, `ORG/NAME@COMMIT` on the Hub or a folder.

    The published one has no tokeniser; if a folder has none, DeBERTa v3's is used.
    """
    files = find_model_files(name)
    folder = files.folder
    has_own = folder is not None and any((folder / name).is_file() for name in ("tokenizer.json", "spm.model"))
    return GenerationSimilarity(files, None if has_own else DEBERTA_V3_LARGE_TOKENISER, window)


class ClassifierEquivalence:
    """Scores pairs by the probability, in [0, 1], that they are equivalent."""

    symmetric = False

    def __init__(self, spec: GenerationSimilarity, classifier: PairClassifier) -> None:
        self.signature = spec.signature
        self.threshold = spec.threshold
        self._classifier = classifier
        self._window, self._max_tokens = spec.window, spec.max_tokens
        name = spec.files.name
        if classifier.kind != "deberta-v2" or len(classifier.labels) != 2:
            raise ConfigurationError(
                f"{name} is a {classifier.kind} with {len(classifier.labels)} outputs, but NoveltyBench's classifier "
                "is a deberta-v2 with 2",
                "give its files, or those of a model trained like it",
            )
        begin, end = classifier.tokeniser.cls_token_id, classifier.tokeniser.sep_token_id
        if begin is None or end is None:
            raise ConfigurationError(f"the tokeniser of {name} has no [CLS] or no [SEP]", "give DeBERTa's tokeniser")
        self._begin, self._end = int(begin), int(end)
        longest = spec.max_tokens if spec.window is None else 2 * spec.window + _SPECIAL_TOKENS
        _check_room(name, longest, classifier)

    def scores(self, pairs: Sequence[ResponsePair]) -> Floats:
        """Implement `EquivalenceBackend.scores`."""
        texts = sorted({text for pair in pairs for text in (pair.a, pair.b)})
        ids = dict(zip(texts, self._classifier.encode(texts), strict=True))
        logits = self._classifier.logits([self._join(ids[pair.a], ids[pair.b]) for pair in pairs])
        probabilities: Floats = softmax(logits, axis=1)
        return probabilities[:, 1]

    def _join(self, a: list[int], b: list[int]) -> PairTokens:
        kept_a, kept_b = self._kept(len(a), len(b))
        first, second = (self._begin, *a[:kept_a], self._end), (*b[:kept_b], self._end)
        return PairTokens(first + second, (0,) * len(first) + (1,) * len(second))

    def _kept(self, a: int, b: int) -> tuple[int, int]:
        """Return the number of tokens to read of two responses with `a` and `b` tokens."""
        if self._window is not None:
            return min(a, self._window), min(b, self._window)
        room = self._max_tokens - _SPECIAL_TOKENS
        return min(a, max(room - b, room - room // 2)), min(b, max(room - a, room // 2))


@dataclass(frozen=True, slots=True)
class BothWaysNLI:
    """Entailment from each response to the other (Farquhar et al. 2024, Nature, doi:10.1038/s41586-024-07421-0).

    Each text is the prompt, a space and the response, as in that paper. The label of a direction is the most probable
    one. The score is positive if and only if the responses are equivalent:

    *strict*: both directions are entailment. Score: the smaller of their margins, p(entailment) − the largest other p.
    *lax*: neither direction is contradiction, and not both are neutral. Score: the smallest of the two margins of the
    best other label over contradiction and the larger margin of entailment.
    """

    files: ModelFiles  # files of any model for natural language inference that names its labels
    rule: Literal["strict", "lax"] = "strict"
    with_prompt: bool = True
    # Maximum number of tokens per pair; longer pairs are truncated, the longer text first. Responses to a prompt that
    # would leave no room for them are not grouped.
    max_tokens: int = 512
    dtype: Dtype = "float32"

    @property
    def signature(self) -> str:
        """Implement `Spec.signature`."""
        read = "with-prompt" if self.with_prompt else "no-prompt"
        return f"{self.files.signature},{self.dtype},{self.max_tokens}-tokens,{read},{self.rule}-both-ways"

    def load(self, device: str = "cpu") -> "NLIEquivalence":
        """Implement `Spec.load`."""
        return NLIEquivalence(self, load_pair_classifier(self.files, dtype=self.dtype, device=device))


class NLIEquivalence:
    """Scores pairs by margins, in [−1, 1]; see `BothWaysNLI`."""

    symmetric = True
    threshold = 0.0

    def __init__(self, spec: BothWaysNLI, classifier: PairClassifier) -> None:
        self.signature = spec.signature
        self._spec, self._classifier = spec, classifier
        self._fits: dict[str, bool] = {}  # by prompt, whether it leaves room for responses
        names = [label.casefold() for label in classifier.labels]
        needed = {"entailment"} if spec.rule == "strict" else {"entailment", "neutral", "contradiction"}
        fits = needed <= set(names) if spec.rule == "strict" else needed == set(names)
        if not fits or len(names) < 2 or len(set(names)) < len(names):
            raise ConfigurationError(
                f"{spec.files.name} has the labels {', '.join(classifier.labels)}; {spec.rule} needs "
                f"{', '.join(sorted(needed))}",
                "give a model for natural language inference whose config.json names its labels (id2label)",
            )
        self._entailment = names.index("entailment")
        self._contradiction = names.index("contradiction") if spec.rule == "lax" else None
        _check_room(spec.files.name, spec.max_tokens, classifier)

    def refusal(self, pair: ResponsePair) -> str | None:
        """Refuse a prompt that leaves no room for the responses: the model would read it twice, and nothing else."""
        if not self._spec.with_prompt:
            return None
        most = self._spec.max_tokens
        if pair.prompt not in self._fits:
            self._fits[pair.prompt] = len(self._classifier.encode([pair.prompt])[0]) < (most - _SPECIAL_TOKENS) // 2
        fits = self._fits[pair.prompt]
        return (
            None if fits else f"the prompt leaves no room for responses in the {most} tokens of the equivalence model"
        )

    def scores(self, pairs: Sequence[ResponsePair]) -> Floats:
        """Implement `EquivalenceBackend.scores`."""
        for pair in pairs:
            if reason := self.refusal(pair):
                raise ConfigurationError(
                    f"{reason}: {pair.prompt[:60]!r}…",
                    "use a backend without the prompt, such as rouge-1 or embedding, or a judge",
                )
        texts = [tuple(f"{q.prompt} {text}" if self._spec.with_prompt else text for text in (q.a, q.b)) for q in pairs]
        directions = sorted({pair for a, b in texts for pair in ((a, b), (b, a))})
        sequences = self._classifier.encode_pairs(directions, self._spec.max_tokens)
        p = dict(zip(directions, softmax(self._classifier.logits(sequences), axis=1), strict=True))
        return np.array([self._score(np.stack([p[a, b], p[b, a]])) for a, b in texts], dtype=np.float64)

    def _score(self, p: Floats) -> float:
        """Compute the score from the probabilities of both directions, [2, labels]."""
        entailed = _margins(p, self._entailment)
        if self._contradiction is None:
            return float(entailed.min())
        compatible = -_margins(p, self._contradiction)
        return float(min(compatible.min(), entailed.max()))


def _margins(p: Floats, label: int) -> Floats:
    """Return how much more probable a label is than the best other label, [rows]."""
    margins: Floats = p[:, label] - np.delete(p, label, axis=1).max(axis=1)
    return margins


def _check_room(name: str, longest: int, classifier: PairClassifier) -> None:
    if classifier.context is not None and longest > classifier.context:
        raise ConfigurationError(
            f"{name} reads at most {classifier.context} tokens, and up to {longest} are needed",
            "give a model that reads as many (in Python, a smaller window or max_tokens)",
        )


# Published without a tokeniser. The commit is the one that inspect_evals 0.26.0 (UKGovernmentBEIS) pins; the model's
# page shows its first seven digits, with safetensors.
GENERATION_SIMILARITY = GenerationSimilarity(
    ModelFiles("yimingzhang/deberta-v3-large-generation-similarity", "4e11444c12adf9837e58ae1e598472c45b1d3bd9"),
    DEBERTA_V3_LARGE_TOKENISER,
)
