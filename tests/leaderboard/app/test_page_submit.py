"""The page Submit in a real browser: good and bad submissions, handing in, the queue, strangers' texts."""

import json
import shutil
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from leaderboard.app.pages.submit import EDITED, FRESH_SECONDS
from submissions.storage.file_store import FolderStore
from submissions.untrusted.findings import Problem
from submissions.work_queue.operations import claim, listing, reject
from tests.leaderboard.conftest import console_errors, open_page, until
from tests.leaderboard.injections import INJECTIONS, NAMES, assert_inert, not_shown
from tests.leaderboard.page_reading import query, rows, selects, value
from tests.leaderboard.servers import serving

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> FolderStore:
    return FolderStore(tmp_path_factory.mktemp("store"))


@pytest.fixture(scope="module")
def address(results: Path, store: FolderStore) -> Iterator[str]:
    with serving(results, store=store.folder, pages="submit") as url:
        yield url


@pytest.fixture
def good(results: Path, tmp_path: Path) -> Path:
    """A copy of a submission folder, to be broken."""
    made = tmp_path / "good"
    shutil.copytree(results.parent / "submissions" / "varied", made)
    return made


def change_manifest(folder: Path, **changed: Any) -> None:
    path = folder / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8")) | changed), encoding="utf-8")


def find(browser: Any, selector: str) -> Any:
    return browser.find_element("css selector", selector)


def count(browser: Any, name: str) -> int:
    return int(browser.execute_script(f"return document.body.dataset.{name} || 0"))


def press(browser: Any, element: str, counted: str) -> None:
    """Press a button and wait until what it does has been done."""
    before = count(browser, counted)
    button = find(browser, f"#{element}")
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", button)
    button.click()
    until(lambda: count(browser, counted) > before, f"nothing came of {element}")


def upload(browser: Any, element: str, paths: list[Path]) -> None:
    """Give files as a visitor does, and wait until they have arrived."""
    find(browser, f"#{element} input[type=file]").send_keys("\n".join(map(str, paths)))
    # A name that is too long to show is shown in two parts.
    names = "return [...document.querySelectorAll(`#${arguments[0]} td.filename`)].map(e => e.textContent)"
    wanted = sorted("".join(path.name.split()) for path in paths)

    def there() -> list[str]:
        return sorted("".join(text.split()) for text in browser.execute_script(names, element))

    until(lambda: there() == wanted, "the files did not arrive")


def check(browser: Any, address: str, folder: Path) -> str:
    open_page(browser, f"{address}/")
    upload(browser, "files", sorted(folder.iterdir()))
    press(browser, "check", "checked")
    return value(browser, "verdict")


def test_a_good_submission_is_accepted_handed_in_and_seen_in_the_queue(
    address: str, browser: Any, good: Path, store: FolderStore
) -> None:
    assert check(browser, address, good).startswith("Accepted: varied as ")
    assert rows(browser, "problems") == []
    field = find(browser, "#submitter input, #submitter textarea")
    field.clear()
    field.send_keys("somebody")
    press(browser, "submit", "submitted")
    [state] = [state for state in listing(store).states if state.name == "varied"]
    assert (state.submitter.name, state.submitter.verified) == ("somebody", False)
    assert f"Submitted: varied as {state.submission_id}, by somebody (not verified)." in value(browser, "receipt")
    until(lambda: rows(browser, "history") != [], "its history is not shown")
    row = next(row for row in rows(browser, "queue") if row[-1] == state.submission_id)
    assert row[1:5] == ["varied", "demo", "somebody (not verified)", "pending"]
    assert [cells[1] for cells in rows(browser, "history")] == ["pending"]
    assert "in the queue" in value(browser, "details")
    until(
        lambda: query(browser).get("submission") == [state.submission_id],
        "the submission is not in the address",
    )
    open_page(browser, browser.current_url)
    assert [cells[1] for cells in rows(browser, "history")] == ["pending"]
    assert check(browser, address, good).startswith("Accepted")
    press(browser, "submit", "submitted")
    assert "was already submitted on" in value(browser, "receipt")
    assert console_errors(browser) == []


@pytest.mark.thorough
def test_a_folder_whose_manifest_is_wrong_is_rejected_by_field(address: str, browser: Any, good: Path) -> None:
    change_manifest(good, suite="none", extra=1, system={"type": "god"})
    said = check(browser, address, good)
    assert said.startswith("Rejected: ")
    fields = {row[3] for row in rows(browser, "problems") if row[1] == "manifest.json"}
    assert {"extra", "system.type"} <= fields
    assert not find(browser, "body").find_elements("css selector", "#submit")


