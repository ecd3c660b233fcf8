"""Forest plots as HTML tables, with each value and interval drawn in its row: systems, and metrics by agreement.

Positions are attributes of SVG elements rather than inline styles, so the tables work under the strictest
Content-Security-Policy. The application and the static export show the same tables. The templates escape all values.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from markupsafe import Markup

from divbench.core.errors import counted, need
from divbench.core.tables import number
from leaderboard.data.board import Board
from leaderboard.tables.forest import Forest, Reference
from leaderboard.tables.trust import Trusted

_CLOSE = 22  # distance in percent of the scale below which two labels would overlap
_NAMED = 5  # maximum number of systems named as having no value
_LINES = 2  # reference lines across all rows: people, and the highest known-bad baseline
_TICKS = (-0.2, 0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
Link = Callable[[str], str]


@cache
def _template(name: str) -> Any:
    """Load a template; its line ends and indentation are left out of the page."""
    jinja = need("jinja2", "board")
    lines = (Path(__file__).parent / "templates" / name).read_text(encoding="utf-8").splitlines()
    environment = jinja.Environment(autoescape=True, undefined=jinja.StrictUndefined)
    return environment.from_string("".join(map(str.strip, lines)))


def forest_table(forest: Forest, link: Link | None = None) -> Markup:
    """Render the sentence and the table of systems.

    Args:
        link: Function from a system's permalink id to the address of its page; None: names are not links.
    """
    # Results that are not the source's own, by origin.
    said = [*(row.origin for row in forest.rows), *(each.origin for each in forest.references)]
    origins = Counter(filter(None, said))
    made = _template("forest.html").render(
        forest=forest, link=link, lines=_lines(forest), origins=sorted(origins.items()), close=_CLOSE, named=_NAMED
    )
    return Markup(made)  # noqa: S704 - the template escapes


def _lines(forest: Forest) -> tuple[Reference, ...]:
    """The references drawn across all rows: the first people and the best baseline."""
    people = [each for each in forest.references if each.type == "human"][:1]
    baselines = [each for each in forest.references if each.type == "baseline"][:1]
    return tuple([*people, *baselines][:_LINES])


def trust_table(rows: Sequence[Trusted], sentence: str, caption: str, link: Link | None = None) -> Markup:
    """Render the sentence and the table of metrics.

    Args:
        rows: Metrics, the best first.
        link: Function from a metric to the address of its details; None: names are not links.
    """
    low = min([0.0, *(row.value if row.low is None else row.low for row in rows)]) - 0.04
    high = max([0.5, *(row.value if row.high is None else row.high for row in rows)]) + 0.04

    def at(value: float) -> float:
        return round(100 * (value - low) / (high - low), 2)

    ticks = [tick for tick in _TICKS if low < tick < high]
    made = _template("trust.html").render(
        rows=rows, sentence=sentence, caption=caption, link=link, at=at, ticks=ticks, text=number
    )
    return Markup(made)  # noqa: S704 - the template escapes


def other_boards(board: Board, boards: Sequence[Board], address: Callable[..., str]) -> Markup:
    """Count the systems that only other boards of the suite have, with links to these boards.

    Args:
        address: Function from `table=` to the address of the page with that board.
    """
    here = {entry.result.submission_id for entry in board.entries}
    sentences = []
    for each in boards:
        there = {entry.result.submission_id for entry in each.entries}
        more = len(there - here)
        if each.suite != board.suite or not more:
            continue
        differs = {
            f"at k = {each.k}": each.k != board.k,
            f"with profile {each.profile}": each.profile != board.profile,
            f"at revision {each.revision[:6]}": each.revision != board.revision,
        }
        terms = " ".join(term for term, new in differs.items() if new)
        link = Markup('<a href="{}">the table {}</a>').format(address(table=each.name), terms)
        end = "."
        if here <= there:
            end = ", beside all of these."
        elif each.revision == board.revision:
            options = [f"--k {each.k}"] * (each.k != board.k)
            options += [f"--profile {each.profile}"] * (each.profile != board.profile)
            end = Markup(" (to join it, run <code>divbench score {}</code>).").format(" ".join(options))
        verb = "is" if more == 1 else "are"
        sentences.append(Markup("{} {} in {}{}").format(counted(more, "more system"), verb, link, end))
    return Markup('<p class="elsewhere">{}</p>').format(Markup(" ").join(sentences)) if sentences else Markup("")
