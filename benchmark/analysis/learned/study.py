"""Evaluates a fitted metric on held-out sets, compared with a reference, task by task.

There are four ways to hold sets out, each harder than the one before: other contexts of the same task; other contexts,
with one model for all tasks; other generation tasks (prompt, response, story); another dataset. Features and penalty
are chosen by cross-validation within the sets for fitting, so that the reported numbers influence no choice.

McDiv contains conTest's sets, McDiv_nuggets is a part of McDiv, and a few contexts differ only in spacing or share a
long response: such contexts form one group in all tasks that contain them, so that no set is used both for fitting and
for reporting.
"""

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmark.analysis.estimate import Estimate, Resampling, estimate
from benchmark.analysis.learned.candidates import THREE, Candidate, fit, logistic, simplest
from benchmark.analysis.metaeval import agreement
from benchmark.analysis.metaeval.labelled import Labelled
from benchmark.analysis.metaeval.overall import kind_of
from benchmark.analysis.metaeval.scores import Scores, unique_sets
from benchmark.scoring.resampling import holm, resample_weights
from divbench.core.errors import ConfigurationError

Integers = NDArray[np.int64]
LONG = 6  # words; shorter responses, such as "I have no idea", occur in many contexts
_NOT_WORD = re.compile(r"\W+")


def context_groups(tasks: Sequence[Labelled]) -> dict[str, str]:
    """Name the group of each context: contexts are linked by equal words, a set in both, or a long response in both.

    Returns:
        By context, the first of its group in alphabetical order.
    """
    first: dict[tuple[str, str], str] = {}  # what links contexts, by the first context that has it
    parent: dict[str, str] = {}

    def root(name: str) -> str:
        while parent[name] != name:
            parent[name] = parent[parent[name]]
            name = parent[name]
        return name

    for task in tasks:
        for set_id, context, responses in zip(task.set_ids, task.contexts, task.responses, strict=True):
            parent.setdefault(context, context)
            said = [_words(text) for text in responses]
            long = {text for text in said if len(text.split()) >= LONG}
            links = [("context", _words(context)), ("id", set_id), ("set", "\n".join(sorted(said)))]
            for link in [*links, *(("response", text) for text in sorted(long))]:
                one, other = sorted((root(context), root(first.setdefault(link, context))))
                parent[other] = one
    return {context: root(context) for context in parent}


def folds(groups: Sequence[str], count: int, seed: int) -> Integers:
    """Return the fold of each row by its group's name, [rows], 0 … count − 1; it does not depend on other rows."""
    return np.array([int(hashlib.sha256(f"{seed}/{name}".encode()).hexdigest()[:12], 16) % count for name in groups])


def _words(text: str) -> str:
    return _NOT_WORD.sub(" ", text.lower()).strip()


Floats = NDArray[np.float64]
Rows = NDArray[np.int64]
OUTER, INNER = 5, 3
SCHEMES: Mapping[str, str] = {
    "within tasks": "fitted on other contexts of the same task",
    "all tasks": "one model for all tasks, fitted on other contexts",
    "across generation tasks": "fitted on the other two of prompt, response and story",
    "across datasets": "fitted on McDiv without conTest's contexts, reported on conTest",
}
Tell = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """The distinct sets of all tasks that have every feature."""

    ids: tuple[str, ...]  # [rows]
    groups: tuple[str, ...]  # [rows], the group of each set's context
    kinds: NDArray[np.str_]  # [rows], story_gen, resp_gen or prompt_gen
    high: NDArray[np.bool_]  # [rows], whether content diversity is high
    members: Mapping[str, Rows]
    features: Mapping[str, Floats]  # by name, [rows]

    def of(self, names: Sequence[str]) -> Floats:
        """Return the features [rows, names]."""
        return np.column_stack([self.features[name] for name in names])


