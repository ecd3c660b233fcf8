"""Untrusted text as one short, printable line."""

from datasets_build.tables import printable


def shortened(text: str, length: int) -> str:
    r"""A text on one line and of so many letters at most, without what could drive a terminal or turn the text round.

    >>> shortened("one\n\ntwo", 20), shortened("a long text", 6), shortened("\x1b[31m", 20)
    ('one two', 'a lon…', '\\x1b[31m')
    """
    return cut(printable(" ".join(text.split())), length)


def cut(text: str, length: int) -> str:
    """A text of so many characters at most; an ellipsis stands for what was cut."""
    return text if len(text) <= length else f"{text[: length - 1]}…"
