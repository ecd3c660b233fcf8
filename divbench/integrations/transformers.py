"""Monitor the diversity of a model's responses while it is trained by transformers' Trainer or one of TRL's trainers.

>>> from divbench.integrations.transformers import DiversityCallback  # doctest: +SKIP
>>> trainer.add_callback(DiversityCallback(trainer, ["Name a pet.", "Tell me a joke."]))  # doctest: +SKIP
"""

import random
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from transformers import Trainer, TrainerCallback

from benchmark.metrics.metric import Missing
from benchmark.scoring.backends import ScoringBackends
from benchmark.scoring.estimate import bootstrap_means
from benchmark.scoring.inputs import score_sets
from benchmark.scoring.profiles import find_profile
from benchmark.surprisal.engine import ResponseSet
from divbench.core.errors import ConfigurationError
from divbench.integrations.groups import CollapseWarning, check_headline
from divbench.scores import choose_metrics

__all__ = ["CHEAP", "SAMPLING", "CollapseWarning", "DiversityCallback", "Measured", "change_since"]
CHEAP = ("distinct_n", "self_bleu", "unique_1grams")
SAMPLING: Mapping[str, Any] = MappingProxyType(
    {"max_new_tokens": 64, "temperature": 1.0, "do_sample": True, "top_k": 0}
)
_FEWEST_PROMPTS = 4  # intervals from fewer are useless


@dataclass(frozen=True, slots=True)
class Measured:
    """A measurement."""

    step: int
    values: dict[str, float]
    headline: tuple[float, ...]
    low: float | None
    high: float | None
    collapsed: bool


def change_since(first: Sequence[float], last: Sequence[float], drop: float) -> tuple[float | None, float | None, bool]:
    """Compute the 95% interval of a metric's mean change over the prompts, and whether it is a collapse."""
    before, now = np.array(first), np.array(last)
    had = np.isfinite(before)
    has_lost = bool((had & ~np.isfinite(now)).sum() > drop * had.sum())
    gaps = np.column_stack([now - before, now - (1 - drop) * before])
    # Not widened: with four prompts, one that has nothing to lose would hide the collapse of the others. Simulated, a
    # loss of exactly `drop` is a collapse in 8% of cases with four prompts, and in 4% with eight or more.
    change, excess = bootstrap_means(gaps, resamples=2000, few=0)
    return change.low, change.high, has_lost or (excess.high is not None and excess.high < 0)


