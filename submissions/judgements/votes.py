"""The record of a vote: one person's answer to one question about two response sets to the same prompt.

A reply to a pair of response sets answers two questions, so it is two records with the same `pair_id`. Records in a
store are untrusted, because anyone who can propose a file can propose votes.
"""

import dataclasses
import hashlib
from collections.abc import Iterable
from functools import partial
from typing import Annotated, Literal, get_args

import pyarrow as pa
from pydantic import AfterValidator, ConfigDict, Field, StringConstraints, TypeAdapter
from pydantic.dataclasses import dataclass

from divbench.core.files import canonical_json
from submissions.schema import MAX_K, Name, only_printable
from submissions.untrusted.json_files import strict_model
from submissions.untrusted.plain_text import one_line

Question = Literal["more_different", "preferred"]
Answer = Literal["left", "right", "tie"]
Check = Literal["", "repeated", "shuffled", "self"]
QUESTIONS: tuple[Question, ...] = get_args(Question)
ANSWERS: tuple[Answer, ...] = get_args(Answer)
CHECKS: tuple[Check, ...] = tuple(each for each in get_args(Check) if each)
MAX_LINE = 20_000  # bytes of a record as JSON

_ID = r"^[0-9a-f]{32}$"


Id = Annotated[str, StringConstraints(pattern=_ID)]
ResultId = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{12,64}$")]
PromptId = Annotated[str, StringConstraints(min_length=1, max_length=200), AfterValidator(only_printable)]
SuiteName = Annotated[str, StringConstraints(max_length=100, pattern=r"^[a-z0-9][a-z0-9-]*$")]
Positions = Annotated[tuple[Annotated[int, Field(ge=0, lt=MAX_K)], ...], Field(min_length=1, max_length=20)]


@dataclass(frozen=True, slots=True, config=ConfigDict(extra="forbid"))
class Vote:
    """An answer to one question about one pair of response sets."""

    vote_id: Id  # id derived from the pair's id and the question, so that an answer stored twice counts once
    pair_id: Id  # random id of the pair as shown to one visitor; the records of both questions have it
    time: Annotated[int, Field(ge=0, lt=2**40)]  # time in seconds since 1970 (UTC)
    voter: Id  # salted hash of the visitor
    suite: SuiteName
    prompt_id: PromptId
    left: Name  # name of the system whose responses were on the left
    right: Name  # name of the system on the right; the left one's if the pair is a check
    left_result: ResultId  # id of the result with the responses on the left
    right_result: ResultId
    # Positions of the responses on the left in the result's response set, in the order shown, from 0.
    left_positions: Positions
    right_positions: Positions
    # *more_different* (which set has the more different ideas) or *preferred* (which one would you rather have been
    # given).
    question: Question
    answer: Answer  # *left*, *right*, or *tie* for no difference
    # How a pair with a known answer was made: *repeated* (one response shown several times), *shuffled* (the words of
    # each response in random order), *self* (the same responses in another order); otherwise empty.
    check: Check = ""
    altered: Literal["", "left", "right"] = ""  # side that was repeated or shuffled; otherwise empty
    # Answer that passes the check; empty if the question has no known answer.
    expected: Literal["", "left", "right", "tie"] = ""

    def __post_init__(self) -> None:
        if self.vote_id != vote_id(self.pair_id, self.question):
            raise ValueError("the vote's id does not match its pair and question")
        if (self.altered != "") != (self.check in ("repeated", "shuffled")) or (self.expected and not self.check):
            raise ValueError("only a check has an altered side and an expected answer")

    @property
    def passed(self) -> bool | None:
        """Whether the answer passes the check; None if there is no known answer."""
        return self.answer == self.expected if self.expected else None

    def as_line(self) -> bytes:
        """Return the record as a line of JSON, without the line's end."""
        return canonical_json(_VOTE.dump_python(self, mode="json"))


_VOTE = TypeAdapter(Vote)

_TYPES: dict[str, pa.DataType] = {
    "time": pa.int64(),
    "left_positions": pa.list_(pa.int32()),
    "right_positions": pa.list_(pa.int32()),
}
VOTES = pa.schema(
    [pa.field(each.name, _TYPES.get(each.name, pa.string()), nullable=False) for each in dataclasses.fields(Vote)]
)


def vote_id(pair_id: str, question: str) -> str:
    """Return the id of the answer to a question about a pair: 32 hex digits."""
    return hashlib.sha256(f"{pair_id} {question}".encode()).hexdigest()[:32]


def parsed_vote(line: bytes) -> Vote:
    """Parse an untrusted line of JSON.

    Raises:
        ValueError: It is not a record of a vote; the message is one line.
    """
    if len(line) > MAX_LINE:
        raise ValueError(f"a record may have at most {MAX_LINE:,} bytes")
    try:
        return strict_model(line, partial(_VOTE.validate_json, strict=True))
    except ValueError as error:
        raise ValueError(one_line(str(error))) from error


def unique(votes: Iterable[Vote]) -> list[Vote]:
    """Return each vote once, by time, then id; of several records with one id, the earliest."""
    found: dict[str, Vote] = {}
    for vote in sorted(votes, key=lambda each: (each.time, each.vote_id, each.voter, each.answer)):
        found.setdefault(vote.vote_id, vote)
    return list(found.values())
