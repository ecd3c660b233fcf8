"""The front door: the console command `divbench`.

It stands in the last folder because it may import all four. Sub-commands are imported when they are named, and
their modules import no heavy library until they run.
"""

import io
import sys
from collections.abc import Callable
from importlib import import_module
from importlib.metadata import version
from typing import Annotated, NoReturn

import typer

from datasets_build.console import err, print_json
from datasets_build.errors import DivBenchError

ABOUT = """How diverse are the outputs of a language model, and how good is the metric that says so?

Import generations, check them, score them, look at the board:

  divbench submission import FILE --from jsonl --suite demo --name my-model --submitter me --out subs/my-model

  divbench score subs/my-model --out results

  divbench board serve --results results

Try it without any data: divbench demo
"""

# name: (module, attribute). In the order of the flow.
COMMANDS: dict[str, tuple[str, str]] = {
    "data": ("datasets_build.commands", "app"),
    "submission": ("submissions.commands", "app"),
    "submit": ("submissions.work_queue.commands", "submit"),
    "status": ("submissions.work_queue.commands", "status"),
    "submissions": ("submissions.work_queue.commands", "app"),
    "generate": ("benchmark.generation.commands", "generate"),
    "internals": ("benchmark.generation.internals.commands", "internals"),
    "score": ("benchmark.commands", "score"),
    "metrics": ("benchmark.commands", "metrics"),
    "worker": ("benchmark.service.commands", "worker"),
    "rescore": ("benchmark.service.commands", "rescore"),
    "explain": ("leaderboard.reports.explain.commands", "explain"),
    "classes": ("leaderboard.reports.equivalence.commands", "classes"),
    "metaeval": ("leaderboard.reports.metaeval.commands", "metaeval"),
    "heldout": ("leaderboard.reports.metaeval.commands", "heldout"),
    "gss": ("leaderboard.reports.gss.commands", "gss"),
    "reproduce": ("benchmark.analysis.reproduce.commands", "reproduce"),
    "perf": ("benchmark.perf.commands", "perf"),
    "contrast": ("benchmark.analysis.contrast.commands", "contrast"),
    "export": ("benchmark.exports.commands", "app"),
    "board": ("leaderboard.commands", "app"),
    "demo": ("leaderboard.commands", "demo"),
}


def build(names: list[str]) -> typer.Typer:
    """The command with these sub-commands."""
    app = typer.Typer(
        name="divbench", help=ABOUT, no_args_is_help=True, pretty_exceptions_enable=False, rich_markup_mode="markdown"
    )
    app.callback()(_root)
    for name in names:
        module, attribute = COMMANDS[name]
        found = getattr(import_module(module), attribute)
        if isinstance(found, typer.Typer):
            app.add_typer(found, name=name)
        else:
            command: Callable[..., None] = found
            app.command(name)(command)
    return app


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(version("divbench"))
        raise typer.Exit


def _root(
    wanted: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print it.")] = False,
) -> None:
    pass


_root.__doc__ = ABOUT


def main() -> NoReturn:
    """Run the command. Exit status: 0 fine, 1 problems in the input, 2 wrong usage or configuration."""
    for stream in (sys.stdout, sys.stderr):  # an arrow on a terminal that has none is a question mark, not a crash
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    arguments = sys.argv[1:]
    named = next((word for word in arguments if not word.startswith("-")), None)
    app = build([named] if named in COMMANDS else list(COMMANDS))
    try:
        app(prog_name="divbench")
    except DivBenchError as error:
        _fail(error, as_json="--json" in arguments)
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        message = f"{where}{error.strerror or error}"
        _fail(DivBenchError(message, "nothing half-written is left; mend it and run again"), "--json" in arguments)
    except SystemExit as end:
        if end.code == 130:  # what typer makes of Ctrl-C
            err().print("interrupted; the same command goes on where it stopped")
        raise
    sys.exit(0)


def _fail(error: DivBenchError, as_json: bool) -> NoReturn:
    if as_json:
        print_json(error.as_json())
    else:
        from submissions.untrusted.findings import Refused

        if isinstance(error, Refused):
            from submissions.checking.printing import print_findings

            print_findings(error.findings, err())
    err().print(f"error: {error}", style="red", markup=False, soft_wrap=True)
    sys.exit(error.exit_status)
