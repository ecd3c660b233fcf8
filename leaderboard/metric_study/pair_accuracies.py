"""GSSBench's accuracies by model, metric and split as a closed record, from `divbench metrics gss`.

The cells are those of the heat map: strict accuracy by split and its means, and of the mean of splits
what ties at one half would give, how many are ties, and how many have no score.
"""

from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from benchmark.analysis.estimate import Estimate
from benchmark.analysis.gss.accuracy import BALANCED, HALF, MEAN, MISSING, TIES, Block, GssStudy, Row
from benchmark.analysis.metaeval.prompt_pairs import SPLITS
from leaderboard.metric_study.record import Line, MetricName, Number

WEIGHTED = "pair-weighted"
COLUMNS: tuple[str, ...] = (*SPLITS, MEAN, WEIGHTED, BALANCED, HALF, TIES, MISSING)
_MAX_BLOCKS, _MAX_ROWS = 100, 200
_PLACES = 4

# A model's name and what stands beneath it are a stranger's.
Title = Annotated[str, StringConstraints(max_length=400, pattern=r"^[^\x00-\x1f\x7f]*$")]
Kind = Literal["model", "references", "published"]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class PairRow(_Part):
    """A metric of a model, or a scorer that is known beforehand.

    Attributes:
        metric: Its id, or the reference's name.
        cells: By the names in `COLUMNS`; what is not known is not there.
        pairs: Both of whose prompts have a score; None where not known.
    """

    metric: MetricName
    cells: dict[str, Number] = Field(max_length=len(COLUMNS))
    pairs: Annotated[int, Field(ge=0)] | None

    @model_validator(mode="after")
    def _fits(self) -> Self:
        for name, number in self.cells.items():
            if name not in COLUMNS:
                raise ValueError(f"{self.metric}: there is no column {name[:40]!r}")
            if any(each is not None and not (-0.1 <= each <= 1.1) for each in number):
                raise ValueError(f"{self.metric}: {name} is no share of pairs")
        return self


class PairBlock(_Part):
    """Rows that stand together: of a model, of the references, of what was published of a model.

    Attributes:
        kind: Which of these.
        title: The model's name.
        beneath: More about it.
        rows: In the published order.
        signatures: By metric; of models scored here alone.
    """

    kind: Kind
    title: Title
    beneath: Title
    rows: list[PairRow] = Field(max_length=_MAX_ROWS)
    signatures: dict[MetricName, Line] = Field(default={}, max_length=_MAX_ROWS)

    @model_validator(mode="after")
    def _once(self) -> Self:
        names = [row.metric for row in self.rows]
        if len(set(names)) < len(names):
            raise ValueError(f"{self.title[:40]}: a metric stands twice")
        return self


class PairStudy(_Part):
    """`gssbench.json`.

    Attributes:
        suite: Of the prompts, with its revision.
        missing_as: What a pair with a missing score counts as.
        level: Of the intervals.
        resamples: Of sets of pairs, for them.
        seed: Of the resamples.
        blocks: Models first, then the references, then published numbers.
    """

    schema_version: Literal[1] = 1
    suite: Line
    missing_as: Literal["wrong", "left out"]
    level: Annotated[float, Field(gt=0, lt=1)]
    resamples: Annotated[int, Field(ge=1, le=1_000_000)]
    seed: int
    blocks: list[PairBlock] = Field(min_length=1, max_length=_MAX_BLOCKS)


def pair_study(report: GssStudy) -> PairStudy:
    """The record of a report of `divbench metrics gss`, numbers to four decimals."""
    published = {id(block) for block in report.published}
    made = []
    for block in report.blocks:
        signatures = {}
        if block.model is not None:
            known = {score.metric: str(score.signature) for score in block.model.model.result.scores}
            signatures = {row.metric: known[row.metric] for row in block.rows}
        made.append(
            PairBlock(
                kind="model" if block.model else "published" if id(block) in published else "references",
                title=block.title,
                beneath=block.beneath,
                rows=[
                    PairRow(
                        metric=row.metric,
                        cells={name: _number(each) for name, each in row.cells.items()},
                        pairs=row.pairs,
                    )
                    for row in block.rows
                ],
                signatures=signatures,
            )
        )
    return PairStudy(
        suite=report.suite,
        missing_as=report.missing_as,
        level=report.how.level,
        resamples=report.how.resamples,
        seed=report.how.seed,
        blocks=made,
    )


def blocks_of(study: PairStudy) -> tuple[Block, ...]:
    """The blocks as the tables and the heat map take them; the best mean of each is marked."""
    made = []
    for block in study.blocks:
        means = [row.cells[MEAN].value for row in block.rows if MEAN in row.cells]
        highest = max((mean for mean in means if mean is not None), default=None)
        rows = []
        for row in block.rows:
            cells = {name: Estimate(*number, None) for name, number in row.cells.items()}
            best = block.kind != "references" and highest is not None and cells[MEAN].value == highest
            rows.append(Row(row.metric, cells, row.pairs, best))
        made.append(Block(block.title, block.beneath, tuple(rows)))
    return tuple(made)


def drawn_blocks(study: PairStudy) -> tuple[Block, ...]:
    """The blocks that the heat map has: all but published ones, which the table has."""
    return tuple(made for made, block in zip(blocks_of(study), study.blocks, strict=True) if block.kind != "published")


def _number(found: Estimate) -> Number:
    return Number(*(None if each is None else round(each, _PLACES) for each in (found.value, found.low, found.high)))
