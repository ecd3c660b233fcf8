"""Read samples of lm-evaluation-harness: its `samples_*.jsonl`, with one row for each document and filter.

The fields are defined in EleutherAI/lm-evaluation-harness, lm_eval/result_schema.py (`SampleResult`, at 293c9df), and
written by lm_eval/loggers/evaluation_tracker.py: `doc`, the row of the dataset; `doc_id`, its position there from 0;
`arguments`, the request and its parameters, as {"gen_args_0": {"arg_0": text, "arg_1": {"temperature": …}}}, in older
files as lists; `resps`, the texts, requests × repeats; `filtered_resps`, the texts kept by a filter; `filter`, its
name. The default filter keeps only the first text, so the responses are `resps`. A task with several filters writes
every document once for each of them, with the same `resps`.

Responses come from tasks with one request per document (`output_type: generate_until`) and `repeats: k`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from datasets_build.schema import Suite
from submissions.importing.imported import GENERATION_KWARGS, Fields, Imported
from submissions.schema import Row
from submissions.untrusted.findings import Findings
from submissions.untrusted.json_files import read_jsonl, strict_json

DOC_ID = "doc_id"
FIELDS = ("resps", "filtered_resps")  # fields with texts
MAX_LOOKED = 2 * 10**10  # characters of requests times prompts searched for in them: half a minute
MAX_WITHIN = 100  # prompts found in one text, of which those within others are dropped
MAX_STOPS = 10  # as in the manifest
MAX_STOP = 4000  # characters, as in the manifest
_OWN_ID = "prompt_id"  # field of the id in our own exports
_SHOWN = 10  # names in a message
_USED = {DOC_ID, "doc", "arguments", "filter"}


def read_lm_eval(
    path: Path, findings: Findings, suite: Suite | None = None, id_field: str | None = None, field: str = "resps"
) -> Imported:
    """Read a samples file, with the responses in one of `FIELDS`.

    `id_field` is the field of `doc` with the prompt's id, or `doc_id`: the position in the suite, from 0. By default it
    is `prompt_id` of `doc` if there is one; otherwise documents are identified by their texts, own prompts by `doc_id`.
    """
    imported = Imported(names={"responses": f"{field}[0]", "prompt": "doc.prompt"})
    prompts = _Prompts(suite, id_field)
    first: dict[str, tuple[Row, set[str | None]]] = {}
    for number, raw in read_jsonl(path, findings):
        fields = Fields(raw, path.name, number, findings)
        filter_name = fields.text("filter") if "filter" in raw else None
        request, sampling = _request(raw)
        imported.note(number, sampling, set())
        imported.unused_fields |= raw.keys() - _USED - {field}
        responses = _responses(fields, field)
        document = prompts.of(fields, request)
        if responses is None or document is None:
            continue
        row = Row(number, document.prompt_id, document.prompt, responses)
        if not _again(row, filter_name, first, fields, field):
            imported.rows.append(row)
            imported.names["prompt_id"] = document.field
    return imported


def _again(
    row: Row, name: str | None, first: dict[str, tuple[Row, set[str | None]]], fields: Fields, field: str
) -> bool:
    """Whether a row repeats a document for another filter; a repeat under the same filter is a separate row."""
    if row.prompt_id not in first:
        first[row.prompt_id] = row, {name}
        return False
    before, names = first[row.prompt_id]
    if name is not None and name in names:
        return False
    names.add(name)
    if row.responses != before.responses:
        message = f"different responses to {row.prompt_id} than in row {before.number}, under another filter"
        fields.problem(field, message, "keep only the rows of one filter")
    return True


def _responses(fields: Fields, field: str) -> tuple[str, ...] | None:
    """Return the responses to the one request, in `filtered_resps` those that the filter kept."""
    requests = fields.raw.get(field)
    if not isinstance(requests, list):
        fields.texts(field)  # reports that it is missing or not a list
        return None
    if len(requests) != 1:
        hint = "use a task of output_type generate_until, with one request per document"
        fields.problem(field, f"{len(requests)} requests, expected one", hint)
        return None
    place = f"{field}[0]"
    texts = [requests[0]] if field == "filtered_resps" and isinstance(requests[0], str) else requests[0]
    return Fields({place: texts}, fields.file, fields.number, fields.findings).texts(place)


def _request(raw: Mapping[str, Any]) -> tuple[str | None, dict[str, Any]]:
    """Return the text of the first request and its sampling parameters, as far as they are given."""
    arguments = raw.get("arguments")
    text, how = None, None
    if isinstance(arguments, dict) and isinstance(first := arguments.get("gen_args_0"), dict):
        text, how = first.get("arg_0"), first.get("arg_1")
    elif isinstance(arguments, list) and arguments and isinstance(arguments[0], list):
        text, how = (*arguments[0], None, None)[:2]
    if isinstance(text, list) and len(text) == 1:
        [text] = text  # chat messages, as a tuple of their JSON
    asked = _last_message(text) if isinstance(text, str) else None
    return asked, _sampling(how) if isinstance(how, dict) else {}


def _last_message(text: str) -> str:
    """Return the last user message of a chat as JSON; other texts unchanged."""
    if not text.startswith("[{"):
        return text
    try:
        messages = strict_json(text)
    except (ValueError, RecursionError):
        return text
    users = [each for each in messages if isinstance(each, dict) and each.get("role") == "user"]
    said = users[-1].get("content") if users else None
    return said if isinstance(said, str) else text


def _sampling(how: Mapping[str, Any]) -> dict[str, Any]:
    """Return sampling parameters by their fields in the file, without a temperature that greedy search ignores."""
    greedy = how.get("do_sample") is False and how.get("temperature") != 0
    told = {name: value for name, value in how.items() if not (greedy and name == "temperature")}
    if not _are_stops(stops := told.pop("until", None)):
        stops = None
    told |= {} if stops is None else {"until": tuple(stops)}
    return {f"{GENERATION_KWARGS}.{name}": value for name, value in told.items()}


def _are_stops(value: Any) -> bool:
    if not isinstance(value, list) or not 0 < len(value) <= MAX_STOPS:
        return False
    return all(isinstance(each, str) and 0 < len(each) <= MAX_STOP and _is_utf8(each) for each in value)


def _is_utf8(text: str) -> bool:
    return not any("\ud800" <= letter <= "\udfff" for letter in text)


@dataclass(frozen=True, slots=True)
class _Found:
    """The prompt of a document: its id, the field that identified it, and its text if it is given separately."""

    prompt_id: str
    field: str
    prompt: str | None


class _Prompts:
    """Finds the prompts of documents."""

    def __init__(self, suite: Suite | None, id_field: str | None) -> None:
        self.suite = suite
        self.id_field = id_field
        self._by_text: dict[str, list[str]] = {}
        self._looked: dict[str, set[str]] = {}
        self._left = MAX_LOOKED
        for prompt in suite.prompts if suite is not None else ():
            self._by_text.setdefault(prompt.prompt.strip(), []).append(prompt.prompt_id)

    def of(self, fields: Fields, asked: str | None) -> _Found | None:
        """Find the prompt of a row; if that fails, report it and return None."""
        doc = fields.raw.get("doc")
        if not isinstance(doc, dict):
            wrong = "the field is missing" if "doc" not in fields.raw else f"a JSON {type(doc).__name__}"
            fields.problem("doc", f"{wrong}, expected an object", "write samples with --log_samples")
            return None
        field = self.id_field or (_OWN_ID if _OWN_ID in doc else None)
        if field is not None and field != DOC_ID:
            return self._by_field(fields, doc, field, asked)
        if field == DOC_ID or self.suite is None:
            return self._by_place(fields, doc, asked)
        return self._by_text_of(fields, doc, asked, self.suite)

    def _by_field(self, fields: Fields, doc: Mapping[str, Any], field: str, asked: str | None) -> _Found | None:
        value = doc.get(field)
        if field not in doc:
            hint = f"doc has {_listed(doc)}: name one of them with --id-field, or {DOC_ID}" if doc else "doc is empty"
            _add(fields, f"doc.{field}", "the field is missing", hint)
            return None
        if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63:
            value = str(value)
        name = fields.checked_text(f"doc.{field}", value)
        return None if name is None else self._named(fields, name, f"doc.{field}", doc, asked)

    def _by_place(self, fields: Fields, doc: Mapping[str, Any], asked: str | None) -> _Found | None:
        place = fields.raw.get(DOC_ID)
        if not isinstance(place, int) or isinstance(place, bool) or not 0 <= place < 2**31:
            wrong = "the field is missing" if DOC_ID not in fields.raw else "not a whole number from 0"
            _add(fields, DOC_ID, wrong, "documents are counted from 0")
            return None
        if self.suite is None:
            return self._named(fields, str(place), DOC_ID, doc, asked)
        if place >= len(self.suite.prompts):
            message = f"{place}, but {self.suite.name} has {len(self.suite.prompts)} prompts"
            _add(fields, DOC_ID, message, "documents are counted from 0 in the suite's order")
            return None
        known = self.suite.prompts[place]
        found = self._named(fields, known.prompt_id, DOC_ID, doc, asked)
        # If the document does not give the prompt's text, which the checks compare, the request must contain it.
        if found is not None and found.prompt is None and asked is not None and known.prompt.strip() not in asked:
            message = f"{place} is {known.prompt_id} in {self.suite.name}, whose text is not in the request"
            _add(fields, DOC_ID, message, "leave out --id-field: documents are then identified by their texts")
            return None
        return found

    def _named(self, fields: Fields, name: str, field: str, doc: Mapping[str, Any], asked: str | None) -> _Found | None:
        """Add the text that `doc` gives separately; for own prompts, which need one, otherwise the request."""
        given, place = doc.get("prompt"), "doc.prompt"
        if not isinstance(given, str):
            given, place = (asked if self.suite is None else None), "arguments.gen_args_0.arg_0"
        if given is not None and fields.checked_text(place, given) is None:
            return None
        return _Found(name, field, given)

    def _by_text_of(self, fields: Fields, doc: Mapping[str, Any], asked: str | None, suite: Suite) -> _Found | None:
        """Find the one prompt that equals a field of `doc` or the request, or else is contained in the request."""
        texts = [value for value in (*doc.values(), asked) if isinstance(value, str)]
        equal = {name for text in texts for name in self._by_text.get(text.strip(), ())}
        found = equal or (self._within(asked, fields) if asked is not None else set())
        if found is None:
            return None
        if len(found) != 1:
            which = f"it may be any of {_listed(found)}" if found else f"it contains no prompt of {suite.name}"
            hint = "name the field of doc that has the prompt's id with --id-field"
            _add(fields, "doc", f"the prompt cannot be identified: {which}", hint)
            return None
        [name] = found
        return _Found(name, "doc", suite.by_id[name].prompt if equal else None)

    def _within(self, asked: str, fields: Fields) -> set[str] | None:
        """Find the prompts in a text, without those contained in others; None if there is too much to search."""
        if asked not in self._looked:
            self._left -= len(asked) * len(self._by_text)
            if self._left < 0:
                message = f"the requests are too long to search for {len(self._by_text):,} prompts"
                _add(fields, "arguments", message, "name the field of doc that has the prompt's id with --id-field")
                return None
            there = [text for text in self._by_text if text in asked]
            if len(there) <= MAX_WITHIN:
                there = [text for text in there if not any(text != other and text in other for other in there)]
            self._looked[asked] = {name for text in there for name in self._by_text[text]}
        return self._looked[asked]


def _add(fields: Fields, field: str, message: str, hint: str) -> None:
    fields.findings.error("prompt_ids", fields.file, fields.number, field, message, hint)


def _listed(names: Iterable[str]) -> str:
    ordered = sorted(names)
    return ", ".join(name[:50] for name in ordered[:_SHOWN]) + (", …" if len(ordered) > _SHOWN else "")
