"""The content of the page About: how the board works, citations, metric versions, published results."""

import csv
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from benchmark.metrics import METRICS
from datasets_build.sources import DATASETS
from leaderboard.tables.table_view import Cell, TableView, number_text, plain_table, table_of
from submissions.demo.build import DERIVED
from submissions.gaming.derive import find_attack

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
    """A section of the page About.

    Attributes:
        text: Paragraphs separated by blank lines; only `code` is marked up.
    """

    title: str
    text: str

    @property
    def paragraphs(self) -> tuple[str, ...]:
        """The paragraphs, each on one line."""
        return tuple(" ".join(paragraph.split()) for paragraph in self.text.split("\n\n"))


_BASELINES = "; ".join(f"`{name}` ({find_attack(name).about})" for name in DERIVED)
HOW_IT_WORKS: tuple[Section, ...] = (
    Section(
        "From responses to a row",
        """A suite is a fixed set of prompts with many good responses. A system gives k responses to each of them; its
        submission contains these texts and a manifest that says how they were sampled. Submissions are validated, with
        all problems listed by row, and then scored here, from the texts, with every metric of a profile: a named set of
        models. Scores computed by submitters enter the tables only as values marked as reported.

        A table contains only results with the same suite, revision, number of responses and profile.""",
    ),
    Section(
        "Values and intervals",
        """A score is the mean over the suite's prompts. The range after it is its 95% interval: the 2.5th and 97.5th
        percentile of the means over bootstrap resamples of the prompts. It says how much the score would vary with
        other prompts of the same kind. It does not cover variation between samples of the same system or between
        models inside the metric.""",
    ),
    Section(
        "Ranks and tie groups",
        """A rank is one more than the number of systems that score better on the metric that ranks the table. Its
        interval comes from ranking all systems again on the same resampled prompts. Systems that share a letter are
        statistically tied: the interval of the paired difference to the best system of the group contains 0. The first
        system that differs from it starts the next group. Filters hide systems but do not change ranks.""",
    ),
    Section(
        "Signatures",
        """Every number carries a signature: the metric and its version, its parameters, the models with their
        revisions, the profile, the suite and its revision, k, and the version of the package. Numbers with different
        signatures never share a column; if a table has a metric twice, the column labels say how the signatures
        differ.""",
    ),
    Section(
        "What is missing, and why",
        """Blank responses and placeholders such as `[Blocked]` are counted and left out; refusals and truncated
        responses never count as distinct. A prompt that cannot be scored is missing, with its reason: too few
        responses, a response set longer than the language model's context, no reward model in the profile. Missing
        values are counted and never shown as 0. A result that cannot be read is named at the top of the page and does
        not affect the others.""",
    ),
    Section(
        "Known-bad baselines and human responses",
        f"""Diversity alone is easy to achieve. Each table therefore includes known-bad systems: {_BASELINES}. A
        metric that ranks one of them first measures something other than useful diversity. Responses written by people
        are marked where a suite has them.

        Read diversity together with quality: the page Diversity × quality plots both and marks the systems that no
        other system beats.""",
    ),
)


def divbench_citation() -> str:
    """BibTeX entry of this package in its current version."""
    return (
        "@software{divbench,\n"
        "  title = {DivBench: datasets, metrics and a leaderboard for the output diversity of language models},\n"
        "  author = {{The DivBench maintainers}},\n"
        f"  version = {{{version('divbench')}}},\n"
        "  license = {Apache-2.0},\n"
        "  year = {2026}\n"
        "}"
    )


def paper_citations() -> tuple[tuple[str, str], ...]:
    """Identifier and BibTeX entry of each dataset's paper, in the order of the datasets."""
    found = {source.paper: source.citation for source in DATASETS if source.paper and source.citation.startswith("@")}
    return tuple(found.items())


def versions() -> TableView:
    """The newest version of each metric, its date and its changes, one row per metric."""
    rows = []
    for metric in METRICS:
        newest = metric.history[0]
        rows.append((metric.id, metric.title, newest.number, newest.date, newest.change))
    return plain_table(("metric", "what it is", "version", "since", "what changed"), rows)


VERSIONS_NOTE = "A changed definition gets a new version; numbers of different versions never share a column."
PUBLISHED_NOTE = """Results published by others are listed separately from ours, because they come from other judges and
samples. `distinct` is the number of classes; the paper's Table 1 prints one more. NoveltyBench 1.0 and 1.1 use
different judges, so they are comparable neither with each other nor with the columns of our tables."""


def published() -> TableView:
    """Results published by others, with source and date."""
    rows = []
    for path in sorted(PUBLISHED.glob("*.csv")):
        with path.open(encoding="utf-8", newline="") as file:
            rows += [[_cell(name, row[name]) for name in _COLUMNS] for row in csv.DictReader(file)]
    return table_of(_COLUMNS, ["number" if name in _NUMBERS else "str" for name in _COLUMNS], rows)


def _cell(column: str, text: str) -> Cell:
    return (float(text), number_text(float(text), 2)) if column in _NUMBERS else text
