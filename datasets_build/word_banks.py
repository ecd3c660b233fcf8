"""Read word banks: TOML files in the folders of the generators."""

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any


@cache
def word_bank(generator: str, name: str) -> dict[str, Any]:
    """Read `banks/NAME.toml` of a generator's folder, once in a process. Callers must not change the result.

    >>> word_bank("gssbench", "options")["colors"][:3]
    ['beige', 'black', 'blue']
    """
    path = files("datasets_build") / generator / "banks" / f"{name}.toml"
    return tomllib.loads(path.read_text(encoding="utf-8"))
