"""The process that calls a user's function; see `external.py`.

It imports neither DivBench's metrics nor its schemas, so that restarting it after each failure is quick.
"""

import importlib
import inspect
import math
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from divbench.core.errors import ConfigurationError

_LONGEST_REASON = 200

External = Callable[..., Any]


def find_function(name: str) -> External:
    """Import the function named by `module:function`; the current folder is searched first.

    Raises:
        ConfigurationError: The name has another form, the module cannot be imported, or has no such function.
    """
    module, _, attribute = name.partition(":")
    if not module or not attribute:
        raise ConfigurationError(
            f"{name!r} does not name a function", "write module:function, such as mymetrics:spread"
        )
    sys.path.insert(0, os.getcwd())  # noqa: PTH109
    try:
        imported = importlib.import_module(module)
    except ImportError as error:
        raise ConfigurationError(
            f"{module} cannot be imported: {error}", "install it, or run in the folder that has it"
        ) from error
    except Exception as error:
        raise ConfigurationError(
            f"importing {module} failed: {type(error).__name__}: {error}", "fix the module"
        ) from error
    finally:
        sys.path.pop(0)
    found = getattr(imported, attribute, None)
    if found is None:
        raise ConfigurationError(f"{module} has no {attribute}", "name a function of that module")
    if not callable(found):
        raise ConfigurationError(f"{name} is not a function", "name a function that takes a list of responses")
    function: External = found
    return function


def takes_context(function: External) -> bool:
    """Whether it has a parameter named `context`."""
    try:
        return "context" in inspect.signature(function).parameters
    except (TypeError, ValueError):  # some functions written in C have no signature
        return False


def serve(name: str, connection: Connection) -> None:
    """Answer calls until the other side closes. The function's own output goes to stderr: stdout is for results."""
    os.dup2(2, 1)
    sys.path.insert(0, os.getcwd())  # noqa: PTH109 (for what the function imports only when it is called)
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
                found = number_in(given)
                reply = ("missing", found) if isinstance(found, str) else ("value", found)
            except Exception as error:
                reply = ("missing", f"raised {type(error).__name__}: {error}"[:_LONGEST_REASON])
            connection.send(reply)


def number_in(given: Any) -> float | str:
    """Return a number, or say what was returned instead. Zero-dimensional arrays are numbers.

    Text, bool, complex and masked values are not, alone or in an array: NumPy would convert them without an error.
    """
    if isinstance(given, str | bytes | bool) or given is None or given is np.ma.masked:
        return f"not a number: {type(given).__name__}"
    try:
        found = np.asarray(given)
        if found.dtype.kind not in "iufO" and found.size == 1:
            return f"not a number: {found.dtype.name}"
        array = found.astype(np.float64)
    except (TypeError, ValueError):
        return f"not a number: {type(given).__name__}"
    if array.shape != ():
        return f"not a number: {array.size} values"
    value = float(array)
    return value if math.isfinite(value) else f"not finite: {value}"
