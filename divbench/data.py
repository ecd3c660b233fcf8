"""Standardized datasets, suites of prompts, and your response sets in any form: mappings, lists and tables."""

from collections.abc import Mapping, Sequence, Set
from pathlib import Path
from typing import TYPE_CHECKING, Any

from datasets_build.load import load_split, load_suite
from datasets_build.schema import Suite
from datasets_build.sources import find_config
from divbench.core.errors import ConfigurationError, InputError, counted
from submissions.importing.imported import MODELS, STEPS
from submissions.importing.response_rows import IDS, LISTS, MORE_OF_A_PROMPT, OURS, PROMPTS, TEXTS

if TYPE_CHECKING:
    import datasets


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
        split: Split, such as `story_gen`; None if the config has only one.
        repo: Hub dataset repository that DivBench published; None: built datasets and those in the package.
        revision: Tag or commit of the repository.
        mirror: Folder with released files, for datasets not in the package.

    Raises:
        ConfigurationError: There is no such config or split, its files are not available (states how to get them), or
            `revision` is given without `repo`.
        InputError: A released file has other bytes.

    >>> print(*load("demo").column_names[:3])
    prompt_id category prompt
    """
    names = [known.name for known in find_config(name)[1].splits]
    if split is None:
        if len(names) > 1:
            raise ConfigurationError(f"{name} has {len(names)} splits", f"name one of {', '.join(names)}")
        split = names[0]
    return load_split(name, split, repo=repo, revision=revision, mirror=None if mirror is None else Path(mirror))


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


def response_sets(sets: Any) -> tuple[tuple[str, ...], tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """Return names, prompts ("" if not given) and responses of sets in any form that `score` accepts."""
    prompts, responses = _prompts_and_responses(sets)
    if not responses:
        raise InputError("there is no response set", "write score([[…], […]])")
    _check_prompts(prompts)
    labels = tuple(prompts) if prompts else numbered(len(responses))
    texts = tuple(_texts(name, texts_of_set) for name, texts_of_set in zip(labels, responses, strict=True))
    return labels, tuple(prompts) or ("",) * len(responses), texts


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
    if columns := _column_names(sets):
        table = sets
    else:
        rows = _cells(sets)
        columns = list(dict.fromkeys(key for row in rows if isinstance(row, Mapping) for key in row))
        table = {key: [row.get(key) for row in rows] for key in columns}
    if name not in columns:
        raise InputError(
            f"there is no column {name!r}", f"the columns are {', '.join(map(str, columns))[:200] or 'none'}"
        )
    texts, cells = _cells(table[_responses_column(columns)]), _cells(table[name])
    if not any(isinstance(text, str) for text in texts):
        return cells
    by_prompt: dict[Any, list[Any]] = {}
    column = next(known for known in _prompt_columns() if known in columns)
    for prompt, cell in zip(_cells(table[column]), cells, strict=True):
        by_prompt.setdefault(prompt, []).append(cell)
    return list(by_prompt.values())


def numbered(count: int) -> tuple[str, ...]:
    """Names of sets without prompts."""
    return tuple(f"set {i}" for i in range(1, count + 1))


def _prompts_and_responses(sets: Any) -> tuple[list[Any], list[Any]]:
    """Prompts (empty if there are none) and responses of sets in any form, unchecked."""
    if isinstance(sets, str | bytes):
        raise InputError("a single text is not a list of response sets", 'write score([["a response", "another"], …])')
    if isinstance(getattr(sets, "column_names", None), Mapping):  # a DatasetDict
        raise InputError("this is a dictionary of splits", f"choose one of {', '.join(sets)}")
    if hasattr(sets, "reset_index"):
        sets = _with_prompts_of_index(sets)
    if isinstance(sets, Mapping) and not _is_columns(sets):
        return list(sets), list(sets.values())
    if columns := _column_names(sets):
        return _from_table(sets, columns)
    if hasattr(sets, "reset_index") and all(isinstance(name, str) for name in sets.index):  # a pandas Series by prompt
        return list(sets.index), list(sets)
    if not hasattr(sets, "__iter__") or getattr(sets, "ndim", 1) == 0:
        raise InputError(f"{type(sets).__name__} is not a list of response sets", "write score([[…], […]])")
    items = _cells(sets)
    if items and all(isinstance(item, Mapping) for item in items):  # the rows of a table
        names = list(dict.fromkeys(name for row in items for name in row))
        return _from_table({name: [row.get(name) for row in items] for name in names}, names)
    if items and all(isinstance(item, str) for item in items):
        raise InputError(
            "a flat list of texts is not a list of response sets",
            "write score([texts]) for one set, or score({prompt: responses, …})",
        )
    return [], items


def _with_prompts_of_index(table: Any) -> Any:
    """Make the index of a DataFrame or a Series columns if it has the prompts, as after `groupby("prompt")`."""
    columns = list(getattr(table, "columns", ()))
    if not any(name in _prompt_columns() and name not in columns for name in table.index.names):
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
    prompts = next((sets[name] for name in _prompt_columns() if name in sets), "")
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


def _prompt_columns() -> tuple[str, ...]:
    return *PROMPTS, "context", "prompts"  # McDiv's name, and that of TRL's reward functions


def _from_table(sets: Any, columns: Sequence[str]) -> tuple[list[Any], list[Any]]:
    """Prompts (empty if there are none) and responses of a table with a row per set, or a row per response."""
    column = _responses_column(columns)
    prompt_column = next((name for name in _prompt_columns() if name in columns), None)
    if twice := [name for name in (column, prompt_column) if sum(known == name for known in columns) > 1]:
        raise InputError(f"the table has two columns {twice[0]!r}", "rename one")
    _check_one_system(sets, columns)
    responses, prompts = _cells(sets[column]), [] if prompt_column is None else _cells(sets[prompt_column])
    if prompt_column is not None and len(prompts) != len(responses):
        count = counted(len(prompts), "prompt")
        message = f"the table has {count} in {prompt_column!r} and {len(responses)} rows in {column!r}"
        raise InputError(message, "give each row a prompt")
    if not any(isinstance(response, str) for response in responses):
        return prompts, responses
    if column in LISTS and all(isinstance(text, str) and text[:1] + text[-1:] == "[]" for text in responses):
        message = f"each row of {column!r} is a text, such as {responses[0][:40]!r}, not a list"
        raise InputError(message, "read the lists first, with json.loads or ast.literal_eval")
    if prompt_column is None:
        raise InputError(
            f"each row of the table has one response, in {column!r}, and no prompt",
            f"add a column {PROMPTS[0]!r}, or write score([texts]) for one set",
        )
    _check_prompts(prompts)
    for name in (*MORE_OF_A_PROMPT, IDS[0]):
        if name in columns:
            _check_same(prompt_column, prompts, name, _cells(sets[name]))
    by_prompt: dict[Any, list[Any]] = {}
    for prompt, text in zip(prompts, responses, strict=True):
        by_prompt.setdefault(prompt, []).append(text)
    return list(by_prompt), list(by_prompt.values())


def _responses_column(columns: Sequence[str]) -> str:
    """Name the column of responses of a table, or raise `InputError` if it is not clear."""
    known = [name for name in (*LISTS, *TEXTS) if name in columns]
    if not known:
        raise InputError(
            f"the table has no column of responses; it has {', '.join(map(str, columns))[:200]}",
            f"name the column {LISTS[0]!r}, or {TEXTS[0]!r} if each row has one response",
        )
    if len(known) > 1 and known[0] not in OURS:
        message = f"which column holds the responses? the table has {' and '.join(map(repr, known))}"
        raise InputError(message, f"rename it to {LISTS[0]!r}, or {TEXTS[0]!r} if each row has one response")
    return known[0]


def _check_same(prompt_column: str, prompts: Sequence[Any], name: str, cells: Sequence[Any]) -> None:
    """Raise `InputError` if rows with one prompt differ in a column that is part of it."""
    if len({*zip(prompts, map(str, cells), strict=True)}) > len({*prompts}):
        message = f"rows with the same {prompt_column!r} differ in {name!r}, so they have different prompts"
        raise InputError(message, "write both into a column 'prompt'")


def _check_one_system(sets: Any, columns: Sequence[str]) -> None:
    """Raise `InputError` if a table has the responses of several systems, or of one at several steps of training."""
    for name in (*MODELS, "system", *STEPS):  # columns that name what made a response
        if name in columns and len(several := dict.fromkeys(map(str, _cells(sets[name])))) > 1:
            what = "training steps" if name in STEPS else "systems"
            message = f"the table has responses of {len(several)} {what}, by its column {name!r}"
            raise InputError(message, f"score the rows of each separately: they have {', '.join(several)[:200]}")
