"""Reward models: a reward for a prompt and a response, and NoveltyBench's quality of 1 to 10 for a reward.

Any causal model of transformers with one output is supported. Weights are safetensors of a pinned revision, without
remote code.
"""

import hashlib
import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from benchmark.models import Dtype
from benchmark.models.devices import loading_on
from benchmark.models.memory import OutOfMemory, within_memory
from benchmark.models.model_files import ModelFiles, has_soft_cap, load_weights, loading
from divbench.core.errors import ConfigurationError, need

Pair = tuple[str, str]
Floats = NDArray[np.float64]

_PROMPT, _ANSWER = "\ue000", "\ue001"  # private-use characters, which no template contains
# Tolerated difference from the model's own output, relative to 1 + its absolute value.
_TOLERANCE = {"float32": 1e-3, "float16": 1e-2, "bfloat16": 5e-2}
_HINT = "give a reward model: a causal chat model, or a classifier of pairs of texts, with one output"


def quality(reward: float, thresholds: Sequence[float]) -> int:
    """Compute NoveltyBench's quality of a response: 1 plus the number of thresholds below its reward.

    See arXiv:2504.05228, section 3.2. A reward equal to a threshold does not exceed it.

    >>> [quality(reward, (-7.5, -6.0)) for reward in (-9, -7.5, -7, -6, 0)]
    [1, 1, 2, 2, 3]
    """
    if math.isnan(reward):
        raise ValueError("a reward is not a number")
    return 1 + bisect_left(thresholds, reward)


@runtime_checkable
class RewardModel(Protocol):
    """Rates responses."""

    # Everything that determines rewards and qualities, such as `name@revision,float32,cpu,8192-tokens,q-1a2b3c`.
    signature: str
    thresholds: tuple[float, ...] | None  # thresholds of `quality`; None: none are published for this model

    def rewards(self, pairs: Sequence[Pair]) -> Floats:
        """Return the reward of each pair of a prompt and a response, float64 [pairs]; higher is better."""
        ...


class RewardModelSpec(Protocol):
    """Names the reward model of a profile without loading it."""

    @property
    def signature(self) -> str:
        """`RewardModel.signature`, known before loading."""
        ...

    def load(self) -> RewardModel:
        """Load the model."""
        ...


@dataclass(frozen=True, slots=True)
class JudgeScores:
    """Names a judge as the source of the quality of responses."""

    signature: str  # everything known that determines the scores, such as `gpt-x,judge-score-v1,4096-tokens`


@dataclass(frozen=True, slots=True)
class HFRewardSpec:
    """A reward model of transformers."""

    files: ModelFiles  # files of a model with one output and a chat template
    thresholds: tuple[float, ...] | None = None  # `RewardModel.thresholds`
    # Maximum number of tokens per conversation, or the model's context if that is smaller; longer conversations are
    # truncated.
    max_tokens: int = 8192
    dtype: Dtype = "float32"  # precision of the body; the output is float32
    device: str = "cpu"
    lowest_valid: float | None = None  # lowest reward of a valid response, for a model without thresholds

    @property
    def has_scale(self) -> bool:
        """Whether rewards have qualities of 1 to 10, not only the lowest that is valid."""
        return self.lowest_valid is None

    def __post_init__(self) -> None:
        if not all(low < high for low, high in pairwise(self.thresholds or ())):
            raise ConfigurationError(f"the thresholds {self.thresholds} do not rise", "give distinct ones in order")

    @property
    def signature(self) -> str:
        """Implement `RewardModelSpec.signature`."""
        stated = "" if self.lowest_valid is None else f",valid-from-{self.lowest_valid:.12g}"
        chosen = f"{self.dtype},{self.device.split(':')[0]},{self.max_tokens}-tokens"
        if self.thresholds is not None:
            chosen += f",q-{hashlib.sha256(repr(tuple(map(float, self.thresholds))).encode()).hexdigest()[:6]}"
        return f"{self.files.signature},{chosen}{stated}"

    def load(self, batch_tokens: int | None = None) -> "HFRewardModel":
        """Implement `RewardModelSpec.load`; `batch_tokens` limits the tokens read at once, including padding."""
        return HFRewardModel(self, batch_tokens)


