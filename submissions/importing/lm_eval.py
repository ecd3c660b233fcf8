"""Read samples of lm-evaluation-harness: its `samples_*.jsonl`, with one row for each document and filter.

The fields are defined in EleutherAI/lm-evaluation-harness, lm_eval/result_schema.py (`SampleResult`, at 293c9df), and
written by lm_eval/loggers/evaluation_tracker.py: `doc`, the row of the dataset; `doc_id`, its position there from 0;
`arguments`, the request and its parameters, as {"gen_args_0": {"arg_0": text, "arg_1": {"temperature": …}}}, in older
files as lists; `resps`, the texts, requests × repeats; `filtered_resps`, the texts kept by a filter; `filter`, its
name. The default filter keeps only the first text, so the responses are `resps`. A task with several filters writes
every document once for each of them, with the same `resps`.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from datasets_build.schema import Suite
from submissions.importing.imported import GENERATION_KWARGS, Fields, Imported
from submissions.schema import Row
from submissions.untrusted.findings import Findings
from submissions.untrusted.json_files import read_jsonl, strict_json
from submissions.untrusted.table_files import as_id

DOC_ID = "doc_id"
FIELDS = ("resps", "filtered_resps")  # fields with texts
MAX_STOPS = 10  # as in the manifest
MAX_STOP = 4000  # characters, as in the manifest
_OWN_ID = "prompt_id"  # field of the id in our own exports
_SHOWN = 10  # names in a message
_USED = {DOC_ID, "doc", "arguments", "filter"}
_FROM_0 = "documents are counted from 0 in the suite's order"


def read_lm_eval(
    path: Path, findings: Findings, suite: Suite | None = None, id_field: str | None = None, field: str = "resps"
) -> Imported:
    """Read a samples file, with the responses in one of `FIELDS`.

    `id_field` is the field of `doc` with the prompt's id, or `doc_id`: the position in the suite, from 0. By default it
    is `prompt_id` of `doc` if there is one; otherwise documents are identified by their texts, own prompts by `doc_id`.
    """
    imported = Imported(names={"responses": f"{field}[0]", "prompt": "doc.prompt"})
    documents = _Documents(suite, id_field)
    first: dict[str, tuple[Row, set[str | None]]] = {}
    for number, raw in read_jsonl(path, findings):
        fields = Fields(raw, path.name, number, findings)
        filter_name = fields.text("filter") if "filter" in raw else None
        request, sampling = _request(raw)
        imported.note(number, sampling, set())
        imported.unused_fields |= raw.keys() - _USED - {field}
        responses = _responses(fields, field)
        document = documents.identify(fields, request)
        if responses is None or document is None:
            continue
        row = Row(number, document.prompt_id, document.prompt, responses)
        if not _is_repeated(row, filter_name, first, fields, field):
            imported.rows.append(row)
            imported.names["prompt_id"] = document.field
    return imported


def _is_repeated(
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
    texts = [requests[0]] if field == "filtered_resps" and isinstance(requests[0], str) else requests[0]
    return Fields({f"{field}[0]": texts}, fields.file, fields.number, fields.findings).texts(f"{field}[0]")


def _request(raw: Mapping[str, Any]) -> tuple[str | None, dict[str, Any]]:
    """Return the text of the first request and its sampling parameters, as far as they are given."""
    arguments = raw.get("arguments")
    text, sampling = None, None
    if isinstance(arguments, dict) and isinstance(first := arguments.get("gen_args_0"), dict):
        text, sampling = first.get("arg_0"), first.get("arg_1")
    elif isinstance(arguments, list) and arguments and isinstance(arguments[0], list):
        text, sampling = (*arguments[0], None, None)[:2]
    if isinstance(text, list) and len(text) == 1:
        [text] = text  # chat messages, as a tuple of their JSON
    request = _last_message(text) if isinstance(text, str) else None
    return request, _sampling(sampling) if isinstance(sampling, dict) else {}


def _last_message(text: str) -> str:
    """Return the last user message of a chat as JSON; other texts unchanged."""
    if not text.startswith("[{"):
        return text
    try:
        messages = strict_json(text)
    except (ValueError, RecursionError):
        return text
    users = [message for message in messages if isinstance(message, dict) and message.get("role") == "user"]
    content = users[-1].get("content") if users else None
    return content if isinstance(content, str) else text


def _sampling(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return sampling parameters by their fields in the file, without a temperature that greedy search ignores."""
    greedy = parameters.get("do_sample") is False and parameters.get("temperature") != 0
    stated = {name: value for name, value in parameters.items() if not (greedy and name == "temperature")}
    stops = stated.pop("until", None)
    if isinstance(stops, list) and 0 < len(stops) <= MAX_STOPS and all(map(_is_stop, stops)):
        stated["until"] = tuple(stops)
    return {f"{GENERATION_KWARGS}.{name}": value for name, value in stated.items()}


