"""Lays out a prompt and its responses as text for a language model, and assigns tokens to responses.

Two formats (arXiv:2606.01811, section A.1 and appendix C):

* *instruct*: the prompt, then for each position two newlines, `Response A:` (the position's label), a space, the
  response.
* *completion*: for each position its number from 1, a full stop, a space, the prompt, a space, the response; two
  newlines between positions.

Two ways to tokenise it:

* *exact*, the default: prompt, label, response and separator (the two newlines) are tokenised separately and joined.
  The space before a response belongs to its tokens, because words in most vocabularies include it. The separator is
  never charged to a response. It is omitted after the last response, because nothing after it is scored.
* *paper*, to replicate published numbers: the whole text is tokenised at once, nothing follows the last response, and a
  token belongs to a response if their characters overlap. A tokeniser that merges a full stop with the newlines after
  it (as Qwen's and Llama 3's do) then charges separators to all responses but the last, so a_n is about 2 bits too
  high.

White space around a response is no part of it: under *exact* it is stripped, under *paper* kept, as published;
`outer_space` chooses otherwise. All else is verbatim; white space that is kept at the beginning follows the space after
the label. The surprisal of a response is the sum of the bits of all its tokens, including the space before it; its
bytes are the UTF-8 bytes of the response alone. An empty response keeps its position but has no tokens, 0 bits and 0
bytes; metrics leave it out (metrics/surprisal.py). Strings that look like special tokens are plain text.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from benchmark.metrics.metric import Unscorable
from benchmark.models import Boundaries, Format, OuterSpace
from benchmark.models.causal_lm import CausalLM, Encoding, TokenSequence
from divbench.core.errors import ConfigurationError

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
SEPARATOR = "\n\n"


@dataclass(frozen=True, slots=True)
class Layout:
    """How texts are laid out and tokenised."""

    format: Format = "instruct"
    boundaries: Boundaries = "exact"
    # *model*: the text begins with the BOS token if the model's tokeniser adds one by default; *never*: as in the
    # paper, even for models that were trained with one.
    bos: Literal["model", "never"] = "model"
    outer_space: OuterSpace | None = None  # None: as usual for the boundaries

    def __str__(self) -> str:
        """Return the layout as signatures name it, such as `instruct-exact-bos:model`."""
        space = "-outer-space:stripped" if self._strips else ""  # results from before this choice kept it
        return f"{self.format}-{self.boundaries}-bos:{self.bos}{space}"

    def as_read(self, response: str) -> str:
        """Return a response as the language model reads it: without outer white space, unless that is kept."""
        return response.strip() if self._strips else response

    @property
    def _strips(self) -> bool:
        return (self.outer_space or ("stripped" if self.boundaries == "exact" else "kept")) == "stripped"


PAPER_INSTRUCT = Layout("instruct", "paper", "never")
PAPER_COMPLETION = Layout("completion", "paper", "never")


@dataclass(frozen=True, slots=True, eq=False)
class TokenisedText:
    """One text as tokens."""

    sequence: TokenSequence  # the tokens; those of responses are scored
    positions: Integers  # int64 [scored], the position, from 0, of each scored token's response


def response_label(position: int) -> str:
    """Label a position as spreadsheets label columns.

    >>> [response_label(position) for position in (0, 25, 26, 51, 52, 701, 702)]
    ['A', 'Z', 'AA', 'AZ', 'BA', 'ZZ', 'AAA']
    """
    label = ""
    position += 1
    while position:
        position, letter = divmod(position - 1, 26)
        label = chr(ord("A") + letter) + label
    return label


def pieces(layout: Layout, prompt: str, responses: Sequence[str]) -> list[tuple[str, int]]:
    r"""Return the pieces that *exact* tokenises separately, each with its response's position; −1 for the others.

    Joined, they form the text that *paper* tokenises at once.

    >>> [text for text, position in pieces(Layout(), "Say hello.", ["Hi.", "Hello."])]
    ['Say hello.', '\n\n', 'Response A:', ' Hi.', '\n\n', 'Response B:', ' Hello.']
    >>> [text for text, position in pieces(Layout("completion"), "I am", ["here.", "not."])]
    ['1.', ' I am', ' here.', '\n\n', '2.', ' I am', ' not.']
    """
    parts: list[tuple[str, int]] = []
    if layout.format == "instruct":
        parts.append((prompt, -1))
    for position, response in enumerate(responses):
        if parts:
            parts.append((SEPARATOR, -1))
        if layout.format == "instruct":
            parts.append((f"Response {response_label(position)}:", -1))
        else:
            parts += [(f"{position + 1}.", -1), (f" {prompt}", -1)]
        parts.append((f" {response}", position))
    return parts


def lay_out(model: CausalLM, layout: Layout, prompt: str, texts: Sequence[Sequence[str]]) -> list[TokenisedText]:
    """Tokenise lists of responses to one prompt for a model."""
    bos = [model.bos] if layout.bos == "model" and model.bos is not None else []
    begin = np.array(bos, np.int64)
    parts = [pieces(layout, prompt, responses) for responses in texts]
    if layout.boundaries == "exact":
        distinct = sorted({text for part in parts for text, _ in part})
        encoded = dict(zip(distinct, model.encode(distinct), strict=True))
        return [_tokenise_pieces(part, encoded, begin) for part in parts]
    wholes = model.encode(["".join(text for text, _ in part) for part in parts], begin=True)
    return [_tokenise_whole(part, whole, begin) for part, whole in zip(parts, wholes, strict=True)]


def _tokenise_pieces(parts: list[tuple[str, int]], encoded: dict[str, Encoding], begin: Integers) -> TokenisedText:
    ids, positions = [begin], [np.full(len(begin), -1)]
    for text, position in parts:
        ids.append(encoded[text].ids)
        # The space before an empty response belongs to no response.
        positions.append(np.full(len(ids[-1]), position if text != " " else -1))
    return _tokenised(np.concatenate(ids), np.concatenate(positions))


def _tokenise_whole(parts: list[tuple[str, int]], whole: Encoding, begin: Integers) -> TokenisedText:
    """Assign tokens by overlapping characters; a token that overlaps two responses belongs to the later one."""
    if whole.offsets is None:
        raise ConfigurationError(
            'boundaries="paper" needs a tokeniser that returns character offsets, and this one returns none',
            'use boundaries="exact", or a model with a fast tokeniser',
        )
    positions = np.full(len(whole.ids), -1)
    starts, ends = whole.offsets[:, 0], whole.offsets[:, 1]
    at, alone = 0, sum(position >= 0 for _, position in parts) == 1
    for text, position in parts:
        if position >= 0 and len(text) > 1:
            touched = np.flatnonzero((ends > at + 1) & (starts < at + len(text)))
            if len(touched):  # with tokens in between and, for a single response, all that follow, as published
                positions[touched[0] : len(positions) if alone else touched[-1] + 1] = position
        at += len(text)
    return _tokenised(np.concatenate([begin, whole.ids]), np.concatenate([np.full(len(begin), -1), positions]))


def _tokenised(ids: Integers, positions: Integers) -> TokenisedText:
    scored = np.flatnonzero(positions >= 0)
    return TokenisedText(TokenSequence(ids.astype(np.int64), scored), positions[scored].astype(np.int64))


@dataclass(frozen=True, slots=True)
class TokenCost:
    """A token of a response."""

    # The characters of the response that it covers; one that several tokens share belongs to the first of them.
    text: str
    bits: float


@dataclass(frozen=True, slots=True)
class TokenSaving:
    """A token of a response, read alone and right after another response."""

    text: str
    alone: float
    given: float

    @property
    def saved(self) -> float:
        """Bits that the other response saved."""
        return self.alone - self.given


def token_surprisals(
    model: CausalLM, layout: Layout, prompt: str, responses: Sequence[str]
) -> tuple[tuple[TokenCost, ...], ...]:
    """Compute the surprisals of the tokens of responses in a given order; they add up to those of the responses."""
    if not responses:
        return ()
    (tokenised,) = lay_out(model, layout, prompt, [responses])
    bits = _bits(model, tokenised)
    if layout.boundaries == "exact":
        texts = [_texts_apart(model, response) for response in responses]
    else:
        texts = _texts_whole(model, layout, prompt, responses, tokenised)
    costs = (bits[tokenised.positions == position].tolist() for position in range(len(responses)))
    return tuple(map(_costs, responses, texts, costs))


def pair_tokens(model: CausalLM, layout: Layout, prompt: str, response: str, before: str) -> tuple[TokenSaving, ...]:
    """Compute the surprisals of a response's tokens alone, and right after another response."""
    if layout.boundaries != "exact":
        raise ConfigurationError("tokens of two texts are compared under exact boundaries", 'use boundaries="exact"')
    (alone,) = token_surprisals(model, layout, prompt, [response])
    _, given = token_surprisals(model, layout, prompt, [before, response])
    return tuple(TokenSaving(a.text, a.bits, g.bits) for a, g in zip(alone, given, strict=True))


