"""Diversity of the rollouts of reinforcement learning, from the completions that training samples anyway.

TRL (GRPO, RLOO and others that call reward functions); with weight 0 it only monitors:

    from divbench.integrations.rollouts import DiversityReward
    GRPOTrainer(..., reward_funcs=[correct, DiversityReward()], args=GRPOConfig(reward_weights=[1.0, 0.0], ...))

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
from typing import Any

import numpy as np
from scipy.stats import t as student

from benchmark.metrics.metric import Missing
from benchmark.metrics.partition import Partition
from benchmark.validity.backend import Reasons
from divbench.core.errors import ConfigurationError, InputError, counted
from divbench.integrations.groups import CollapseWarning, check_headline, group_scorer, metric_names

_VALIDITY = "valid_distinct_k"  # brings classes and reasons, from which rewards are made
Quality = Callable[..., Sequence[float | None]]


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
    not valid, is blank, or has a quality below the gate. None if validity cannot be judged. With several processes each
    scores some groups, and all log the same.

    Args:
        metrics: Ids of metrics, separated by commas or as a list; the headline is added.
        profile: Name of a profile; `lexical` needs no model and takes milliseconds.
        quality: Another reward function, called with the same arguments; None: 1 for each valid completion.
        gate: Lowest quality that is rewarded.
        k: Size of a group; None: all completions to a prompt in a step. Needed where prompts repeat within a step.
        headline: Id of the metric that shows a collapse; never negative, and higher for more diverse.
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
        gate: float = -math.inf,
        k: int | None = None,
        headline: str = _VALIDITY,
        window: int = 32,
        drop: float = 0.5,
        patience: int = 3,
    ) -> None:
        if not 0 < drop < 1 or window < 8 or patience < 1 or (k is not None and k < 2):
            raise ConfigurationError("drop is in (0, 1), window at least 8, patience 1, k 2", "fix the options")
        self._scorer = group_scorer(tuple(dict.fromkeys((headline, *metric_names(metrics), _VALIDITY))), profile)
        check_headline(self._scorer.metrics[0])
        self.signatures = self._scorer.signatures
        self._quality, self._gate, self._k = quality, gate, k
        self._headline, self._drop, self._patience = headline, drop, patience
        self._first: list[float] = []
        self._last: deque[float] = deque(maxlen=window)
        self.changes: list[Change] = []
        self.seconds = 0.0
        self._scored([("", "one"), ("", "two")], [[0, 1]])  # loads all models, so that what fails fails before training

    def __call__(self, prompts: Sequence[Any], completions: Sequence[Any], **kwargs: Any) -> list[float | None]:
        """Return a reward for each completion, as TRL's trainers ask for it, and log by their `log_metric`."""
        values, rewards = self._measured(
            prompts, completions, getattr(kwargs.get("trainer_state"), "global_step", None)
        )
        if (log := kwargs.get("log_metric")) is not None:
            for name, value in values.items():
                log(name, value)
        if self._quality is None:
            return rewards
        qualities = list(self._quality(prompts=prompts, completions=completions, **kwargs))
        if len(qualities) != len(rewards):
            message = f"quality gave {len(qualities)} values for {counted(len(rewards), 'completion')}"
            raise InputError(message, "give one for each")
        if wrong := [q for q in qualities if q is not None and not math.isfinite(q)]:
            raise InputError(f"quality gave {wrong[0]}, not a finite number", "give numbers, None for no quality")
        return [
            None if reward is None or q is None else reward * q if q >= self._gate else 0.0
            for reward, q in zip(rewards, qualities, strict=True)
        ]

    def observe(self, prompts: Sequence[Any], completions: Sequence[Any], step: int | None = None) -> dict[str, float]:
        """Measure the completions of a step, given with the prompt of each, and return the values by name."""
        return self._measured(prompts, completions, step)[0]

    @property
    def collapsed(self) -> bool:
        """Whether the last `patience` steps show a collapse."""
        last = self.changes[-self._patience :]
        return len(last) == self._patience and all(change.collapsed for change in last)

    def _measured(
        self, prompts: Sequence[Any], completions: Sequence[Any], step: int | None
    ) -> tuple[dict[str, float], list[float | None]]:
        started = time.perf_counter()
        if len(prompts) != len(completions) or not completions:
            message = f"{counted(len(prompts), 'prompt')} for {counted(len(completions), 'completion')}"
            raise InputError(message, "give each completion its prompt, and at least one group")
        own = [
            (_text(prompt, "user"), _text(made, "assistant")) for prompt, made in zip(prompts, completions, strict=True)
        ]
        ranks = _gathered(own)
        rank = next(i for i, part in enumerate(ranks) if part is own)
        texts = [pair for part in ranks for pair in part]
        groups = self._groups(texts)
        mine = self._scored(texts, groups[rank :: len(ranks)])
        by_rank = _gathered(mine)
        scored = [by_rank[i % len(ranks)][i // len(ranks)] for i in range(len(groups))]
        rewards: list[float | None] = [None] * len(texts)
        for group, (_, of_group) in zip(groups, scored, strict=True):
            for position, reward in zip(group, of_group, strict=True):
                rewards[position] = reward
        start = sum(map(len, ranks[:rank]))
        values = self._summary([row for row, _ in scored], step)
        self.seconds += time.perf_counter() - started
        return values, rewards[start : start + len(own)]

    def _groups(self, texts: Sequence[tuple[str, str]]) -> list[list[int]]:
        """Group positions of completions by prompt, and by k if it is given."""
        by_prompt: dict[str, list[int]] = {}
        for position, (prompt, _) in enumerate(texts):
            by_prompt.setdefault(prompt, []).append(position)
        groups = []
        for positions in by_prompt.values():
            size = self._k or len(positions)
            groups += [positions[start : start + size] for start in range(0, len(positions), size)]
        for group in groups:
            if len(group) < 2 or (self._k is not None and len(group) < self._k):
                message = f"the prompt {texts[group[0]][0][:40]!r} has a group of {counted(len(group), 'completion')}"
                raise InputError(message, "sample several to each prompt in one step, and give their number as k")
        return groups

    def _scored(
        self, texts: Sequence[tuple[str, str]], groups: Sequence[Sequence[int]]
    ) -> list[tuple[dict[str, float], list[float | None]]]:
        """Return the values of each group, NaN for missing ones, and the rewards of its completions."""
        if not groups:
            return []
        materials = self._scorer.materials(
            [texts[group[0]][0] for group in groups], [[texts[i][1] for i in group] for group in groups]
        )
        rows = self._scorer.values(materials)
        return [
            (
                {name: value if isinstance(value, float) else math.nan for name, value in row.items()},
                _shares(partition, reasons, len(group)),
            )
            for row, group, partition, reasons in zip(
                rows, groups, materials.partitions or (), materials.reasons or (), strict=True
            )
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


def _shares(partition: Partition | Missing, reasons: Reasons | Missing, k: int) -> list[float | None]:
    """Return for each valid completion the share of the others that say something else; 0 for the invalid ones."""
    if isinstance(partition, Missing) or isinstance(reasons, Missing):
        return [None] * k
    sizes = Counter(partition.labels)
    return [
        0.0 if label is None or reason is not None else (k - sizes[label]) / (k - 1)
        for label, reason in zip(partition.labels, reasons, strict=True)
    ]


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


_WAITING: dict[str, list[tuple[str, asyncio.Future[dict[str, float]]]]] = {}


async def compute_score(
    data_source: str, solution_str: str, ground_truth: Any, extra_info: Mapping[str, Any], *, k: int, **options: Any
) -> dict[str, float]:
    """Reward a completion of verl as `DiversityReward` does, once the k completions to its prompt are there.

    The prompt is `extra_info["prompt"]`, or is known by `extra_info["index"]`. Options are those of `DiversityReward`,
    and `timeout`, the seconds to wait for a group. The group's values are beside the score, as `diversity/…`.
    """
    timeout = options.pop("timeout", 600)
    prompt = _verl_prompt(data_source, extra_info)
    waiting = _WAITING.setdefault(prompt, [])
    reply: asyncio.Future[dict[str, float]] = asyncio.get_running_loop().create_future()
    waiting.append((solution_str, reply))
    if len(waiting) == k:
        del _WAITING[prompt]
        texts = [text for text, _ in waiting]
        rows = compute_scores([data_source] * k, texts, [None] * k, [{"prompt": prompt}] * k, k=k, **_plain(options))
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
    **options: Any,
) -> list[dict[str, float]]:
    """Reward the completions of a batch, for verl's batch reward manager (versions before 0.8); as `compute_score`."""
    reward = _for_verl(k, tuple(sorted(_plain(options).items())))
    prompts = [_verl_prompt(source, info) for source, info in zip(data_sources, extra_infos, strict=True)]
    values, rewards = reward._measured(prompts, solution_strs, None)
    return [{"score": 0.0 if score is None else score} | values for score in rewards]


def _plain(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of `DiversityReward`; verl adds others, such as the address of a reward model."""
    return {name: value for name, value in options.items() if name in _OPTIONS}


_OPTIONS = ("metrics", "profile", "headline", "window", "drop", "patience")


def _verl_prompt(source: str, info: Mapping[str, Any] | None) -> str:
    for name in ("prompt", "index"):
        if info and info.get(name) is not None:
            return str(info[name]) if name == "prompt" else f"{source} {info[name]}"
    raise InputError("verl's extra_info has neither prompt nor index", "add one to the dataset: groups are made by it")
