"""Check submissions: one function per check, all listed in `CHECKS`.

An *error* rejects the submission. A *warning* is only shown and counted; blank responses, for example, are data.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from datasets_build.schema import Suite
from divbench.core.errors import counted
from divbench.core.files import content_id
from submissions.checking.artefacts import ArtefactCounts
from submissions.checking.prompts import ID_HINT, MAX_PROMPTS_BYTES, OWN, SIZES_HINT, id_problem, text_problem
from submissions.checking.response_kinds import READS_ENGLISH, is_blank, is_foreign_set, is_placeholder
from submissions.schema import GENERATIONS, Manifest, Reported, Row
from submissions.storage.submission_folders import GENERATIONS_FILE, MANIFEST_FILE, REPORTED_FILE
from submissions.untrusted.findings import Findings, Problem

MAX_RESPONSE_BYTES = 256 * 2**10
MAX_REASON_LETTERS = 200
REPLACEMENT = "\ufffd"  # a decoder writes it in place of a character that it cannot decode
# Access tokens of common services, by their prefixes. Manifests are published unchanged, so they must hold none.
_TOKEN = re.compile(r"\b(?:hf_|sk-|gh[oprsu]_|github_pat_|xox[a-z]-|AKIA)[A-Za-z0-9_-]{16,}")
_VERSION = re.compile(r"\d{1,4}(\.\d{1,4}){0,3}", re.ASCII)
_CONTROL = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f]")  # other than white space


@dataclass(frozen=True, slots=True)
class Context:
    """The manifest and suite that rows are compared with."""

    manifest: Manifest | None  # manifest; None if it could not be read, and then checks that need it report nothing
    suite: Suite | None  # suite of the manifest; None if it is unknown or the submission has its own prompts
    rows: int  # number of rows that the file declares

    @property
    def own(self) -> bool:
        """Whether the submission has its own prompts; its rows must then state all of them."""
        return self.manifest is not None and self.manifest.suite == OWN


@dataclass(slots=True)
class SeenRows:
    """Record of the rows read so far."""

    keep_texts: bool = False  # whether to fill `texts`
    rows: int = 0  # number of rows, including unreadable ones
    prompt_bytes: int = 0  # size of the prompts' texts in UTF-8
    first_row: dict[str, int] = field(default_factory=dict)  # first row of each prompt id
    # First row of each list of responses, by the list's digest.
    same_responses: dict[str, int] = field(default_factory=dict)
    broken: set[str | None] = field(default_factory=set)  # prompt ids of rows that lack a value
    last_position: int = -1  # position in the suite of the latest row
    in_suite_order: bool = True  # whether the positions of all rows so far ascend
    # Rows without their responses, if the submission has its own prompts.
    own_prompts: list[Row] = field(default_factory=list)
    # Responses of each prompt, to compare with a reported partition.
    texts: dict[str, tuple[str, ...]] = field(default_factory=dict)
    foreign: int = 0  # number of rows whose texts are in a language other than English
    responses: int = 0
    truncated: int = 0  # number of responses that ended at the limit on tokens
    artefacts: ArtefactCounts = field(default_factory=ArtefactCounts)
    reported_rows: Counter[tuple[str, str]] = field(default_factory=Counter)  # by prompt id and version

    def add(self, row: Row, context: Context) -> None:
        """Record a row after it was checked."""
        self.prompt_bytes += len((row.prompt or "").encode())
        if context.own and self.prompt_bytes <= MAX_PROMPTS_BYTES:
            self.own_prompts.append(replace(row, responses=(), finish_reasons=None))
        if context.suite is not None:
            position = context.suite.position.get(row.prompt_id, -1)
            self.in_suite_order &= position > self.last_position
            self.last_position = position
        self.first_row.setdefault(row.prompt_id, row.number)
        self.foreign += is_foreign_set(row.prompt or "", row.responses)
        self.artefacts.add(row.number, row.prompt or "", row.responses)
        self.responses += len(row.responses)
        self.truncated += (row.finish_reasons or ()).count("length")
        if self.keep_texts:
            self.texts[row.prompt_id] = row.responses

    def check_reported(self, number: int, prompt_id: str, reported: Reported) -> Iterator[Problem]:
        """Compare one prompt's reported values with its responses."""
        key = prompt_id, reported.version
        self.reported_rows[key] += 1
        if prompt_id not in self.texts or self.reported_rows[key] > 1:
            message = f"prompt id {prompt_id!r} has no responses, or is repeated"
            yield _wrong_report(number, "prompt_id", message, "write one row for each prompt and version")
            return
        yield from reported_problems(number, reported, self.texts[prompt_id])


