"""The frame of commands: results on stdout, with `--json` as one document; everything else on stderr; options."""

import json
import signal
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import MISSING, fields, is_dataclass
from datetime import timedelta
from functools import partial
from inspect import Parameter, signature
from pathlib import Path
from time import monotonic
from typing import Annotated, Any

import typer
from rich.console import Console, ConsoleOptions, RenderableType
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.segment import Segment

from divbench.core.files import plain_json
from divbench.core.tables import Block, Report, print_blocks, printable, write_report

PIPED_WIDTH = 160
SECONDS_A_LINE = 15.0  # between lines of progress, without a terminal
SECONDS_TO_FIRST = 3.0
MirrorOption = Annotated[
    Path | None,
    typer.Option(help="Folder with released files, for datasets not in the package. (env: DIVBENCH_MIRROR)"),
]
JsonOption = Annotated[bool, typer.Option("--json", help="One JSON document on stdout; everything else on stderr.")]
# Options in a panel of a command's help.
d_can_option = partial(typer.Option, rich_help_panel="D_Can")
data_option = partial(typer.Option, rich_help_panel="Data")
file_option = partial(typer.Option, rich_help_panel="File")
internals_option = partial(typer.Option, rich_help_panel="Internals")
metrics_option = partial(typer.Option, rich_help_panel="Metrics")
models_option = partial(typer.Option, rich_help_panel="Models")
output_option = partial(typer.Option, rich_help_panel="Output")
prompts_option = partial(typer.Option, rich_help_panel="Prompts")
sampling_option = partial(typer.Option, rich_help_panel="Sampling")
statistics_option = partial(typer.Option, rich_help_panel="Statistics")
system_option = partial(typer.Option, rich_help_panel="System")


def out() -> Console:
    """Return the console for results that people read."""
    return _console(stderr=False)


def err() -> Console:
    """Return the console for everything but the result."""
    return _console(stderr=True)


def _console(stderr: bool) -> Console:
    console = _PlainConsole(stderr=stderr, highlight=False, emoji=False)  # ":100:" may be part of a name
    if not console.is_terminal:
        console.width = PIPED_WIDTH  # a file has no width to fit
    return console


class _PlainConsole(Console):
    """A console that shows unprintable characters as escapes, so that no text can control the terminal.

    A string is one line: a line break in it is an untrusted one, such as in the name of a folder.
    """

    def print(self, *objects: Any, **how: Any) -> None:
        """Print as rich does."""
        super().print(*(printable(item) if isinstance(item, str) else item for item in objects), **how)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Render as rich does; its own control codes stay."""
        for segment in super().render(renderable, options):
            if segment.control or segment.text.isprintable():
                yield segment
            else:
                yield Segment("\n".join(map(printable, segment.text.split("\n"))), segment.style)


class _Lines(Progress):
    """A progress bar for files and pipes: a line now and then, with the time left."""

    _told = 0.0
    _has_told = False

    def update(self, task_id: TaskID, **changes: Any) -> None:
        """Update the task, and print a line if the last one is some time ago."""
        super().update(task_id, **changes)
        self._tell(task_id)

    def advance(self, task_id: TaskID, advance: float = 1) -> None:
        """Advance the task, and print a line likewise."""
        super().advance(task_id, advance)
        self._tell(task_id)

    def _tell(self, task_id: TaskID) -> None:
        now, self._told = monotonic(), self._told or monotonic()
        if now - self._told < (SECONDS_A_LINE if self._has_told else min(SECONDS_TO_FIRST, SECONDS_A_LINE)):
            return
        self._has_told = True
        self._told, task = now, self._tasks[task_id]
        done = f"{task.completed:g}" if task.total is None else f"{task.completed:g} of {task.total:g}"
        left = "" if task.time_remaining is None else f", about {timedelta(seconds=round(task.time_remaining))} left"
        self.console.print(f"{task.description}: {done}{left}", markup=False)


def progress() -> Progress:
    """Make a progress bar on stderr; lines with the time left if stderr is not a terminal."""
    console = err()
    return (Progress if console.is_terminal else _Lines)(
        TextColumn("{task.description}", markup=False),  # it may contain untrusted text
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=console,
        disable=not console.is_terminal,
        speed_estimate_period=600,  # seconds: some steps, such as a thousand response sets, take minutes
    )


@contextmanager
def steps() -> Iterator[Callable[..., None]]:
    """Yield a function that shows the current step, the amount done, the total, and perhaps what is done within it."""
    with progress() as bar:
        task = bar.add_task("", total=None)

        def show(what: str, done: int, total: int, within: str = "") -> None:
            if bar.tasks[0].description.partition(" (")[0] != what:  # else the speed of the last step counts for this
                bar.reset(task, description=what)
            bar.update(task, completed=done, total=total, description=f"{what} ({within})" if within else what)

        yield show


def print_json(document: Any) -> None:
    """Write one JSON document to stdout, in ASCII, which every encoding of stdout can write."""
    sys.stdout.write(json.dumps(document, indent=2, allow_nan=False) + "\n")


def say(document: Any, *blocks: Block, as_json: bool) -> None:
    """Print a JSON document, or else text for people, on stdout: lines that stay whole, styled paragraphs, tables."""
    if as_json:
        print_json(plain_json(document))
        return
    for block in blocks:
        if isinstance(block, str):  # it may be untrusted
            out().print(block, markup=False, soft_wrap=True)
        else:
            print_blocks([block], out())


def deliver(report: Report, path: Path | None, *, as_json: bool) -> None:
    """Write a report to a file if one is given, and print it, or its JSON document, on stdout."""
    if path is not None:
        write_report(report, path)
        err().print(f"written: {path}", markup=False, soft_wrap=True)
    if as_json:
        print_json(plain_json(report.document))
    else:
        print_blocks(report.printed, out())


def termination_signals() -> tuple[int, ...]:
    """Return SIGTERM and, where it is not ignored as by nohup, SIGHUP, which a terminal sends when it is closed."""
    hangup = getattr(signal, "SIGHUP", None)  # Windows has none
    if hangup is None or signal.getsignal(hangup) is signal.SIG_IGN:
        return (signal.SIGTERM,)
    return signal.SIGTERM, hangup


def with_option_groups(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command an option for each field of its parameters that are dataclasses; Typer reads the new signature.

    Annotations are types, not strings: `Annotated[..., typer.Option(...)]`. A field without a default is required.
    """
    original = signature(command)
    kinds = [(parameter.name, parameter.annotation) for parameter in original.parameters.values()]
    groups: dict[str, Any] = {name: kind for name, kind in kinds if is_dataclass(kind)}
    shown: list[Parameter] = []
    for parameter in original.parameters.values():
        if parameter.name not in groups:
            shown.append(parameter.replace(kind=Parameter.KEYWORD_ONLY))
            continue
        for field in fields(groups[parameter.name]):
            default = Parameter.empty if field.default is MISSING else field.default
            if parameter.default is not Parameter.empty:  # a group with defaults of the command
                default = getattr(parameter.default, field.name)
            shown.append(Parameter(field.name, Parameter.KEYWORD_ONLY, default=default, annotation=field.type))

    def run(**values: Any) -> None:
        chosen = {
            name: group(**{field.name: values.pop(field.name) for field in fields(group)})
            for name, group in groups.items()
        }
        command(**values, **chosen)

    run.__signature__ = original.replace(parameters=shown)  # type: ignore[attr-defined] # `signature` looks for it
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in shown}
    run.__name__, run.__doc__ = command.__name__, command.__doc__
    return run
