"""`divbench quick`: score a file of responses and show it among the reference systems."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from urllib.parse import urlencode

import typer

from divbench.core.console import JsonOption, err, file_option, out, print_json, progress, system_option
from divbench.core.errors import ConfigurationError, MissingExtra, need

if TYPE_CHECKING:
    from benchmark.scoring.scorer import Scored
    from leaderboard.pages.ranking import Line, Ranking

PROFILE = "offline"  # the profile of the reference results, so that all numbers are comparable
USUAL = "noveltybench-curated"  # suite of the reference results with people's responses
KS = (10, 8)  # numbers of responses of the reference results; people gave 8


def quick(
    file: Annotated[Path, typer.Argument(help="File with the responses: JSON Lines, CSV or Parquet.")],
    suite: Annotated[
        str | None,
        file_option(
            help=f"Suite of the prompts, or own for your own; default: {USUAL}, or own if it has none of them."
        ),
    ] = None,
    field: Annotated[
        str | None, file_option(help="Field or column with the responses; default: detected by name.")
    ] = None,
    name: Annotated[str | None, system_option(help="System's name; default: the name of the file.")] = None,
    k: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Number of responses per prompt to score; default: 10, or 8 if fewer, or all if fewer.",
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
    from leaderboard.data.live_results import LiveResults
    from leaderboard.data.reference.results import WithReference
    from leaderboard.data.sources import FolderSource
    from leaderboard.pages.ranking import beside, ranking

    if file.is_dir():
        raise ConfigurationError(f"{file} is a folder", "give a file; divbench import converts NoveltyBench's folders")
    name = name or file.stem
    suite = suite or _suite_of(file, field)
    submission = _imported(file, suite, field, name, k, folder)
    scored = _scored(submission, k, folder / "results", all_metrics=all_metrics)
    live = LiveResults(WithReference(FolderSource(folder / "results")))
    boards = live.snapshot().boards
    board = next(b for b in boards if any(e.result.result_id == scored.result.result_id for e in b.entries))
    column = board.columns[0]
    view = ranking(board, column, live.scores(board).standings(column), others=beside(boards, board, column))
    if json:
        names = ("rank", "system", "type", "of", "measured", "value", "low", "high")
        rows = [
            dict(zip(names, (*row, line.mark.value, *(line.mark.ends or (None, None))), strict=True))
            for row, line in _rows(view)
        ]
        document = {"folder": str(scored.folder), "sentence": view.sentence, "metric": view.metric, "rows": rows}
        print_json(document)
        return
    _print(view, scored.result.submission_id)
    if len(view.everyone) == 1:
        known = sorted({b.k for b in boards if b.suite == suite and len(b.entries) > 1})
        at = " or ".join(map(str, known))
        others = f"for k = {at}, not for k = {scored.result.k}" if known else "for other suites"
        out().print(f"There are reference results {others}.", markup=False)
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


def _suite_of(file: Path, field: str | None) -> str:
    """Return the usual suite, or *own* if all rows have the text of their prompt, and none is in the usual suite."""
    from datasets_build.load import load_suite
    from submissions.checking.prompts import OWN
    from submissions.importing.importers import FORMATS, ImportOptions, detect_format
    from submissions.untrusted.findings import Findings

    if not file.is_file() or (kind := detect_format(file)) not in ("jsonl", "csv", "parquet"):
        return USUAL
    findings = Findings()
    rows = FORMATS[kind](file, findings, None, ImportOptions(field=field)).rows
    if findings.rejected() or not rows or any(row.prompt is None for row in rows):
        return USUAL
    try:
        usual = load_suite(USUAL)
    except ConfigurationError as error:
        raise ConfigurationError(
            error.message, f"{error.hint}; or add --suite own if these are your own prompts"
        ) from error
    texts = {prompt.prompt.strip() for prompt in usual.prompts}
    if any(row.prompt_id in usual.by_id or str(row.prompt).strip() in texts for row in rows):
        return USUAL
    err().print(f"None of the prompts is in {USUAL}: they are scored as your own (--suite own).", markup=False)
    return OWN


def _imported(file: Path, suite: str, field: str | None, name: str, k: int | None, folder: Path) -> Path:
    """Return the file's submission folder, whose name depends on the content, so that a file is imported only once."""
    from datasets_build.load import load_suite
    from divbench.core.files import content_id, sha256_of
    from submissions.checking.printing import print_findings
    from submissions.importing.importers import ImportOptions, detect_format, import_submission

    known = {
        "name": name,
        "suite": suite,
        "system": {"type": "model"},
        "generation": {"k": k},
        "submitter": {"name": "me"},
    }
    digest = content_id([sha256_of(file), suite, field, name, k]) if file.is_file() else ""
    submission = folder / "submissions" / f"{re.sub('[^A-Za-z0-9._-]+', '-', name)[:60]}-{digest[:8]}"
    if not (file.is_file() and submission.is_dir()):
        options = ImportOptions(field=field)
        report, _ = import_submission(file, detect_format(file), submission, known, load_suite, options)
        if report.findings.problems:
            print_findings(report.findings, err())
    return submission


def _scored(folder: Path, k: int | None, results: Path, *, all_metrics: bool) -> "Scored":
    from benchmark.scoring.backends import ScoringBackends
    from benchmark.scoring.inputs import input_of
    from benchmark.scoring.profiles import find_profile
    from benchmark.scoring.scorer import Options, score_submission
    from benchmark.surprisal.cache import default_cache_path
    from submissions.checking.validate import open_submission

    submission, suite, _ = open_submission(folder)
    profile, responses = find_profile(PROFILE), submission.manifest.generation.k
    metrics = [metric for metric in profile.metrics() if all_metrics or "causal_lm" not in input_of(metric).sources]
    with progress() as bar:
        task = bar.add_task("scoring", total=submission.prompts)
        return score_submission(
            submission,
            suite,
            ScoringBackends(profile, default_cache_path()),
            results,
            Options(k=k or next((known for known in KS if known <= responses), responses)),
            metrics=tuple(metrics),
            progress=lambda prompts: bar.update(task, completed=prompts),
        )


def _rows(view: "Ranking") -> "list[tuple[tuple[int | None, str, str, int, str], Line]]":
    """Return all systems, the highest value first; those that are judged, not estimated, have no rank."""
    every = sorted(view.everyone, key=lambda line: (line.kind.type == "baseline", -line.mark.value))
    return [((line.rank or None, line.system, line.kind.name, line.of, line.measured), line) for line in every]


def _print(view: "Ranking", submission: str) -> None:
    from divbench.core.tables import Table, styled, to_terminal

    rows = []
    for (rank, system, kind, of, measured), line in _rows(view):
        style = "bold green" if line.entry.system == submission else "dim" if line.is_aside else ""
        value = line.mark.text if of == view.of else f"{line.mark.text} of {of}"
        if kind != "known-bad baseline":
            rows.append(
                styled((rank or "", system, kind, value, line.mark.interval, line.quality_text, measured), style)
            )
    columns = ("rank", "system", "kind", view.heading, "95% interval", view.quality or "quality", "measured")
    out().print(to_terminal(Table(view.title, columns, rows, numbers=(columns[0], *columns[3:6]))))
    out().print(view.sentence, markup=False)
