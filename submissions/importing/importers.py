"""Import files of other projects as submissions. Nothing is written unless the result passes every check.

`FORMATS` lists the readers: *noveltybench* (a run's folder or one of its files; see noveltybench.py), *jsonl*, *csv*
and *parquet* (rows of responses under common field names; see response_rows.py), *lm-eval* (samples of
lm-evaluation-harness; see lm_eval.py), *openai-batch* (output files of the Batch API; see openai_batch.py) and
*inspect* (logs of Inspect; see inspect_logs.py). With the suite *own*, the file must contain the texts of the prompts.
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal

from pydantic import ValidationError

from datasets_build.load import load_suite
from datasets_build.schema import Suite
from divbench.core.errors import ConfigurationError, counted
from divbench.core.files import atomic_folder, sha256_of
from submissions.checking.prompts import OWN, own_suite
from submissions.checking.validate import FindSuite, Report, validate
from submissions.choices import Format
from submissions.importing.imported import FACTS, GENERATION_CONFIG, MODELS, STEPS, Imported
from submissions.importing.inspect_logs import is_inspect_log, read_inspect_log
from submissions.importing.lm_eval import FIELDS as LM_EVAL_FIELDS
from submissions.importing.lm_eval import read_lm_eval
from submissions.importing.noveltybench import read_noveltybench
from submissions.importing.noveltybench_hub import downloaded_run
from submissions.importing.openai_batch import read_openai_batch
from submissions.importing.response_rows import read_response_rows
from submissions.schema import Manifest
from submissions.storage.submission_folders import write_submission
from submissions.untrusted.findings import Findings, Rejected
from submissions.untrusted.json_files import read_jsonl


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """Options of some formats."""

    field: str | None = None  # field of the responses, for *jsonl*, *csv*, *parquet* and *lm-eval*; None: detected
    id_field: str | None = None  # for *lm-eval*: field of a document with the prompt's id; see `lm_eval`
    requests: Path | None = None  # for *openai-batch*: file of the batch's requests


DEFAULT_OPTIONS = ImportOptions()
_FORMATS_OF = {
    "field": ("jsonl", "csv", "parquet", "lm-eval"),
    "id_field": ("lm-eval",),
    "requests": ("openai-batch",),
}
Reader = Callable[[Path, Findings, Suite | None, ImportOptions], Imported]


def _rows_of(kind: Literal["jsonl", "csv", "parquet"]) -> Reader:
    return lambda path, findings, suite, options: read_response_rows(path, findings, suite, options.field, kind)


FORMATS: dict[Format, Reader] = {
    "noveltybench": lambda path, findings, suite, options: read_noveltybench(path, findings, suite),
    "jsonl": _rows_of("jsonl"),
    "csv": _rows_of("csv"),
    "parquet": _rows_of("parquet"),
    "lm-eval": lambda path, findings, suite, options: read_lm_eval(
        path, findings, suite, options.id_field, options.field or "resps"
    ),
    "openai-batch": lambda path, findings, suite, options: read_openai_batch(path, findings, suite, options.requests),
    "inspect": lambda path, findings, suite, options: read_inspect_log(path, findings, suite),
}


def detect_format(path: Path | str) -> Format:
    """Detect the format of a file from its extension and its first row; an unreadable file counts as *jsonl*.

    Only *noveltybench* has folders, and addresses on the Hub.
    """
    if isinstance(path, str) or path.is_dir():
        return "noveltybench"
    if (ending := path.suffix.lower()) in (".csv", ".tsv", ".parquet"):
        return "parquet" if ending == ".parquet" else "csv"
    if is_inspect_log(path):
        return "inspect"
    first: Mapping[str, Any] = next((row for _, row in read_jsonl(path, Findings())), {})
    if "resps" in first and "doc" in first:
        return "lm-eval"
    if {"custom_id", "response"} <= first.keys():
        return "openai-batch"
    judged = {"id", "partition"} <= first.keys() or {"generations", GENERATION_CONFIG} <= first.keys()
    return "noveltybench" if judged else "jsonl"


def _check_options(kind: Format, options: ImportOptions) -> None:
    """Reject options of other formats, which would have no effect."""
    for name, formats in _FORMATS_OF.items():
        if getattr(options, name) is not None and kind not in formats:
            option = f"--{name.replace('_', '-')}"
            hint = f"leave it out, or choose with --from one of {', '.join(formats)}"
            raise ConfigurationError(f"{option} has no effect on a file of {kind}", hint)
    if kind == "lm-eval" and options.field not in (None, *LM_EVAL_FIELDS):
        message = f"an lm-eval file has no responses in {options.field!r}"
        raise ConfigurationError(message, f"give {' or '.join(LM_EVAL_FIELDS)}")


def import_submission(
    path: Path | str,
    kind: Format,
    out: Path,
    known: Mapping[str, Any],
    find_suite: FindSuite = load_suite,
    options: ImportOptions = DEFAULT_OPTIONS,
) -> tuple[Report, set[str]]:
    """Make a checked submission folder from a file; return the report, and the fields of the file that were not used.

    The format *noveltybench* takes folders as well, and addresses on the Hub as texts (`hf://datasets/ORG/NAME/RUN`).
    Fields of the manifest that are known override those of the file. If a check fails, nothing is written.
    """
    _check_options(kind, options)
    _check_paths(path, kind, out)
    if not isinstance(path, str):
        return _import(path, kind, out, known, find_suite, options, str(path))
    with downloaded_run(path, str(known["suite"])) as (folder, link):
        submitter = {"links": (link,)} | known["submitter"]
        return _import(folder, kind, out, {**known, "submitter": submitter}, find_suite, options, path)


def _import(
    path: Path,
    kind: Format,
    out: Path,
    known: Mapping[str, Any],
    find_suite: FindSuite,
    options: ImportOptions,
    source: str,
) -> tuple[Report, set[str]]:
    """Import a file or folder of this machine; errors name its source."""
    findings = Findings()
    suite = None if known["suite"] == OWN else find_suite(str(known["suite"]))
    imported = FORMATS[kind](path, findings, suite, options)
    name = imported.file or path.name
    if not imported.rows and not findings.rejected():
        findings.error("json", name, None, "", "no rows", "write one row per prompt or response")
    k = known.get("generation", {}).get("k")
    longer = 0
    if k is not None and not imported.reported:  # reported values belong to all responses of a prompt
        longer = sum(len(row.responses) > k for row in imported.rows)
        imported.rows = [row.first(k) for row in imported.rows]
    manifest = _manifest(imported, name, path, kind, known, findings)
    if findings.rejected() or manifest is None:
        raise Rejected(source, findings)
    suite = own_suite(imported.rows) if suite is None else suite
    last = len(suite.prompts)
    imported.rows.sort(key=lambda row: suite.position.get(row.prompt_id, last))
    reported = sorted(imported.reported.items(), key=lambda item: (suite.position.get(item[0][0], last), item[0]))
    with atomic_folder(out) as folder:
        write_submission(folder, manifest, imported.rows, [(key, values) for (key, _), (*_, values) in reported])
        report = validate(folder, lambda name: suite, numbers=[row.number for row in imported.rows])
        rows = [(file, number) for _, (file, number, _) in reported]
        report.findings = report.findings.renamed(lambda problem: imported.in_source(problem, name, rows))
        for problem in findings.problems:  # the reader's warnings
            report.findings.add(problem)
        if report.submission is None:
            raise Rejected(source, report.findings)
        report.submission = replace(report.submission, folder=out)
    if longer:
        message = f"only the first {k} responses were kept in {counted(longer, 'prompt')}"
        report.findings.warning("k", name, None, "responses", message, "leave out --k to keep all")
    if imported.trimmed:
        message = f"white space at the ends differs from the suite's in {counted(imported.trimmed, 'prompt')}"
        hint = "the suite's text was used; check that the model saw the same"
        report.findings.warning("prompt_text", name, None, "prompt", message, hint)
    for fact in sorted(imported.unused_fields & FACTS.keys()):
        if FACTS[fact] != ("generation", "seed"):  # a sweep may be mixed in one file; a seed for each row is usual
            (one, first), (other, second) = list(imported.facts[fact].items())[:2]
            message = f"{repr(other)[:60]} here, but {repr(one)[:60]} in row {first}: no setting is recorded"
            hint = "if these are responses under several settings, import each separately"
            report.findings.warning("manifest", name, second, fact, message, hint)
    return report, imported.unused_fields


def _check_paths(path: Path | str, kind: Format, out: Path) -> None:
    """Check that there is something to import, and a new or empty folder for the submission."""
    if (isinstance(path, str) or path.is_dir()) and kind != "noveltybench":
        raise ConfigurationError(f"{path} is a folder", "give the file to import")
    if not isinstance(path, str) and not path.exists():
        names = sorted(file.name for file in path.parent.iterdir()) if path.parent.is_dir() else []
        near = get_close_matches(path.name, names, n=1)
        hint = f"did you mean {path.parent / near[0]}?" if near else "give the file to import"
        raise ConfigurationError(f"there is no file {path}", hint)
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise ConfigurationError(f"{out} already exists", "choose another folder with --out, or remove it")


def _manifest(
    imported: Imported, file: str, path: Path, kind: Format, known: Mapping[str, Any], findings: Findings
) -> Manifest | None:
    """Make the manifest from the given fields and those that the file states consistently."""
    for name in (*MODELS, *STEPS):
        if len(stated := imported.facts.get(name, {})) > 1:
            (one, first), (other, second) = list(stated.items())[:2]
            message = f"{other!r} here, but {one!r} in row {first}"
            findings.error("manifest", file, second, name, message, "a submission has one system: split the file")
    values: dict[str, Any] = {**known}
    for part in ("system", "generation", "submitter"):
        values[part] = dict(known.get(part, {}))
    sources = _take_facts(values, imported)
    if findings.rejected():
        return None
    reported = values.pop("reported", None)
    if reported is not None and not imported.reported:
        message = f"{file} has no reported partition that {reported!r} could have made"
        raise ConfigurationError(message, "leave its source out, or import the file with the partition")
    reported = reported or imported.reported_by or None
    values["origin"] = {"format": kind, "sha256": _digest(imported, path), "reported": reported}
    try:
        return Manifest.model_validate(values)
    except ValidationError as error:
        wrong = []
        for item in error.errors(include_url=False):
            message = item["msg"].removeprefix("Value error, ")
            if item["loc"] in sources:
                name, row = sources[item["loc"]]
                hint = "fix the file, or set the right value with an option"
                findings.error("manifest", file, row, name, message, hint)
            else:
                wrong.append(f"{'.'.join(map(str, item['loc']))}: {message}")
        if wrong:
            raise ConfigurationError(f"the manifest would be invalid: {'; '.join(wrong)}", "fix the options") from error
        return None


def _digest(imported: Imported, path: Path) -> str:
    """Return the SHA-256 of the file; of several files, that of the lines that sha256sum prints for them."""
    if not imported.sources:
        return sha256_of(path)
    lines = [f"{sha256_of(file)}  {name}\n" for name, file in sorted(imported.sources.items())]
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def _take_facts(values: dict[str, Any], imported: Imported) -> dict[tuple[int | str, ...], tuple[str, int]]:
    """Add what the file states to the manifest's values; return the field and row of the file by field of theirs."""
    sources: dict[tuple[int | str, ...], tuple[str, int]] = {}
    for name, stated in imported.facts.items():
        part, key = FACTS.get(name, ("", ""))
        if not part or values[part].get(key) is not None:
            continue
        if len(stated) > 1:
            imported.unused_fields.add(name)  # the manifest has one value for all rows
        elif set(stated) != {""}:  # stated to be absent
            values[part][key], row = next(iter(stated.items()))
            sources[part, key] = name, row
    if values["generation"].get("k") is None and imported.rows:
        lengths = Counter(len(row.responses) for row in imported.rows)
        values["generation"]["k"] = lengths.most_common(1)[0][0]
        sources["generation", "k"] = "responses", imported.rows[0].number
    return sources
