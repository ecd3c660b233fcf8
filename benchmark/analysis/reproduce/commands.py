"""`divbench metrics reproduce`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from divbench.core.console import JsonOption, deliver, err, steps
from divbench.core.errors import ConfigurationError
from divbench.core.tables import check_report_path

if TYPE_CHECKING:
    from benchmark.analysis.reproduce.cells import Reproduced


def reproduce(
    tables: Annotated[
        list[str] | None,
        typer.Argument(
            help=(
                "Tables: tevet-2, -4, -8, -9, -10, decan-2, -3, -4, -5, -7, gssbench-2, -a10, noveltybench-1; "
                "default: all."
            )
        ),
    ] = None,
    bundled: Annotated[
        bool,
        typer.Option("--bundled", help="Values of the bundled model where a number needs a larger one; slow on a CPU."),
    ] = False,
    destination: Annotated[
        Path | None, typer.Option("--out", help="Output file with one row per number: .md, .json or .csv.")
    ] = None,
    mirror: Annotated[Path | None, typer.Option(help="Folder with the released files. (env: DIVBENCH_MIRROR)")] = None,
    json: JsonOption = False,
) -> None:
    """Recompute the tables of the papers from the released data, and show ours beside every printed number.

    Each of our numbers equals the printed digits; or differs, with or without a known reason; or needs a model that
    does not come with the package; or cannot be recomputed, because its data were not released.

      divbench metrics reproduce tevet-2 decan-2

      divbench metrics reproduce --out tables.md

    With --bundled, the bundled language model reads the sets of decan-2, decan-3 and decan-7. This takes minutes for
    decan-7 and hours for all three; the surprisals are cached.

    Exit status: 1 if a number differs without a known reason, 2 if a table could not be computed.
    """
    from benchmark.analysis.reproduce.bundled import bundled_reader
    from benchmark.analysis.reproduce.cells import read_published
    from benchmark.analysis.reproduce.inputs import Inputs
    from benchmark.analysis.reproduce.report import report_of
    from benchmark.analysis.reproduce.tables import find_tables, reproduce_table

    chosen = find_tables(tables or [])
    check_report_path(destination)
    found: list[Reproduced] = []
    not_run: dict[str, ConfigurationError] = {}
    with steps() as tell:
        inputs = Inputs(read_published(), mirror, bundled_reader if bundled else None, tell)
        for done, table in enumerate(chosen):
            tell(table.id, done, len(chosen))
            try:
                found.append(reproduce_table(table, inputs))
            except ConfigurationError as error:
                not_run[table.id] = error
    if not found:
        raise next(iter(not_run.values()))
    reasons = {name: str(error) for name, error in not_run.items()}
    for name, reason in reasons.items():
        err().print(f"{name} was not run: {reason}", style="yellow", markup=False, soft_wrap=True)
    deliver(report_of(found, reasons), destination, as_json=json)
    if any(each.counts.unexplained for each in found):
        raise typer.Exit(1)
    if not_run:
        raise typer.Exit(ConfigurationError.exit_status)