class HFRewardModel:
    """A loaded reward model, which reads special tokens in a prompt or response as plain text. See `RewardModel`."""

    def __init__(self, spec: HFRewardSpec, batch_tokens: int | None = None) -> None:
        torch = need("torch", "score")
        transformers = need("transformers", "score")
        self.signature = spec.signature
        # A quality above the lowest is valid: see `QualityJudge`.
        stated = None if spec.lowest_valid is None else (math.nextafter(spec.lowest_valid, -math.inf),)
        self.thresholds = spec.thresholds if stated is None else stated
        where, options = spec.files.locate()
        with loading(where):
            config = transformers.AutoConfig.from_pretrained(where, **options)
            self._tokeniser: Any = transformers.AutoTokenizer.from_pretrained(where, **options)
        self._frame = self._find_frame(where)
        self._special = [token.content for token in self._tokeniser.added_tokens_decoder.values() if token.special]
        if config.num_labels != 1:
            raise ConfigurationError(f"{where} has {config.num_labels} outputs, and a reward is one", _HINT)
        text_config = config.get_text_config()
        if has_soft_cap(config):
            options["attn_implementation"] = "eager"  # faster implementations omit the soft cap, some silently
        kind = transformers.AutoModelForSequenceClassification
        model = load_weights(kind, where, _HINT, dtype=getattr(torch, spec.dtype), **options)
        with loading_on(spec.device, spec.dtype, spec.files.name):
            self._model = model.to(spec.device).eval()
        self._pad: int | None = text_config.pad_token_id
        self._longest = min(spec.max_tokens, getattr(text_config, "max_position_embeddings", None) or spec.max_tokens)
        if self._frame is None:
            self._longest = min(self._longest, self._tokeniser.model_max_length)
        self._batch_tokens = batch_tokens or (32_768 if self._model.device.type == "cuda" else 4096)
        self._check_reading(where, _TOLERANCE[spec.dtype])

    def rewards(self, pairs: Sequence[Pair]) -> Floats:
        """Implement `RewardModel.rewards`; each distinct pair is read once."""
        distinct = sorted(set(pairs))  # sorted, so that batches do not depend on the order of the pairs
        ids = [self._ids(prompt, answer) for prompt, answer in distinct]
        # Sorted by length to reduce padding, the longest first so that a lack of memory shows at once.
        order = sorted(range(len(ids)), key=lambda i: -len(ids[i]))
        values = np.empty(len(ids))
        while order:
            longest = len(ids[order[0]])
            batch = order[: max(1, self._batch_tokens // longest)]
            try:
                values[batch] = self._read([ids[i] for i in batch])
            except OutOfMemory:
                if len(batch) == 1:
                    raise
                self._batch_tokens = longest * len(batch) // 2
            else:
                order = order[len(batch) :]
        if not np.isfinite(values).all():
            raise ConfigurationError(f"{self.signature}: a reward is not finite", "choose bfloat16 or float32")
        reward_of = dict(zip(distinct, values.tolist(), strict=True))
        return np.array([reward_of[pair] for pair in pairs], np.float64)

    def _render(self, prompt: str, answer: str) -> str:
        turns = [{"role": "user", "content": prompt}, {"role": "assistant", "content": answer}]
        text: str = self._tokeniser.apply_chat_template(turns, tokenize=False)
        return text

    def _find_frame(self, where: str) -> tuple[str, str, str] | None:
        """Return the chat template's text before the prompt, between prompt and response, and after the response.

        None for a classifier of pairs of texts: it has a separator, and no chat template.
        """
        if not self._tokeniser.chat_template:
            if self._tokeniser.sep_token is None:
                raise ConfigurationError(f"the tokeniser of {where} has no chat template", _HINT)
            return None
        from jinja2 import TemplateError

        try:
            text = self._render(_PROMPT, _ANSWER)
        except TemplateError as error:
            raise ConfigurationError(f"the chat template of {where} fails: {error}", _HINT) from error
        before, _, rest = text.partition(_PROMPT)
        between, answer, after = rest.partition(_ANSWER)
        if not answer:
            raise ConfigurationError(f"the chat template of {where} omits the prompt or the response", _HINT)
        return before, between, after

    def _ids(self, prompt: str, answer: str) -> list[int]:
        def encode(text: str, *, plain: bool = False) -> list[int]:
            ids: list[int] = self._tokeniser(text, add_special_tokens=False, split_special_tokens=plain).input_ids
            return ids

        if self._frame is None:
            most = {"truncation": True, "max_length": self._longest}
            pair: list[int] = self._tokeniser(prompt, answer, split_special_tokens=True, **most).input_ids
            return pair
        if not any(token in prompt or token in answer for token in self._special):
            return encode(self._render(prompt, answer))[: self._longest]
        before, between, after = map(encode, self._frame)
        texts = [encode(text.strip(), plain=True) for text in (prompt, answer)]
        return [*before, *texts[0], *between, *texts[1], *after][: self._longest]

    def _read(self, ids: Sequence[list[int]]) -> Floats:
        """Compute the rewards of one batch of texts, given as token ids: float64 [texts]."""
        what = f"{self.signature}, {len(ids)} texts of up to {max(map(len, ids))} tokens"
        return within_memory(lambda: self._computed(ids), what, self._model.device)

    def _computed(self, ids: Sequence[list[int]]) -> Floats:
        import torch

        device, width = self._model.device, max(map(len, ids))
        inputs = torch.tensor([[*row, *[self._pad or 0] * (width - len(row))] for row in ids])
        mask = torch.tensor([[1] * len(row) + [0] * (width - len(row)) for row in ids])
        if self._frame is None:
            of_pairs = {"input_ids": inputs, "attention_mask": mask}
            if "token_type_ids" in self._tokeniser.model_input_names:  # 1 after the first separator
                ends = (inputs == self._tokeniser.sep_token_id).long()
                of_pairs["token_type_ids"] = ((ends.cumsum(1) - ends) > 0).long() * mask
            with torch.inference_mode():
                logits = self._model(**{name: tensor.to(device) for name, tensor in of_pairs.items()}).logits
            return np.asarray(logits[:, 0].float().cpu().numpy(), np.float64)
        # Of the last token that is not padding, as in transformers.
        last = torch.tensor([max((i for i, token in enumerate(row) if token != self._pad), default=0) for row in ids])
        with torch.inference_mode():
            body = self._model.base_model
            hidden = body(inputs.to(device), attention_mask=mask.to(device), use_cache=False).last_hidden_state
            read = hidden[torch.arange(len(ids)), last].float()
            head = self._model.score
            bias = None if head.bias is None else head.bias.float()
            outputs = torch.nn.functional.linear(read, head.weight.float(), bias)[:, 0]
        rewards: Floats = outputs.cpu().numpy().astype(np.float64)
        return rewards

    def _check_reading(self, where: str, tolerance: float) -> None:
        """Refuse a model whose own output differs from the reward computed here."""
        if self._frame is None:
            return
        import torch

        head = getattr(self._model, "score", None)
        agrees = isinstance(head, torch.nn.Linear) and head.out_features == 1
        if agrees:
            ids = self._ids("What is a violet?", "A flower, and its colour.")
            with torch.inference_mode():
                expected = float(self._model(input_ids=torch.tensor([ids], device=self._model.device)).logits[0, 0])
            error = abs(self._read([ids])[0] - expected)
            agrees = error <= tolerance * (1 + abs(expected)) or not math.isfinite(expected)
        if not agrees:
            raise ConfigurationError(f"{where} computes its output in an unknown way", _HINT)


# Published qualities come from bfloat16 outputs, which round rewards slightly above a threshold (by up to 1/64) to it.
# From novelty-bench/novelty-bench, src/score.py. With these thresholds, 2,400 responses to MT-Bench have the same
# distribution of qualities as GPT-4's ratings (paper, section 3.2).
SKYWORK_GEMMA_THRESHOLDS = (-7.71875, -6.28125, -6.0, -5.71875, -5.5, -5.0, -4.375, -3.4375, -2.046875)

# NoveltyBench's reward model; 54 GB in bfloat16. The commit is `main` on the model's page, with safetensors;
# inspect_evals 0.26.0 (UKGovernmentBEIS, novelty_bench/score.py) pins the same one.
SKYWORK_REWARD_GEMMA_27B = HFRewardSpec(
    ModelFiles("Skywork/Skywork-Reward-Gemma-2-27B-v0.2", "a92f2ec997c806de469ff287ef3b71982e886fc2"),
    SKYWORK_GEMMA_THRESHOLDS,
    dtype="bfloat16",
)

# The small replacement used by inspect_evals (UKGovernmentBEIS, MIT), with its commit and thresholds: release 0.26.0,
# novelty_bench/score.py. The thresholds reportedly come from 96 responses, matched with gemini-1.5-pro's published
# qualities. Qualities from this model and from NoveltyBench's are not comparable.
SKYWORK_REWARD_QWEN3_1_7B = HFRewardSpec(
    ModelFiles("Skywork/Skywork-Reward-V2-Qwen3-1.7B", "e51ea3e08fb81326c3b812a7ff0cb9cee83e59cc"),
    (-0.43671875, 0.95773633, 1.07054688, 1.52291016, 1.6730625, 2.36985938, 3.19824219, 4.24545312, 6.41390625),
    dtype="bfloat16",
)
