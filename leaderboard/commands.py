"""`divbench board` and `divbench demo`."""

from datetime import UTC
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from divbench.core.console import JsonOption, err, out, print_json, progress, say, steps
from divbench.core.errors import ConfigurationError, counted, need, need_installed
from leaderboard.reports.reference_command import reference
from leaderboard.static.space_command import space

if TYPE_CHECKING:
    from leaderboard.data.live_results import LiveResults
    from leaderboard.data.sources import Snapshot

app = typer.Typer(
    no_args_is_help=True, rich_markup_mode="markdown", help="Show results in a browser, in the terminal, or as files."
)
Results = Annotated[
    Path | None,
    typer.Option(
        help="Results folder written by `divbench score --out`; default: results, if that folder exists.",
        show_default=False,
    ),
]
Reference = Annotated[
    bool | None,
    typer.Option(
        "--reference/--no-reference",
        help="Reference results of known systems, which ship with the package; default: only if there are no others.",
        show_default=False,
    ),
]

DEFAULT = Path("results")
_server_option = partial(typer.Option, rich_help_panel="Server")

Store = Annotated[
    str | None,
    typer.Option(
        help="Store of a submission service, instead of --results: a folder, or hf://datasets/ORG/NAME.",
        show_default=False,
    ),
]
ResultsStore = Annotated[
    str | None,
    typer.Option(
        help="Store of the service's results, if its workers publish them in another store; default: --store.",
        show_default=False,
    ),
]
Study = Annotated[
    Path | None,
    typer.Option(
        help="Folder written by divbench metrics study; default: the study that ships with the package.",
        show_default=False,
    ),
]
app.command()(space)
app.command()(reference)


@app.command()
def serve(
    results: Results = None,
    store: Store = None,
    results_store: ResultsStore = None,
    reference: Annotated[
        bool, typer.Option(help="Reference results of known systems, shown beside your own; part of the package.")
    ] = True,
    study: Study = None,
    votes: Annotated[
        str | None,
        typer.Option(
            help="Store of visitors' votes: a folder, or hf://datasets/ORG/NAME; default: the one given by --store. "
            "Without a store, voting is off.",
            show_default=False,
        ),
    ] = None,
    repository: Annotated[
        str | None,
        typer.Option(
            help="URL of the source code, linked in the navigation; default: from the package's metadata, if any.",
            show_default=False,
        ),
    ] = None,
    host: Annotated[str, _server_option(help="Address to listen on; 0.0.0.0 accepts other machines.")] = "127.0.0.1",
    port: Annotated[
        int | None, _server_option(min=1, max=65535, help="Port to listen on; default: the first free port from 7860.")
    ] = None,
    refresh: Annotated[float, _server_option(min=1, help="Seconds after which a visit rereads the results.")] = 60.0,
) -> None:
    """Open the board in a browser: models, comparisons, every response, the metrics, and a page to submit.

    Show the reference systems:

      divbench board serve

    Add your own results:

      divbench board serve --results results

    Show a submission service with its queue:

      divbench board serve --store hf://datasets/ORG/NAME

    Let visitors vote on the page Arena:

      divbench board serve --results results --votes votes

    Stop it with Ctrl-C.
    """
    if repository is not None and not repository.startswith("https://"):
        raise ConfigurationError(
            f"{repository!r} is not the URL of a repository", "give a URL that begins with https://"
        )
    if port is not None:
        from leaderboard.app.listening import check_port

        check_port(host, port)
    live = _live(results, store, study, refresh, reference=reference, results_store=results_store, votes=votes or store)
    now = live.snapshot()
    _left_out(now)
    results_shown = sum(len(board.entries) for board in now.boards)
    err().print(f"{counted(results_shown, 'result')} in {counted(len(now.boards), 'table')}", markup=False)

    need("gradio", "board")  # after errors in the results are reported, because the import takes seconds
    from leaderboard.app.application import build_app, launch

    launch(build_app(live, repository=repository), live, host, port, repository=repository)