def test_a_folder_whose_rows_are_wrong_is_rejected_by_row(address: str, browser: Any, good: Path) -> None:
    path = good / "generations.parquet"
    table = pq.read_table(path)
    kept = table.to_pylist()
    kept[4]["responses"] = kept[4]["responses"][:3]
    kept[6]["prompt_id"] = "demo-99"
    pq.write_table(pa.Table.from_pylist(kept, schema=table.schema), path)
    assert check(browser, address, good).startswith("Rejected: ")
    found = rows(browser, "problems")
    assert {(row[1], row[2]) for row in found if row[0] == "error"} >= {
        ("generations.parquet", "5"),
        ("generations.parquet", "7"),
    }
    assert all(row[4] and row[5] for row in found)  # each says what is wrong, and how to mend it


@pytest.mark.thorough
def test_a_file_cut_off_and_a_file_of_another_kind_are_rejected(address: str, browser: Any, good: Path) -> None:
    path = good / "generations.parquet"
    path.write_bytes(path.read_bytes()[:-100])
    assert check(browser, address, good).startswith("Rejected: 1 error,")
    [row] = rows(browser, "problems")
    assert row[:2] == ["error", "generations.parquet"]
    (good / "program.exe").write_bytes(b"MZ")
    assert check(browser, address, good).startswith("Rejected: 1 error,")
    [row] = rows(browser, "problems")
    assert row[1] == "program.exe"


@pytest.mark.thorough
def test_pasted_lines_and_a_form_make_a_submission(address: str, browser: Any) -> None:
    open_page(browser, f"{address}/?way=paste")
    text = "".join(
        json.dumps({"prompt_id": f"demo-{i:02}", "responses": [f"a {i}", f"b {i}"]}) + "\n" for i in range(24)
    )
    field = find(browser, "#pasted textarea")
    browser.execute_script(
        "arguments[0].value = arguments[1]; arguments[0].dispatchEvent(new Event('input', {bubbles: true}))",
        field,
        text,
    )
    press(browser, "check", "checked")
    assert value(browser, "verdict").startswith("Rejected: 2 errors,")
    assert [row[1:4] for row in rows(browser, "problems")] == [["form", "", "name"], ["form", "", "submitter.name"]]
    find(browser, "#f-name input, #f-name textarea").send_keys("pasted")
    find(browser, "#f-submitter input, #f-submitter textarea").send_keys("somebody")
    press(browser, "check", "checked")
    assert value(browser, "verdict").startswith("Accepted: pasted as ")
    assert "24 prompts, 48 responses (k = 2)" in value(browser, "verdict")
    assert value(browser, "submitter") == "somebody"


def test_what_was_edited_after_its_validation_is_not_submitted(address: str, browser: Any, store: FolderStore) -> None:
    before = len(listing(store).states)
    open_page(browser, f"{address}/?way=paste")
    press(browser, "example", "filled")
    press(browser, "check", "checked")
    assert value(browser, "verdict").startswith("Accepted: an example as ")
    browser.find_element("xpath", "//button[contains(., 'Details of the system')]").click()
    numbers = ".a-number input, .a-number textarea"
    until(lambda: len(browser.find_elements("css selector", numbers)) == 6, "the details do not open")
    assert {each.get_attribute("value") for each in browser.find_elements("css selector", numbers)} == {""}
    find(browser, "#f-name input, #f-name textarea").send_keys(" of mine")
    until(lambda: value(browser, "verdict") == EDITED, "the page still offers what was validated before")
    until(lambda: not browser.find_elements("css selector", "#submit"), "what was edited can be submitted")
    press(browser, "check", "checked")
    assert value(browser, "verdict").startswith("Accepted: an example of mine as ")
    press(browser, "submit", "submitted")
    [state] = listing(store).states[before:]
    assert state.name == "an example of mine"
    manifest = json.loads(store.read(store.head(), f"submissions/{state.submission_id}/manifest.json", 10**5))
    assert {manifest["generation"][name] for name in ("temperature", "top_p", "top_k", "max_tokens", "seed")} == {None}


