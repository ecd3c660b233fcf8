"""Metrics by agreement with people, as an HTML forest plot like that of the page Models. All values are escaped."""

from collections.abc import Callable, Sequence

from markupsafe import Markup

from leaderboard.tables.table_view import number_text
from leaderboard.tables.trust import Trusted

_TICKS = (-0.2, 0.0, 0.2, 0.4, 0.6, 0.8, 1.0)


def trust_table(rows: Sequence[Trusted], sentence: str, caption: str, link: Callable[[str], str]) -> Markup:
    """Render the sentence and the rows.

    Args:
        rows: Metrics, the best first.
        link: Function from a metric to the address of its details.
    """
    low = min([0.0, *(row.value if row.low is None else row.low for row in rows)]) - 0.04
    high = max([0.5, *(row.value if row.high is None else row.high for row in rows)]) + 0.04

    def at(value: float) -> float:
        return round(100 * (value - low) / (high - low), 2)

    ticks = Markup("").join(
        Markup('<text class="tick" x="{}%" y="38" text-anchor="middle">{}</text>').format(at(tick), f"{tick:g}")
        for tick in _TICKS
        if low < tick < high
    )
    head = Markup(
        '<thead><tr><th scope="col">metric</th><th scope="col" class="plot"><svg width="100%" height="42" '
        'aria-hidden="true">{}</svg></th><th scope="col" class="value">agreement</th>'
        '<th scope="col" class="paid">attacks rewarded</th></tr></thead>'
    ).format(ticks)
    body = Markup("").join(_row(row, at, link) for row in rows)
    return Markup(
        '<section class="forest"><p class="answer"><bdi>{}</bdi></p><table><caption><bdi>{}</bdi></caption>{}'
        "<tbody>{}</tbody></table></section>"
    ).format(sentence, caption, head, body)


def _row(row: Trusted, at: Callable[[float], float], link: Callable[[str], str]) -> Markup:
    interval: Markup | str = ""
    small: Markup | str = ""
    if row.low is not None and row.high is not None:
        interval = Markup('<line class="interval" x1="{}%" x2="{}%" y1="50%" y2="50%"/>').format(
            at(row.low), at(row.high)
        )
        small = Markup(" <small>[{}, {}]</small>").format(number_text(row.low, 2), number_text(row.high, 2))
    zero = at(0.0)
    drawn = Markup(
        '<svg class="model" width="100%" height="30" aria-hidden="true"><line class="across" x1="{zero}%" x2="{zero}%" '
        'y1="0" y2="100%"/><rect class="bar" x="{start}%" width="{width}%" y="40%" height="20%"/>{interval}'
        '<circle class="dot" cx="{at}%" cy="50%" r="5"/></svg>'
    ).format(
        zero=zero,
        start=min(zero, at(row.value)),
        width=round(abs(at(row.value) - zero), 2),
        interval=interval,
        at=at(row.value),
    )
    paid = Markup('<span class="none">–</span>')
    if row.paid is not None:
        paid = Markup("{} <small>{}</small>").format(row.paid or "none", row.worst)
    return Markup(
        '<tr><th scope="row"><a href="{link}" title="{about}"><bdi>{name}</bdi></a></th><td class="plot">{drawn}</td>'
        '<td class="value">{value}{small}</td><td class="paid">{paid}</td></tr>'
    ).format(
        link=link(row.metric),
        about=row.about,
        name=row.metric,
        drawn=drawn,
        value=number_text(row.value, 2),
        small=small,
        paid=paid,
    )
