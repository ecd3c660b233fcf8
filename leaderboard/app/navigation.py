"""The header and footer of every page: the navigation in four groups, and a line that says which results are shown."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import metadata, version
from urllib.parse import urlencode

from markupsafe import Markup

from datasets_build.sources.source import divbench_citation
from leaderboard.data.board import Board
from leaderboard.data.sources import Snapshot

GROUPS = ("Results", "Responses", "Methods", "Take part")
PAPER = "https://arxiv.org/abs/2606.01811"


@dataclass(frozen=True, slots=True)
class Link:
    """A page in the navigation: title, path (empty for the first page) and group, one of `GROUPS`."""

    title: str
    path: str
    group: str


def repository() -> str | None:
    """The repository's URL in the package's metadata; None if it has none."""
    for entry in metadata("divbench").get_all("Project-URL") or ():
        label, _, address = entry.partition(",")
        if label.strip().lower() in ("repository", "source", "homepage") and address.strip().startswith("https://"):
            return str(address.strip())
    return None


def navigation(pages: Sequence[Link], here: str, source: str | None = None) -> Markup:
    """The navigation: pages in groups, the repository and the paper; on narrow screens, a menu button opens it.

    Args:
        source: URL of the repository; None: the URL in the package's metadata.
    """
    groups = {group: [_page(page, here) for page in pages if page.group == group] for group in GROUPS}
    source = source or repository()
    outside = [("Code", source)] if source else []
    groups[GROUPS[-1]] += [
        Markup('<li><a href="{}" rel="noopener">{}</a></li>').format(address, name)
        for name, address in [*outside, ("Paper", PAPER)]
    ]
    lists = Markup("").join(
        Markup('<div class="group"><span aria-hidden="true">{}</span><ul aria-label="{}">{}</ul></div>').format(
            group, group, Markup("").join(links)
        )
        for group, links in groups.items()
        if links
    )
    return Markup(
        '<nav aria-label="Pages"><button type="button" class="menu" aria-expanded="false" aria-controls="pages">Menu'
        '</button><div id="pages">{}</div></nav>'
    ).format(lists)


def _page(page: Link, here: str) -> Markup:
    current = Markup(' aria-current="page"') if page.path == here else Markup("")
    return Markup('<li><a href="{}"{}>{}</a></li>').format(page.path or "./", current, page.title)


def footer(snapshot: Snapshot, given: Mapping[str, object]) -> Markup:
    """The footer: version, date, suite and k; CSV and API links, the citation, and a button to copy the link.

    Args:
        given: Choices on the page; *table* names the board; without it, the first board is used.
    """
    name = given.get("table")
    board = snapshot.board(name if isinstance(name, str) else None)
    said = [f"DivBench {version('divbench')}", f"results read on {snapshot.as_of:%Y-%m-%d %H:%M} UTC"]
    said += [f"{board.suite}, {board.terms}"] if board else []
    links = [Markup('<button type="button" class="copy-link" aria-live="polite">Copy link</button>')]
    links += [_csv(board)] if board else []
    links += [Markup('<a class="show-endpoints" href="./?view=api">API</a>')]
    return Markup(
        '<footer class="foot"><p>{}</p><div class="links">{}<details><summary>Cite</summary><pre tabindex="0">{}</pre>'
        "</details></div></footer>"
    ).format(" · ".join(said), Markup(" ").join(links), divbench_citation())


def _csv(board: Board) -> Markup:
    return Markup('<a href="board.csv?{}" download>CSV</a>').format(urlencode({"table": board.name}))
