"""The page of one system: plain HTML with the numbers of the tables, at an address that can be sent."""

import re
import shutil
from collections import Counter
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import get_args

import pytest
from markupsafe import escape
from starlette.applications import Starlette
from starlette.testclient import TestClient

from leaderboard.data.board import ranking_column
from leaderboard.data.live_results import LiveResults
from leaderboard.data.reference.results import WithReference
from leaderboard.data.scores import BoardScores
from leaderboard.data.sources import FolderSource
from leaderboard.pages import page_text
from leaderboard.pages import system as module
from leaderboard.pages.figures import TINTS
from leaderboard.pages.system import (
    NO_SYSTEM,
    OTHER_SHOWN,
    extremes,
    facts_table,
    headline,
    nearest,
    scores_table,
    system_routes,
)
from leaderboard.pages.systems import system_ids, system_labels
from leaderboard.routes import routes
from submissions.choices import Mode
from tests.leaderboard.boards import load_boards
from tests.leaderboard.injections import NAMES


class Read(HTMLParser):
    """Elements with their attributes, all text, and the cells of each table."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.tables: dict[str, list[list[str]]] = {}
        self.text = ""
        self._rows: list[list[str]] = []
        self._cell = False
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.elements.append((tag, given))
        if tag == "table":
            self._rows = self.tables[str(given["id"])] = []
        elif tag == "tr":
            self._rows.append([])
        elif tag in ("td", "th"):
            self._rows[-1].append("")
            self._cell = True

    def handle_endtag(self, tag: str) -> None:
        self._cell = self._cell and tag not in ("td", "th")

    def handle_data(self, data: str) -> None:
        self.text += data
        if self._cell:
            self._rows[-1][-1] += data

    def values(self, tag: str, name: str) -> list[str]:
        return [str(given[name]) for each, given in self.elements if each == tag and given.get(name) is not None]


def client_of(results: Path, *, reference: bool = False) -> TestClient:
    source = FolderSource(results)
    live = LiveResults(WithReference(source) if reference else source, refresh=None)
    return TestClient(Starlette(routes=[*system_routes(live, lambda: "the navigation"), *routes(live, str)]))


@pytest.fixture(scope="module")
def client(results: Path) -> TestClient:
    return client_of(results)


def test_every_system_has_its_numbers(results: Path, client: TestClient) -> None:
    (board,), _ = load_boards(results)
    scores, main = BoardScores(board), ranking_column(board)
    assert main is not None
    values, labels = scores.matrix(main), system_labels(board)
    for place, own in enumerate(system_ids(board)):
        answer = client.get("/system", params={"table": board.name, "system": own})
        assert answer.status_code == 200
        page = Read(answer.text)
        assert f"<title>DivBench · {escape(labels[place])}</title>" in answer.text
        assert headline(scores, main, place) in page.text
        assert f"rank {scores.standings(main)[place].rank} " in headline(scores, main, place)
        standing = [(column, scores.standings(column)[place]) for column in board.columns]
        wanted = scores_table(board, place, standing)
        found = {row[0]: row for row in page.tables["scores"][1:]}
        assert [row[1] for row in found.values()] == [row[1] for row in wanted.texts]
        assert found[main.label] == list(next(row for row in wanted.texts if row[0] == main.label))
        assert page.tables["facts"][1:] == [list(row) for row in facts_table(board, place).texts]
        ends = extremes(board, board.entries[place], scores.prompts, values[:, place], main.direction)
        for name, end in zip(("most", "least"), ends, strict=True):
            assert [row[1] for row in page.tables[name][1:] if row[1]] == [each.prompt for each in end]
        near = [labels[other] for other, _ in nearest(scores, place)]
        assert not {"shuffled-words", "random-characters", "repeated"} & set(near)
        assert [row[0] for row in page.tables.get("near", [[]])[1:]] == near
        chosen = [given for tag, given in page.elements if tag == "option" and "selected" in given]
        assert [each["value"] for each in chosen] == [board.name, own]
        links = page.values("a", "href")
        assert f"explore?table={board.name}&system={own}" in links
        assert any(link.startswith("compare?") and own in link for link in links) == bool(near)
    assert "the navigation" in page.text


def test_how_a_system_was_prompted_is_all_there(results: Path) -> None:
    """What the manifest states of the sampling, and its notes, were on no page."""
    board = load_boards(results)[0][0]
    entry = board.entries[0]
    sampled = {"mode": "in-context", "top_p": 0.9, "max_tokens": 100, "chat_template": False, "stop": ("\n", "END")}
    manifest = entry.result.manifest.model_copy(update={"notes": "each response is cut"})
    generation = manifest.generation.model_copy(update=sampled | {"system_prompt": "Be creative."})
    manifest = manifest.model_copy(update={"generation": generation})
    changed = replace(entry, result=entry.result.model_copy(update={"manifest": manifest}))
    table = facts_table(replace(board, entries=(changed, *board.entries[1:])), 0)
    found = {row[0]: row[1] for row in table.texts}
    assert found["sampling mode"] == "in-context: one chat that grows with each response"
    assert (found["top-p"], found["maximum tokens per response"], found["chat template"]) == ("0.9", "100", "no")
    assert (found["system prompt"], found["stops at"]) == ("Be creative.", r"'\n', 'END'")
    assert found["notes"] == "each response is cut"
    assert not {"thinking", "software", "top-k"} & set(found)  # not stated


def test_every_mode_is_explained() -> None:
    assert set(module._MODES) == set(get_args(Mode))


def test_a_response_that_is_cut_says_so(results: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    board = load_boards(results)[0][0]
    scores, main = BoardScores(board), ranking_column(board)
    assert main is not None
    shown = []
    for letters in (10**6, 9):
        monkeypatch.setattr("leaderboard.pages.system._LETTERS", letters)
        ends = extremes(board, board.entries[0], scores.prompts, scores.matrix(main)[:, 0], main.direction)
        shown.append([text for end in ends for each in end for text in each.responses])
    assert any(len(text) > 9 for text in shown[0])
    assert shown[1] == [text if len(text) <= 9 else f"{text[:8]}…" for text in shown[0]]


@pytest.mark.mirror
@pytest.mark.usefixtures("mirror")  # which has the prompts' texts
def test_equivalent_responses_have_a_colour_in_common(results: Path) -> None:
    """The reference results have classes and a curve, but no texts."""
    client = client_of(results, reference=True)
    table = next(each.name for each in WithReference().read().boards if each.profile == "offline")
    listed = client.get("/system", params={"table": table}).text
    known = re.findall(r'<option value="([0-9a-f]+)"[^>]*>GPT-4o \(2024-11-20\)</option>', listed)
    page = Read(client.get("/system", params={"table": table, "system": known[0]}).text)
    assert "classes-plot" in page.values("div", "id")
    data = [given for tag, given in page.elements if tag == "script" and given.get("id") == "classes-plot-data"]
    assert [each["type"] for each in data] == ["application/json"]
    marks = [given.get("class") for tag, given in page.elements if tag == "tr"]
    responses = page.tables["least"][1:]
    start = next(i for i, (tag, given) in enumerate(page.elements) if tag == "table" and given.get("id") == "least")
    own = [given.get("class") for tag, given in page.elements[start:] if tag == "tr"][1 : len(responses) + 1]
    prompts: list[str] = []
    for row in responses:  # a prompt stands in the first of its rows
        prompts.append(row[1] or prompts[-1])
    classes = Counter((prompt, row[2]) for prompt, row in zip(prompts, responses, strict=True))
    for prompt, row, mark in zip(prompts, responses, own, strict=True):
        assert (mark is not None) == (classes[prompt, row[2]] > 1 and row[2] != ""), row
    assert {f"tint-{place}" for place in range(len(TINTS))} >= set(marks) - {None} != set()
    sheet = next(link for link in page.values("link", "href") if link.endswith("board.css"))
    styles = client.get(f"/{sheet}").text
    assert all(f".tint-{place} " in styles for place in range(len(TINTS)))


def test_only_people_and_baselines_are_called_references(results: Path) -> None:
    (board,), _ = load_boards(results)
    main = ranking_column(board)
    assert main is not None
    first, *others = board.entries
    manifest = first.result.manifest
    cells = {signature: cell for signature, cell in first.cells.items() if signature != main.signature}
    for kind, words in (("model", "; not ranked on"), ("human", "; a reference, not ranked on")):
        typed = manifest.model_copy(update={"system": manifest.system.model_copy(update={"type": kind})})
        entry = replace(first, result=first.result.model_copy(update={"manifest": typed}), cells=cells)
        said = headline(BoardScores(replace(board, entries=(entry, *others))), main, 0)
        assert "no value of" in said
        assert words in said


def test_an_address_that_leads_nowhere_is_not_found_and_leads_to_all(
    results: Path, client: TestClient, tmp_path: Path
) -> None:
    (board,), _ = load_boards(results)
    gone = client.get("/system", params={"table": board.name, "system": "0123456789"})
    assert (gone.status_code, NO_SYSTEM in gone.text) == (404, True)
    assert '<a href="./">' in gone.text
    moved = client.get("/system", params={"table": "<b>", "system": system_ids(board)[3]})
    assert (moved.status_code, OTHER_SHOWN in moved.text, system_labels(board)[3] in moved.text) == (200, True, True)
    assert OTHER_SHOWN not in client.get("/system").text
    assert client.head("/system").status_code == 200
    empty = client_of(tmp_path).get("/system")
    assert (empty.status_code, page_text.NO_RESULTS in empty.text) == (404, True)
    shutil.copytree(results, tmp_path / "copied")
    (copied,), _ = load_boards(tmp_path / "copied")
    left = client_of(tmp_path / "copied")
    for entry in copied.entries:
        (entry.folder / "per_prompt.parquet").unlink()
    answer = left.get("/system", params={"system": system_ids(board)[0]})
    assert answer.status_code == 404
    assert "cannot be read (the result is gone or damaged" in answer.text


def test_a_system_is_picked_among_its_kind(client: TestClient, results: Path) -> None:
    (board,), _ = load_boards(results)
    options = re.findall(r'<optgroup label="([^"]+)">', client.get("/system").text)
    assert len(options) == len(set(options)) == len({entry.result.manifest.system.type for entry in board.entries})


def test_what_a_page_loads_is_served_and_kept_by_browsers(client: TestClient) -> None:
    page = Read(client.get("/system").text)
    addresses = page.values("link", "href") + page.values("script", "src")
    assert len(addresses) >= 2
    for address in addresses:
        assert re.fullmatch(r"page-assets/[0-9a-f]{12}/[a-z.]+", address)
        answer = client.get(f"/{address}")
        assert answer.status_code == 200
        assert "immutable" in answer.headers["cache-control"]
        assert client.get(f"/{address.replace('page-assets/', 'page-assets/0')}").status_code == 404
    assert client.get(f"/{addresses[0]}.map").status_code == 404


def test_names_and_responses_of_strangers_are_text(hostile: Path) -> None:
    client = client_of(hostile)
    (board,), _ = load_boards(hostile)
    seen = set()
    for own, label in zip(system_ids(board), system_labels(board), strict=True):
        page = Read(client.get("/system", params={"system": own}).text)
        assert label in page.text
        seen |= {(tag, *sorted(given)) for tag, given in page.elements}
        for tag, given in page.elements:
            assert not any(name.startswith("on") or name == "style" for name in given), (tag, given)
            assert tag != "script" or given.get("type") == "application/json" or "page-assets" in str(given["src"])
            address = str(given.get("href") or given.get("action") or "system")
            assert address.startswith(("explore?", "compare?", "page-assets/", "system", "#", "board.", "api", "./?"))
    assert len(board.entries) == len(NAMES)
    # The first page alone has all elements that there are: no name has become one, or a part of one.
    first = Read(client.get("/system", params={"system": system_ids(board)[0]}).text)
    assert seen == {(tag, *sorted(given)) for tag, given in first.elements}
    assert not seen & {("img",), ("iframe",), ("svg",), ("base",), ("input",)}
