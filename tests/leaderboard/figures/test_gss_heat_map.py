"""The heat map of GSSBench: the numbers of its blocks, and untrusted names only as text."""

from benchmark.analysis.gss.accuracy import MEAN, Block, Row
from benchmark.scoring.estimate import Estimate
from leaderboard.figures.gss_heat_map import heat_map


def test_the_heat_map_has_the_numbers_of_its_blocks_and_names_as_text() -> None:
    cells = {"union": Estimate(0.75, 0.7, 0.8), MEAN: Estimate(0.5)}
    block = Block("<img src=x>", "org/<i>m</i>", (Row("semantic_entropy_discrete", cells, 10),))
    figure = heat_map([block, Block("no metrics", "", ())])
    (panel,) = figure.data
    columns = list(panel.x)
    assert [value for value in panel.z[0] if value is not None] == [0.75, 0.5]
    assert panel.customdata[0][columns.index("union")] == (
        "&lt;img src=x&gt;<br>semantic_entropy_discrete, union<br>0.750 [0.700, 0.800]"
    )
    assert list(panel.y) == ["semantic_<br>entropy_discrete"]
    assert figure.layout.annotations[0].text == "<b>&lt;img src=x&gt;</b><br><sup>org/&lt;i&gt;m&lt;/i&gt;</sup>"
