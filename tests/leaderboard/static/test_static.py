"""The exported folder: the tables' own numbers, the same bytes every time, pages that run nothing of strangers'."""

import json
import re
import shutil
import sys
from collections.abc import Iterator
from functools import cache
from html.parser import HTMLParser
from pathlib import Path

import pytest

import leaderboard.static.write as writing
from divbench.core.errors import ConfigurationError, MissingExtra
from divbench.core.files import sha256_of
from leaderboard.app.theme import INK, SEA
from leaderboard.commands import export as board_export
from leaderboard.data.board import facts, ranking_column
from leaderboard.data.live_results import LiveResults
from leaderboard.data.reference.results import WithReference
from leaderboard.data.scores import BoardScores
from leaderboard.data.sources import FolderSource
from leaderboard.static.board_pages import tradeoff_page
from leaderboard.static.render import POLICY, coded, data_script, marked
from leaderboard.static.write import Written, write_static
from leaderboard.tables.compare import compare
from leaderboard.tables.models import PRESETS, Filter, columns_of, columns_table, models_table
from leaderboard.tables.systems import first_systems
from tests.leaderboard.boards import load_boards
from tests.leaderboard.injections import INJECTIONS

WHOLE = ("area", "base", "br", "col", "hr", "img", "input", "link", "meta")


class Page(HTMLParser):
    """A page as its elements and tables are."""

    def __init__(self, path: Path) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.tables: dict[str, list[list[tuple[str, str | None]]]] = {}  # text and value of each cell
        self.texts: dict[str, str] = {}
        self.open: list[str] = []
        self._cells: list[list[tuple[str, str | None]]] = []
        self.feed(path.read_text(encoding="utf-8"))
        assert not self.open, f"{path.name}: {self.open} stay open"

    @staticmethod
    @cache
    def read(path: Path) -> "Page":
        """A page of an export that no test changes."""
        return Page(path)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in WHOLE:
            self.open.append(tag)
        if tag == "table":
            self._cells = self.tables[dict(attrs)["id"] or ""] = []
        elif tag == "tr":
            self._cells.append([])
        elif tag in ("td", "th"):
            self._cells[-1].append(("", dict(attrs).get("data-value")))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open:
            self.texts[self.open[-1]] = self.texts.get(self.open[-1], "") + data
        if {"td", "th"} & set(self.open):
            text, value = self._cells[-1][-1]
            self._cells[-1][-1] = (text + data, value)


def live_of(results: Path) -> LiveResults:
    return LiveResults(FolderSource(results), refresh=None)


@pytest.fixture(scope="module")
def exported(results: Path, tmp_path_factory: pytest.TempPathFactory) -> Written:
    return write_static(live_of(results), tmp_path_factory.mktemp("export") / "exported")


def pages_of(folder: Path) -> Iterator[Path]:
    found = sorted(folder.glob("*.html"))
    assert len(found) > 10
    yield from found


def test_the_table_of_models_is_that_of_the_application(results: Path, exported: Written) -> None:
    (board,), _ = load_boards(results)
    scores = BoardScores(board)
    columns, beside = columns_of(board, "everything", ())
    ranks = ranking_column(board)
    assert ranks is not None
    wanted = models_table(board, ranks, scores.standings(ranks), columns, beside, Filter(), scores.bytes_a_response)
    head, *rows = Page.read(exported.folder / "index.html").tables["systems"]
    assert tuple(text for text, _ in head) == wanted.headers
    assert tuple(tuple(text for text, _ in row) for row in rows) == wanted.texts
    numbers = 0
    for row, values in zip(rows, wanted.values, strict=True):
        for (_, found), value, kind in zip(row, values, wanted.kinds, strict=True):
            if kind == "number" and value is not None:
                assert found == repr(value)
                numbers += 1
    assert numbers > 100


def test_the_meaning_of_columns_and_what_ranks_stand_on_the_page_of_models(results: Path, exported: Written) -> None:
    (board,), _ = load_boards(results)
    page = Page.read(exported.folder / "index.html")
    head, *rows = page.tables["columns"]
    wanted = columns_table(board)
    assert tuple(text for text, _ in head) == wanted.headers
    assert tuple(tuple(text for text, _ in row) for row in rows) == wanted.texts
    ranks = ranking_column(board)
    assert ranks is not None
    assert f"Ranks are by {ranks.label}." in page.texts["p"]
    explore = next(exported.folder.glob("explore-[0-9a-f]*.html")).read_text(encoding="utf-8")
    assert "available only on a served board" in explore


def test_a_preset_shows_the_columns_of_the_application(results: Path, exported: Written) -> None:
    (board,), _ = load_boards(results)
    text = (exported.folder / "index.html").read_text(encoding="utf-8")
    found = re.search(r'<script type="application/json" id="systems-presets">(.*?)</script>', text)
    assert found is not None
    presets = json.loads(found.group(1))
    assert set(presets) == set(PRESETS)
    head = [each.partition(" ")[0] for each, _ in Page.read(exported.folder / "index.html").tables["systems"][0]]
    for name, places in presets.items():
        columns, beside = columns_of(board, name, ())
        known = [each for each in beside if any(facts(entry).get(each, "") is not None for entry in board.entries)]
        assert {head[place] for place in places} == {"system", "rank", *known, *(c.label for c in columns)}


