"""Count which files of other programs are read, and say why the others are not.

    python tests/submissions/ordinary_files.py OUT       writes them, with the writers of the environment it runs in
    python -m tests.submissions.ordinary OUT             reads each, and prints a table in Markdown

A file is *accepted* if it is read without a problem as a submission's generations, and *imported* if it is read so as a
table to import; either way it must hold the rows that were written. Exit status: 1 where one holds others.
"""

import argparse
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from divbench.core.console import err
from divbench.core.tables import Table, to_markdown
from submissions.schema import GENERATIONS
from submissions.untrusted.findings import Findings
from submissions.untrusted.parquet_files import open_parquet
from submissions.untrusted.table_files import read_table
from tests.submissions.ordinary_files import COLUMNS, TABLES, rows

Read = Callable[[Path, Findings], list[dict[str, Any]]]
OTHER_ROWS = "holds other rows"


def _as_generations(path: Path, findings: Findings) -> list[dict[str, Any]]:
    file = open_parquet(path, GENERATIONS, findings)
    return [] if file is None else [row for _, row in file.rows(findings)]


def _to_import(path: Path, findings: Findings) -> list[dict[str, Any]]:
    table = read_table(path, COLUMNS, findings)
    return [] if table is None else [row for _, row in table.rows]


WAYS: dict[str, Read] = {"accepted": _as_generations, "imported": _to_import}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path, metavar="OUT", help="folder with a folder of files for each writer")
    found = counted(sorted(parser.parse_args().out.glob("*/*.parquet")))
    versions: dict[str, list[str]] = {}
    for name in list(found):
        writer, _, version = name.partition(" ")
        versions.setdefault(writer, []).append(version)
        found[writer] = found.get(writer, Counter()) + found.pop(name)
    found["all"] = sum(found.values(), Counter())
    heads = ("files", *WAYS)
    lines: list[tuple[str | int, ...]] = [
        (writer, ", ".join(versions.get(writer, ())), *(counts[head] for head in heads))
        for writer, counts in found.items()
    ]
    sys.stdout.write(to_markdown(Table("", ("writer", "versions", *heads), lines, numbers=heads)) + "\n")
    return int(found["all"][OTHER_ROWS] > 0)


def counted(paths: Iterable[Path]) -> dict[str, Counter[str]]:
    """How many files of each writer there are, and how many are read in which way; of the rest stderr tells why."""
    tables = {name: rows(number, reasons=reasons) for name, (number, reasons) in TABLES.items()}
    found: dict[str, Counter[str]] = {}
    for path in paths:
        counts = found.setdefault(path.parent.name, Counter())
        counts["files"] += 1
        for way, read in WAYS.items():
            findings = Findings()
            held = sorted(read(path, findings), key=lambda row: str(row.get("prompt_id")))
            reasons = [f"{p.field}: {p.message}: {p.hint}" for p in findings.problems]
            if not reasons and held != tables[path.stem.rpartition(", ")[2]]:
                reasons = [OTHER_ROWS]
                counts[OTHER_ROWS] += 1
            counts[way] += not reasons
            if reasons:
                err().print(f"{path.parent.name}: {path.stem}: not {way}: {reasons[0]}", markup=False, soft_wrap=True)
    return found


if __name__ == "__main__":
    sys.exit(main())
