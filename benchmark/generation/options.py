"""Options of the commands that sample a model or compute its internals."""

from typing import Annotated

import typer


def with_lines(text: str | None) -> str | None:
    r"""Return a text from the command line with \n replaced by line breaks."""
    return None if text is None else text.replace("\\n", "\n")


ModelName = Annotated[
    str,
    typer.Argument(
        help=(
            "Model to sample: ORG/NAME@COMMIT on the Hub, a folder, offline (the bundled model), or NAME@URL of "
            "a server."
        )
    ),
]
Template = Annotated[
    str | None,
    typer.Option(
        callback=with_lines,
        help='Prompt template for models without a chat template, with {prompt} in it, such as "Q: {prompt}\\nA:".',
        rich_help_panel="Prompts",
    ),
]
ChatTemplate = Annotated[
    bool,
    typer.Option(
        "--chat-template/--no-chat-template",
        help="Prompt formatting with the model's chat template.",
        rich_help_panel="Prompts",
    ),
]
Thinking = Annotated[
    bool | None,
    typer.Option(
        "--thinking/--no-thinking",
        help="Thinking mode of chat templates that have one; default: the template's.",
        rich_help_panel="Prompts",
    ),
]
Layer = Annotated[
    str,
    typer.Option(
        help="Layer of E_original: middle (INSIDE's code), last (GSSBench's prose) or a number.",
        rich_help_panel="Internals",
    ),
]
AverageLayers = Annotated[
    str | None,
    typer.Option(
        help="Layers of E_average, such as 20,21,22; default: as in INSIDE's code.", rich_help_panel="Internals"
    ),
]
