"""`divbench data`: which suites there are."""

import typer

from datasets_build.console import JsonOption, out, print_json, table

app = typer.Typer(no_args_is_help=True, help="The suites of prompts that submissions answer.")


@app.callback()
def _group() -> None:
    """Keeps `list` a sub-command while it is the only one."""


@app.command("list")
def list_suites(json: JsonOption = False) -> None:
    """List the suites: prompts, revision, licence, and whether their files are at hand.

    A suite that does not ship with the package is read from a mirror: a folder named by DIVBENCH_MIRROR.
    """
    from datasets_build.errors import DivBenchError
    from datasets_build.load import load_suite
    from datasets_build.sources import DATASETS

    rows: list[dict[str, object]] = []
    for source in DATASETS:
        row: dict[str, object] = {
            "name": source.name,
            "title": source.title,
            "licence": source.licence,
            "citation": source.citation,
        }
        try:
            suite = load_suite(source.name)
            rows.append(row | {"prompts": len(suite.prompts), "revision": suite.revision, "at_hand": True, "why": ""})
        except DivBenchError as error:
            rows.append(row | {"prompts": None, "revision": None, "at_hand": False, "why": str(error)})
    if json:
        print_json(rows)
        return
    shown = table("Suites", "name", "prompts", "revision", "licence", "title", numbers=("prompts",))
    for row in rows:
        shown.add_row(
            str(row["name"]),
            str(row["prompts"] or "-"),
            str(row["revision"] or "not at hand"),
            str(row["licence"]),
            f"{row['title']}{'' if row['at_hand'] else ': ' + str(row['why'])}",
        )
    out().print(shown)
