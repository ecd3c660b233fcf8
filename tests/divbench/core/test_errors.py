"""Errors say what is wrong and what to do, and have an exit status."""

import pickle
from pathlib import Path

import pytest

from divbench.core.errors import ConfigurationError, DivBenchError, InputError, MissingExtra, need, need_installed


def test_a_missing_extra_is_named_by_an_import_and_by_a_look(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "installed_and_costly.py").write_text("raise RuntimeError\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert need("json.decoder", "score").__name__ == "json.decoder"
    need_installed("installed_and_costly", "board")
    for check, module in ((need, "no_such"), (need, "no_such.deeper"), (need_installed, "no_such")):
        with pytest.raises(MissingExtra, match=r'no_such is not installed .*pip install "divbench\[board\]"'):
            check(module, "board")


def test_need_does_not_blame_the_extra_for_a_broken_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # The library is installed; what it imports is not. To install the extra again would fix nothing.
    (tmp_path / "installed_but_broken.py").write_text("import nothing_of_that_name\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="nothing_of_that_name"):
        need("installed_but_broken", "score")


@pytest.mark.parametrize(
    ("kind", "status"), [(DivBenchError, 2), (InputError, 1), (ConfigurationError, 2), (MissingExtra, 2)]
)
def test_each_error_has_its_exit_status_and_its_json(kind: type[DivBenchError], status: int) -> None:
    error = kind("it is wrong", "fix it")
    assert error.exit_status == status
    assert (str(error), str(kind("it is wrong"))) == ("it is wrong (fix it)", "it is wrong")
    assert error.as_json() == {"error": {"kind": kind.__name__, "message": "it is wrong", "hint": "fix it"}}


def test_an_error_from_another_process_keeps_its_cause() -> None:
    class Local(Exception):
        """Not to be found by its name."""

    for cause, expected in ((MemoryError("none is left"), "none is left"), (Local("here alone"), "Local: here alone")):
        error = InputError("a metric failed", "fix it")
        error.__cause__ = cause
        received = pickle.loads(pickle.dumps(error))  # noqa: S301 - what was written in the same line
        assert (type(received), received.message, received.hint) == (InputError, "a metric failed", "fix it")
        assert str(received.__cause__) == expected
