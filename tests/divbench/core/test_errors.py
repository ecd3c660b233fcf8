"""Errors say what is wrong and what to do, and have an exit status."""

from pathlib import Path

import pytest

from divbench.core.errors import ConfigurationError, DivBenchError, InputError, MissingExtra, need, need_installed


def test_need_returns_an_installed_module() -> None:
    assert need("json.decoder", "score").__name__ == "json.decoder"


@pytest.mark.parametrize("module", ["nothing_of_that_name", "nothing_of_that_name.deeper"])
def test_need_names_the_missing_extra(module: str) -> None:
    with pytest.raises(MissingExtra) as caught:
        need(module, "board")
    assert caught.value.message == "nothing_of_that_name is not installed"
    assert 'pip install "divbench[board]"' in caught.value.hint
    assert caught.value.exit_status == 2


def test_a_library_may_be_asked_for_without_its_import(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "there_and_costly.py").write_text("raise RuntimeError\n")
    monkeypatch.syspath_prepend(tmp_path)
    need_installed("there_and_costly", "board")
    with pytest.raises(MissingExtra, match=r"is not installed .*divbench\[board\]"):
        need_installed("nothing_of_that_name", "board")


def test_need_does_not_blame_the_extra_for_a_broken_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # The library is installed; what it imports is not. To install the extra again would mend nothing.
    (tmp_path / "installed_but_broken.py").write_text("import nothing_of_that_name\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="nothing_of_that_name"):
        need("installed_but_broken", "score")


@pytest.mark.parametrize(
    ("kind", "status"), [(DivBenchError, 2), (InputError, 1), (ConfigurationError, 2), (MissingExtra, 2)]
)
def test_each_error_has_its_exit_status_and_its_json(kind: type[DivBenchError], status: int) -> None:
    error = kind("it is wrong", "mend it")
    assert error.exit_status == status
    assert str(error) == "it is wrong (mend it)"
    assert error.as_json() == {"error": {"kind": kind.__name__, "message": "it is wrong", "hint": "mend it"}}


def test_an_error_without_a_hint_says_only_what_is_wrong() -> None:
    assert str(InputError("it is wrong")) == "it is wrong"
