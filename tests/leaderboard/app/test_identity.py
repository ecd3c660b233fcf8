"""Who hands in: a login at the Hub inside a Space, elsewhere a name that is only a word."""

import hashlib
import json
import os
import time
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest

from divbench.core.errors import ConfigurationError
from leaderboard.app.submitting.identity import login_is_real, submitter, takes_names
from submissions.storage.file_store import FolderStore
from submissions.work_queue.operations import listing
from submissions.work_queue.schema import Identity
from tests.leaderboard.app.test_page_submit import press, upload
from tests.leaderboard.conftest import open_page
from tests.leaderboard.page_reading import value
from tests.leaderboard.servers import running

SPACE = {
    "SYSTEM": "spaces",
    "SPACE_ID": "org/board",
    "SPACE_HOST": "org-board.hf.space, board.example.org",
    "OAUTH_CLIENT_ID": "id",
    "OAUTH_CLIENT_SECRET": "secret",
    "OAUTH_SCOPES": "openid profile",
    "OPENID_PROVIDER_URL": "https://huggingface.co",
}


def test_a_login_is_real_only_in_a_space_that_has_one() -> None:
    assert login_is_real(SPACE)
    for name in SPACE.keys() - {"SPACE_HOST"}:
        assert not login_is_real({key: value for key, value in SPACE.items() if key != name}), name
        assert not login_is_real(SPACE | {name: ""}), name
    assert not takes_names(SPACE)
    assert not takes_names({"SPACE_ID": "org/board"})
    assert takes_names({})


def test_elsewhere_a_name_is_a_word_and_a_login_is_none() -> None:
    assert submitter(" ann ", "bob", {}, {}) == Identity(name="ann", verified=False)
    for name in ("", "a\u202eb", "x" * 101, "two\nlines"):
        with pytest.raises(ConfigurationError, match="invalid name"):
            submitter(name, None, {}, {})


def test_in_a_space_the_hub_says_who_it_is() -> None:
    assert submitter("ann", "bob", {}, SPACE) == Identity(name="bob", verified=True)
    for origin in ("https://org-board.hf.space", "https://board.example.org"):
        assert submitter("", "bob", {"origin": origin}, SPACE).verified
    with pytest.raises(ConfigurationError, match="not logged in"):
        submitter("ann", None, {}, SPACE)
    with pytest.raises(ConfigurationError, match="another site"):
        submitter("", "bob", {"host": "org-board.hf.space", "origin": "https://evil.invalid"}, SPACE)
    with pytest.raises(ConfigurationError, match="has no login"):
        submitter("ann", None, {}, {"SYSTEM": "spaces", "SPACE_ID": "org/board"})


@pytest.mark.thorough
@pytest.mark.browser
def test_who_is_logged_in_hands_in_under_that_name_and_nobody_else_does(
    browser: Any, results: Path, tmp_path: Path
) -> None:
    signing = pytest.importorskip("itsdangerous", reason="gradio[oauth] is not installed")
    pytest.importorskip("authlib", reason="gradio[oauth] is not installed")
    known = {key: value for key, value in SPACE.items() if key != "SPACE_HOST"}
    user = {"name": "Bob", "preferred_username": "bob", "profile": "", "picture": ""}
    login = {"access_token": "t", "scope": "openid", "expires_at": time.time() + 3600, "userinfo": user}
    # What the server itself gives to who comes back from the Hub: signed with its secret.
    secret = hashlib.sha256(f"{SPACE['OAUTH_CLIENT_SECRET']}-v4".encode()).hexdigest()
    signed = signing.TimestampSigner(secret).sign(b64encode(json.dumps({"oauth_info": login}).encode())).decode()
    forged = signing.TimestampSigner("another").sign(b64encode(json.dumps({"oauth_info": login}).encode())).decode()
    store = tmp_path / "store"
    store.mkdir()
    arguments = ("tests.leaderboard.run_board", str(results), str(store))
    files = sorted((results.parent / "submissions" / "varied").iterdir())
    with running(*arguments, environment=os.environ | known) as address:
        for cookie, said in ((forged, "you are not logged in"), (signed, "by bob.")):
            browser.execute_cdp_cmd("Network.setCookie", {"name": "session", "value": cookie, "url": address})
            try:
                open_page(browser, address)
                upload(browser, "files", files)
                press(browser, "check", "checked")
                assert not browser.find_elements("css selector", "#submitter")
                press(browser, "submit", "submitted")
                assert said in value(browser, "receipt")
            finally:
                browser.execute_cdp_cmd("Network.deleteCookies", {"name": "session", "url": address})
    assert [state.submitter for state in listing(FolderStore(store)).states] == [Identity(name="bob", verified=True)]
