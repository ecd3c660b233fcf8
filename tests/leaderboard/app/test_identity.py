"""Who hands in: a login at the Hub inside a Space, elsewhere a name that is only a word."""

import pytest

from divbench.core.errors import ConfigurationError
from leaderboard.app.identity import login_is_real, submitter, takes_names
from submissions.work_queue.schema import Identity

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
