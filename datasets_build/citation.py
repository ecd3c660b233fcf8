"""The BibTeX entry of this package, in its installed version."""

from importlib.metadata import version


def divbench_citation(key: str = "divbench", note: str | None = None) -> str:
    """Return a BibTeX entry of this package.

    Args:
        key: Key of the entry; entries in one bibliography need different keys.
        note: Text of its field `note`; None for an entry without one.
    """
    fields = {
        "title": "DivBench: datasets, metrics and a leaderboard for the output diversity of language models",
        "author": "{The DivBench developers}",
        "version": version("divbench"),
        "license": "Apache-2.0",
        "year": "2026",
    } | ({} if note is None else {"note": note})
    lines = ",\n".join(f"  {name} = {{{text}}}" for name, text in fields.items())
    return f"@software{{{key},\n{lines}\n}}"
