"""Contrasts of systems: paired tests by every metric of a profile on the same texts, raw and length-matched."""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

from benchmark.analysis.contrast.equal_numbers import counts_all, kinds_of, unequal_note, without_answer
from benchmark.analysis.contrast.paired import Contrast, Expected, Pairing, excluded, paired_contrast, pairs_of
from benchmark.analysis.contrast.systems import Systems, length_matched, on_equal_numbers
from benchmark.metrics import METRICS, Metric
from benchmark.metrics.metric import ARROWS
from benchmark.scoring.backends import ScoringBackends
from benchmark.scoring.estimate import LEVEL
from benchmark.scoring.inputs import Value, computed, score_sets
from benchmark.scoring.profiles import Profile
from benchmark.scoring.results import package_version, sign
from benchmark.surprisal.engine import ResponseSet
from divbench.core.errors import counted
from divbench.core.tables import Cell, Report, Styled, Table, interval, p_value

SETS_AT_ONCE = 64
COLUMNS = ("first", "second", "difference", "95% interval", "d_z", "W", "p", "Bonferroni", "Holm", "n")
ALTERNATIVES = {"greater": "one-sided: the first is more diverse", "two-sided": "two-sided"}
LEGEND = (
    "Difference: mean of first − second over prompts, with a bootstrap interval over prompts; d_z: Cohen's d of the "
    "paired differences. W, p: Wilcoxon signed-rank test, which compares ranks (metrics without a direction are always "
    "tested two-sided). Finding: the system that is more diverse at p < .05 after Holm's correction; "
    "means and ranks disagree if a paired t-test does not find the difference at p < .05, or the means have the other "
    "sign. Bonferroni, Holm: p adjusted over the pairs of a metric, not over metrics or "
    "lengths; with one pair, equal to p. Intervals are not adjusted."
)


@dataclass(frozen=True, slots=True)
class Line:
    """One metric on raw or length-matched texts."""

    metric: str
    version: int
    direction: int
    signature: str  # signature of the metric's values: everything that they depend on besides the texts
    contrasts: tuple[Contrast, ...]


@dataclass(frozen=True, slots=True)
class Part:
    """All metrics on raw or length-matched texts."""

    length: str
    prompts: int  # number of prompts compared
    left_out: dict[str, int]  # number of excluded prompts, by reason
    unequal: int  # number of prompts on which the systems have different numbers of scored responses
    lines: tuple[Line, ...]


@dataclass(frozen=True, slots=True)
class Study:
    """The outcome of `divbench contrast`."""

    suite: str
    systems: dict[str, str]
    # Number of truncated responses among those compared, by system; None where finish reasons are unknown.
    truncated: dict[str, int | None]
    counts: dict[str, dict[str, int]]  # numbers of responses, and of those without an answer by kind, by system
    k: int
    profile: str
    expected: Expected
    pairing: Pairing
    level: float
    resamples: int
    seed: int
    divbench: str
    parts: tuple[Part, ...]


def contrast_systems(
    systems: Systems,
    backends: ScoringBackends,
    *,
    lengths: Sequence[str] = ("raw", "matched"),
    expected: Expected = "two-sided",
    pairing: Pairing = "consecutive",
    resamples: int = 10_000,
    seed: int = 0,
    metrics: tuple[Metric, ...] = METRICS,
    progress: Callable[[int], None] = lambda sets: None,
) -> Study:
    """Compare systems by every metric that the profile can compute, on raw and length-matched texts.

    Values reported by submissions are not compared: they describe the uncut texts, scored with other people's models.
    """
    pairs = pairs_of(list(systems.responses), pairing)
    chosen = computed(backends.profile.metrics(metrics))
    parts = []
    for length in lengths:
        texts = systems if length == "raw" else length_matched(systems)
        values = {name: _scored(texts, name, backends, chosen, progress) for name in texts.responses}
        unequal = _on_equal_numbers(values, texts, backends, [metric for metric in chosen if not counts_all(metric)])
        lines = []
        for metric in chosen:
            by_system = {name: {i: scores[metric.id] for i, scores in sets.items()} for name, sets in values.items()}
            contrasts = paired_contrast(
                by_system, pairs, expected=expected, direction=metric.direction, resamples=resamples, seed=seed
            )
            signature = _signature(metric, texts, backends.profile)
            lines.append(Line(metric.id, metric.version, metric.direction, signature, contrasts))
        parts.append(Part(length, len(texts.prompts), dict(texts.left_out), unequal, tuple(lines)))
    return Study(
        suite=f"{systems.suite.name}@{systems.suite.revision}",
        systems=dict(systems.origins),
        truncated={name: systems.truncated(name) for name in systems.responses},
        counts={name: kinds_of(sets) for name, sets in systems.responses.items()},
        k=systems.k,
        profile=backends.profile.name,
        expected=expected,
        pairing=pairing,
        level=LEVEL,
        resamples=resamples,
        seed=seed,
        divbench=package_version(),
        parts=tuple(parts),
    )


