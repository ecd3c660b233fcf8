"""Similarity of pairs of texts: BERTScore, and a cross-encoder trained on sentence similarity (STS-B).

Tevet & Berant (arXiv:2004.02990, section 5) use both as baselines. Weights are float32 safetensors of a pinned
revision, without remote code.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from benchmark.models.devices import loading_on
from benchmark.models.model_files import ModelFiles, Spec, load_weights, loading
from benchmark.models.tokenisers import most_tokens, token_batches, token_counts
from divbench.core.errors import ConfigurationError, need

Pair = tuple[str, str]
Floats = NDArray[np.float64]

_CROSS_ENCODER_HINT = "give a cross-encoder trained on similarity scores"


class PairScorer(Protocol):
    """Scores the similarity of pairs of texts."""

    signature: str  # everything that determines the scores, such as `name@revision,float32,512-tokens`

    def score_pairs(self, pairs: Sequence[Pair]) -> Floats:
        """Return similarities, float64 [pairs]; higher is more similar. No score depends on other pairs."""
        ...


PairScorerSpec = Spec[PairScorer]


@dataclass(frozen=True, slots=True)
class BertScoreSpec:
    """BERTScore F1 (Zhang et al. 2020, arXiv:1904.09675) without idf weights, rescaled."""

    files: ModelFiles
    layer: int  # number of the layer from which states are compared; 1 is the first above the embeddings
    baseline: float  # mean F1 of unrelated sentences, which is rescaled to 0; with 0, nothing is rescaled
    max_tokens: int = (
        512  # maximum number of tokens per text, or the model's if that is less; longer ones are truncated
    )

    @property
    def signature(self) -> str:
        """Implement `Spec.signature`."""
        chosen = f"layer-{self.layer},idf-off,baseline-{self.baseline}"
        return f"{self.files.signature},float32,{self.max_tokens}-tokens,{chosen}"

    def load(self, device: str = "cpu") -> "BertScorer":
        """Implement `Spec.load`."""
        return BertScorer(self, device)


@dataclass(frozen=True, slots=True)
class CrossEncoderSpec:
    """A model that reads both texts together and returns one number."""

    files: ModelFiles  # files of a cross-encoder with one output
    # Maximum number of tokens per pair, or the model's if that is less; in longer pairs, the longer text is truncated
    # first.
    max_tokens: int = 512

    @property
    def signature(self) -> str:
        """Implement `Spec.signature`."""
        return f"{self.files.signature},float32,{self.max_tokens}-tokens"

    def load(self, device: str = "cpu") -> "CrossEncoderScorer":
        """Implement `Spec.load`."""
        return CrossEncoderScorer(self, device)


class BertScorer:
    """Computes BERTScore F1, equal to that of bert-score 0.3.13 (idf off)."""

    def __init__(self, spec: BertScoreSpec, device: str = "cpu") -> None:
        torch = need("torch", "score")
        transformers = need("transformers", "score")
        self.signature = spec.signature
        self._baseline = spec.baseline
        where, options = spec.files.locate()
        with loading(where):
            config = transformers.AutoConfig.from_pretrained(where, **options)
        if config.model_type != "roberta" or config.num_hidden_layers < spec.layer:
            raise ConfigurationError(
                f"{where} is no RoBERTa with {spec.layer} layers, which the layer and baseline require",
                "give the files of roberta-large",
            )
        with loading(where):
            self._tokeniser: Any = transformers.AutoTokenizer.from_pretrained(where, **options)
        model = load_weights(
            transformers.RobertaModel,
            where,
            "give the files of roberta-large",
            dtype=torch.float32,
            add_pooling_layer=False,  # unused, and roberta-large has none
            **options,
        )
        del model.encoder.layer[spec.layer :]  # unused
        with loading_on(device, "float32", spec.files.name):
            self._model = model.to(device).eval()
        self._max_tokens = most_tokens(model, spec.max_tokens)

    def score_pairs(self, pairs: Sequence[Pair]) -> Floats:
        """Implement `PairScorer.score_pairs`; identical texts get 1, the maximum. Each distinct text is read once."""
        states = self._states(sorted({text for pair in pairs for text in pair}))
        ordered = [(min(pair), max(pair)) for pair in pairs]
        scores = {(a, b): _f1(states[a], states[b]) for a, b in sorted(set(ordered))}
        raw = np.array([scores[pair] for pair in ordered], dtype=np.float64)
        rescaled: Floats = (raw - self._baseline) / (1 - self._baseline)
        return rescaled

    def _states(self, texts: Sequence[str]) -> dict[str, Any]:
        """Return the unit vectors, float64 [tokens, size], of each text's tokens including special tokens."""
        import torch

        if not texts:
            return {}
        ids = self._tokeniser(
            # With a space before every text, as bert-score does with the releases of transformers it was written for.
            [f" {text.strip()}" if text.strip() else "" for text in texts],
            truncation=True,
            max_length=self._max_tokens,
            split_special_tokens=True,  # "</s>" in an untrusted text is four characters, not EOS
        ).input_ids
        vectors = {}
        for batch in token_batches([len(tokens) for tokens in ids], self._model.device.type):
            padded = self._tokeniser.pad({"input_ids": [ids[i] for i in batch]}, return_tensors="pt")
            with torch.inference_mode():
                states = self._model(**padded.to(self._model.device)).last_hidden_state.cpu().double()
            for i, row in zip(batch, states, strict=True):
                vectors[texts[i]] = torch.nn.functional.normalize(row[: len(ids[i])], dim=-1)
        return vectors