@pytest.mark.thorough
def test_a_file_of_generations_is_rejected_by_its_rows(address: str, browser: Any, tmp_path: Path) -> None:
    lines = [json.dumps({"prompt_id": f"demo-{i:02}", "responses": [f"a {i}", f"b {i}"]}) for i in range(24)]
    lines[3] = "{"
    path = tmp_path / "my answers.jsonl"
    path.write_text("\n".join(lines), encoding="utf-8")
    open_page(browser, f"{address}/?way=file")
    upload(browser, "file", [path])
    find(browser, "#f-name input, #f-name textarea").send_keys("filed")
    find(browser, "#f-submitter input, #f-submitter textarea").send_keys("somebody")
    press(browser, "check", "checked")
    [row] = rows(browser, "problems")
    assert row[:3] == ["error", "my answers.jsonl", "4"]


def test_hostile_submissions_are_inert_wherever_they_are_shown(
    address: str, browser: Any, good: Path, store: FolderStore
) -> None:
    from datetime import UTC, datetime, timedelta

    change_manifest(good, name=NAMES[1], notes=INJECTIONS[0], submitter={"name": NAMES[15], "date": "2026-01-02"})
    assert NAMES[1] in check(browser, address, good)
    assert value(browser, "submitter") == NAMES[15]
    assert_inert(browser)
    press(browser, "submit", "submitted")
    until(lambda: rows(browser, "history") != [], "its history is not shown")
    assert not_shown(browser, [NAMES[1], f"{NAMES[15]} (not verified)"]) == []
    assert_inert(browser)
    now = datetime.now(UTC)
    taken = claim(store, NAMES[18], timedelta(hours=1), now, wanted=lambda state: state.name == NAMES[1])
    assert taken is not None
    reject(store, taken, [Problem("k", "error", NAMES[2], 3, NAMES[3], NAMES[19], NAMES[20])], now)
    time.sleep(FRESH_SECONDS)  # what was read a moment ago is not read again for the asking
    press(browser, "refresh", "shown")
    until(lambda: len(rows(browser, "history")) == 3, "the rejection is not shown")
    assert not_shown(browser, [NAMES[18], NAMES[19], NAMES[20]]) == []
    assert_inert(browser)
    change_manifest(good, **dict.fromkeys(INJECTIONS, 1))
    assert check(browser, address, good).startswith(f"Rejected: {len(INJECTIONS)} errors")
    assert not_shown(browser, INJECTIONS[:4]) == []  # of a long table the page holds the rows in view
    assert_inert(browser)
    assert console_errors(browser) == []


def test_the_server_takes_no_file_beyond_the_limit_and_gives_no_other(address: str, tmp_path: Path) -> None:
    edge = "-" * 20
    head = f'--{edge}\r\nContent-Disposition: form-data; name="files"; filename="manifest.json"\r\n\r\n'.encode()
    body = head + b"x" * (65 * 2**20) + f"\r\n--{edge}--\r\n".encode()
    request = urllib.request.Request(  # noqa: S310 - our own address
        f"{address}/gradio_api/upload", data=body, headers={"Content-Type": f"multipart/form-data; boundary={edge}"}
    )
    with pytest.raises(urllib.error.HTTPError) as error:
        urllib.request.urlopen(request, timeout=60)  # noqa: S310
    assert error.value.code == 413
    error.value.close()


def test_outside_a_space_nobody_can_log_in(address: str, browser: Any) -> None:
    open_page(browser, f"{address}/")
    assert browser.find_elements("css selector", "#login") == []
    with pytest.raises(urllib.error.HTTPError) as error:
        urllib.request.urlopen(f"{address}/login/huggingface", timeout=30)  # noqa: S310 - our own address
    assert error.value.code == 404
    error.value.close()


@pytest.fixture(scope="module")
def folder_address(results: Path) -> Iterator[str]:
    with serving(results, pages="submit") as url:
        yield url


@pytest.mark.thorough
def test_a_board_without_a_store_checks_and_says_how_to_submit(folder_address: str, browser: Any, good: Path) -> None:
    said = check(browser, folder_address, good)
    assert said.startswith("Valid: varied as ")
    assert "divbench submit DIR --to STORE" in said
    assert not browser.find_elements("css selector", "#submit")
    text = browser.find_element("tag name", "body").text
    assert "it validates, and takes no submissions" in text
    assert "The queue" not in text
    assert selects(browser) == ([], [])
    browser.find_element("id", "example").click()  # a filled form to look at
    until(lambda: value(browser, "f-name") == "an example", "the example is not filled in")
    assert browser.find_elements("id", "verdict") == []  # what was said about the one before
    assert selects(browser) == ([], [])
    browser.find_element("id", "check").click()
    until(lambda: value(browser, "verdict").startswith("Valid: an example as "), "the example is not valid")
    assert console_errors(browser) == []
