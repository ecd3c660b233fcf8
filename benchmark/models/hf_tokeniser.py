"""A tokeniser of transformers for pieces of text, which adds nothing and reads no text as a special token."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from benchmark.models.causal_lm import Encoding
from divbench.core.errors import ConfigurationError, first_line

_GUARDS = ("\n", "|", "0", "x")  # characters to try, as the tokeniser must not merge the guard with what follows


class HFTokeniser:
    """Encodes texts.

    Some tokenisers (such as Llama 2's) add a space before every text. A piece from the middle of a text must not get
    one, so it is encoded after a guard character, which is then cut off.
    """

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
        if begin or not self._adds_space:
            return self._plain(texts)
        return [self._guarded(text) for text in texts]

    def chat_ids(self, chat: Sequence[Mapping[str, str]], options: Mapping[str, Any]) -> tuple[int, ...]:
        """Tokenise a chat with the model's chat template, up to where the model's response begins."""
        if getattr(self.own, "chat_template", None) is None:
            raise ConfigurationError(
                "this model's tokeniser has no chat template",
                "choose a chat model, or give --no-chat-template and a --template",
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
        added = (str(each) for each in self.own.added_tokens_decoder.values() if each.special)
        return any(each in text for each in (*self.own.all_special_tokens, *added))

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
            found = self.own(list(texts), **options)
            return [Encoding(np.array(ids, np.int64), None) for ids in found.input_ids]
        found = self.own(list(texts), return_offsets_mapping=True, **options)
        return [
            Encoding(np.array(ids, np.int64), np.array(offsets, np.int64).reshape(-1, 2))
            for ids, offsets in zip(found.input_ids, found.offset_mapping, strict=True)
        ]

    def _guarded(self, text: str) -> Encoding:
        if not text:
            return Encoding(np.empty(0, np.int64), np.empty((0, 2), np.int64))
        for guard in _GUARDS:
            (found,) = self._plain([guard + text])
            if found.offsets is None:
                break
            after = int(np.searchsorted(found.offsets[:, 0], 1))
            # The tokens of one character all have its offset, so check that the cut is where the guard ends.
            if after < len(found.ids) and found.offsets[:after, 1].max(initial=0) <= 1 and found.offsets[after, 0] == 1:
                return Encoding(found.ids[after:], found.offsets[after:] - 1)
        raise ConfigurationError(
            "this tokeniser adds a space before every text, so it cannot encode pieces from the middle of one",
            'use boundaries="paper", or a model with another tokeniser',
        )
