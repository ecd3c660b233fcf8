"""Classifiers of pairs of texts: computes the logits of any sequence classification model of transformers in batches.

Weights are safetensors of a pinned revision, without remote code. Each distinct sequence is read once, in batches of
similar length, the longest first, so that a lack of memory shows at once; a batch that does not fit is halved until it
does.

DeBERTa (v2, v3) computes only the relative positions that a batch needs. The library projects and compares all of the
model's, 512 in deberta-v3-large; two responses of ten words need about fifty. Omitting the others changes no number
beyond rounding; pairs of such responses are then read 1.5 times as fast on one core, with a tenth of the memory.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmark.equivalence.backend import Floats
from benchmark.models.causal_lm import OutOfMemory
from benchmark.models.choices import Dtype
from benchmark.models.device_errors import loading_on, within_memory
from benchmark.models.model_files import ModelFiles, load_weights, loading
from divbench.core.errors import ConfigurationError, need


def has_positions_to_leave_out(model: Any) -> bool:
    """Whether a model is of that family, has relative positions, and has the attributes that are changed here."""
    if model.config.model_type != "deberta-v2" or not getattr(model.config, "relative_attention", False):
        return False
    encoder = model.base_model.encoder
    known = all(hasattr(encoder, name) for name in ("get_rel_embedding", "get_rel_pos", "layer"))
    return known and all(
        2 * getattr(layer.attention.self, "pos_ebd_size", 0) == len(encoder.get_rel_embedding())
        for layer in encoder.layer
    )


@contextmanager
def narrow_positions(model: Any, longest: int) -> Iterator[None]:
    """Let the model read sequences of at most `longest` tokens inside the block, with only the positions they need."""
    import torch

    encoder = model.base_model.encoder
    attentions = [layer.attention.self for layer in encoder.layer]
    known = encoder.get_rel_embedding()  # of −span … span − 1
    span = len(known) // 2
    farthest = int(encoder.get_rel_pos(torch.empty(1, longest, 1)).abs().max())  # far ones share buckets
    needed = min(farthest + 1, span)
    encoder.get_rel_embedding = lambda: known[span - needed : span + needed]
    for attention in attentions:
        attention.pos_ebd_size = needed
    try:
        yield
    finally:
        del encoder.get_rel_embedding  # uncovers the class's method
        for attention in attentions:
            attention.pos_ebd_size = span


_BATCH_TOKENS = {"cpu": 2048, "cuda": 32_768}  # including padding; larger batches are not faster


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
        self._narrows = has_positions_to_leave_out(model)
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
        found = self.tokeniser(
            [self._plain(a) for a, _ in pairs],
            [self._plain(b) for _, b in pairs],
            truncation="longest_first",
            max_length=max_tokens,
            return_attention_mask=False,
            verbose=False,
        )
        told = found.get("token_type_ids") or [None] * len(pairs)
        return [
            PairTokens(tuple(ids), None if types is None else tuple(types))
            for ids, types in zip(found["input_ids"], told, strict=True)
        ]

    def logits(self, sequences: Sequence[PairTokens]) -> Floats:
        """Compute logits, float64 [sequences, labels]; equal sequences have equal logits, whatever their order."""
        # Sorted, so that batches do not depend on the order of the pairs.
        different = sorted(set(sequences), key=lambda one: (-len(one.ids), one.ids, one.types or ()))
        found = {one: row for batch, rows in self._batches(different) for one, row in zip(batch, rows, strict=True)}
        made: Floats = np.array([found[one] for one in sequences], dtype=np.float64).reshape(-1, len(self.labels))
        if not np.isfinite(made).all():
            raise ConfigurationError("the model's output is not finite", "use float32")
        return made

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
        given = {"input_ids": ids, "attention_mask": mask.astype(np.int64)}
        if batch[0].types is not None:
            rows = [(one.types or ()) + (0,) * (longest - len(one.ids)) for one in batch]
            given["token_type_ids"] = np.array(rows, dtype=np.int64)

        def run() -> Floats:
            narrow = narrow_positions(self.model, longest) if self._narrows else nullcontext()
            with torch.inference_mode(), narrow:
                tensors = {name: torch.from_numpy(array).to(device) for name, array in given.items()}
                logits: Floats = self.model(**tensors).logits.cpu().double().numpy()
                return logits

        what = f"{len(batch)} pairs of up to {longest} tokens"
        return within_memory(run, what, device, "a smaller model or dtype fits, or a machine with more memory")
