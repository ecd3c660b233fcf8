"""Every number of the first page, and twelve of other pages, recomputed from the files that ship."""

import json
import re
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr, ttest_rel

import benchmark
import leaderboard
from leaderboard.data.live_results import LiveResults
from leaderboard.data.reference.results import WithReference
from leaderboard.pages import models
from leaderboard.pages.accuracy import IN_RECORD, accuracy_section, best_accuracy
from leaderboard.pages.compare import compare
from leaderboard.pages.system import headline
from leaderboard.pages.trust import trust_table

MEASURED = Path(leaderboard.__file__).parent / "measured"
SUITE = "noveltybench-curated"
WORDS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "June", "July", "Aug", "Sep", "Oct", "Nov", "Dec"]
NAMES = ("q", "types", "modes", "weights", "size", "licence", "since")  # filters
Page = tuple[ElementTree.Element, ElementTree.Element]


@dataclass(frozen=True)
class Shipped:
    """A shipped result, read plainly."""

    result: dict[str, Any]
    table: pd.DataFrame

    @property
    def manifest(self) -> dict[str, Any]:
        manifest: dict[str, Any] = self.result["manifest"]
        return manifest

    @property
    def kind(self) -> str:
        return str(self.manifest["system"]["type"])

    def mean(self, metric: str) -> float:
        return float(self.table[metric].mean())

    def interval(self, metric: str) -> str:
        (score,) = [score for score in self.result["scores"] if score["metric"] == metric]
        return f"[{score['low']:.2f}, {score['high']:.2f}]"


@cache
def shipped(profile: str, k: int) -> dict[str, Shipped]:
    """The results of a profile on the suite of the first page, by submission."""
    found = {}
    for path in MEASURED.glob("reference/*/result.json"):
        result = json.loads(path.read_bytes())
        if (result["profile"], result["k"], result["suite"]) == (profile, k, SUITE):
            found[result["submission_id"]] = Shipped(result, pd.read_parquet(path.parent / "per_prompt.parquet"))
    return found


@pytest.fixture(scope="module")
def live() -> LiveResults:
    return LiveResults(WithReference(), refresh=None)


@pytest.fixture(scope="module")
def page(live: LiveResults) -> Page:
    """The answer with its picture, and the ranking, of the page as it opens."""
    board = models.default_board(live.snapshot().boards)
    assert board is not None
    choices = dict.fromkeys(("measured", "prompt", "by", "columns", *NAMES)) | {"table": board.name, "show": "overview"}
    answer, ranking, *_ = models.content(live, choices)
    return tuple(ElementTree.fromstring(f"<div>{html}</div>") for html in (answer, ranking))  # type: ignore[return-value] # noqa: S314


def text(element: ElementTree.Element | None) -> str:
    return "" if element is None else " ".join(" ".join(element.itertext()).split())


def cells(row: ElementTree.Element) -> dict[str, str]:
    """The texts of a row by the class of the cell; that of the system is its name and facts."""
    return {cell.get("class", "system"): text(cell) for cell in row if cell.get("class") not in ("pick", "examples")}


JUDGED = shipped("noveltybench-1.1", 10)
VALUE, QUALITY = "valid_distinct_k_reported", "mean_head_quality_reported"


def facts(system: Shipped) -> str:
    about, names = system.manifest["system"], {"model": "", "human": "people", "baseline": "known-bad baseline"}
    size, weights, date = about.get("parameters"), about.get("open_weights"), system.manifest["submitter"].get("date")
    limit, counts = system.manifest["generation"].get("max_tokens"), system.result.get("counts") or {}
    unanswered = sum(counts.get(kind, 0) for kind in ("blank", "placeholder", "refused"))
    parts = (
        names.get(system.kind, system.kind),
        "" if size is None else f"{size / 1e9:.3g}B",
        "" if weights is None else "open weights" if weights else "closed weights",
        "" if date is None else f"{MONTHS[int(date[5:7]) - 1]} {date[:4]}",
        f"{unanswered} of {counts['responses']:,} without an answer" if unanswered else "",
        "cut short" if limit is not None and limit <= 512 else "",
    )
    return f"{system.manifest['name']} {' · '.join(filter(None, parts))}".strip()


