"""Tokenises the responses of a submission again, for a model that reads them after sampling."""

from collections.abc import Sequence

from benchmark.generation.hf_sampler import HFSampler
from benchmark.generation.internals.read import TokenisedResponses
from benchmark.generation.prompting import messages
from benchmark.generation.run import greedy_chat
from benchmark.generation.sampler import Outcome, Request, Sampled, SamplingSettings
from benchmark.models.hf_generate import end_ids
from benchmark.models.hf_states import TokenisedResponse
from datasets_build.schema import Prompt
from divbench.core.errors import ConfigurationError
from submissions.schema import Row


def as_tokens(sampler: HFSampler, prompt: Prompt, row: Row, *, stops: bool) -> tuple[TokenisedResponse | None, ...]:
    """Tokenise the responses of a row after their prompt.

    The text is tokenised separately from the prompt, so its tokens may differ from the sampled ones. A response that
    ended by itself (finish reason *stop*) is followed by the EOS token. With stop strings it is not, because it is
    unknown whether one of them ended the response.
    """
    lm = sampler.lm
    (end,) = end_ids(lm)[:1] or (None,)
    reasons = row.finish_reasons or (None,) * len(row.responses)
    made: list[TokenisedResponse | None] = []
    for place, (text, reason) in enumerate(zip(row.responses, reasons, strict=True)):
        asked = Request(messages(sampler.prompting, prompt, place, row.responses), SamplingSettings(), 0)
        (encoding,) = lm.encode([text])
        content = tuple(encoding.ids.tolist())
        ended = (end,) if reason == "stop" and end is not None and not stops else ()
        ids = sampler.prompt_ids(asked)
        if lm.context is not None and len(ids) + len(content) + len(ended) > lm.context:
            raise ConfigurationError(
                f"prompt {row.prompt_id}, response {place + 1}: {len(ids) + len(content)} tokens do not fit the "
                f"context of {lm.context}",
                "use a model with a longer context",
            )
        made.append(TokenisedResponse(ids, (*content, *ended), len(content)) if content or ended else None)
    return tuple(made)


def greedy_responses(sampler: HFSampler, prompts: Sequence[Prompt], max_tokens: int) -> list[TokenisedResponse | None]:
    """Generate one response to each prompt by greedy decoding."""
    requests = [
        Request(greedy_chat(sampler.prompting, each), SamplingSettings(0.0, max_tokens=max_tokens), 0)
        for each in prompts
    ]
    found: dict[int, Outcome] = {}
    sampler.sample(requests, found.__setitem__)
    made: list[TokenisedResponse | None] = []
    for place, request in enumerate(requests):
        outcome = found[place]
        if isinstance(outcome, Sampled) and outcome.ids:
            before = (*sampler.prompt_ids(request), *outcome.reasoning_ids)
            made.append(TokenisedResponse(before, outcome.ids, outcome.content))
        else:
            made.append(None)
    return made


def tokenise_rows(
    sampler: HFSampler, prompts: Sequence[Prompt], rows: Sequence[Row], max_tokens: int | None, *, stops: bool
) -> list[TokenisedResponses]:
    """Tokenise the responses of rows, and generate their greedy responses."""
    none: list[TokenisedResponse | None] = [None] * len(rows)
    greedy = none if max_tokens is None else greedy_responses(sampler, prompts, max_tokens)
    return [
        TokenisedResponses(as_tokens(sampler, prompt, row, stops=stops), own)
        for prompt, row, own in zip(prompts, rows, greedy, strict=True)
    ]