@app.command()
def export(
    results: Results = None,
    store: Store = None,
    results_store: ResultsStore = None,
    reference: Reference = None,
    study: Study = None,
    destination: Annotated[Path, typer.Option("--out", help="Output folder.")] = Path("board"),
    html: Annotated[
        bool, typer.Option("--html", help="HTML pages that open without a server, in addition to the tables.")
    ] = False,
    texts: Annotated[
        bool | None, typer.Option(help="Responses in the --html pages; default: included if at most 50 MB in total.")
    ] = None,
    json: JsonOption = False,
) -> None:
    """Write every table as CSV and Parquet, with column descriptions in JSON; with --html, also the board as web pages.

    Exit with status 1 if any results could not be read and were left out, or if the store cannot be read and the files
    show its state at an earlier time.

    Example: divbench board export --results results --html --out board
    """
    for module in ("jinja2", "markupsafe", "plotly") if html else ():
        need_installed(module, "board")
    live = _live(results, store, study, None, reference=reference, results_store=results_store)
    now = live.snapshot()
    skipped = _left_out(now)
    if html:
        from leaderboard.static.write import write_static

        with steps() as tell:
            made = write_static(live, destination, texts=texts, progress=tell)
        written = [str(made.folder / "index.html")]
        skipped = [{"folder": "", "reason": reason} for reason in made.left_out]
    else:
        from leaderboard.tables.export import export as write

        written = [str(path) for board in now.boards for path in write(board, destination, live.scores)]
    document = {"written": written, "left_out": skipped, "fault": now.fault}
    say(document, *(written or ["there are no results"]), as_json=json)
    if skipped or now.fault is not None:
        raise typer.Exit(1)


@app.command()
def show(
    results: Results = None,
    store: Store = None,
    results_store: ResultsStore = None,
    reference: Reference = None,
    all_metrics: Annotated[bool, typer.Option("--all", help="All metrics, and curves over responses.")] = False,
    json: JsonOption = False,
) -> None:
    """Print the ranking of every table in the terminal; if you have no results, print the reference results.

    Example: divbench board show --results results --all
    """
    from leaderboard.tables.printing import board_json, print_curves, print_front, print_metrics

    live = _live(results, store, None, None, reference=reference, results_store=results_store)
    now = live.snapshot()
    _left_out(now)
    if json:
        print_json([board_json(board, live.scores) for board in now.boards])
    elif not now.boards:
        out().print("there are no results")
    for board in now.boards if not json else []:
        print_front(board, out())
        if all_metrics:
            print_metrics(board, out())
            print_curves(board, out())
        out().print()


def demo(
    folder: Annotated[Path, typer.Option("--out", help="Working folder.")] = Path("demo-run"),
    profile: Annotated[str, typer.Option(help="Scoring profile: lexical or offline.")] = "offline",
    all_metrics: Annotated[
        bool, typer.Option("--all", help="All metrics, including surprisal metrics, which take several minutes.")
    ] = False,
    json: JsonOption = False,
) -> None:
    """Import, validate, score and show the bundled demonstration, without a network connection.

    It has six submissions to 24 prompts: varied, paraphrased and collapsed responses that we wrote, and three known-bad
    systems derived from the varied ones. They illustrate what the metrics measure; no model generated them.
    The reference results of known systems are printed last.

    Example: divbench demo --out demo-run
    """
    from benchmark.scoring.backends import ScoringBackends
    from benchmark.scoring.inputs import input_of
    from benchmark.scoring.profiles import find_profile
    from benchmark.scoring.scorer import score_submission
    from benchmark.surprisal.cache import default_cache_path
    from leaderboard.data.board import make_boards
    from leaderboard.data.reference.results import WithReference
    from leaderboard.tables.export import export as write
    from leaderboard.tables.printing import board_json, print_curves, print_front
    from submissions.checking.validate import open_submission
    from submissions.demo.build import write_demo_submissions

    backends = ScoringBackends(find_profile(profile), default_cache_path())
    there = backends.profile.metrics()
    metrics = tuple(each for each in there if all_metrics or "causal_lm" not in input_of(each).sources)
    console = err() if json else out()
    console.print(f"1. import or derive six submissions into {folder / 'submissions'}", markup=False)
    folders = write_demo_submissions(folder / "submissions")
    console.print(f"2. validate them, and 3. score them with the profile {profile}", markup=False)
    results = []
    with progress() as bar:
        for each in bar.track(folders, description="scoring"):
            submission, suite, _ = open_submission(each)
            scored = score_submission(submission, suite, backends, folder / "results", metrics=metrics)
            results.append((scored.folder, scored.result))
            state = "already scored" if scored.recognised else "scored"
            console.print(f"   {submission.manifest.name}: {state} as {scored.result.result_id}", markup=False)
    boards = make_boards(results)
    written = [path for board in boards for path in write(board, folder / "board")]
    console.print(f"4. show the board, also written to {folder / 'board'}", markup=False)
    if json:
        print_json({"boards": [board_json(b) for b in boards], "written": [str(p) for p in written]})
        return
    for board in boards:
        print_front(board, console)
        print_curves(board, console)
    console.print(f"   All metrics: divbench board show --results {folder / 'results'} --all", markup=False)
    console.print("5. show the reference results of known systems", markup=False)
    for board in WithReference().read().boards[:1]:
        print_front(board, console)
    console.print(f"Open the board in a browser: divbench board serve --results {folder / 'results'}", markup=False)


