"""What the server sends beside Gradio's own: heads of pages, the page API, compressed pages, a patient start."""

import gzip
import re
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from gradio.exceptions import ServerFailedToStartError
from PIL import Image

from leaderboard.api import ENDPOINTS
from leaderboard.app.listening import run_in_thread
from leaderboard.application import PAGES
from leaderboard.data.live_results import LiveResults
from leaderboard.data.sources import FolderSource
from leaderboard.routes import PREVIEW, api_page
from tests.leaderboard.servers import serving


@pytest.fixture(scope="module")
def address(results: Path) -> Iterator[str]:
    with serving(results) as url:
        yield url


def get(url: str, encoding: str = "") -> tuple[str, bytes]:
    asked = urllib.request.Request(url, headers={"accept": "text/html", "accept-encoding": encoding})  # noqa: S310
    with urllib.request.urlopen(asked, timeout=60) as answer:  # noqa: S310 - our own address
        return answer.headers.get("content-encoding", ""), answer.read()


def test_every_page_has_a_head_of_its_own_and_links_to_the_api(address: str) -> None:
    heads = set()
    for page in PAGES:
        sent = get(f"{address}/{page.path}")[1].decode()
        told = dict(re.findall(r'<meta (?:name|property)="([^"]+)" content="([^"]*)"', sent))
        assert (sent.count("og:title"), told["description"]) == (1, page.about)
        assert sent.startswith("<!doctype html>")
        assert f"<title>DivBench · {page.title}</title>" in sent
        assert "radio" not in sent.partition("<script")[0]  # Gradio's own title and picture
        heads.add(page.about)
    assert len(heads) == len(PAGES)
    assert told["og:image"] == f"{address}/preview.png"
    assert get(told["og:image"])[1] == PREVIEW.read_bytes()
    icon = re.findall(r'<link rel="icon" href="([^"]+)"', sent)
    assert all(get(f"{address}/{name}")[1].startswith(b"<svg") for name in (*icon, "favicon.ico"))
    with Image.open(PREVIEW) as picture:
        assert picture.size == (1200, 630)  # what previews of links show whole
    plain = get(f"{address}/system")[1].decode()
    assert '<a href="api">API</a>' in plain
    assert ">Paper (Khoriaty et al.)</a>" in plain  # not ours
    assert "/per_prompt" in get(f"{address}/api")[1].decode()


def test_pages_are_compressed_and_stay_what_they_are(address: str) -> None:
    for path in ("", "compare", "system"):
        encoding, sent = get(f"{address}/{path}", "gzip")
        whole = get(f"{address}/{path}")[1]
        assert encoding == "gzip"
        assert len(sent) < len(whole) / 3
        assert gzip.decompress(sent).partition(b"<script")[0] == whole.partition(b"<script")[0]


def test_the_page_of_the_api_lists_every_endpoint_for_this_board(results: Path) -> None:
    live = LiveResults(FolderSource(results), refresh=None)
    (part,) = api_page(live, "https://board.test").parts
    rows = {str(row[0]): row[1:] for row in part.tables[0].table.values}
    assert list(rows) == [f"/{name}" for name in ENDPOINTS]
    assert rows["/board"][0] == "name, rank_by=''"
    assert all(str(row[1]).endswith(".") for row in rows.values())
    said = "\n".join(code for _, code in part.codes)
    assert f"https://board.test/board.csv?table={live.snapshot().boards[0].name}" in said


def test_a_server_that_is_slow_to_start_is_waited_for(capsys: pytest.CaptureFixture[str]) -> None:
    slow = SimpleNamespace(started=False)

    def run() -> None:
        time.sleep(0.1)
        slow.started = True

    slow.run = run
    run_in_thread(slow, soon=0.02)
    assert capsys.readouterr().err.count("slow to start") == 1
    with pytest.raises(ServerFailedToStartError):
        run_in_thread(SimpleNamespace(started=False, run=lambda: None))
