"""Tokenisers of transformers: pieces of text without additions, batches of similar length, and unknown words."""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import numpy as np

from benchmark.models.causal_lm import Encoding
from divbench.core.errors import ConfigurationError, first_line, need

_GUARDS = ("\n", "|", "0", "x")  # characters to try, as the tokeniser must not merge the guard with what follows


class HFTokeniser:
    """A tokeniser of transformers for pieces of text, which adds nothing and reads no text as a special token."""

    def __init__(self, tokeniser: Any) -> None:
        self.own = tokeniser
        self.eos: int | None = tokeniser.eos_token_id
        self._fast = bool(tokeniser.is_fast)
        self.size = max(tokeniser.get_vocab().values()) + 1
        begun = tokeniser("a").input_ids
        first = begun[0] if begun else None
        self.bos: int | None = first if first is not None and first == tokeniser.bos_token_id else None
        plain = self._plain(["a"])[0]
        self._adds_space = tokeniser.convert_ids_to_tokens(plain.ids[:1].tolist())[0].startswith("▁")

    @property
    def backend(self) -> Any:
        """The underlying `tokenizers.Tokenizer`; only fast tokenisers have one."""
        return self.own.backend_tokenizer

    def encode(self, texts: Sequence[str], *, begin: bool = False) -> list[Encoding]:
        """Implement `CausalLM.encode`."""
        # Some tokenisers (such as Llama 2's) add a space before every text, which a piece from the middle must not get.
        if begin or not self._adds_space:
            return self._plain(texts)
        return [self._guarded(text) for text in texts]

    def chat_ids(self, chat: Sequence[Mapping[str, str]], options: Mapping[str, Any]) -> tuple[int, ...]:
        """Tokenise a chat with the model's chat template, up to where the model's response begins."""
        if getattr(self.own, "chat_template", None) is None:
            raise ConfigurationError(
                "this model's tokeniser has no chat template", "choose a chat model, or give a --template"
            )
        try:
            text = self.own.apply_chat_template(
                [dict(turn) for turn in chat], add_generation_prompt=True, tokenize=False, **options
            )
        except Exception as error:  # a template is a program that may raise anything
            raise ConfigurationError(
                f"the model's chat template refuses this chat: {first_line(error)}",
                "some models do not accept a system prompt",
            ) from error
        return self.formatted_ids(text)

    def formatted_ids(self, text: str) -> tuple[int, ...]:
        """Tokenise a formatted prompt, in which special tokens are read as such."""
        return tuple(self.own(text, add_special_tokens=False).input_ids)

    def special_in(self, text: str) -> bool:
        """Return whether a text contains a special token."""
        added = (str(token) for token in self.own.added_tokens_decoder.values() if token.special)
        return any(token in text for token in (*self.own.all_special_tokens, *added))

    def decode(self, ids: Sequence[int], *, special: bool = False) -> str:
        """Return the text of tokens, without special tokens unless `special`, keeping white space as it is."""
        text: str = self.own.decode(list(ids), skip_special_tokens=not special, clean_up_tokenization_spaces=False)
        return text

    def _plain(self, texts: Sequence[str]) -> list[Encoding]:
        if not texts:
            return []
        options = {"add_special_tokens": False, "return_attention_mask": False, "verbose": False}
        options["split_special_tokens"] = True  # "</s>" in an untrusted text is four characters, not EOS
        if not self._fast:
            encoded = self.own(list(texts), **options)
            return [Encoding(np.array(ids, np.int64), None) for ids in encoded.input_ids]
        encoded = self.own(list(texts), return_offsets_mapping=True, **options)
        return [
            Encoding(np.array(ids, np.int64), np.array(offsets, np.int64).reshape(-1, 2))
            for ids, offsets in zip(encoded.input_ids, encoded.offset_mapping, strict=True)
        ]

    def _guarded(self, text: str) -> Encoding:
        if not text:
            return Encoding(np.empty(0, np.int64), np.empty((0, 2), np.int64))
        for guard in _GUARDS:
            (encoded,) = self._plain([guard + text])
            if encoded.offsets is None:
                break
            starts, ends = encoded.offsets.T
            after = int(np.searchsorted(starts, 1))
            # The tokens of one character all have its offset, so check that the cut is where the guard ends.
            if after < len(starts) and ends[:after].max(initial=0) <= 1 and starts[after] == 1:
                return Encoding(encoded.ids[after:], encoded.offsets[after:] - 1)
        raise ConfigurationError(
            "this tokeniser adds a space before every text, so it cannot encode pieces from the middle of one",
            'use boundaries="paper", or a model with another tokeniser',
        )


