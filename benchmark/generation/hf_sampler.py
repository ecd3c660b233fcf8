"""Samples a causal language model of transformers: `generate` in batches, with a random stream per response."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import numpy as np

from benchmark.generation.prompting import (
    Failed,
    Outcome,
    PromptingSettings,
    Request,
    Sampled,
    SamplerFault,
    prompt_ids,
)
from benchmark.models.hf_generate import end_ids, generate, sample_tokens
from benchmark.models.hf_lm import HFCausalLM
from benchmark.models.memory import OutOfMemory
from submissions.checking.artefacts import THINKING_MARKERS

_BATCH_TOKENS = {"cpu": 16_384, "cuda": 262_144}  # of prompts and responses to come, including padding
_SPECIAL = 8  # special tokens within a stop text; with more of them, sampling goes on, and the text ends there anyway
NOT_FINITE = "the model's logits are not finite"


@dataclass(frozen=True, slots=True)
class StopConditions:
    """The tokens and texts that end a response."""

    ids: tuple[int, ...]  # EOS tokens of the model's configuration
    stop: tuple[str, ...] = ()  # stop texts; a response ends before them


class HFSampler:
    """See `Sampler`."""

    def __init__(
        self, lm: HFCausalLM, prompting: PromptingSettings, stop: Sequence[str] = (), batch_tokens: int | None = None
    ) -> None:
        """Create a sampler; nothing is sampled yet."""
        self.lm = lm
        self.prompting = prompting
        self.signature = lm.signature
        self.ends = StopConditions(end_ids(lm), tuple(stop))
        self._budget = batch_tokens or _BATCH_TOKENS.get(lm.model.device.type, _BATCH_TOKENS["cuda"])
        self.at_once = max(1, self._budget // 64)
        self._prompt_ids = lru_cache(maxsize=100_000)(lambda chat: prompt_ids(lm.tokeniser, prompting, chat))

    def prompt_ids(self, request: Request) -> tuple[int, ...]:
        """Return the tokens of a request's prompt."""
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
        return f"a prompt of {length} tokens and {more} new tokens exceed the model's context of {context}"

    def sample(self, requests: Sequence[Request], done: Callable[[int, Outcome], None]) -> None:
        """Do as `Sampler.sample`; requests of similar length share a batch."""
        waiting = []
        for index, reason in enumerate(self.check(requests)):
            if reason is None:
                waiting.append(index)
            else:
                done(index, Failed(reason))
        waiting.sort(key=lambda index: (requests[index].settings.max_tokens, len(self.prompt_ids(requests[index]))))
        waiting.reverse()  # the longest first, so that a lack of memory shows at once
        while waiting:
            batch = waiting[: self._rows(requests[waiting[0]])]
            try:
                outcomes = self._batch([requests[index] for index in batch])
            except OutOfMemory as error:
                if len(batch) == 1:
                    raise SamplerFault(str(error), "choose a smaller model, dtype or --max-tokens") from error
                self._budget //= 2
                continue
            for index, outcome in zip(batch, outcomes, strict=True):
                done(index, outcome)
            del waiting[: len(batch)]

    def _rows(self, longest: Request) -> int:
        return max(1, self._budget // (len(self.prompt_ids(longest)) + longest.settings.max_tokens))

    def _batch(self, requests: Sequence[Request]) -> list[Outcome]:
        drawing = _TokenSampler(requests, self.lm.model.device)
        longest = max(request.settings.max_tokens for request in requests)
        stopped = self._stopped if self.ends.stop else None
        rows = generate(self.lm, [self.prompt_ids(request) for request in requests], drawing, longest, stopped)
        broken = drawing.broken.cpu().tolist()
        return [
            Failed(NOT_FINITE) if bad else self._response(request, row[: request.settings.max_tokens])
            for request, row, bad in zip(requests, rows, broken, strict=True)
        ]

    def _response(self, request: Request, row: list[int]) -> Sampled:
        """Make a response from a row of sampled tokens; tokens after its end are padding."""
        ended = next((position for position, token in enumerate(row) if token in self.ends.ids), None)
        ids = row if ended is None else row[: ended + 1]
        content = len(ids) if ended is None else ended
        stopped = self._stop(ids[:content])
        if stopped is not None:
            content, end = stopped
            ids = ids[:end]
        first = self._after_thinking(self.prompt_ids(request), ids[:content])
        text = self.lm.tokeniser.decode(ids[first:content])
        if stopped is not None:  # the token in which the stop text begins may contain characters before it
            text = self.lm.tokeniser.decode(ids[first:])
            text = text[: _stop_at(text, self.ends.stop)]
        return Sampled(
            text,
            "length" if ended is None and stopped is None else "stop",
            tokens=len(ids),
            reasoning_tokens=first,
            reasoning_ids=tuple(ids[:first]),
            ids=tuple(ids[first:]),
            content=content - first,
        )

    def _stopped(self, ids: list[int]) -> bool:
        """Return whether the last of a response's tokens completes a stop text."""
        decode, stop = self.lm.tokeniser.decode, self.ends.stop
        # Each token has at least a byte, save special ones; decoding all tokens at each step would take too long.
        tail = ids[-(max(len(text.encode()) for text in stop) + _SPECIAL) :]
        return _stop_at(decode(tail), stop) is not None and _stop_at(decode(ids), stop) is not None

    def _stop(self, ids: list[int]) -> tuple[int, int] | None:
        """Return the number of whole tokens before the first stop text, and up to its end; None: no stop text."""
        if not self.ends.stop or _stop_at(self.lm.tokeniser.decode(ids), self.ends.stop) is None:
            return None
        lengths = _growing(self.lm.tokeniser.decode, ids)
        end = next(n for n, text in enumerate(lengths) if _stop_at(text, self.ends.stop) is not None)
        at = _stop_at(lengths[end], self.ends.stop) or 0
        content = max((n for n, text in enumerate(lengths[:end]) if len(text) <= at), default=0)
        return content, end

    def _after_thinking(self, prompt: Sequence[int], ids: Sequence[int]) -> int:
        """Return the number of reasoning tokens: those up to the end of a thinking block at the beginning."""
        decode = partial(self.lm.tokeniser.decode, special=True)  # the markers are special tokens of some models
        text, (begin, end) = decode(ids), THINKING_MARKERS
        begun = decode(prompt[-8:]).rstrip().endswith(begin)  # some templates begin it themselves
        if not begun and not text.lstrip().startswith(begin):
            return 0
        lengths = _growing(decode, ids)
        return next((n for n, text in enumerate(lengths) if end in text), len(ids))


def _growing(decode: Callable[[Sequence[int]], str], ids: Sequence[int]) -> list[str]:
    """Decode the first 0, 1, … tokens."""
    return [decode(ids[:n]) for n in range(len(ids) + 1)]


def _stop_at(text: str, stop: Sequence[str]) -> int | None:
    positions = [at for stop_text in stop if (at := text.find(stop_text)) >= 0]
    return min(positions, default=None)


class _TokenSampler:
    """Masks all scores of a row except that of a sampled token, so that `generate`'s greedy choice is a sample."""

    def __init__(self, requests: Sequence[Request], device: Any) -> None:
        import torch

        settings, every = [request.settings for request in requests], np.iinfo(np.int64).max
        longest = max(s.max_tokens for s in settings)
        uniform = [np.random.default_rng(request.seed).random(longest) for request in requests]
        self.temperature = torch.tensor([s.temperature for s in settings], dtype=torch.float32, device=device)
        self.top_k = torch.tensor([s.top_k or every for s in settings], dtype=torch.int64, device=device)
        self.top_p = torch.tensor([s.top_p for s in settings], dtype=torch.float64, device=device)
        self.uniform = torch.from_numpy(np.stack(uniform)).to(device)
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
