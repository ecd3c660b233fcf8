"""Word banks are read lazily, and each of them by a generator."""

import subprocess
import sys
from pathlib import Path

import pytest

import datasets_build
from datasets_build.scenarios.forms import forms
from datasets_build.word_banks import word_bank

ROOT = Path(datasets_build.__file__).parent


def test_every_word_bank_is_read_by_a_generator() -> None:
    # In a fresh process: what another test has read would stay in memory.
    program = (
        "import tomllib\n"
        "from datasets_build import gssbench, scenarios\n"
        "read, loads = [], tomllib.loads\n"
        "tomllib.loads = lambda text: read.append(text) or loads(text)\n"
        "assert not read\n"
        "for split in gssbench.SPLITS: list(gssbench.pairs(split))\n"
        "for split in scenarios.SPLITS: list(scenarios.rows(split))\n"
        "print(len(read), len(set(read)))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    banks = [*ROOT.glob("*/banks/*")]
    assert {path.suffix for path in banks} == {".toml"}
    assert done.stdout.split() == [str(len(banks))] * 2


def test_a_bank_is_a_list_of_words_a_shared_list_or_a_range_of_numbers() -> None:
    boats = word_bank("scenarios", "shared_words")["boats"]
    written = [form for name in ("sea_everyday_notes", "sea_verse_and_tales") for form in forms(name)]
    assert boats in [bank for form in written for bank in form.banks.values()]
    recipe = forms("about_bread")[0]
    assert recipe.banks["minutes"] == ["8", "9", "10", "11", "12"]
    assert recipe.banks["heat"] == ["210", "220", "230"]


def test_an_unknown_word_bank_is_an_error() -> None:
    with pytest.raises(FileNotFoundError):
        word_bank("gssbench", "nothing")
