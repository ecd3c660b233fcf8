"""Standardized datasets and suites of prompts."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import datasets

    from datasets_build.schema import Suite


def load(
    name: str,
    split: str | None = None,
    *,
    repo: str | None = None,
    revision: str | None = None,
    mirror: str | Path | None = None,
) -> "datasets.Dataset":
    """Load a split of a dataset.

    Args:
        name: Config, such as `mcdiv` or `scenarios`.
        split: Split, such as `story_gen`; None if the config has only one.
        repo: Hub dataset repository that DivBench published; None: built datasets and those in the package.
        revision: Tag or commit of the repository.
        mirror: Folder with released files, for datasets not in the package.

    Raises:
        ConfigurationError: There is no such config or split, its files are not available (states how to get them), or
            `revision` is given without `repo`.
        InputError: A released file has other bytes.

    >>> print(*load("demo").column_names[:3])
    prompt_id category prompt
    """
    from datasets_build.load import load_split
    from datasets_build.sources import find_config
    from divbench.core.errors import ConfigurationError

    names = [each.name for each in find_config(name)[1].splits]
    if split is None:
        if len(names) > 1:
            raise ConfigurationError(f"{name} has {len(names)} splits", f"name one of {', '.join(names)}")
        split = names[0]
    return load_split(name, split, repo=repo, revision=revision, mirror=None if mirror is None else Path(mirror))


def suite(name: str, *, mirror: str | Path | None = None) -> "Suite":
    """Load a suite of prompts to sample responses to.

    Args:
        name: Suite, such as `demo` or `noveltybench-curated`.
        mirror: Folder with released files, for suites not in the package.

    Raises:
        ConfigurationError: There is no such suite, or its file is not available; states how to get it.
        InputError: A released file has other bytes.

    >>> len(suite("demo").prompts)
    24
    """
    from datasets_build.load import load_suite

    return load_suite(name, None if mirror is None else Path(mirror))
