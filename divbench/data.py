"""Standardized datasets, suites of prompts, and your response sets in any form: mappings, lists and tables."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence, Set
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from datasets_build.load import load_split, load_suite
from datasets_build.schema import Suite
from datasets_build.sources import find_config
from divbench.core.errors import InputError, counted
from submissions.checking import artefacts
from submissions.importing.imported import DEFAULT_OPTIONS, NOT_SPLIT, Imported, ImportOptions
from submissions.importing.importers import check_one_system, detect_format, read_file, systems_of
from submissions.importing.response_rows import read_rows
from submissions.importing.shapes import LISTS, PROMPTS, TEXTS
from submissions.untrusted.findings import Findings, Problem, Rejected

if TYPE_CHECKING:
    import datasets

FILES = (".jsonl", ".json", ".csv", ".tsv", ".parquet", ".xlsx", ".gz", ".zst", ".eval")


def load(
    name: str,
    split: str | None = None,
    *,
    repo: str | None = None,
    revision: str | None = None,
    mirror: str | Path | None = None,
) -> "datasets.Dataset":
    """Load a split of a dataset.

    Args:
        name: Config, such as `mcdiv` or `scenarios`.
        split: Split, such as `story_gen`; None: all splits, with a column `split` if there are several.
        repo: Hub dataset repository that DivBench published; None: built datasets and those in the package.
        revision: Tag or commit of the repository.
        mirror: Folder with released files, for datasets not in the package.

    Raises:
        ConfigurationError: There is no such config or split, its files are not available (states how to get them), or
            `revision` is given without `repo`.
        InputError: A released file has other bytes.

    >>> print(*load("demo").column_names[:3])
    prompt_id category prompt
    >>> len(set(load("gssbench")["split"]))
    6
    """
    names = [known.name for known in find_config(name)[1].splits]
    folder = None if mirror is None else Path(mirror)
    parts = [
        load_split(name, each, repo=repo, revision=revision, mirror=folder)
        for each in (names if split is None else [split])
    ]
    if len(parts) == 1:
        return parts[0]
    from datasets import concatenate_datasets

    rows = zip(names, parts, strict=True)
    return concatenate_datasets([part.add_column("split", [each] * len(part)) for each, part in rows])


def suite(name: str, *, mirror: str | Path | None = None) -> Suite:
    """Load a suite of prompts to sample responses to.

    Args:
        name: Suite, such as `demo` or `noveltybench-curated`.
        mirror: Folder with released files, for suites not in the package.

    Raises:
        ConfigurationError: There is no such suite, or its file is not available; states how to get it.
        InputError: A released file has other bytes.

    >>> len(suite("demo").prompts)
    24
    """
    return load_suite(name, None if mirror is None else Path(mirror))


def response_sets(
    sets: Any, options: ImportOptions = DEFAULT_OPTIONS, notes: list[str] | None = None
) -> tuple[tuple[str, ...], tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """Return names, prompts ("" if not given) and responses of sets in any form that `score` accepts.

    Traces of tools are removed as the options say. What was removed or may be a mistake is added to the notes.
    """
    notes = [] if notes is None else notes
    if isinstance(sets, Path) or (isinstance(sets, str) and _names_file(sets)):
        read = _sets_of_file(Path(sets), options, notes)
    else:
        prompts, responses = _prompts_and_responses(sets, options, notes)
        if not responses:
            raise InputError("there is no response set", "write score([[…], […]])")
        _check_prompts(prompts)
        labels = tuple(prompts) if prompts else numbered(len(responses))
        texts = tuple(_texts(name, texts_of_set) for name, texts_of_set in zip(labels, responses, strict=True))
        given = tuple(prompts) or ("",) * len(responses)
        cleaned, removed = artefacts.without_traces(given, texts, options.keep_thinking, options.clean)
        notes += [f"{message} ({hint})" for _, message, hint in removed]
        read = labels, given, tuple(cleaned)
    traces = artefacts.ArtefactCounts()
    for i, (prompt, own) in enumerate(zip(*read[1:], strict=True)):
        traces.add(i, prompt, own)
    notes += [f"{message} ({hint})" for _, message, hint in traces.sentences()]
    sizes = sorted({len(responses) for responses in read[2]})
    if len(sizes) > 1:
        notes.append(
            f"the sets have between {sizes[0]} and {sizes[-1]} responses, and most metrics depend on the number"
        )
    elif sizes == [1]:
        notes.append("each set has one response, which has no diversity")
    return read


def split_by(sets: Any, by: str) -> dict[str, tuple[Any, str | None]]:
    """Return what to read for each value of a column that names systems: a file and the value, or a part of a table."""
    if isinstance(sets, str | Path):
        return {system: (sets, system) for system in systems_of(Path(sets), by)}
    items = _cells(sets) if isinstance(sets, Sequence) else []
    names = list(dict.fromkeys(name for row in items for name in row)) if items else _column_names(sets)
    if by not in names:
        raise InputError(f"there is no column {by!r}", f"one of {', '.join(map(str, names))[:200]}")
    table = {name: [row.get(name) for row in items] if items else _cells(sets[name]) for name in names}
    parts: dict[str, tuple[Any, str | None]] = {}
    for system in dict.fromkeys(map(str, table[by])):
        kept = [i for i, value in enumerate(table[by]) if str(value) == system]
        parts[system] = {name: [cells[i] for i in kept] for name, cells in table.items()}, None
    return parts


def _names_file(text: str) -> bool:
    """Whether a text is the path of a file, or looks like one."""
    return "\n" not in text and len(text) < 1000 and (Path(text).suffix.lower() in FILES or Path(text).is_file())


def _sets_of_file(
    path: Path, options: ImportOptions, notes: list[str]
) -> tuple[tuple[str, ...], tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """Read a file as `divbench import` does; a set without the text of its prompt has its id as its name."""
    if not path.is_file():
        raise InputError(f"there is no file {path}", f"give a file that ends in {', '.join(FILES)}, or response sets")
    findings = Findings()
    imported = read_file(path, detect_format(path), findings, None, options)
    if findings.rejected():
        raise Rejected(str(path), _in_python(findings))
    notes += _notes(findings, imported)
    rows = imported.rows
    names = tuple(row.prompt or row.prompt_id for row in rows)
    return names, tuple(row.prompt or "" for row in rows), tuple(row.responses for row in rows)


def _in_python(findings: Findings) -> Findings:
    """Return problems with hints that name arguments in place of options."""

    def renamed(problem: Problem) -> Problem:
        hint = re.sub(r"--(field|by) ([^ ,;]+)", r"\1='\2'", problem.hint)
        return replace(problem, hint=re.sub(r"--(?:prompt-field)", "prompt_field=", hint))

    return findings.renamed(renamed)


def _notes(findings: Findings, imported: Imported) -> list[str]:
    """Return the warnings of a reader, and the fields that were not used, as sentences."""
    notes = [f"{kind[0].message} ({kind[0].hint})" for kind in _in_python(findings).kinds()]
    unused = ", ".join(sorted(imported.unused_fields))[:300]
    return [*notes, f"fields that were not used: {unused}"] if unused else notes


def beside(
    sets: Any, given: Any, what: str, names: Sequence[str], responses: Sequence[Sequence[str]]
) -> list[tuple[Any, ...]]:
    """Return what is given for each response of each set: a table's column, a mapping by prompt, or a list per set."""
    if isinstance(given, str):
        given = _column(sets, given)
    if isinstance(given, Mapping):
        if lacking := [name for name in names if name not in given]:
            raise InputError(f"{what} has nothing for {lacking[0][:60]!r}", "give a list for each prompt")
        given = [given[name] for name in names]
    rows = [] if isinstance(given, bytes) or not hasattr(given, "__iter__") else _cells(given)
    if len(rows) != len(names):
        hint = "give a list for each set, with an element for each response"
        raise InputError(f"{what} has {len(rows)} rows, and there are {counted(len(names), 'response set')}", hint)
    for name, row, texts in zip(names, rows, responses, strict=True):
        if not hasattr(row, "__len__") or len(row) != len(texts):
            size = len(row) if hasattr(row, "__len__") else 1
            message = f"{what} of {name[:60]!r} has {size} of {counted(len(texts), 'response')}"
            raise InputError(message, "give one for each response, None if there is none")
    return [tuple(_cells(row)) for row in rows]


