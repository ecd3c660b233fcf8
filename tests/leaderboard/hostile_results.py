"""Results in which every text that a stranger may choose is an injection."""

import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from benchmark.scoring.results import Result
from divbench.core.files import content_id, sha256_of
from tests.leaderboard.boards import load_boards
from tests.leaderboard.injections import INJECTIONS, NAMES


def hostile_results(results: Path, folder: Path) -> Path:
    """A system for each injection that a manifest takes as a name; the folder that they are written to.

    Names, submitters, models, licences, notes, prompts, categories and a folder's name are injections, and so are
    the responses.

    Args:
        results: With one system that answers with injections.
        folder: To fill.
    """
    (board,), _ = load_boards(results)
    given = next(entry for entry in board.entries if "onerror" in entry.result.manifest.name)
    table = pq.read_table(given.folder / "per_prompt.parquet")
    for name in ("prompt", "category"):
        texts = [INJECTIONS[place % len(INJECTIONS)] for place in range(len(table))]
        place = table.schema.get_field_index(name)
        table = table.set_column(place, table.schema.field(name), pa.array(texts, table.schema.field(name).type))
    for number, name in enumerate(NAMES):
        own = folder / f"{number}"
        shutil.copytree(folder / "0" if number else given.folder, own)
        if not number:  # the table is the same in all
            pq.write_table(table, own / "per_prompt.parquet")
        manifest = given.result.manifest
        changed: Result = given.result.model_copy(
            update={
                "result_id": content_id(name),
                "submission_id": content_id([name]),
                "per_prompt_sha256": sha256_of(own / "per_prompt.parquet"),
                "manifest": manifest.model_copy(
                    update={
                        "name": name,
                        "notes": INJECTIONS[number],
                        "submitter": manifest.submitter.model_copy(update={"name": name}),
                        "system": manifest.system.model_copy(update={"model_id": name, "licence": name}),
                    }
                ),
            }
        )
        (own / "result.json").write_text(changed.model_dump_json(), encoding="utf-8")
    (folder / "<img src=x onerror=window.hacked=1>").mkdir()  # named among what is not shown
    return folder