@dataclass(frozen=True, slots=True)
class Split:
    """Rows to fit on and rows to report on."""

    name: str
    seen: Rows
    held_out: Rows
    # Splits of the seen rows for choosing a candidate, each into rows to fit on and rows to evaluate on.
    inner: tuple[tuple[Rows, Rows], ...]
    tasks: tuple[str, ...]
    reported: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """The candidate chosen on the seen part of a split, with its mean AUC in the inner cross-validation."""

    split: str
    candidate: str
    auc: float


@dataclass(frozen=True, slots=True)
class OnTask:
    """A fitted version on a task's held-out sets."""

    task: str
    sets: int
    oca: Estimate  # optimal classification accuracy, high above the threshold
    reference: Estimate  # OCA of the reference on the same sets
    less: Estimate  # `oca` minus `reference`, on the same resamples of contexts
    holm: float | None  # p-value of that difference, adjusted over the tasks
    spearman: Estimate
    human: Estimate | None  # Spearman's rho with people's scores; None if there are none
    human_reference: Estimate | None  # the same for the reference


@dataclass(frozen=True, slots=True)
class Outcome:
    """A version of the metric under one way to hold sets out."""

    version: str
    scheme: str  # one of `SCHEMES`
    tried: int
    choices: tuple[Choice, ...]
    tasks: tuple[OnTask, ...]
    mean: Estimate
    reference: Estimate  # mean OCA of the reference
    less: Estimate  # `mean` minus `reference`

    @property
    def wins(self) -> int:
        """Number of tasks on which the version is better."""
        return sum((each.less.value or 0) > 0 for each in self.tasks)

    @property
    def clear_wins(self) -> int:
        """Number of tasks on which the interval of the difference is above 0."""
        return sum((each.less.low or 0) > 0 for each in self.tasks)

    def as_json(self) -> dict[str, Any]:
        """Return the outcome for `--json`."""
        return asdict(self) | {"wins": self.wins, "clear_wins": self.clear_wins}


def table_of(tasks: Sequence[Labelled], features: Sequence[Scores]) -> Table:
    """Collect the distinct sets of tasks with two labels that have every feature.

    Raises:
        ConfigurationError: A task has no set with every feature.
    """
    group_of = context_groups(tasks)
    contexts = {name: context for name, (context, _) in unique_sets(tasks).items()}
    label: dict[str, bool] = {}
    kind: dict[str, str] = {}
    for task in tasks:
        label |= dict(zip(task.set_ids, (task.labels == 1).tolist(), strict=True))
        kind |= dict.fromkeys(task.set_ids, kind_of(task))
    every = list(contexts)
    columns = np.column_stack([each.column(every) for each in features])
    ids = [every[i] for i in np.flatnonzero(np.isfinite(columns).all(axis=1))]
    place = {name: i for i, name in enumerate(ids)}
    members = {task.name: np.array([place[n] for n in task.set_ids if n in place], np.int64) for task in tasks}
    if empty := [name for name, rows in members.items() if not len(rows)]:
        raise ConfigurationError(f"{empty[0]}: no set has every feature", "give scores of these sets")
    return Table(
        ids=tuple(ids),
        groups=tuple(group_of[contexts[name]] for name in ids),
        kinds=np.array([kind[name] for name in ids]),
        high=np.array([label[name] for name in ids]),
        members=members,
        features={each.name: each.column(ids) for each in features},
    )


