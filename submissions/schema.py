"""The schema of a submission: a manifest (submitter, system, sampling) and generations (prompt_id, responses)."""

import datetime
import re
from dataclasses import dataclass, replace
from typing import Annotated, Literal

import pyarrow as pa
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints

from divbench.core.files import content_id
from submissions.choices import Format, Mode, SystemType

MAX_K = 1000

GENERATIONS = pa.schema(
    [
        pa.field("prompt_id", pa.string(), nullable=False),
        pa.field("prompt", pa.string(), nullable=True),  # null: not in the source file
        pa.field("responses", pa.list_(pa.string()), nullable=False),
        pa.field("finish_reasons", pa.list_(pa.string()), nullable=True),
    ]
)

# Columns of reported values that older files lack.
LATER_REPORTED = (
    pa.field("version", pa.string(), nullable=False),  # version of the metric, such as 1.1
    pa.field("unscored", pa.bool_(), nullable=False),  # whether the judge refused to score the responses
)
# Values imported with the generations, one row per prompt and version. They are shown as *reported*, never mixed with
# values that we compute.
REPORTED = pa.schema(
    [
        pa.field("prompt_id", pa.string(), nullable=False),
        # A class label for each response: 0, 1, 2, … by first use.
        pa.field("partition", pa.list_(pa.int32()), nullable=False),
        # The quality of each class's first response, 0 for the others.
        pa.field("generation_scores", pa.list_(pa.float64()), nullable=True),
        pa.field("distinct", pa.int32(), nullable=False),  # the number of classes
        pa.field("utility", pa.float64(), nullable=True),
        *LATER_REPORTED,
    ]
)

# Invisible letters and marks. (Characters of the Unicode categories control, format and separator are not printable.)
_INVISIBLE = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0]")


def _plain(text: str) -> str:
    """Reject blank text, white space around it, and control or invisible characters."""
    if text != text.strip() or not text:
        raise ValueError("must not be blank, or begin or end with white space")
    if not text.isprintable() or _INVISIBLE.search(text):
        raise ValueError("has a control, invisible or unassigned character")
    return text


def only_printable(text: str) -> str:
    """Reject line breaks and other control characters."""
    if not text.isprintable():
        raise ValueError("has a line break or another control character")
    return text


def _without_password(link: str) -> str:
    """Reject a link with a user name or a password, which would be published."""
    if "@" in link.partition("://")[2].partition("/")[0]:
        raise ValueError("has a user name or a password")
    return link


def _not_a_boolean(value: object) -> object:
    """Reject true, which Python takes for 1."""
    if isinstance(value, bool):
        raise ValueError("must be a number")
    return value


Line = Annotated[str, StringConstraints(max_length=200), AfterValidator(_plain)]
Name = Annotated[str, StringConstraints(max_length=100), AfterValidator(_plain)]
Text = Annotated[str, StringConstraints(min_length=1, max_length=4000)]
Link = Annotated[
    str, StringConstraints(max_length=500, pattern=r"^https?://[!-~]+$"), AfterValidator(_without_password)
]
Version = Annotated[Literal[1], BeforeValidator(_not_a_boolean)]


