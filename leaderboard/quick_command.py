"""`divbench quick`: score a file of responses and show it among the reference systems."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from urllib.parse import urlencode

import typer

from divbench.core.console import JsonOption, err, file_option, out, print_json, progress, system_option
from divbench.core.errors import ConfigurationError, MissingExtra, need
from submissions import commands as reading

if TYPE_CHECKING:
    from benchmark.scoring.scorer import Scored
    from leaderboard.pages.ranking import Line, Ranking
    from submissions.importing.imported import ImportOptions

PROFILE = "offline"  # the profile of the reference results, so that all numbers are comparable
KS = (10, 8)  # numbers of responses of the reference results; people gave 8


def quick(
    file: Annotated[Path, typer.Argument(help="File with the responses, in any format of divbench import.")],
    suite: Annotated[
        str | None, file_option(help="Suite of the prompts, or own for your own; default: detected by the prompts.")
    ] = None,
    field: reading.FieldOption = None,
    prompt_field: reading.PromptFieldOption = None,
    id_field: reading.IdFieldOption = None,
    prompts: reading.PromptsOption = None,
    by: reading.ByOption = None,
    keep_thinking: reading.KeepThinkingOption = False,
    clean: reading.CleanOption = False,
    name: Annotated[str | None, system_option(help="System's name; default: the name of the file.")] = None,
    k: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Number of responses per prompt to score; default: as of the reference systems (10 or 8), or all.",
        ),
    ] = None,
    all_metrics: Annotated[
        bool, typer.Option("--all", help="All metrics, including surprisal metrics, which take several minutes.")
    ] = False,
    folder: Annotated[Path, typer.Option("--out", help="Working folder.")] = Path("quick"),
    serve: Annotated[bool, typer.Option("--board/--no-board", help="Board in a browser, opened after scoring.")] = True,
    json: JsonOption = False,
) -> None:
    """Import, validate and score a file of responses, and show it among the reference systems.

    Responses to your own prompts are scored as well, but only the prompts of a suite have reference systems. A file is
    scored only once; later calls reuse its result. To describe the system and its sampling, use divbench import and
    divbench score.

    Examples:
      divbench quick samples.jsonl

      divbench quick samples.csv --field completion --name my-model --no-board
    """
    from dataclasses import replace

    from benchmark.commands import print_counts
    from leaderboard.data.live_results import LiveResults
    from leaderboard.data.reference.results import WithReference
    from leaderboard.data.sources import FolderSource
    from leaderboard.pages.ranking import beside, ranking
    from submissions.importing.imported import NOT_SPLIT, ImportOptions
    from submissions.importing.importers import USUAL, suite_of, systems_of

    if file.is_dir():
        raise ConfigurationError(f"{file} is a folder", "give a file; divbench import converts NoveltyBench's folders")
    options = ImportOptions(field, prompt_field, id_field, prompts, by, None, keep_thinking, clean)
    if suite is None:
        suite, why = suite_of(file, options)
        if why:
            err().print(f"{why}.", markup=False)
    submissions: list[str] = []
    for system in systems_of(file, by) if by is not None and by != NOT_SPLIT else [None]:
        stem = name or file.name.partition(".")[0]
        named = stem if system is None else f"{name} {system}" if name else system
        submission = _imported(file, suite, replace(options, only=system), named, k, folder)
        scored = _scored(submission, k, KS if suite == USUAL else (), folder / "results", all_metrics=all_metrics)
        submissions.append(scored.result.submission_id)
    live = LiveResults(WithReference(FolderSource(folder / "results")))
    boards = live.snapshot().boards
    board = next(b for b in boards if any(e.result.result_id == scored.result.result_id for e in b.entries))
    column = board.columns[0]
    view = ranking(board, column, live.scores(board).standings(column), others=beside(boards, board, column))
    if json:
        cells_of = ("rank", "system", "type", "of", "measured", "value", "low", "high")
        rows = [
            dict(zip(cells_of, (*row, line.mark.value, *(line.mark.ends or (None, None))), strict=True))
            for row, line in _rows(view)
        ]
        document = {"folder": str(scored.folder), "sentence": view.sentence, "metric": view.metric, "rows": rows}
        print_json(document)
        return
    _print(view, submissions)
    if len(view.everyone) == len(submissions):
        known = sorted({b.k for b in boards if b.suite == suite == USUAL and len(b.entries) > 1})
        at = " or ".join(map(str, known))
        others = f"for k = {at}, not for k = {scored.result.k}" if known else "for other suites"
        out().print(f"There are reference results {others}.", markup=False)
    print_counts(scored.result.counts, out())
    out().print(f"Result: {scored.folder}", markup=False)
    if not serve:
        return
    try:
        need("gradio", "board")
    except MissingExtra as error:  # the scores are there, and the user may not have asked for a board
        err().print(f"no board: {error.message} ({error.hint}; or add --no-board)", markup=False, soft_wrap=True)
        return
    from leaderboard.application import build_app, launch

    launch(build_app(live), live, "127.0.0.1", None, query=f"?{urlencode({'table': board.name})}")


def _imported(file: Path, suite: str, options: "ImportOptions", name: str, k: int | None, folder: Path) -> Path:
    """Return the file's submission folder, whose name depends on the content, and print the warnings of its import."""
    import shutil
    from tempfile import TemporaryDirectory

    from datasets_build.load import load_suite
    from divbench.core.files import content_id, sha256_of
    from divbench.core.tables import plain
    from submissions.checking.printing import print_findings
    from submissions.importing.importers import detect_format, folder_name, import_submission

    known = {
        "name": name,
        "suite": suite,
        "system": {"type": "model"},
        "generation": {"k": k},
        "submitter": {"name": "me"},
    }
    digest = content_id([sha256_of(file), suite, repr(options), name, k]) if file.is_file() else ""
    submission = folder / "submissions" / f"{folder_name(name)}-{digest[:8]}"
    with TemporaryDirectory() as temporary:  # imported anew each time, for its warnings
        temporary_submission = Path(temporary) / submission.name
        report, unused = import_submission(file, detect_format(file), temporary_submission, known, load_suite, options)
        if not submission.is_dir():
            shutil.copytree(temporary_submission, submission)
    if report.findings.problems:
        print_findings(report.findings, err())
    if unused:
        err().print(plain(f"Fields of the file that were not used: {', '.join(sorted(unused))}"))
    return submission