def _left_out(now: "Snapshot") -> list[dict[str, str]]:
    """Report what a snapshot lacks, and that it is not the store's present state; return what it lacks."""
    lacks = [(str(folder), found.reason) for folder, found in now.unreadable.items()]
    lacks += [(item.path, item.reason) for item in (now.queue.damaged if now.queue else ())]
    if now.fault is not None:
        since = f"{now.as_of.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
        err().print(
            f"the results cannot be updated; this is their state at {since}: {now.fault}", style="yellow", markup=False
        )
    for where, reason in lacks:
        err().print(f"left out {where}: {reason}", style="yellow", markup=False)
    return [{"folder": where, "reason": reason} for where, reason in lacks]


def _there(results: Path) -> Path:
    """Return the folder if it is a results folder."""
    from benchmark.scoring.results import RESULT_FILE
    from submissions.storage.submission_folders import MANIFEST_FILE

    if not results.is_dir():
        raise ConfigurationError(f"there is no folder {results}", "name the one that divbench score --out wrote")
    if (results / MANIFEST_FILE).is_file():
        submissions = [results]
    else:
        submissions = sorted(each.parent for each in results.glob(f"*/{MANIFEST_FILE}"))
    if submissions and not any(results.glob(f"*/{RESULT_FILE}")):
        what = "a submission" if submissions == [results] else f"a folder of {counted(len(submissions), 'submission')}"
        raise ConfigurationError(
            f"{results} is {what}, not a results folder",
            f"score first: divbench score {submissions[0]} --out results, then divbench board serve --results results",
        )
    if (results / RESULT_FILE).is_file():
        raise ConfigurationError(f"{results} is a single result", f"name the folder that contains it: {results.parent}")
    return results


def _live(
    results: Path | None,
    store: str | None,
    study: Path | None,
    refresh: float | None,
    *,
    reference: bool | None,
    results_store: str | None = None,
    votes: str | None = None,
) -> "LiveResults":
    """Read the results that the board shows.

    Args:
        results: Results folder; None: `results`, if that folder exists.
        reference: Whether to show the reference results; None: only if the folder has no results.

    Raises:
        ConfigurationError: The folder does not exist, or there is nothing to show.
    """
    from leaderboard.data.live_results import LiveResults
    from leaderboard.data.reference.results import WithReference
    from leaderboard.data.sources import FolderSource, Source, StoreSource
    from submissions.judgements.vote_store import open_spool
    from submissions.storage.file_store import open_store

    if store is not None and results is not None:
        raise ConfigurationError("--results and --store were both given", "give one of them")
    if results_store is not None and store is None:
        raise ConfigurationError("--results-store was given without --store", "name the store of the submissions, too")
    source: Source | None = None
    if store is not None:
        # Only a served board takes submissions, so that its folder may be made later.
        apart = None if results_store is None else open_store(results_store, existing=refresh is None)
        source = StoreSource(open_store(store, existing=refresh is None), results=apart)
    elif results is not None or DEFAULT.is_dir():
        source = FolderSource(_there(results or DEFAULT))
    if source is None and reference is False:
        raise ConfigurationError(f"there is no folder {DEFAULT}", "name the one that divbench score --out wrote")
    alone = source is None or (isinstance(source, FolderSource) and not source.read().boards)
    shown = reference or (reference is None and alone)  # an empty folder shows what a board looks like
    spool = None if votes is None else open_spool(open_store(votes))
    shown_source = WithReference(source) if shown or source is None else source
    return LiveResults(shown_source, study=study, refresh=refresh, votes=spool)
