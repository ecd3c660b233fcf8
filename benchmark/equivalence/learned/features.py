"""Similarity of two responses apart from their prompt, for `learned_diversity`."""

from dataclasses import dataclass

import numpy as np

from benchmark.equivalence.backend import Floats
from benchmark.equivalence.learned.words import STOP_WORDS, piece_word
from benchmark.models.embedder import TokenStates

FEATURES = ("cosine_beside_prompt", "content_cosine")  # see `metrics/learned_diversity.py`
_OF_PROMPT, _OF_STOP_WORDS = 0.1, 0.15  # weights of tokens that carry little content


@dataclass(frozen=True, slots=True, eq=False)
class PromptedText:
    """The vectors of a response beside its prompt."""

    beside_prompt: Floats  # the part of the embedding orthogonal to the prompt's, scaled to a unit vector [dimensions]
    content: Floats  # mean of the token states, weighted by content, scaled to a unit vector


def prompted_text(read: TokenStates, prompt_read: TokenStates) -> PromptedText:
    """Compute the vectors of a response."""
    of_prompt = set(prompt_read.pieces)
    weights = np.array(
        [_weight(piece) * (_OF_PROMPT if piece in of_prompt else 1) for piece in read.pieces], np.float32
    )
    content = (read.states.astype(np.float32) * weights[:, None]).sum(axis=0).astype(np.float64)
    beside = read.vector - read.vector @ prompt_read.vector * prompt_read.vector
    return PromptedText(_unit(beside, read.vector), _unit(content, read.vector))


def pair_features(a: PromptedText, b: PromptedText) -> list[float]:
    """Return the `FEATURES` of two responses to one prompt, the same in both orders."""
    return [_dot(a.beside_prompt, b.beside_prompt), _dot(a.content, b.content)]


def _weight(piece: str) -> float:
    word = piece_word(piece)
    if not any(letter.isalnum() for letter in word):
        return 0.0
    return _OF_STOP_WORDS if word in STOP_WORDS else 1.0


def _unit(vector: Floats, otherwise: Floats) -> Floats:
    """Scale a vector to length 1; return `otherwise` if it is too short to have a direction."""
    norm = float(np.linalg.norm(vector))
    return np.asarray(vector / norm) if norm > 1e-6 else otherwise


def _dot(a: Floats, b: Floats) -> float:
    return float(np.sum(a * b))  # not a matrix product, whose last digits change with its shape
