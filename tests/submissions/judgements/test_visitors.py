"""Who votes: the hash that stands for a visitor, its salt, and how often one may."""

import stat
from pathlib import Path

import pytest

from divbench.core.errors import ConfigurationError
from submissions.judgements.votes import RateLimit, is_token, new_token, salt_of, voter_of


def test_a_voter_is_a_hash_that_nobody_can_try_without_the_salt(tmp_path: Path) -> None:
    salt = salt_of(tmp_path, {})
    assert salt_of(tmp_path, {}) == salt  # also after a restart
    assert stat.S_IMODE((tmp_path / "salt").stat().st_mode) == 0o600
    assert salt_of(tmp_path, {"DIVBENCH_VOTES_SALT": "another long text"}) == b"another long text" != salt
    voters = {
        voter_of(key, login=login, token=token)
        for key in (salt, b"other")
        for login, token in (("alice", "x"), ("bob", "x"), (None, "alice"))
    }
    assert len(voters) == 6
    assert voter_of(salt, login="alice", token="x") == voter_of(salt, login="alice", token="y")  # noqa: S106
    assert is_token(new_token())
    assert not any(map(is_token, ("", None, 5, "f" * 31, "F" * 32, "f" * 32 + "\n")))


def test_a_salt_that_can_be_guessed_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="logins could be guessed"):
        salt_of(tmp_path, {"DIVBENCH_VOTES_SALT": "secret"})


def test_of_too_many_visitors_the_one_longest_away_is_forgotten() -> None:
    limit = RateLimit(1, 60, lambda: 0.0)
    for number in range(20_001):
        assert limit.allows(str(number))
    assert [limit.allows(str(number)) for number in (20_000, 0)] == [False, True]


def test_a_limit_refills() -> None:
    now = 0.0
    limit = RateLimit(2, 60, lambda: now)
    assert [limit.allows("a") for _ in range(3)] == [True, True, False]
    assert limit.allows("b")
    now = 30.0
    assert [limit.allows("a") for _ in range(2)] == [True, False]
    now = 1e6
    assert [limit.allows("a") for _ in range(3)] == [True, True, False]  # what is not used does not add up
