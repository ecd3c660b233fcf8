"""A causal language model of transformers as a sampler: `generate` in batches, each answer with draws of its own."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from benchmark.generation.prompting import PromptingSettings, prompt_ids
from benchmark.generation.sampler import Failed, Outcome, Request, Sampled, SamplerFault
from benchmark.models.causal_lm import OutOfMemory
from benchmark.models.hf_generate import end_ids, generate
from benchmark.models.hf_lm import HFCausalLM
from benchmark.models.token_sampling import sample_tokens

_THINKING = ("<think>", "</think>")
_BATCH_TOKENS = {"cpu": 16_384, "cuda": 262_144}  # prompts and answers to come, padding included
NOT_FINITE = "the model gave numbers that are not finite"


@dataclass(frozen=True, slots=True)
class Ends:
    """What ends an answer.

    Attributes:
        ids: Tokens; those of the model's own configuration.
        stop: Texts; neither they nor what follows is part of the answer.
    """

    ids: tuple[int, ...]
    stop: tuple[str, ...] = ()


class HFSampler:
    """See `Sampler`."""

    def __init__(
        self, lm: HFCausalLM, asking: PromptingSettings, stop: Sequence[str] = (), batch_tokens: int | None = None
    ) -> None:
        """Nothing is drawn yet.

        Args:
            lm: The model.
            asking: How it is asked.
            stop: Texts that end an answer; for models that know no end.
            batch_tokens: How many tokens, padding and those to come included, are worked on at once.
        """
        self.lm = lm
        self.asking = asking
        self.signature = lm.signature
        self.ends = Ends(end_ids(lm), tuple(stop))
        self._budget = batch_tokens or _BATCH_TOKENS.get(lm.model.device.type, _BATCH_TOKENS["cuda"])
        self.at_once = max(1, self._budget // 64)
        self._prompt_ids = lru_cache(maxsize=100_000)(lambda chat: prompt_ids(lm.tokeniser, asking, chat))

    def prompt_ids(self, request: Request) -> tuple[int, ...]:
        """The tokens that the model answers.

        Raises:
            ConfigurationError: It has no chat template, or one that refuses the chat.
        """
        ids: tuple[int, ...] = self._prompt_ids(request.messages)
        return ids

    def check(self, requests: Sequence[Request]) -> list[str | None]:
        """As `Sampler.check`."""
        return [self._too_long(request) for request in requests]

    def _too_long(self, request: Request) -> str | None:
        length, more, context = len(self.prompt_ids(request)), request.settings.max_tokens, self.lm.context
        if length == 0:
            return "the prompt has no tokens"
        if context is None or length + more <= context:
            return None
        return f"a prompt of {length} tokens and {more} to draw do not fit the model's context of {context}"

    def sample(self, requests: Sequence[Request], done: Callable[[int, Outcome], None]) -> None:
        """As `Sampler.sample`; requests of like length are worked on together."""
        waiting = []
        for place, reason in enumerate(self.check(requests)):
            if reason is None:
                waiting.append(place)
            else:
                done(place, Failed(reason))
        waiting.sort(key=lambda place: (requests[place].settings.max_tokens, len(self.prompt_ids(requests[place]))))
        waiting.reverse()  # the longest first: what does not fit shows at once
        while waiting:
            batch = waiting[: self._rows(requests[waiting[0]])]
            try:
                found = self._batch([requests[place] for place in batch])
            except OutOfMemory as error:
                if len(batch) == 1:
                    raise SamplerFault(str(error), "a smaller model, dtype or --max-tokens fits") from error
                self._budget //= 2
                continue
            for place, outcome in zip(batch, found, strict=True):
                done(place, outcome)
            del waiting[: len(batch)]

    def _rows(self, longest: Request) -> int:
        return max(1, self._budget // (len(self.prompt_ids(longest)) + longest.settings.max_tokens))

    def _batch(self, requests: Sequence[Request]) -> list[Outcome]:
        drawing = _TokenSampler(requests, self.lm.model.device)
        longest = max(request.settings.max_tokens for request in requests)
        rows = generate(self.lm, [self.prompt_ids(each) for each in requests], drawing, longest, self.ends.stop)
        broken = drawing.broken.cpu().tolist()
        return [
            Failed(NOT_FINITE) if bad else self._answer(request, row[: request.settings.max_tokens])
            for request, row, bad in zip(requests, rows, broken, strict=True)
        ]

    def _answer(self, request: Request, row: list[int]) -> Sampled:
        """What one row of drawn tokens says; what stands after its end is padding."""
        ended = next((place for place, token in enumerate(row) if token in self.ends.ids), None)
        ids = row if ended is None else row[: ended + 1]
        content = len(ids) if ended is None else ended
        stopped = self._stop(ids[:content])
        if stopped is not None:
            content, end = stopped
            ids = ids[:end]
        first = self._after_thinking(self.prompt_ids(request), ids[:content])
        text = self.lm.tokeniser.decode(ids[first:content])
        if stopped is not None:  # the token in which the stop begins may have letters before it
            text = _before_stop(self.lm.tokeniser.decode(ids[first:]), self.ends.stop)
        return Sampled(
            text,
            "length" if ended is None and stopped is None else "stop",
            tokens=len(ids),
            reasoning_tokens=first,
            reasoning_ids=tuple(ids[:first]),
            ids=tuple(ids[first:]),
            content=content - first,
        )

    def _stop(self, ids: list[int]) -> tuple[int, int] | None:
        """How many tokens lie whole before the first stop text, and how many are drawn to its end; None: no stop."""
        if not self.ends.stop or _stop_at(self.lm.tokeniser.decode(ids), self.ends.stop) is None:
            return None
        lengths = _growing(self.lm.tokeniser.decode, ids)
        end = next(n for n, text in enumerate(lengths) if _stop_at(text, self.ends.stop) is not None)
        at = _stop_at(lengths[end], self.ends.stop) or 0
        content = max((n for n, text in enumerate(lengths[:end]) if len(text) <= at), default=0)
        return content, end

    def _after_thinking(self, prompt: Sequence[int], ids: Sequence[int]) -> int:
        """How many tokens are reasoning before the answer: all to the end of a block that stands first."""
        text, (begin, end) = self.lm.tokeniser.decode(ids), _THINKING
        begun = self.lm.tokeniser.decode(prompt[-8:]).rstrip().endswith(begin)  # some templates begin it themselves
        if not begun and not text.lstrip().startswith(begin):
            return 0
        lengths = _growing(self.lm.tokeniser.decode, ids)
        return next((n for n, text in enumerate(lengths) if end in text), len(ids))


def _growing(decode: Callable[[Sequence[int]], str], ids: Sequence[int]) -> list[str]:
    """The texts of the first 0, 1, … tokens."""
    return [decode(ids[:n]) for n in range(len(ids) + 1)]


def _stop_at(text: str, stop: Sequence[str]) -> int | None:
    found = [at for each in stop if (at := text.find(each)) >= 0]
    return min(found, default=None)


def _before_stop(text: str, stop: Sequence[str]) -> str:
    at = _stop_at(text, stop)
    return text if at is None else text[:at]


class _TokenSampler:
    """Leaves of each row's scores the token that is drawn: what `generate` then takes without chance is a sample."""

    def __init__(self, requests: Sequence[Request], device: Any) -> None:
        import torch

        settings = [request.settings for request in requests]
        self.temperature = torch.tensor([each.temperature for each in settings], dtype=torch.float32, device=device)
        every = np.iinfo(np.int64).max
        self.top_k = torch.tensor([each.top_k or every for each in settings], dtype=torch.int64, device=device)
        self.top_p = torch.tensor([each.top_p for each in settings], dtype=torch.float64, device=device)
        self.uniform = torch.from_numpy(
            np.stack([_uniform(request.seed, max(s.max_tokens for s in settings)) for request in requests])
        ).to(device)
        self.broken = torch.zeros(len(requests), dtype=torch.bool, device=device)
        self.step = 0

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        import torch

        bad = torch.isnan(scores).any(-1) | (scores == torch.inf).any(-1)
        self.broken |= bad
        scores = scores.float().masked_fill(bad[:, None], 0.0)
        tokens = sample_tokens(scores, self.temperature, self.top_k, self.top_p, self.uniform[:, self.step])
        self.step += 1
        return torch.full_like(scores, -torch.inf).scatter_(1, tokens[:, None], 0.0)


def _uniform(seed: int, count: int) -> Any:
    return np.random.default_rng(seed).random(count)
