"""Diversity of the rollouts of reinforcement learning, from the completions that training samples anyway.

TRL (GRPO, RLOO and others that call reward functions); with weight 0 it only monitors:

    from divbench.integrations.rollouts import DiversityReward
    monitor = DiversityReward(quality=correct, gate=1)  # counts different completions that are correct
    GRPOTrainer(..., reward_funcs=[correct, monitor], args=GRPOConfig(reward_weights=[1.0, 0.0], ...))

verl, in its configuration, with one reward worker, so that a group is not split:

    reward.custom_reward_function.path=pkg://divbench.integrations.rollouts
    reward.custom_reward_function.name=compute_score
    +reward.custom_reward_function.reward_kwargs.k=8

Any other loop: `DiversityReward().observe(prompts, completions, step)`.
"""

import asyncio
import math
import time
import warnings
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np
from scipy.stats import t as student

from benchmark.metrics.metric import Missing
from benchmark.metrics.partition import Partition
from benchmark.validity.backend import Reasons
from divbench.core.errors import ConfigurationError, InputError, counted
from divbench.integrations.groups import CollapseWarning, check_headline, group_scorer, metric_names

Quality = Callable[..., Sequence[float | None]]
Made = tuple[str, str, float | None]  # prompt, completion and its quality


@dataclass(frozen=True, slots=True)
class Change:
    """The change of the headline from the first window of groups to the last, with its 95% interval (Welch's)."""

    value: float
    low: float
    high: float
    collapsed: bool  # whether more than the share `drop` is lost: the interval of last − (1 − drop) · first is below 0


def change_of(first: Sequence[float], last: Sequence[float], drop: float) -> Change:
    """Compare the groups of two windows."""
    low, high = _welch(last, first, 1.0)
    return Change(float(np.mean(last) - np.mean(first)), low, high, _welch(last, first, 1 - drop)[1] < 0)


def _welch(a: Sequence[float], b: Sequence[float], factor: float) -> tuple[float, float]:
    """Return the 95% interval of mean(a) − factor · mean(b)."""
    parts = [np.var(a, ddof=1) / len(a), factor**2 * np.var(b, ddof=1) / len(b)]
    gap, variance = float(np.mean(a) - factor * np.mean(b)), float(sum(parts))
    if variance == 0:
        return gap, gap
    degrees = variance**2 / sum(part**2 / (len(x) - 1) for part, x in zip(parts, (a, b), strict=True))
    margin = float(student.ppf(0.975, degrees)) * math.sqrt(variance)
    return gap - margin, gap + margin


