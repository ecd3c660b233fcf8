"""The tables that can be reproduced, completely or in part."""

import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from benchmark.analysis.reproduce import decan, gssbench, noveltybench, tevet
from benchmark.analysis.reproduce.cells import PUBLISHED, Known, Made, Reproduced, judge_all
from benchmark.analysis.reproduce.inputs import Inputs
from divbench.core.errors import ConfigurationError

KNOWN: tuple[Known, ...] = tuple(
    Known(table, row, column, printed, ours, each["reason"])
    for each in tomllib.loads((PUBLISHED / "known.toml").read_text(encoding="utf-8"))["differences"]
    for table, row, column, printed, ours in each["numbers"]
)


@dataclass(frozen=True, slots=True)
class PublishedTable:
    """A table of a paper."""

    id: str
    title: str
    make: Callable[[Inputs], Made]  # function that returns our value of each published number
    notes: tuple[str, ...] = ()


_AS_CODED = "OCA is computed as in the authors' code: in the better of both directions, with a slack of 1e-5."
_SETS = "The paper says 200 sets per task; 250, 220 and 200 were released."

TABLES: tuple[PublishedTable, ...] = (
    PublishedTable(
        "tevet-2",
        "Tevet & Berant, Table 2: decTest, Spearman's rho with temperature",
        tevet.decoding_test,
        (
            "rho is computed over all sets; the table has its mean over 100 random draws of 200 of them.",
            "absHDS is rated on 203 sets.",
        ),
    ),
    PublishedTable("tevet-4", "Tevet & Berant, Table 4: conTest", tevet.content_test_contest, (_AS_CODED, _SETS)),
    PublishedTable("tevet-8", "Tevet & Berant, Table 8: McDiv", tevet.content_test_mcdiv, (_AS_CODED,)),
    PublishedTable("tevet-9", "Tevet & Berant, Table 9: McDiv_nuggets", tevet.content_test_nuggets, (_AS_CODED,)),
    PublishedTable(
        "tevet-10",
        "Tevet & Berant, Table 10: 200 sets of McDiv_nuggets with human scores",
        tevet.content_test_nuggets_200,
        (_AS_CODED,),
    ),
    PublishedTable("decan-2", "D_Can, Table 2: conTest, McDiv_nuggets, McDiv", decan.content_test, (_AS_CODED,)),
    PublishedTable(
        "decan-3",
        "D_Can, Table 3: decTest",
        decan.decoding_test,
        (
            "The authors leave out one set of prompt_gen whose responses are blank; Tevet & Berant keep it, so their "
            "numbers are 0.742 for SentBERT and 0.912 for distinct-n.",
        ),
    ),
    PublishedTable("decan-4", "D_Can, Table 4: OLMo's stages, paired by prompt", decan.stages),
    PublishedTable("decan-5", "D_Can, Table 5: scenarios", decan.scenarios),
    PublishedTable("decan-7", "D_Can, Table 7: surprise of the first response by class", decan.confound),
    PublishedTable("gssbench-2", "GSSBench, Table 2: the mean accuracy over six datasets", gssbench.macro_average),
    PublishedTable(
        "gssbench-a10",
        "GSSBench, Table A10: accuracy on each dataset with its 95% margin",
        gssbench.by_dataset,
        ("Names of datasets and metrics are missing from the text that we read; we inferred them from Table 2.",),
    ),
    PublishedTable(
        "noveltybench-1",
        "NoveltyBench, Table 1: distinct and utility of 10 generations",
        noveltybench.models,
        (noveltybench.NOTE,),
    ),
)


def find_tables(names: Sequence[str]) -> list[PublishedTable]:
    """Return the tables with these ids, in the given order; all tables if none is named.

    Raises:
        ConfigurationError: There is no table with that id.
    """
    by_id = {table.id: table for table in TABLES}
    for name in names:
        if name not in by_id:
            raise ConfigurationError(f"there is no table {name!r} to reproduce", f"one of {', '.join(by_id)}")
    return [by_id[name] for name in dict.fromkeys(names)] or list(TABLES)


def reproduce_table(table: PublishedTable, inputs: Inputs) -> Reproduced:
    """Recompute a table and compare its cells.

    Raises:
        ConfigurationError: A file that the table needs is not available.
        InputError: A file has the wrong content.
    """
    known = [each for each in KNOWN if each.table == table.id]
    return Reproduced(
        table.id, table.title, judge_all(inputs.numbers(table.id), table.make(inputs), known), table.notes
    )