class DiversityCallback(TrainerCallback):  # type: ignore[misc] # types of transformers are not read
    """Samples responses to a few prompts every N steps, logs their diversity, and warns of a collapse.

    The headline and three cheap metrics are logged by the trainer as `diversity/…`. A collapse is a headline that has
    lost more than `drop` of its first value: the 95% bootstrap interval over prompts of (value − (1 − drop) × first
    value) is below 0 in `patience` measurements in a row, or more than `drop` of the prompts have lost their value, as
    when all responses are blank. Training is not affected, nor is what the trainer logs: random states are restored. A
    warning says if no collapse could be seen from the first measurement. Where each process has a part of the model
    (FSDP 2, DeepSpeed's ZeRO-3), all sample the same responses and the first scores them; version 1 of FSDP is refused.

    Args:
        trainer: Trainer that the callback is added to; its tokeniser is used.
        prompts: At least four prompts; they are user messages if the tokeniser has a chat template.
        k: Number of responses to each prompt.
        every: Steps between measurements; the first is before training.
        headline: Id of the metric that shows a collapse; never negative, and higher for more diverse. The default
            groups responses by their words; `valid_distinct_k` loads an embedder beside the model in training.
        metrics: Ids of the other metrics.
        sampling: Options of `generate`; default: 64 new tokens at temperature 1, from the whole distribution, whatever
            the model's generation config says.
        drop: Share of the headline's first value whose loss is a collapse.
        patience: Number of measurements in a row.
        stop: Whether training stops at a collapse.

    Attributes:
        measured: All measurements.

    Raises:
        ConfigurationError: There is no such metric, a collapse cannot be seen as a share of the headline, there are too
            few prompts, one is not a text, `sampling` does not sample or names a number of responses, or the trainer
            has no tokeniser.
    """

    def __init__(
        self,
        trainer: Any,
        prompts: Sequence[str],
        *,
        k: int = 8,
        every: int = 200,
        headline: str = "distinct_k",
        metrics: str | Sequence[str] = CHEAP,
        sampling: Mapping[str, Any] = SAMPLING,
        drop: float = 0.5,
        patience: int = 2,
        stop: bool = False,
    ) -> None:
        if isinstance(prompts, str):
            raise ConfigurationError("prompts is one text", "give a list of at least four")
        if len(prompts) < _FEWEST_PROMPTS:
            raise ConfigurationError(f"{len(prompts)} prompts are too few for an interval", "give at least four")
        if not 0 < drop < 1 or min(k - 1, every, patience) < 1:
            raise ConfigurationError(
                "drop is in (0, 1), k at least 2, every and patience at least 1", "fix the options"
            )
        texts: Sequence[Any] = prompts
        if wrong := [prompt for prompt in texts if not isinstance(prompt, str)]:
            raise ConfigurationError(f"a prompt is {wrong[0]!r:.80}, not a text", "give texts: they are user messages")
        if sampling.get("do_sample", True) is not True or "num_return_sequences" in sampling:
            hint = "leave do_sample out, and give the number of responses as k"
            raise ConfigurationError(f"sampling is {dict(sampling)}", hint)
        tokeniser: Any = getattr(trainer, "processing_class", None)
        if tokeniser is None:
            raise ConfigurationError("the trainer has no tokeniser", "give Trainer(processing_class=…)")
        self._trainer, self._tokeniser, self._prompts = trainer, tokeniser, tuple(prompts)
        named = [headline, *([metrics] if isinstance(metrics, str) else metrics)]
        light = {metric.id for metric in find_profile("lexical").metrics()}  # no other model beside the one in training
        profile, self._metrics = choose_metrics(named, "lexical" if light.issuperset(named) else None)
        check_headline(next(metric for metric in self._metrics if metric.id == headline))
        self._backends = ScoringBackends(profile)
        self._k, self._every, self._headline = k, every, headline
        self._sampling = {**SAMPLING, **sampling}
        self._drop, self._patience, self._stop = drop, patience, stop
        self.measured: list[Measured] = []

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Measure the model before training."""
        if any(type(module).__name__ == "FullyShardedDataParallel" for module in kwargs["model"].modules()):
            hint = "use version 2 (fsdp_version: 2), or divbench.integrations.rollouts, which samples nothing"
            raise ConfigurationError("a model under version 1 of FSDP cannot generate", hint)
        self._measure(state, control, kwargs["model"])

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Measure every `every` steps."""
        if state.global_step % self._every == 0:
            self._measure(state, control, kwargs["model"])

    @property
    def collapsed(self) -> bool:
        """Whether the last `patience` measurements show a collapse."""
        last = self.measured[-self._patience :]
        return len(last) == self._patience and all(measurement.collapsed for measurement in last)

    def _measure(self, state: Any, control: Any, model: Any) -> None:
        """Sample on the first process, on all where each has a part of the model; score and log on the first."""
        python_random = random.getstate()  # libraries that are first imported here, such as rich, draw from it
        sampled = self._sample(model) if state.is_world_process_zero or _is_sharded(model) else []
        if state.is_world_process_zero:
            self._score(sampled, state, control)
        random.setstate(python_random)
        if self._stop:  # all stop at the same step, or the others would wait for the first
            control.should_training_stop = _as_on_the_first(control.should_training_stop)

    def _score(self, sampled: Sequence[tuple[str, ...]], state: Any, control: Any) -> None:
        sets = [ResponseSet(prompt, texts) for prompt, texts in zip(self._prompts, sampled, strict=True)]
        rows = score_sets(self._backends.materials(sets, self._metrics), self._metrics, list(self._prompts))
        columns = {m.id: [_number(row[m.id]) for row in rows] for m in self._metrics}
        means = {name: float(np.nanmean(column)) for name, column in columns.items() if np.isfinite(column).any()}
        now = tuple(columns[self._headline])
        first = self.measured[0].headline if self.measured else now
        low, high, has_collapsed = change_since(first, now, self._drop) if self.measured else (None, None, False)
        step = state.global_step
        if not self.measured and not change_since(now, [0.0] * len(now), self._drop)[2]:
            none = sum(not value > 0 for value in now)
            message = f"step {step}: {self._headline} is 0 or missing for {none} of {len(now)} prompts"
            hint = "so a collapse cannot be seen: choose another headline, or other prompts"
            warnings.warn(f"{message}, {hint}", stacklevel=2)
        self.measured.append(Measured(step, means, now, low, high, has_collapsed))
        self._log({f"diversity/{name}": value for name, value in means.items()}, control)
        if self.collapsed:
            reasons = [value.reason for row in rows if isinstance(value := row[self._headline], Missing)]
            after = f"{means[self._headline]:.3g}" if self._headline in means else "no value"
            why = f", missing for {len(reasons)} of {len(now)} prompts ({reasons[0]})" if reasons else ""
            warnings.warn(
                f"step {step}: {self._headline} fell from {float(np.nanmean(first)):.3g} to {after}{why}: "
                "the model's responses have collapsed",
                CollapseWarning,
                stacklevel=2,
            )
            control.should_training_stop = control.should_training_stop or self._stop

    def _log(self, values: dict[str, float], control: Any) -> None:
        """Log values as a record of their own, beside those that the trainer logs at the same step.

        The base class's method is called, because that of TRL's trainers adds the means of what they have gathered
        since they last logged, and forgets it. The event that it raises takes back the request to log, without which
        the trainer would leave out its loss.
        """
        requested = control.should_log
        Trainer.log(self._trainer, values)
        control.should_log = requested

    def _sample(self, model: Any) -> list[tuple[str, ...]]:
        """Sample responses to each prompt, without changing the model, its mode or random states."""
        tokeniser, texts = self._tokeniser, list(self._prompts)
        if getattr(tokeniser, "chat_template", None):
            texts = [
                tokeniser.apply_chat_template(
                    [{"role": "user", "content": text}], tokenize=False, add_generation_prompt=True
                )
                for text in texts
            ]
        sampled, is_sharded = [], _is_sharded(model)
        with _as_before(model):
            for text in texts:
                inputs = tokeniser(text, return_tensors="pt", add_special_tokens=text in self._prompts).to(model.device)
                inputs.pop("token_type_ids", None)
                ids = model.generate(
                    **inputs,
                    **self._sampling,
                    num_return_sequences=self._k,
                    pad_token_id=_pad(tokeniser),
                    synced_gpus=is_sharded,  # each forward pass needs all processes
                )
                new = ids[:, inputs["input_ids"].shape[1] :]
                sampled.append(tuple(tokeniser.batch_decode(new, skip_special_tokens=True)))
        return sampled


