"""Many cases in one test: `each` loops inside where a grid would only multiply the names of tests."""

import inspect
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import ExitStack
from typing import Any

import pytest
from _pytest.mark.structures import ParameterSet

Test = Callable[..., None]


def each(
    names: str | Sequence[str], cases: Iterable[Any], *, ids: Callable[[Any], object] | Collection[str] | None = None
) -> Callable[[Test], Test]:
    """Call a test once for each case, as `pytest.mark.parametrize` would, but as one test.

    Every case has a `tmp_path` of its own, and its monkeypatches are undone after it. A note on a failure names its
    case. A case that skips does not keep the others from running: the test is reported as skipped when all have run.
    """
    keys = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    labels = list(ids) if isinstance(ids, Collection) else None
    known = list(cases)
    assert known, "a test without cases can't fail"

    def decorate(test: Test) -> Test:
        signature = inspect.signature(test)

        def loop(**fixtures: Any) -> None:
            skipped = []
            for number, case in enumerate(known):
                values = _values(case, len(keys))
                label = labels[number] if labels else (getattr(case, "id", None) or values)
                with ExitStack() as stack:
                    given = _for_one_case(fixtures, number, stack)
                    try:
                        test(**given, **dict(zip(keys, values, strict=True)))
                    except pytest.skip.Exception as skip:
                        skipped.append(f"{label!r:.100}: {skip.msg}")
                    except BaseException as error:
                        error.add_note(f"case {number} of {', '.join(keys)}: {label!r:.500}")
                        raise
            if skipped:
                pytest.skip(f"{len(skipped)} of {len(known)} cases: {'; '.join(skipped)}")

        loop.__name__, loop.__qualname__, loop.__doc__ = test.__name__, test.__qualname__, test.__doc__
        loop.__module__ = test.__module__
        loop.__dict__.update({key: value for key, value in vars(test).items() if key != "__wrapped__"})
        kept = [one for name, one in signature.parameters.items() if name not in keys]
        loop.__signature__ = signature.replace(  # type: ignore[attr-defined]
            parameters=[one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in kept]
        )
        return loop

    return decorate


def _values(case: Any, count: int) -> tuple[Any, ...]:
    if isinstance(case, ParameterSet):
        assert not case.marks, "a case in a loop has no marks"
        return tuple(case.values)
    return tuple(case) if count > 1 else (case,)


def _for_one_case(fixtures: Mapping[str, Any], number: int, stack: ExitStack) -> dict[str, Any]:
    given = dict(fixtures)
    if "tmp_path" in given:
        given["tmp_path"] = given["tmp_path"] / f"case-{number}"
        given["tmp_path"].mkdir()
    if "monkeypatch" in given:
        given["monkeypatch"] = stack.enter_context(pytest.MonkeyPatch.context())
    return given
