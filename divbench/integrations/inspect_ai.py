"""Inspect (UK AI Security Institute): tasks for our suites, a scorer for any log with epochs, and an epoch reducer.

    inspect eval divbench/noveltybench --model openai/gpt-x -T k=10
    inspect score logs/FILE.eval --scorer divbench/diversity

The scorer keeps the texts of each epoch, and its metrics read all epochs at once: their means and intervals are those
of `divbench.score` on the same responses, truncated ones and refusals included. Installed with the extra `inspect`.
"""

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from inspect_ai import Epochs, Task, task
from inspect_ai._util.error import PrerequisiteError  # printed as a sentence, without a traceback
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import GenerateConfig
from inspect_ai.scorer import Metric, SampleScore, Score, Scorer, ScoreReducer, Target, metric, score_reducer, scorer
from inspect_ai.solver import TaskState, generate

from benchmark.scoring.inputs import Value
from datasets_build.load import load_suite
from divbench.integrations.groups import HEADLINES, group_scorer, metric_names
from divbench.scores import score
from submissions.checking.response_kinds import is_refusal, is_scorable
from submissions.importing.inspect_logs import COMPLETIONS

_TRUNCATED = ("max_tokens", "model_length")
_NO_REPEATS = "a sample has one response, and diversity is that of several: run with --epochs 10"


@task
def demo(k: int = 4, metrics: str = HEADLINES, profile: str | None = None) -> Task:
    """The 24 prompts of the demo suite, k responses to each."""
    return _suite_task("demo", k, metrics, profile, None)


@task
def noveltybench(
    split: str = "curated", k: int = 10, metrics: str = HEADLINES, profile: str | None = None, mirror: str | None = None
) -> Task:
    """NoveltyBench's prompts (arXiv:2504.05228), `curated` or `wildchat`, k responses to each."""
    return _suite_task(f"noveltybench-{split}", k, metrics, profile, mirror)


@task
def gssbench(k: int = 10, metrics: str = HEADLINES, profile: str | None = None, mirror: str | None = None) -> Task:
    """The prompts of GSSBench's pairs (arXiv:2510.12699), k responses to each."""
    return _suite_task("gssbench", k, metrics, profile, mirror)


def _suite_task(suite: str, k: int, metrics: str, profile: str | None, mirror: str | None) -> Task:
    prompts = load_suite(suite, None if mirror is None else Path(mirror)).prompts
    samples = [Sample(id=p.prompt_id, input=p.prompt, metadata={"category": p.category}) for p in prompts]
    return Task(
        dataset=MemoryDataset(samples, name=suite),
        solver=generate(),
        scorer=diversity(metrics, profile),
        epochs=Epochs(k, diversity_of_epochs(metrics, profile)),
        metrics=[prompts_and_means(), headline()],
        config=GenerateConfig(temperature=1.0),
    )


@metric(scores="unreduced")
def prompts_and_means() -> Metric:
    """Means over prompts with 95% intervals, as `divbench.score` computes them, from all epochs of all samples."""

    def compute(scores: list[SampleScore]) -> dict[str, float]:
        by_sample: dict[Any, list[dict[str, Any]]] = {}
        for sample in scores:
            by_sample.setdefault(sample.sample_id, []).append(_metadata(sample.score))
        groups = [sorted(epochs, key=lambda epoch: int(epoch["epoch"])) for epochs in by_sample.values()]
        if not groups:
            return {}
        texts = [[text for epoch in epochs for text in epoch["responses"]] for epochs in groups]
        ended = [[reason for epoch in epochs for reason in epoch["finish_reasons"]] for epochs in groups]
        sizes = sorted(map(len, texts))
        k, left_out = sizes[0], sum(sizes) - sizes[0] * len(sizes)
        values: dict[str, float] = {"prompts": len(sizes), "k": k}
        if k < 2:  # also in the middle of a run, for whose display this is called; so it is no error
            return values | {_NO_REPEATS: float("nan")}
        if left_out:  # samples of unequal epochs: the first k of each are scored
            values["responses left out, for an equal k"] = left_out
        sets = [
            {"prompt": epochs[0]["prompt"], "responses": own[:k]} for epochs, own in zip(groups, texts, strict=True)
        ]
        first = groups[0][0]
        means = score(
            sets, first["metrics"], profile=first["profile"], finish_reasons=[reasons[:k] for reasons in ended]
        ).means
        for mean in means:
            ends = {"": mean.value, "_low": mean.low, "_high": mean.high}
            values |= {f"{mean.metric}{end}": float("nan") if v is None else v for end, v in ends.items()}
            values |= {f"{mean.metric}_missing": sum(mean.missing.values())} if mean.missing else {}
        return values

    return compute


@metric(scores="reduced")
def headline() -> Metric:
    """Mean over samples of what the epoch reducer `divbench/diversity` made of each: its first metric."""

    def compute(scores: list[SampleScore]) -> float:
        return sum(sample.score.as_float() for sample in scores) / len(scores) if scores else float("nan")

    return compute


