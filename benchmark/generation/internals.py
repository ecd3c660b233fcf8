"""Computes the `Internals` of responses, many prompts at a time, from their tokens or by tokenising them again."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Literal

import numpy as np

from benchmark.generation.hf_sampler import HFSampler
from benchmark.generation.prompting import (
    Outcome,
    PromptingSettings,
    Request,
    Sampled,
    SamplingSettings,
    greedy_chat,
    messages,
)
from benchmark.metrics.eigenscore import Covariances, Pooling, covariances_of, inside_layers, original_layer
from benchmark.metrics.internals import Internals, ResponseScores
from benchmark.metrics.metric import Unscorable
from benchmark.models.hf_generate import end_ids
from benchmark.models.hf_lm import HFCausalLM
from benchmark.models.hf_states import ResponseStatistics, SamplingParameters, TokenisedResponse, read_statistics
from benchmark.models.memory import OutOfMemory, budget_with_states
from benchmark.scoring.internals_file import Drawing, HowRead
from datasets_build.schema import Prompt
from divbench.core.errors import ConfigurationError
from submissions.schema import Row


@dataclass(frozen=True, slots=True)
class Layers:
    """The layers whose hidden states are read."""

    blocks: int
    features: int
    original: int
    average: tuple[int, ...]


def layers_of(lm: HFCausalLM, original: str | int = "middle", average: Sequence[int] | None = None) -> Layers:
    """Choose the layers of a model that the metrics read."""
    config = lm.model.config.get_text_config()
    blocks, features = int(config.num_hidden_layers), int(config.hidden_size)
    try:
        chosen = original_layer(blocks, original)  # type: ignore[arg-type]
    except (ValueError, KeyError) as error:
        raise ConfigurationError(f"{lm.signature}: {error}", f"middle, last, or 0 to {blocks}") from error
    several = inside_layers(blocks) if average is None else tuple(dict.fromkeys(average))
    if not several or not all(0 <= layer <= blocks for layer in several):
        raise ConfigurationError(f"{lm.signature} has no layers {list(several)}", f"0 to {blocks}")
    return Layers(blocks, features, chosen, several)


def layers_named(lm: HFCausalLM, original: str, average: str | None) -> Layers:
    """Choose layers by their names, *middle*, *last* or a number, and those of E_average such as *20,21*."""
    try:
        several = None if average is None else [int(layer) for layer in average.split(",")]
        return layers_of(lm, original if original in ("middle", "last") else int(original), several)
    except ValueError as error:
        hint = "use layer=middle, last or a number, and average-layers such as 20,21"
        raise ConfigurationError(f"invalid layers: {error}", hint) from error


@dataclass(frozen=True, slots=True)
class TokenisedResponses:
    """The responses to one prompt as tokens."""

    responses: tuple[TokenisedResponse | None, ...]  # [K]; None for a response without tokens
    greedy: TokenisedResponse | None = None  # additional response by greedy decoding; None: no such response

    @property
    def all(self) -> list[TokenisedResponse]:
        """All responses with tokens, the greedy one last."""
        return [response for response in (*self.responses, self.greedy) if response is not None]


@dataclass(slots=True)
class InternalsReader:
    """Reads the internals of responses."""

    lm: HFCausalLM
    layers: Layers
    cut: SamplingParameters | None  # sampling parameters with which the tokens were sampled; None: unknown
    budget: int = field(default=0)  # maximum number of tokens read at once; lowered if the device's memory is too small

    def __post_init__(self) -> None:
        model = self.lm.model
        config = model.config.get_text_config()
        self.budget = self.budget or budget_with_states(self.lm.batch_tokens, config, model.dtype.itemsize)

    def read(self, prompts: Sequence[TokenisedResponses]) -> Iterator[Internals]:
        """Yield the internals of each prompt's responses, in order."""
        start = 0
        while start < len(prompts):
            end = self._end(prompts, start)
            try:
                yield from self._together(prompts[start:end])
            except OutOfMemory:
                if end - start == 1:
                    raise
                self.budget //= 2
                continue
            start = end

    def how_read(
        self, submission_id: str, k: int, prompting: PromptingSettings, tokens: Literal["sampled", "text"]
    ) -> HowRead:
        """Describe how a submission's internals are read, for their file."""
        cut = self.cut
        return HowRead(
            submission_id=submission_id,
            k=k,
            model=self.lm.signature,
            blocks=self.layers.blocks,
            features=self.layers.features,
            original_layer=self.layers.original,
            average_layers=self.layers.average,
            tokens=tokens,
            drawing=None if cut is None else Drawing(temperature=cut.temperature, top_k=cut.top_k, top_p=cut.top_p),
            prompt=str(prompting),
        )

    def _end(self, prompts: Sequence[TokenisedResponses], start: int) -> int:
        """Return the end of the batch of prompts that begins at `start` and fits the budget."""
        tokens = 0
        for end in range(start, len(prompts)):
            responses = prompts[end].all
            shared = (
                {response.prompt for response in responses}
                if self.lm.shares
                else [response.prompt for response in responses]
            )
            tokens += sum(map(len, shared)) + sum(len(response.ids) for response in responses)
            if tokens > self.budget and end > start:
                return end
        return len(prompts)

    def _together(self, prompts: Sequence[TokenisedResponses]) -> list[Internals]:
        layers = self.layers
        responses = [response for asked in prompts for response in asked.all]
        statistics = iter(read_statistics(self.lm, responses, (layers.original,), layers.average, self.cut))
        internals = []
        for asked in prompts:
            read = [(response, next(statistics)) if response is not None else None for response in asked.responses]
            greedy = None if asked.greedy is None else _scores(asked.greedy, next(statistics))
            scores = tuple(None if pair is None else _scores(*pair) for pair in read)
            # A response without scores has no states either.
            seen = [pair[1] if pair is not None and ok else None for pair, ok in zip(read, scores, strict=True)]
            states = partial(_covariances, layers, seen)
            internals.append(Internals(scores, greedy, states("last"), states("mean")))
        return internals


