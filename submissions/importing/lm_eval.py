"""Read samples of lm-evaluation-harness (`samples_*.jsonl`), which has a row for each document and filter, as rows.

The fields are defined in EleutherAI/lm-evaluation-harness, lm_eval/result_schema.py (at 293c9df): `doc`, the row of the
dataset; `doc_id`, its position there; `arguments`, the request and its parameters; `resps`, the texts, requests ×
repeats. The default filter keeps only the first text, so the responses are `resps`.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from datasets_build.schema import Suite
from submissions.importing.imported import GENERATION_KWARGS, ImportOptions
from submissions.importing.shapes import LISTS, get, question_of
from submissions.untrusted.fields import Fields
from submissions.untrusted.findings import Findings
from submissions.untrusted.table_files import as_id

Raw = Mapping[str, Any]
_USED = {"doc", "doc_id", "filter", "resps", "arguments"}
_MAX_STOPS, _MAX_STOP = 10, 4000  # texts and letters, as in the manifest


def plain_rows(
    rows: Sequence[tuple[int, Raw]], file: str, findings: Findings, suite: Suite | None, options: ImportOptions
) -> list[tuple[int, Raw]]:
    """Return the rows with prompt ids and responses, each document once for all filters."""
    first: dict[str, tuple[int, Any, set[Any]]] = {}
    plain: list[tuple[int, Raw]] = []
    for number, raw in rows:
        fields = Fields(raw, file, number, findings)
        name = options.field or "resps"
        requests, filtered = raw.get(name), raw.get("filter")
        texts = requests[0] if isinstance(requests, list) and len(requests) == 1 else None
        texts = [texts] if isinstance(texts, str) and name != "resps" else texts
        prompt_id, prompt = _identified(fields, suite, options.id_field)
        if texts is None:
            count = f"{len(requests)} requests" if isinstance(requests, list) else "no list"
            fields.problem(name, f"{count}, expected one request", "use a task of output_type generate_until")
        elif prompt_id is not None and Fields({f"{name}[0]": texts}, file, number, findings).texts(f"{name}[0]"):
            row, known, filters = first.setdefault(prompt_id, (number, texts, set()))
            if row != number and known != texts:
                message = f"different responses to {prompt_id} than in row {row}, under another filter"
                fields.problem(name, message, "keep only the rows of one filter")
            elif row == number or (filtered is not None and filtered in filters):
                unused = {n: value for n, value in raw.items() if n not in _USED} | _sampling(raw)
                plain.append((number, unused | {"prompt_id": prompt_id, "prompt": prompt, LISTS[0]: texts}))
            filters.add(str(filtered) if filtered is not None else None)
    return plain


def _sampling(raw: Raw) -> dict[str, Any]:
    """Return the sampling parameters of a request, without a temperature that greedy search ignores."""
    given = get(raw, GENERATION_KWARGS) or get(raw, "arguments.0.1")
    stated = dict(given) if isinstance(given, dict) else {}
    if stated.get("do_sample") is False and stated.get("temperature") != 0:
        stated.pop("temperature", None)
    stops = stated.pop("until", None)
    texts = isinstance(stops, list) and all(isinstance(stop, str) and 0 < len(stop) <= _MAX_STOP for stop in stops)
    if texts and 0 < len(stops) <= _MAX_STOPS:
        stated["until"] = tuple(stops)
    return {f"{GENERATION_KWARGS}.{name}": value for name, value in stated.items()}


def _identified(fields: Fields, suite: Suite | None, id_field: str | None) -> tuple[str | None, str | None]:
    """Return the id and the text of a document's prompt; if it cannot be identified, report it."""
    raw: Raw = fields.raw
    doc: Raw = raw["doc"] if isinstance(raw.get("doc"), dict) else {}
    request = question_of(raw.get("arguments"))
    text = doc["prompt"] if isinstance(doc.get("prompt"), str) else request.text if request else None
    path = id_field or ("prompt_id" if "prompt_id" in doc else "doc_id" if suite is None else "")
    if not path and suite is not None:
        texts = {t.strip() for t in (*doc.values(), request and request.text) if isinstance(t, str)}
        known = [prompt for prompt in suite.prompts if prompt.prompt.strip() in texts]
        if len(known) == 1:
            return known[0].prompt_id, known[0].prompt
        which = f"it may be any of {', '.join(p.prompt_id for p in known[:10])}"
        which = which if known else f"no field of doc is a prompt of {suite.name}"
        hint = "name the field of doc that has the prompt's id with --id-field"
        fields.problem("doc", f"the prompt cannot be identified: {which}", hint, "prompt_ids")
        return None, None
    value = raw.get(path) if path == "doc_id" else get(doc, path)
    name = as_id(value)
    if path == "doc_id" and suite is not None and type(value) is int and 0 <= value < len(suite.prompts):
        prompt = suite.prompts[value]
        if request is None or prompt.prompt.strip() in request.text:
            return prompt.prompt_id, prompt.prompt
        message = f"{value} is {prompt.prompt_id} in {suite.name}, whose text is not in the request"
        fields.problem(path, message, "leave out --id-field: documents are identified by their texts", "prompt_ids")
        return None, None
    if name is None or (path == "doc_id" and suite is not None):
        shown = ", ".join(doc)[:200] or "nothing"
        wrong = "no position in the suite" if path == "doc_id" else "the field is missing or is no id"
        hint = f"doc has {shown}: name the field of the id with --id-field"
        fields.problem(path if path == "doc_id" else f"doc.{path}", wrong, hint, "prompt_ids")
        return None, None
    own_text = doc.get("prompt") if suite is not None else text
    return name, own_text if isinstance(own_text, str) else None
