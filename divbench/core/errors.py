"""Errors that the package raises when something outside it is wrong, and the exit status of a command for each.

DivBenchError
├── InputError            the given data is wrong              exit 1
└── ConfigurationError    the call or the machine is wrong     exit 2
    ├── UnknownSuite      there is no suite of that name
    └── MissingExtra      a library of an extra is not installed
"""

import pickle
from collections.abc import Iterable
from difflib import get_close_matches
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from pydantic import ValidationError

_FEW = 12  # names that fit into a hint


class DivBenchError(Exception):
    """A problem that the user can fix.

    Attributes:
        message: Description of the problem, with the file, row and field if there are any.
        hint: What to do about it.
    """

    exit_status: ClassVar[int] = 2

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(f"{message} ({hint})" if hint else message)
        self.message = message
        self.hint = hint

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle any subclass with its cause, whatever its `__init__` takes: a pool of processes hangs on others."""
        return type(self).__new__, (type(self), *self.args), self.__dict__ | {"__cause__": _picklable(self.__cause__)}

    def as_json(self) -> dict[str, Any]:
        """Return the error as `--json` prints it."""
        return {"error": {"kind": type(self).__name__, "message": self.message, "hint": self.hint}}


class InputError(DivBenchError):
    """The given data is wrong."""

    exit_status = 1


class ConfigurationError(DivBenchError):
    """The call is wrong, or the machine lacks what it needs."""


class UnknownSuite(ConfigurationError):
    """There is no suite of that name; in an untrusted manifest this is the submitter's mistake."""


class MissingExtra(ConfigurationError):
    """A needed library is not installed; an extra of the package installs it."""


def _picklable(error: BaseException | None) -> BaseException | None:
    """Return the exception if it survives pickling, else one with the same text."""
    try:
        pickle.loads(pickle.dumps(error))  # noqa: S301 - what was written in the same line
        return error
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")


def counted(number: int, noun: str, plural: str = "") -> str:
    """Return a number with its noun; `plural` is needed where it is not the noun with an s.

    >>> counted(1, "problem"), counted(1200, "problem"), counted(2, "class", "classes")
    ('1 problem', '1,200 problems', '2 classes')
    """
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"


def need(module: str, extra: str) -> ModuleType:
    """Import a library that an extra installs."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not (module == error.name or module.startswith(f"{error.name}.")):
            raise  # The library is installed; one of its own dependencies is not.
        raise _missing(error.name, extra) from error


def need_installed(module: str, extra: str) -> None:
    """Check that a library that an extra installs is there; it is not imported, which can take seconds."""
    if find_spec(module) is None:
        raise _missing(module, extra)


def _missing(module: str, extra: str) -> MissingExtra:
    return MissingExtra(f"{module} is not installed", f'install the extra that has it: pip install "divbench[{extra}]"')


def first_line(error: BaseException) -> str:
    """Return the first line of an error's message, up to 300 characters, or its type if the message is empty."""
    return next(iter(str(error).strip().splitlines()), type(error).__name__)[:300]


def first_fault(error: "ValidationError") -> str:
    """Return the first problem that pydantic found in a document: its field, if any, and what is wrong."""
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    fault = "unknown field" if first["type"] == "extra_forbidden" else first["msg"].removeprefix("Value error, ")
    return ": ".join(filter(None, (".".join(map(str, first["loc"])), fault)))


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return a hint for an unknown name: the nearest known ones, and all of them if they are few or none is near.

    >>> did_you_mean("mcdivv", ["contest", "mcdiv"])
    'did you mean mcdiv? One of contest, mcdiv'
    >>> did_you_mean("x", ["contest", "mcdiv"])
    'one of contest, mcdiv'
    """
    names = list(known)
    near = " or ".join(get_close_matches(str(name), names))  # a caller in Python may give anything, such as None
    listed = ", ".join(names)
    if not near:
        return f"one of {listed}"
    return f"did you mean {near}?" + (f" One of {listed}" if len(names) <= _FEW else "")
