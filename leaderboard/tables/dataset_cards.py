"""Cards of datasets and suites: description, source, how to load them, first rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmark.metrics.metric import Missing
from datasets_build.build import read_manifest
from datasets_build.errors import DivBenchError, InputError
from datasets_build.load import SUITES, data_folder, find_split, load_table
from datasets_build.sources import DATASETS, Config, Source, find_config
from leaderboard.tables.table_view import TableView, plain_table
from submissions.untrusted.plain_text import shortened

REPO = "ORG/divbench"  # placeholder for the repository, which the publisher chooses
SAMPLES = 5
_LONGEST = 300  # maximum number of characters of a text in a sample
_LISTED = 3  # maximum number of items of a list in a sample


@dataclass(frozen=True, slots=True)
class Card:
    """A dataset and its local build.

    Attributes:
        revision: Revision of the local build; None if there is none.
        sizes: Size of each split's Parquet file in the local build, in bytes; empty if there is none.
    """

    source: Source
    config: Config
    revision: str | None
    sizes: Mapping[str, int]

    @property
    def name(self) -> str:
        """Name of the config, as in `load_dataset(repo, name)`."""
        return self.config.name

    @property
    def splits(self) -> list[str]:
        """The names of the splits."""
        return [split.name for split in self.config.splits]

    @property
    def rows(self) -> int:
        """Total number of rows."""
        return sum(split.count for split in self.config.splits)

    @property
    def about(self) -> str:
        """The description as a sentence."""
        return f"{self.config.about[0].upper()}{self.config.about[1:]}."

    @property
    def suites(self) -> list[str]:
        """The names of the suites that take their prompts from this dataset."""
        return [suite.name for suite in SUITES if suite.config == self.name]


def cards(datasets: Sequence[Source] = DATASETS) -> tuple[Card, ...]:
    """The cards of all datasets, in order."""
    return tuple(Card(source, config, *_built(source, config)) for source in datasets for config in source.configs)


def find_card(found: Sequence[Card], name: str | None) -> Card:
    """The card with a name; default: the first."""
    return next((card for card in found if card.name == name), found[0])


def _built(source: Source, config: Config) -> tuple[str | None, Mapping[str, int]]:
    """The revision and the split sizes of the local build, if it has the same version as the source."""
    folder = data_folder() / "data" / config.name
    if not folder.is_dir():
        return None, {}
    try:
        manifest = read_manifest(folder)
    except DivBenchError:
        return None, {}  # a damaged build; `samples` reports it
    if manifest.version != source.version:
        return None, {}
    return manifest.revision, {name: split.bytes for name, split in manifest.splits.items()}


def _origins(source: Source, read: set[str]) -> tuple[str, ...]:
    """The addresses of files: the folders of those published singly, and the archives that contain the others."""
    files = [file for file in source.files if file.path in read]
    folders = sorted({file.urls[0].rpartition("/")[0] for file in files if file.urls})
    archives = sorted({file.found_in for file in files if file.found_in and not file.urls})
    return (*folders, *archives)


def overview(found: Sequence[Card]) -> TableView:
    """One row per dataset."""
    headers = ("dataset", "rows", "splits", "description", "paper", "licence", "version")
    rows = [
        (c.name, c.rows, len(c.splits), c.about, c.source.paper or "ours", c.source.licence, c.source.version)
        for c in found
    ]
    return plain_table(headers, rows)


def suites_table() -> TableView:
    """One row per suite."""
    rows = []
    for suite in SUITES:
        _, config = find_config(suite.config)
        count = find_split(config, suite.split).count
        rows.append((suite.name, suite.title, count, f"{suite.config}/{suite.split}", sample_command(suite.name)))
    return plain_table(("suite", "description", "prompts", "source", "how to generate responses"), rows)


def splits_table(card: Card) -> TableView:
    """One row per split."""
    rows = [(split.name, split.count, card.sizes.get(split.name)) for split in card.config.splits]
    return plain_table(("split", "rows", "bytes of the local build"), rows)


def fields_table(card: Card) -> TableView:
    """One row per field."""
    rows = [
        (field.name, f"{field.type}{', may be null' if field.nullable else ''}", card.config.fields[field.name])
        for field in card.config.schema
    ]
    return plain_table(("field", "type", "meaning"), rows)


def facts(card: Card) -> tuple[tuple[str, str], ...]:
    """The names and values of all facts except splits and fields."""
    source = card.source
    read = {path for split in card.config.splits for path in split.reads}
    if read:
        made_of = f"{len(read)} released files, each verified by SHA-256: {'; '.join(_origins(source, read))}"
    else:
        made_of = "generated by this package; every build has the same bytes"
    return (
        ("description", card.about),
        ("how it was made", card.config.made),
        ("source", f"{source.title} ({source.paper or 'ours'})"),
        ("files", made_of),
        ("licence", source.licence),
        ("version", source.version),
        ("revision", card.revision or "no local build; divbench data build shows it"),
        ("suites", ", ".join(card.suites) or "none"),
        *(("known flaw", flaw) for flaw in source.flaws),
    )


def sample_command(suite: str) -> str:
    """The command that generates a model's responses to a suite."""
    return f"divbench generate ORG/NAME@COMMIT --suite {suite} --out DIR"


def in_python(card: Card, split: str) -> str:
    """Python code that loads a split from the Hub or with this package."""
    return (
        "from datasets import load_dataset\n"
        f'rows = load_dataset("{REPO}", "{card.name}", split="{split}", revision="v{card.source.version}")\n'
        "\n"
        "# or, from a local build or a mirror, with this package:\n"
        "from datasets_build.load import load_split\n"
        f'rows = load_split("{card.name}", "{split}")'
    )


def in_the_shell(card: Card) -> str:
    """Commands that build, describe and download a dataset."""
    lines = [f"divbench data build {card.name}", f"divbench data info {card.name}"]
    lines += [f"divbench data pull {REPO}@v{card.source.version}", *map(sample_command, card.suites)]
    return "\n".join(lines)


def samples(name: str, split: str, mirror: Path | None = None) -> TableView | Missing:
    """The first rows of a split as text, from local files only.

    Returns:
        A table of texts, with long ones cut. Missing if the rows are not available, with a reason that says how to get
        them and contains no local path.

    Raises:
        ConfigurationError: There is no such dataset or split.
    """
    _, config = find_config(name)
    find_split(config, split)
    try:
        rows = load_table(name, split, mirror=mirror, network=False, first=SAMPLES).to_pylist()
    except InputError:
        return Missing(
            f"The local files of {name}/{split} differ from the released ones; check: divbench data verify {name}"
        )
    except DivBenchError:
        return Missing(f"The rows of {name}/{split} are not available here; to get them: divbench data build {name}")
    texts = [[_text(row[field]) for field in config.schema.names] for row in rows]
    return plain_table(config.schema.names, texts)


def _text(value: Any) -> str:
    """A value on one line, cut to length; the items of a list are numbered."""
    if isinstance(value, list):
        shown = (shortened(_text(item), _LONGEST // _LISTED) for item in value[:_LISTED])
        items = [f"{place}: {text}" for place, text in enumerate(shown, 1)]
        more = [f"and {len(value) - _LISTED} more"] if len(value) > _LISTED else []
        return " | ".join([*items, *more])
    if isinstance(value, float):
        return f"{value:.4g}"
    return "" if value is None else shortened(str(value), _LONGEST)
