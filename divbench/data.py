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
    names = [each.name for each in find_config(name)[1].splits]
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
    prompts, given = _prompts_and_responses(sets)
    if not given:
        raise InputError("there is no response set", "write score([[…], […]])")
    _check_prompts(prompts)
    labels = tuple(prompts) if prompts else numbered(len(given))
    texts = tuple(_texts(name, each) for name, each in zip(labels, given, strict=True))
    return labels, tuple(prompts) or ("",) * len(given), texts


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
    if hasattr(sets, "reset_index") and all(isinstance(each, str) for each in sets.index):  # a pandas Series by prompt
        return list(sets.index), list(sets)
    if not hasattr(sets, "__iter__") or getattr(sets, "ndim", 1) == 0:
        raise InputError(f"{type(sets).__name__} is not a list of response sets", "write score([[…], […]])")
    given = _cells(sets)
    if given and all(isinstance(each, Mapping) for each in given):  # the rows of a table
        names = list(dict.fromkeys(name for row in given for name in row))
        return _from_table({name: [row.get(name) for row in given] for name in names}, names)
    if given and all(isinstance(each, str) for each in given):
        raise InputError(
            "a flat list of texts is not a list of response sets",
            "write score([texts]) for one set, or score({prompt: responses, …})",
        )
    return [], given


def _with_prompts_of_index(given: Any) -> Any:
    """Make the index of a DataFrame or a Series columns if it has the prompts, as after `groupby("prompt")`."""
    columns = list(getattr(given, "columns", ()))
    if not any(name in _prompt_columns() and name not in columns for name in given.index.names):
        return given
    return (given if columns else given.rename(LISTS[0])).reset_index()


def _check_prompts(prompts: Sequence[Any]) -> None:
    for prompt in prompts:
        if not isinstance(prompt, str):
            raise InputError(f"a prompt is {prompt!r}, not a text", "write score({prompt: responses, …})")
        _check_characters(f"the prompt {prompt[:60]!r}", prompt)


def _texts(name: str, given: Any) -> tuple[str, ...]:
    if isinstance(given, str | bytes | Mapping) or not hasattr(given, "__iter__") or getattr(given, "ndim", 1) == 0:
        raise InputError(f"{name[:60]!r} has {type(given).__name__}, not a list of responses", "write a list of texts")
    if isinstance(given, Set):  # it dropped repeats, so its diversity is not that of the responses
        raise InputError(f"{name[:60]!r} has a {type(given).__name__}, which keeps no repeats", "write a list of texts")
    texts = tuple(_cells(given))
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
        said = f"{where} has an unpaired surrogate, which UTF-8 cannot encode"
        raise InputError(said, "write complete characters") from None


def _is_columns(sets: Mapping[Any, Any]) -> bool:
    """Whether a mapping is columns of a table, as in `{"prompt": […], "responses": [[…], […]]}`."""
    given = next((sets[name] for name in (*LISTS, *TEXTS) if name in sets), None)
    if given is None or isinstance(given, str) or not hasattr(given, "__len__"):
        return False
    asked = next((sets[name] for name in _prompt_columns() if name in sets), "")
    return not isinstance(asked, str) or not any(isinstance(each, str) for each in given)


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
    asked = next((name for name in _prompt_columns() if name in columns), None)
    if twice := [name for name in (column, asked) if sum(each == name for each in columns) > 1]:
        raise InputError(f"the table has two columns {twice[0]!r}", "rename one")
    _check_one_system(sets, columns)
    given, prompts = _cells(sets[column]), [] if asked is None else _cells(sets[asked])
    if asked is not None and len(prompts) != len(given):
        message = f"the table has {counted(len(prompts), 'prompt')} in {asked!r} and {len(given)} rows in {column!r}"
        raise InputError(message, "give each row a prompt")
    if not any(isinstance(each, str) for each in given):
        return prompts, given
    if column in LISTS and all(isinstance(each, str) and each[:1] + each[-1:] == "[]" for each in given):
        message = f"each row of {column!r} is a text, such as {given[0][:40]!r}, not a list"
        raise InputError(message, "read the lists first, with json.loads or ast.literal_eval")
    if asked is None:
        raise InputError(
            f"each row of the table has one response, in {column!r}, and no prompt",
            f"add a column {PROMPTS[0]!r}, or write score([texts]) for one set",
        )
    _check_prompts(prompts)
    for name in (*MORE_OF_A_PROMPT, IDS[0]):
        if name in columns:
            _check_same(asked, prompts, name, _cells(sets[name]))
    by_prompt: dict[Any, list[Any]] = {}
    for prompt, text in zip(prompts, given, strict=True):
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


def _check_same(asked: str, prompts: Sequence[Any], name: str, cells: Sequence[Any]) -> None:
    """Raise `InputError` if rows with one prompt differ in a column that is part of it."""
    if len({*zip(prompts, map(str, cells), strict=True)}) > len({*prompts}):
        message = f"rows with the same {asked!r} differ in {name!r}, so they have different prompts"
        raise InputError(message, "write both into a column 'prompt'")


def _check_one_system(sets: Any, columns: Sequence[str]) -> None:
    """Raise `InputError` if a table has the responses of several systems, or of one at several steps of training."""
    for name in (*MODELS, "system", *STEPS):  # columns that name what made a response
        if name in columns and len(several := dict.fromkeys(map(str, _cells(sets[name])))) > 1:
            what = "training steps" if name in STEPS else "systems"
            message = f"the table has responses of {len(several)} {what}, by its column {name!r}"
            raise InputError(message, f"score the rows of each separately: they have {', '.join(several)[:200]}")
