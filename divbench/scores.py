"""Score response sets: a value per set and metric, and means with bootstrap intervals over sets."""

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from datasets_build.errors import ConfigurationError, InputError, MissingExtra, counted, did_you_mean

if TYPE_CHECKING:
    import pandas as pd

    from benchmark.metrics import Metric
    from benchmark.metrics.metric import Missing
    from benchmark.scoring.backends import ScoringBackends
    from benchmark.scoring.compute import Value
    from benchmark.scoring.profiles import Profile
    from benchmark.surprisal.engine import ResponseSet
    from datasets_build.tables import Cell, Table

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
    """

    profile: str
    names: tuple[str, ...]
    values: dict[str, "tuple[float | Missing, ...]"]
    means: tuple[Mean, ...]

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
        from datasets_build.errors import need

        graph = need("plotly.graph_objects", "board")
        need("plotly.subplots", "board")
        from plotly.subplots import make_subplots

        figure = make_subplots(rows=len(self.means), cols=1, subplot_titles=[each.metric for each in self.means])
        for row, each in enumerate(self.means, start=1):
            values = [value for value in self.values[each.metric] if isinstance(value, float)]
            figure.add_trace(graph.Box(x=values, name=each.metric, boxpoints="all", boxmean=True), row=row, col=1)
        figure.update_layout(showlegend=False, height=120 + 110 * len(self.means), template="plotly_white")
        return figure.update_yaxes(showticklabels=False)

    def table(self) -> "Table":
        """The means as a table for the terminal, Markdown or CSV."""
        from datasets_build.tables import Table, number

        rows: list[list[Cell]] = [
            [
                each.metric,
                number(each.value),
                "" if each.low is None or each.high is None else f"[{number(each.low)}, {number(each.high)}]",
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
        from datasets_build.tables import to_text

        return to_text(self.table())

    __repr__ = __str__  # shown at a Python prompt

    def _repr_html_(self) -> str:
        """The means for a notebook; pandas escapes them."""
        return str(self.summary().to_html(float_format="{:.4f}".format))


def score(
    sets: Any,
    metrics: str | Sequence[str] | None = None,
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
        ConfigurationError: There is no such metric or profile, or the profile lacks a model for a metric.
        MissingExtra: A library that a metric needs is not installed.

    >>> print(score({"Name a colour.": ["Red.", "Blue.", "Red."]}, metrics=["type_token_ratio"]).means[0].value)
    0.6666666666666666
    """
    import numpy as np

    from benchmark.scoring.backends import ScoringBackends
    from benchmark.scoring.profiles import find_profile
    from benchmark.scoring.resampling import bootstrap_means
    from benchmark.surprisal.engine import ResponseSet

    names, prompts, responses = response_sets(sets)
    chosen, ids = choose_metrics(metrics, profile)
    given = [ResponseSet(prompt, texts) for prompt, texts in zip(prompts, responses, strict=True)]
    try:
        found = _scored(given, names, ids, ScoringBackends(chosen))
    except MissingExtra as error:
        if profile is not None or not {m.id for m in ids} <= {m.id for m in find_profile("lexical").metrics()}:
            raise
        hint = f"{error.hint}; or choose profile='lexical', which groups responses by their words"
        raise MissingExtra(error.message, hint) from error
    values = {metric.id: tuple(row[metric.id] for row in found) for metric in ids}
    numbers = np.array([[v if isinstance(v, float) else np.nan for v in column] for column in values.values()]).T
    intervals = bootstrap_means(numbers, resamples=resamples, seed=seed)
    means = []
    for metric, column, interval in zip(ids, values.values(), intervals, strict=True):
        there = [value for value in column if isinstance(value, float)]
        reasons = Counter(value.reason for value in column if not isinstance(value, float))
        means.append(
            Mean(
                metric.id,
                metric.direction,
                float(np.mean(there)) if there else None,
                interval.low if interval else None,
                interval.high if interval else None,
                len(there),
                dict(sorted(reasons.items())),
            )
        )
    return Scores(chosen.name, names, values, tuple(means))


