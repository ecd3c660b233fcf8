"""Surprisals of single tokens, which engine.py sums up."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmark.metrics.metric import Unscorable
from benchmark.models.causal_lm import CausalLM
from benchmark.surprisal.prompt_layout import Layout, TokenisedText, lay_out, pieces
from divbench.core.errors import ConfigurationError

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class TokenCost:
    """A token of a response."""

    # The characters of the response that it covers. A character that several tokens share belongs to the first of them;
    # the text of the others is empty, as is that of a token that is only the space before a response.
    text: str
    bits: float


@dataclass(frozen=True, slots=True)
class TokenSaving:
    """A token of a response, read alone and right after another response."""

    text: str  # as in `TokenCost`
    alone: float
    given: float

    @property
    def saved(self) -> float:
        """Bits that the other response saved."""
        return self.alone - self.given


def token_surprisals(
    model: CausalLM, layout: Layout, prompt: str, responses: Sequence[str]
) -> tuple[tuple[TokenCost, ...], ...]:
    """Compute the surprisals of the tokens of responses in a given order.

    The bits of a response's tokens add up to its bits in that order. With *exact* boundaries their texts join to the
    response; with *paper* boundaries they may include separators. If the tokeniser returns no offsets, each response is
    treated as one token.
    """
    if not responses:
        return ()
    (tokenised,) = lay_out(model, layout, prompt, [responses])
    bits = _bits(model, tokenised)
    if layout.boundaries == "exact":
        texts = [_texts_apart(model, response) for response in responses]
    else:
        texts = _texts_whole(model, layout, prompt, responses, tokenised)
    costs = (bits[tokenised.positions == position].tolist() for position in range(len(responses)))
    return tuple(_costs(*each) for each in zip(responses, texts, costs, strict=True))


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
    made: list[list[str] | None] = []
    for position in range(len(responses)):
        places = tokenised.sequence.scored[tokenised.positions == position] - first
        made.append([text[slice(*shares[place])] for place in places.tolist()])
    return made


def _shares(offsets: Integers, length: int) -> list[tuple[int, int]]:
    """Return each token's range of characters [start, end), so that every character belongs to exactly one token.

    Tokens that are bytes of one character all have its offsets; the character belongs to the first of them. White space
    that a tokeniser omits from its offsets belongs to the token after it, or at the end to the last token.
    """
    if not len(offsets):
        return []
    ends = np.maximum.accumulate(offsets[:, 1])
    ends[-1] = length
    return list(zip([0, *ends[:-1].tolist()], ends.tolist(), strict=True))