class Closed(BaseModel):
    """Strict model without unknown fields."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, allow_inf_nan=False)


class System(Closed):
    """The system that generated the responses."""

    type: SystemType
    model_id: Line | None = Field(default=None, description="Hub id or the provider's model name")
    revision: Line | None = Field(default=None, description="commit of the weights, or version of the API")
    parameters: Annotated[int, Field(gt=0, lt=10**16)] | None = None
    open_weights: bool | None = None
    licence: Line | None = None


class Generation(Closed):
    """How the responses were sampled. Unknown values are null, never guessed."""

    k: Annotated[int, Field(ge=1, le=MAX_K)] = Field(description="responses for each prompt")
    mode: Mode | None = None
    temperature: Annotated[float, Field(ge=0, lt=10**3)] | None = None
    top_k: Annotated[int, Field(gt=0, lt=10**9)] | None = None
    top_p: Annotated[float, Field(gt=0, le=1)] | None = None
    max_tokens: Annotated[int, Field(gt=0, lt=10**9)] | None = None
    seed: Annotated[int, Field(ge=-(2**128), lt=2**128)] | None = None
    chat_template: bool | None = Field(default=None, description="whether the model's chat template was used")
    prompt_template: Text | None = Field(default=None, description="text around {prompt}, without a chat template")
    system_prompt: Text | None = None
    thinking: bool | None = Field(default=None, description="argument of the chat template; null: its default")
    stop: tuple[Text, ...] = Field(default=(), max_length=10, description="texts that end a response")
    software: Line | None = Field(default=None, description="software that sampled the responses, with versions")


class Submitter(Closed):
    """The submitter, and when the responses were generated."""

    name: Name
    date: datetime.date | None = Field(
        default=None, ge=datetime.date(1950, 1, 1), description="when the responses were generated"
    )
    contact: Line | None = None
    links: tuple[Link, ...] = Field(default=(), max_length=10)


class Origin(Closed):
    """The file that the submission was imported from, and the source of its reported values."""

    format: Literal[Format, "derived"]
    sha256: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")] | None = None
    reported: Line | None = Field(default=None, description="source of the reported partition and scores")
    cleaned: tuple[Line, ...] = Field(default=(), max_length=10, description="traces of tools removed from responses")


class Manifest(Closed):
    """Everything known about a submission except its texts: `manifest.json`."""

    schema_version: Version = 1
    name: Name
    suite: Annotated[str, StringConstraints(max_length=100, pattern=r"^[a-z0-9][a-z0-9-]*$")]
    system: System
    generation: Generation
    submitter: Submitter
    origin: Origin | None = None
    notes: Annotated[str, StringConstraints(max_length=2000)] | None = None


@dataclass(frozen=True, slots=True)
class Reported:
    """Values of one version of a metric, reported with one prompt's responses."""

    partition: tuple[int, ...]  # a class label for each response: 0, 1, 2, … in the order of first use
    # Quality (1 to 10) of each class's first response, 0 for the others; None if not given.
    generation_scores: tuple[float, ...] | None
    distinct: int
    utility: float | None  # utility as given; None if not given
    version: str = "1.0"  # version of NoveltyBench's metric that the values are of
    unscored: bool = False  # whether the judge refused to score the responses: then no mean counts the prompt

    def first(self, k: int) -> "Reported":
        """Return the values of the first k responses; the utility is known only for all responses."""
        return replace(
            self,
            partition=self.partition[:k],
            generation_scores=None if self.generation_scores is None else self.generation_scores[:k],
            distinct=len(set(self.partition[:k])),
            utility=self.utility if k >= len(self.partition) else None,
        )


@dataclass(frozen=True, slots=True)
class Row:
    """One prompt's responses."""

    number: int  # number of the row in its file, from 1
    prompt_id: str
    prompt: str | None  # text of the prompt; None if the source did not give it
    responses: tuple[str, ...]  # responses in the order in which they were sampled
    # Why each response ended, such as `stop` or `length`; None if not given.
    finish_reasons: tuple[str | None, ...] | None = None

    def first(self, k: int) -> "Row":
        """Return the row with its first k responses."""
        reasons = None if self.finish_reasons is None else self.finish_reasons[:k]
        return Row(self.number, self.prompt_id, self.prompt, self.responses[:k], reasons)


def submission_id(manifest: Manifest, rows_digest: str) -> str:
    """Return the submission's id: 16 hex digits from a hash of the manifest and of the digest of its rows.

    Fields with their default values are not hashed, so that a new field does not change existing ids.
    """
    return content_id([manifest.model_dump(mode="json", exclude_defaults=True), rows_digest])
