"""What every page of the application must keep, without a browser. A new page is tested here without being named."""

import json
import urllib.request
from pkgutil import iter_modules

from leaderboard.app import pages
from leaderboard.app.pages import PAGES

# Markdown that is filled when a page is shown, with texts of our own: the facts of a dataset.
OUR_OWN = {"facts"}


def test_every_page_is_in_the_list_of_pages() -> None:
    known = {page.build.__module__ for page in PAGES}
    for _, name, _ in iter_modules(pages.__path__, f"{pages.__name__}."):
        assert name in known, f"add a line for {name} to PAGES in leaderboard/app/pages/__init__.py"


def test_no_result_is_shown_as_markdown(site_address: str) -> None:
    filled = set()
    for page in PAGES:
        with urllib.request.urlopen(f"{site_address}/config?page={page.path}") as reply:  # noqa: S310 - our own address
            config = json.load(reply)
        texts = {each["id"]: each for each in config["components"] if each["type"] == "markdown"}
        outputs = [each for event in config["dependencies"] for each in event["outputs"]]
        filled |= {texts[each]["props"].get("elem_id") for each in outputs if each in texts}
    assert filled == OUR_OWN, "an event fills Markdown: show untrusted text in a Textbox, or a Dataframe of type str"


def test_no_table_of_results_copies_unescaped_cells(site_address: str) -> None:
    own = {"datasets", "about"}  # pages whose tables have texts of our own
    copied = set()
    for page in PAGES:
        with urllib.request.urlopen(f"{site_address}/config?page={page.path}") as reply:  # noqa: S310 - our own address
            config = json.load(reply)
        tables = [each for each in config["components"] if each["type"] == "dataframe"]
        copied |= {page.path for each in tables if "copy" in (each["props"].get("buttons") or ["copy"])}
    assert copied == own
