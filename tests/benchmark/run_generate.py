"""`divbench` in a process of its own that is killed in the middle of a write to the journal.

Not a test: `python -m tests.benchmark.run_generate N STATEMENT generate …` from the repository's root kills it where
the N-th statement that begins so is about to be run: those before it in its transaction were, and none is written.
"""

import os
import signal
import sqlite3
import sys
from typing import Any

from divbench.command_line import main


def kill_at(number: int, statement: str) -> None:
    """Kill this process at a statement of any database."""
    connect, seen = sqlite3.connect, 0

    def watch(text: str) -> None:
        nonlocal seen
        seen += text.startswith(statement)
        if seen == number:
            os.kill(os.getpid(), signal.SIGKILL)

    def watched(*arguments: Any, **options: Any) -> sqlite3.Connection:
        made: sqlite3.Connection = connect(*arguments, **options)
        made.set_trace_callback(watch)
        return made

    sqlite3.connect = watched  # type: ignore[assignment]


if __name__ == "__main__":
    kill_at(int(sys.argv[1]), sys.argv[2])
    sys.argv = ["divbench", *sys.argv[3:]]
    main()
