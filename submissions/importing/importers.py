"""Import files of other projects as submissions. Nothing is written unless the result passes every check.

`FORMATS` lists the readers: *noveltybench* (its generations.jsonl, partitions.jsonl and scores.jsonl), *jsonl*, *csv*
and *parquet* (rows of responses under common field names; see response_rows.py), *lm-eval* (samples of
lm-evaluation-harness; see lm_eval.py), *openai-batch* (output files of the Batch API; see openai_batch.py) and
*inspect* (logs of Inspect; see inspect_logs.py). With the suite *own*, the file must contain the texts of the prompts.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
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
from submissions.importing.imported import FACTS, MODELS, STEPS, Fields, Imported
from submissions.importing.inspect_logs import is_inspect_log, read_inspect_log
from submissions.importing.lm_eval import FIELDS as LM_EVAL_FIELDS
from submissions.importing.lm_eval import read_lm_eval
from submissions.importing.openai_batch import read_openai_batch
from submissions.importing.response_rows import read_response_rows
from submissions.schema import Manifest, Reported, Row
from submissions.storage.submission_folders import write_submission
from submissions.untrusted.findings import Findings, Problem, Rejected
from submissions.untrusted.json_files import read_jsonl

CONVENTIONS = (0, 1, -1)  # the number of classes, less `distinct`


def read_noveltybench(path: Path, findings: Findings) -> Imported:
    """Read NoveltyBench's files (its version 1.0 and 1.1).

    Three conventions of `distinct` are in use: the highest label (version 1.0 of the code, one less than the number of
    classes), the number of classes (later versions), and one more (the paper's tables and older summaries). It is
    compared with the partition and converted to the number of classes. A file that mixes conventions is rejected.
    """
    made = Imported(names={"prompt_id": "id", "responses": "generations"})
    offsets: dict[int, int] = {}
    for number, raw in read_jsonl(path, findings):
        fields = Fields(raw, path.name, number, findings)
        prompt_id, prompt = fields.text("id"), fields.text("prompt")
        responses = fields.texts("generations")
        used = {"id", "prompt", "generations"}
        if "partition" in raw:
            used |= {"partition", "distinct", "generation_scores", "partition_scores", "utility"}
            values = _reported(fields, offsets)
            if values is not None and prompt_id is not None:
                made.reported.setdefault(prompt_id, (number, values))
        made.note(number, raw, used)
        if prompt_id is not None and prompt is not None and responses is not None:
            made.rows.append(Row(number, prompt_id, prompt, responses))
    if len(offsets) > 1:
        rows = " and ".join(f"row {row}" for row in sorted(offsets.values()))
        message = f"distinct differs from the number of classes by more in some rows than in others ({rows})"
        hint = "files of two versions were mixed: import each separately"
        findings.error("reported", path.name, None, "distinct", message, hint)
    return made


def _reported(fields: Fields, offsets: dict[int, int]) -> Reported | None:
    """Return the reported values of one row, with `distinct` as the number of classes."""
    partition = fields.integers("partition")
    if partition is None:
        return None
    classes = len(set(partition))
    distinct = fields.integer("distinct") if fields.has("distinct") else None
    if partition and distinct is not None:
        offset = classes - distinct
        if offset in CONVENTIONS:
            offsets.setdefault(offset, fields.number)
        else:
            message = f"is neither the number of classes in the partition ({classes}), nor one less or more"
            fields.problem("distinct", message, "compute both from the same partition")
    scores = _scores(fields, partition)
    _compare_heads(fields, partition, scores)
    return Reported(partition, scores, classes, fields.decimal("utility") if fields.has("utility") else None)


def _scores(fields: Fields, partition: tuple[int, ...]) -> tuple[float, ...] | None:
    """Return the scores of the classes' first responses, 0 for the others; None if the row has none.

    Version 1.1 writes null for the others, for all responses if its judge refused to score them, and every response's
    own score if its scorer is the reward model.
    """
    given = fields.raw.get("generation_scores")
    if given is None or (isinstance(given, list) and given and all(score is None for score in given)):
        return None
    scores = fields.numbers("generation_scores", null_as=0.0)
    if scores is None or len(scores) != len(partition):
        return scores
    firsts = map(partition.index, partition)
    return tuple(score if i == first else 0.0 for i, (first, score) in enumerate(zip(firsts, scores, strict=True)))


def _compare_heads(fields: Fields, partition: tuple[int, ...], scores: tuple[float, ...] | None) -> None:
    """Check that `partition_scores` repeats the scores of the classes' first responses."""
    if scores is None or len(scores) != len(partition) or not fields.has("partition_scores"):
        return
    heads = tuple(scores[partition.index(label)] for label in dict.fromkeys(partition))
    if fields.numbers("partition_scores") != heads:
        fields.problem("partition_scores", "differ from generation_scores", "compute both from the same scores")


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """Options of some formats."""

    field: str | None = None  # field of the responses, for *jsonl*, *csv*, *parquet* and *lm-eval*; None: detected
    id_field: str | None = None  # for *lm-eval*: field of a document with the prompt's id; see `lm_eval`
    requests: Path | None = None  # for *openai-batch*: file of the batch's requests


DEFAULT_OPTIONS = ImportOptions()
Reader = Callable[[Path, Findings, Suite | None, ImportOptions], Imported]
Taken = dict[tuple[int | str, ...], tuple[str, int]]  # by field of the manifest: field and row of the file


def _rows_of(kind: Literal["jsonl", "csv", "parquet"]) -> Reader:
    return lambda path, findings, suite, options: read_response_rows(path, findings, suite, options.field, kind)


FORMATS: dict[Format, Reader] = {
    "noveltybench": lambda path, findings, suite, options: read_noveltybench(path, findings),
    "jsonl": _rows_of("jsonl"),
    "csv": _rows_of("csv"),
    "parquet": _rows_of("parquet"),
    "lm-eval": lambda path, findings, suite, options: read_lm_eval(
        path, findings, suite, options.id_field, options.field or "resps"
    ),
    "openai-batch": lambda path, findings, suite, options: read_openai_batch(path, findings, suite, options.requests),
    "inspect": lambda path, findings, suite, options: read_inspect_log(path, findings, suite),
}


def detect_format(path: Path) -> Format:
    """Detect the format of a file from its extension and its first row; an unreadable file counts as *jsonl*."""
    if (ending := path.suffix.lower()) in (".csv", ".tsv", ".parquet"):
        return "parquet" if ending == ".parquet" else "csv"
    if is_inspect_log(path):
        return "inspect"
    first: Mapping[str, Any] = next((row for _, row in read_jsonl(path, Findings())), {})
    if "resps" in first and "doc" in first:
        return "lm-eval"
    if {"custom_id", "response"} <= first.keys():
        return "openai-batch"
    return "noveltybench" if {"generations", "partition"} <= first.keys() else "jsonl"


def _check_options(kind: Format, options: ImportOptions) -> None:
    """Reject options of other formats, which would have no effect."""
    if kind != "lm-eval" and options.id_field is not None:
        raise ConfigurationError(f"a file of {kind} has no documents", "leave out --id-field")
    if kind not in ("jsonl", "csv", "parquet", "lm-eval") and options.field is not None:
        hint = "leave out --field, or read it as rows of responses with --from jsonl"
        raise ConfigurationError(f"a file of {kind} has its responses in a fixed field", hint)
    if kind == "lm-eval" and options.field not in (None, *LM_EVAL_FIELDS):
        raise ConfigurationError(
            f"an lm-eval file has no responses in {options.field!r}", "give resps or filtered_resps"
        )
    if kind != "openai-batch" and options.requests is not None:
        raise ConfigurationError(f"a file of {kind} has no requests", "leave out --requests")


def import_submission(
    path: Path,
    kind: Format,
    out: Path,
    known: Mapping[str, Any],
    find_suite: FindSuite = load_suite,
    options: ImportOptions = DEFAULT_OPTIONS,
) -> tuple[Report, set[str]]:
    """Make a submission folder from a file, and check it."""
    _check_options(kind, options)
    if path.is_dir():
        raise ConfigurationError(f"{path} is a folder", "give the file to import")
    if not path.is_file():
        there = sorted(each.name for each in path.parent.iterdir()) if path.parent.is_dir() else []
        near = get_close_matches(path.name, there, n=1)
        hint = f"did you mean {path.parent / near[0]}?" if near else "give the file to import"
        raise ConfigurationError(f"there is no file {path}", hint)
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise ConfigurationError(f"{out} already exists", "choose another folder with --out, or remove it")
    findings = Findings()
    suite = None if known["suite"] == OWN else find_suite(str(known["suite"]))
    made = FORMATS[kind](path, findings, suite, options)
    if not made.rows and not findings.rejected():
        findings.error("json", path.name, None, "", "no rows", "write one row per prompt or response")
    cut = _first_k(made, known.get("generation", {}).get("k"))
    manifest = _manifest(made, path, kind, known, findings)
    if findings.rejected() or manifest is None:
        raise Rejected(str(path), findings)
    asked = own_suite(made.rows) if suite is None else suite
    last = len(asked.prompts)
    made.rows.sort(key=lambda row: asked.position.get(row.prompt_id, last))
    ordered = sorted(made.reported.items(), key=lambda item: asked.position.get(item[0], last))
    with atomic_folder(out) as folder:
        write_submission(folder, manifest, made.rows, [(key, values) for key, (_, values) in ordered])
        report = validate(folder, lambda name: asked, numbers=[row.number for row in made.rows])
        numbers = [number for _, (number, _) in ordered]
        report.findings = report.findings.renamed(lambda problem: made.in_source(problem, path.name, numbers))
        if report.submission is None:
            raise Rejected(str(path), report.findings)
        report.submission = replace(report.submission, folder=out)
    if cut:
        message = (
            f"only the first {report.submission.manifest.generation.k} responses were kept in {counted(cut, 'prompt')}"
        )
        report.findings.add(Problem("k", "warning", path.name, None, "responses", message, "leave out --k to keep all"))
    if made.trimmed:
        message = f"white space at the ends differs from the suite's in {counted(made.trimmed, 'prompt')}"
        hint = "the suite's text was used; check that the model saw the same"
        report.findings.add(Problem("prompt_text", "warning", path.name, None, "prompt", message, hint))
    for problem in _mixed_settings(made, path.name):
        report.findings.add(problem)
    return report, made.unused_fields


def _several_systems(made: Imported, file: str) -> Iterator[Problem]:
    """Yield an error for each field that names several models or steps of training."""
    for name in (*MODELS, *STEPS):
        if len(found := made.facts.get(name, {})) > 1:
            (one, first), (other, second) = list(found.items())[:2]
            message = f"{other!r} here, but {one!r} in row {first}"
            yield Problem(
                "manifest", "error", file, second, name, message, "a submission has one system: split the file"
            )


def _mixed_settings(made: Imported, file: str) -> Iterator[Problem]:
    """Yield a warning for each sampling setting with several values, except seeds: a sweep may be mixed in one file."""
    for name in sorted(made.unused_fields & FACTS.keys()):
        if FACTS[name] != ("generation", "seed"):
            (one, first), (other, second) = list(made.facts[name].items())[:2]
            message = f"{repr(other)[:60]} here, but {repr(one)[:60]} in row {first}: no setting is recorded"
            hint = "if these are responses under several settings, import each separately"
            yield Problem("manifest", "warning", file, second, name, message, hint)


def _first_k(made: Imported, k: int | None) -> int:
    """Keep the first k responses to each prompt; return the number of prompts that had more.

    Reported values belong to all responses of a prompt, so with them nothing is cut.
    """
    if k is None or made.reported:
        return 0
    longer = sum(len(row.responses) > k for row in made.rows)
    made.rows = [
        replace(row, responses=row.responses[:k], finish_reasons=row.finish_reasons and row.finish_reasons[:k])
        for row in made.rows
    ]
    return longer


def _manifest(
    made: Imported, path: Path, kind: Format, known: Mapping[str, Any], findings: Findings
) -> Manifest | None:
    """Make the manifest from the given fields and those that the file states consistently."""
    values: dict[str, Any] = {**known}
    for part in ("system", "generation", "submitter"):
        values[part] = dict(known.get(part, {}))
    taken: Taken = {}
    for problem in _several_systems(made, path.name):
        findings.add(problem)
    for name in filter(FACTS.__contains__, made.facts):
        found, place = made.facts[name], FACTS[name]
        part, key = place
        if values[part].get(key) is None and len(found) > 1:
            made.unused_fields.add(name)  # the manifest has one value for all rows
        elif values[part].get(key) is None and set(found) != {""}:  # stated to be absent
            values[part][key], row = next(iter(found.items()))
            taken[place] = name, row
    if values["generation"].get("k") is None and made.rows:
        lengths = Counter(len(row.responses) for row in made.rows)
        values["generation"]["k"] = lengths.most_common(1)[0][0]
        taken["generation", "k"] = "responses", made.rows[0].number
    if findings.rejected():
        return None
    reported = values.pop("reported", None)
    if reported is not None and not made.reported:
        message = f"{path.name} has no reported partition that {reported!r} could have made"
        raise ConfigurationError(message, "leave its source out, or import the file with the partition")
    values["origin"] = {"format": kind, "sha256": sha256_of(path), "reported": reported}
    try:
        return Manifest.model_validate(values)
    except ValidationError as error:
        _not_a_manifest(error, taken, path.name, findings)
        return None


def _not_a_manifest(error: ValidationError, taken: Taken, file: str, findings: Findings) -> None:
    """Report invalid values of the file as problems, and raise an error for invalid given values."""
    lines = []
    for item in error.errors(include_url=False):
        said = item["msg"].removeprefix("Value error, ")
        if item["loc"] in taken:
            name, row = taken[item["loc"]]
            hint = "fix the file, or set the right value with an option"
            findings.error("manifest", file, row, name, said, hint)
        else:
            lines.append(f"{'.'.join(map(str, item['loc']))}: {said}")
    if lines:
        raise ConfigurationError(f"the manifest would be invalid: {'; '.join(lines)}", "fix the options") from error
