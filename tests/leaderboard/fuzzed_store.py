"""A folder of results with random damage: values of any kind, bytes flipped, files cut, emptied, swapped or gone.

python -m tests.leaderboard.fuzzed_store RESULTS --runs 100    every view of each damaged folder, up to the first fault
"""

import argparse
import hashlib
import json
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from benchmark.scoring.results import PER_PROMPT_FILE, RESULT_FILE
from divbench.core.files import content_id
from tests.leaderboard.extremes import Place, changed
from tests.leaderboard.views import every_view

VALUES: tuple[Any, ...] = (
    *(None, True, 0, -1, 1, 2**31, 10**400, -0.0, 0.5, 1e308, -1e308, "", " ", "x", "\x00", "\x1b[2J", "\u202e", "nan"),
    *("W" * 5000, "<img src=x onerror=alert(1)>", "../../etc/passwd", [], {}, [None], {"": None}, [[[[]]]]),
)

ODD: tuple[Any, ...] = (
    *(None, -1, 1e149, 1e308, "\u202e\x1b[2J", [], [None], [1e308, -1.0], [7, -1], ["\x00"], {}),
    *({"labels": [5, -1]}, {"labels": [0], "curve": [1e308, 1e308], "qualities": [1e308]}),
)


def damage(results: Path, folder: Path, rng: Random, copies: int) -> None:
    """Fill a folder with copies of results, each of them damaged once or twice; every copy says that it is another."""
    given = sorted(path.parent for path in results.glob(f"*/{RESULT_FILE}"))
    whole = [path for path in given if (path / PER_PROMPT_FILE).is_file()]
    for number in range(copies):
        own = folder / f"{number}"
        shutil.copytree(rng.choice(whole), own)
        document = json.loads((own / RESULT_FILE).read_bytes())
        document |= {"result_id": content_id([number]), "submission_id": content_id(number)}
        (own / RESULT_FILE).write_text(json.dumps(document), encoding="utf-8")
        for way in rng.choices(WAYS, k=rng.choice((1, 1, 2))):
            if all((own / name).is_file() for name in (RESULT_FILE, PER_PROMPT_FILE)):
                way(own, rng)


def _value(own: Path, rng: Random) -> None:
    """Another value somewhere in `result.json`."""
    document = _document(own)
    place = rng.choice(list(_places(document)))
    (own / RESULT_FILE).write_text(json.dumps(changed(document, place, rng.choice(VALUES))), encoding="utf-8")


def _document(own: Path) -> Any:
    try:
        found = json.loads((own / RESULT_FILE).read_bytes())
    except ValueError:  # bytes were flipped before
        return {}
    return found if isinstance(found, dict) else {}


def _places(value: Any, place: Place = ()) -> Iterator[Place]:
    """Places of a document as `changed` takes them: of a list its first element."""
    yield place
    inner = value.items() if isinstance(value, dict) else enumerate(value[:1]) if isinstance(value, list) else ()
    for key, each in inner:
        yield from _places(each, (*place, key))


def _column(own: Path, rng: Random) -> None:
    """A column of the table gone, of another type, of nulls, twice, or with its rows in another order."""
    path = own / PER_PROMPT_FILE
    try:
        table = pq.read_table(path)
    except (OSError, pa.ArrowException):
        return
    if not table.num_columns:
        return
    at = rng.randrange(table.num_columns)
    field, column = table.schema.field(at), table.column(at)
    name = field.name
    other: Callable[[], pa.Table] = rng.choice(
        (
            lambda: table.remove_column(at),
            lambda: table.set_column(at, field.with_nullable(True), pa.nulls(len(table), column.type)),
            lambda: table.set_column(at, name, pa.array(["x"] * len(table))),
            lambda: table.set_column(at, name, pa.array([rng.choice((1e308, -1e308, 0.0))] * len(table))),
            lambda: table.append_column(name, column),
            lambda: table.take(list(reversed(range(len(table))))),
            lambda: pa.concat_tables([table.slice(0, 1)] * len(table)),
            lambda: pa.concat_tables(
                [table.slice(1), table.slice(0, 1).set_column(at, field, _odd(column, rng, nullable=field.nullable))]
            ),
        )
    )
    pq.write_table(other(), path)
    if rng.random() < 0.8:  # else the digest tells
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        (own / RESULT_FILE).write_text(json.dumps(_document(own) | {"per_prompt_sha256": digest}), encoding="utf-8")


def _odd(column: Any, rng: Random, *, nullable: bool) -> Any:
    """A value of a column's type that is as odd as the type lets it be."""
    for value in rng.sample(ODD, len(ODD)):
        if value is None and not nullable:
            continue
        try:
            return pa.array([value], column.type)
        except (pa.ArrowException, TypeError, ValueError):
            continue
    return column.slice(0, 1)


def _bytes(own: Path, rng: Random) -> None:
    """Bytes of a file flipped, cut off, or all gone."""
    path = own / rng.choice((RESULT_FILE, PER_PROMPT_FILE))
    content = bytearray(path.read_bytes())
    for _ in range(rng.randrange(1, 20)):
        if content:
            content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
    kept = rng.choice((len(content), len(content), len(content) // 2, 0))
    path.write_bytes(content[:kept])


def _file(own: Path, rng: Random) -> None:
    """A file gone, a folder in its place, a link to nothing, or the other file's content."""
    name, other = rng.sample((RESULT_FILE, PER_PROMPT_FILE), 2)
    path = own / name
    way = rng.randrange(4)
    if way == 3:
        path.write_bytes((own / other).read_bytes())
        return
    path.unlink()
    if way == 1:
        path.mkdir()
    if way == 2:
        path.symlink_to(own / "gone")


WAYS: tuple[Callable[[Path, Random], None], ...] = (_value, _value, _value, _column, _column, _bytes, _file)


def main() -> None:
    """Damage and show, again and again."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", type=Path)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--copies", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    for run in range(given.seed, given.seed + given.runs):
        with tempfile.TemporaryDirectory() as folder:
            there, out = Path(folder, "results"), Path(folder, "out")
            out.mkdir()
            damage(given.results, there, Random(run), given.copies)  # noqa: S311
            try:
                shown = every_view(there, out)
            except Exception:
                sys.stderr.write(f"run {run}\n")
                raise
            sys.stdout.write(f"run {run}: {shown} of {given.copies} results shown\n")


if __name__ == "__main__":
    main()
