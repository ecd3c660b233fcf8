"""The documentation site is built strictly, without a network, from docs/ and from the code."""

import logging
import re
from pathlib import Path

import pytest

from benchmark.metrics import METRICS
from tests.benchmark.helpers import ROOT

pytest.importorskip("mkdocs", reason="the site needs the extra dev")
pytest.importorskip("mkdocstrings")


def test_the_site_is_built_strictly_and_names_every_metric_and_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mkdocs.commands.build import build
    from mkdocs.config import load_config

    monkeypatch.setenv("NO_MKDOCS_2_WARNING", "1")
    config = load_config(str(ROOT / "mkdocs.yml"), site_dir=str(tmp_path), strict=True)
    logging.getLogger("mkdocs").setLevel(logging.WARNING)
    config.plugins.on_startup(command="build", dirty=False)
    build(config)
    cards = (tmp_path / "reference" / "metric-cards.html").read_text()
    assert {metric.id for metric in METRICS} <= set(re.findall(r'<h2 id="([^"]+)"', cards))
    commands = (tmp_path / "reference" / "commands.html").read_text()
    assert "divbench metrics gaming" in commands
    assert "<pre><code>divbench demo\n" in commands  # an example is code
    assert "among the reference systems.</li>" in commands  # a list has whole summaries
    assert "folders... &lt;path&gt;" in commands
    python = (tmp_path / "reference" / "python.html").read_text()
    assert "evaluate_metric" in python
    assert 'id="add-a-metric"' in (tmp_path / "contributing.html").read_text()
    tutorial = (tmp_path / "tutorials" / "score-your-model.html").read_text()
    assert '<a href="../gaming.html">what attacks' in tutorial  # links between folders of docs/ stay
    equivalence = (tmp_path / "equivalence.html").read_text()
    assert "The model card has" in equivalence
    assert ">model card<" not in equivalence  # the site does not have the repository's other files
    pages = list(tmp_path.rglob("*.html"))
    loaded = re.compile(r'(?:src|href)="(https?:)?//(?!arxiv|doi|squidfunk|www\.mkdocs)[^"]*\.(?:js|css|woff2?)')
    assert not [page for page in pages if loaded.search(page.read_text())]