@dataclass(frozen=True, slots=True)
class Check:
    """One check, of each row, of all rows together, or both."""

    name: str
    about: str  # what the check requires or reports
    row: Callable[[Row, Context, SeenRows], Iterator[Problem]] | None = None  # function that checks one row
    # Function that checks the record of all rows after the last one.
    whole: Callable[[Context, SeenRows], Iterator[Problem]] | None = None


def _error(check: str, row: int | None, field: str, message: str, hint: str, file: str = GENERATIONS_FILE) -> Problem:
    return Problem(check, "error", file, row, field, message, hint)


def _warning(check: str, row: int, field: str, message: str, hint: str) -> Problem:
    return Problem(check, "warning", GENERATIONS_FILE, row, field, message, hint)


def _wrong_report(
    row: int, field: str, message: str, hint: str, severity: Literal["error", "warning"] = "error"
) -> Problem:
    return Problem("reported", severity, REPORTED_FILE, row, field, message, hint)


_OWN_NUMBER = re.compile(r"p\d{4,}")  # as import numbers own prompts


def has_all_values(number: int, raw: dict[str, Any], findings: Findings) -> bool:
    """Whether a row has all its values: no null prompt id, list or response."""
    complete = raw.keys() >= set(GENERATIONS.names)  # a value that is not UTF-8 is absent, and already reported
    for name in ("prompt_id", "responses"):
        if name in raw and raw[name] is None:
            findings.add(_error("nulls", number, name, "null", "write the value"))
            complete = False
    for position, response in enumerate(raw.get("responses") or ()):
        if response is None:
            hint = 'an empty response is the empty string ""'
            findings.add(_error("nulls", number, f"responses[{position}]", "null response", hint))
            complete = False
    return complete


def known_prompt(row: Row, context: Context, seen: SeenRows) -> Iterator[Problem]:
    """Check that the prompt id is one of the suite (or valid for an own prompt) and occurs once."""
    if context.own and (fault := id_problem(row.prompt_id)):
        yield _error("prompt_ids", row.number, "prompt_id", fault, ID_HINT)
    if context.suite is not None and row.prompt_id not in context.suite.by_id:
        message = f"{row.prompt_id!r} is not a prompt id of {context.suite.name}"
        hint = f"its ids range from {context.suite.prompts[0].prompt_id} to {context.suite.prompts[-1].prompt_id}"
        yield _error("prompt_ids", row.number, "prompt_id", message, hint)
    if row.prompt_id in seen.first_row:
        is_numbered = context.own and _OWN_NUMBER.fullmatch(row.prompt_id)  # such an id is not in the file
        name = repr(row.prompt[:60]) if is_numbered and row.prompt else repr(row.prompt_id)
        message = f"{name} already appears in row {seen.first_row[row.prompt_id]}"
        yield _error("prompt_ids", row.number, "prompt_id", message, "write one row for each prompt")


def all_prompts_present(context: Context, seen: SeenRows) -> Iterator[Problem]:
    """Check that every prompt of the suite has a row, or that there are own prompts and not too many."""
    if context.own and context.rows == 0:
        yield _error("prompt_ids", None, "prompt_id", "there are no rows", "write one row for each prompt")
    if context.own and seen.prompt_bytes > MAX_PROMPTS_BYTES:
        yield _error("sizes", None, "prompt", f"{seen.prompt_bytes:,} bytes of prompts", SIZES_HINT)
    if context.suite is None or seen.rows < context.rows:
        return  # the remaining rows of a truncated file are unknown
    ids = (prompt.prompt_id for prompt in context.suite.prompts)
    missing = [name for name in ids if name not in seen.first_row and name not in seen.broken]
    if missing:
        shown = ", ".join(missing[:5]) + (", …" if len(missing) > 5 else "")
        message = f"no responses to {len(missing)} of {counted(len(context.suite.prompts), 'prompt')}: {shown}"
        hint = "give responses to every prompt of the suite, or import these as your own prompts: --suite own"
        yield _error("prompt_ids", None, "prompt_id", message, hint)


