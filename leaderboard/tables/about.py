"""The content of the page About: how the board works, citations, metric versions, published results."""

import csv
from dataclasses import dataclass
from pathlib import Path

from benchmark.metrics import METRICS
from datasets_build.sources import DATASETS
from divbench.core.tables import Cell, Table, number, number_cell
from submissions.gaming.baselines import DERIVED, find_attack

PUBLISHED = Path(__file__).parents[1] / "published"
_COLUMNS = (
    "system",
    "mode",
    "distinct",
    "utility",
    "metric_version",
    "prompts",
    "date",
    "source",
    "note",
    "distinct_as_printed",
)
_NUMBERS = ("distinct", "utility", "distinct_as_printed")


@dataclass(frozen=True, slots=True)
class Section:
    """A section of the page About."""

    title: str
    text: str  # paragraphs separated by blank lines; only `code` is marked up

    @property
    def paragraphs(self) -> tuple[str, ...]:
        """The paragraphs, each on one line."""
        return tuple(" ".join(paragraph.split()) for paragraph in self.text.split("\n\n"))


_BASELINES = "; ".join(f"`{name}` ({find_attack(name).about})" for name in DERIVED)
_TEXT = (Path(__file__).parent / "how_it_works.md").read_text(encoding="utf-8").replace("BASELINES", _BASELINES)
HOW_IT_WORKS = tuple(Section(*part.split("\n\n", 1)) for part in _TEXT.removeprefix("## ").split("\n\n## "))


def paper_citations() -> tuple[tuple[str, str], ...]:
    """Identifier and BibTeX entry of each dataset's paper, in the order of the datasets."""
    found = {
        source.paper: source.citation
        for source in DATASETS
        if source.paper and not source.citation.startswith("@software")
    }
    return tuple(found.items())


def versions() -> Table:
    """The newest version of each metric, its date and its changes, one row per metric."""
    rows = []
    for metric in METRICS:
        newest = metric.history[0]
        rows.append((metric.id, metric.title, newest.number, newest.date, newest.change))
    return Table("", ("metric", "what it is", "version", "since", "what changed"), rows)


VERSIONS_NOTE = "A changed definition gets a new version; numbers of different versions never share a column."
PUBLISHED_NOTE = """Results published by others are listed separately from ours, because they come from other judges and
samples. `distinct` is the number of classes; the paper's Table 1 prints one more. NoveltyBench 1.0 and 1.1 use
different judges, so they are comparable neither with each other nor with the columns of our tables."""


def published() -> Table:
    """Results published by others, with source and date."""
    rows = []
    for path in sorted(PUBLISHED.glob("*.csv")):
        with path.open(encoding="utf-8", newline="") as file:
            rows += [[_cell(name, row[name]) for name in _COLUMNS] for row in csv.DictReader(file)]
    return Table("", _COLUMNS, rows)


def _cell(column: str, text: str) -> Cell:
    return number_cell(float(text), number(float(text), 2)) if column in _NUMBERS else text
