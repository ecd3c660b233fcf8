"""Pairwise savings: how many bits a text costs less after another one, for single responses and for sets of them."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement

import numpy as np
from numpy.typing import NDArray

from benchmark.metrics.metric import Missing, Unscorable
from benchmark.metrics.surprisal import CrossMode, cross_mode
from benchmark.models.causal_lm import CausalLM
from benchmark.surprisal.engine import OrderPlan, ResponseSet, SetSurprisals, read_sets
from benchmark.surprisal.prompt_layout import Layout

Floats = NDArray[np.float64]
Progress = Callable[[int], None]
_BOTH_WAYS = OrderPlan("exact")


@dataclass(frozen=True, slots=True, eq=False)
class PairwiseSurprisals:
    """The surprisals of n texts, each alone and right after each other one."""

    alone: Floats  # float64 [n], bits of text i after the prompt alone
    given: Floats  # float64 [n, n], bits of text i right after text j; on the diagonal, right after itself

    @property
    def saved(self) -> Floats:
        """Bits that text j saves on text i, which follows it: float64 [n, n]."""
        return self.alone[:, None] - self.given

    @property
    def summary(self) -> CrossMode:
        """The summary with each text as a separate set, so that the diagonal shows what a repeat saves."""
        return cross_mode(self.alone, self.given)

    @property
    def strongest(self) -> tuple[int, int] | None:
        """The pair (i, j), i ≠ j, with the largest saving on text i after text j; None if there is only one text."""
        if len(self.alone) < 2:
            return None
        saved = np.where(np.eye(len(self.alone), dtype=bool), -np.inf, self.saved)
        i, j = np.unravel_index(int(np.argmax(saved)), saved.shape)
        return int(i), int(j)


def pairwise_surprisals(
    model: CausalLM, layout: Layout, prompt: str, responses: Sequence[str], progress: Progress = lambda done: None
) -> PairwiseSurprisals:
    """Compute the surprisals of all pairs of texts in both orders, and of each text alone at the first position."""
    if not all(responses):
        raise Unscorable("an empty response")
    n = len(responses)
    alone, given = np.full(n, np.nan), np.full((n, n), np.nan)
    places = list(combinations_with_replacement(range(n), 2))
    sets = [ResponseSet(prompt, (responses[i], responses[j])) for i, j in places]
    readings = read_sets(sets, model, layout, _BOTH_WAYS, progress=progress)
    for place, read in zip(places, readings, strict=True):
        if isinstance(read, Missing):
            raise Unscorable(read.reason)
        alone[list(place)] = read.surprisals.unconditional
        for first, second, bits in _orders(read):
            given[place[second], place[first]] = bits
    return PairwiseSurprisals(alone, given)


def _orders(read: SetSurprisals) -> Iterator[tuple[int, int, float]]:
    """Yield for each order the first response, the second one, and the bits of the second."""
    found = read.surprisals
    for (first, second), (_, bits) in zip(found.orders.tolist(), found.bits.tolist(), strict=True):
        yield first, second, bits