def ranked() -> list[tuple[Shipped, str]]:
    """The ranked systems with their ranks and intervals: paired t-tests, Holm's correction, 95%."""
    systems = [s for s in JUDGED.values() if s.kind not in ("human", "base model", "baseline")]
    means = np.array([system.mean(VALUE) for system in systems])
    pairs = list(combinations(range(len(systems)), 2))
    values = [system.table[VALUE].to_numpy(np.float64) for system in systems]
    p = np.array([ttest_rel(values[one], values[other], nan_policy="omit").pvalue for one, other in pairs])
    better = np.zeros((len(systems), len(systems)), bool)
    for tests_left, place in zip(range(len(pairs), 0, -1), np.argsort(p), strict=True):
        if p[place] * tests_left >= 0.05:
            break
        one, other = pairs[place]
        better[(one, other) if means[one] > means[other] else (other, one)] = True
    found = []
    for i, system in enumerate(systems):
        rank = 1 + int((means > means[i] + 1e-9).sum())
        low, high = min(rank, 1 + int(better[:, i].sum())), max(rank, len(systems) - int(better[i].sum()))
        found.append((system, f"{rank}" if low == high else f"{rank} {low}–{high}"))
    return sorted(found, key=lambda row: (int(row[1].split()[0]), row[0].manifest["name"]))


def test_every_row_has_the_numbers_of_its_files(page: Page) -> None:
    table = page[1].find(".//table[@id='ranking-table']")
    assert table is not None
    rows = [cells(row) for row in table.findall("tbody")[0]]
    wanted = ranked()
    assert len(rows) == len(wanted) > 30
    for row, (system, rank) in zip(rows, wanted, strict=True):
        name, value, quality = facts(system), system.mean(VALUE), system.mean(QUALITY)
        assert row == {"rank": rank, "system": name, "value": f"{value:.2f}", "plot": "", "quality": f"{quality:.1f}"}
    titles = [cell.get("title") for cell in table.findall("tbody")[0].findall(".//td[@class='plot']")]
    assert titles == [f"95% interval {system.interval(VALUE)}" for system, _ in wanted]
    dots = [float(dot.get("cx", "")[:-1]) for dot in table.findall("tbody")[0].findall(".//circle")]
    assert dots == pytest.approx([100 * system.mean(VALUE) / 10.4 for system, _ in wanted], abs=0.01)


def test_what_was_not_judged_stands_apart_by_its_estimate(
    page: Page,
) -> None:
    estimated, fewer = (
        {key: system for key, system in shipped("offline", k).items() if key not in JUDGED} for k in (10, 8)
    )
    people = {key: system for key, system in fewer.items() if system.kind == "human"}
    rows = [cells(row) for row in page[1].findall(".//tr") if row.find("td[@class='value']") is not None]
    shown = {row["system"]: row for row in rows if not row["rank"]}
    assert len(shown) == len(estimated) + len(people)
    for system in (*estimated.values(), *people.values()):
        row = shown[facts(system)]
        of = " of 8" if system.kind == "human" else ""
        assert row["value"] == f"{system.mean('valid_distinct_k'):.2f}{of}"
        assert row["quality"] == f"{system.mean('estimated_quality'):.1f}"
    groups = [text(summary) for summary in page[1].findall(".//summary")]
    counts = [sum(s.kind == kind for s in estimated.values()) for kind in ("base model", "baseline")]
    assert groups[0].startswith(f"People ({len(people)}, not ranked: 8 authors, one answer each)")
    assert [re.findall(r"\((\d+), not ranked\)", group) for group in groups[1:]] == [[str(n)] for n in counts]


def test_the_sentence_and_the_line_about_errors_follow_from_the_files(
    page: Page,
) -> None:
    dated = {key: system.manifest["submitter"].get("date") or "" for key, system in JUDGED.items()}
    year = max(dated.values())[:4]
    of_mode = {
        mode: [
            JUDGED[key].mean(VALUE)
            for key, date in dated.items()
            if date.startswith(year) and JUDGED[key].manifest["generation"].get("mode") == mode
        ]
        for mode in ("resample", "in-context")
    }
    one, other = ([WORDS[round(end(values))] for end in (min, max)] for values in of_mode.values())
    about = f"about {one[0]}" if one[0] == one[1] else " to ".join(one)
    ends = f"({min(of_mode['resample']):.1f} to {max(of_mode['resample']):.1f})"
    said = text(page[0].find("p"))
    assert said.startswith(f"Asked ten times, the best models of {year} give {about} useful different answers {ends}; ")
    assert said.endswith(f"asked each time for a different one, {' to '.join(other)}.")
    estimated = shipped("offline", 10)
    both = sorted(JUDGED.keys() & estimated.keys())
    pairs = np.array([(JUDGED[key].mean(VALUE), estimated[key].mean("valid_distinct_k")) for key in both])
    error, rho = np.abs(pairs[:, 0] - pairs[:, 1]).mean(), spearmanr(pairs).statistic
    line = next(text(note) for note in page[1].findall("section/p") if text(note).startswith("How wrong are we?"))
    tail = f", Spearman {rho:.2f}." if len(both) > 3 else "."
    said = f"Over the {len(both)} systems with both, the estimate is off by {error:.2f} of 10 on average{tail}"
    assert line == f"How wrong are we? {said} {IN_RECORD}"


