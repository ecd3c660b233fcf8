"""Score response sets: a value per set and metric, and means with bootstrap intervals over sets."""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from numbers import Integral
from typing import TYPE_CHECKING, Any

from divbench.core.errors import ConfigurationError, MissingExtra, counted, did_you_mean
from divbench.response_sets import response_sets

if TYPE_CHECKING:
    import pandas as pd

    from benchmark.metrics import Metric
    from benchmark.metrics.metric import Missing
    from benchmark.scoring.backends import ScoringBackends
    from benchmark.scoring.inputs import Value
    from benchmark.scoring.profiles import Profile
    from benchmark.surprisal.engine import ResponseSet
    from divbench.core.tables import Cell, Table

# Profiles for metrics that depend on models, the fastest first. *lexical* is not among them: its equivalence classes
# are based on shared words, so its `distinct_k` is not the one on the board.
_WITH_MODELS = ("semantic", "offline")


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
    """

    profile: str
    names: tuple[str, ...]
    values: dict[str, "tuple[float | Missing, ...]"]
    means: tuple[Mean, ...]
    sizes: tuple[int, ...]
    signatures: dict[str, str]
    foreign: int = 0

    def to_pandas(self) -> "pd.DataFrame":
        """A row per response set and a column per metric; NaN where a value is missing."""
        import pandas as pd

        columns = {
            name: [value if isinstance(value, float) else float("nan") for value in column]
            for name, column in self.values.items()
        }
        return pd.DataFrame(columns, index=pd.Index(self.names, name="prompt"))

    def summary(self) -> "pd.DataFrame":
        """A row per metric: mean, ends of its 95% interval, and the numbers of sets with and without a value."""
        import pandas as pd

        rows = [(each.value, each.low, each.high, each.n, sum(each.missing.values())) for each in self.means]
        index = pd.Index([each.metric for each in self.means], name="metric")
        made = pd.DataFrame(rows, index=index, columns=["mean", "low", "high", "sets", "missing"])
        return made.astype({"mean": float, "low": float, "high": float})

    def missing(self) -> "dict[str, dict[str, int]]":
        """Reasons for missing values, with their counts, by metric id; empty if there are none."""
        return {each.metric: each.missing for each in self.means if each.missing}

    def plot(self) -> Any:
        """The distribution of each metric over the sets, as a plotly figure.

        Raises:
            MissingExtra: plotly is not installed.
        """
        from html import escape

        from divbench.core.errors import need
        from submissions.untrusted.plain_text import shortened

        graph = need("plotly.graph_objects", "board")
        need("plotly.subplots", "board")
        from plotly.subplots import make_subplots

        titles = [each.metric if each.n else f"{each.metric}: no value" for each in self.means]
        figure = make_subplots(rows=len(self.means), cols=1, subplot_titles=titles)
        names = [escape(shortened(name, 80), quote=False) for name in self.names]
        for row, each in enumerate(self.means, start=1):
            there = [(v, name) for v, name in zip(self.values[each.metric], names, strict=True) if isinstance(v, float)]
            values, texts = [value for value, _ in there], [name for _, name in there]
            box = graph.Box(x=values, text=texts, name=each.metric, boxpoints="all", boxmean=True)
            figure.add_trace(box.update(hovertemplate="%{text}: %{x:.4g}<extra></extra>"), row=row, col=1)
        figure.update_layout(showlegend=False, height=120 + 110 * len(self.means), template="plotly_white")
        return figure.update_yaxes(showticklabels=False)

    def table(self) -> "Table":
        """The means as a table for the terminal, Markdown or CSV."""
        from divbench.core.tables import Styled, Table, interval, number

        rows: list[list[Cell]] = [
            [
                Styled(each.metric, "code"),
                number(each.value),
                interval(each.low, each.high),
                each.n,
                "; ".join(f"{count}: {reason}" for reason, count in each.missing.items()),
            ]
            for each in self.means
        ]
        columns = ["metric", "mean", "95% interval", "sets", "missing"]
        count = counted(len(self.names), "response set")
        return Table(f"{count}, profile {self.profile}", columns, rows)

    def __str__(self) -> str:
        """The means as a table."""
        from divbench.core.tables import to_text

        return to_text(self.table()) + self._note()

    __repr__ = __str__  # shown at a Python prompt

    def _repr_html_(self) -> str:
        """The means for a notebook; pandas escapes them."""
        return f"{self.summary().to_html(float_format='{:.4f}'.format)}{self._note()}"

    def _note(self) -> str:
        """What most scores depend on, if a set is in a language other than English."""
        from submissions.checking.response_kinds import READS_ENGLISH

        if not self.foreign:
            return ""
        sets = counted(len(self.names), "response set")
        return f"\n{self.foreign} of {sets} in a language other than English: {READS_ENGLISH}."


def score(
    sets: Any,
    metrics: str | Iterable[str] | None = None,
    *,
    profile: "str | Profile | None" = None,
    resamples: int = 10_000,
    seed: int = 0,
) -> Scores:
    """Score the diversity of response sets.

    Args:
        sets: A mapping from prompt to responses; a list of lists of responses; or a table: a pandas DataFrame, a
            `datasets.Dataset` or a list of dicts. A table has the columns `prompt` and either `responses`, a list in
            each row, or `response`, one text in each row; common other names, such as `outputs` and `question`, work
            too. The prompt is optional where rows hold lists.
        metrics: Ids of metrics, or the name of a profile for all of its metrics; None: all of the profile's.
        profile: Name of a profile, or your own; None: `lexical` if no metric needs a model, else `semantic`, or
            `offline` if a metric needs surprisals.
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
    return score_all([sets], metrics, profile=profile, resamples=resamples, seed=seed)[0]


