"""The console command `divbench`: a command's module is imported when it is named, heavy libraries when it runs."""

import errno
import io
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any, NamedTuple, NoReturn

import typer
from typer.core import TyperGroup

from divbench.core.console import err, print_json
from divbench.core.errors import ConfigurationError, DivBenchError
from divbench.core.tables import printable

ABOUT = """How diverse are the outputs of a language model, and how good is the metric that says so?

Try it on the bundled demonstration:

  divbench demo

Score your responses to the prompts of a suite beside known systems:

  divbench data prompts noveltybench-curated --out prompts.jsonl

  divbench quick responses.jsonl --name my-model

Look up a metric:

  divbench metrics show valid_distinct_k
"""


class Command(NamedTuple):
    """A command: the words after `divbench`, the module and name of its function, and its panel in the help."""

    words: str
    module: str
    attribute: str
    panel: str = ""


COMMANDS = (
    Command("demo", "leaderboard.commands", "demo", "Start"),
    Command("quick", "leaderboard.quick_command", "quick", "Start"),
    Command("data", "datasets_build.commands", "app", "Start"),
    Command("data lm-eval-tasks", "divbench.integrations.lm_eval_tasks", "lm_eval_tasks", "Start"),
    Command("import", "submissions.commands", "import_", "Start"),
    Command("validate", "submissions.commands", "validate", "Start"),
    Command("generate", "benchmark.generation.commands", "generate", "Score"),
    Command("score", "benchmark.commands", "score", "Score"),
    Command("board", "leaderboard.commands", "app", "Score"),
    Command("export", "benchmark.exports.commands", "app", "Score"),
    Command("metrics list", "benchmark.commands", "metrics", "Study"),
    Command("metrics show", "divbench.cards", "show"),
    Command("metrics explain", "benchmark.analysis.explain_command", "explain"),
    Command("metrics internals", "benchmark.generation.commands", "internals"),
    Command("metrics baseline", "submissions.commands", "baseline"),
    Command("metrics gaming", "benchmark.analysis.commands", "gaming"),
    Command("metrics gss", "benchmark.analysis.commands", "gss"),
    Command("metrics metaeval", "benchmark.analysis.metaeval.commands", "metaeval"),
    Command("metrics plan", "benchmark.analysis.plan", "plan"),
    Command("metrics record", "benchmark.analysis.commands", "record"),
    Command("metrics reproduce", "benchmark.analysis.reproduce.commands", "reproduce"),
    Command("metrics study", "leaderboard.data.metric_study.command", "metrics_study"),
    Command("contrast", "benchmark.analysis.contrast.commands", "contrast", "Study"),
    Command("people forms", "benchmark.analysis.rating_commands", "forms", "Study"),
    Command("people ratings", "benchmark.analysis.rating_commands", "ratings"),
    Command("people votes", "leaderboard.vote_commands", "report"),
    Command("people export", "leaderboard.vote_commands", "export"),
    Command("submit", "submissions.commands", "submit", "Service"),
    Command("submissions list", "submissions.commands", "list_", "Service"),
    Command("submissions status", "submissions.commands", "status"),
    Command("submissions score", "benchmark.service.commands", "score"),
    Command("submissions rescore", "benchmark.service.commands", "rescore"),
    Command("submissions retry", "submissions.commands", "retry"),
    Command("submissions withdraw", "submissions.commands", "withdraw"),
    Command("submissions repair", "submissions.commands", "repair"),
)
GROUPS = {
    "metrics": "List, explain and test metrics, and measure their agreement with human labels.",
    "people": "Collect human ratings of response sets, and analyse ratings and arena votes.",
    "submissions": "Run a submission service: list, score, retry or withdraw submissions.",
}


@contextmanager
def _printable_errors() -> Iterator[None]:
    """Make Typer's error messages printable: they quote the command line, and Typer escapes only control characters."""
    try:
        yield
    except typer.TyperException as error:
        message = error.message.removeprefix("Value error, ")  # Pydantic's
        error.message = "\n".join(map(printable, message.split("\n")))
        if "--json" in sys.argv[1:]:  # Typer itself writes to stderr only
            print_json(ConfigurationError(error.format_message(), "--help shows the usage").as_json())
        raise