def splits_of(scheme: str, table: Table, seed: int) -> list[Split]:
    """Return the splits of one of `SCHEMES`; no group of contexts is on both sides of a split, even an inner one."""
    outer, everything, every = folds(table.groups, OUTER, seed), np.arange(len(table.ids)), tuple(table.members)
    inner = folds(table.groups, INNER, seed + 1)  # another seed, so that inner and outer folds differ

    def by_fold(name: str, seen: Rows, held_out: Rows, tasks: Sequence[str], reported: Sequence[str]) -> Split:
        parts = tuple((seen[inner[seen] != i], seen[inner[seen] == i]) for i in range(INNER))
        return Split(name, seen, held_out, parts, tuple(tasks), tuple(reported))

    def apart(seen: Rows, held_out: Rows) -> Rows:
        held = {table.groups[i] for i in held_out}
        return np.array([i for i in seen if table.groups[i] not in held], np.int64)

    if scheme == "within tasks":
        return [
            by_fold(f"{task}, fold {i + 1}", rows[outer[rows] != i], rows[outer[rows] == i], [task], [task])
            for task, rows in table.members.items()
            for i in range(OUTER)
        ]
    if scheme == "all tasks":
        return [
            by_fold(f"fold {i + 1}", everything[outer != i], everything[outer == i], every, every) for i in range(OUTER)
        ]
    if scheme == "across generation tasks":
        of_kind = {kind: np.flatnonzero(table.kinds == kind) for kind in sorted(set(table.kinds.tolist()))}
        made = []
        for kind, there in of_kind.items():
            seen = apart(np.flatnonzero(table.kinds != kind), there)
            # Each of the other two is left out in turn, so that the choice generalises to another kind of task.
            pairs = [
                (seen[table.kinds[seen] != each], seen[table.kinds[seen] == each]) for each in of_kind if each != kind
            ]
            inner_parts = tuple((apart(first, second), second) for first, second in pairs)
            tasks = tuple(task for task in table.members if not task.endswith(kind))
            own = tuple(task for task in table.members if task.endswith(kind))
            made.append(Split(f"{kind} held out", seen, there, inner_parts, tasks, own))
        return made
    contest = [task for task in table.members if task.startswith("contest/")]
    there = np.unique(np.concatenate([table.members[task] for task in contest]))
    others = [task for task in table.members if task not in contest]
    return [by_fold("conTest held out", apart(everything, there), there, others, contest)]


def choose(table: Table, split: Split, tried: Sequence[Candidate]) -> tuple[Candidate, float]:
    """Choose the simplest of the nearly best candidates by mean AUC over tasks in the inner cross-validation."""
    found = []
    for candidate in tried:
        features, predicted = table.of(candidate.features), np.full(len(table.ids), np.nan)
        for seen, held_out in split.inner:
            predicted[held_out] = fit(candidate, features[seen], table.high[seen])(features[held_out])
        found.append((candidate, float(np.mean([_auc(table, predicted, task) for task in split.tasks]))))
    best = simplest(found)
    return best, dict(found)[best]


def _auc(table: Table, predicted: Floats, task: str) -> float:
    rows = table.members[task]
    rows = rows[np.isfinite(predicted[rows])]
    return float(agreement.roc_auc(predicted[rows], table.high[rows], agreement.ones(len(rows)))[0])


def out_of_fold(
    table: Table, splits: Sequence[Split], tried: Sequence[Candidate], tell: Tell = lambda what, done, total: None
) -> tuple[dict[str, Floats], tuple[Choice, ...]]:
    """Score every held-out set by a model that was chosen and fitted without it.

    Returns:
        Log-odds by task, [rows] of the table, NaN for other sets; and the choices. Under *within tasks* each task has
        separate models, so the values of a set may differ between tasks.
    """
    own = {task: np.full(len(table.ids), np.nan) for task in table.members}
    choices = []
    for done, split in enumerate(splits):
        tell(split.name, done, len(splits))
        candidate, auc = choose(table, split, tried)
        features = table.of(candidate.features)
        predicted = fit(candidate, features[split.seen], table.high[split.seen])(features[split.held_out])
        for task in split.reported:
            own[task][split.held_out] = predicted
        choices.append(Choice(split.name, str(candidate), auc))
    return own, tuple(choices)


