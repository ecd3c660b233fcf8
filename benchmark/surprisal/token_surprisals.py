"""What each token of a response costs: the surprisals of engine.py before they are added up."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmark.metrics.metric import Unscorable
from benchmark.models.causal_lm import CausalLM
from benchmark.surprisal.prompt_layout import Layout, TokenisedText, lay_out, pieces
from datasets_build.errors import ConfigurationError

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class TokenCost:
    """A token of a response.

    Attributes:
        text: Its part of the response. A character of several tokens stands in the first of them and the others have
            none, nor has a token that is the space before a response alone.
        bits: Its surprisal.
    """

    text: str
    bits: float


@dataclass(frozen=True, slots=True)
class TokenSaving:
    """A token of a response, read alone and right after another response.

    Attributes:
        text: As in `TokenCost`.
        alone: Bits with only the prompt before the response.
        given: Bits with the other response between them.
    """

    text: str
    alone: float
    given: float

    @property
    def saved(self) -> float:
        """Bits that the other response spared."""
        return self.alone - self.given


def token_surprisals(
    model: CausalLM, layout: Layout, prompt: str, responses: Sequence[str]
) -> tuple[tuple[TokenCost, ...], ...]:
    """The tokens of responses that are read one after the other in the given order.

    The bits of a response's tokens add up to its bits in that order. Under *exact* boundaries their texts make up the
    response; under the paper's they may reach into the separators, and then hold those. A tokeniser that does not tell
    where its tokens lie gives each response as one token.

    Args:
        model: Reads.
        layout: How prompt and responses become text and tokens.
        prompt: Verbatim.
        responses: In the order of reading.

    Returns:
        For each response its tokens; none for an empty one.

    Raises:
        Unscorable: The text is longer than the model's context, or the model gave bits that are not finite.
        ConfigurationError: As in `lay_out`.
    """
    if not responses:
        return ()
    (laid,) = lay_out(model, layout, prompt, [responses])
    bits = _bits(model, laid)
    if layout.boundaries == "exact":
        texts = [_texts_apart(model, response) for response in responses]
    else:
        texts = _texts_whole(model, layout, prompt, responses, laid)
    costs = (bits[laid.slots == slot].tolist() for slot in range(len(responses)))
    return tuple(_costs(*each) for each in zip(responses, texts, costs, strict=True))


def pair_tokens(model: CausalLM, layout: Layout, prompt: str, response: str, before: str) -> tuple[TokenSaving, ...]:
    """What each token of a response costs alone, and right after another response.

    Args:
        model: Reads.
        layout: With *exact* boundaries: under others the two texts may have other tokens.
        prompt: Verbatim.
        response: Whose tokens are wanted.
        before: Stands in the slot before it.

    Raises:
        Unscorable: As in `token_surprisals`.
        ConfigurationError: The layout's boundaries are not *exact*.
    """
    if layout.boundaries != "exact":
        raise ConfigurationError("tokens of two texts are compared under exact boundaries", 'use boundaries="exact"')
    (alone,) = token_surprisals(model, layout, prompt, [response])
    _, given = token_surprisals(model, layout, prompt, [before, response])
    return tuple(TokenSaving(a.text, a.bits, g.bits) for a, g in zip(alone, given, strict=True))


def _bits(model: CausalLM, laid: TokenisedText) -> Floats:
    if model.context is not None and len(laid.sequence.ids) > model.context:
        raise Unscorable("longer than the model's context")
    (bits,) = model.surprisals([laid.sequence])
    if not np.isfinite(bits).all():
        raise Unscorable("the model gave bits that are not finite")
    return bits


def _costs(response: str, texts: Sequence[str] | None, bits: Sequence[float]) -> tuple[TokenCost, ...]:
    if texts is None:
        return (TokenCost(response, sum(bits)),) if response else ()
    return tuple(TokenCost(text, cost) for text, cost in zip(texts, bits, strict=True))


def _texts_apart(model: CausalLM, response: str) -> list[str] | None:
    """The texts of a response's tokens under *exact* boundaries; None where the tokeniser does not tell."""
    if not response:
        return []
    piece = f" {response}"
    (encoded,) = model.encode([piece])
    if encoded.offsets is None:
        return None
    return [piece[max(start, 1) : end] for start, end in _shares(encoded.offsets, len(piece))]


def _texts_whole(
    model: CausalLM, layout: Layout, prompt: str, responses: Sequence[str], laid: TokenisedText
) -> list[list[str] | None]:
    """The same under the paper's, where the whole text is encoded at once."""
    text = "".join(piece for piece, _ in pieces(layout, prompt, responses))
    (encoded,) = model.encode([text])
    if encoded.offsets is None:  # `lay_out` has refused it
        return [None] * len(responses)
    shares = _shares(encoded.offsets, len(text))
    first = len(laid.sequence.ids) - len(encoded.ids)  # after what stands before every text
    made: list[list[str] | None] = []
    for slot in range(len(responses)):
        places = laid.sequence.scored[laid.slots == slot] - first
        made.append([text[slice(*shares[place])] for place in places.tolist()])
    return made


def _shares(offsets: Integers, length: int) -> list[tuple[int, int]]:
    """Each token's characters [start, end), so that every character of the text is one token's.

    Tokens that are bytes of one character all have its place: it goes to the first. White space that a tokeniser left
    out of its offsets goes to the token after it, or at the end to the last.
    """
    if not len(offsets):
        return []
    ends = np.maximum.accumulate(offsets[:, 1])
    ends[-1] = length
    return list(zip([0, *ends[:-1].tolist()], ends.tolist(), strict=True))
