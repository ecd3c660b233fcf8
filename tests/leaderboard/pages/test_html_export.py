"""The exported board: every table, and pages of the application's own numbers that load nothing but a style sheet."""

import re
import shutil
from html import escape, unescape
from pathlib import Path

import pytest

from benchmark.scoring.results import PER_PROMPT_FILE
from leaderboard.data.board import ranking_column
from leaderboard.data.live_results import LiveResults
from leaderboard.data.scores import BoardScores
from leaderboard.data.sources import FolderSource
from leaderboard.pages.export import export, export_boards
from leaderboard.pages.plain_html import POLICY
from leaderboard.pages.ranking import ranking
from leaderboard.pages.system import headline
from leaderboard.pages.systems import system_ids, system_labels
from tests.leaderboard.boards import load_boards
from tests.leaderboard.injections import NAMES


def live_of(results: Path) -> LiveResults:
    return LiveResults(FolderSource(results), refresh=None)


def text_of(page: Path) -> str:
    return unescape(re.sub(r"<[^>]*>", "", page.read_text(encoding="utf-8")))


def tags_of(page: Path) -> list[str]:
    return re.findall(r"<[a-z][^>]*>", page.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def exported(results: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("export")
    written, left_out = export_boards(live_of(results), folder, html=True)
    assert left_out == []
    assert all(path.is_file() for path in written)
    return folder


def test_tables_are_those_of_the_export_without_pages(results: Path, exported: Path, tmp_path: Path) -> None:
    (board,), _ = load_boards(results)
    for path in export(board, tmp_path):
        assert (exported / path.name).read_bytes() == path.read_bytes()


def test_pages_have_the_numbers_of_the_application(results: Path, exported: Path) -> None:
    (board,), _ = load_boards(results)
    scores, main = BoardScores(board), ranking_column(board)
    assert main is not None
    index = text_of(exported / "index.html")
    assert ranking(board, main, scores.standings(main)).sentence in index
    for place, (label, name) in enumerate(zip(system_labels(board), system_ids(board), strict=True)):
        assert headline(scores, main, place) in text_of(exported / f"system-{board.name}-{name}.html")
        assert label in index
    assert "agrees best with people" in text_of(exported / "metrics.html")


def test_pages_load_only_the_style_sheet_and_links_lead_to_files(exported: Path) -> None:
    pages = sorted(exported.glob("*.html"))
    assert len(pages) > 5
    for path in pages:
        tags = tags_of(path)
        ids = re.findall(r' id="([^"]*)"', "".join(tags))
        assert len(ids) == len(set(ids))
        assert escape(POLICY) in "".join(tags).replace("&#39;", "&#x27;")
        assert not [
            tag for tag in tags if re.match(r"<(script|img|iframe)", tag) or re.search(r" (style|on[a-z]+)=\"", tag)
        ]
        for target in re.findall(r'(?:href|src)="([^"]*)"', "".join(tags)):
            assert target in ("#main", "data:,") or (exported / target).is_file(), (path.name, target)


def test_names_of_systems_are_text(hostile: Path, tmp_path: Path) -> None:
    export_boards(live_of(hostile), tmp_path, html=True)
    pages = [*tmp_path.glob("system-*.html"), tmp_path / "index.html"]
    assert len(pages) == len(NAMES) + 1
    for path in pages:
        tags = tags_of(path)
        assert not [tag for tag in tags if re.match(r"<(script|img|iframe|b>)", tag) or 'href="javascript:' in tag]


def test_a_board_whose_files_are_gone_is_left_out_by_name(results: Path, tmp_path: Path) -> None:
    shutil.copytree(results, tmp_path / "copied")
    live = live_of(tmp_path / "copied")
    for path in (tmp_path / "copied").glob(f"*/{PER_PROMPT_FILE}"):
        path.unlink()
    live._scores.clear()
    written, left_out = export_boards(live, tmp_path / "out", html=True)
    (board,) = live.snapshot().boards
    assert [line.partition(":")[0] for line in left_out] == [board.name]
    assert [path.name for path in written if path.suffix == ".html"] == ["metrics.html", "index.html"]
    assert board.name in (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
