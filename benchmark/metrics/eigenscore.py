"""EigenScore of a model's hidden states, and the contribution of each response (INSIDE, arXiv:2402.03744; GSSBench).

Input: `Covariances`, a summary of the generating model's hidden states: the covariance of the responses' states at each
layer. The states themselves, thousands of numbers per response and layer, are not stored, because K × K numbers per
layer suffice for every score here, and for any subset of the responses. Higher is more diverse. Scores of different
models, layers or numbers of responses are not comparable. The function is `eigenscore` of embedding.py, which E_output
applies to sentence embeddings.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from benchmark.metrics.embedding import eigenscore_of_covariance, feature_covariance
from benchmark.metrics.metric import Unscorable

Floats = NDArray[np.float64]
Pooling = Literal["last", "mean"]
_SAME = 1e-9  # leave-one-out scores of equal rows differ by the rounding errors of eigenvalues over alpha


@dataclass(frozen=True, slots=True, eq=False)
class Covariances:
    """Covariances over features of the hidden states of K responses, at some layers of a model.

    Raises:
        ValueError: Shapes or types do not match, or the model does not have these layers.
    """

    blocks: int  # L, the number of the model's blocks
    features: int  # d, the size of a state
    # Distinct layers in 0 … L: 0 is the embeddings, l the output of block l (for L, after the final norm).
    layers: tuple[int, ...]
    # float64 [layers, K, K]; `feature_covariance` of the states at each layer. The row and column of a response without
    # states (because it has no tokens) are not finite.
    matrices: Floats
    pooling: Pooling  # *last*: the state of the last token before EOS. *mean*: the mean over all tokens except EOS.

    def __post_init__(self) -> None:
        shape = self.matrices.shape
        if self.matrices.dtype != np.float64 or len(shape) != 3 or shape[0] != len(self.layers) or shape[1] != shape[2]:
            raise ValueError(f"matrices must be float64 [layers, K, K], not {self.matrices.dtype} {shape}")
        if len(set(self.layers)) < len(self.layers) or not all(0 <= layer <= self.blocks for layer in self.layers):
            raise ValueError(f"layers must be distinct and in 0 … {self.blocks}: {self.layers}")

    @property
    def complete(self) -> NDArray[np.bool_]:
        """Whether each response [K] has states at every layer; the others are left out of every score."""
        return np.asarray(np.isfinite(np.diagonal(self.matrices, axis1=1, axis2=2)).all(axis=0))

    def at(self, layer: int) -> Floats:
        """Return the covariance at a layer of the responses that have states, [complete, complete].

        Raises:
            ValueError: The layer was not read.
        """
        if layer not in self.layers:
            raise ValueError(f"layer {layer} was not read, only {self.layers}")
        chosen: Floats = self.matrices[self.layers.index(layer)][np.ix_(self.complete, self.complete)]
        return chosen

    def take(self, places: Sequence[int]) -> "Covariances":
        """Return the covariances of only the given responses, in the given order."""
        rows = np.array(places, dtype=np.int64)
        kept = self.matrices[:, rows[:, None], rows[None, :]]
        return Covariances(self.blocks, self.features, self.layers, kept, self.pooling)


def covariances_of(blocks: int, layers: Sequence[int], states: Floats, pooling: Pooling) -> Covariances:
    """Compute the covariances of states [layers, K, d]; the row of a response without states is not finite.

    Raises:
        Unscorable: Fewer than two features.
        ValueError: As `Covariances`.
    """
    if states.dtype != np.float64 or states.ndim != 3:
        raise ValueError(f"states must be float64 [layers, K, d], not {states.dtype} {states.shape}")
    there = np.asarray(np.isfinite(states).all(axis=2))
    k = states.shape[1]
    matrices = np.full((len(states), k, k), np.nan)
    for matrix, vectors, own in zip(matrices, states, there, strict=True):
        matrix[np.ix_(own, own)] = feature_covariance(vectors[own])
    return Covariances(blocks, states.shape[2], tuple(layers), matrices, pooling)


def original_layer(blocks: int, layer: Literal["middle", "last"] | int = "middle") -> int:
    """Return the layer of E_original in a model with L blocks.

    *middle*, (L + 1) // 2, is the one in INSIDE's code (16 of 32, 18 of 36); *last*, L, is the one in GSSBench's text.

    Raises:
        ValueError: There is no block, or no such layer.

    >>> original_layer(32), original_layer(32, "last")
    (16, 32)
    """
    chosen = {"middle": (blocks + 1) // 2, "last": blocks}[layer] if isinstance(layer, str) else layer
    if blocks < 1 or not 0 <= chosen <= blocks:
        raise ValueError(f"no layer {layer} in a model of {blocks} blocks")
    return chosen


def inside_layers(blocks: int) -> tuple[int, ...]:
    """Return the layers of E_average in a model with L blocks: 20 … L − 2, as in INSIDE's code.

    For models with fewer than 22 blocks we chose ⌈L / 2⌉ … L − 2, but at least one layer.

    Raises:
        ValueError: There is no block.

    >>> inside_layers(28), inside_layers(12)
    ((20, 21, 22, 23, 24, 25, 26), (6, 7, 8, 9, 10))
    """
    if blocks < 1:
        raise ValueError(f"no layers in a model of {blocks} blocks")
    middle = math.ceil(blocks / 2)
    return tuple(range(20, blocks - 1) if blocks >= 22 else range(middle, max(blocks - 1, middle + 1)))


def e_original(states: Covariances, layer: int | None = None) -> float:
    """Compute E_original: EigenScore of the last tokens' states at one layer. INSIDE, arXiv:2402.03744, eq. 6.

    (INSIDE's code reads the token before the last, or for a response of one token the prompt; this is not replicated.)

    Args:
        states: Covariances of the last tokens' states.
        layer: Layer; default: `original_layer`.

    Raises:
        Unscorable: Fewer than two responses have states, or there are fewer than two features.
        ValueError: The states are not of the last tokens, or the layer was not read.
    """
    if states.pooling != "last":
        raise ValueError("E_original reads the last tokens' states")
    chosen = original_layer(states.blocks) if layer is None else layer
    return eigenscore_of_covariance(states.at(chosen))


def e_average(states: Covariances, layers: Sequence[int] | None = None) -> float:
    """Compute E_average: the mean over layers of the EigenScore of mean states. GSSBench, arXiv:2510.12699, eq. 7.

    Scores are averaged over layers, not states. GSSBench's text does not name the layers; the default is that of
    INSIDE's code.

    Args:
        layers: Layers; default: `inside_layers`.

    Raises:
        Unscorable: As `e_original`.
        ValueError: The states are not means, a layer was not read, or no layer is given.
    """
    scores = [eigenscore_of_covariance(each) for each in _of_layers(states, layers)]
    return math.fsum(scores) / len(scores)


def _of_layers(states: Covariances, layers: Sequence[int] | None) -> list[Floats]:
    if states.pooling != "mean":
        raise ValueError("E_average reads the means of tokens' states")
    chosen = inside_layers(states.blocks) if layers is None else layers
    if not chosen:
        raise ValueError("no layer to average over")
    return [states.at(layer) for layer in chosen]


def leave_one_out(vectors: Floats) -> Floats:
    """Compute the LOOE of each response i: the EigenScore of all, E(Z), minus that of the others, E(Z without i).

    Each E is the mean over its rows. Higher is more diverse, although values are usually below 0; responses are ranked
    by −E(Z without i). Sign and form are inferred from the values in GSSBench's table A23, which gives no formula.

    Args:
        vectors: [K, d]; a response whose row is not finite is left out.

    Returns:
        [K]; NaN for a response that is left out.

    Raises:
        Unscorable: Fewer than three responses, or fewer than two features.
    """
    complete = np.isfinite(vectors).all(axis=1)
    found = np.full(len(vectors), np.nan)
    found[complete] = _without_each(feature_covariance(vectors[complete]))
    return found


def leave_one_out_average(states: Covariances, layers: Sequence[int] | None = None) -> Floats:
    """Compute LOOE under `e_average`: the mean over layers of `leave_one_out`; arguments and errors as in both."""
    found = np.full(len(states.complete), np.nan)
    of_layers = [_without_each(each) for each in _of_layers(states, layers)]
    found[states.complete] = np.mean(of_layers, axis=0)
    return found


def _without_each(covariance: Floats) -> Floats:
    if len(covariance) < 3:
        raise Unscorable("fewer than three responses")
    whole = eigenscore_of_covariance(covariance)
    others = [np.delete(np.delete(covariance, i, axis=0), i, axis=1) for i in range(len(covariance))]
    return np.array([whole - eigenscore_of_covariance(each) for each in others])


def min_max(scores: Floats) -> Floats:
    """Normalise the scores of one prompt's responses to their range, (x − min) / (max − min); GSSBench's table A23.

    Returns:
        Values in [0, 1], NaN where a score is NaN; all 0.5 if the scores differ only by rounding errors.

    Raises:
        Unscorable: There is no score.
    """
    if np.isnan(scores).all():
        raise Unscorable("no response")
    low, high = float(np.nanmin(scores)), float(np.nanmax(scores))
    if high - low <= _SAME:
        return np.where(np.isnan(scores), np.nan, 0.5)
    shares: Floats = (scores - low) / (high - low)
    return shares
