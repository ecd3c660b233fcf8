"""Ensembles of causal language models: the mean of their token probabilities (arXiv:2606.01811)."""

from collections.abc import Sequence

import numpy as np

from benchmark.models.causal_lm import CausalLM, Encoding, Floats, TokenSequence
from datasets_build.errors import ConfigurationError

# Tokenisers are known to differ in white space, full stops before newlines, digits, scripts and special tokens.
_PROBES = (
    "The quick brown fox jumps over the lazy dog.",
    " A space before,  two within, one after ",
    "Yes.\n\nResponse B: no.\n\n\n\tindented\r\n",
    "In 1234567890 there are 3.14 and 1,000,000.",
    "Ελληνικά, русский, العربية, हिन्दी, 数学はきれい, 한국어, ไทย",
    "🙂👩‍👩‍👧🇬🇧 e\u0301 é ﬁ \u00a0\u200b",
    "def f(x):\n    return x**2  # <b>don't</b>",
    "</s><|endoftext|><|im_end|>[SEP]<unk>",
    "\n",
    "",
)


class EnsembleLM:
    """Averages the probabilities of models that share a tokeniser. See `CausalLM`.

    Its bits are log₂ M − log₂ Σ 2^(−bits of a member), NaN if any member's are. Its batch budget and context are the
    smallest among its members.
    """

    def __init__(self, members: Sequence[CausalLM]) -> None:
        """Check that the members share a tokeniser.

        Args:
            members: Two or more models, with equal weights.

        Raises:
            ConfigurationError: There are fewer than two, or their tokenisers differ.
        """
        if len(members) < 2:
            raise ConfigurationError(f"an ensemble of {len(members)} models", "give at least two")
        first, *others = members
        for other in others:
            _check_same_tokens(first, other)
        self._members = tuple(members)
        contexts = [member.context for member in members if member.context is not None]
        self.signature = f"mean({'+'.join(member.signature for member in members)})"
        self.context: int | None = min(contexts, default=None)
        self.batch_tokens = min(member.batch_tokens for member in members)
        self.bos = first.bos

    def encode(self, texts: Sequence[str], *, begin: bool = False) -> list[Encoding]:
        """Implement `CausalLM.encode` with the first member's tokeniser."""
        return self._members[0].encode(texts, begin=begin)

    def surprisals(self, sequences: Sequence[TokenSequence]) -> list[Floats]:
        """Implement `CausalLM.surprisals`."""
        found = [member.surprisals(sequences) for member in self._members]
        return [mean_bits(np.stack(bits)) for bits in zip(*found, strict=True)]


def mean_bits(bits: Floats) -> Floats:
    """Compute the bits of the mean probability, float64 [tokens], from the members' bits [members, tokens].

    >>> mean_bits(np.array([[1.0, 0.0], [1.0, 3.0]])).round(4).tolist()
    [1.0, 0.8301]
    """
    with np.errstate(invalid="ignore"):  # NaN is allowed
        mean = np.log2(len(bits)) - np.logaddexp2.reduce(-bits, axis=0)
    clipped: Floats = np.clip(mean, bits.min(axis=0), bits.max(axis=0))  # rounding must not make it negative
    return clipped


def _check_same_tokens(a: CausalLM, b: CausalLM) -> None:
    hint = "choose models that share a tokeniser, such as two sizes of one family"
    names = f"{a.signature} and {b.signature}"
    if a.bos != b.bos:
        raise ConfigurationError(f"{names} begin texts differently: with token {a.bos} and with token {b.bos}", hint)
    for text, x, y in zip(_PROBES, a.encode(_PROBES), b.encode(_PROBES), strict=True):
        if not np.array_equal(x.ids, y.ids):
            raise ConfigurationError(f"{names} tokenise {text!r} differently", hint)
