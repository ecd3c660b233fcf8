"""Records of votes: what is written is read again, and what is no vote is rejected."""

import json
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from submissions.judgements.votes import QUESTIONS, VOTES, Vote, parsed_vote, unique, vote_id


def a_vote(pair: int = 0, question: str = "preferred", **changes: Any) -> Vote:
    pair_id = f"{pair:032x}"
    known: dict[str, Any] = {
        "vote_id": vote_id(pair_id, question),
        "pair_id": pair_id,
        "time": 1_800_000_000,
        "voter": "ab" * 16,
        "suite": "demo",
        "prompt_id": "demo-00",
        "left": "Ünïcode <b>",
        "right": "other",
        "left_result": "0123456789ab",
        "right_result": "ba9876543210",
        "left_positions": (0, 1, 2, 3, 4),
        "right_positions": (0, 1, 2, 3, 4),
        "question": question,
        "answer": "left",
    }
    return Vote(**known | changes)


def test_a_vote_is_read_as_it_was_written() -> None:
    vote = a_vote(check="self", expected="tie")
    assert parsed_vote(vote.as_line()) == vote
    assert b"\n" not in vote.as_line()
    assert (vote.passed, replace(vote, answer="tie").passed, a_vote().passed) == (False, True, None)
    known = json.loads(vote.as_line())
    assert pa.Table.from_pylist([known], schema=VOTES).to_pylist() == [known]


def test_what_is_no_vote_is_rejected() -> None:
    good = json.loads(a_vote().as_line())
    bad: list[dict[str, Any]] = [
        {"answer": "both"},
        {"question": "more"},
        {"time": -1},
        {"time": "1800000000"},
        {"voter": "me@example.org"},
        {"left": "two\nlines"},
        {"left": "\u202eback"},
        {"prompt_id": "a\x1b[31m"},
        {"left_positions": []},
        {"left_positions": [0.5]},
        {"left_positions": [10**6]},
        {"vote_id": "0" * 32},
        {"expected": "left"},
        {"altered": "left"},
        {"check": "shuffled"},
        {"email": "me"},
        {"left_result": "../../etc"},
    ]
    for change in bad:
        with pytest.raises(ValueError, match=r"\w"):
            parsed_vote(json.dumps(good | change).encode())
    for line in (b"", b"{", b"[]", b"\xff", b'{"a":1,"a":2}', b"[" * 10_000, b" " * 30_000):
        with pytest.raises(ValueError, match=r"\w"):
            parsed_vote(line)


def test_a_vote_that_was_written_twice_counts_once() -> None:
    first = a_vote()
    again = replace(first, time=first.time + 5, answer="right")
    other = a_vote(question=QUESTIONS[0])
    assert set(unique([again, other, first, first])) == {first, other}