def same_prompt_text(row: Row, context: Context, seen: SeenRows) -> Iterator[Problem]:
    """Check that a prompt's text, if given, equals the suite's; an own prompt must have a text."""
    if context.own and (fault := text_problem(row.prompt)):
        yield _error("prompt_text", row.number, "prompt", *fault)
    known = context.suite.by_id.get(row.prompt_id) if context.suite else None
    if known is not None and row.prompt is not None and row.prompt != known.prompt:
        letters = enumerate(zip(row.prompt, known.prompt, strict=False))
        same = next((i for i, (a, b) in letters if a != b), min(len(row.prompt), len(known.prompt)))
        message = f"the text of {row.prompt_id} differs from the suite's at character {same + 1}"
        rest = known.prompt[same : same + 30]
        hint = f"the suite's text continues {rest!r}; responses to another prompt cannot be compared"
        yield _error("prompt_text", row.number, "prompt", message, hint)


def no_repeated_texts(context: Context, seen: SeenRows) -> Iterator[Problem]:
    """Warn about own prompts with the same text: their ids may be those of rows, over which responses are split."""
    texts = Counter({row.prompt_id: (row.prompt or "").strip() for row in seen.own_prompts}.values())
    repeated = sum(count for text, count in texts.items() if text and count > 1)
    if repeated:
        message = f"{repeated} prompts share their texts with others, under different ids"
        hint = "if the ids number the rows, leave them out: rows with one text then belong to one prompt"
        yield Problem("prompt_text", "warning", GENERATIONS_FILE, None, "prompt_id", message, hint)


def response_count(row: Row, context: Context, seen: SeenRows) -> Iterator[Problem]:
    """Check that each prompt has k responses, and a finish reason for each of them or for none."""
    count = len(row.responses)
    if context.manifest is not None and count != context.manifest.generation.k:
        k = context.manifest.generation.k
        message = f"{counted(count, 'response')}, but k is {k}"
        fewest = min(count, k)
        other = f", or keep only the first {fewest} of each: divbench import --k {fewest}" if fewest else ""
        hint = f"give k responses to every prompt{other}"
        yield _error("k", row.number, "responses", message, hint)
    if row.finish_reasons is not None and len(row.finish_reasons) != count:
        message = f"{counted(len(row.finish_reasons), 'finish reason')} for {counted(count, 'response')}"
        yield _error("k", row.number, "finish_reasons", message, "give one per response, or null")


def several_responses(context: Context, seen: SeenRows) -> Iterator[Problem]:
    """Warn about one response per prompt, which has no diversity."""
    if context.manifest is not None and context.manifest.generation.k == 1:
        message = "k is 1: one response to a prompt has no diversity"
        hint = "sample at least two responses to each prompt"
        yield Problem("k", "warning", GENERATIONS_FILE, None, "responses", message, hint)


def traces(context: Context, seen: SeenRows) -> Iterator[Problem]:
    """Warn about traces of tools in responses, such as thinking text and control tokens."""
    for row, message, hint in seen.artefacts.sentences():
        yield _warning("artefacts", row, "responses", message, hint)


def blanks(row: Row, context: Context, seen: SeenRows) -> Iterator[Problem]:
    """Warn about blank responses: they are kept and counted, but not scored."""
    hint = "it is counted separately and never scored as novel"
    for position, text in enumerate(row.responses):
        if is_blank(text):
            yield _warning("blanks", row.number, f"responses[{position}]", "blank", hint)


