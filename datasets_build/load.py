"""Load datasets: from a local build, the package, a mirror, their publishers, or a revision of a Hub repository.

`load_split` returns a `datasets.Dataset`, `load_suite` the prompts that submissions respond to.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from datasets_build.build import read_manifest, split_table
from datasets_build.download import Fetcher, home, offline
from datasets_build.schema import Prompt, Suite, conform
from datasets_build.sources import DATASETS, Config, Source, Split, find_config
from divbench.core.console import err
from divbench.core.errors import ConfigurationError, InputError, UnknownSuite, did_you_mean, first_line
from divbench.core.files import sha256_of

if TYPE_CHECKING:
    import datasets


def data_folder(data: Path | None = None) -> Path:
    """Return the folder of built datasets: the given one, by default `built` in `home()`."""
    return data if data is not None else home() / "built"


def find_split(config: Config, name: str) -> Split:
    """Find a split of a config."""
    for split in config.splits:
        if split.name == name:
            return split
    names = ", ".join(split.name for split in config.splits)
    raise ConfigurationError(f"{config.name} has no split {name!r}", f"one of {names}")


def load_table(
    name: str,
    split: str,
    *,
    data: Path | None = None,
    mirror: Path | None = None,
    network: bool = True,
    datasets: tuple[Source, ...] = DATASETS,
    first: int | None = None,
) -> pa.Table:
    """Load a split as an Arrow table: from the build if there is one, otherwise from its source's files.

    With `first`, only that many rows are made. `network` downloads what is not available locally, unless
    HF_HUB_OFFLINE is set.
    """
    source, config = find_config(name, datasets)
    of_config = find_split(config, split)
    folder = data_folder(data) / "data" / name
    if folder.is_dir():
        manifest = read_manifest(folder)
        if manifest.version == source.version and split in manifest.splits:
            path = folder / manifest.splits[split].file
            if not path.is_file() or sha256_of(path) != manifest.splits[split].sha256:
                raise InputError(f"{path} has changed since it was built", f"rebuild it: divbench data build {name}")
            return pq.read_table(path, schema=config.schema).slice(0, first)
    fetch = Fetcher(source, mirror, network=network and not offline(), progress=_announce)
    if first is not None:
        return conform(list(islice(of_config.rows(fetch), first)), config.schema, f"{name}/{split}")
    return pa.concat_tables([config.schema.empty_table(), *split_table(config, of_config, fetch)])


def _announce(path: str) -> None:
    """Report on stderr that a file is being downloaded."""
    err().print(f"downloading {path}", markup=False, soft_wrap=True)


def load_split(
    name: str,
    split: str,
    *,
    data: Path | None = None,
    mirror: Path | None = None,
    repo: str | None = None,
    revision: str | None = None,
) -> "datasets.Dataset":
    """Load a split as a `datasets.Dataset`: as `load_table` does, or as published to a repository at a revision."""
    import datasets as library

    if repo is None:
        if revision is not None:
            raise ConfigurationError("revision is that of a repository, and none is named", "give repo, too")
        return library.Dataset(load_table(name, split, data=data, mirror=mirror))
    try:
        return library.load_dataset(repo, name, split=split, revision=revision)
    except ConnectionError as error:
        raise ConfigurationError(first_line(error), "connect to the network, or leave repo out") from error
    except (ValueError, FileNotFoundError) as error:
        raise ConfigurationError(
            f"{repo} at {revision or 'its head'} has no {name}/{split}: {first_line(error)}",
            "see the repository's card for its configs and revisions",
        ) from error


@dataclass(frozen=True, slots=True)
class SuiteSource:
    """The split that a suite's prompts come from."""

    name: str  # name in manifests
    title: str  # name for people
    config: str
    split: str


_DEMO = "DivBench demonstration suite (24 prompts; for trying things out, not for measuring models)"
SUITES: tuple[SuiteSource, ...] = (
    SuiteSource("demo", _DEMO, "demo", "prompts"),
    SuiteSource("noveltybench-curated", "NoveltyBench, curated (100 prompts, 6 categories)", "noveltybench", "curated"),
    SuiteSource("noveltybench-wildchat", "NoveltyBench, wildchat (1,000 prompts)", "noveltybench", "wildchat"),
    SuiteSource("gssbench", "GSSBench-style pairs, their unique prompts", "gssbench_prompts", "prompts"),
)


def find_suite(name: str) -> SuiteSource:
    """Find the source of a suite."""
    for suite in SUITES:
        if suite.name == name:
            return suite
    raise UnknownSuite(f"there is no suite {name!r}", did_you_mean(name, [suite.name for suite in SUITES]))


def load_suite(name: str, mirror: Path | None = None, *, network: bool = True) -> Suite:
    """Load a suite of prompts; `mirror` and `network` are as in `load_table`."""
    source = find_suite(name)
    prompts = tuple(
        Prompt(row["prompt_id"], _category(row), row["prompt"], tuple(row.get("paraphrases") or ()))
        for row in load_table(source.config, source.split, mirror=mirror, network=network).to_pylist()
    )
    return Suite(source.name, source.title, prompts)


def _category(row: Mapping[str, Any]) -> str:
    """Return the category of a prompt; in place of one, the splits of GSSBench, or what is known of WildChat's."""
    if "splits" in row:
        return " + ".join(row["splits"])
    return str(row["category"] or ("context lost" if row["context_lost"] else "WildChat"))
