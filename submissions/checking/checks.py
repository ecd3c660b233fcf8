"""The checks of a submission, one function each; `CHECKS` names them all.

An *error* rejects the submission. A *warning* is shown and counted: blank responses, for example, are data.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from datasets_build.files import content_id
from datasets_build.schema import Suite
from submissions.checking.prompts import ID_HINT, MAX_PROMPTS_BYTES, OWN, SIZES_HINT, id_problem, text_problem
from submissions.checking.response_kinds import is_blank, is_placeholder
from submissions.schema import GENERATIONS, Manifest, Problem, Reported, Row
from submissions.storage.submission_folders import GENERATIONS_FILE, MANIFEST_FILE, REPORTED_FILE
from submissions.untrusted.findings import Findings

MAX_RESPONSE_BYTES = 256 * 2**10
MAX_REASON_LETTERS = 200
REPLACEMENT = "\ufffd"  # what a decoder puts where it lost a letter
# What services give out as tokens, by their beginnings: a manifest is published as it is.
_TOKEN = re.compile(r"\b(?:hf_|sk-|gh[oprsu]_|github_pat_|xox[a-z]-|AKIA)[A-Za-z0-9_-]{16,}")
_CONTROL = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f]")  # but for white space


@dataclass(frozen=True, slots=True)
class Context:
    """What a check may compare with.

    Attributes:
        manifest: None where it could not be read; checks that need it then say nothing.
        suite: None where it is not known, and of own prompts.
        rows: The number of rows that the file claims.
    """

    manifest: Manifest | None
    suite: Suite | None
    rows: int

    @property
    def own(self) -> bool:
        """Whether the submission has prompts of its own: then its rows must state all of them."""
        return self.manifest is not None and self.manifest.suite == OWN


@dataclass(slots=True)
class SeenRows:
    """What is remembered of the rows that have passed by.

    Attributes:
        keep_texts: Whether `texts` is filled.
        rows: Number of rows, including those that could not be read.
        prompt_bytes: Size of the prompts' texts in UTF-8.
        first_row: The row in which each prompt id stood first.
        same_responses: The row in which each list of responses stood first, by its digest.
        broken: The prompt ids of rows that could not be taken.
        last_position: Position in the suite of the latest row.
        in_suite_order: Whether the positions of all rows so far ascend.
        own_prompts: Rows without responses, where the submission has prompts of its own.
        texts: Responses of each prompt, to compare with a reported partition.
    """

    keep_texts: bool = False
    rows: int = 0
    prompt_bytes: int = 0
    first_row: dict[str, int] = field(default_factory=dict)
    same_responses: dict[str, int] = field(default_factory=dict)
    broken: set[str | None] = field(default_factory=set)
    last_position: int = -1
    in_suite_order: bool = True
    own_prompts: list[Row] = field(default_factory=list)
    texts: dict[str, tuple[str, ...]] = field(default_factory=dict)
    reported_rows: Counter[str] = field(default_factory=Counter)

    def add(self, row: Row, context: Context) -> None:
        """Remember one row, after the checks have seen it."""
        self.prompt_bytes += len((row.prompt or "").encode())
        if context.own and self.prompt_bytes <= MAX_PROMPTS_BYTES:
            self.own_prompts.append(replace(row, responses=(), finish_reasons=None))
        if context.suite is not None:
            position = context.suite.position.get(row.prompt_id, -1)
            self.in_suite_order &= position > self.last_position
            self.last_position = position
        self.first_row.setdefault(row.prompt_id, row.number)
        if self.keep_texts:
            self.texts[row.prompt_id] = row.responses

    def check_reported(self, number: int, prompt_id: str, reported: Reported) -> Iterator[Problem]:
        """Hold one prompt's reported values against its responses."""
        self.reported_rows[prompt_id] += 1
        if prompt_id not in self.texts or self.reported_rows[prompt_id] > 1:
            message = f"prompt id {prompt_id!r} has no responses, or is repeated"
            yield _problem("reported", REPORTED_FILE, number, "prompt_id", message, "write one row for each prompt")
            return
        yield from reported_problems(number, reported, self.texts[prompt_id])


