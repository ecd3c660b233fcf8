"""Options of the commands that sample a model or compute its internals."""

from typing import Annotated

import typer

from divbench.core.console import internals_option, prompts_option


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
    prompts_option(
        callback=with_lines,
        help='Prompt template for models without a chat template, with {prompt} in it, such as "Q: {prompt}\\nA:".',
    ),
]
ChatTemplate = Annotated[
    bool, prompts_option("--chat-template/--no-chat-template", help="Prompt formatting with the model's chat template.")
]
Thinking = Annotated[
    bool | None,
    prompts_option(
        "--thinking/--no-thinking", help="Thinking mode of chat templates that have one; default: the template's."
    ),
]
Layer = Annotated[
    str, internals_option(help="Layer of E_original: middle (INSIDE's code), last (GSSBench's prose) or a number.")
]
AverageLayers = Annotated[
    str | None, internals_option(help="Layers of E_average, such as 20,21,22; default: as in INSIDE's code.")
]