def _scores(response: TokenisedResponse, seen: ResponseStatistics) -> ResponseScores | None:
    try:
        return ResponseScores(len(response.ids), seen.log_likelihood, seen.largest, seen.normaliser, seen.entropy)
    except Unscorable:
        return None


def _covariances(layers: Layers, seen: Sequence[ResponseStatistics | None], pooling: Pooling) -> Covariances:
    chosen = (layers.original,) if pooling == "last" else layers.average
    lost = np.full((len(chosen), layers.features), np.nan)
    vectors = [lost if response is None else response.last if pooling == "last" else response.mean for response in seen]
    return covariances_of(layers.blocks, chosen, np.stack(vectors, axis=1), pooling)


def as_tokens(sampler: HFSampler, prompt: Prompt, row: Row, *, stops: bool) -> tuple[TokenisedResponse | None, ...]:
    """Tokenise the responses of a row after their prompt.

    The text is tokenised separately from the prompt, so its tokens may differ from the sampled ones. A response that
    ended by itself (finish reason *stop*) is followed by the EOS token. With stop strings it is not, because it is
    unknown whether one of them ended the response.
    """
    lm = sampler.lm
    (end,) = end_ids(lm)[:1] or (None,)
    reasons = row.finish_reasons or (None,) * len(row.responses)
    tokenised: list[TokenisedResponse | None] = []
    for position, (text, reason) in enumerate(zip(row.responses, reasons, strict=True)):
        asked = Request(messages(sampler.prompting, prompt, position, row.responses), SamplingSettings(), 0)
        (encoding,) = lm.encode([text])
        content = tuple(encoding.ids.tolist())
        ended = (end,) if reason == "stop" and end is not None and not stops else ()
        ids = sampler.prompt_ids(asked)
        if lm.context is not None and len(ids) + len(content) + len(ended) > lm.context:
            raise ConfigurationError(
                f"prompt {row.prompt_id}, response {position + 1}: {len(ids) + len(content)} tokens do not fit the "
                f"context of {lm.context}",
                "use a model with a longer context",
            )
        tokenised.append(TokenisedResponse(ids, (*content, *ended), len(content)) if content or ended else None)
    return tuple(tokenised)


def greedy_responses(sampler: HFSampler, prompts: Sequence[Prompt], max_tokens: int) -> list[TokenisedResponse | None]:
    """Generate one response to each prompt by greedy decoding."""
    requests = [
        Request(greedy_chat(sampler.prompting, prompt), SamplingSettings(0.0, max_tokens=max_tokens), 0)
        for prompt in prompts
    ]
    outcomes: dict[int, Outcome] = {}
    sampler.sample(requests, outcomes.__setitem__)
    responses: list[TokenisedResponse | None] = []
    for position, request in enumerate(requests):
        outcome = outcomes[position]
        if isinstance(outcome, Sampled) and outcome.ids:
            before = (*sampler.prompt_ids(request), *outcome.reasoning_ids)
            responses.append(TokenisedResponse(before, outcome.ids, outcome.content))
        else:
            responses.append(None)
    return responses


def tokenise_rows(
    sampler: HFSampler, prompts: Sequence[Prompt], rows: Sequence[Row], max_tokens: int | None, *, stops: bool
) -> list[TokenisedResponses]:
    """Tokenise the responses of rows, and generate their greedy responses."""
    none: list[TokenisedResponse | None] = [None] * len(rows)
    greedy = none if max_tokens is None else greedy_responses(sampler, prompts, max_tokens)
    return [
        TokenisedResponses(as_tokens(sampler, prompt, row, stops=stops), greedy_response)
        for prompt, row, greedy_response in zip(prompts, rows, greedy, strict=True)
    ]
