"""Two response sets as HTML, side by side or, on narrow screens, one below the other. All texts are escaped."""

from collections.abc import Sequence

from markupsafe import Markup


def response_sets(
    prompt: str, left: Sequence[str], right: Sequence[str], titles: tuple[str, str] = ("Left set", "Right set")
) -> Markup:
    """Render a prompt and two response sets, whole; a script may move the focus to them.

    Args:
        titles: Headings; untrusted names, once they may be seen.
    """
    return Markup(
        '<div class="pair" tabindex="-1"><h2>Prompt</h2><p class="asked" dir="auto" lang="">{}</p>'
        '<div class="sets">{}{}</div></div>'
    ).format(prompt, _set(titles[0], left), _set(titles[1], right))


def _set(title: str, responses: Sequence[str]) -> Markup:
    items = Markup("").join(Markup('<li><p dir="auto" lang="">{}</p></li>').format(_shown(text)) for text in responses)
    return Markup("<section><h2><bdi>{}</bdi></h2><ol>{}</ol></section>").format(title, items)


def _shown(text: str) -> str | Markup:
    return text if text.strip() else Markup("<em>(blank)</em>")
