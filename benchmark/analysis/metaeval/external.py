"""Runs a user's own metric in a separate process, so that a metric that raises, hangs or crashes stops nothing else.

The function is given as `module:function` and called with the list of a set's responses, and with `context` if it has a
parameter of that name. It is the caller's code and runs with the caller's rights: its failures are isolated, but it is
not sandboxed.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from multiprocessing import get_context
from typing import Any

from benchmark.analysis.metaeval.called_function import number_in, serve
from benchmark.metrics.metric import Missing
from benchmark.scoring.inputs import Value
from divbench.core.errors import ConfigurationError

START_LIMIT = 300.0  # seconds to import what the function needs


def score_externally(
    name: str,
    sets: Sequence[tuple[str, Sequence[str]]],
    *,
    time_limit: float = 60.0,
    progress: Callable[[int], None] = lambda done: None,
) -> list[Value]:
    """Call the function on each set, in a process that is killed and restarted when a set takes too long.

    Args:
        name: `module:function`.
        time_limit: Seconds allowed for one set.

    Returns:
        For each set a finite number, or why it is missing: `raised TypeError: …`, `not a number: …`, `not finite`,
        `over the time limit of … s`, `ended its process`.

    Raises:
        ConfigurationError: The function cannot be found, as in `find_function`.
    """
    made: list[Value] = []
    worker: _Worker | None = None
    try:
        for done, (context, responses) in enumerate(sets):
            worker = worker or _Worker(name)
            value = worker.value(context, list(responses), time_limit)
            if value is None:
                value = Missing(f"over the time limit of {time_limit:g} s" if worker.alive else "ended its process")
                worker.stop()
                worker = None
            made.append(value)
            progress(done + 1)
    finally:
        if worker is not None:
            worker.stop()
    return made


class _Worker:
    """The process that calls the function."""

    def __init__(self, name: str) -> None:
        context = get_context("spawn")  # forking is unsafe with the threads of numpy and torch
        self._ours, theirs = context.Pipe()
        self._process = context.Process(target=serve, args=(name, theirs), daemon=True)
        self._process.start()
        theirs.close()
        greeting = self._receive(START_LIMIT)
        if greeting != ("ready",):
            self.stop()
            message, hint = greeting or (
                f"importing {name} took over {START_LIMIT:g} s or ended its process",
                "fix the function",
            )
            raise ConfigurationError(message, hint)

    @property
    def alive(self) -> bool:
        return self._process.is_alive()

    def value(self, context: str, responses: list[str], limit: float) -> Value | None:
        """Return the function's value or why it is missing; None if there was no reply within the limit."""
        with suppress(OSError):
            self._ours.send((context, responses))
        reply = self._receive(limit)
        if reply is None:
            return None
        kind, found = reply
        return float(found) if kind == "value" else Missing(str(found))

    def stop(self) -> None:
        self._process.kill()
        self._process.join()
        self._ours.close()

    def _receive(self, limit: float) -> Any:
        try:
            return self._ours.recv() if self._ours.poll(limit) else None
        except (EOFError, OSError):
            self._process.join(5)
            return None


def as_number(given: Any) -> Value:
    """Return what a function returned as a number, or as missing with the reason of `number_in`."""
    found = number_in(given)
    return Missing(found) if isinstance(found, str) else found