@contextmanager
def _as_before(model: Any) -> Iterator[None]:
    """Run a block with the model in evaluation mode, a separate random state, and no generation config of its own.

    A model's generation config often truncates the distribution, which makes responses less diverse.
    """
    import torch
    from transformers import GenerationConfig

    devices = [model.device] if model.device.type == "cuda" else []
    was_training, caches, config = model.training, model.config.use_cache, model.generation_config
    with torch.random.fork_rng(devices=devices), torch.no_grad():
        torch.manual_seed(0)
        model.eval()
        model.config.use_cache = True
        model.generation_config = GenerationConfig(eos_token_id=config.eos_token_id, bos_token_id=config.bos_token_id)
        try:
            yield
        finally:
            model.config.use_cache, model.generation_config = caches, config
            if hasattr(model, "reshard"):  # FSDP 2 keeps the root's parameters whole after a forward pass
                model.reshard()
            model.train(was_training)


def _is_sharded(model: Any) -> bool:
    """Whether parts of the parameters are on other processes, as under FSDP 2 and DeepSpeed's ZeRO-3."""
    from torch.distributed.fsdp import FSDPModule

    modules = any(isinstance(module, FSDPModule) for module in model.modules())
    return modules or any(hasattr(parameter, "ds_id") for parameter in model.parameters())


def _as_on_the_first(decision: bool) -> bool:
    """Return what the first process decided."""
    import torch.distributed as dist

    if not dist.is_available() or not dist.is_initialized():
        return decision
    decisions = [decision]
    dist.broadcast_object_list(decisions, src=0)
    return decisions[0]


def _pad(tokeniser: Any) -> int | None:
    token: int | None = tokeniser.eos_token_id if tokeniser.pad_token_id is None else tokeniser.pad_token_id
    return token


def _number(value: float | Missing) -> float:
    return value if isinstance(value, float) else float("nan")