@dataclass(frozen=True, slots=True)
class Check:
    """One thing to look for.

    Attributes:
        whole: Looks at the tally when all rows have passed.
    """

    name: str
    about: str
    row: Callable[[Row, Context, SeenRows], Iterator[Problem]] | None = None
    whole: Callable[[Context, SeenRows], Iterator[Problem]] | None = None


def _problem(check: str, file: str, row: int | None, where: str, message: str, hint: str) -> Problem:
    return Problem(check, "error", file, row, where, message, hint)


def _warning(check: str, row: int | None, where: str, message: str, hint: str) -> Problem:
    return Problem(check, "warning", GENERATIONS_FILE, row, where, message, hint)


def has_all_values(number: int, raw: dict[str, Any], findings: Findings) -> bool:
    """Whether a row has its values: no null prompt id, no null list, no null response."""
    whole = raw.keys() >= set(GENERATIONS.names)  # what is not UTF-8 is not there, and is among the findings
    for name in ("prompt_id", "responses"):
        if name in raw and raw[name] is None:
            findings.add(_problem("nulls", GENERATIONS_FILE, number, name, "null", "write the value"))
            whole = False
    for place, response in enumerate(raw.get("responses") or ()):
        if response is None:
            hint = 'an empty response is the empty string ""'
            findings.add(_problem("nulls", GENERATIONS_FILE, number, f"responses[{place}]", "null response", hint))
            whole = False
    return whole


def known_prompt(row: Row, context: Context, tally: SeenRows) -> Iterator[Problem]:
    """The prompt id is the suite's, or one that may be given to an own prompt, and stands once."""
    if context.own and (fault := id_problem(row.prompt_id)):
        yield _problem("prompt_ids", GENERATIONS_FILE, row.number, "prompt_id", fault, ID_HINT)
    if context.suite is not None and row.prompt_id not in context.suite.by_id:
        message = f"{row.prompt_id!r} is not a prompt id of {context.suite.name}"
        hint = f"its ids range from {context.suite.prompts[0].prompt_id} to {context.suite.prompts[-1].prompt_id}"
        yield _problem("prompt_ids", GENERATIONS_FILE, row.number, "prompt_id", message, hint)
    if row.prompt_id in tally.first_row:
        message = f"{row.prompt_id!r} already appears in row {tally.first_row[row.prompt_id]}"
        yield _problem(
            "prompt_ids", GENERATIONS_FILE, row.number, "prompt_id", message, "write one row for each prompt"
        )


def all_prompts_present(context: Context, tally: SeenRows) -> Iterator[Problem]:
    """Every prompt of the suite has a row; there are own prompts, and not too many."""
    if context.own and context.rows == 0:
        yield _problem(
            "prompt_ids", GENERATIONS_FILE, None, "prompt_id", "there are no rows", "write one row for each prompt"
        )
    if context.own and tally.prompt_bytes > MAX_PROMPTS_BYTES:
        message = f"{tally.prompt_bytes:,} bytes of prompts"
        yield _problem("sizes", GENERATIONS_FILE, None, "prompt", message, SIZES_HINT)
    if context.suite is None or tally.rows < context.rows:
        return  # a file that broke off says nothing of the rest
    missing = [p.prompt_id for p in context.suite.prompts if p.prompt_id not in tally.first_row]
    missing = [name for name in missing if name not in tally.broken]
    if missing:
        shown = ", ".join(missing[:5]) + (", …" if len(missing) > 5 else "")
        message = f"{len(missing)} of {len(context.suite.prompts)} prompts are missing: {shown}"
        yield _problem(
            "prompt_ids", GENERATIONS_FILE, None, "prompt_id", message, "give responses to every prompt of the suite"
        )


def same_prompt_text(row: Row, context: Context, tally: SeenRows) -> Iterator[Problem]:
    """The prompt's text, where given, is the suite's to the letter; that of an own prompt is given."""
    if context.own and (fault := text_problem(row.prompt)):
        yield _problem("prompt_text", GENERATIONS_FILE, row.number, "prompt", *fault)
    known = context.suite.by_id.get(row.prompt_id) if context.suite else None
    if known is not None and row.prompt is not None and row.prompt != known.prompt:
        place = next((i for i, (a, b) in enumerate(zip(row.prompt, known.prompt, strict=False)) if a != b), None)
        place = min(len(row.prompt), len(known.prompt)) if place is None else place
        message = f"the text of {row.prompt_id} differs from the suite's at character {place + 1}"
        goes_on = known.prompt[place : place + 30]
        hint = f"the suite's text continues {goes_on!r}; responses to another prompt cannot be compared"
        yield _problem("prompt_text", GENERATIONS_FILE, row.number, "prompt", message, hint)