class DiversityReward:
    """Logs the diversity of each step's completions, warns of a collapse, and rewards completions that differ.

    The completions to one prompt are a group. Logged are the means over groups as `diversity/…`, and once the headline
    has been seen in two windows of groups, the ends of the 95% interval of its change. A collapse is a headline whose
    last `window` groups have, with 95% confidence, lost more than `drop` of the first ones' mean, in `patience` steps
    in a row. No completion is sampled for it.

    A completion's reward is the share of the others in its group that say something else, times its quality; 0 if it is
    blank or not valid. None if validity cannot be judged. With several processes each scores some groups, and all log
    the same.

    Args:
        metrics: Ids of metrics, separated by commas or as a list; the headline is added.
        profile: Name of a profile. `lexical` needs no model and takes milliseconds; it knows what is valid only by
            `quality`. `semantic` estimates it, with an embedder beside the model in training.
        quality: Another reward function, called with the same arguments, which says with `gate` what is valid; None:
            the profile judges, and each valid completion has a quality of 1.
        gate: Lowest quality of a valid completion, such as 1 for a reward of 0 or 1; part of the signatures.
        k: Size of a group; None: all completions to a prompt in a step. Needed where prompts repeat within a step.
        headline: Id of the metric that shows a collapse; never negative, and higher for more diverse. None:
            `valid_distinct_k` if validity is known (different correct completions, with `quality`), else `distinct_k`.
        window: Number of groups in the first and the last window.
        drop: Share of the headline whose loss is a collapse.
        patience: Number of steps in a row.

    Attributes:
        signatures: What the values depend on except the texts, by metric id.
        changes: The change at each step since there are two windows.
        seconds: Time spent so far.

    Raises:
        ConfigurationError: There is no such metric or profile, or an option is out of range.
        InputError: There is no completion, a prompt has one only, one is no text, or qualities do not fit.
    """

    __name__ = "diversity"  # what TRL's logs call it

    def __init__(
        self,
        *,
        metrics: str | Sequence[str] = "distinct_n",
        profile: str | None = "lexical",
        quality: Quality | None = None,
        gate: float | None = None,
        k: int | None = None,
        headline: str | None = None,
        window: int = 32,
        drop: float = 0.5,
        patience: int = 3,
    ) -> None:
        if not 0 < drop < 1 or window < 8 or patience < 1 or (k is not None and k < 2):
            raise ConfigurationError("drop is in (0, 1), window at least 8, patience 1, k 2", "fix the options")
        if (quality is None) != (gate is None):
            raise ConfigurationError(
                "quality needs a gate, and a gate quality", "give the lowest of a valid completion"
            )
        has_validity = quality is not None or profile not in ("lexical", "syntax")
        self._headline = headline or ("valid_distinct_k" if has_validity else "distinct_k")
        classes = "valid_distinct_k" if has_validity else "distinct_k"  # from which rewards are made
        names = tuple(dict.fromkeys((self._headline, *metric_names(metrics), classes)))
        self._scorer = group_scorer(names, profile, None if gate is None else f"quality-from-{gate:.12g}")
        check_headline(self._scorer.metrics[0])
        self.signatures = self._scorer.signatures
        self._quality, self._gate, self._k = quality, gate, k
        self._drop, self._patience = drop, patience
        self._first: list[float] = []
        self._last: deque[float] = deque(maxlen=window)
        self.changes: list[Change] = []
        self.seconds = 0.0
        self._scored(
            [("", "one", 1.0), ("", "two", 1.0)], [[0, 1]]
        )  # loads all models: what fails, fails before training

    def __call__(self, prompts: Sequence[Any], completions: Sequence[Any], **kwargs: Any) -> list[float | None]:
        """Return a reward for each completion, as TRL's trainers ask for it, and log by their `log_metric`."""
        step = getattr(kwargs.get("trainer_state"), "global_step", None)
        values, rewards = self.measure(prompts, completions, self._qualities(prompts, completions, kwargs), step)
        if (log := kwargs.get("log_metric")) is not None:
            for name, value in values.items():
                log(name, value)
        return rewards

    def observe(
        self, prompts: Sequence[Any], completions: Sequence[Any], step: int | None = None, **kwargs: Any
    ) -> dict[str, float]:
        """Measure the completions of a step, given with the prompt of each, and return the values by name."""
        return self.measure(prompts, completions, self._qualities(prompts, completions, kwargs), step)[0]

    @property
    def collapsed(self) -> bool:
        """Whether the last `patience` steps show a collapse."""
        last = self.changes[-self._patience :]
        return len(last) == self._patience and all(change.collapsed for change in last)

    def _qualities(
        self, prompts: Sequence[Any], completions: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> Sequence[float | None] | None:
        return None if self._quality is None else self._quality(prompts=prompts, completions=completions, **kwargs)

    def measure(
        self,
        prompts: Sequence[Any],
        completions: Sequence[Any],
        qualities: Sequence[float | None] | None = None,
        step: int | None = None,
    ) -> tuple[dict[str, float], list[float | None]]:
        """Measure the completions of a step: the values by name, and a reward for each completion."""
        started = time.perf_counter()
        if len(prompts) != len(completions) or not completions:
            message = f"{counted(len(prompts), 'prompt')} for {counted(len(completions), 'completion')}"
            raise InputError(message, "give each completion its prompt, and at least one group")
        marks = _checked([1.0] * len(completions) if qualities is None else list(qualities), len(completions))
        pairs = zip(prompts, completions, marks, strict=True)
        own = [(_text(prompt, "user"), _text(made, "assistant"), mark) for prompt, made, mark in pairs]
        ranks = _gathered(own)
        rank = next(i for i, part in enumerate(ranks) if part is own)
        all_made = [made for part in ranks for made in part]
        groups = self._groups(all_made)
        by_rank = _gathered(self._scored(all_made, groups[rank :: len(ranks)]))
        scored = [by_rank[i % len(ranks)][i // len(ranks)] for i in range(len(groups))]
        rewards: list[float | None] = [None] * len(all_made)
        for group, (_, of_group) in zip(groups, scored, strict=True):
            for position, reward in zip(group, of_group, strict=True):
                rewards[position] = reward
        start = sum(map(len, ranks[:rank]))
        values = self._summary([row for row, _ in scored], step)
        self.seconds += time.perf_counter() - started
        return values, rewards[start : start + len(own)]

    def _groups(self, made: Sequence[Made]) -> list[list[int]]:
        """Group positions of completions by prompt, and by k if it is given."""
        by_prompt: dict[str, list[int]] = {}
        for position, (prompt, *_) in enumerate(made):
            by_prompt.setdefault(prompt, []).append(position)
        groups = []
        for positions in by_prompt.values():
            size = self._k or len(positions)
            groups += [positions[start : start + size] for start in range(0, len(positions), size)]
        for group in groups:
            if len(group) < 2 or (self._k is not None and len(group) < self._k):
                message = f"the prompt {made[group[0]][0][:40]!r} has a group of {counted(len(group), 'completion')}"
                raise InputError(message, "sample several to each prompt in one step, and give their number as k")
        return groups

    def _scored(
        self, made: Sequence[Made], groups: Sequence[Sequence[int]]
    ) -> list[tuple[dict[str, float], list[float | None]]]:
        """Return the values of each group, NaN for missing ones, and the rewards of its completions."""
        if not groups:
            return []
        texts = [[made[i][1] for i in group] for group in groups]
        marks = [[made[i][2] for i in group] for group in groups]
        gate = self._gate
        verdicts = None if gate is None else [tuple(None if q is None else q >= gate for q in row) for row in marks]
        materials = self._scorer.materials([made[group[0]][0] for group in groups], texts, verdicts=verdicts)
        rows = self._scorer.values(materials)
        parts = materials.partitions or ()
        reasons = materials.reasons if self._scorer.profile.has_validity else [(None,) * len(row) for row in texts]
        return [
            (
                {name: value if isinstance(value, float) else math.nan for name, value in row.items()},
                _rewards(partition, why, qualities),
            )
            for row, partition, why, qualities in zip(rows, parts, reasons or (), marks, strict=True)
        ]

    def _summary(self, rows: Sequence[Mapping[str, float]], step: int | None) -> dict[str, float]:
        """Average over groups, extend the windows, and warn of a collapse."""
        columns = {name: [row[name] for row in rows if not math.isnan(row[name])] for name in rows[0]}
        values = {f"diversity/{name}": float(np.mean(column)) for name, column in columns.items() if column}
        if missing := sum(len(rows) - len(column) for column in columns.values()):
            values["diversity/missing_values"] = float(missing)
        window = self._last.maxlen or 0
        for value in columns[self._headline]:
            (self._first if len(self._first) < window else self._last).append(value)
        if len(self._first) == window and not any(self._first) and not self._last:
            message = f"{self._headline} is 0 in the first {window} groups, so a collapse cannot be seen"
            warnings.warn(f"{message}: choose another headline", stacklevel=4)
        if len(self._last) == window:
            change = change_of(self._first, self._last, self._drop)
            was = self.collapsed
            self.changes.append(change)
            values |= {"diversity/change_low": change.low, "diversity/change_high": change.high}
            if self.collapsed and not was:
                at = "" if step is None else f"step {step}: "
                warnings.warn(
                    f"{at}{self._headline} fell from {np.mean(self._first):.3g} to {np.mean(self._last):.3g} (change "
                    f"{change.low:.3g} to {change.high:.3g}, 95% interval): the rollouts have collapsed",
                    CollapseWarning,
                    stacklevel=4,
                )
        return values


def _rewards(
    partition: Partition | Missing, reasons: Reasons | Missing, qualities: Sequence[float | None]
) -> list[float | None]:
    """Return for each valid completion the share of the others that say something else, times its quality."""
    k = len(qualities)
    if isinstance(partition, Missing) or isinstance(reasons, Missing):
        return [None] * k
    sizes = Counter(partition.labels)
    return [
        0.0 if label is None or reason is not None or quality is None else quality * (k - sizes[label]) / (k - 1)
        for label, reason, quality in zip(partition.labels, reasons, qualities, strict=True)
    ]


def _checked(qualities: list[float | None], completions: int) -> list[float | None]:
    if len(qualities) != completions:
        message = f"quality gave {len(qualities)} values for {counted(completions, 'completion')}"
        raise InputError(message, "give one for each")
    if wrong := [q for q in qualities if q is not None and not math.isfinite(q)]:
        raise InputError(f"quality gave {wrong[0]}, not a finite number", "give numbers, None for no quality")
    return qualities


def _text(given: Any, role: str) -> str:
    """Return the text of a prompt or completion: as it is, or of the last message of a role."""
    if isinstance(given, str):
        return given
    messages = [m for m in given if isinstance(m, Mapping) and m.get("role") == role] if isinstance(given, list) else []
    if not messages:
        raise InputError(f"a completion or prompt is {given!r:.60}", f"give a text, or messages with one of the {role}")
    content = messages[-1].get("content")
    if isinstance(content, list) and all(isinstance(part, Mapping) and part.get("type") == "text" for part in content):
        return "\n".join(str(part.get("text", "")) for part in content)
    if not content and messages[-1].get("tool_calls"):
        raise InputError("a completion is a call of a tool, not a text", "reward completions that end with an answer")
    if isinstance(content, list):
        raise InputError("a message has content other than text, such as an image", "diversity is that of texts")
    return str(content or "")


def _gathered(own: list[Any]) -> list[list[Any]]:
    """Return the lists of all processes; this process's own is the same object."""
    import torch.distributed as dist

    if not dist.is_available() or not dist.is_initialized() or dist.get_world_size() == 1:
        return [own]
    lists: list[Any] = [None] * dist.get_world_size()
    dist.all_gather_object(lists, own)
    lists[dist.get_rank()] = own
    return lists


@cache
def _for_verl(k: int, options: tuple[tuple[str, Any], ...]) -> DiversityReward:
    return DiversityReward(k=k, **dict(options))


Rollout = tuple[str, Any, Mapping[str, Any]]  # text, ground truth and what else is known
_WAITING: dict[str, list[tuple[Rollout, asyncio.Future[dict[str, float]]]]] = {}
_OPTIONS = ("metrics", "profile", "headline", "window", "drop", "patience", "gate")  # verl adds others of its own


async def compute_score(
    data_source: str, solution_str: str, ground_truth: Any, extra_info: Mapping[str, Any], *, k: int, **options: Any
) -> dict[str, float]:
    """Reward a completion of verl as `DiversityReward` does, once the k completions to its prompt are there.

    The prompt is `extra_info["prompt"]`, or known by `extra_info["index"]`. Options: those of `DiversityReward`, but
    `quality` is a reward function of verl's form by its name, `verl.utils.reward_score:default_compute_score`; and
    `timeout`, the seconds to wait for a group. The group's values are beside the score, as `diversity/…`.
    """
    timeout, prompt = options.pop("timeout", 600), _verl_prompt(data_source, extra_info)
    given = (solution_str, ground_truth, extra_info)
    waiting = _WAITING.setdefault(prompt, [])
    reply: asyncio.Future[dict[str, float]] = asyncio.get_running_loop().create_future()
    waiting.append((given, reply))
    if len(waiting) == k:
        del _WAITING[prompt]
        texts, truths, infos = zip(*(each for each, _ in waiting), strict=True)
        rows = compute_scores([data_source] * k, texts, truths, infos, k=k, **options)
        for (_, other), row in zip(waiting, rows, strict=True):
            other.set_result(row)
    try:
        return await asyncio.wait_for(reply, timeout)
    except TimeoutError:
        message = f"{len(waiting)} of {k} completions to {prompt[:40]!r} came in {timeout} seconds"
        raise InputError(message, "give k as rollout.n, and set reward.num_workers to 1") from None


def compute_scores(
    data_sources: Sequence[str],
    solution_strs: Sequence[str],
    ground_truths: Sequence[Any],
    extra_infos: Sequence[Mapping[str, Any]],
    *,
    k: int,
    quality: str | None = None,
    **options: Any,
) -> list[dict[str, float]]:
    """Reward the completions of a batch, for verl's batch reward manager; options as in `compute_score`."""
    chosen = {name: value for name, value in options.items() if name in _OPTIONS}
    rows = list(zip(data_sources, solution_strs, ground_truths, extra_infos, strict=True))
    qualities = None
    if quality is not None:
        module, _, name = quality.partition(":")
        score = getattr(import_module(module), name)
        qualities = [float(score(source, text, truth, info)) for source, text, truth, info in rows]
        chosen["quality"] = score  # never called by the reward itself
    reward = _for_verl(k, tuple(sorted(chosen.items())))
    prompts = [_verl_prompt(source, info) for source, _, _, info in rows]
    values, rewards = reward.measure(prompts, solution_strs, qualities)
    return [{"score": 0.0 if reward is None else reward} | values for reward in rewards]


def _verl_prompt(source: str, info: Mapping[str, Any] | None) -> str:
    for name in ("prompt", "index"):
        if info and info.get(name) is not None:
            return str(info[name]) if name == "prompt" else f"{source} {info[name]}"
    raise InputError("verl's extra_info has neither prompt nor index", "add one to the dataset: groups are made by it")
