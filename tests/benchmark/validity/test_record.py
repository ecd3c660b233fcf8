"""A record of judged responses keeps vectors and scores, grows, and refuses damaged files."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmark.validity.record import Judgement, load_record, prompt_key, quantised, record_of, save_record
from divbench.core.errors import InputError

RNG = np.random.default_rng(0)
VECTORS = RNG.normal(size=(4, 384))
JUDGED = [
    Judgement(prompt_key(prompt), system, quantised(vector), score)
    for prompt, system, vector, score in zip(("p", "p", "q", "p"), "abab", VECTORS, (7, 3, 4, 10), strict=True)
]


def test_a_record_comes_back_from_its_file_and_grows(tmp_path: Path) -> None:
    path, again = tmp_path / "record.npz", tmp_path / "again.npz"
    save_record(record_of(JUDGED[::-1]), path)
    record = load_record(path)
    assert record.judgements() == sorted(JUDGED, key=lambda one: (one.prompt, one.system, one.vector))
    save_record(record_of(record.judgements()), again)
    assert path.read_bytes() == again.read_bytes()
    more = record_of([*record.judgements(), replace(JUDGED[0], score=2), replace(JUDGED[0], system="c")])
    judged = more.judged("p")
    assert judged is not None
    assert sorted(judged.scores.tolist()) == [2, 3, 7, 10]


def test_cosines_of_quantised_vectors_are_nearly_those_of_the_vectors() -> None:
    judged = record_of(JUDGED).judged(" p\n")  # white space does not matter
    assert judged is not None
    units = VECTORS / np.linalg.norm(VECTORS, axis=1, keepdims=True)
    assert (judged.vectors @ units.T).max(axis=1) == pytest.approx([1, 1, 1], abs=1e-3)


def test_a_damaged_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "record.npz"
    path.write_bytes(b"PK\x03\x04 but no more")
    with pytest.raises(InputError, match="is no record"):
        load_record(path)
    save_record(replace(record_of(JUDGED), score=np.array([7, 3, 4, 11], np.int8)), tmp_path / "scores.npz")
    with pytest.raises(InputError, match="damaged"):
        load_record(tmp_path / "scores.npz")
