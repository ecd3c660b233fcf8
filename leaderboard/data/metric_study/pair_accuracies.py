"""The record of GSSBench's accuracies by model, metric and split, as computed by `divbench metrics gss`.

It has the cells of the heat map: strict accuracy on each split and its means; for the mean of splits also the accuracy
with ties counted as one half, and the shares of ties and of missing scores.
"""

from typing import Annotated, Literal, Self

from pydantic import Field, StringConstraints, model_validator

from benchmark.analysis.gss.accuracy import BALANCED, HALF, MEAN, MISSING, TIES, Block, GssStudy, Row
from benchmark.scoring.estimate import LEVEL, Estimate
from benchmark.scoring.internals_file import Part
from datasets_build.gssbench import SPLITS
from leaderboard.data.metric_study.record import Line, MetricName, Number, rounded

BUNDLED = "divbench/"  # prefix of the bundled model's id
WEIGHTED = "pair-weighted"
COLUMNS: tuple[str, ...] = (*SPLITS, MEAN, WEIGHTED, BALANCED, HALF, TIES, MISSING)
_MAX_BLOCKS, _MAX_ROWS = 100, 200
_PLACES = 4

# The names and descriptions of models are untrusted.
Title = Annotated[str, StringConstraints(max_length=400, pattern=r"^[^\x00-\x1f\x7f]*$")]
Kind = Literal["model", "references", "published"]


class PairRow(Part):
    """The accuracies of a model's metric or of a reference scorer."""

    metric: MetricName
    cells: dict[str, Number] = Field(max_length=len(COLUMNS))  # known numbers, by their names in `COLUMNS`
    pairs: Annotated[int, Field(ge=0)] | None  # number of pairs with both scores; None if unknown

    @model_validator(mode="after")
    def _fits(self) -> Self:
        for name, number in self.cells.items():
            if name not in COLUMNS:
                raise ValueError(f"{self.metric}: there is no column {name[:40]!r}")
            if any(each is not None and not (-0.1 <= each <= 1.1) for each in number):
                raise ValueError(f"{self.metric}: {name} is not a share of pairs")
        return self


class PairBlock(Part):
    """The rows of a model, of the references, or of a model's published results."""

    kind: Kind
    title: Title
    beneath: Title
    rows: list[PairRow] = Field(max_length=_MAX_ROWS)  # rows in the published order
    # Signatures by metric, for models scored here.
    signatures: dict[MetricName, Line] = Field(default={}, max_length=_MAX_ROWS)

    @model_validator(mode="after")
    def _once(self) -> Self:
        names = [row.metric for row in self.rows]
        if len(set(names)) < len(names):
            raise ValueError(f"{self.title[:40]}: a metric is repeated")
        return self


class PairStudy(Part):
    """The content of `gssbench.json`."""

    schema_version: Literal[1] = 1
    suite: Line
    missing_as: Literal["wrong"] = "wrong"  # a pair with a missing score
    level: Annotated[float, Field(gt=0, lt=1)]
    resamples: Annotated[int, Field(ge=1, le=1_000_000)]
    seed: int
    # Models, then references, then published numbers.
    blocks: list[PairBlock] = Field(min_length=1, max_length=_MAX_BLOCKS)


def pair_study(report: GssStudy) -> PairStudy:
    """Record a report of `divbench metrics gss`, rounded to four decimals."""
    published = {id(block) for block in report.published}
    made = []
    for block in report.blocks:
        signatures = {}
        if block.model is not None:
            known = {score.metric: str(score.signature) for score in block.model.model.aggregates}
            signatures = {row.metric: known[row.metric] for row in block.rows}
        made.append(
            PairBlock(
                kind="model" if block.model else "published" if id(block) in published else "references",
                title=block.title,
                beneath=block.beneath,
                rows=[
                    PairRow(
                        metric=row.metric,
                        cells={name: rounded(each, _PLACES) for name, each in row.cells.items()},
                        pairs=row.pairs,
                    )
                    for row in block.rows
                ],
                signatures=signatures,
            )
        )
    return PairStudy(
        suite=report.suite,
        level=LEVEL,
        resamples=report.how.resamples,
        seed=report.how.seed,
        blocks=made,
    )


def drawn_blocks(study: PairStudy) -> tuple[Block, ...]:
    """The blocks of the heat map: all except published ones, which only the table shows."""
    return tuple(
        Block(block.title, block.beneath, tuple(map(_row, block.rows)))
        for block in study.blocks
        if block.kind != "published"
    )


def _row(row: PairRow) -> Row:
    return Row(row.metric, {name: Estimate(*number) for name, number in row.cells.items()}, row.pairs)


def has_real_model(study: PairStudy | None) -> bool:
    """Whether the study includes a model other than the bundled one."""
    return study is not None and any(b.kind == "model" and not b.beneath.startswith(BUNDLED) for b in study.blocks)
