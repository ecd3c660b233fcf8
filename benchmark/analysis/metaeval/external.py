"""A metric of one's own, in a process of its own: it may raise, return nonsense or hang, and the rest goes on.

The function is given as `module:function` and called with the list of a set's responses, and with `context` where it
has a parameter of that name. It is the caller's own code and runs with the caller's rights; only its failures are kept
apart.
"""

import importlib
import inspect
import math
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from benchmark.metrics.metric import Missing
from benchmark.scoring.compute import Value
from datasets_build.errors import ConfigurationError

START_LIMIT = 300.0  # seconds to import what the function needs
_LONGEST_REASON = 200

External = Callable[..., Any]


def find_function(name: str) -> External:
    """The function that `module:function` names; the current folder is looked in first.

    Raises:
        ConfigurationError: The name has another form, the module cannot be imported, or has no such function.
    """
    module, _, attribute = name.partition(":")
    if not module or not attribute:
        raise ConfigurationError(f"{name!r} names no function", "write module:function, such as mymetrics:spread")
    sys.path.insert(0, os.getcwd())  # noqa: PTH109
    try:
        found = getattr(importlib.import_module(module), attribute)
    except ImportError as error:
        raise ConfigurationError(
            f"{module} cannot be imported: {error}", "install it, or run in the folder that has it"
        ) from error
    except AttributeError as error:
        raise ConfigurationError(f"{module} has no {attribute}", "name a function of that module") from error
    except Exception as error:
        raise ConfigurationError(
            f"importing {module} failed: {type(error).__name__}: {error}", "fix the module"
        ) from error
    finally:
        sys.path.pop(0)
    if not callable(found):
        raise ConfigurationError(f"{name} is not a function", "name a function that takes a list of responses")
    function: External = found
    return function


def takes_context(function: External) -> bool:
    """Whether it has a parameter named `context`."""
    try:
        return "context" in inspect.signature(function).parameters
    except (TypeError, ValueError):  # some functions written in C tell nothing
        return False


def score_externally(
    name: str,
    sets: Sequence[tuple[str, Sequence[str]]],
    *,
    time_limit: float = 60.0,
    progress: Callable[[int], None] = lambda done: None,
) -> list[Value]:
    """The function's value for each set, in a process that is killed and started anew when a set takes too long.

    Args:
        name: `module:function`.
        sets: The context and the responses of each.
        time_limit: Seconds that one set may take.
        progress: Callback for the number of sets done.

    Returns:
        For each set a finite number, or why there is none: `raised TypeError: …`, `not a number: …`, `not finite`,
        `over the time limit of … s`, `ended its process`.

    Raises:
        ConfigurationError: The function cannot be found, in the words of `find_function`.
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
        context = get_context("spawn")  # a fork would carry the threads of numpy and torch with it
        self._ours, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(name, theirs), daemon=True)
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
        """The function's value, why it has none, or None where nothing came within the limit."""
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


def _serve(name: str, connection: Connection) -> None:
    """Reply until the other side closes. What the function prints goes to stderr: stdout is for results."""
    os.dup2(2, 1)
    try:
        function = find_function(name)
    except ConfigurationError as error:
        connection.send((error.message, error.hint))
        return
    with_context = takes_context(function)
    connection.send(("ready",))
    with suppress(EOFError, KeyboardInterrupt):
        while True:
            context, responses = connection.recv()
            try:
                given = function(responses, context=context) if with_context else function(responses)
                found = as_number(given)
                reply = ("missing", found.reason) if isinstance(found, Missing) else ("value", found)
            except Exception as error:
                reply = ("missing", f"raised {type(error).__name__}: {error}"[:_LONGEST_REASON])
            connection.send(reply)


def as_number(given: Any) -> Value:
    """A number, or what it is instead. Zero-dimensional arrays and tensors are numbers; texts and truth values not."""
    if isinstance(given, str | bytes | bool | np.bool_) or given is None:
        return Missing(f"not a number: {type(given).__name__}")
    try:
        array = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        return Missing(f"not a number: {type(given).__name__}")
    if array.shape != ():
        return Missing(f"not a number: {array.size} values")
    value = float(array)
    return value if math.isfinite(value) else Missing(f"not finite: {value}")