def placeholders(row: Row, context: Context, seen: SeenRows) -> Iterator[Problem]:
    """Warn about placeholders for missing responses: they are kept and counted, but not scored."""
    hint = "resample it, or leave it: it is counted separately and never scored as novel"
    for position, text in enumerate(row.responses):
        if is_placeholder(text):
            message = f"{text.strip()!r} is a placeholder for a missing response"
            yield _warning("placeholders", row.number, f"responses[{position}]", message, hint)


def encoding(row: Row, context: Context, seen: SeenRows) -> Iterator[Problem]:
    """Warn about characters lost in decoding, and control characters."""
    for position, text in enumerate(row.responses):
        if REPLACEMENT in text:
            message = "contains U+FFFD: a character was lost in decoding"
            hint = "decode the model's bytes as UTF-8, the whole response at once"
            yield _warning("encoding", row.number, f"responses[{position}]", message, hint)
        if _CONTROL.search(text):
            message, hint = "contains a control character", "remove it unless the system wrote it"
            yield _warning("encoding", row.number, f"responses[{position}]", message, hint)


def sizes(row: Row, context: Context, seen: SeenRows) -> Iterator[Problem]:
    """Check that no response or finish reason exceeds its limit."""
    for position, reason in enumerate(row.finish_reasons or ()):
        if len(reason or "") > MAX_REASON_LETTERS:
            message = f"{len(reason or ''):,} characters; at most {MAX_REASON_LETTERS} are allowed"
            hint = "write a word such as stop or length"
            yield _error("sizes", row.number, f"finish_reasons[{position}]", message, hint)
    for position, text in enumerate(row.responses):
        if len(text) > MAX_RESPONSE_BYTES // 4 and len(text.encode()) > MAX_RESPONSE_BYTES:
            message = f"{len(text.encode()):,} bytes; at most {MAX_RESPONSE_BYTES:,} are allowed"
            yield _error("sizes", row.number, f"responses[{position}]", message, "lower max_tokens")


def duplicates(row: Row, context: Context, seen: SeenRows) -> Iterator[Problem]:
    """Warn about two prompts with the same responses: probably a mistake. (Repeats within one prompt are data.)"""
    digest = content_id(list(row.responses))
    first = seen.same_responses.setdefault(digest, row.number)
    if first != row.number and not all(map(is_blank, row.responses)):
        message = f"the same responses as in row {first}"
        yield _warning("duplicates", row.number, "responses", message, "check whether rows were mixed up")


def english(context: Context, seen: SeenRows) -> Iterator[Problem]:
    """Warn where most texts are in a language other than English, which most scores depend on."""
    if 2 * seen.foreign > seen.rows:
        message = (
            f"{seen.foreign} of {counted(seen.rows, 'prompt')} or their responses are in a language other than English"
        )
        hint = f"{READS_ENGLISH}: docs/questions.md says what to trust and which models to choose"
        yield Problem("language", "warning", GENERATIONS_FILE, None, "responses", message, hint)


def endings(context: Context, seen: SeenRows) -> Iterator[Problem]:
    """Warn where so many responses are truncated that counts of classes tell their length rather than diversity."""
    if 10 * seen.truncated > seen.responses:
        message = f"{seen.truncated:,} of {counted(seen.responses, 'response')} are truncated (finish reason length)"
        hint = "a class of truncated responses alone does not count as different: sample again with a higher max_tokens"
        yield Problem("truncated", "warning", GENERATIONS_FILE, None, "finish_reasons", message, hint)