def test_pairs_are_those_of_compare(results: Path, exported: Written) -> None:
    (board,), _ = load_boards(results)
    columns = columns_of(board, "overview", ())[0]
    gaps = compare(BoardScores(board), first_systems(board, 12), columns)
    page = Page.read(next(exported.folder.glob("compare-*.html")))
    checked = 0
    for number, column in enumerate(columns, 1):
        rows = page.tables[f"pairs-{number}"][1:]
        for gap in (gap for gap in gaps if gap.column is column and gap.difference is not None):
            difference = gap.difference or 0.0
            assert rows[gap.first][gap.second + 1][1] == repr(difference)
            assert rows[gap.second][gap.first + 1][1] == repr(-difference)
            told = gap.p_holm is not None and gap.p_holm < 0.05
            assert bool(set("▲▽") & set(rows[gap.first][gap.second + 1][0])) == told
            checked += 1
    assert checked == len(gaps) >= 21


def test_the_same_results_give_the_same_bytes(results: Path, exported: Written, tmp_path: Path) -> None:
    again = write_static(live_of(results), tmp_path / "exported").folder
    hashes = [
        {str(path.relative_to(root)): sha256_of(path) for path in root.rglob("*") if path.is_file()}
        for root in (exported.folder, again)
    ]
    assert hashes[0] == hashes[1]
    assert len(hashes[0]) > 25


def test_pages_load_only_what_lies_beside_them_and_run_nothing_of_their_own(exported: Written) -> None:
    for path in pages_of(exported.folder):
        page = Page.read(path)
        for tag, given in page.elements:
            assert "style" not in given, (path.name, tag)
            assert not any(name.startswith("on") for name in given), (path.name, tag)
            for name in ("src", "href"):
                target = given.get(name)
                if target is None or target.startswith("#") or target == "data:,":
                    continue
                assert re.fullmatch(r"[a-z0-9_./-]+", target), (path.name, target)
                assert (exported.folder / target).is_file(), (path.name, target)
            if tag == "script":
                assert ("src" in given) != (given.get("type") == "application/json"), path.name
        policies = [g for tag, g in page.elements if tag == "meta" and g.get("http-equiv")]
        assert [g["content"] for g in policies] == [POLICY]
        first = next(place for place, (tag, _) in enumerate(page.elements) if tag in ("script", "link"))
        assert page.elements.index(("meta", policies[0])) < first
    assert "unsafe" not in POLICY
    assert "http" not in POLICY


def test_pages_can_be_read_by_ear(exported: Written) -> None:
    for path in pages_of(exported.folder):
        page = Page.read(path)
        tags = [tag for tag, _ in page.elements]
        assert tags.count("h1") == tags.count("main") == 1, path.name
        assert tags.count("table") == tags.count("caption"), path.name
        ids = [given["id"] for _, given in page.elements if "id" in given]
        assert len(ids) == len(set(ids)), path.name
        for tag, given in page.elements:
            if tag == "th":
                assert given.get("scope") in ("col", "row"), path.name
            if given.get("role") in ("region", "img"):
                assert given.get("aria-label") or given.get("aria-labelledby") in ids, path.name
            if tag in ("select", "input"):
                assert "label" in tags, path.name
        assert any(given.get("aria-current") == "page" for tag, given in page.elements if tag == "a"), path.name


def test_damaged_results_are_named_and_the_rest_is_there(exported: Written) -> None:
    assert [line.partition(":")[0] for line in exported.left_out] == ["damaged"]
    for path in pages_of(exported.folder):
        assert "damaged: not shown" in path.read_text(encoding="utf-8"), path.name


def test_responses_lie_in_files_that_are_only_data(results: Path, exported: Written) -> None:
    (board,), _ = load_boards(results)
    found: set[str] = set()
    for entry in board.entries:
        text = (exported.folder / "texts" / f"{entry.result.result_id}.js").read_text(encoding="ascii")
        assert not set("<>&") & set(text)
        start, end = "divbench.texts = ", ";\n"
        assert text.startswith(start)
        assert text.endswith(end)
        prompts = json.loads(text[len(start) : -len(end)])["prompts"]
        assert len(prompts) == entry.result.prompts
        found |= {answer["text"] for prompt in prompts for answer in prompt["responses"]}
    assert set(INJECTIONS) <= found


@pytest.mark.usefixtures("board_pages_only")
def test_too_many_responses_are_left_out_unless_they_are_asked_for(
    results: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writing, "TEXTS_LIMIT", 1000)
    without = write_static(live_of(results), tmp_path / "without")
    assert not without.texts
    assert list((without.folder / "texts").iterdir()) == []
    page = next(without.folder.glob("explore-*.html")).read_text(encoding="utf-8")
    assert "were not exported" in page
    assert "--texts" in page
    asked = write_static(live_of(results), tmp_path / "asked", texts=True)
    assert asked.texts
    assert len(list((asked.folder / "texts").iterdir())) == 7
    refused = write_static(live_of(results), tmp_path / "asked", texts=False)
    assert list((refused.folder / "texts").iterdir()) == []