def _is_stop(text: Any) -> bool:
    return isinstance(text, str) and 0 < len(text) <= MAX_STOP and not any("\ud800" <= c <= "\udfff" for c in text)


class _Document(NamedTuple):
    """The prompt of a document: its id, the field that identified it, and its text if it is given separately."""

    prompt_id: str
    field: str
    prompt: str | None


class _Documents:
    """Identifies the prompts of documents."""

    def __init__(self, suite: Suite | None, id_field: str | None) -> None:
        self.suite, self.id_field = suite, id_field
        self._by_text: dict[str, list[str]] = {}
        for prompt in suite.prompts if suite is not None else ():
            self._by_text.setdefault(prompt.prompt.strip(), []).append(prompt.prompt_id)

    def identify(self, fields: Fields, request: str | None) -> _Document | None:
        """Find the prompt of a row; if that fails, report it and return None."""
        doc = fields.raw.get("doc")
        if not isinstance(doc, dict):
            wrong = "the field is missing" if "doc" not in fields.raw else f"a JSON {type(doc).__name__}"
            fields.problem("doc", f"{wrong}, expected an object", "write samples with --log_samples")
            return None
        field = self.id_field or (_OWN_ID if _OWN_ID in doc else None)
        if field is not None and field != DOC_ID:
            return self._by_field(fields, doc, field, request)
        if field == DOC_ID or self.suite is None:
            return self._by_position(fields, doc, request)
        return self._by_texts(fields, doc, request, self.suite)

    def _by_field(self, fields: Fields, doc: Mapping[str, Any], field: str, request: str | None) -> _Document | None:
        if field not in doc:
            hint = f"doc has {_listed(doc)}: name one of them with --id-field, or {DOC_ID}" if doc else "doc is empty"
            fields.problem(f"doc.{field}", "the field is missing", hint, "prompt_ids")
            return None
        name = fields.checked_text(f"doc.{field}", as_id(doc[field]) or doc[field])
        return None if name is None else self._named(fields, name, f"doc.{field}", doc, request)

    def _by_position(self, fields: Fields, doc: Mapping[str, Any], request: str | None) -> _Document | None:
        position = fields.raw.get(DOC_ID)
        if not isinstance(position, int) or isinstance(position, bool) or not 0 <= position < 2**31:
            wrong = "the field is missing" if DOC_ID not in fields.raw else "not a whole number from 0"
            fields.problem(DOC_ID, wrong, _FROM_0, "prompt_ids")
            return None
        if self.suite is None:
            return self._named(fields, str(position), DOC_ID, doc, request)
        if position >= len(self.suite.prompts):
            message = f"{position}, but {self.suite.name} has {len(self.suite.prompts)} prompts"
            fields.problem(DOC_ID, message, _FROM_0, "prompt_ids")
            return None
        known = self.suite.prompts[position]
        document = self._named(fields, known.prompt_id, DOC_ID, doc, request)
        # If the document does not give the prompt's text, which the checks compare, the request must contain it.
        if document and document.prompt is None and request is not None and known.prompt.strip() not in request:
            message = f"{position} is {known.prompt_id} in {self.suite.name}, whose text is not in the request"
            hint = "leave out --id-field: documents are then identified by their texts"
            fields.problem(DOC_ID, message, hint, "prompt_ids")
            return None
        return document

    def _named(
        self, fields: Fields, name: str, field: str, doc: Mapping[str, Any], request: str | None
    ) -> _Document | None:
        """Add the text that `doc` gives separately; for own prompts, which need one, otherwise the request."""
        text, source = doc.get("prompt"), "doc.prompt"
        if not isinstance(text, str):
            text, source = (request if self.suite is None else None), "arguments.gen_args_0.arg_0"
        if text is not None and fields.checked_text(source, text) is None:
            return None
        return _Document(name, field, text)

    def _by_texts(self, fields: Fields, doc: Mapping[str, Any], request: str | None, suite: Suite) -> _Document | None:
        """Find the one prompt that equals a field of `doc` or the request."""
        texts = [value for value in (*doc.values(), request) if isinstance(value, str)]
        names = {name for text in texts for name in self._by_text.get(text.strip(), ())}
        if len(names) == 1:
            [name] = names
            return _Document(name, "doc", suite.by_id[name].prompt)
        which = f"it may be any of {_listed(names)}" if names else f"no field of doc is a prompt of {suite.name}"
        hint = "name the field of doc that has the prompt's id with --id-field"
        fields.problem("doc", f"the prompt cannot be identified: {which}", hint, "prompt_ids")
        return None


def _listed(names: Iterable[str]) -> str:
    ordered = sorted(names)
    return ", ".join(name[:50] for name in ordered[:_SHOWN]) + (", …" if len(ordered) > _SHOWN else "")