def _column(sets: Any, name: str) -> Any:
    """Return a column of a table as lists per set."""
    names = _column_names(sets)
    if not names and (rows := [row for row in _cells(sets) if isinstance(row, Mapping)]):
        names = list(dict.fromkeys(key for row in rows for key in row))
        sets = {key: [row.get(key) for row in rows] for key in names}
    if name not in names:
        raise InputError(
            f"there is no column {name!r}", f"the columns are {', '.join(map(str, names))[:200] or 'none'}"
        )
    cells = _cells(sets[name])
    read = _read_table(sets, names, replace(DEFAULT_OPTIONS, by=NOT_SPLIT))
    return [
        [cells[number - 1] for number in read.lines[row.prompt_id]]
        if row.prompt_id in read.lines
        else cells[row.number - 1]
        for row in read.rows
    ]


def numbered(count: int) -> tuple[str, ...]:
    """Names of sets without prompts."""
    return tuple(f"set {i}" for i in range(1, count + 1))


def _prompts_and_responses(sets: Any, options: ImportOptions, notes: list[str]) -> tuple[list[Any], list[Any]]:
    """Prompts (empty if there are none) and responses of sets in any form, unchecked."""
    if isinstance(sets, str | bytes):
        raise InputError("a single text is not a list of response sets", 'write score([["a response", "another"], …])')
    if isinstance(getattr(sets, "column_names", None), Mapping):  # a DatasetDict
        raise InputError("this is a dictionary of splits", f"choose one of {', '.join(sets)}")
    if hasattr(sets, "reset_index"):
        sets = _with_prompts_of_index(sets)
    if isinstance(sets, Mapping) and not _is_columns(sets):
        return list(sets), list(sets.values())
    if names := _column_names(sets):
        return _from_table(sets, names, options, notes)
    if hasattr(sets, "reset_index") and all(isinstance(name, str) for name in sets.index):  # a pandas Series by prompt
        return list(sets.index), list(sets)
    if not hasattr(sets, "__iter__") or getattr(sets, "ndim", 1) == 0:
        raise InputError(f"{type(sets).__name__} is not a list of response sets", "write score([[…], […]])")
    items = _cells(sets)
    if items and all(isinstance(item, Mapping) for item in items):  # the rows of a table
        names = list(dict.fromkeys(name for row in items for name in row))
        return _from_table({name: [row.get(name) for row in items] for name in names}, names, options, notes)
    if items and all(isinstance(item, str) for item in items):
        raise InputError(
            "a flat list of texts is not a list of response sets",
            "write score([texts]) for one set, or score({prompt: responses, …})",
        )
    return [], items


