"""A contrast study: paired tests by every metric of a profile on the same texts, raw and length-matched."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from benchmark.analysis.contrast.choices import Expected, Length, Pairing
from benchmark.analysis.contrast.paired import Contrast, paired_contrast, pairs_of
from benchmark.analysis.contrast.systems import Systems, length_matched
from benchmark.metrics import METRICS, Metric
from benchmark.scoring.backends import ScoringBackends
from benchmark.scoring.estimate import LEVEL
from benchmark.scoring.inputs import Value, computed, score_sets
from benchmark.scoring.profiles import Profile
from benchmark.scoring.results import package_version, sign
from benchmark.surprisal.engine import ResponseSet

SETS_AT_ONCE = 64


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
    lines: tuple[Line, ...]


@dataclass(frozen=True, slots=True)
class Study:
    """The outcome of `divbench contrast`."""

    suite: str
    systems: dict[str, str]
    # Number of truncated responses among those compared, by system; None where finish reasons are unknown.
    truncated: dict[str, int | None]
    k: int
    profile: str
    expected: Expected
    pairing: Pairing
    level: float
    resamples: int
    seed: int
    divbench: str
    parts: tuple[Part, ...]


def texts_of(systems: Systems, length: Length) -> tuple[Systems, ...]:
    """Return the texts to compare: raw, cut to equal length, or both."""
    raw = () if length == "matched" else (systems,)
    matched = () if length == "raw" else (length_matched(systems),)
    return raw + matched


def number_of_tests(texts: Sequence[Systems], profile: Profile, pairing: Pairing) -> int:
    """Return the number of tests of a study: of each pair by each metric, on raw and length-matched texts."""
    pairs = len(pairs_of(list(texts[0].responses), pairing))
    return len(texts) * pairs * len(computed(profile.metrics(METRICS)))


def contrast_systems(
    texts: Sequence[Systems],
    backends: ScoringBackends,
    *,
    expected: Expected = "greater",
    pairing: Pairing = "consecutive",
    resamples: int = 10_000,
    seed: int = 0,
    metrics: tuple[Metric, ...] = METRICS,
    progress: Callable[[int], None] = lambda sets: None,
    tested: Callable[[int], None] = lambda pairs: None,
) -> Study:
    """Compare systems by every metric, on raw and length-matched texts as given.

    Values reported by submissions are not compared: they describe the uncut texts, scored with other people's models.

    Args:
        metrics: Metrics to compare by; those that the profile cannot compute are skipped.
        progress: Called with the number of response sets scored since the last call.
        tested: Called with the number of pairs tested since the last call; `number_of_tests` in all.

    Raises:
        ConfigurationError: A model is not pinned, or cannot be loaded.
        ScoringFault: A metric failed.
    """
    first = texts[0]
    pairs = pairs_of(list(first.responses), pairing)
    chosen = computed(backends.profile.metrics(metrics))
    parts = []
    for systems in texts:
        signatures = [_signature(metric, systems, backends.profile) for metric in chosen]
        values = {name: _scored(systems, name, backends, chosen, progress) for name in systems.responses}
        lines = []
        for metric, signature in zip(chosen, signatures, strict=True):
            by_system = {
                name: {prompt: own[metric.id] for prompt, own in sets.items()} for name, sets in values.items()
            }
            contrasts = paired_contrast(
                by_system,
                pairs,
                expected=expected,
                direction=metric.direction,
                resamples=resamples,
                seed=seed,
            )
            lines.append(Line(metric.id, metric.version, metric.direction, signature, contrasts))
            tested(len(pairs))
        kind = systems.length.split(":", maxsplit=1)[0]
        parts.append(Part(kind, len(systems.prompts), dict(systems.left_out), tuple(lines)))
    return Study(
        suite=f"{first.suite.name}@{first.suite.revision}",
        systems=dict(first.origins),
        truncated={name: first.truncated(name) for name in first.responses},
        k=first.k,
        profile=backends.profile.name,
        expected=expected,
        pairing=pairing,
        level=LEVEL,
        resamples=resamples,
        seed=seed,
        divbench=package_version(),
        parts=tuple(parts),
    )


def _scored(
    systems: Systems,
    name: str,
    backends: ScoringBackends,
    metrics: tuple[Metric, ...],
    progress: Callable[[int], None],
) -> dict[str, dict[str, Value]]:
    """Score a system; return its values by prompt and metric."""
    own = systems.responses[name]
    there = [prompt for prompt in systems.prompts if prompt.prompt_id in own]
    backends.announce([[ResponseSet(prompt.prompt, own[prompt.prompt_id]) for prompt in there]], metrics)
    values: dict[str, dict[str, Value]] = {}
    for start in range(0, len(there), SETS_AT_ONCE):
        batch = there[start : start + SETS_AT_ONCE]
        ids = [prompt.prompt_id for prompt in batch]
        sets = [ResponseSet(prompt.prompt, own[prompt.prompt_id]) for prompt in batch]
        ended = [systems.reasons(name, prompt_id) for prompt_id in ids]
        materials = backends.materials(sets, metrics, finish_reasons=ended)
        values |= dict(zip(ids, score_sets(materials, metrics, ids), strict=True))
        progress(len(batch))
    return values


def _signature(metric: Metric, systems: Systems, profile: Profile) -> str:
    signed = sign(metric, profile, systems.suite, systems.k, None)
    if systems.length == "raw":
        return str(signed)
    return str(signed.model_copy(update={"parameters": (*signed.parameters, ("length", systems.length))}))
