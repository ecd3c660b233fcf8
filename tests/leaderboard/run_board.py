"""A server with the page Submit and the endpoints of the API, over a folder of results and a store.

python -m tests.leaderboard.run_board RESULTS STORE PORT
"""

import sys
from dataclasses import replace
from pathlib import Path

from leaderboard.app import api
from leaderboard.app.application import build_app, launch
from leaderboard.app.pages import Page, submit
from leaderboard.data.live_results import LiveResults
from leaderboard.data.sources import FolderSource, Snapshot
from submissions.storage.folder_store import FolderStore
from submissions.work_queue.operations import listing


class TakingSource(FolderSource):
    """A folder of results beside a store: nobody need score what is handed in for it to be seen waiting."""

    def __init__(self, results: Path, store: FolderStore) -> None:
        super().__init__(results)
        self.store = store
        self._takes = store

    def read(self) -> Snapshot:
        return replace(super().read(), queue=listing(self._takes))


def main(results: str, store: str, port: str) -> None:
    folder = Path(results)
    live = LiveResults(TakingSource(folder, FolderStore(Path(store))) if store else FolderSource(folder))
    app = build_app(live, (Page("Submit", "", submit.build),))
    if not any(each.api_name == api.NAMES[0] for each in app.fns.values()):
        with app:
            api.register(live)
    launch(app, "127.0.0.1", int(port))


if __name__ == "__main__":
    main(*sys.argv[1:])
