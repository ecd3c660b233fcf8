"""The header and footer of every page: the navigation in four groups, and a line that says which results are shown."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import metadata, version
from urllib.parse import urlencode

from markupsafe import Markup

from datasets_build.sources.source import divbench_citation
from leaderboard.data.sources import Snapshot

GROUPS = ("Results", "Responses", "Methods", "Take part")
PAPER = "https://arxiv.org/abs/2606.01811"
PAPER_BY = "Paper (Khoriaty et al.)"  # that of D_Can: the papers of all datasets and metrics are on the page About


@dataclass(frozen=True, slots=True)
class Link:
    """A page in the navigation: title, path (empty for the first page) and group, one of `GROUPS`."""

    title: str
    path: str
    group: str


def repository() -> str | None:
    """Return the repository's URL in the package's metadata; None if it has none."""
    for entry in metadata("divbench").get_all("Project-URL") or ():
        label, _, address = entry.partition(",")
        if label.strip().lower() in ("repository", "source", "homepage") and address.strip().startswith("https://"):
            return str(address.strip())
    return None


def navigation(pages: Sequence[Link], path: str) -> Markup:
    """Return the navigation: pages in groups, the repository and the paper; on narrow screens, below a menu button."""
    links: dict[str, list[Markup]] = {group: [] for group in GROUPS}
    for page in pages:
        current = Markup(' aria-current="page"') if page.path == path else Markup("")
        link = Markup('<li><a href="{}"{}>{}</a></li>').format(page.path or "./", current, page.title)
        links[page.group].append(link)
    for name, address in (("Code", repository()), (PAPER_BY, PAPER)):
        if address:
            links[GROUPS[-1]].append(Markup('<li><a href="{}" rel="noopener">{}</a></li>').format(address, name))
    lists = Markup("").join(
        Markup('<div class="group"><span aria-hidden="true">{}</span><ul aria-label="{}">{}</ul></div>').format(
            group, group, Markup("").join(items)
        )
        for group, items in links.items()
        if items
    )
    return Markup(
        '<nav aria-label="Pages"><button type="button" class="menu" aria-expanded="false" aria-controls="pages">Menu'
        '</button><div id="pages">{}</div></nav>'
    ).format(lists)


def footer(snapshot: Snapshot, choices: Mapping[str, object]) -> Markup:
    """Return the footer: version, date, suite and k of the chosen table; its files, the API, the citation, the link."""
    chosen = choices.get("table")
    board = snapshot.board(chosen if isinstance(chosen, str) else None)
    facts = [f"DivBench {version('divbench')}", f"results read on {snapshot.as_of:%Y-%m-%d %H:%M} UTC"]
    links = [Markup('<button type="button" class="copy-link" aria-live="polite">Copy link</button>')]
    if board:
        facts.append(f"{board.suite}, {board.terms}")
        for name, ending in (("CSV", "csv"), ("Parquet", "parquet")):
            address = f"board.{ending}?{urlencode({'table': board.name})}"
            links.append(Markup('<a href="{}" download>{}</a>').format(address, name))
    links.append(Markup('<a href="api">API</a>'))
    return Markup(
        '<footer class="foot"><p>{}</p><div class="links">{}<details><summary>Cite</summary><pre tabindex="0">{}</pre>'
        "</details></div></footer>"
    ).format(" · ".join(facts), Markup(" ").join(links), divbench_citation())