@scorer(metrics=[prompts_and_means()])
def diversity(metrics: str | list[str] = HEADLINES, profile: str | None = None) -> Scorer:
    """Keep the responses of each epoch for `prompts_and_means`, with the signatures of the values to come.

    The value of an epoch is 1 if its response counts, 0 if it is blank, a placeholder or a refusal.

    Args:
        metrics: Ids of metrics, separated by commas.
        profile: Name of a profile; None: as in `divbench.score`.
    """
    names = metric_names(metrics)
    signatures = group_scorer(names, profile).signatures

    async def keep(state: TaskState, target: Target) -> Score:
        texts, reasons = _responses(state)
        kept = {"prompt": _prompt(state), "responses": texts, "finish_reasons": reasons, "epoch": state.epoch}
        counts = any(is_scorable(text) and not is_refusal(text) for text in texts)
        chosen = {"metrics": list(names), "profile": profile, "signatures": signatures}
        return Score(value=int(counts), answer=texts[0] if texts else "", metadata={"divbench": kept | chosen})

    return keep


@score_reducer(name="divbench/diversity")
def diversity_of_epochs(metrics: str | list[str] = HEADLINES, profile: str | None = None) -> ScoreReducer:
    """Reduce a sample's epochs to its diversity: `Epochs(10, "divbench/diversity")`, with any scorer that has answers.

    The value is that of the first metric; all values, their signatures and the reasons for missing ones are in the
    score's metadata. The prompt is known only with the scorer `divbench/diversity`.
    """
    of_groups = group_scorer(metric_names(metrics), profile)

    @lru_cache(10_000)  # a run reduces its samples again and again, for its display
    def values_of(prompt: str, texts: tuple[str, ...], reasons: tuple[str | None, ...]) -> dict[str, Value]:
        [values] = of_groups.values(of_groups.materials([prompt], [texts], [reasons]))
        return values

    def reduce(scores: list[Score]) -> Score:
        kept = [_metadata(epoch) if "divbench" in (epoch.metadata or {}) else _answer(epoch) for epoch in scores]
        texts = [text for epoch in kept for text in epoch["responses"]]
        if len(texts) < 2:
            return Score(value=float("nan"), explanation=_NO_REPEATS)
        reasons = [reason for epoch in kept for reason in epoch["finish_reasons"]]
        values = values_of(kept[0]["prompt"], tuple(texts), tuple(reasons))
        numbers = {name: value for name, value in values.items() if isinstance(value, float)}
        missing = {name: value.reason for name, value in values.items() if not isinstance(value, float)}
        first = of_groups.metrics[0].id
        found = {"values": numbers, "missing": missing, "signatures": of_groups.signatures, "k": len(texts)}
        return Score(
            value=numbers.get(first, float("nan")), explanation=missing.get(first), metadata={"divbench": found}
        )

    return reduce


def _metadata(kept: Score) -> dict[str, Any]:
    if "divbench" not in (kept.metadata or {}):
        raise PrerequisiteError("These scores have no responses: score the log with --scorer divbench/diversity")
    metadata: dict[str, Any] = kept.metadata["divbench"]
    return metadata


def _answer(other: Score) -> dict[str, Any]:
    """Return what another scorer says of its response."""
    if other.answer is None:
        raise PrerequisiteError(
            "A score has no answer, so there is no text to compare: use the scorer divbench/diversity"
        )
    return {"prompt": "", "responses": [other.answer], "finish_reasons": [None]}


def _prompt(state: TaskState) -> str:
    """Return the last user message."""
    if not isinstance(state.input, str):
        for message in state.input:
            _check_texts(message.content, f"the input of sample {state.sample_id}")
    return str(state.input_text)


def _responses(state: TaskState) -> tuple[list[str], list[str | None]]:
    """Return the texts of an epoch, and why each ended: of all choices, or of a state that was forked."""
    forked = state.metadata.get(COMPLETIONS)
    if isinstance(forked, Sequence) and forked and all(isinstance(text, str) for text in forked):
        return list(forked), [None] * len(forked)
    texts: list[str] = []
    reasons: list[str | None] = []
    for choice in state.output.choices:
        where = f"epoch {state.epoch} of sample {state.sample_id}"
        if getattr(choice.message, "tool_calls", None):
            name = choice.message.tool_calls[0].function
            hint = "score a task whose last message is the answer"
            raise PrerequisiteError(f"The response of {where} is a call of the tool {name}, not a text: {hint}")
        _check_texts(choice.message.content, where)
        texts.append(choice.message.text)
        reasons.append("length" if choice.stop_reason in _TRUNCATED else choice.stop_reason)
    return texts, reasons


def _check_texts(content: Any, where: str) -> None:
    """Refuse what is not text; reasoning is left out, as it is no part of a response."""
    kinds = () if isinstance(content, str) else [part.type for part in content]
    if other := [kind for kind in kinds if kind not in ("text", "reasoning")]:
        raise PrerequisiteError(f"There is {other[0]} content in {where}, and diversity is that of texts")