def _scored(folder: Path, k: int | None, ks: tuple[int, ...], results: Path, *, all_metrics: bool) -> "Scored":
    """Score k responses per prompt; without k all, or as many as reference systems have, which is said."""
    from benchmark.scoring.backends import ScoringBackends
    from benchmark.scoring.inputs import input_of
    from benchmark.scoring.profiles import find_profile
    from benchmark.scoring.scorer import Options, score_submission
    from benchmark.surprisal.cache import default_cache_path
    from submissions.checking.validate import open_submission

    submission, suite, _ = open_submission(folder)
    profile, responses = find_profile(PROFILE), submission.manifest.generation.k
    metrics = [metric for metric in profile.metrics() if all_metrics or "causal_lm" not in input_of(metric).sources]
    count = k or next((known for known in ks if known <= responses), responses)
    if count < responses and k is None:
        why = f"the first {count} of {responses} responses to each prompt are scored, as of the reference systems"
        err().print(f"Only {why} (--k {responses} for all).", markup=False)
    backends = ScoringBackends(profile, default_cache_path())
    with progress() as bar:
        task = bar.add_task("scoring", total=submission.prompts)
        backends.listener = lambda step: bar.update(task, description=f"scoring ({step})")
        return score_submission(
            submission,
            suite,
            backends,
            results,
            Options(k=count),
            metrics=tuple(metrics),
            progress=lambda prompts: bar.update(task, completed=prompts),
        )


def _rows(view: "Ranking") -> "list[tuple[tuple[int | None, str, str, int, str], Line]]":
    """Return all systems, the highest value first; those that are judged, not estimated, have no rank."""
    every = sorted(view.everyone, key=lambda line: (line.kind.type == "baseline", -line.mark.value))
    return [((line.rank or None, line.system, line.kind.name, line.of, line.measured), line) for line in every]


def _print(view: "Ranking", submissions: list[str]) -> None:
    from divbench.core.tables import Table, styled, to_terminal

    rows = []
    for (rank, system, kind, of, measured), line in _rows(view):
        style = "bold green" if line.entry.system in submissions else "dim" if line.is_aside else ""
        value = line.mark.text if of == view.of else f"{line.mark.text} of {of}"
        if kind != "known-bad baseline":
            rows.append(
                styled((rank or "", system, kind, value, line.mark.interval, line.quality_text, measured), style)
            )
    columns = ("rank", "system", "kind", view.heading, "95% interval", view.quality or "quality", "measured")
    out().print(to_terminal(Table(view.title, columns, rows, numbers=(columns[0], *columns[3:6]))))
    out().print(view.sentence, markup=False)
