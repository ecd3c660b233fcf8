"""The exported page of post-training: the contrasts and curves of a series are those of the pure tables."""

import shutil
from pathlib import Path

import pytest

from benchmark.scoring.results import Result
from leaderboard.data.live_results import LiveResults
from leaderboard.data.scores import BoardScores
from leaderboard.data.sources import FolderSource
from leaderboard.static.write import write_static
from leaderboard.tables.stages import contrasts, contrasts_table, find_series, values_of
from tests.leaderboard.boards import load_boards
from tests.leaderboard.static.test_static import Page

NAMED = {"varied": "toy base", "paraphrased": "toy SFT", "collapsed": "toy DPO"}


@pytest.fixture(scope="module")
def stages(results: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three systems of the demonstration under the names of a series."""
    folder = tmp_path_factory.mktemp("stages")
    (board,), _ = load_boards(results)
    for entry in board.entries:
        name = NAMED.get(entry.result.manifest.name)
        if name is not None:
            shutil.copytree(entry.folder, folder / entry.folder.name)
            manifest = entry.result.manifest.model_copy(update={"name": name})
            changed: Result = entry.result.model_copy(update={"manifest": manifest})
            (folder / entry.folder.name / "result.json").write_text(changed.model_dump_json(), encoding="utf-8")
    return folder


def test_contrasts_of_the_stages_are_those_of_the_tables(stages: Path, tmp_path: Path) -> None:
    made = write_static(LiveResults(FolderSource(stages)), tmp_path / "exported")
    (board,), _ = load_boards(stages)
    (series,) = find_series(board)
    assert series.stages == ("base", "SFT", "DPO")
    scores = BoardScores(board)
    column = next(column for column in board.columns if column.metric == "distinct_k")
    found = contrasts(series, scores.prompts, values_of(series, board, scores.matrix(column)), column)
    page = Page(made.folder / "post-training.html")
    rows = page.tables[f"distinct_k-{board.name}-{series.key}-contrasts-table"]
    assert [[text for text, _ in row] for row in rows[1:]] == [
        list(row) for row in contrasts_table(found, column).shown
    ]
    figures = [given["id"] for tag, given in page.elements if given.get("class") == "figure"]
    # No language model read them, so there are no curves.
    assert figures == [f"{metric}-{board.name}-{series.key}" for metric in ("valid_distinct_k", "distinct_k")]
    drawn = (made.folder / "figures" / f"distinct_k-{board.name}-{series.key}.js").read_text(encoding="utf-8")
    assert '"text":"distinct_k, classes"' in drawn  # not the title, which can be longer than the axis
    assert "There are no curves: no prompt has a complete curve" in (made.folder / "post-training.html").read_text()


@pytest.mark.usefixtures("board_pages_only")
def test_a_series_scored_with_two_profiles_has_its_own_figures_for_each(stages: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(stages, tmp_path / "results")
    for place, path in enumerate(sorted(stages.iterdir())):
        other = shutil.copytree(path, folder / f"other-{place}") / "result.json"
        read = Result.model_validate_json(other.read_bytes())
        changed = read.model_copy(update={"profile": "syntax", "result_id": f"{place:016x}"})
        other.write_text(changed.model_dump_json(), encoding="utf-8")
    made = write_static(LiveResults(FolderSource(folder)), tmp_path / "exported", texts=False)
    page = Page(made.folder / "post-training.html")
    ids = [given["id"] for _, given in page.elements if given.get("id")]
    assert len(ids) == len(set(ids))
    figures = [given["id"] for _, given in page.elements if given.get("class") == "figure"]
    assert len(figures) == 4  # two metrics, two profiles
    assert all((made.folder / "figures" / f"{each}.js").is_file() for each in figures)


@pytest.mark.usefixtures("board_pages_only")
def test_without_stages_the_page_says_so(results: Path, tmp_path: Path) -> None:
    folder = tmp_path / "results"
    (board,), _ = load_boards(results)
    shutil.copytree(board.entries[0].folder, folder / "one")
    made = write_static(LiveResults(FolderSource(folder)), tmp_path / "exported", texts=False)
    text = (made.folder / "post-training.html").read_text(encoding="utf-8")
    assert "No table here includes several training stages of one model." in text
    assert "<figure" not in text