def run(
    version: str,
    scheme: str,
    tasks: Sequence[Labelled],
    table: Table,
    tried: Sequence[Candidate],
    reference: Scores,
    *,
    resampling: Resampling | None = None,
    tell: Tell = lambda what, done, total: None,
) -> Outcome:
    """Fit and choose one version under one way to hold sets out, and compare it with a reference.

    Args:
        scheme: One of `SCHEMES`.
        table: Sets of the tasks, with every feature of every candidate.
        reference: Scores to compare with, which were not fitted on these sets.
        resampling: Settings of the bootstrap over groups of contexts; the fits are not repeated in it.
    """
    how = resampling or Resampling()
    own, choices = out_of_fold(table, splits_of(scheme, table, how.seed), tried, tell)
    weights = _weights(table, how)
    people = _people(tasks, table)
    found, draws = [], []
    for name, values in own.items():
        rows = table.members[name]
        rows = rows[np.isfinite(values[rows])]
        if not len(rows):
            continue
        fitted, other = values[rows], reference.column([table.ids[i] for i in rows])
        high, given = table.high[rows], weights[:, rows]
        pair = tuple(agreement.optimal_accuracy(x, high, given, folded=False) for x in (fitted, other))
        rated = [agreement.spearman(x, people[name][rows], given) for x in (fitted, other)] if name in people else None
        draws.append(pair)
        found.append(
            OnTask(
                task=name,
                sets=len(rows),
                oca=estimate(pair[0]),
                reference=estimate(pair[1]),
                less=estimate(pair[0] - pair[1], 0.0),
                holm=None,
                spearman=estimate(agreement.spearman(fitted, high.astype(np.float64), given)),
                human=None if rated is None else estimate(rated[0]),
                human_reference=None if rated is None else estimate(rated[1]),
            )
        )
    adjusted = holm([np.nan if each.less.p is None else each.less.p for each in found])
    mean, other_mean = (np.mean([pair[i] for pair in draws], axis=0) for i in (0, 1))
    return Outcome(
        version=version,
        scheme=scheme,
        tried=len(tried),
        choices=choices,
        tasks=tuple(
            replace(each, holm=float(p) if np.isfinite(p) else None) for each, p in zip(found, adjusted, strict=True)
        ),
        mean=estimate(mean),
        reference=estimate(other_mean),
        less=estimate(mean - other_mean, 0.0),
    )


def fitted_weights(table: Table) -> str:
    """Return the JSON of the metric `learned_diversity`: weights fitted on all rows of a table."""
    intercept, by_feature = logistic(1.0, table.of(THREE), table.high)
    names = [name.removesuffix("_distance") for name in THREE]
    document = {
        "fitted_on": f"{len(table.ids)} sets of contest, mcdiv and mcdiv_nuggets",
        "intercept": round(intercept, 4),
        "weights": {name: round(float(weight), 4) for name, weight in zip(names, by_feature, strict=True)},
    }
    return json.dumps(document, indent=1) + "\n"


def _weights(table: Table, how: Resampling) -> Floats:
    """Return how often each row occurs in each resample of groups, [1 + resamples, rows], after the original data.

    A group is in all of its tasks or in none; kinds are resampled separately, so that their sizes hardly change.
    """
    made = np.ones((1 + how.resamples, len(table.ids)))
    for kind in sorted(set(table.kinds.tolist())):
        rows = np.flatnonzero(table.kinds == kind)
        groups = [table.groups[i] for i in rows]
        made[1:, rows] = resample_weights(len(rows), clusters=groups, resamples=how.resamples, seed=how.seed)
    return made


def _people(tasks: Sequence[Labelled], table: Table) -> dict[str, Floats]:
    """Return people's mean scores by task, [rows] of the table, NaN for other sets; only for tasks that have them."""
    rated = [(task, task.human) for task in tasks if task.human is not None]
    by_id = {task.name: dict(zip(task.set_ids, human.tolist(), strict=True)) for task, human in rated}
    return {name: np.array([found.get(i, np.nan) for i in table.ids]) for name, found in by_id.items()}
