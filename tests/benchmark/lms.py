"""Small language models and tokenisers made on the spot: random weights, trained on the lines below, no network."""

import functools
from collections.abc import Collection, Iterator, Sequence
from typing import Any, Literal, get_args

import numpy as np
import pytest
import torch
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import AutoConfig, AutoModelForCausalLM, PreTrainedTokenizerFast

from benchmark.models.bundled_lm.train import train_tokeniser
from benchmark.models.causal_lm import CausalLM, Encoding, Floats, TokenSequence
from benchmark.models.hf_lm import HFCausalLM
from benchmark.models.memory import OutOfMemory

LINES = (
    "The river was high, and the bridge was closed.",
    "Nobody had seen the lamp since Tuesday.",
    "“Where is it?” she asked. “In the drawer!”",
    "I'd say it's 3.14, or 2,718 at most; don't you think?",
    "One response is not like another. Response by response, they change:",
    "A violet stone lies under the paper, near the window.",
    "Снег шёл всю ночь, и утром город был белым.",
    "Где лампа? Она стоит рядом, около книги.",
    "雨が降っている。窓の外は静かだ。",
    "昨日、図書館で古い本を読みました。",
    "नदी का पानी साफ़ है। बच्चे वहाँ खेलते हैं।",
    "आज मौसम अच्छा है, चलो बाहर चलें।",
    "Party time 🎉🎉 and a family 👩‍👩‍👧 under a flag 🇬🇧 👍🏽",
    "- one item\n- another item\n\tand an indented one",
)
CORPUS = [
    *(end.join([*LINES, ""]) for end in (".\n\n", "!\n\n", "?\n\n", "”\n\n")),
    "Response A: yes.\n\nResponse B: no.\n\n1. A thing.\n\n2. Another thing.",
]

Style = Literal["merging", "merging-bos", "trimming", "gpt2", "metaspace", "llama2", "ours"]
STYLES: tuple[Style, ...] = get_args(Style)
_FAMILIES: dict[Style, str] = {"merging": "qwen2", "gpt2": "gpt2", "trimming": "gpt2"}  # the others: llama
_MERGING = r" ?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+"
_SPECIAL = {"unk_token": "<unk>", "bos_token": "<s>", "eos_token": "</s>"}


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Iterator[None]:
    """So small a model is read many times faster by one thread than by two that wait for each other."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def tokeniser(style: Style) -> PreTrainedTokenizerFast:
    """A tokeniser of the caller's own.

    Args:
        style: *merging*: of bytes, merges punctuation with newlines after it (Qwen, Llama 3); *merging-bos*: puts a
            token before every text, too; *trimming*: its offsets leave out outer white space (GPT-NeoX);
            *gpt2*: of bytes, merges no punctuation with newlines; *metaspace*: puts a space before every text and falls
            back to bytes; *llama2*: likewise, but splits at nothing; *ours*: this package's.
    """
    made = Tokenizer.from_str(_trained(style))
    build: Any = PreTrainedTokenizerFast
    wrapped: PreTrainedTokenizerFast = build(tokenizer_object=made, **_SPECIAL)
    return wrapped


def plain_tokeniser(style: Style, *, spaces: bool) -> Tokenizer:
    """The same as `tokenizers` has it, taking nothing for special.

    Args:
        style: Which.
        spaces: Whether one that puts a space before texts does so.
    """
    made = Tokenizer.from_str(_trained(style))
    made.encode_special_tokens = True
    if style == "metaspace" and not spaces:
        made.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="never")
    if style == "llama2" and not spaces:
        made.normalizer = normalizers.Replace(" ", "▁")
    return made


@functools.cache
def _trained(style: Style) -> str:
    made = _trained_on_words(style) if style in {"metaspace", "llama2"} else _trained_on_bytes(style)
    if style == "ours":
        made = train_tokeniser(CORPUS, 640)
    if style == "merging-bos":
        begin = ("<s>", made.token_to_id("<s>"))
        made.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[begin])
    elif style == "trimming":
        made.post_processor = processors.ByteLevel(trim_offsets=True)
    text: str = made.to_str()
    return text


def _trained_on_bytes(style: Style) -> Tokenizer:
    made = Tokenizer(models.BPE())
    made.decoder = decoders.ByteLevel()
    to_bytes = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=style == "gpt2")
    split = pre_tokenizers.Split(Regex(_MERGING), "isolated")
    made.pre_tokenizer = to_bytes if style == "gpt2" else pre_tokenizers.Sequence([split, to_bytes])
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=600, special_tokens=[*_SPECIAL.values()], initial_alphabet=alphabet, show_progress=False
    )
    made.train_from_iterator(CORPUS, trainer)
    return made


def _trained_on_words(style: Style) -> Tokenizer:
    bytes_ = [f"<0x{byte:02X}>" for byte in range(256)]
    made = Tokenizer(models.BPE(unk_token=_SPECIAL["unk_token"], byte_fallback=True))
    made.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always")
    steps = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    made.decoder = decoders.Sequence(steps)
    trainer = trainers.BpeTrainer(
        vocab_size=600, special_tokens=[*_SPECIAL.values(), *bytes_], limit_alphabet=80, show_progress=False
    )
    made.train_from_iterator(CORPUS, trainer)
    if style == "llama2":
        made.pre_tokenizer = None
        made.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    return made


def random_model(kind: str, vocabulary: int, **options: Any) -> Any:
    """A tiny model of a family of transformers, with weights so large that it is far from guessing."""
    sizes: dict[str, Any] = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2}
    sizes |= {
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "max_position_embeddings": 4096,
        "vocab_size": vocabulary,
    }
    sizes |= {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
    build: Any = AutoModelForCausalLM.from_config
    model = build(AutoConfig.for_model(kind, **sizes | options))
    drawn = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for name, weights in model.named_parameters():
            if weights.dim() > 1 or name.endswith("bias"):
                weights.normal_(std=0.15, generator=drawn)
    return model.eval()


@functools.cache
def model_of(style: Style) -> Any:
    """The model that goes with a tokeniser."""
    return random_model(_FAMILIES.get(style, "llama"), len(tokeniser(style)))


def lm_of(style: Style) -> HFCausalLM:
    """The two together."""
    return HFCausalLM(model_of(style), tokeniser(style), style)


class Wrapped:
    """Another model, of which tests can see what it was asked, and make it fail.

    Attributes:
        asked: For each call its sequences, as ids.
        limit: More tokens than these together are out of memory.
        poison: Tokens; a sequence that has one gets NaN.
    """

    def __init__(
        self,
        model: CausalLM,
        *,
        batch_tokens: int | None = None,
        limit: int | None = None,
        poison: Collection[int] = (),
    ) -> None:
        self._model = model
        self.signature = model.signature
        self.context = model.context
        self.bos = model.bos
        self.batch_tokens = batch_tokens or model.batch_tokens
        self.limit = limit
        self.poison = list(poison)
        self.asked: list[list[tuple[int, ...]]] = []

    def encode(self, texts: Sequence[str], **options: Any) -> list[Encoding]:
        return self._model.encode(texts, **options)

    def surprisals(self, sequences: Sequence[TokenSequence]) -> list[Floats]:
        self.asked.append([tuple(sequence.ids.tolist()) for sequence in sequences])
        if self.limit is not None and sum(map(len, self.asked[-1])) > self.limit:
            raise OutOfMemory("too many tokens for a test")
        found = self._model.surprisals(sequences)
        bad = (bool(np.isin(sequence.ids, self.poison).any()) for sequence in sequences)
        return [bits * np.nan if is_bad else bits for bits, is_bad in zip(found, bad, strict=True)]
