"""Read word banks: TOML files in the folders of the generators."""

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any


@cache
def word_bank(generator: str, name: str) -> dict[str, Any]:
    """Read a word bank, once in a process. Callers must not change the result.

    Args:
        generator: Folder of `datasets_build` with a `banks` folder, such as `gssbench`.
        name: File in it, without `.toml`.

    >>> word_bank("gssbench", "options")["colors"][:3]
    ['beige', 'black', 'blue']
    """
    path = files("datasets_build") / generator / "banks" / f"{name}.toml"
    return tomllib.loads(path.read_text(encoding="utf-8"))