def _bits(model: CausalLM, tokenised: TokenisedText) -> Floats:
    if model.context is not None and len(tokenised.sequence.ids) > model.context:
        raise Unscorable("longer than the model's context")
    (bits,) = model.surprisals([tokenised.sequence])
    if not np.isfinite(bits).all():
        raise Unscorable("the model gave bits that are not finite")
    return bits


def _costs(response: str, texts: Sequence[str] | None, bits: Sequence[float]) -> tuple[TokenCost, ...]:
    if texts is None:
        return (TokenCost(response, sum(bits)),) if response else ()
    return tuple(TokenCost(text, cost) for text, cost in zip(texts, bits, strict=True))


def _texts_apart(model: CausalLM, response: str) -> list[str] | None:
    """Return the texts of a response's tokens with *exact* boundaries; None if the tokeniser returns no offsets."""
    if not response:
        return []
    piece = f" {response}"
    (encoded,) = model.encode([piece])
    if encoded.offsets is None:
        return None
    return [piece[max(start, 1) : end] for start, end in _shares(encoded.offsets, len(piece))]


def _texts_whole(
    model: CausalLM, layout: Layout, prompt: str, responses: Sequence[str], tokenised: TokenisedText
) -> list[list[str] | None]:
    """Return the same with *paper* boundaries, where the whole text is encoded at once."""
    text = "".join(piece for piece, _ in pieces(layout, prompt, responses))
    (encoded,) = model.encode([text])
    if encoded.offsets is None:  # `lay_out` has refused it
        return [None] * len(responses)
    shares = _shares(encoded.offsets, len(text))
    first = len(tokenised.sequence.ids) - len(encoded.ids)  # after a BOS token
    texts: list[list[str] | None] = []
    for position in range(len(responses)):
        tokens = tokenised.sequence.scored[tokenised.positions == position] - first
        texts.append([text[slice(*shares[token])] for token in tokens.tolist()])
    return texts


def _shares(offsets: Integers, length: int) -> list[tuple[int, int]]:
    """Return each token's range of characters [start, end), so that every character belongs to exactly one token."""
    # Bytes of one character all have its offsets. White space that offsets omit belongs to the token after it.
    if not len(offsets):
        return []
    ends = np.maximum.accumulate(offsets[:, 1])
    ends[-1] = length
    return list(zip([0, *ends[:-1].tolist()], ends.tolist(), strict=True))