def test_dots_lie_where_value_and_quality_are(page: Page) -> None:
    wide = page[0].find(".//svg[@class='wide']")
    assert wide is not None
    places = {}
    for link in wide.findall("a"):
        form = next(each for each in link if each.get("class", "").startswith("form"))
        x = form.get("cx") or form.get("x") or re.findall(r"[\d.]+", form.get("d", ""))[0]
        places[text(link.find("title")).partition(": ")[0]] = float(x)
    systems = {system.manifest["name"]: system.mean(VALUE) for system in JUDGED.values()}
    assert systems.keys() <= places.keys()
    at = np.array([(systems[name], places[name]) for name in systems])
    assert np.corrcoef(at.T)[0, 1] > 0.9999
    titles = {text(title) for title in wide.findall("a/title")}
    for system in JUDGED.values():
        name, value = system.manifest["name"], f"{system.mean(VALUE):.2f} of 10 {system.interval(VALUE)}"
        assert f"{name}: {value}, quality {system.mean(QUALITY):.1f}" in titles


def test_twelve_numbers_of_other_pages(live: LiveResults) -> None:
    study = pd.read_parquet(MEASURED / "metric_study.parquet")
    overall = study[(study.task == "overall") & (study.measure == "spearman") & (study.metric != "learned_diversity")]
    best = overall.sort_values("value").iloc[-1]
    gaming = json.loads((MEASURED / "gaming.json").read_bytes())["attacks"]
    gains = {attack: scores["valid_distinct_k"]["gain"]["value"] for attack, scores in gaming.items()}
    trust = text(ElementTree.fromstring(str(trust_table(live.studies.study, live.studies.gaming))))  # type: ignore[arg-type] # noqa: S314
    assert f"{best.metric} {best.value:.2f} [{best.low:.2f}, {best.high:.2f}]" in trust  # 1 to 3
    assert f"valid_distinct_k rewards {sum(gain > 0.15 for gain in gains.values())} of them" in trust  # 4
    measured = best_accuracy(live.snapshot().boards)
    wrong = text(ElementTree.fromstring(str(accuracy_section(measured, live.studies.gaming))))  # noqa: S314
    estimated = shipped("offline", measured.k)  # type: ignore[union-attr]
    judged = shipped("noveltybench-1.1", measured.k)  # type: ignore[union-attr]
    far = max(
        judged.keys() & estimated, key=lambda k: abs(judged[k].mean(VALUE) - estimated[k].mean("valid_distinct_k"))
    )
    said = f"{estimated[far].mean('valid_distinct_k'):.2f} estimated, {judged[far].mean(VALUE):.2f} judged"
    assert f"{judged[far].manifest['name']} is furthest off: {said}" in wrong  # 5, 6
    worst = max(gains, key=lambda attack: gains[attack])
    assert f"the worst, {worst.replace('-', ' ')}, by {gains[worst]:.0%}" in wrong  # 7
    cards = Path(benchmark.__file__).parent
    card = (cards / "equivalence/learned/model/README.md").read_text(encoding="utf-8")
    (row,) = [line for line in card.splitlines() if line.startswith("| AUC, people's 1,000 pairs")]
    assert f"the area under the ROC curve is {row.split('|')[3].strip()} " in wrong  # 8
    board = next(b for b in live.snapshot().boards if (b.suite, b.k, b.profile) == (SUITE, 10, "noveltybench-1.1"))
    scores = live.scores(board)
    column = next(column for column in board.columns if column.metric == VALUE)
    first, second = (
        [entry.system for entry in board.entries].index(s.result["submission_id"]) for s, _ in ranked()[:2]
    )
    one, two = (JUDGED[board.entries[index].system] for index in (first, second))
    assert f"{one.mean(VALUE):.2f}" in headline(scores, column, first)  # 9
    (gap,) = compare(scores, (first, second), (column,), resamples=200)
    steps = one.table[VALUE].to_numpy() - two.table[VALUE].to_numpy()
    assert gap.difference.value == pytest.approx(steps.mean())  # 10
    assert (gap.wins, gap.losses) == ((steps > 0).sum(), (steps < 0).sum())  # 11, 12
