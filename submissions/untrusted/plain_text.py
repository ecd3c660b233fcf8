"""Untrusted text as printable lines of bounded length, which cannot control a terminal or change text direction."""

from divbench.core.tables import printable


def cut(text: str, length: int) -> str:
    """Shorten a text to a number of characters, with an ellipsis in place of the rest."""
    return text if len(text) <= length else f"{text[: length - 1]}…"


def one_line(text: str, length: int = 300) -> str:
    r"""Return a text as one printable line: white-space characters become spaces, other control characters escapes.

    >>> one_line("a\n\x1b[31mb")
    'a \\x1b[31mb'
    """
    return cut(printable("".join(" " if letter.isspace() else letter for letter in text)).rstrip(), length)


def shortened(text: str, length: int) -> str:
    r"""Return a text as one printable line, with runs of white space collapsed.

    >>> shortened("one\n\ntwo", 20), shortened("a long text", 6), shortened("\x1b[31m", 20)
    ('one two', 'a lon…', '\\x1b[31m')
    """
    return cut(printable(" ".join(text.split())), length)
