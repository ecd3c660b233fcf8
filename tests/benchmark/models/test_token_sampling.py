"""Tokens are drawn from the distributions that transformers' own warpers leave."""

from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from scipy import stats
from transformers import LogitsProcessorList, TemperatureLogitsWarper, TopKLogitsWarper, TopPLogitsWarper

from benchmark.models.hf_generate import (
    TruncatedDistribution,
    log_largest_probability,
    sample_tokens,
    sample_truncated,
    truncate,
)

SETTINGS = [(1.0, None, 1.0), (0.7, None, 1.0), (1.0, 5, 1.0), (1.3, None, 0.6), (0.5, 7, 0.9), (2.0, 40, 0.3)]
each_setting = pytest.mark.parametrize("setting", SETTINGS, ids=str)


def logits_of(rows: int, vocabulary: int = 40, seed: int = 0) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(seed).normal(0, 2, (rows, vocabulary)).astype(np.float32))


def kept_of(logits: torch.Tensor, settings: list[tuple[float, int | None, float]]) -> TruncatedDistribution:
    temperature, top_k, top_p = zip(*settings, strict=True)
    return truncate(
        logits,
        torch.tensor(temperature, dtype=torch.float32),
        torch.tensor([k or logits.shape[1] for k in top_k]),
        torch.tensor(top_p, dtype=torch.float64),
    )


def probabilities(kept: TruncatedDistribution, vocabulary: int) -> NDArray[np.float64]:
    """[rows, vocabulary]."""
    shares = kept.weights / kept.weights.sum(-1, keepdim=True)
    if kept.tokens is None:
        return np.asarray(shares.numpy())
    return np.asarray(
        torch.zeros(len(shares), vocabulary, dtype=torch.float64).scatter_(1, kept.tokens, shares).numpy()
    )


def warped(logits: torch.Tensor, temperature: float, top_k: int | None, top_p: float) -> NDArray[np.float64]:
    """As transformers' `generate` has them."""
    chain = LogitsProcessorList([TemperatureLogitsWarper(temperature)])
    if top_k is not None:
        chain.append(TopKLogitsWarper(top_k))
    if top_p < 1:
        chain.append(TopPLogitsWarper(top_p))
    before: Any = torch.zeros(len(logits), 1, dtype=torch.int64)
    given: Any = logits
    scores: Any = chain(before, given)
    return np.asarray(torch.softmax(scores.double(), -1).numpy())


@each_setting
def test_what_is_kept_is_what_transformers_keeps(setting: tuple[float, int | None, float]) -> None:
    logits = logits_of(50)
    found = probabilities(kept_of(logits, [setting] * 50), 40)
    expected = warped(logits, *setting)
    assert ((found > 0) == (expected > 0)).all()
    assert np.abs(found - expected).max() < 1e-6
    assert log_largest_probability(kept_of(logits, [setting] * 50)).numpy() == pytest.approx(
        np.log(expected.max(1)), abs=1e-6
    )


@each_setting
def test_draws_have_the_frequencies_of_their_probabilities(setting: tuple[float, int | None, float]) -> None:
    number = 20_000
    kept = kept_of(logits_of(1), [setting])
    uniform = torch.from_numpy((np.arange(number) + 0.5) / number)
    rows = TruncatedDistribution(
        kept.weights.expand(number, -1), None if kept.tokens is None else kept.tokens.expand(number, -1)
    )
    counts = np.bincount(sample_truncated(rows, uniform).numpy(), minlength=40)
    expected = probabilities(kept, 40)[0]
    assert np.abs(counts / number - expected).max() <= 2 / number  # the numbers lie evenly, so no chance is left
    drawn = np.random.default_rng(1).random(number)
    seen = np.bincount(sample_truncated(rows, torch.from_numpy(drawn)).numpy(), minlength=40)
    there = expected > 0
    assert seen[~there].sum() == 0
    assert stats.chisquare(seen[there], expected[there] / expected.sum() * number).pvalue > 1e-4


def test_a_row_is_drawn_alike_beside_any_other() -> None:
    logits = logits_of(len(SETTINGS) * 20)
    settings = SETTINGS * 20
    uniform = torch.rand(len(logits), dtype=torch.float64, generator=torch.Generator().manual_seed(1))

    def drawn(rows: slice) -> list[int]:
        temperature, top_k, top_p = zip(*settings[rows], strict=True)
        tokens: list[int] = sample_tokens(
            logits[rows],
            torch.tensor(temperature, dtype=torch.float32),
            torch.tensor([k or 10**9 for k in top_k]),
            torch.tensor(top_p, dtype=torch.float64),
            uniform[rows],
        ).tolist()
        return tokens

    together = drawn(slice(None))
    assert together == [token for row in range(len(logits)) for token in drawn(slice(row, row + 1))]
    assert len(set(together)) > 15


def test_temperature_zero_takes_the_greatest() -> None:
    logits = logits_of(30)
    kept = kept_of(logits, [(0.0, None, 1.0), (0.0, 5, 0.3)] * 15)
    assert (sample_truncated(kept, torch.rand(30, dtype=torch.float64)) == logits.argmax(-1)).all()
    assert (log_largest_probability(kept) == 0).all()


@pytest.mark.parametrize("uniform", [0.0, 1 - 2.0**-53])
def test_the_ends_of_the_unit_interval_draw_no_token_that_was_cut_off(uniform: float) -> None:
    logits = torch.tensor([[-torch.inf, 0.0, 0.0, -torch.inf], [-torch.inf, 0.1, 0.7, -torch.inf]])
    for setting in ((1.0, None, 1.0), (1.0, 3, 1.0), (1.0, None, 0.999)):
        token = sample_truncated(kept_of(logits, [setting] * 2), torch.full((2,), uniform, dtype=torch.float64))
        assert torch.isfinite(logits.gather(1, token[:, None])).all()