def _with_prompts_of_index(table: Any) -> Any:
    """Make the index of a DataFrame or a Series columns if it has the prompts, as after `groupby("prompt")`."""
    columns = list(getattr(table, "columns", ()))
    if not any(name in PROMPTS and name not in columns for name in table.index.names):
        return table
    return (table if columns else table.rename(LISTS[0])).reset_index()


def _check_prompts(prompts: Sequence[Any]) -> None:
    for prompt in prompts:
        if not isinstance(prompt, str):
            raise InputError(f"a prompt is {prompt!r}, not a text", "write score({prompt: responses, …})")
        _check_characters(f"the prompt {prompt[:60]!r}", prompt)


def _texts(name: str, responses: Any) -> tuple[str, ...]:
    kind = type(responses).__name__
    is_scalar = not hasattr(responses, "__iter__") or getattr(responses, "ndim", 1) == 0
    if is_scalar or isinstance(responses, str | bytes | Mapping):
        raise InputError(f"{name[:60]!r} has {kind}, not a list of responses", "write a list of texts")
    if isinstance(responses, Set):  # it dropped repeats, so its diversity is not that of the responses
        raise InputError(f"{name[:60]!r} has a {kind}, which keeps no repeats", "write a list of texts")
    texts = tuple(_cells(responses))
    for i, text in enumerate(texts, start=1):
        if not isinstance(text, str):
            raise InputError(
                f"{name[:60]!r}, response {i} is {type(text).__name__}, not a text", "leave it out, or write its text"
            )
        _check_characters(f"{name[:60]!r}, response {i}", text)
    return texts


