"""The report of `python -m benchmark.perf` as Markdown. Pure: the same report, the same text."""

from collections.abc import Iterable, Sequence

from benchmark.perf.schema import Entry, Findings, Report

INTRODUCTION = """# Performance

Written by `python -m benchmark.perf`, each benchmark in a process of its own. A **ratio** compares
two things that were measured side by side in one run, so it says something of other machines, too. An absolute number,
*here*, is of this machine in the state that it was in: a load above its number of cores means that other programs took
their part. A **share** is of what the machine itself can do at most, measured in the same way (`limits`)."""


def markdown(report: Report) -> str:
    """The page."""
    parts = [INTRODUCTION, _machine(report)]
    parts += [_section(entry, entry.findings) for entry in report.entries if entry.findings is not None]
    if others := [_lacking(entry) for entry in report.entries if entry.findings is None]:
        parts.append("## Not measured\n\n" + "\n".join(others))
    return "\n\n".join(parts) + "\n"


def _machine(report: Report) -> str:
    machine = report.machine
    threads = "not known" if report.threads is None else f"{report.threads}"
    said = "not set" if machine.threads is None else machine.threads
    libraries = ", ".join(f"{name} {version}" for name, version in sorted(report.versions.items()))
    rows = [
        ("written", f"{report.made:%Y-%m-%d %H:%M} UTC"),
        ("processor", f"{machine.processor} ({machine.architecture}, {machine.system}), {machine.cores} cores"),
        ("memory", f"{machine.memory_gb:g} GB"),
        ("GPU", ", ".join(machine.gpus) or "none"),
        ("threads of torch", f"{threads} (OMP_NUM_THREADS {said})"),
        ("versions", libraries),
    ]
    return _table(("machine", ""), rows)


def _section(entry: Entry, found: Findings) -> str:
    """One that was measured."""
    parts = [f"## {entry.name}", entry.about, f"Measured: {found.compared}."]
    if figures := _figures(found):
        parts.append(_table(("what", "", "unit", "better", ""), figures, numbers=(1,)))
    if found.shares:
        shares = [
            (
                each.what,
                f"{_value(each.achieved)} {each.unit}",
                f"{_value(each.limit)} {each.unit}",
                f"{each.share:.0%}",
            )
            for each in found.shares
        ]
        parts.append(_table(("of the limit", "reached", "limit", "share"), shares, numbers=(1, 2, 3)))
    when = "" if entry.began is None else f"{entry.began:%Y-%m-%d %H:%M} UTC, "
    took = f"{entry.seconds:.0f} s, load {entry.load_before:.1f} before and {entry.load_after:.1f} after"
    parts.append(f"{when}{entry.size} size: `{entry.command}`; {took}.")
    return "\n\n".join(parts)


def _figures(findings: Findings) -> list[tuple[str, ...]]:
    kinds = [(each, "**ratio**") for each in findings.ratios] + [(each, "here") for each in findings.numbers]
    return [
        (figure.what, _value(figure.value), figure.unit, "" if figure.better == "neither" else figure.better, kind)
        for figure, kind in kinds
    ]


def _lacking(entry: Entry) -> str:
    reason = _cell(entry.reason or "")
    return f"- **{entry.name}** ({entry.state}): {reason}. {entry.about} Needs: {entry.needs}."


def _table(head: Sequence[str], rows: Iterable[Sequence[str]], numbers: tuple[int, ...] = ()) -> str:
    rule = ["---:" if i in numbers else "---" for i in range(len(head))]
    return "\n".join("| " + " | ".join(map(_cell, row)) + " |" for row in (head, rule, *rows))


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def _value(value: float) -> str:
    """Three digits that count, or all before the point.

    >>> [_value(x) for x in (0.01234, 1.0, 12.345, 1234567.8)]
    ['0.0123', '1.00', '12.3', '1,234,568']
    """
    if abs(value) >= 100:
        return f"{value:,.0f}"
    digits = 2 if abs(value) >= 1 or value == 0 else 3
    return f"{value:.{1 if abs(value) >= 10 else digits}f}" if abs(value) >= 0.1 or value == 0 else f"{value:.3g}"
