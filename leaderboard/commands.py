"""`divbench board` and `divbench demo`."""

from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Annotated

import typer

from divbench.core.console import JsonOption, err, out, print_json, progress, say
from divbench.core.errors import ConfigurationError, counted, need, need_installed

if TYPE_CHECKING:
    from leaderboard.data.sources import Snapshot, Source

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
Store = Annotated[
    str | None,
    typer.Option(
        help="Store of a submission service, instead of --results: a folder, or hf://datasets/ORG/NAME.",
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


@app.command()
def serve(
    results: Results = None,
    store: Store = None,
    results_store: Annotated[
        str | None,
        typer.Option(
            help="Store of the service's results, if its workers publish them in another store; default: --store.",
            show_default=False,
        ),
    ] = None,
    reference: Annotated[
        bool, typer.Option(help="Reference results of known systems, shown beside your own; part of the package.")
    ] = True,
    study: Annotated[
        Path | None,
        typer.Option(
            help="Folder written by divbench metrics study; default: the study that ships with the package.",
            show_default=False,
        ),
    ] = None,
    votes: Annotated[
        str | None,
        typer.Option(
            help="Store of visitors' votes: a folder, or hf://datasets/ORG/NAME; default: the one given by --store. "
            "Without a store, voting is off.",
            show_default=False,
        ),
    ] = None,
    texts: Annotated[
        bool,
        typer.Option(
            "--texts/--no-texts",
            help="Download the responses of the reference systems once, from where they were released.",
        ),
    ] = True,
    host: Annotated[str, typer.Option(help="Address to listen on; 0.0.0.0 accepts other machines.")] = "127.0.0.1",
    port: Annotated[
        int | None, typer.Option(min=1, max=65535, help="Port to listen on; default: the first free port from 7860.")
    ] = None,
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
    from leaderboard.data.live_results import LiveResults
    from submissions.judgements.vote_store import open_spool
    from submissions.storage import open_store

    if port is not None:
        from leaderboard.app.listening import check_port

        check_port(host, port)
    source = _source(results, store, results_store, reference=reference, served=True)
    vote_store = votes or store
    spool = None if vote_store is None else open_spool(open_store(vote_store))
    live = LiveResults(source, study=study, votes=spool)
    snapshot = live.snapshot()
    _report_left_out(snapshot)
    shown = sum(len(board.entries) for board in snapshot.boards)
    if texts and reference:
        from leaderboard.data.texts import fetch_texts

        report = partial(err().print, markup=False, soft_wrap=True)
        Thread(target=fetch_texts, args=(report,), daemon=True).start()
    err().print(f"{counted(shown, 'result')} in {counted(len(snapshot.boards), 'table')}", markup=False)

    need("gradio", "board")  # after errors in the results are reported, because the import takes seconds
    from leaderboard.application import build_app, launch

    launch(build_app(live), live, host, port)


@app.command()
def export(
    results: Results = None,
    store: Store = None,
    reference: Reference = None,
    destination: Annotated[Path, typer.Option("--out", help="Output folder.")] = Path("board"),
    html: Annotated[
        bool, typer.Option("--html", help="Rankings, systems and metrics as pages that open without a server.")
    ] = False,
    json: JsonOption = False,
) -> None:
    """Write every table as CSV and Parquet, with column descriptions in JSON; with --html, also web pages.

    Exit with status 1 if any results could not be read and were left out.

    Example: divbench board export --results results --html --out board
    """
    from leaderboard.data.live_results import LiveResults

    for module in ("jinja2", "markupsafe", "plotly") if html else ():
        need_installed(module, "board")
    live = LiveResults(_source(results, store, reference=reference), refresh=None)
    left_out = _report_left_out(live.snapshot())
    from leaderboard.pages.export import export_boards

    written, faults = export_boards(live, destination, html=html)
    left_out += [{"folder": "", "reason": reason} for reason in faults]
    paths = [str(path) for path in written]
    say({"written": paths, "left_out": left_out}, *(paths or ["there are no results"]), as_json=json)
    if left_out:
        raise typer.Exit(1)


@app.command()
def show(
    results: Results = None,
    store: Store = None,
    reference: Reference = None,
    all_metrics: Annotated[bool, typer.Option("--all", help="All metrics, and curves over responses.")] = False,
    json: JsonOption = False,
) -> None:
    """Print the ranking of every table in the terminal; if you have no results, print the reference results.

    Example: divbench board show --results results --all
    """
    from leaderboard.data.live_results import LiveResults
    from leaderboard.pages.export import board_json, print_curves, print_front, print_metrics

    live = LiveResults(_source(results, store, reference=reference), refresh=None)
    snapshot = live.snapshot()
    _report_left_out(snapshot)
    if json:
        print_json([board_json(board, live.scores) for board in snapshot.boards])
        return
    if not snapshot.boards:
        out().print("there are no results")
    for board in snapshot.boards:
        print_front(board, out())
        if all_metrics:
            print_metrics(board, out())
            print_curves(board, out())
        out().print()


@app.command()
def space(
    folder: Annotated[Path, typer.Argument(help="Folder to create.", metavar="DIR")],
    store: Annotated[
        str,
        typer.Option(
            help="Store of the board: hf://datasets/ORG/NAME, or the full path of a folder in the Space's own storage."
        ),
    ],
    json: JsonOption = False,
) -> None:
    """Write a Hugging Face Space with the board of a store and a login, ready to upload to the Hub.

    The folder contains this package and pins its libraries to the versions installed here. Nothing is uploaded.

    Example: divbench board space my-space --store hf://datasets/ORG/submissions, then
    hf upload ORG/board my-space --repo-type space
    """
    from leaderboard.space import write_space

    written = write_space(folder, store)
    say(
        {"folder": str(folder), "files": [path.relative_to(folder).as_posix() for path in written]},
        f"{counted(len(written), 'file')} in {folder}",
        f"Upload it with hf upload ORG/NAME {folder} --repo-type space, then set the Space's secret HF_TOKEN",
        as_json=json,
    )


@app.command()
def reference(
    destination: Annotated[
        Path | None, typer.Option("--out", help="Output folder; default: the package's own, replaced.")
    ] = None,
    judged: Annotated[
        bool, typer.Option("--judged", help="Only NoveltyBench's judgements: nothing is scored, which takes a minute.")
    ] = False,
    json: JsonOption = False,
) -> None:
    """Rebuild the reference results from released files: known systems and attacks, scored here, without texts.

    The systems are those of NoveltyBench, the four training stages of OLMo-2-7B, and attacks made from GPT-4o's
    responses; DIVBENCH_MIRROR names the folder of the released files. NoveltyBench's own judgements are copied, those
    of September 2026 without responses. At the end the responses of ten systems to each prompt are grouped together,
    for the page Alike or different?. Existing results are reused, so an interrupted run can be continued.

    Example: divbench board reference
    """
    from datasets_build.load import load_suite
    from leaderboard.data.reference.build import backends, finish, group_reference, jobs, make_judged, make_reference
    from leaderboard.data.reference.systems import FOLDER, SUITE

    folder, wanted, today = destination or FOLDER, [] if judged else jobs(), datetime.now(UTC).date().isoformat()
    with progress() as bar:
        done = list(make_judged(folder))
        if judged:
            finish(done, folder, today, keep=True)
        else:
            models = backends()
            done += bar.track(make_reference(wanted, folder, models), len(wanted), description="results")
            finish(done, folder, today)
            list(bar.track(group_reference(folder, models), len(load_suite(SUITE).prompts), description="grouping"))
    new = sum(not result.recognised for result in done)
    document = {"folder": str(folder), "new": new, "results": [result.result_id for result in done]}
    say(document, f"{len(done)} results in {folder}, {new} of them new", as_json=json)


def demo(
    folder: Annotated[Path, typer.Option("--out", help="Working folder.")] = Path("demo-run"),
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
    from leaderboard.pages.export import board_json, print_curves, print_front
    from leaderboard.pages.export import export as write
    from submissions.checking.validate import open_submission
    from submissions.gaming.baselines import write_demo_submissions

    backends = ScoringBackends(find_profile("offline"), default_cache_path())
    available = backends.profile.metrics()
    metrics = tuple(metric for metric in available if all_metrics or "causal_lm" not in input_of(metric).sources)
    console = err() if json else out()
    console.print(f"1. import or derive six submissions into {folder / 'submissions'}", markup=False)
    folders = write_demo_submissions(folder / "submissions")
    console.print("2. validate them, and 3. score them with the profile offline", markup=False)
    results = []
    with progress() as bar:
        for path in bar.track(folders, description="scoring"):
            submission, suite, _ = open_submission(path)
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


def _report_left_out(snapshot: "Snapshot") -> list[dict[str, str]]:
    """Print what a snapshot lacks, with the reasons, and return it."""
    lacks = [(str(folder), missing.reason) for folder, missing in snapshot.unreadable.items()]
    lacks += [(item.path, item.reason) for item in (snapshot.queue.damaged if snapshot.queue else ())]
    for place, reason in lacks:
        err().print(f"left out {place}: {reason}", style="yellow", markup=False)
    return [{"folder": place, "reason": reason} for place, reason in lacks]


def _source(
    results: Path | None,
    store: str | None,
    results_store: str | None = None,
    *,
    reference: bool | None,
    served: bool = False,
) -> "Source":
    """The results to show; `reference` None: with the reference results if there are no others."""
    from leaderboard.data.reference.results import WithReference
    from leaderboard.data.sources import FolderSource, Source, StoreSource
    from submissions.storage import open_store

    if store is not None and results is not None:
        raise ConfigurationError("--results and --store were both given", "give one of them")
    if results_store is not None and store is None:
        raise ConfigurationError("--results-store was given without --store", "name the store of the submissions, too")
    source: Source | None = None
    if store is not None:
        # Only a served board takes submissions, so that its folder may be made later.
        apart = None if results_store is None else open_store(results_store, existing=not served)
        source = StoreSource(open_store(store, existing=not served), results=apart)
    elif results is not None or DEFAULT.is_dir():
        source = FolderSource(_results_folder(results or DEFAULT))
    if source is None:
        if reference is False:
            raise ConfigurationError(f"there is no folder {DEFAULT}", "name the one that divbench score --out wrote")
        return WithReference()
    # An empty folder shows what a board looks like.
    alone = reference is None and isinstance(source, FolderSource) and not source.read().boards
    return WithReference(source) if reference or alone else source


def _results_folder(folder: Path) -> Path:
    """Return the folder if it is a results folder."""
    from benchmark.scoring.results import RESULT_FILE
    from submissions.storage.submission_folders import MANIFEST_FILE

    if not folder.is_dir():
        raise ConfigurationError(f"there is no folder {folder}", "name the one that divbench score --out wrote")
    if (folder / RESULT_FILE).is_file():
        raise ConfigurationError(f"{folder} is a single result", f"name the folder that contains it: {folder.parent}")
    alone = (folder / MANIFEST_FILE).is_file()
    submissions = [folder] if alone else sorted(path.parent for path in folder.glob(f"*/{MANIFEST_FILE}"))
    if submissions and not any(folder.glob(f"*/{RESULT_FILE}")):
        what = "a submission" if alone else f"a folder of {counted(len(submissions), 'submission')}"
        raise ConfigurationError(
            f"{folder} is {what}, not a results folder",
            f"score first: divbench score {submissions[0]} --out results, then divbench board serve --results results",
        )
    return folder
