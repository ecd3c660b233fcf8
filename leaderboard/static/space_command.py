"""`divbench board space`."""

from pathlib import Path
from typing import Annotated

import typer

from divbench.core.console import JsonOption, say
from divbench.core.errors import counted


def space(
    folder: Annotated[Path, typer.Argument(help="Folder to create.", metavar="DIR")],
    store: Annotated[
        str,
        typer.Option(
            help="Store of the board: hf://datasets/ORG/NAME, or the full path of a folder in the Space's own storage."
        ),
    ],
    title: Annotated[str, typer.Option(help="Title of the Space.")] = "DivBench",
    models: Annotated[
        bool,
        typer.Option("--models", help="Links from the Hub pages of the store's open models to the Space."),
    ] = False,
    json: JsonOption = False,
) -> None:
    """Write a Hugging Face Space with the board of a store and a login, ready to upload to the Hub.

    The folder contains this package and pins its libraries to the versions installed here. Nothing is uploaded.

    Example: divbench board space my-space --store hf://datasets/ORG/submissions, then
    hf upload ORG/board my-space --repo-type space
    """
    from leaderboard.data.sources import StoreSource
    from leaderboard.static.space import model_ids, write_space
    from submissions.storage.file_store import open_store

    named = model_ids(StoreSource(open_store(store, existing=True)).read().boards) if models else []
    written = write_space(folder, store, title, named)
    say(
        {"folder": str(folder), "files": [path.relative_to(folder).as_posix() for path in written]},
        f"{counted(len(written), 'file')} in {folder}",
        f"Upload it with hf upload ORG/NAME {folder} --repo-type space, then set the Space's secret HF_TOKEN",
        as_json=json,
    )
