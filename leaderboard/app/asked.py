"""What a visitor asks of a page: the choices in a link, or those on the page after one was changed."""

from collections.abc import Mapping


class Asked(dict[str, str]):
    """Choices by the names of their controls, as they are written in a URL. They are untrusted.

    Attributes:
        changed: Name of the control that the visitor changed; None: a link was opened.
    """

    def __init__(self, choices: Mapping[str, str] | None = None, changed: str | None = None) -> None:
        super().__init__(choices or {})
        self.changed = changed
