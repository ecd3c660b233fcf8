"""What the board is: how it works, how to cite it, what changed in its metrics, what others published. Pure."""

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from benchmark.metrics import METRICS, Metric
from datasets_build.sources import DATASETS, Source
from leaderboard.tables.table_view import TableView, number_text, plain_table
from submissions.demo.baselines import BASELINES

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
    """A title over our own words.

    Attributes:
        title: Over it.
        text: Paragraphs between blank lines; only `code` is marked.
    """

    title: str
    text: str

    @property
    def paragraphs(self) -> tuple[str, ...]:
        """On one line each."""
        return tuple(" ".join(paragraph.split()) for paragraph in self.text.split("\n\n"))


_BASELINES = "; ".join(f"`{baseline.name}` ({baseline.about})" for baseline in BASELINES)
HOW_IT_WORKS: tuple[Section, ...] = (
    Section(
        "From answers to a row",
        """A suite is a fixed set of prompts with many good answers. A system answers each of them k times, and hands in
        the texts with a manifest that says how they were drawn. They are checked, with all problems listed by row, and
        then scored here, from the texts, by every metric of a profile: a named bundle of models. Nobody's own scores
        enter the tables, but as values marked reported.

        Only results of the same suite, revision, number of responses and profile stand in one table.""",
    ),
    Section(
        "Values and intervals",
        """A score is the mean over the suite's prompts. The range behind it is its 95% interval: the 2.5th and 97.5th
        percentile of the means of prompts drawn again with replacement. It says how far the number would move with
        other prompts of the same kind. It does not cover other responses of the same system, nor other models inside
        the metric.""",
    ),
    Section(
        "Ranks and tie groups",
        """A rank is one more than the number of systems that are better on the metric that ranks the table. Its
        interval comes from ranking all systems again on the same resampled prompts. Systems that share a letter are not
        told apart: the interval of the paired difference to the best of the group holds 0. A system that does differ
        from it opens the next group. Filters hide systems and leave ranks as they are.""",
    ),
    Section(
        "Signatures",
        """Every number carries a signature: the metric and its version, its parameters, the models with their
        revisions, the profile, the suite and its revision, k, and the version of the package. Numbers of different
        signatures never share a column; where a table has a metric twice, its columns say in what they differ.""",
    ),
    Section(
        "What is missing, and why",
        """Blank responses and placeholders such as `[Blocked]` are counted and left out; refusals and answers that were
        cut off are never novel. A prompt that cannot be scored is missing with its reason: too few answers, a set
        longer than the language model reads, no reward model in the profile. Missing values are counted, and never
        stand as 0. A result that cannot be read is named above the page, and leaves the others as they are.""",
    ),
    Section(
        "Known-bad baselines, and people",
        f"""Diversity alone is easily had. So systems that are known to be bad stand among the others: {_BASELINES}.
        A metric that ranks one of them first measures something else. Answers written by people are marked, where a
        suite has them.

        Read diversity beside quality: the page Diversity × quality has both, and which systems no other one beats.""",
    ),
)


def divbench_citation() -> str:
    """BibTeX of this package at its version."""
    return (
        "@software{divbench,\n"
        "  title = {DivBench: datasets, metrics and a leaderboard for the output diversity of language models},\n"
        "  author = {{The DivBench maintainers}},\n"
        f"  version = {{{version('divbench')}}},\n"
        "  license = {Apache-2.0},\n"
        "  year = {2026}\n"
        "}"
    )


def paper_citations(datasets: Sequence[Source] = DATASETS) -> tuple[tuple[str, str], ...]:
    """Identifier and BibTeX of each paper that the datasets are of, in their order."""
    found = {source.paper: source.citation for source in datasets if source.paper and source.citation.startswith("@")}
    return tuple(found.items())


def versions(metrics: Sequence[Metric] = METRICS) -> TableView:
    """A row a metric: its version, since when, and what changed with it."""
    rows = []
    for metric in metrics:
        history = metric.card.history if metric.card else ()
        version = next((each for each in history if each.number == metric.version), None)
        since, change = ("", "") if version is None else (version.date, version.change)
        rows.append((metric.id, metric.title, metric.version, since, change))
    return plain_table(("metric", "what it is", "version", "since", "what changed"), rows)


VERSIONS_NOTE = "A changed definition is a new version, and numbers of two versions never share a column."
PUBLISHED_NOTE = """What others published stands here, beside and never among our numbers: their judges and samples are
not ours. `distinct` is the number of classes; the paper's Table 1 prints one more. NoveltyBench's versions 1.0 and 1.1
have different judges: do not compare across them, nor with the columns of our tables."""


def published() -> TableView:
    """What others published, with source and date."""
    rows = []
    for path in sorted(PUBLISHED.glob("*.csv")):
        with path.open(encoding="utf-8", newline="") as file:
            rows += list(csv.DictReader(file))
    values = tuple(tuple(float(row[name]) if name in _NUMBERS else row[name] for name in _COLUMNS) for row in rows)
    shown = tuple(tuple(value if isinstance(value, str) else number_text(value, 2) for value in row) for row in values)
    kinds = tuple("number" if name in _NUMBERS else "str" for name in _COLUMNS)
    return TableView(_COLUMNS, values, shown, kinds)
