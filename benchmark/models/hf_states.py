"""Likelihoods and hidden states of given responses under a model of transformers, in one forward pass.

Teacher forcing: the model reads prompt and response together, which gives the same numbers as when it generated the
response token by token. A prompt is read once for all its responses if the model allows it. Only sums and selected
states are returned, nothing with the size of the vocabulary.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmark.models.causal_lm import TokenSequence
from benchmark.models.hf_generate import log_largest_probability, truncate
from benchmark.models.hf_lm import HFCausalLM, padded
from benchmark.models.lm_head import logits_of
from benchmark.models.trie import ScoredTrie

Floats = NDArray[np.float64]
_TILE_BYTES = {"cpu": 32 * 2**20, "cuda": 1 << 30}  # size of the logits computed at once


@dataclass(frozen=True, slots=True)
class TokenisedResponse:
    """A response to be read."""

    prompt: tuple[int, ...]  # tokens before it, at least one
    ids: tuple[int, ...]
    content: int  # number of leading `ids` that are the response itself, whose states are kept


@dataclass(frozen=True, slots=True)
class SamplingParameters:
    """How the tokens were sampled; see `truncate`."""

    temperature: float
    top_k: int | None
    top_p: float


@dataclass(frozen=True, slots=True, eq=False)
class ResponseStatistics:
    """Sums over the tokens of one response, and its hidden states."""

    log_likelihood: float  # Σ ln p of its tokens, nats
    # Σ ln of the largest probability at each step under the sampling parameters; None if these are unknown.
    largest: float | None
    normaliser: float  # Σ logsumexp of the raw logits
    entropy: float  # Σ of the entropy at each step, nats
    last: Floats  # float64 [last layers, features], states of the last content token; NaN without content
    mean: Floats  # float64 [mean layers, features], mean states of the content tokens; NaN without content


def read_statistics(
    lm: HFCausalLM,
    responses: Sequence[TokenisedResponse],
    last: Sequence[int] = (),
    mean: Sequence[int] = (),
    cut: SamplingParameters | None = None,
) -> list[ResponseStatistics]:
    """Compute the statistics of all responses in one batch."""
    if not responses:
        return []
    ids = [np.array((*response.prompt, *response.ids), np.int64) for response in responses]
    firsts = [len(response.prompt) for response in responses]
    sequences = [TokenSequence(row, np.arange(first, len(row))) for row, first in zip(ids, firsts, strict=True)]

    def run() -> list[ResponseStatistics]:
        read = _shared(lm, sequences, cut) if lm.shares else _apart(lm, sequences, cut)
        rows = zip(read, responses, strict=True)
        return [_statistics(sums, states, response, last, mean) for (sums, states), response in rows]

    return lm.within_memory(run)


# For one sequence: sums over its scored tokens [4], and the states of those tokens at each layer [scored, features].
_Read = tuple[Any, list[Any]]


def _shared(lm: HFCausalLM, sequences: Sequence[TokenSequence], cut: SamplingParameters | None) -> Iterator[_Read]:
    import torch

    trie = ScoredTrie.of(sequences)
    output = lm.read_trie(trie.trie, states=True)
    device = lm.head.weight.device  # the model may be spread over several
    final, layers = output.last_hidden_state[0].to(device), [layer[0] for layer in output.hidden_states]
    scored = [torch.from_numpy(nodes).to(device) for nodes in trie.scored]
    index = (trie.wanted, trie.parents, trie.targets)
    wanted, parents, targets = (torch.from_numpy(nodes).to(device) for nodes in index)
    by_node = torch.full((len(trie.trie.ids), 4), torch.nan, dtype=torch.float64, device=device)
    by_node[wanted] = _token_numbers(lm, final, parents, targets, cut)
    sums = torch.stack([by_node[nodes].sum(0) for nodes in scored])
    finite = torch.isfinite(sums[:, [0, 2, 3]]).all(1).tolist()  # `largest` is NaN without sampling parameters
    for nodes, sequence, row, is_finite in zip(scored, sequences, sums, finite, strict=True):
        if is_finite:
            yield row, [layer[nodes.to(layer.device)] for layer in layers]
        else:  # attention carries NaN backwards, so one sequence can affect others that share a prefix with it
            yield from _apart(lm, [sequence], cut)


def _apart(lm: HFCausalLM, sequences: Sequence[TokenSequence], cut: SamplingParameters | None) -> Iterator[_Read]:
    """Read the sequences in one batch without sharing prefixes."""
    import torch

    inputs = torch.from_numpy(padded(sequences)).to(lm.model.device)
    read = lm.body if lm.understands_head else lm.model
    output = read(input_ids=inputs, use_cache=False, output_hidden_states=True)
    final = output.last_hidden_state.to(lm.head.weight.device) if lm.understands_head else output.logits
    for row, sequence in enumerate(sequences):
        positions = torch.from_numpy(sequence.scored).to(final.device)
        targets = torch.from_numpy(sequence.ids[sequence.scored]).to(final.device)
        numbers = _token_numbers(lm, final[row], positions - 1, targets, cut)
        yield numbers.sum(0), [layer[row, positions.to(layer.device)] for layer in output.hidden_states]


def _token_numbers(lm: HFCausalLM, final: Any, before: Any, targets: Any, cut: SamplingParameters | None) -> Any:
    """Compute the four numbers summed in `ResponseStatistics` for each target, float64 [targets, 4]."""
    import torch

    vocabulary = len(lm.head.weight)
    tile = max(1, _TILE_BYTES.get(final.device.type, _TILE_BYTES["cuda"]) // (8 * vocabulary))
    tiles = [torch.empty((0, 4), dtype=torch.float64, device=final.device)]
    for positions, wanted in zip(before.split(tile), targets.split(tile), strict=True):
        rows = final[positions]
        logits = logits_of(lm.head, rows) if lm.understands_head else rows.float()
        normaliser = torch.logsumexp(logits.double(), dim=-1)
        chosen = logits.gather(1, wanted[:, None])[:, 0].double() - normaliser
        surprise = normaliser[:, None] - logits
        entropy = torch.special.entr(torch.exp(-surprise)).sum(-1)
        largest = torch.full_like(chosen, torch.nan) if cut is None else _largest(logits, cut)
        tiles.append(torch.stack([chosen, largest, normaliser, entropy], dim=1))
    return torch.cat(tiles)


def _largest(logits: Any, cut: SamplingParameters) -> Any:
    import torch

    rows, vocabulary = logits.shape
    top_k = min(cut.top_k or vocabulary, vocabulary)
    columns = ((cut.temperature, torch.float32), (top_k, torch.int64), (cut.top_p, torch.float64))
    settings = [torch.full((rows,), value, dtype=dtype, device=logits.device) for value, dtype in columns]
    return log_largest_probability(truncate(logits, *settings))


def _statistics(
    sums: Any, states: list[Any], response: TokenisedResponse, last: Sequence[int], mean: Sequence[int]
) -> ResponseStatistics:
    log_likelihood, largest, normaliser, entropy = sums.tolist()
    n = response.content
    features = states[0].shape[-1]

    def of(layers: Sequence[int], mean_of: bool) -> Floats:
        if n == 0 or not layers:
            return np.full((len(layers), features), np.nan)
        vectors = [states[layer][:n].double().mean(0) if mean_of else states[layer][n - 1].double() for layer in layers]
        return np.stack([vector.cpu().numpy() for vector in vectors])

    return ResponseStatistics(
        log_likelihood, None if np.isnan(largest) else largest, normaliser, entropy, of(last, False), of(mean, True)
    )
