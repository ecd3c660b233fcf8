"""A contrast as a file: Markdown for papers, CSV for spreadsheets, JSON for programs."""

import csv
import io
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmark.analysis.contrast.printing import ABOUT, COLUMNS, cells, heading, pair
from benchmark.analysis.contrast.study import Study
from benchmark.scoring.printing import ARROWS
from datasets_build.errors import ConfigurationError
from datasets_build.files import readable_json, write_text
from datasets_build.tables import escape_csv


def writer_of(path: Path) -> Callable[[Study], str]:
    """What makes a file of that ending: .md, .csv or .json.

    Raises:
        ConfigurationError: The ending is another, or the file cannot be written.
    """
    return WRITERS[ending_of(path, WRITERS)]


def ending_of(path: Path, endings: Iterable[str]) -> str:
    """The ending of a file that is to be written, one of these.

    Raises:
        ConfigurationError: The ending is another, or the file cannot be written.
    """
    if path.suffix not in endings:
        raise ConfigurationError(f"{path} ends neither of {', '.join(endings)}", "choose one of these endings")
    if path.is_dir() or not path.parent.is_dir():
        raise ConfigurationError(f"{path} cannot be written", "name a file in a folder that is there")
    return path.suffix


def write_study(study: Study, path: Path) -> None:
    """Write a study; the same study gives the same bytes.

    Raises:
        ConfigurationError: As in `writer_of`.
    """
    write_text(path, writer_of(path)(study))


def as_markdown(study: Study) -> str:
    """A table for each kind of texts."""
    lines = [f"{ABOUT} {study.resamples:,} resamples, seed {study.seed}; divbench {study.divbench}.", ""]
    for part in study.parts:
        lines += [f"**{inert(heading(study, part))}**", "", markdown_row("metric", "pair", *COLUMNS)]
        lines.append(markdown_row("---", "---", *["---:"] * (len(COLUMNS) - 1), "---"))
        lines += [
            markdown_row(f"`{line.metric}` {ARROWS[line.direction]}", pair(contrast), *cells(contrast))
            for line in part.lines
            for contrast in line.contrasts
        ]
        lines.append("")
    lines += ["Systems:", "", *(f"- {inert(name)}: `{origin}`" for name, origin in study.systems.items())]
    return "\n".join(lines) + "\n"


def as_csv(study: Study) -> str:
    """A row for each kind of texts, metric and pair, with all digits; what is missing is empty."""
    records = [
        {
            "length": part.length,
            "metric": line.metric,
            "version": line.version,
            "direction": line.direction,
            **asdict(contrast),
            "reasons": json.dumps(contrast.reasons, ensure_ascii=False),
            "signature": line.signature,
        }
        for part in study.parts
        for line in part.lines
        for contrast in line.contrasts
    ]
    return csv_text(list(records[0]), records)


def csv_text(heads: Sequence[str], records: Iterable[Mapping[str, Any]]) -> str:
    """Records as CSV, with texts that a spreadsheet would run made inert."""
    file = io.StringIO()
    rows = csv.DictWriter(file, heads, lineterminator="\n")
    rows.writeheader()
    for record in records:
        rows.writerow({key: escape_csv(value) for key, value in record.items()})
    return file.getvalue()


def as_json_text(study: Study) -> str:
    """All of it."""
    return readable_json(study.as_json())


WRITERS: dict[str, Callable[[Study], str]] = {".md": as_markdown, ".csv": as_csv, ".json": as_json_text}


def markdown_row(*texts: str) -> str:
    """A row of a table in Markdown."""
    return f"| {' | '.join(inert(text) for text in texts)} |"


def inert(text: str) -> str:
    """Strangers' text that neither breaks a table nor becomes HTML or a link."""
    for letter in "\\|<[*_" if not text.startswith("`") else "|":
        text = text.replace(letter, f"\\{letter}")
    return text
