"""Pages of the site that are not in docs/: CONTRIBUTING.md, and cards, datasets, commands, Python API from the code."""

import re
from pathlib import Path
from posixpath import dirname, normpath
from typing import Any

from mkdocs.structure.files import File

_UPWARDS = re.compile(r"(?<!!)\[([^\]]+)\]\((\.\./[^)]*)\)")


def on_files(files: Any, config: Any) -> Any:
    """Add the generated pages."""
    for path, make in (
        ("contributing.md", contributing),
        ("reference/metric-cards.md", metric_cards),
        ("reference/datasets.md", datasets),
        ("reference/python.md", python_api),
        ("reference/commands.md", commands),
    ):
        files.append(File.generated(config, path, content=make()))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Show links to files of the repository as their names: the site has the folder docs/ alone."""

    def shown(link: re.Match[str]) -> str:
        outside = normpath(f"{dirname(page.file.src_uri)}/{link[2]}".lstrip("/")).startswith("..")
        return link[1] if outside else link[0]

    return _UPWARDS.sub(shown, markdown)


def contributing() -> str:
    """Return how to add a metric, a dataset or a page."""
    return Path(__file__).parents[1].joinpath("CONTRIBUTING.md").read_text("utf-8")


def metric_cards() -> str:
    """Return the cards of all metrics."""
    import divbench
    from benchmark.metrics import METRICS
    from divbench.core.tables import escape_markdown

    parts = [
        "# Metric cards\n\nDefinition, direction, source, agreement with people and known failures of every metric."
    ]
    for metric in METRICS:
        lines = str(divbench.metric(metric.id)).splitlines()[1:]
        parts.append(f"## {metric.id}\n\n" + "\n".join(f"- {escape_markdown(line)}" for line in lines))
    return "\n\n".join(parts) + "\n"


def datasets() -> str:
    """Return what there is to know of every config."""
    from datasets_build.sources import DATASETS
    from divbench.core.tables import escape_markdown

    parts = [
        "# Datasets\n\nConfigs of one Hub dataset repository. `divbench data info NAME` names every source file, too."
    ]
    for source in DATASETS:
        for config in source.configs:
            splits = ", ".join(f"{split.name} ({split.count:,})" for split in config.splits)
            fields = [f"| {f.name} | {f.type} | {escape_markdown(config.fields[f.name])} |" for f in config.schema]
            flaws = [f"- {escape_markdown(flaw)}" for flaw in source.flaws]
            parts += [
                f"## {config.name}",
                f"{escape_markdown(config.about[0].upper() + config.about[1:])}. {escape_markdown(config.made)}",
                f"From {source.paper or 'this package'}; licence: {escape_markdown(source.licence)}. Splits: {splits}.",
                "\n".join(["| field | type | what |", "| --- | --- | --- |", *fields]),
                "\n".join(["Known flaws:", "", *flaws]) if flaws else "",
            ]
    return "\n\n".join(filter(None, parts)) + "\n"


def python_api() -> str:
    """Return directives for the public functions, then for the classes of what they return."""
    import divbench

    names = sorted(divbench.__all__, key=lambda name: (isinstance(getattr(divbench, name), type), name.lower()))
    return "# Python\n\n" + "\n\n".join(f"::: divbench.{name}" for name in names) + "\n"


def commands() -> str:
    """Return the help of every command."""
    import typer.main
    from typer.cli import get_docs_for_click

    from divbench.command_line import build

    command = typer.main.get_command(build())
    _keep_summaries(command)
    context = command.make_context("divbench", [], resilient_parsing=True)
    made = get_docs_for_click(obj=command, ctx=context, name="divbench", title="Commands")
    made = re.sub(r"^  (?=divbench )", "    ", made, flags=re.MULTILINE)  # examples are code
    return re.sub(r"<list\[([A-Za-z]+)\]>", lambda found: f"<{found[1].lower()}>", made)


def _keep_summaries(command: Any) -> None:
    """Give every command its whole summary in lists: without one, they cut it after 45 characters."""
    for each in getattr(command, "commands", {}).values():
        each.short_help = (each.help or "").split("\n\n")[0].replace("\n", " ")
        _keep_summaries(each)