def reported_problems(number: int, reported: Reported, responses: tuple[str, ...]) -> Iterator[Problem]:
    """Check that reported values fit the responses and one another."""
    partition, classes = reported.partition, len(set(reported.partition))
    if len(partition) != len(responses):
        message = f"{counted(len(partition), 'label')} for {counted(len(responses), 'response')}"
        yield _wrong_report(number, "partition", message, "give one label per response")
        return
    if not is_canonical(partition):
        hint = "number the classes 0, 1, 2, … in the order of their first response"
        yield _wrong_report(number, "partition", f"labels {list(partition)}", hint)
    elif reported.distinct != classes:
        message = f"distinct is {reported.distinct}, but the partition has {counted(classes, 'class', 'classes')}"
        yield _wrong_report(number, "distinct", message, "distinct is the number of classes")
    if not _VERSION.fullmatch(reported.version):
        message = f"{reported.version[:40]!r} is not a version"
        yield _wrong_report(number, "version", message, "write one such as 1.1")
    if reported.unscored and reported.generation_scores is not None:
        message = "the row has scores, but is marked as unscored"
        yield _wrong_report(number, "generation_scores", message, "leave out the scores or the mark")
    if reported.utility is not None and not 0 <= reported.utility <= 10:
        message = f"{reported.utility} is not between 0 and 10"
        yield _wrong_report(number, "utility", message, "compute it from the scores")
    yield from _scores_problems(number, reported)
    if len(set(zip(responses, partition, strict=True))) > len(set(responses)):
        message = "identical responses are in different classes"
        yield _wrong_report(number, "partition", message, "it is shown as reported, without correction", "warning")


def _scores_problems(number: int, reported: Reported) -> Iterator[Problem]:
    scores = reported.generation_scores
    if scores is not None and len(scores) != len(reported.partition):
        message = f"{counted(len(scores), 'score')} for {counted(len(reported.partition), 'response')}"
        yield _wrong_report(number, "generation_scores", message, "give one score per response")
        return
    for position, score in enumerate(scores or ()):
        is_first = reported.partition.index(reported.partition[position]) == position
        if not (1 <= score <= 10 if is_first else score == 0):
            message = f"{score}; the first response of a class scores 1 to 10, the others 0"
            hint = "give a score to the first response of each class"
            yield _wrong_report(number, f"generation_scores[{position}]", message, hint)


def is_canonical(partition: tuple[int, ...]) -> bool:
    """Whether labels are 0, 1, 2, … in the order of first use.

    >>> is_canonical((0, 0, 1, 0, 2)), is_canonical((1, 0)), is_canonical((0, 2))
    (True, False, False)
    """
    labels = list(dict.fromkeys(partition))
    return labels == list(range(len(labels)))


def no_access_tokens(context: Context, seen: SeenRows) -> Iterator[Problem]:
    """Check that no text of the manifest looks like an access token. The message does not repeat the token."""
    if context.manifest is None:
        return
    for name, text in _texts(context.manifest.model_dump(mode="json"), ""):
        if _TOKEN.search(text):
            message = "contains what looks like an access token"
            hint = "remove and revoke it: manifests are published unchanged"
            yield _error("secrets", None, name, message, hint, MANIFEST_FILE)


def _texts(value: Any, name: str) -> Iterator[tuple[str, str]]:
    """Yield all strings in a JSON value, each with its field name."""
    if isinstance(value, str):
        yield name, value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _texts(item, f"{name}.{key}" if name else key)
    elif isinstance(value, list):
        for position, item in enumerate(value):
            yield from _texts(item, f"{name}[{position}]")


CHECKS: tuple[Check, ...] = (
    Check(
        "prompt_ids",
        "every prompt of the suite occurs once and no other does; ids of own prompts are valid",
        known_prompt,
        all_prompts_present,
    ),
    Check(
        "prompt_text",
        "prompt texts, if given, equal the suite's; own prompts have a text, each its own (warning)",
        same_prompt_text,
        no_repeated_texts,
    ),
    Check(
        "k",
        "every prompt has the number of responses that the manifest states, and more than one (warning)",
        response_count,
        several_responses,
    ),
    Check("artefacts", "thinking text, control tokens and other traces of tools in responses (warning)", whole=traces),
    Check("blanks", "blank responses (warning)", blanks),
    Check("placeholders", "[Blocked], [refused], [empty] and the like (warning)", placeholders),
    Check("encoding", "lost characters and control characters (warning)", encoding),
    Check("sizes", "no response or finish reason exceeds its limit", sizes),
    Check("secrets", "no access token is in the manifest", whole=no_access_tokens),
    Check("language", "most texts are in English (warning)", whole=english),
    Check("truncated", "at most a tenth of the responses are truncated (warning)", whole=endings),
    Check("duplicates", "two prompts with the same responses (warning)", duplicates),
)