def _check_characters(where: str, text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        message = f"{where} has an unpaired surrogate, which UTF-8 cannot encode"
        raise InputError(message, "write complete characters") from None


def _is_columns(sets: Mapping[Any, Any]) -> bool:
    """Whether a mapping is columns of a table, as in `{"prompt": […], "responses": [[…], […]]}`."""
    responses = next((sets[name] for name in (*LISTS, *TEXTS) if name in sets), None)
    if responses is None or isinstance(responses, str) or not hasattr(responses, "__len__"):
        return False
    prompts = next((sets[name] for name in PROMPTS if name in sets), "")
    return not isinstance(prompts, str) or not any(isinstance(response, str) for response in responses)


def _column_names(sets: Any) -> list[str]:
    """Return the columns of a DataFrame, a `datasets.Dataset` or a mapping of columns; empty for other types."""
    if hasattr(sets, "collect") and not hasattr(sets, "__len__"):  # polars' LazyFrame, Spark's DataFrame
        raise InputError(f"the rows of a {type(sets).__name__} are not computed yet", "write score(table.collect())")
    if isinstance(sets, Mapping):
        return list(sets)
    names = getattr(sets, "column_names", getattr(sets, "columns", ()))
    return [] if names is None else list(names)  # None: an IterableDataset whose rows have not been read


def _cells(column: Any) -> list[Any]:
    """The values of a column; those of Arrow's as Python's."""
    return list(column.to_pylist() if hasattr(column, "to_pylist") else column)


def _from_table(
    sets: Any, names: Sequence[str], options: ImportOptions, notes: list[str]
) -> tuple[list[Any], list[Any]]:
    """Prompts (empty if there are none) and responses of a table with a row per set, or a row per response."""
    read = _read_table(sets, names, options, notes)
    if any(row.prompt is not None for row in read.rows):
        return [row.prompt for row in read.rows], [row.responses for row in read.rows]
    if len(read.lines) == len(read.rows) and read.rows:
        name = read.names["response"]
        message = f"each row of the table has one response, in {name!r}, and no prompt"
        raise InputError(message, f"add a column {PROMPTS[0]!r}, or write score([texts]) for one set")
    return [], [row.responses for row in read.rows]


def _read_table(sets: Any, names: Sequence[str], options: ImportOptions, notes: list[str] | None = None) -> Imported:
    """Read the rows of a table as those of a file."""
    if twice := [name for name, count in Counter(names).items() if count > 1]:
        raise InputError(f"the table has two columns {twice[0]!r}", "rename one")
    table = {str(name): list(map(_plain, _cells(sets[name]))) for name in names}
    sizes = {len(cells): name for name, cells in reversed(table.items())}
    if len(sizes) > 1:
        (one, first), (other, second) = list(sizes.items())[:2]
        message = f"the table has {counted(one, 'value')} in {first!r} and {other} in {second!r}"
        raise InputError(message, "give each row a value in every column")
    rows = [(i, dict(zip(table, row, strict=True))) for i, row in enumerate(zip(*table.values(), strict=True), start=1)]
    findings = Findings()
    read = read_rows(rows, "the table", findings, None, options)
    check_one_system(read, "the table", findings, options)
    if findings.rejected():
        raise InputError(*_in_python(findings).first_error())
    if notes is not None:
        notes += _notes(findings, read)
    return read


def _plain(cell: Any) -> Any:
    """Return a cell with lists in place of arrays and tuples."""
    if isinstance(cell, str | bytes | Mapping | Set) or not hasattr(cell, "__iter__") or getattr(cell, "ndim", 1) == 0:
        return cell
    return [_plain(item) for item in _cells(cell)]
