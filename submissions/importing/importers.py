"""Import files of other projects as submissions. Nothing is written unless the result passes every check.

*noveltybench* is a run's folder or one of its files (noveltybench.py), *inspect* a log of Inspect (inspect_logs.py).
All other files have rows of responses, whose formats and shapes are detected (response_rows.py).
"""

import hashlib
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any, cast

from pydantic import ValidationError

from datasets_build.load import load_suite
from datasets_build.schema import Suite
from divbench.core.errors import ConfigurationError, counted
from divbench.core.files import atomic_folder, sha256_of
from submissions.checking import artefacts, columns
from submissions.checking.prompts import OWN, own_suite
from submissions.checking.validate import FindSuite, Report, validate
from submissions.choices import Format
from submissions.importing.imported import DEFAULT_OPTIONS, FACTS, GENERATION_CONFIG, NOT_SPLIT, Imported, ImportOptions
from submissions.importing.inspect_logs import is_inspect_log, read_inspect_log
from submissions.importing.noveltybench import read_noveltybench
from submissions.importing.noveltybench_hub import downloaded_run
from submissions.importing.response_rows import read_response_rows
from submissions.importing.shapes import get, rows_of
from submissions.schema import Manifest
from submissions.storage.submission_folders import write_submission
from submissions.untrusted.findings import Findings, Rejected
from submissions.untrusted.json_files import read_jsonl
from submissions.untrusted.records import Kind, kind_of, read_records

USUAL = "noveltybench-curated"  # suite of the reference results with people's responses


def detect_format(path: Path | str) -> Format:
    """Detect the format of a file from its extension and its first row; an unreadable file counts as *jsonl*.

    Only *noveltybench* has folders, and addresses on the Hub.
    """
    if isinstance(path, str) or path.is_dir():
        return "noveltybench"
    if is_inspect_log(path):
        return "inspect"
    kind = kind_of(path)
    first = next(read_jsonl(path, Findings()), (0, {}))[1] if kind == "jsonl" else {}
    if {"resps", "doc"} <= first.keys():
        return "lm-eval"
    if {"custom_id", "response"} <= first.keys():
        return "openai-batch"
    judged = {"id", "partition"} <= first.keys() or {"generations", GENERATION_CONFIG} <= first.keys()
    return "noveltybench" if judged else kind


def read_file(path: Path, kind: Format, findings: Findings, suite: Suite | None, options: ImportOptions) -> Imported:
    """Read a file or folder; traces of tools are removed from its responses as the options say."""
    if kind == "noveltybench":
        imported = read_noveltybench(path, findings, suite)
    elif kind == "inspect":
        imported = read_inspect_log(path, findings, suite, options)
    else:
        other = kind in ("lm-eval", "openai-batch")  # names of shapes: their files are told as others are
        imported = read_response_rows(path, findings, suite, options, None if other else cast("Kind", kind))
    name = imported.file or path.name
    check_one_system(imported, name, findings, options)
    if not imported.rows and not findings.rejected():
        findings.error("json", name, None, "", "no rows", "write one row per prompt or response")
    prompts, sets = [row.prompt or "" for row in imported.rows], [row.responses for row in imported.rows]
    sets, removed = artefacts.without_traces(prompts, sets, options.keep_thinking, options.clean)
    imported.rows = [replace(row, responses=texts) for row, texts in zip(imported.rows, sets, strict=True)]
    imported.cleaned = tuple(kind for kind, *_ in removed)
    for _, message, hint in removed:
        findings.warning("artefacts", name, None, imported.names.get("responses", ""), message, hint)
    return imported


def check_one_system(imported: Imported, name: str, findings: Findings, options: ImportOptions) -> None:
    """Report a file with several models or steps of training."""
    for field in (*columns.MODELS, *columns.STEPS) if options.by != NOT_SPLIT else ():
        if len(stated := imported.facts.get(field, {})) > 1:
            (one, first), (other_value, second) = list(stated.items())[:2]
            message = f"{other_value!r} here, but {one!r} in row {first}"
            hint = f"a submission has one system: import each apart, with --by {field}"
            findings.error("manifest", name, second, field, message, hint)


def suite_of(path: Path | str, options: ImportOptions, find_suite: FindSuite = load_suite) -> tuple[str, str]:
    """Return the usual suite if any row has one of its prompts, or else *own*, and why it is that."""
    if isinstance(path, str) or not path.is_file():
        return USUAL, ""
    try:
        usual = find_suite(USUAL)
    except ConfigurationError:
        return OWN, f"{USUAL} cannot be read here, so the prompts count as your own (--suite own)"
    rows = read_file(path, detect_format(path), Findings(), usual, options).rows
    if any(row.prompt_id in usual.by_id for row in rows):
        return USUAL, ""
    return OWN, f"None of the prompts is in {USUAL}, so they count as your own (--suite own)"


def systems_of(path: Path, column: str) -> list[str]:
    """Return the values of a column that names the systems of a file."""
    rows = read_records(path, Findings(), rows_of).rows
    names = (columns.scalar(get(raw, column)) for _, raw in rows)
    values = list(dict.fromkeys(name for name in names if name is not None))
    if not values:
        raise ConfigurationError(
            f"no row of {path} has {column!r}", "name a column of short texts or numbers with --by"
        )
    return values


def folder_name(system: str) -> str:
    """Return a name of a folder for a system.

    >>> folder_name("openai:gpt-4o / T=1")
    'openai-gpt-4o-T-1'
    """
    return re.sub("[^A-Za-z0-9._-]+", "-", system)[:60].strip(".-") or "system"


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
    if kind in ("noveltybench", "inspect"):
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
    imported = read_file(path, kind, findings, suite, options)
    name = imported.file or path.name
    if suite is None and imported.rows and all(row.prompt is None for row in imported.rows):
        hint = (
            f"name their field with --prompt-field or their file with --prompts, or score without: db.score({name!r})"
        )
        findings.error("prompt_text", name, None, "", "the rows have no prompts", hint)
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


def _check_options(kind: Format, options: ImportOptions) -> None:
    """Reject options of rows for formats that fix their fields."""
    for name in ("field", "prompt_field", "id_field", "prompts", "by"):
        if getattr(options, name) is not None:
            hint = "leave it out, or choose with --from one of jsonl, csv, parquet"
            raise ConfigurationError(f"--{name.replace('_', '-')} has no effect on a file of {kind}", hint)


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
    digest = _digest(imported, path)
    values["origin"] = {"format": kind, "sha256": digest, "reported": reported, "cleaned": imported.cleaned}
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