def response_count(row: Row, context: Context, tally: SeenRows) -> Iterator[Problem]:
    """Each prompt has as many responses as the manifest says, and a finish reason for each or none."""
    found = len(row.responses)
    if context.manifest is not None and found != context.manifest.generation.k:
        message = f"{found} responses, but generation.k in {MANIFEST_FILE} is {context.manifest.generation.k}"
        yield _problem("k", GENERATIONS_FILE, row.number, "responses", message, "give k responses to every prompt")
    if row.finish_reasons is not None and len(row.finish_reasons) != found:
        message = f"{len(row.finish_reasons)} finish reasons for {found} responses"
        yield _problem("k", GENERATIONS_FILE, row.number, "finish_reasons", message, "give one per response, or null")


def blanks(row: Row, context: Context, tally: SeenRows) -> Iterator[Problem]:
    """Blank responses are kept, counted and not scored."""
    for place, text in enumerate(row.responses):
        if is_blank(text):
            yield _warning(
                "blanks",
                row.number,
                f"responses[{place}]",
                "blank",
                "it is counted separately and never scored as novel",
            )


def placeholders(row: Row, context: Context, tally: SeenRows) -> Iterator[Problem]:
    """Placeholders for a missing response are kept, counted and not scored."""
    for place, text in enumerate(row.responses):
        if is_placeholder(text):
            message = f"{text.strip()!r} stands for a missing response"
            hint = "resample it, or leave it: it is counted separately and never scored as novel"
            yield _warning("placeholders", row.number, f"responses[{place}]", message, hint)


def encoding(row: Row, context: Context, tally: SeenRows) -> Iterator[Problem]:
    """Letters lost in decoding, and control characters."""
    for place, text in enumerate(row.responses):
        if REPLACEMENT in text:
            hint = "decode the model's bytes as UTF-8, the whole response at once"
            yield _warning(
                "encoding", row.number, f"responses[{place}]", "contains U+FFFD: a character was lost in decoding", hint
            )
        if _CONTROL.search(text):
            hint = "remove it unless the system wrote it"
            yield _warning("encoding", row.number, f"responses[{place}]", "contains a control character", hint)


def sizes(row: Row, context: Context, tally: SeenRows) -> Iterator[Problem]:
    """No response is longer than the limit, and no finish reason is a text."""
    for place, reason in enumerate(row.finish_reasons or ()):
        if len(reason or "") > MAX_REASON_LETTERS:
            message = f"{len(reason or ''):,} letters; at most {MAX_REASON_LETTERS} are allowed"
            hint = "write a word such as stop or length"
            yield _problem("sizes", GENERATIONS_FILE, row.number, f"finish_reasons[{place}]", message, hint)
    for place, text in enumerate(row.responses):
        if len(text) > MAX_RESPONSE_BYTES // 4 and len(text.encode()) > MAX_RESPONSE_BYTES:
            message = f"{len(text.encode()):,} bytes; at most {MAX_RESPONSE_BYTES:,} are allowed"
            yield _problem("sizes", GENERATIONS_FILE, row.number, f"responses[{place}]", message, "lower max_tokens")


def duplicates(row: Row, context: Context, tally: SeenRows) -> Iterator[Problem]:
    """The same responses under two prompts are more likely a mistake than data. (Repeats within one are data.)"""
    digest = content_id(list(row.responses))
    first = tally.same_responses.setdefault(digest, row.number)
    if first != row.number and not all(map(is_blank, row.responses)):
        message = f"the same responses as in row {first}"
        yield _warning("duplicates", row.number, "responses", message, "check whether rows were mixed up")


