"""A loop of cases calls its test once for each, apart from the others, and a failure names its case."""

from pathlib import Path

import pytest

from tests.cases import each

CALLS: list[tuple[int, str]] = []
VALUES = {"one": 1}


@each("a, b", [(1, "x"), pytest.param(2, "y", id="second")])
@each("c", ["-"])
def test_each_case_is_called_in_a_folder_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, a: int, b: str, c: str
) -> None:
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "made").touch()
    assert VALUES == {"one": 1}
    monkeypatch.setitem(VALUES, "two", 2)
    CALLS.append((a, b + c))


def test_all_cases_were_called() -> None:
    assert CALLS == [(1, "x-"), (2, "y-")]
    assert VALUES == {"one": 1}


def test_a_failure_names_its_case() -> None:
    @each("number", [1, 2, 3], ids=["I", "II", "III"])
    def only_small(number: int) -> None:
        assert number < 2

    with pytest.raises(AssertionError) as caught:
        only_small()
    assert caught.value.__notes__ == ["case 1 of number: 'II'"]


def test_a_skipped_case_skips_no_other() -> None:
    ran = []

    @each("number", [1, 2, 3])
    def skips_two(number: int) -> None:
        if number == 2:
            pytest.skip("even")
        ran.append(number)

    with pytest.raises(pytest.skip.Exception, match=r"1 of 3 cases: \(2,\): even"):
        skips_two()
    assert ran == [1, 3]