def _f1(first: Any, second: Any) -> float:
    """Compute BERTScore F1 before rescaling, from states [tokens, size] with special tokens at both ends.

    Special tokens may be matched, but are not averaged. A text without tokens has a score of 0.
    """
    if len(first) <= 2 or len(second) <= 2:
        return 0.0
    cosines = first @ second.T
    precision = float(cosines.max(dim=1).values[1:-1].mean())
    recall = float(cosines.max(dim=0).values[1:-1].mean())
    if precision + recall == 0:
        return 0.0
    return min(2 * precision * recall / (precision + recall), 1.0)  # rounding can exceed 1 by 1e-15


class CrossEncoderScorer:
    """A cross-encoder of the sentence-transformers library with a sigmoid on its output."""

    def __init__(self, spec: CrossEncoderSpec, device: str = "cpu") -> None:
        torch = need("torch", "score")
        library = need("sentence_transformers", "score")
        transformers = need("transformers", "score")
        self.signature = spec.signature
        where, options = spec.files.locate()
        with loading_on(device, "float32", spec.files.name), loading(where):
            self._model: Any = library.CrossEncoder(
                where,
                device=device,
                activation_fn=torch.nn.Sigmoid(),
                model_kwargs={"use_safetensors": True, "dtype": "float32"},
                processor_kwargs={"split_special_tokens": True},  # "</s>" in an untrusted text is not EOS
                **options,
            )
        if self._model.num_labels != 1:
            raise ConfigurationError(
                f"{where} has {self._model.num_labels} outputs, and a similarity is one", _CROSS_ENCODER_HINT
            )
        self._max_tokens = self._model.max_seq_length = most_tokens(self._model, spec.max_tokens)
        # The library would keep random weights for missing ones, such as the whole head of a model without one.
        load_weights(transformers.AutoModelForSequenceClassification, where, _CROSS_ENCODER_HINT, **options)

    def score_pairs(self, pairs: Sequence[Pair]) -> Floats:
        """Implement `PairScorer.score_pairs`; the two texts of a pair are read in the given order."""
        distinct = sorted(set(pairs))  # sorted, so that batches do not depend on the order of the pairs
        if not distinct:
            return np.empty(0)
        tokens = token_counts(self._model.tokenizer, distinct, self._max_tokens)
        score_of: dict[Pair, float] = {}
        for batch in token_batches(tokens, self._model.device.type):
            chunk = [distinct[i] for i in batch]
            scores = self._model.predict([list(pair) for pair in chunk], batch_size=len(chunk), show_progress_bar=False)
            score_of.update(zip(chunk, np.asarray(scores, dtype=np.float64).tolist(), strict=True))
        return np.array([score_of[pair] for pair in pairs])


# The model and layer that bert-score 0.3.13 uses for English, and the F1 in row 17 of its
# rescale_baseline/en/roberta-large.tsv (from random pairs of sentences from Common Crawl). The commit is `main` on the
# model's page, with safetensors.
ROBERTA_LARGE_BERT_SCORE = BertScoreSpec(
    ModelFiles("FacebookAI/roberta-large", "722cf37b1afa9454edce342e7895e588b6ff1d59"), layer=17, baseline=0.83122575
)

# Replaces the paper's BERT-STS (a BERT fine-tuned on STS-B with TensorFlow, github.com/swen128/bert-sts), because its
# weights are not available; the numbers therefore differ from the paper's. The commit is `main` on the model's page,
# with safetensors.
STSB_ROBERTA_LARGE = CrossEncoderSpec(
    ModelFiles("cross-encoder/stsb-roberta-large", "2b12c2c0088918e76151fd5937b7bba986ef1f98")
)
