"""Tables of the gaming study."""

from benchmark.analysis.gaming.study import GamingStudy, Scores, has_range
from divbench.core.errors import counted
from divbench.core.tables import Block, Cell, Report, Styled, Table
from submissions.gaming.attacks import ATTACKS

_KINDS = {attack.name: attack.kind for attack in ATTACKS}
HIGH = 0.15  # share of the real range: such a gain lets an attack overtake real systems


def gaming_report(study: GamingStudy) -> Report:
    """Return tables of the headline with intervals and reasons, and of the gains under every metric."""
    blocks: list[Block] = [
        f"{study.source} on {study.suite}: {counted(study.prompts, 'prompt')}, k = {study.k}, profile {study.profile}, "
        f"seed {study.seed}.",
        *(_metric_table(study, metric) for metric in study.signatures if metric in ("valid_distinct_k", "distinct_k")),
        _gains(study),
    ]
    columns = ("metric", "system", "kind", "mean", "low", "high", "gain", "gain_low", "gain_high", "prompts")
    return Report("What attacks gain", blocks, study.as_json(), blocks, Table("", columns, _records(study)))


def _metric_table(study: GamingStudy, metric: str) -> Table:
    rows: list[list[Cell]] = []
    for name, own in [*study.systems.items(), *study.attacks.items()]:
        gain = own[metric].gain
        reasons = ", ".join(f"{count} {reason}" for reason, count in study.invalid[name].items())
        rows.append(
            [
                Styled(name, "code"),
                _kind(study, name),
                str(own[metric].mean),
                "" if gain is None else str(gain),
                reasons,
            ]
        )
    return Table(metric, ("system", "kind", "mean", "gain", "not valid"), rows, numbers=("mean", "gain"))


def _gains(study: GamingStudy) -> Table:
    """One row per metric: the attacks that gain most, and how many gain more than `HIGH`."""
    rows: list[list[Cell]] = []
    any_range = any(map(has_range, study.ranges.values()))
    for metric in study.signatures:
        found = {
            name: gain.value
            for name, own in study.attacks.items()
            if (gain := own[metric].gain) is not None and gain.value is not None
        }
        worst = sorted(found, key=lambda name: (-found[name], name))[:3]
        ends = study.ranges[metric]
        highest = ", ".join(f"{name} {found[name]:+.2f}" for name in worst)
        rows.append(
            [
                Styled(metric, "code"),
                "-" if ends is None else f"{ends[0]:.3f} … {ends[1]:.3f}",
                # Without a range, .15 of the metric's own unit says nothing.
                sum(value > HIGH for value in found.values()) if has_range(ends) else "-",
                highest if has_range(ends) or not any_range else f"{highest} (in units of the metric)",
            ]
        )
    unit = "units of the real range" if any_range else "units of the metric (no real range)"
    columns = ("metric", "real range", f"attacks over {HIGH}", "highest gains")
    return Table(f"Gains of attacks in {unit}", columns, rows, _notes(study), numbers=columns[1:3])


def _notes(study: GamingStudy) -> list[str]:
    """Name the systems and attacks that lack values: their numbers are not over all prompts."""
    made = []
    for metric in study.signatures:
        fewer = [
            f"{name} {own[metric].prompts}"
            for name, own in [*study.systems.items(), *study.attacks.items()]
            if own[metric].prompts < study.prompts
        ]
        if fewer:
            made.append(
                f"{metric} has no value on some of the {study.prompts} prompts; it has one on: {', '.join(fewer)}."
            )
    return made


def _kind(study: GamingStudy, name: str) -> str:
    return "source" if name == study.source else _KINDS.get(name, "real")


def _records(study: GamingStudy) -> list[list[Cell]]:
    def numbers(scores: Scores) -> list[Cell]:
        gain = scores.gain
        return [
            *(scores.mean.value, scores.mean.low, scores.mean.high),
            *((None, None, None) if gain is None else (gain.value, gain.low, gain.high)),
            scores.prompts,
        ]

    return [
        [metric, name, _kind(study, name), *numbers(own[metric])]
        for metric in study.signatures
        for name, own in [*study.systems.items(), *study.attacks.items()]
    ]