def _scored(
    sets: "Sequence[ResponseSet]", names: Sequence[str], metrics: "Sequence[Metric]", backends: "ScoringBackends"
) -> "list[dict[str, Value]]":
    """Score sets in shards, as `divbench score` does, so that the last digits are the same; progress is on stderr."""
    from benchmark.scoring.compute import score_sets
    from benchmark.scoring.shards import SHARD_PROMPTS
    from datasets_build.console import progress

    found: list[dict[str, Value]] = []
    with progress() if len(sets) > SHARD_PROMPTS else nullcontext() as bar:
        task = None if bar is None else bar.add_task("scoring", total=len(sets))
        for start in range(0, len(sets), SHARD_PROMPTS):
            shard = slice(start, start + SHARD_PROMPTS)
            found += score_sets(backends.materials(sets[shard], metrics), metrics, names[shard])
            if bar is not None and task is not None:
                bar.update(task, completed=len(found))
    return found


def response_sets(sets: Any) -> tuple[tuple[str, ...], tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """Return names, prompts ("" if not given) and responses of sets in any form that `score` accepts.

    Raises:
        InputError: As in `score`.
    """
    prompts, given = _prompts_and_responses(sets)
    if not given:
        raise InputError("there is no response set", "write score([[…], […]])")
    for prompt in prompts:
        if not isinstance(prompt, str):
            raise InputError(f"a prompt is {prompt!r}, not a text", "write score({prompt: responses, …})")
    labels = tuple(prompts) if prompts else numbered(len(given))
    texts = tuple(_texts(name, each) for name, each in zip(labels, given, strict=True))
    return labels, tuple(prompts) or ("",) * len(given), texts


def numbered(count: int) -> tuple[str, ...]:
    """Names of sets without prompts."""
    return tuple(f"set {i}" for i in range(1, count + 1))


def _prompts_and_responses(sets: Any) -> tuple[list[Any], list[Any]]:
    """Prompts (empty if there are none) and responses of sets in any form, unchecked."""
    if isinstance(sets, str | bytes):
        raise InputError("a single text is not a list of response sets", 'write score([["a response", "another"], …])')
    if isinstance(getattr(sets, "column_names", None), Mapping):  # a DatasetDict
        raise InputError("this is a dictionary of splits", f"choose one of {', '.join(sets)}")
    if isinstance(sets, Mapping) and not _is_columns(sets):
        return list(sets), list(sets.values())
    if columns := _column_names(sets):
        return _from_table(sets, columns)
    if not hasattr(sets, "__iter__"):
        raise InputError(f"{type(sets).__name__} is not a list of response sets", "write score([[…], […]])")
    given = list(sets)
    if given and all(isinstance(each, Mapping) for each in given):  # the rows of a table
        return _from_table({name: [row.get(name) for row in given] for name in given[0]}, list(given[0]))
    if given and all(isinstance(each, str) for each in given):
        raise InputError(
            "a flat list of texts is not a list of response sets",
            "write score([texts]) for one set, or score({prompt: responses, …})",
        )
    return [], given


def _texts(name: str, given: Any) -> tuple[str, ...]:
    if isinstance(given, str | bytes | Mapping) or not hasattr(given, "__iter__"):
        raise InputError(f"{name[:60]!r} has {type(given).__name__}, not a list of responses", "write a list of texts")
    texts = tuple(given)
    for i, text in enumerate(texts, start=1):
        if not isinstance(text, str):
            raise InputError(
                f"{name[:60]!r}, response {i} is {type(text).__name__}, not a text", "leave it out, or write its text"
            )
        try:
            text.encode()
        except UnicodeEncodeError:
            said = f"{name[:60]!r}, response {i} has an unpaired surrogate, which UTF-8 cannot encode"
            raise InputError(said, "write complete characters") from None
    return texts


def _is_columns(sets: Mapping[Any, Any]) -> bool:
    """Whether a mapping is columns of a table, as in `{"prompt": […], "responses": [[…], […]]}`."""
    from submissions.importing.response_rows import LISTS, TEXTS

    given = next((sets[name] for name in (*LISTS, *TEXTS) if name in sets), None)
    if given is None or isinstance(given, str) or not hasattr(given, "__len__"):
        return False
    asked = next((sets[name] for name in _prompt_columns() if name in sets), "")
    return not isinstance(asked, str) or not any(isinstance(each, str) for each in given)


def _column_names(sets: Any) -> list[str]:
    """Return the columns of a DataFrame, a `datasets.Dataset` or a mapping of columns; empty for other types."""
    if isinstance(sets, Mapping):
        return list(sets)
    return list(getattr(sets, "column_names", getattr(sets, "columns", ())))


def _prompt_columns() -> tuple[str, ...]:
    from submissions.importing.response_rows import PROMPTS

    return *PROMPTS, "context"  # McDiv names it context


def _from_table(sets: Any, columns: Sequence[str]) -> tuple[list[Any], list[Any]]:
    """Prompts (empty if there are none) and responses of a table with a row per set, or a row per response."""
    from submissions.importing.response_rows import LISTS, PROMPTS, TEXTS

    column = next((name for name in (*LISTS, *TEXTS) if name in columns), None)
    if column is None:
        raise InputError(
            f"the table has no column of responses; it has {', '.join(map(str, columns))[:200]}",
            f"name the column {LISTS[0]!r}, or {TEXTS[0]!r} if each row has one response",
        )
    given = list(sets[column])
    asked = next((name for name in _prompt_columns() if name in columns), None)
    if not any(isinstance(each, str) for each in given):
        return [] if asked is None else list(sets[asked]), given
    if asked is None:
        raise InputError(
            f"each row of the table has one response, in {column!r}, and no prompt",
            f"add a column {PROMPTS[0]!r}, or write score([texts]) for one set",
        )
    by_prompt: dict[Any, list[Any]] = {}
    for prompt, text in zip(sets[asked], given, strict=True):
        by_prompt.setdefault(prompt, []).append(text)
    return list(by_prompt), list(by_prompt.values())


def choose_metrics(
    metrics: str | Sequence[str] | None, profile: "str | Profile | None"
) -> "tuple[Profile, tuple[Metric, ...]]":
    """Return the profile and its metrics.

    Raises:
        ConfigurationError: As in `score`.
    """
    from benchmark.metrics import METRICS
    from benchmark.scoring.inputs import computed, input_of
    from benchmark.scoring.profiles import PROFILES, find_profile, with_named

    names = {each.name for each in PROFILES}
    if isinstance(metrics, str) and metrics in names:
        if profile is not None:
            raise ConfigurationError("two profiles are named", "name it once")
        metrics, profile = None, metrics
    known = {metric.id: metric for metric in computed(METRICS)}
    if metrics is None:
        chosen = find_profile("semantic") if profile is None else _profile(profile)
        return chosen, computed(chosen.metrics())
    wanted = (metrics,) if isinstance(metrics, str) else tuple(metrics)
    if not wanted:
        raise ConfigurationError("no metric is named", "name one, or leave metrics out for all of the profile's")
    for name in wanted:
        if name not in known:
            hint = did_you_mean(str(name), [*known, *sorted(names)] if isinstance(metrics, str) else known)
            raise ConfigurationError(f"there is no metric {name!r}", hint)
    asked = tuple(known[name] for name in dict.fromkeys(wanted))
    has_models = any(set(input_of(metric).sources) - {"tagger"} for metric in asked)
    named = _WITH_MODELS if has_models else ("lexical",)
    candidates = [find_profile(name) for name in named] if profile is None else [_profile(profile)]
    for candidate in (with_named(each, wanted) for each in candidates):
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
    having = [each.name for each in PROFILES if lacking.id in {metric.id for metric in each.metrics()}]
    raise ConfigurationError(
        f"the profile {candidates[-1].name} has no model for {lacking.id}",
        f"a profile that has it: {', '.join(having) or 'none'}",
    )


def _profile(profile: "str | Profile") -> "Profile":
    from benchmark.scoring.profiles import find_profile

    return find_profile(profile) if isinstance(profile, str) else profile
