"""What the board says of itself holds for the package: versions, citations."""

import re
from importlib.metadata import version

from benchmark.metrics import METRICS
from datasets_build.sources import DATASETS
from datasets_build.sources.source import divbench_citation
from leaderboard.pages.about import HOW_IT_WORKS, paper_citations, versions
from submissions.gaming.baselines import DERIVED


def test_the_table_of_versions_says_since_when() -> None:
    made = versions()
    assert [row[:3] for row in made.values] == [(m.id, m.title, m.version) for m in METRICS]
    newest = {(m.id, m.history[0].date, m.history[0].change) for m in METRICS}
    assert newest == {(row[0], row[3], row[4]) for row in made.values}


def test_the_four_papers_and_the_package_are_cited() -> None:
    papers = dict(paper_citations())
    assert set(papers) >= {"arXiv:2004.02990", "arXiv:2504.05228", "arXiv:2510.12699", "arXiv:2606.01811"}
    entries = [divbench_citation(), *papers.values()]
    cited = [divbench_citation(), *(source.citation for source in DATASETS)]
    keys = [found.group(1) for text in cited if (found := re.match(r"@\w+\{([\w-]+),\n", text))]
    assert len(set(keys)) == len(cited)  # so that all of them fit into one bibliography
    for text in entries:
        assert text.count("{") == text.count("}")
        assert re.search(r"\n  title = ", text)
    for name, text in papers.items():
        assert name.removeprefix("arXiv:") in text
    own = [text for text in cited if text.startswith("@software")]
    assert len(own) > 1
    assert all(text.count(f"version = {{{version('divbench')}}}") == 1 for text in own)


def test_what_is_explained_names_the_baselines_that_there_are() -> None:
    assert all(f"`{name}`" in HOW_IT_WORKS for name in DERIVED)
    assert HOW_IT_WORKS.count("`") % 2 == 0
