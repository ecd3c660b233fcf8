"""A forest plot as an HTML table, with each system's value and interval drawn in its row. All values are escaped here.

Positions are attributes of SVG elements rather than inline styles, so the table works under the strictest
Content-Security-Policy. The application and the static export show the same table.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial

from markupsafe import Markup

from datasets_build.errors import counted
from leaderboard.data.board import Board
from leaderboard.tables.forest import Forest, ForestRow, Mark, Reference

_CLOSE = 22  # distance in percent of the scale below which two labels would overlap
_NAMED = 5  # maximum number of systems named as having no value
_LINES = 2  # reference lines across all rows: people, and the highest known-bad baseline
Link = Callable[[str], str]


def forest_table(forest: Forest, link: Link | None = None) -> Markup:
    """Render the sentence and the table.

    Args:
        link: Function from a system's permalink id to the address of its page; None: names are not links.
    """
    lines = _lines(forest)
    quality = Markup('<th scope="col" class="quality">{}</th>').format(forest.quality) if forest.quality else ""
    head = Markup(
        '<thead><tr><th scope="col" class="rank">rank</th><th scope="col">system</th>'
        '<th scope="col" class="plot">{axis}</th><th scope="col" class="value"><bdi>{metric}</bdi></th>{quality}</tr>'
        "</thead>"
    ).format(axis=_axis(forest, lines), metric=forest.metric, quality=quality)
    drawn = partial(_whisker, lines=lines, zero=forest.zero)
    body = Markup("").join(_row(row, drawn, link, bool(forest.quality)) for row in forest.rows)
    below = Markup("").join(_reference(each, drawn, link, bool(forest.quality)) for each in forest.references)
    return Markup(
        '<section class="forest"><p class="answer"><bdi>{sentence}</bdi></p>'
        '<table id="forest-table"><caption>{title}</caption>{head}<tbody>{body}</tbody>'
        '<tbody class="references">{below}</tbody></table>'
        "{more}{lacking}{origins}</section>"
    ).format(
        sentence=forest.sentence,
        title=forest.title,
        head=head,
        body=body,
        below=below,
        more=_more(forest),
        lacking=_lacking(forest),
        origins=_origins(forest),
    )


def _more(forest: Forest) -> Markup:
    """A checkbox that shows the folded rows, with CSS only; empty if no rows are folded."""
    folded = sum(each.folded for each in forest.references)
    if not folded:
        return Markup("")
    every = sum(each.type == "baseline" for each in forest.references)
    box = Markup('<p class="more"><label><input type="checkbox"/> Show all {} known-bad baselines</label></p>')
    return box.format(every)


def _lacking(forest: Forest) -> Markup:
    """A line that says which systems have no value; empty if all have."""
    count, names = len(forest.lacking), ", ".join(forest.lacking[:_NAMED])
    if not count:
        return Markup("")
    more = f" and {count - _NAMED} more" if count > _NAMED else ""
    have = "system has" if count == 1 else "systems have"
    return Markup('<p class="lacking origin">{} {} no such score: <bdi>{}</bdi>{}.</p>').format(
        count, have, names, more
    )


def _lines(forest: Forest) -> tuple[Reference, ...]:
    """The references drawn across all rows: the first people and the best baseline."""
    people = [each for each in forest.references if each.type == "human"][:1]
    baselines = [each for each in forest.references if each.type == "baseline"][:1]
    return tuple([*people, *baselines][:_LINES])


def _axis(forest: Forest, lines: tuple[Reference, ...]) -> Markup:
    labels = []
    above: float | None = None
    for each in lines:
        second = above is not None and abs(each.mark.at - above) < _CLOSE
        anchor = "start" if each.mark.at < 15 else "end" if each.mark.at > 85 else "middle"
        labels.append(
            Markup('<text class="{kind}" x="{x}%" y="{y}" text-anchor="{anchor}">{name}</text>').format(
                kind=each.type, x=each.mark.at, y=11 if not second else 24, anchor=anchor, name=each.system[:28]
            )
        )
        above = each.mark.at
    ticks = Markup("").join(
        Markup('<text class="tick" x="{x}%" y="38" text-anchor="middle">{text}</text>').format(x=x, text=text)
        for x, text in forest.ticks
    )
    return Markup('<svg width="100%" height="42" aria-hidden="true">{}{}</svg>').format(Markup("").join(labels), ticks)


def _whisker(mark: Mark, kind: str, *, lines: tuple[Reference, ...], zero: float) -> Markup:
    """A cell's drawing: reference lines, a bar from 0 (shown on narrow screens), the interval, the value.

    The cells beside it have the numbers.
    """
    across = Markup("").join(
        Markup('<line class="across {kind}" x1="{x}%" x2="{x}%" y1="0" y2="100%"/>').format(
            kind=each.type, x=each.mark.at
        )
        for each in lines
    )
    interval = ""
    if mark.low is not None and mark.high is not None:
        interval = Markup('<line class="interval" x1="{}%" x2="{}%" y1="50%" y2="50%"/>').format(mark.low, mark.high)
    return Markup(
        '<svg class="{kind}" width="100%" height="30" aria-hidden="true">'
        '<rect class="bar" x="{start}%" width="{width}%" y="30%" height="40%"/>'
        '{across}{interval}<circle class="dot" cx="{at}%" cy="50%" r="5"/></svg>'
    ).format(
        kind=kind,
        start=min(zero, mark.at),
        width=round(abs(mark.at - zero), 2),
        across=across,
        interval=interval,
        at=mark.at,
    )


def _row(row: ForestRow, draw: Callable[[Mark, str], Markup], link: Link | None, has_quality: bool) -> Markup:
    group = (
        " ".join(name for name, on in (("tied", True), ("opens", row.opens), ("closes", row.closes)) if on)
        if not (row.opens and row.closes)
        else "alone"
    )
    ranks = Markup(" <small>{}</small>").format(row.ranks) if row.ranks else ""
    mode = Markup(' <span class="chip"><bdi>{}</bdi></span>').format(row.mode) if row.mode else ""
    return _cells(
        Markup('<span class="{group}">{rank}{ranks}</span>').format(group=group, rank=row.rank, ranks=ranks),
        _name(row.system, row.id, link, row.origin) + mode,
        draw(row.mark, "model"),
        row.mark,
        row.quality if has_quality else None,
    )


def _reference(each: Reference, draw: Callable[[Mark, str], Markup], link: Link | None, has_quality: bool) -> Markup:
    said = {"human": "people", "baseline": "known-bad baseline"}[each.type]
    name = _name(each.system, each.id, link, each.origin) + Markup(' <span class="chip">{}</span>').format(said)
    quality = "" if has_quality else None
    return _cells("", name, draw(each.mark, each.type), each.mark, quality, folded=each.folded)


def _cells(
    rank: Markup | str, name: Markup, drawn: Markup, mark: Mark, quality: str | None, *, folded: bool = False
) -> Markup:
    interval = Markup(" <small>{}</small>").format(mark.interval) if mark.interval else ""
    last = (
        ""
        if quality is None
        else Markup('<td class="quality">{}</td>').format(quality or Markup('<span class="none">–</span>'))
    )
    return Markup(
        '<tr{folded}><td class="rank">{rank}</td><th scope="row">{name}</th><td class="plot">{drawn}</td>'
        '<td class="value">{value}{interval}</td>{last}</tr>'
    ).format(
        folded=Markup(' class="folded"') if folded else "",
        rank=rank,
        name=name,
        drawn=drawn,
        value=mark.text,
        interval=interval,
        last=last,
    )


def _name(system: str, system_id: str, link: Link | None, origin: str) -> Markup:
    title = Markup(' title="{}"').format(origin) if origin else ""
    if link is None:
        return Markup("<bdi{}>{}</bdi>").format(title, system)
    return Markup('<a href="{}"{}><bdi>{}</bdi></a>').format(link(system_id), title, system)


def _origins(forest: Forest) -> Markup:
    """The origins of results that are not the source's own, each with its number of rows."""
    said = [*(each.origin for each in forest.rows), *(each.origin for each in forest.references)]
    counted = Counter(filter(None, said))
    return Markup("").join(
        Markup('<p class="origin">{} of {} rows: {}.</p>').format(count, len(said), origin)
        for origin, count in sorted(counted.items())
    )


def other_boards(board: Board, boards: Sequence[Board], address: Callable[..., str]) -> Markup:
    """A line that counts the systems that only other boards of the suite have, with links to these boards.

    Args:
        address: Function from `table=` to the address of the page with that board.
    """
    here = {entry.result.submission_id for entry in board.entries}
    lines = []
    for each in boards:
        there = {entry.result.submission_id for entry in each.entries}
        more = len(there - here)
        if each.suite != board.suite or not more:
            continue
        terms = f"k = {each.k}" if each.k != board.k else each.terms
        link = Markup('<a href="{}">compare {} at {}</a>').format(
            address(table=each.name), "all" if here <= there else f"its {len(there)}", terms
        )
        hint = ""
        if not here <= there and each.k != board.k:
            hint = Markup(" (to add the others, run <code>divbench score --k {}</code>)").format(each.k)
        lines.append(Markup("{} only at {}; {}{}").format(counted(more, "system"), terms, link, hint))
    if not lines:
        return Markup("")
    return Markup('<p class="elsewhere">{}.</p>').format(Markup(". ").join(lines))
