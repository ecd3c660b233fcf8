"""Boards of the tests over folders of results, with or without a store beside them.

python -m tests.leaderboard.run_board RESULTS STORE PORT    the page Submit and the API, until it is told to stop
python -m tests.leaderboard.run_board                       boards on request: a line of JSON each, see `serve`
"""

import gc
import json
import os
import sys
import traceback
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import gradio as gr

from leaderboard.application import PAGES, Page, build_app, launch
from leaderboard.data.live_results import LiveResults
from leaderboard.data.reference.results import WithReference
from leaderboard.data.sources import FolderSource, Snapshot
from leaderboard.pages import submit
from submissions.judgements.vote_store import VoteSpool
from submissions.storage.file_store import FolderStore
from submissions.work_queue.operations import listing


class TakingSource(FolderSource):
    """A folder of results beside a store: submissions can be seen waiting without anybody scoring them."""

    def __init__(self, results: Path, store: FolderStore) -> None:
        super().__init__(results)
        self.store = store
        self._takes = store

    def read(self) -> Snapshot:
        return replace(super().read(), queue=listing(self._takes))


def results_of(
    results: str, store: str | None, study: str | None, *, reference: bool = False, votes: str | None = None
) -> LiveResults:
    folder = Path(results)
    source = TakingSource(folder, FolderStore(Path(store))) if store else FolderSource(folder)
    spool = VoteSpool(FolderStore(Path(votes)), Path(votes, "spool")) if votes else None
    shown = WithReference(source) if reference else source
    return LiveResults(shown, study=Path(study) if study else None, votes=spool)


def answer(boards: dict[str, gr.Blocks], asked: Mapping[str, Any]) -> dict[str, str]:
    """Serve a board at a port, or end one by its address."""
    if "close" in asked:
        boards.pop(asked["close"]).close(verbose=False)
        return {}
    pages = PAGES if asked["pages"] == "all" else (Page("Submit", "", submit.build),)
    given = asked["results"], asked["store"], asked["study"]
    live = results_of(*given, reference=asked["reference"], votes=asked["votes"])
    made = build_app(live, pages)
    url = launch(made, live, "127.0.0.1", asked["port"], pages=pages, wait=False).rstrip("/")
    boards[url] = made
    return {"url": url}


def serve() -> None:
    """Answer requests from stdin, a line of JSON each, on what was stdout; nothing else is written there."""
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    boards: dict[str, gr.Blocks] = {}
    gc.freeze()  # objects made by imports live on; the garbage collector would visit them with each new board
    for line in sys.stdin:
        try:
            reply = answer(boards, json.loads(line))
        except Exception:
            reply = {"error": traceback.format_exc()}
        replies.write(f"{json.dumps(reply)}\n")
        replies.flush()


if __name__ == "__main__":
    if len(sys.argv) == 1:
        serve()
    else:
        results, store, port = sys.argv[1:]
        live, pages = results_of(results, store, None), (Page("Submit", "", submit.build),)
        launch(build_app(live, pages), live, "127.0.0.1", int(port), pages=pages)
