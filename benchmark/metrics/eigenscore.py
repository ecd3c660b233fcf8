"""EigenScore of a model's hidden states, and the contribution of each response (INSIDE, arXiv:2402.03744; GSSBench).

Input: sentence embeddings for E_output, else `Covariances`, those of the responses' hidden states at each layer:
K × K numbers suffice for every score here, and for any subset of the responses. Higher is more diverse. Scores of
different models, layers or numbers of responses are not comparable.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from benchmark.metrics.metric import MOST, Unscorable, too_many

Floats = NDArray[np.float64]
Pooling = Literal["last", "mean"]
_ALPHA = 1e-3  # the regulariser, as in the published code
_SAME = 1e-9  # leave-one-out scores of equal rows differ by the rounding errors of eigenvalues over alpha


def eigenscore(embeddings: Floats) -> float:
    """Compute EigenScore: the mean log₁₀ of the eigenvalues of the responses' covariance over features plus 10⁻³.

    Each row is centred over its features (not over the responses), and the covariance is divided by d − 1, as in the
    published code and in GSSBench's numbers; the paper (arXiv:2402.03744, eq. 6) has the natural logarithm and does not
    divide.

    >>> x = np.array([[1.0, 2, 3, 4], [2, 0, 1, 3], [4, 1, 0, 2]])
    >>> round(eigenscore(x), 6)
    -0.111459
    """
    if len(embeddings) > MOST:
        raise Unscorable(too_many(MOST))
    return eigenscore_of_covariance(feature_covariance(embeddings))


def feature_covariance(vectors: Floats) -> Floats:
    """Compute the covariance of K rows over their d features, divided by d − 1; EigenScore depends on nothing else."""
    if vectors.shape[1] < 2:
        raise Unscorable("fewer than two features")
    centred = vectors - vectors.mean(axis=1, keepdims=True)
    covariance: Floats = centred @ centred.T / (vectors.shape[1] - 1)
    return covariance


def eigenscore_of_covariance(covariance: Floats) -> float:
    """Compute `eigenscore` from the `feature_covariance` [K, K]."""
    if len(covariance) < 2:
        raise Unscorable("fewer than two responses")
    return float(np.mean(np.log10(np.clip(np.linalg.eigvalsh(covariance), 0.0, None) + _ALPHA)))


@dataclass(frozen=True, slots=True, eq=False)
class Covariances:
    """Covariances over features of the hidden states of K responses, at some layers of a model."""

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
        """Return the covariance at a layer of the responses that have states, [complete, complete]."""
        if layer not in self.layers:
            raise ValueError(f"layer {layer} was not read, only {self.layers}")
        covariance: Floats = self.matrices[self.layers.index(layer)][np.ix_(self.complete, self.complete)]
        return covariance

    def take(self, positions: Sequence[int]) -> "Covariances":
        """Return the covariances of only the given responses, in the given order."""
        rows = np.array(positions, dtype=np.int64)
        return replace(self, matrices=self.matrices[:, rows[:, None], rows[None, :]])


def covariances_of(blocks: int, layers: Sequence[int], states: Floats, pooling: Pooling) -> Covariances:
    """Compute the covariances of states [layers, K, d]; the row of a response without states is not finite."""
    if states.dtype != np.float64 or states.ndim != 3:
        raise ValueError(f"states must be float64 [layers, K, d], not {states.dtype} {states.shape}")
    complete = np.asarray(np.isfinite(states).all(axis=2))
    k = states.shape[1]
    matrices = np.full((len(states), k, k), np.nan)
    for matrix, vectors, rows in zip(matrices, states, complete, strict=True):
        matrix[np.ix_(rows, rows)] = feature_covariance(vectors[rows])
    return Covariances(blocks, states.shape[2], tuple(layers), matrices, pooling)


def original_layer(blocks: int, layer: Literal["middle", "last"] | int = "middle") -> int:
    """Return the layer of E_original in a model with L blocks.

    *middle*, (L + 1) // 2, is the one in INSIDE's code (16 of 32, 18 of 36); *last*, L, is the one in GSSBench's text.

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

    >>> inside_layers(28), inside_layers(12)
    ((20, 21, 22, 23, 24, 25, 26), (6, 7, 8, 9, 10))
    """
    middle = math.ceil(blocks / 2)
    return tuple(range(20, blocks - 1) if blocks >= 22 else range(middle, max(blocks - 1, middle + 1)))


def e_original(states: Covariances, layer: int) -> float:
    """Compute E_original: EigenScore of the last tokens' states at one layer. INSIDE, arXiv:2402.03744, eq. 6.

    (INSIDE's code reads the token before the last, or for a response of one token the prompt; this is not replicated.)
    """
    if states.pooling != "last":
        raise ValueError("E_original reads the last tokens' states")
    return eigenscore_of_covariance(states.at(layer))


def e_average(states: Covariances, layers: Sequence[int]) -> float:
    """Compute E_average: the mean over layers of the EigenScore of mean states. GSSBench, arXiv:2510.12699, eq. 7."""
    scores = [eigenscore_of_covariance(covariance) for covariance in _of_layers(states, layers)]
    return math.fsum(scores) / len(scores)


def _of_layers(states: Covariances, layers: Sequence[int]) -> list[Floats]:
    if states.pooling != "mean" or not layers:
        raise ValueError("E_average reads the means of tokens' states at one or more layers")
    return [states.at(layer) for layer in layers]


def leave_one_out(vectors: Floats) -> Floats:
    """Compute the LOOE of each response i: the EigenScore of all, E(Z), minus that of the others, E(Z without i).

    Each E is the mean over its rows. Higher is more diverse, although values are usually below 0; responses are ranked
    by −E(Z without i). Sign and form are inferred from the values in GSSBench's table A23, which gives no formula.
    """
    complete = np.isfinite(vectors).all(axis=1)
    scores = np.full(len(vectors), np.nan)
    scores[complete] = _without_each(feature_covariance(vectors[complete]))
    return scores


def leave_one_out_average(states: Covariances, layers: Sequence[int]) -> Floats:
    """Compute LOOE under `e_average`: the mean over layers of `leave_one_out`; NaN for a response without states."""
    scores = np.full(len(states.complete), np.nan)
    scores[states.complete] = np.mean([_without_each(covariance) for covariance in _of_layers(states, layers)], axis=0)
    return scores


def _without_each(covariance: Floats) -> Floats:
    if len(covariance) < 3:
        raise Unscorable("fewer than three responses")
    whole = eigenscore_of_covariance(covariance)
    others = [np.delete(np.delete(covariance, i, axis=0), i, axis=1) for i in range(len(covariance))]
    return np.array([whole - eigenscore_of_covariance(other) for other in others])


def min_max(scores: Floats) -> Floats:
    """Normalise the scores of one prompt's responses to their range, (x − min) / (max − min); GSSBench's table A23."""
    if np.isnan(scores).all():
        raise Unscorable("no response")
    low, high = float(np.nanmin(scores)), float(np.nanmax(scores))
    if high - low <= _SAME:
        return np.where(np.isnan(scores), np.nan, 0.5)
    shares: Floats = (scores - low) / (high - low)
    return shares
