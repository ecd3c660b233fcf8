"""Write the forms for raters: one self-contained HTML page per rater, and a table for crowd platforms.

Untrusted texts are inert in both. A page needs neither a network nor a server. Its texts are embedded as JSON, which
the browser does not execute, and are shown as text nodes. Its content security policy allows only its own script.
"""

import base64
import csv
import hashlib
import html
import io
import json
from importlib.resources import files
from pathlib import Path
from typing import Any

from divbench.core.files import write_text
from divbench.core.tables import escape_csv, escape_markdown
from submissions.judgements.rating_forms import FORM_OF
from submissions.judgements.rating_study import Study, shown_to

FORMS_FOLDER = "forms"
CROWD_FILE = "crowd.csv"
INSTRUCTIONS_FILE = "instructions.md"


def write_pages(study: Study, folder: Path) -> list[Path]:
    """Write the page of each rater: forms/rater-001.html and so on."""
    (folder / FORMS_FOLDER).mkdir()
    width = max(3, len(str(len(study.assignment))))
    made = []
    for rater in range(len(study.assignment)):
        path = folder / FORMS_FOLDER / f"rater-{rater + 1:0{width}}.html"
        write_text(path, page(shown_to(study, rater)))
        made.append(path)
    return made


def page(shown: dict[str, Any]) -> str:
    """Return the HTML page of a rating form.

    Args:
        shown: Its data, from `shown_to`.
    """
    assets = files("submissions.judgements").joinpath("assets")
    style, script = (assets.joinpath(name).read_text("utf-8") for name in ("form.css", "form.js"))
    policy = (
        f"default-src 'none'; base-uri 'none'; form-action 'none'; style-src {_hash(style)}; script-src {_hash(script)}"
    )
    # It can contain neither "</script" nor "<!--", nor the line separators of JavaScript.
    data = json.dumps(shown, ensure_ascii=True).replace("<", "\\u003c").replace("&", "\\u0026")
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="referrer" content="no-referrer">\n'
        f"<title>Rating responses</title>\n<style>{style}</style>\n</head>\n<body>\n<main></main>\n"
        "<noscript>This form needs JavaScript.</noscript>\n"
        f'<script type="application/json" id="data">{data}</script>\n<script>{script}</script>\n</body>\n</html>\n'
    )


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def write_crowd_table(study: Study, folder: Path) -> Path:
    """Write the table for a crowd platform, one row per item, with checks among the others.

    Platforms insert cells into their templates as HTML, so texts are escaped; a cell that a spreadsheet would run as a
    formula gets an apostrophe.
    """
    form = FORM_OF[study.form]
    items = sorted((each for each in study.items if each.kind != "training"), key=lambda each: each.item)
    sizes = [max(len(each.panels[i]) for each in items) for i in range(len(form.panels))]
    names = ["response"] if len(sizes) == 1 else ["first", "second"]
    columns = ["study", "item", "context"]
    columns += [f"{name}_{i + 1}" for name, size in zip(names, sizes, strict=True) for i in range(size)]
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\n")
    writer.writerow(columns)
    for each in items:
        cells = [study.study, each.item, each.context]
        for panel, size in zip(each.panels, sizes, strict=True):
            cells += [*panel, *[""] * (size - len(panel))]
        writer.writerow([escape_csv(html.escape(cell)) for cell in cells])
    path = folder / CROWD_FILE
    write_text(path, written.getvalue())
    return path


def write_instructions(study: Study, folder: Path) -> Path:
    """Write the instructions and training examples of the pages, for a crowd platform's own page."""
    form = FORM_OF[study.form]
    lines = ["# Instructions", *form.instructions, "# Questions"]
    for question in form.questions:
        answers = [f"{i}. {text}" for i, text in enumerate(question.answers, 1)]
        lines += [f"**{question.name}**: {question.text}", "\n".join(answers)]
    for each in study.items:
        if each.kind == "training":
            lines += ["# Example", escape_markdown(each.context)]
            for heading, panel in zip(form.panels, each.panels, strict=True):
                lines += [f"{heading}:", "\n".join(f"- {escape_markdown(text)}" for text in panel)]
            wanted = [f"{name} {low} to {high}" for name, (low, high) in (each.expected or {}).items()]
            lines.append(f"Expected: {', '.join(wanted)}. {each.why}")
    path = folder / INSTRUCTIONS_FILE
    write_text(path, "\n\n".join(lines) + "\n")
    return path