def test_only_an_earlier_export_is_replaced(results: Path, tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.mkdir()
    (own / "thesis.txt").write_text("mine", encoding="utf-8")
    (tmp_path / "link").symlink_to(own)
    for folder in (own, own / "thesis.txt", tmp_path / "link"):
        with pytest.raises(ConfigurationError, match="folder"):
            write_static(live_of(results), folder)
    assert [path.name for path in own.iterdir()] == ["thesis.txt"]
    assert (own / "thesis.txt").read_text(encoding="utf-8") == "mine"


def test_an_export_that_fails_leaves_the_former_one(results: Path, exported: Written, tmp_path: Path) -> None:
    folder = shutil.copytree(exported.folder, tmp_path / "exported")
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}

    def stop(what: str, done: int, total: int) -> None:
        if done == total:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_static(live_of(results), folder, texts=False, progress=stop)
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*")} == before
    assert [path.name for path in tmp_path.iterdir()] == ["exported"]


@pytest.mark.usefixtures("board_pages_only")
def test_an_empty_site_and_one_system_have_their_pages(results: Path, tmp_path: Path) -> None:
    (tmp_path / "none").mkdir()
    empty = write_static(live_of(tmp_path / "none"), tmp_path / "empty").folder
    assert "There are no results yet" in (empty / "index.html").read_text(encoding="utf-8")
    assert len(list(empty.glob("*.html"))) == 5
    (board,), _ = load_boards(results)
    shutil.copytree(board.entries[0].folder, tmp_path / "one" / "a")
    shutil.copytree(board.entries[0].folder, tmp_path / "one" / "b")  # two folders that say they are the same result
    twice = write_static(live_of(tmp_path / "one"), tmp_path / "twice").folder
    assert len(list((twice / "texts").iterdir())) == 1  # one row a submission
    shutil.rmtree(tmp_path / "one" / "b")
    one = write_static(live_of(tmp_path / "one"), tmp_path / "alone").folder
    alone = next(one.glob("compare-*.html")).read_text(encoding="utf-8")
    assert "this table has only one" in alone
    assert "tests on this page" not in alone


def test_a_board_whose_files_went_is_named_and_the_rest_is_there(results: Path, tmp_path: Path) -> None:
    (board,), _ = load_boards(results)
    for name, entry in zip(("a", "b"), board.entries, strict=False):
        shutil.copytree(entry.folder, tmp_path / "results" / name)
    live = live_of(tmp_path / "results")
    (tmp_path / "results" / "a" / "per_prompt.parquet").unlink()
    made = write_static(live, tmp_path / "exported")
    assert [line.partition(":")[0] for line in made.left_out] == [board.name]
    assert str(tmp_path) not in (made.folder / "index.html").read_text(encoding="utf-8")


def test_colours_are_those_of_the_application() -> None:
    text = (Path(writing.__file__).parent / "assets" / "variables.css").read_text(encoding="utf-8")
    found = set(re.findall(r"#[0-9a-f]{6}", text)) - {
        "#fbfbfa",
        "#ffffff",
        "#1b2026",
    }  # the page's own; white; a stripe
    assert found <= {*INK.expand(), *SEA.expand()}
    assert f"--primary-500: {SEA.c500}" in text


def test_code_marks_and_data_are_escaped() -> None:
    assert marked("**a <b>** `c**d`") == "<strong>a &lt;b&gt;</strong> <code>c**d</code>"
    assert coded("a `b<i>` & <c>") == "a <code>b&lt;i&gt;</code> &amp; &lt;c&gt;"
    for text in INJECTIONS:
        script = data_script("texts", [text])
        assert not set("<>&") & set(script)
        assert json.loads(script.partition(" = ")[2].rstrip(";\n")) == [text]


@pytest.mark.parametrize("library", ["jinja2", "markupsafe", "plotly"])
def test_without_the_libraries_of_the_pages_their_extra_is_named(
    library: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(MissingExtra, match=r"divbench\[board\]"):
        board_export(destination=tmp_path / "board", html=True)
    assert not any(tmp_path.iterdir())


def test_the_number_of_curves_that_is_said_is_the_number_drawn() -> None:
    board = next(each for each in WithReference(None).read().boards if each.k == 8)
    parts = {part.title: part for part in tradeoff_page(board, BoardScores(board), "tradeoff.html").values["parts"]}
    for title, shown in (("Expected different valid responses among m", 8), ("Utility by the reader's patience", 4)):
        part = parts[title]  # only some of the first systems came with qualities
        assert len(part.tables[0].view.values) == shown
        assert part.text == (f"Of 32 systems, {shown} are shown: those with a curve among the first 8.",)
