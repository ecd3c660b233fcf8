"""`divbench board` and `divbench demo`."""

import typer

app = typer.Typer(no_args_is_help=True, help="Look at results.")


@app.callback()
def _group() -> None:
    """Keeps it a group."""


def demo() -> None:
    """Demo."""