class _Commands(TyperGroup):
    """The group of all commands; usage errors are raised here."""

    @_printable_errors()
    def make_context(self, *arguments: Any, **options: Any) -> Any:
        """Parse the options that precede the command."""
        return super().make_context(*arguments, **options)

    @_printable_errors()
    def invoke(self, ctx: Any) -> Any:
        """Parse the command and its arguments, and run it."""
        return super().invoke(ctx)


def build(named: Sequence[str] = ()) -> typer.Typer:
    """Build the command line, importing only the commands that these words can mean."""
    app = typer.Typer(
        name="divbench", help=ABOUT, no_args_is_help=True, pretty_exceptions_enable=False, rich_markup_mode="markdown"
    )
    app.callback(cls=_Commands)(_root)
    groups: dict[str, typer.Typer] = {}
    for command in _needed(named):
        target = getattr(import_module(command.module), command.attribute)
        first, _, second = command.words.partition(" ")
        if second:
            if first not in groups:
                groups[first] = typer.Typer(no_args_is_help=True, rich_markup_mode="markdown", help=GROUPS.get(first))
                app.add_typer(groups[first], name=first, rich_help_panel=command.panel)
            groups[first].command(second)(target)
        elif isinstance(target, typer.Typer):
            groups[first] = target
            app.add_typer(target, name=first, rich_help_panel=command.panel)
        else:
            app.command(first, rich_help_panel=command.panel)(target)
    return app


def _needed(named: Sequence[str]) -> Sequence[Command]:
    first = [command for command in COMMANDS if command.words.split()[:1] == list(named[:1])]
    exact = [command for command in first if command.words.split() == list(named[:2])]
    return exact or first or COMMANDS


def _version(requested: bool) -> None:
    if requested:
        typer.echo(version("divbench"))
        raise typer.Exit


def _root(
    requested: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    pass


_root.__doc__ = ABOUT


def main() -> NoReturn:
    """Run the command. Exit status: 0 success, 1 problems in the input, 2 wrong usage or configuration."""
    _prepare_streams()
    arguments = sys.argv[1:]
    named = [word for word in arguments if not word.startswith("-")][:2]
    try:
        build(named)(prog_name="divbench")
    except DivBenchError as error:
        _fail(error, as_json="--json" in arguments)
    except OSError as error:
        _fail(_refused_by_system(error), as_json="--json" in arguments)
    except UnicodeEncodeError:
        for word in arguments:
            if any("\ud800" <= letter <= "\udfff" for letter in word):  # how Python keeps bytes that are not text
                message = f"{printable(word)} is not text in this locale's encoding, {sys.getfilesystemencoding()}"
                _fail(ConfigurationError(message, "set PYTHONUTF8=1, or use another name"), "--json" in arguments)
        raise
    except SystemExit as end:
        if end.code == 130:  # Typer's exit status for Ctrl-C
            err().print("interrupted; run the same command again to continue where it stopped")
        raise
    sys.exit(0)


def _prepare_streams() -> None:
    """Make stdout and stderr print what they cannot encode as question marks, and nothing if they are closed."""
    if sys.stdout is None:  # it was closed, as by `>&-`
        sys.stdout = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - it is needed until the end
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def _refused_by_system(error: OSError) -> DivBenchError:
    named = error.filename2 or error.filename  # of a rename, the new name: the old one is that of a temporary file
    where = f"{named}: " if named else ""
    hint = "no partial output was left; fix the cause and run the command again"
    if isinstance(error, FileExistsError):
        hint = "choose another name, or remove it"
    elif error.filename and error.errno in {errno.EACCES, errno.EROFS}:
        from datasets_build.download import home

        with suppress(ConfigurationError):  # there is no home folder
            ours = home().absolute()
            if ours.is_relative_to(error.filename) or Path(error.filename).is_relative_to(ours):
                hint = "name another folder for downloads and caches with DIVBENCH_HOME"
    return DivBenchError(f"{where}{error.strerror or error}", hint)


def _fail(error: DivBenchError, as_json: bool) -> NoReturn:
    if as_json:
        with suppress(OSError):  # stdout may be what failed
            print_json(error.as_json())
            sys.stdout.flush()
    message = str(error)
    if not as_json:
        from submissions.untrusted.findings import Rejected

        if isinstance(error, Rejected):
            from submissions.checking.printing import print_findings

            print_findings(error.findings, err())
            message = error.message  # the table above has the problems
    err().print(f"error: {message}", style="red", markup=False, soft_wrap=True)
    sys.exit(error.exit_status)