def reported_problems(number: int, reported: Reported, responses: tuple[str, ...]) -> Iterator[Problem]:
    """Reported values fit the responses and one another."""
    found = reported.partition
    if len(found) != len(responses):
        message = f"{len(found)} labels for {len(responses)} responses"
        yield _problem("reported", REPORTED_FILE, number, "partition", message, "give one label per response")
        return
    if not is_canonical(found):
        hint = "number the classes 0, 1, 2, … in the order of their first response"
        yield _problem("reported", REPORTED_FILE, number, "partition", f"labels {list(found)}", hint)
    elif reported.distinct != len(set(found)):
        message = f"distinct is {reported.distinct}, but the partition has {len(set(found))} classes"
        yield _problem("reported", REPORTED_FILE, number, "distinct", message, "distinct is the number of classes")
    if reported.utility is not None and not 0 <= reported.utility <= 10:
        message = f"{reported.utility} is not between 0 and 10"
        yield _problem("reported", REPORTED_FILE, number, "utility", message, "compute it from the scores")
    yield from _scores_problems(number, reported)
    by_text: dict[str, set[int]] = {}
    for text, label in zip(responses, found, strict=True):
        by_text.setdefault(text, set()).add(label)
    if any(len(labels) > 1 for labels in by_text.values()):
        message = "identical responses are in different classes"
        yield Problem(
            "reported",
            "warning",
            REPORTED_FILE,
            number,
            "partition",
            message,
            "it is shown as reported, without correction",
        )


def _scores_problems(number: int, reported: Reported) -> Iterator[Problem]:
    scores = reported.generation_scores
    if scores is None:
        return
    if len(scores) != len(reported.partition):
        message = f"{len(scores)} scores for {len(reported.partition)} responses"
        yield _problem("reported", REPORTED_FILE, number, "generation_scores", message, "give one score per response")
        return
    seen: set[int] = set()
    for place, (label, score) in enumerate(zip(reported.partition, scores, strict=True)):
        head = label not in seen
        seen.add(label)
        if not (1 <= score <= 10 if head else score == 0):
            message = f"{score}; the first response of a class scores 1 to 10, the others 0"
            where = f"generation_scores[{place}]"
            yield _problem(
                "reported", REPORTED_FILE, number, where, message, "give a score to the first response of each class"
            )


def is_canonical(partition: tuple[int, ...]) -> bool:
    """Whether labels are 0, 1, 2, … in the order of first use.

    >>> is_canonical((0, 0, 1, 0, 2)), is_canonical((1, 0)), is_canonical((0, 2))
    (True, False, False)
    """
    highest = -1
    for label in partition:
        if not 0 <= label <= highest + 1:
            return False
        highest = max(highest, label)
    return True


def no_access_tokens(context: Context, tally: SeenRows) -> Iterator[Problem]:
    """No text of the manifest contains what looks like an access token. The problem does not repeat it."""
    if context.manifest is None:
        return
    for name, text in _texts(context.manifest.model_dump(mode="json"), ""):
        if _TOKEN.search(text):
            hint = "remove and revoke it: manifests are published unchanged"
            yield _problem("secrets", MANIFEST_FILE, None, name, "contains what looks like an access token", hint)


def _texts(value: Any, name: str) -> Iterator[tuple[str, str]]:
    """All texts below a value of JSON, with the fields in which they stand."""
    if isinstance(value, str):
        yield name, value
    elif isinstance(value, dict):
        for key, each in value.items():
            yield from _texts(each, f"{name}.{key}" if name else key)
    elif isinstance(value, list):
        for place, each in enumerate(value):
            yield from _texts(each, f"{name}[{place}]")


CHECKS: tuple[Check, ...] = (
    Check(
        "prompt_ids",
        "every prompt of the suite, each once, and no other; ids of own prompts",
        known_prompt,
        all_prompts_present,
    ),
    Check(
        "prompt_text", "the prompt's text, where given, is the suite's; of own prompts it is given", same_prompt_text
    ),
    Check("k", "the manifest's number of responses for each prompt", response_count),
    Check("blanks", "blank responses (warning)", blanks),
    Check("placeholders", "[Blocked], [refused], [empty] and the like (warning)", placeholders),
    Check("encoding", "lost letters and control characters (warning)", encoding),
    Check("sizes", "no response or finish reason over the limit", sizes),
    Check("secrets", "no access token in the manifest", whole=no_access_tokens),
    Check("duplicates", "the same responses under two prompts (warning)", duplicates),
)