def score_all(
    systems: Sequence[Any],
    metrics: str | Iterable[str] | None,
    *,
    profile: "str | Profile | None" = None,
    resamples: int,
    seed: int,
) -> list[Scores]:
    """Score the response sets of several systems as `score` does; each model is loaded once."""
    from benchmark.scoring.backends import ScoringBackends
    from benchmark.scoring.profiles import find_profile

    check_resampling(resamples, seed)
    given = [response_sets(sets) for sets in systems]
    chosen, ids = choose_metrics(metrics, profile)
    backends = ScoringBackends(chosen)
    try:
        return [_score(*each, ids, backends, resamples, seed) for each in given]
    except MissingExtra as error:
        lexical = {m.id for m in find_profile("lexical").metrics()}
        if profile is not None or chosen.name == "lexical" or not {m.id for m in ids} <= lexical:
            raise
        hint = f"{error.hint}; or choose profile='lexical', which groups responses by their words"
        raise MissingExtra(error.message, hint) from error
    except ConfigurationError as error:
        if "--" not in error.hint:
            raise
        own = f"find_profile({chosen.name!r}).replace(embedder='ORG/NAME@COMMIT')"
        hint = f"{error.hint}; in Python, give a profile of your own: profile={own}, from benchmark.scoring.profiles"
        raise type(error)(error.message, hint) from error


def check_resampling(resamples: int, seed: int) -> None:
    """Check the settings of a bootstrap before the work.

    Raises:
        ConfigurationError: One is not a whole number of at least 0.
    """
    for name, value in (("resamples", resamples), ("seed", seed)):
        if not isinstance(value, Integral) or isinstance(value, bool) or value < 0:
            raise ConfigurationError(f"{name} is {value!r}", "give a whole number, 0 or more")


def _score(
    names: tuple[str, ...],
    prompts: tuple[str, ...],
    responses: tuple[tuple[str, ...], ...],
    metrics: "Sequence[Metric]",
    backends: "ScoringBackends",
    resamples: int,
    seed: int,
) -> Scores:
    """Score the response sets of one system."""
    import numpy as np

    from benchmark.scoring.estimate import bootstrap_means
    from benchmark.scoring.results import signature_line
    from benchmark.surprisal.engine import ResponseSet
    from submissions.checking.response_kinds import is_foreign_set

    sets = [ResponseSet(prompt, texts) for prompt, texts in zip(prompts, responses, strict=True)]
    found = _scored(sets, names, metrics, backends)
    values = {metric.id: tuple(row[metric.id] for row in found) for metric in metrics}
    numbers = np.array([[v if isinstance(v, float) else np.nan for v in column] for column in values.values()]).T
    means = []
    found_means = bootstrap_means(numbers, resamples=resamples, seed=seed)
    for metric, column, mean in zip(metrics, values.values(), found_means, strict=True):
        reasons = Counter(value.reason for value in column if not isinstance(value, float))
        n, missing = len(column) - reasons.total(), dict(sorted(reasons.items()))
        means.append(Mean(metric.id, metric.direction, mean.value, mean.low, mean.high, n, missing))
    signatures = {metric.id: signature_line(metric, backends.profile) for metric in metrics}
    sizes, foreign = tuple(map(len, responses)), sum(map(is_foreign_set, prompts, responses))
    return Scores(backends.profile.name, names, values, tuple(means), sizes, signatures, foreign)