# With 1024 tokens, the activations of a small model stay in a CPU's caches: all-MiniLM-L6-v2 then reads 256-token texts
# twice as fast as in batches of 64. A GPU needs larger batches to be busy.
CPU_TOKENS, GPU_TOKENS = 1024, 16_384
_WORD = re.compile(r"\S+")


def token_batches(tokens: Sequence[int], device: str) -> Iterator[list[int]]:
    """Yield the indices of texts in batches, the longest first, so that a lack of memory shows at once.

    >>> list(token_batches([300, 10, 500, 500], "cpu"))
    [[2, 3], [0, 1]]
    """
    budget = CPU_TOKENS if device == "cpu" else GPU_TOKENS
    order = sorted(range(len(tokens)), key=lambda i: -tokens[i])
    start = 0
    while start < len(order):
        end = start + max(1, budget // max(1, tokens[order[start]]))
        yield order[start:end]
        start = end


def beginning(text: str, words: int) -> str:
    """Return a text up to the given number of words, those without a letter or digit not counted.

    A model that reads no more tokens than that reads the same, and its tokeniser does not split all of a long text.

    >>> beginning("One - two, three!", 2)
    'One - two,'
    """
    counted = (word for word in _WORD.finditer(text) if any(map(str.isalnum, word[0])))
    last = next(islice(counted, words - 1, None), None)
    return text if last is None else text[: last.end()]


def token_counts(tokeniser: Any, texts: Sequence[str | tuple[str, str]], most: int) -> list[int]:
    """Count the tokens of each text or pair of texts, including special ones; at most `most`."""
    if not callable(tokeniser):
        return [min(most, len(text)) for text in texts]
    return [len(ids) for ids in tokeniser(list(texts), truncation=True, max_length=most)["input_ids"]] if texts else []


def most_tokens(model: Any, most: int) -> int:
    """Return `most`, or how many tokens a model can read if its table of positions is shorter."""
    from torch.nn import Embedding

    names = ("position_embeddings", "position_embedding", "wpe")
    modules = [module for name, module in model.named_modules() if name.endswith(names)]
    tables = [module for module in modules if isinstance(module, Embedding)]
    # RoBERTa's positions begin after the id of its padding.
    starts = [0 if table.padding_idx is None else table.padding_idx + 1 for table in tables]
    return min([most, *(table.num_embeddings - start for table, start in zip(tables, starts, strict=True))])


_LONGEST = 100  # characters of a word that WordPiece looks up; a longer one is unknown whatever it is
# Only these can be unknown to a vocabulary with all letters and signs of ASCII.
_SUSPECT = re.compile(rf"[^\x00-\x7f]|[^\s\x80-\U0010ffff]{{{_LONGEST + 1}}}")


def with_known_words(tokeniser: Any, texts: Sequence[str], max_tokens: int) -> list[str]:
    """Transliterate the words of each text that the tokeniser does not know, [texts]: 🐢 becomes *turtle*."""
    known = list(texts)
    unknown_token = getattr(tokeniser, "unk_token_id", None)
    if unknown_token is None or not getattr(tokeniser, "is_fast", False):
        return known
    suspects = [i for i, text in enumerate(known) if _SUSPECT.search(text)]
    if suspects:
        encoded = tokeniser(
            [known[i] for i in suspects], truncation=True, max_length=max_tokens, return_offsets_mapping=True
        )
        for i, ids, offsets in zip(suspects, encoded["input_ids"], encoded["offset_mapping"], strict=True):
            unknown = [span for token, span in zip(ids, offsets, strict=True) if token == unknown_token]
            if unknown:
                known[i] = "".join(_parts(known[i], unknown))
    return known


def _parts(text: str, unknown: Sequence[tuple[int, int]]) -> Iterator[str]:
    """Yield the text in parts, with the words in the given spans transliterated."""
    end = 0
    for start, next_end in unknown:
        yield text[end:start]
        yield _transliterated(text[start:next_end])
        end = next_end
    yield text[end:]


def _transliterated(word: str) -> str:
    """Return a word in ASCII, with spaces around names of emoji and within long words; as it is if that is empty."""
    ascii_word = need("anyascii", "score").anyascii(word)
    pieces = re.split(r"[:_\s]+", ascii_word)  # anyascii writes the names of emoji as :game_die:
    cut = [piece[at : at + _LONGEST] for piece in pieces for at in range(0, len(piece), _LONGEST)]
    return f" {' '.join(cut)} " if cut else word
