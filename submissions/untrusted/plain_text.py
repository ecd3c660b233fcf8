"""Untrusted text as printable lines of bounded length: nothing in it can drive a terminal or change its direction."""

from datasets_build.tables import printable


def cut(text: str, length: int) -> str:
    """The text, shortened to a number of characters; an ellipsis stands for what was cut."""
    return text if len(text) <= length else f"{text[: length - 1]}…"


def one_line(text: str, length: int = 300) -> str:
    r"""A text as one printable line: each white-space character becomes a space, other control characters escapes.

    >>> one_line("a\n\x1b[31mb")
    'a \\x1b[31mb'
    """
    return cut(printable("".join(" " if letter.isspace() else letter for letter in text)).rstrip(), length)


def shortened(text: str, length: int) -> str:
    r"""A text as one printable line, with runs of white space collapsed.

    >>> shortened("one\n\ntwo", 20), shortened("a long text", 6), shortened("\x1b[31m", 20)
    ('one two', 'a lon…', '\\x1b[31m')
    """
    return cut(printable(" ".join(text.split())), length)
