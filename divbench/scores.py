"""Score response sets: a value per set and metric, and means with bootstrap intervals over sets."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from html import escape
from math import isfinite
from numbers import Integral, Real
from typing import Any, TypedDict, Unpack, overload

import numpy as np
import pandas as pd

from benchmark.analysis.contrast.equal_numbers import counts_all, equal_positions, kinds_of, without_answer
from benchmark.metrics import METRICS, Metric
from benchmark.metrics.metric import ARROWS, Missing
from benchmark.scoring.backends import ScoringBackends, beyond_text
from benchmark.scoring.estimate import bootstrap_means
from benchmark.scoring.inputs import Value, computed, input_of, metrics_from, score_sets
from benchmark.scoring.profiles import PROFILES, Profile, find_profile
from benchmark.scoring.results import signature_line
from benchmark.scoring.shards import FIRST_PROMPTS, divided
from benchmark.surprisal.engine import ResponseSet
from benchmark.validity.features import asks
from benchmark.validity.record import load_record
from benchmark.validity.stated import Verdicts, stated_by_rewards
from divbench.core.console import steps
from divbench.core.errors import ConfigurationError, InputError, MissingExtra, counted, did_you_mean, need
from divbench.core.tables import Cell, Styled, Table, interval, number, printable, to_latex, to_text
from divbench.data import beside, response_sets, split_by
from divbench.plots import Plot, Row
from leaderboard.data.board import RANKED_BY
from submissions.checking.response_kinds import READS_ENGLISH, is_foreign_set, scorable_responses
from submissions.importing.imported import NOT_SPLIT, ImportOptions
from submissions.untrusted.plain_text import shortened

# Profiles for metrics that depend on models, the fastest first. *lexical* is not among them: its equivalence classes
# are based on shared words, so its `distinct_k` is not the one on the board.
_WITH_MODELS = ("semantic", "offline")
Read = tuple[tuple[str, ...], tuple[str, ...], tuple[tuple[str, ...], ...]]  # names, prompts and responses of sets

# Stated validity and finish reasons of each set's responses; None if there are none.
Beside = tuple[Sequence[Verdicts] | None, Sequence[tuple[str | None, ...]] | None]


@dataclass(frozen=True, slots=True)
class Mean:
    """The mean of a metric over response sets.

    Attributes:
        metric: Id of the metric.
        direction: +1 if higher is more diverse, −1 if lower is, 0 if neither.
        value: Mean over the sets that have a value; None if there are none.
        low: Lower end of the 95% percentile bootstrap interval over sets; None for fewer than two sets.
        high: Upper end; None likewise.
        n: Number of sets with a value.
        missing: Number of sets without a value, by reason.
    """

    metric: str
    direction: int
    value: float | None
    low: float | None
    high: float | None
    n: int
    missing: dict[str, int]


@dataclass(frozen=True, slots=True, repr=False)
class Scores:
    """Scores of response sets.

    Attributes:
        profile: Name of the profile that computed them.
        names: [sets], the prompts if they were given, otherwise `set 1`, `set 2`, ….
        values: By metric id, [sets], a number or `Missing` with its reason.
        means: One per metric.
        sizes: [sets], their numbers of responses.
        signatures: By metric id, everything that its values depend on besides the texts: version, parameters, models
            with revisions, profile and package. Publish it with a number; values of different signatures are not
            comparable.
        foreign: Number of sets that, or whose prompts, are in a language other than English.
        estimated: Number of sets whose validity is a rough estimate, for lack of judged responses to their prompts.
        free: Number of these whose prompts ask for nothing, so that only junk is not valid.
        notes: What was removed from the responses or may be a mistake in them, such as thinking text.
        scored: [sets], their numbers of scored responses, which are neither blank nor placeholders; empty: all are.
        counts: Numbers of responses, and of those without an answer by kind.
        beyond: Number of responses of which the embedder read only the beginning.
    """

    profile: str
    names: tuple[str, ...]
    values: dict[str, tuple[float | Missing, ...]]
    means: tuple[Mean, ...]
    sizes: tuple[int, ...]
    signatures: dict[str, str]
    foreign: int = 0
    estimated: int = 0
    free: int = 0
    notes: tuple[str, ...] = ()
    scored: tuple[int, ...] = ()
    counts: dict[str, int] = field(default_factory=dict)
    beyond: int = 0

    def to_pandas(self) -> pd.DataFrame:
        """A row per response set and a column per metric; NaN where a value is missing."""
        columns = {
            name: [value if isinstance(value, float) else float("nan") for value in column]
            for name, column in self.values.items()
        }
        return pd.DataFrame(columns, index=pd.Index(self.names, name="prompt"))

    def summary(self) -> pd.DataFrame:
        """A row per metric: mean, ends of its 95% interval, and the numbers of sets with and without a value."""
        rows = [(m.metric, m.value, m.low, m.high, m.n, sum(m.missing.values())) for m in self.means]
        table = pd.DataFrame(rows, columns=["metric", "mean", "low", "high", "sets", "missing"]).set_index("metric")
        return table.astype({"mean": float, "low": float, "high": float})

    def missing(self) -> dict[str, dict[str, int]]:
        """Reasons for missing values, with their counts, by metric id; empty if there are none."""
        return {mean.metric: mean.missing for mean in self.means if mean.missing}

    def plot(self) -> Plot:
        """The distribution of each metric over the sets: a plotly figure that `save` writes as PDF, SVG or PNG."""
        panels = []
        for mean in self.means:
            values = tuple(value for value in self.values[mean.metric] if isinstance(value, float))
            rows = (Row("mean", mean.value, mean.low, mean.high), Row("sets", None, points=values))
            panels.append((f"{mean.metric} {ARROWS[mean.direction]}".strip(), rows))
        return Plot(tuple(panels), "value", draw=self._boxes)

    def to_latex(self) -> str:
        """The means as a table in LaTeX, which needs no package."""
        return to_latex(self.table())

    def _boxes(self) -> Any:
        points = self.to_pandas().melt(var_name="metric", ignore_index=False).reset_index()
        points["prompt"] = [escape(shortened(name, 80), quote=False) for name in points["prompt"]]
        height = 120 + 110 * len(self.means)
        figure = need("plotly.express", "board").box(
            points, x="value", facet_row="metric", points="all", hover_name="prompt", height=height
        )
        return figure.update_xaxes(matches=None, showticklabels=True)

    def table(self) -> Table:
        """The means as a table for the terminal, Markdown or CSV."""
        rows: list[list[Cell]] = []
        headlines = {name: place for place, name in enumerate(RANKED_BY)}
        for mean in sorted(self.means, key=lambda mean: headlines.get(mean.metric, len(headlines))):
            missing = "; ".join(f"{count}: {reason}" for reason, count in mean.missing.items())
            numbers = (number(mean.value), interval(mean.low, mean.high), mean.n)
            rows.append([Styled(f"{mean.metric} {ARROWS[mean.direction]}".strip(), "code"), *numbers, missing])
        columns = ["metric", "mean", "95% interval", "sets", "missing"]
        count = counted(len(self.names), "response set")
        return Table(f"{count}, profile {self.profile}", columns, rows)

    def __str__(self) -> str:
        """The means as a table."""
        return to_text(self.table()) + self._note()

    __repr__ = __str__  # shown at a Python prompt

    def _repr_html_(self) -> str:
        """The means for a notebook; pandas escapes them."""
        return f"{self.summary().to_html(float_format='{:.4f}'.format)}{self._note()}"

    def _note(self) -> str:
        """What limits the scores: responses that are blank or not read whole, other languages, estimated validity."""
        sets, notes = counted(len(self.names), "response set"), ""
        if self.counts and (said := without_answer(self.counts)):
            notes += f"\nWithout an answer: {said}."
        if self.beyond:
            notes += f"\n{beyond_text(self.beyond, sum(self.scored))}."
        if self.foreign:
            notes += f"\n{self.foreign} of {sets} in a language other than English: {READS_ENGLISH}."
        if self.estimated:
            why = "without judged responses to compare with"
            notes += f"\n{self.estimated} of {sets} {why}: validity is a rough estimate."
        if self.free:
            notes += f"\n{self.free} of {sets} to prompts that ask for nothing: only junk is not valid."
        return notes + "".join(f"\n{printable(note[:1].upper() + note[1:])}." for note in self.notes)


class Settings(TypedDict, total=False):
    """The other arguments of `score`."""

    field: str | None
    prompt_field: str | None
    keep_thinking: bool
    clean: bool
    profile: str | Profile | None
    rewards: Any
    threshold: float | None
    quantile: float | None
    valid: Any
    finish_reasons: Any
    resamples: int
    seed: int


@overload
def score(
    sets: Any, metrics: str | Iterable[str] | None = None, *, by: None = None, **settings: Unpack[Settings]
) -> Scores: ...


@overload
def score(
    sets: Any, metrics: str | Iterable[str] | None = None, *, by: str, **settings: Unpack[Settings]
) -> dict[str, Scores]: ...


def score(  # noqa: PLR0913 - all are keywords
    sets: Any,
    metrics: str | Iterable[str] | None = None,
    *,
    by: str | None = None,
    field: str | None = None,
    prompt_field: str | None = None,
    keep_thinking: bool = False,
    clean: bool = False,
    profile: str | Profile | None = None,
    rewards: Any = None,
    threshold: float | None = None,
    quantile: float | None = None,
    valid: Any = None,
    finish_reasons: Any = None,
    resamples: int = 10_000,
    seed: int = 0,
) -> Scores | dict[str, Scores]:
    """Score the diversity of response sets.

    Args:
        sets: A mapping from prompt to responses; a list of lists of responses; or a table: a pandas DataFrame, a
            `datasets.Dataset` or a list of dicts. A table has the columns `prompt` and either `responses`, a list in
            each row, or `response`, one text in each row; common other names, such as `outputs` and `question`, work
            too. The prompt is optional where rows hold lists. A path, such as `"responses.jsonl"`, is read as
            `divbench import` does; its prompts are optional.
        metrics: Ids of metrics, or the name of a profile for all of its metrics; None: all of the profile's.
        by: Column that names the system of each row: the scores of each value are returned, by value. With "none", rows
            that differ in such columns count as one system, under that name.
        field: Column of the responses, in a file with dots for inner fields; None: detected by its name.
        prompt_field: Column of the prompts; None: detected likewise.
        keep_thinking: Keep thinking text such as `<think>…</think>`, which is removed by default, with a note.
        clean: Remove control tokens, roles, HTML entities and other traces of tools, with a note.
        profile: Name of a profile, or your own; None: `lexical` if no metric needs a model, else `semantic`, or
            `offline` if a metric needs surprisals.
        rewards: A number for each response, from any reward model: a column of the table, a mapping from prompt to
            numbers, or a list per set. With `threshold` or `quantile` they decide which responses are valid, in place
            of the profile's judgement; None for a response leaves its set without the metrics that need it.
        threshold: Lowest reward of a valid response.
        quantile: The same as a quantile of all rewards in the call, so it compares a system with itself alone.
        valid: A boolean for each response, in the same forms: whether it is correct. `valid_distinct_k` then counts
            different correct responses, and pass@k is beside it.
        finish_reasons: In the same forms, why each response ended, or None; *length* marks a truncated one.
        resamples: Number of bootstrap resamples over sets.
        seed: Random seed of the bootstrap.

    Returns:
        A value for each set and metric, or the reason why it is missing, and means with intervals.

    Raises:
        InputError: The sets have another form, or a response is not a string.
        ConfigurationError: There is no such metric or profile, the profile lacks a model for a metric, a model cannot
            be loaded, or a number is negative.
        MissingExtra: A library that a metric needs is not installed.

    >>> print(score({"Name a colour.": ["Red.", "Blue.", "Red."]}, metrics=["type_token_ratio"]).means[0].value)
    0.6666666666666666
    """
    check_resampling(resamples, seed)
    options = ImportOptions(field, prompt_field, by=by, keep_thinking=keep_thinking, clean=clean)
    stated = {"rewards": rewards, "valid": valid, "finish_reasons": finish_reasons}
    parts: dict[str, tuple[Any, str | None]] = {by or "": (sets, None)}
    if by is not None and by != NOT_SPLIT:
        parts = split_by(sets, by)
        if any(values is not None and not isinstance(values, str) for values in stated.values()):
            raise ConfigurationError("by splits a table, not what is given beside it", "name columns of the table")
    scores: dict[str, Scores] = {}
    for system, (part, only) in parts.items():
        notes: list[str] = []
        read = response_sets(part, replace(options, only=only), notes)
        each = {
            what: None if values is None else beside(part, values, what, read[0], read[2])
            for what, values in stated.items()
        }
        rule, verdicts = _verdicts(each["rewards"], each["valid"], threshold, quantile)
        columns = verdicts, _finish_reasons(each["finish_reasons"])
        [own] = _score_systems([read], metrics, profile, resamples, seed, stated=rule, beside=columns)
        scores[system] = replace(own, notes=tuple(notes))
    return scores if by is not None else scores[""]


def _verdicts(
    rewards: Sequence[tuple[Any, ...]] | None,
    valid: Sequence[tuple[Any, ...]] | None,
    threshold: float | None,
    quantile: float | None,
) -> tuple[str | None, list[Verdicts] | None]:
    """Return the rule of what is stated of responses, and which are valid; None if nothing is stated."""
    if rewards is not None and valid is not None:
        raise ConfigurationError("both rewards and valid are given", "give one: each says which responses are valid")
    if rewards is None and (threshold is not None or quantile is not None):
        raise ConfigurationError("threshold and quantile are for rewards", "give rewards=")
    for value in (value for row in rewards or () for value in row):
        if value is not None and (isinstance(value, bool) or not isinstance(value, Real) or not isfinite(value)):
            raise InputError(
                f"a reward is {value!r:.40}, not a finite number", "give a number, or None if there is none"
            )
    for value in (value for row in valid or () for value in row):
        if value is not None and not isinstance(value, bool | np.bool_):
            raise InputError(f"a value of valid is {value!r:.40}", "give True or False, or None if it is not known")
    if valid is not None:
        return "valid", [tuple(None if value is None else bool(value) for value in row) for row in valid]
    if rewards is None:
        return None, None
    stated = stated_by_rewards(
        dict(zip(map(str, range(len(rewards))), rewards, strict=True)), "rewards", threshold, quantile
    )
    return stated.rule, list(stated.verdicts.values())


def _finish_reasons(column: Sequence[tuple[Any, ...]] | None) -> Sequence[tuple[str | None, ...]] | None:
    if wrong := [reason for row in column or () for reason in row if not isinstance(reason, str | None)]:
        raise InputError(f"a finish reason is {wrong[0]!r:.40}", "give texts such as 'stop' and 'length', or None")
    return column


def score_all(
    systems: Sequence[Any],
    metrics: str | Iterable[str] | None,
    *,
    profile: str | Profile | None = None,
    resamples: int,
    seed: int,
    equal: bool = False,
) -> list[Scores]:
    """Score the response sets of several systems as `score` does; each model is loaded once.

    With `equal`, sets of one name are scored on equal numbers of responses; see contrast/equal_numbers.py.
    """
    check_resampling(resamples, seed)
    notes: list[list[str]] = [[] for _ in systems]
    read = [response_sets(sets, notes=said) for sets, said in zip(systems, notes, strict=True)]
    if equal:
        read = _with_equal_k(read)
    scores = _score_systems(read, metrics, profile, resamples, seed, equal=equal)
    return [replace(own, notes=tuple(said)) for own, said in zip(scores, notes, strict=True)]


def _score_systems(
    systems: Sequence[Read],
    metrics: str | Iterable[str] | None,
    profile: str | Profile | None,
    resamples: int,
    seed: int,
    *,
    stated: str | None = None,
    beside: Beside = (None, None),
    equal: bool = False,
) -> list[Scores]:
    """Score systems, given as `response_sets` returns them."""
    chosen, selected = choose_metrics(metrics, profile, stated)
    backends = ScoringBackends(chosen)
    try:
        scores = [_score(*system, selected, backends, resamples, seed, beside) for system in systems]
        if not equal:
            return scores
        cut = [metric for metric in selected if not counts_all(metric)]
        return _on_equal_numbers(scores, systems, lambda own: _score(*own, cut, backends, 0, seed, beside))
    except MissingExtra as error:
        lexical = {m.id for m in find_profile("lexical").metrics()}
        if profile is not None or chosen.name == "lexical" or not {m.id for m in selected} <= lexical:
            raise
        hint = f"{error.hint}; or choose profile='lexical', which groups responses by their words"
        raise MissingExtra(error.message, hint) from error
    except ConfigurationError as error:
        if "--" not in error.hint:
            raise
        changed = f"find_profile({chosen.name!r}).replace(embedder='ORG/NAME@COMMIT')"
        hint = (
            f"{error.hint}; in Python, give a profile of your own: profile={changed}, from benchmark.scoring.profiles"
        )
        raise type(error)(error.message, hint) from error


def _with_equal_k(systems: Sequence[Read]) -> list[Read]:
    """Cut the sets of each name to the smallest number of responses, from the first."""
    least: dict[str, int] = {}
    for names, _, responses in systems:
        for name, texts in zip(names, responses, strict=True):
            least[name] = min(least.get(name, len(texts)), len(texts))
    return [
        (names, prompts, tuple(texts[: least[name]] for name, texts in zip(names, responses, strict=True)))
        for names, prompts, responses in systems
    ]


def _on_equal_numbers(scores: list[Scores], systems: Sequence[Read], again: Callable[[Read], Scores]) -> list[Scores]:
    """Replace the values of metrics by those on equal numbers of scored responses, where the numbers differ."""
    texts = {str(i): dict(zip(names, responses, strict=True)) for i, (names, _, responses) in enumerate(systems)}
    for i, (own, kept) in enumerate(zip(scores, equal_positions(texts).values(), strict=True)):
        if kept:
            names, prompts, _ = systems[i]
            sets = texts[str(i)]
            cut = tuple(tuple(sets[n][p] for p in kept[n]) if n in kept else sets[n] for n in names)
            scores[i] = replace(own, values=own.values | again((names, prompts, cut)).values)
    return scores


def check_resampling(resamples: int, seed: int) -> None:
    """Check the settings of a bootstrap before the work."""
    for name, value in (("resamples", resamples), ("seed", seed)):
        if not isinstance(value, Integral) or isinstance(value, bool) or value < 0:
            raise ConfigurationError(f"{name} is {value!r}", "give a whole number, 0 or more")


def _score(
    names: tuple[str, ...],
    prompts: tuple[str, ...],
    responses: tuple[tuple[str, ...], ...],
    metrics: Sequence[Metric],
    backends: ScoringBackends,
    resamples: int,
    seed: int,
    beside: Beside,
) -> Scores:
    """Score the response sets of one system; `beside` is stated validity and finish reasons of each response."""
    sets = [ResponseSet(prompt, texts) for prompt, texts in zip(prompts, responses, strict=True)]
    before = backends.beyond
    rows = _score_in_shards(sets, names, metrics, backends, beside)
    values = {metric.id: tuple(row[metric.id] for row in rows) for metric in metrics}
    numbers = np.array([[v if isinstance(v, float) else np.nan for v in column] for column in values.values()]).T
    means = []
    for metric, mean in zip(metrics, bootstrap_means(numbers, resamples=resamples, seed=seed), strict=True):
        reasons = Counter(value.reason for value in values[metric.id] if not isinstance(value, float))
        n, missing = len(sets) - reasons.total(), dict(sorted(reasons.items()))
        means.append(Mean(metric.id, metric.direction, mean.value, mean.low, mean.high, n, missing))
    signatures = {metric.id: signature_line(metric, backends.profile) for metric in metrics}
    sizes, foreign = tuple(map(len, responses)), sum(map(is_foreign_set, prompts, responses))
    estimated = _estimated(prompts, metrics, backends.profile)
    free = 0 if backends.profile.embedder is None else sum(not asks(prompt) for prompt in estimated)
    return Scores(
        *(backends.profile.name, names, values, tuple(means), sizes, signatures, foreign, len(estimated), free),
        scored=tuple(len(scorable_responses(texts)) for texts in responses),
        counts=kinds_of(dict(enumerate(responses))),
        beyond=backends.beyond - before,
    )


def _estimated(prompts: Sequence[str], metrics: Sequence[Metric], profile: Profile) -> list[str]:
    """Return the prompts to which there are no judged responses, if validity is estimated."""
    if profile.estimates is None or not metrics_from("validity", metrics):
        return []
    record = None if profile.embedder is None else load_record(profile.record)
    return [prompt for prompt in prompts if prompt.strip() and (record is None or not record.has_all([prompt]))]


def _silent(*progress: object) -> None:
    pass


def _score_in_shards(
    sets: Sequence[ResponseSet],
    names: Sequence[str],
    metrics: Sequence[Metric],
    backends: ScoringBackends,
    beside: Beside,
) -> list[dict[str, Value]]:
    """Score sets in shards, as `divbench score` does, so that the last digits are the same; progress is on stderr."""
    backends.announce([sets], metrics)
    rows: list[dict[str, Value]] = []
    with steps() if len(sets) > FIRST_PROMPTS else nullcontext(_silent) as show:
        backends.listener = lambda step: show("scoring", len(rows), len(sets), step)
        for part in divided(sets):
            shard = slice(len(rows), len(rows) + len(part))
            verdicts = None if beside[0] is None else beside[0][shard]
            ended = None if beside[1] is None else beside[1][shard]
            materials = backends.materials(part, metrics, finish_reasons=ended, verdicts=verdicts)
            rows += score_sets(materials, metrics, names[shard])
            show("scoring", len(rows), len(sets))
        backends.listener = None
    return rows


def choose_metrics(
    metrics: str | Iterable[str] | None, profile: str | Profile | None, stated: str | None = None
) -> tuple[Profile, tuple[Metric, ...]]:
    """Return the profile and its metrics; `stated` is the rule of validity that comes with the responses."""
    names = {known.name for known in PROFILES}
    if isinstance(metrics, str) and metrics in names:
        if profile is not None:
            raise ConfigurationError("two profiles are named", "name it once")
        metrics, profile = None, metrics
    named = profile if isinstance(profile, Profile) or profile is None else find_profile(profile)
    if metrics is None:
        named = (named or find_profile("semantic")).replace(stated=stated)
        return named, computed(named.metrics())
    by_id = {metric.id: metric for metric in computed(METRICS)}
    wanted = _metric_names(metrics, by_id, names)
    selected = tuple(by_id[name] for name in wanted)
    has_models = any(set(input_of(metric).sources) - {"tagger"} for metric in selected)
    candidates = [named] if named else map(find_profile, _WITH_MODELS if has_models else ("lexical",))
    for candidate in candidates:
        chosen = candidate.replace(metrics=wanted, stated=stated)
        available = {metric.id for metric in chosen.metrics()}
        lacking = [metric for metric in selected if metric.id not in available]
        if not lacking:
            return chosen, selected
    metric = next((each for each in lacking if "stated" in input_of(each).sources), lacking[0])
    if "stated" in metric.reads:
        raise ConfigurationError(f"{metric.id} needs to know which responses are valid", "give valid= or rewards=")
    if "internals" in metric.reads:
        message = f"{metric.id} reads internals of the generating model, which texts do not have"
        raise ConfigurationError(message, "see divbench generate --internals")
    if input_of(metric).whole_curve and chosen.causal_lm and not chosen.orders.whole_curve:
        message = f"{metric.id} needs surprisals at every position, and {chosen.orders.kind} orders give the last"
        raise ConfigurationError(message, "give the profile balanced orders")
    having = ", ".join(known.name for known in PROFILES if metric.id in {m.id for m in known.metrics()})
    message = f"the profile {chosen.name} has no model for {metric.id}"
    raise ConfigurationError(message, f"a profile that has it: {having or 'none'}")


def _metric_names(metrics: Any, known: Collection[str], profiles: Collection[str]) -> list[str]:
    """Check ids of metrics and return them without repeats."""
    if not hasattr(metrics, "__iter__"):
        hint = "give ids, such as ['distinct_k'], or the name of a profile"
        raise ConfigurationError(f"metrics is {metrics!r}", hint)
    wanted = [metrics] if isinstance(metrics, str) else list(metrics)
    if not wanted:
        raise ConfigurationError("no metric is named", "name one, or leave metrics out for all of the profile's")
    for name in wanted:
        if not isinstance(name, str) or name not in known:
            hint = did_you_mean(str(name), [*known, *sorted(profiles)] if isinstance(metrics, str) else known)
            raise ConfigurationError(f"there is no metric {name!r:.60}", hint)
    return list(dict.fromkeys(wanted))