def _on_equal_numbers(
    values: dict[str, dict[str, dict[str, Value]]],
    systems: Systems,
    backends: ScoringBackends,
    metrics: Sequence[Metric],
) -> int:
    """Replace values of sets that have more scored responses than another system's; count their prompts."""
    equal = on_equal_numbers(systems)
    for name in equal.responses:
        for prompt, again in _scored(equal, name, backends, metrics, lambda sets: None).items():
            values[name][prompt] |= again
    return len({prompt for sets in equal.responses.values() for prompt in sets})


def _scored(
    systems: Systems,
    name: str,
    backends: ScoringBackends,
    metrics: Sequence[Metric],
    progress: Callable[[int], None],
) -> dict[str, dict[str, Value]]:
    """Score a system; return its values by prompt and metric."""
    responses = systems.responses[name]
    prompts = [prompt for prompt in systems.prompts if prompt.prompt_id in responses]
    ids = [prompt.prompt_id for prompt in prompts]
    sets = [ResponseSet(prompt.prompt, responses[prompt.prompt_id]) for prompt in prompts]
    backends.announce([sets], metrics)
    values: dict[str, dict[str, Value]] = {}
    for start in range(0, len(sets), SETS_AT_ONCE):
        batch = slice(start, start + SETS_AT_ONCE)
        reasons = [systems.reasons(name, prompt_id) for prompt_id in ids[batch]]
        materials = backends.materials(sets[batch], metrics, finish_reasons=reasons)
        values |= dict(zip(ids[batch], score_sets(materials, metrics, ids[batch]), strict=True))
        progress(len(sets[batch]))
    return values


def _signature(metric: Metric, systems: Systems, profile: Profile) -> str:
    signature = sign(metric, profile, systems.suite, systems.k, None)
    if systems.length == "raw":
        return str(signature)
    return str(signature.model_copy(update={"parameters": (*signature.parameters, ("length", systems.length))}))


def report_of(study: Study) -> Report:
    """Return the report of a study."""
    counts = ", ".join(f"{name}: {'unknown' if n is None else n}" for name, n in study.truncated.items())
    truncated = (
        f"Truncated responses: {counts}. A class that has only truncated responses does not count in raw texts, so raw "
        "differences between systems can come from truncation alone."
    )
    unlike = [truncated] if any(study.truncated.values()) else []
    lacking = {name: without_answer(counts) for name, counts in study.counts.items()}
    if any(lacking.values()):
        unlike.append("Without an answer: " + "; ".join(f"{name}: {said or 'none'}" for name, said in lacking.items()))
    settings = f"{study.resamples:,} resamples, seed {study.seed}; divbench {study.divbench}."
    sources = [(name, Styled(origin, "code")) for name, origin in study.systems.items()]
    tables = [_table(study, part) for part in study.parts]
    return Report(
        title="Contrast of systems",
        blocks=[LEGEND, *unlike, settings, *tables, Table("Systems", ("system", "source"), sources, numbers=())],
        document=study,
        printed=[*tables, *unlike, LEGEND],
        records=Table.of_records(
            [
                _record(part, line, contrast)
                for part in study.parts
                for line in part.lines
                for contrast in line.contrasts
            ]
        ),
    )


def _table(study: Study, part: Part) -> Table | Styled:
    """Return the table of a part with exclusions below; without prompts, why there is none."""
    reasons = "".join(f"; {count} excluded: {reason}" for reason, count in part.left_out.items() if count)
    prompts = counted(part.prompts, "prompt")
    title = f"{part.length}: {study.suite}, k = {study.k}, profile {study.profile}, "
    title += f"{ALTERNATIVES[study.expected]}, {prompts}{reasons}"
    if not part.prompts:
        return Styled(title, "yellow")
    rows: list[tuple[Cell, ...]] = []
    notes = [note] if (note := unequal_note(part.unequal)) else []
    for line in part.lines:
        for contrast in line.contrasts:
            pair, found = f"{contrast.a}, {contrast.b}", contrast.finding(line.direction, corrected=True)
            name = Styled(f"{line.metric} {ARROWS[line.direction]}".strip(), "code")
            rows.append((name, pair, found, *_cells(contrast)))
            if why := excluded(contrast):
                notes.append(f"{line.metric}, {pair}: {why}")
    return Table(title, ("metric", "pair", "finding", *COLUMNS), rows, notes, numbers=COLUMNS)


def _cells(contrast: Contrast) -> tuple[Cell, ...]:
    """Return the numbers of a contrast in the order of `COLUMNS`."""
    return (
        contrast.mean_a,
        contrast.mean_b,
        contrast.difference,
        interval(contrast.low, contrast.high),
        "-" if contrast.d_z is None else f"{contrast.d_z:.2f}",
        "-" if contrast.statistic is None else f"{contrast.statistic:g}",
        p_value(contrast.p),
        p_value(contrast.p_bonferroni),
        p_value(contrast.p_holm),
        contrast.n,
    )


def _record(part: Part, line: Line, contrast: Contrast) -> dict[str, Cell]:
    return {
        "length": part.length,
        "metric": line.metric,
        "version": line.version,
        "direction": line.direction,
        **asdict(contrast),
        "finding": contrast.finding(line.direction, corrected=True),
        "reasons": json.dumps(contrast.reasons, ensure_ascii=False),
        "signature": line.signature,
    }