def _scored(
    sets: "Sequence[ResponseSet]", names: Sequence[str], metrics: "Sequence[Metric]", backends: "ScoringBackends"
) -> "list[dict[str, Value]]":
    """Score sets in shards, as `divbench score` does, so that the last digits are the same; progress is on stderr."""
    from benchmark.scoring.inputs import score_sets
    from benchmark.scoring.shards import SHARD_PROMPTS
    from divbench.core.console import progress

    backends.announce([sets], metrics)
    found: list[dict[str, Value]] = []
    with progress() if len(sets) > SHARD_PROMPTS else nullcontext() as bar:
        task = None if bar is None else bar.add_task("scoring", total=len(sets))
        for start in range(0, len(sets), SHARD_PROMPTS):
            shard = slice(start, start + SHARD_PROMPTS)
            found += score_sets(backends.materials(sets[shard], metrics), metrics, names[shard])
            if bar is not None and task is not None:
                bar.update(task, completed=len(found))
    return found


def choose_metrics(
    metrics: str | Iterable[str] | None, profile: "str | Profile | None"
) -> "tuple[Profile, tuple[Metric, ...]]":
    """Return the profile and its metrics.

    Raises:
        ConfigurationError: As in `score`.
    """
    from benchmark.metrics import METRICS
    from benchmark.scoring.inputs import computed, input_of
    from benchmark.scoring.profiles import PROFILES, find_profile

    names = {each.name for each in PROFILES}
    if isinstance(metrics, str) and metrics in names:
        if profile is not None:
            raise ConfigurationError("two profiles are named", "name it once")
        metrics, profile = None, metrics
    known = {metric.id: metric for metric in computed(METRICS)}
    if metrics is None:
        chosen = find_profile("semantic") if profile is None else _profile(profile)
        return chosen, computed(chosen.metrics())
    wanted = _metric_names(metrics, known, names)
    asked = tuple(known[name] for name in wanted)
    has_models = any(set(input_of(metric).sources) - {"tagger"} for metric in asked)
    named = _WITH_MODELS if has_models else ("lexical",)
    candidates = [find_profile(name) for name in named] if profile is None else [_profile(profile)]
    for candidate in (each.replace(metrics=wanted) for each in candidates):
        there = {metric.id for metric in candidate.metrics()}
        lacking = next((metric for metric in asked if metric.id not in there), None)
        if lacking is None:
            return candidate, asked
    assert lacking is not None  # noqa: S101 - there is at least one candidate
    if "internals" in lacking.reads:
        raise ConfigurationError(
            f"{lacking.id} reads internals of the generating model, which texts do not have",
            "see divbench generate --internals",
        )
    if input_of(lacking).whole_curve and candidates[-1].causal_lm and not candidates[-1].orders.whole_curve:
        raise ConfigurationError(
            f"{lacking.id} needs surprisals at every position, and {candidates[-1].orders.kind} orders give the last",
            "give the profile balanced orders",
        )
    having = [each.name for each in PROFILES if lacking.id in {metric.id for metric in each.metrics()}]
    raise ConfigurationError(
        f"the profile {candidates[-1].name} has no model for {lacking.id}",
        f"a profile that has it: {', '.join(having) or 'none'}",
    )


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


def _profile(profile: "str | Profile") -> "Profile":
    from benchmark.scoring.profiles import Profile, find_profile

    return profile if isinstance(profile, Profile) else find_profile(profile)
