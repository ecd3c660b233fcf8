"""The files of the board of metrics: what was written is read, and what is damaged is refused by name."""

import json
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmark.analysis.gss.accuracy import MEAN, Block, GssStudy, evaluate, published_blocks
from benchmark.analysis.gss.pairs import sanity_scores
from benchmark.scoring.estimate import Resampling
from benchmark.scoring.profiles import find_profile
from datasets_build.gssbench import SPLITS
from divbench.core.errors import InputError
from leaderboard.data.metric_study.build import make_study
from leaderboard.data.metric_study.files import (
    MAX_STUDY_BYTES,
    TEXTS,
    disagreement_texts,
    read_record,
    read_texts,
    write_record,
    write_texts,
)
from leaderboard.data.metric_study.pair_accuracies import PairStudy, drawn_blocks, pair_study
from leaderboard.data.metric_study.record import MetricStudy
from leaderboard.figures.gss_heat_map import heat_map
from submissions.untrusted.findings import Rejected
from tests.benchmark.analysis.test_gss_report import PAIRS, REFERENCES, model, result
from tests.leaderboard.data.metric_study.test_build import scores, task

__all__ = ["result"]  # a fixture

TASKS = [task("contest/story_gen"), task("mcdiv/story_gen", seed=1, human=False)]
COLUMNS = [scores(name, TASKS, seed) for seed, name in enumerate(("distinct_n", "self_bleu", "ead"))]
STUDY = make_study(TASKS, COLUMNS, find_profile("lexical"), resampling=Resampling(resamples=30))
Change = Callable[[dict[str, Any]], object]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "metric_study.json"
    write_record(path, STUDY)
    return path


def test_what_was_written_is_read_and_the_same_study_has_the_same_bytes(file: Path, tmp_path: Path) -> None:
    assert read_record(file, MetricStudy) == STUDY
    write_record(tmp_path / "again.json", read_record(file, MetricStudy))
    assert (tmp_path / "again.json").read_bytes() == file.read_bytes()
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []
    document = json.loads(file.read_text())
    assert document["schema_version"] == 1
    assert max(map(len, file.read_text().splitlines())) < 1000
    assert not any(text in file.read_text() for text in ("one 1", "mcdiv/story_gen 1"))  # responses, contexts


def _first(document: dict[str, Any]) -> Any:
    return document["tasks"][0]["results"][0]["measures"]


DAMAGE: dict[str, tuple[Change, str]] = {
    "unknown field": (lambda d: d.update(colour="red"), "colour: unknown field"),
    "unknown version": (lambda d: d.update(schema_version=2), "schema_version"),
    "no metrics": (lambda d: d.update(metrics=[]), "metrics: List should have at least 1 item"),
    "a metric twice": (lambda d: d["metrics"].append(d["metrics"][0]), "metrics: distinct_n is repeated"),
    "a metric of no name": (lambda d: d["metrics"][0].update(name="<b>bold</b>"), "metrics.0.name"),
    "a strange metric": (
        lambda d: d["tasks"][0]["results"][0].update(metric="other"),
        "contest/story_gen: disagreements of distinct_n, which has no result",
    ),
    "a correlation of 2": (lambda d: _first(d).update(spearman=[2, 1, 3]), "distinct_n: spearman outside -1 … 1"),
    "a reversed interval": (lambda d: _first(d).update(spearman=[0.1, 0.5, 0.1]), "is reversed"),
    "an unknown measure": (lambda d: _first(d).update(beauty=[0.1, 0.0, 0.2]), "tasks.0.results.0.measures.beauty"),
    "half an interval": (lambda d: _first(d).update(spearman=[0.1, 0.0]), "tasks.0.results.0.measures.spearman"),
    "more evaluated than there are": (lambda d: d["tasks"][0].update(evaluated=25), "25 sets evaluated of 24"),
    "people who were not asked": (lambda d: d["tasks"][0].update(human=False), "no human scores"),
    "a rank below all": (
        lambda d: d["tasks"][0]["disagreements"]["ead"][0].__setitem__(3, 25),
        "ead ranks a set below all 24",
    ),
    "agreement of a strange metric": (
        lambda d: d["agreements"][0]["metrics"].__setitem__(0, "other"),
        "agreement over overall: other is not among the metrics",
    ),
    "no triangle": (lambda d: d["agreements"][0]["rho"].pop(), "not a triangle over 3 metrics"),
    "too many resamples": (lambda d: d.update(resamples=10**9), "resamples"),
    "a line break in a name": (lambda d: d["tasks"][0].update(label_name="a\nb"), "tasks.0.label_name"),
    "a path for a config": (lambda d: d["tasks"][0].update(config="../x"), "tasks.0.config"),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_a_damaged_study_is_refused_with_its_field(name: str, file: Path) -> None:
    change, message = DAMAGE[name]
    document = json.loads(file.read_text())
    change(document)
    file.write_text(json.dumps(document))
    with pytest.raises(InputError) as caught:
        read_record(file, MetricStudy)
    assert message in str(caught.value)
    assert str(file) in str(caught.value)
    assert "divbench metrics study" in caught.value.hint


BYTES: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "empty": (lambda _: b"", "the file is empty"),
    "cut off": (lambda given: given[: len(given) // 2], r"line \d+ column \d+"),
    "not UTF-8": (lambda given: given.replace(b"overall", b"\xff\xfe"), "utf-8"),
    "NaN": (lambda given: given.replace(b'"seed":0', b'"seed":NaN'), "NaN is not a JSON value"),
    "infinite": (lambda given: given.replace(b'"level":0.95', b'"level":1e999'), "level"),
    "an infinite score": (lambda given: re.sub(rb'"spearman":\[[^,]+', b'"spearman":[1e999', given), "finite number"),
    "a repeated key": (lambda given: given.replace(b'"seed":0', b'"seed":0,"seed":1'), "the key 'seed' is repeated"),
    "deep": (lambda given: b"[" * 100_000, "nested"),
    "a list": (lambda given: b"[]", "Input should be an object"),
    "too large": (lambda given: b" " * (MAX_STUDY_BYTES + 1), "bytes"),
}


@pytest.mark.parametrize("name", BYTES)
def test_bytes_that_are_no_study_are_refused(name: str, file: Path) -> None:
    change, message = BYTES[name]
    file.write_bytes(change(file.read_bytes()))
    with pytest.raises(InputError, match=message) as caught:
        read_record(file, MetricStudy)
    assert len(str(caught.value)) < 1000


def test_a_missing_file_and_what_is_not_a_regular_file_are_refused(tmp_path: Path, file: Path) -> None:
    (tmp_path / "link.json").symlink_to(file)
    for path in (tmp_path / "none.json", tmp_path, tmp_path / "link.json"):
        with pytest.raises(InputError, match="is missing or is not a regular file"):
            read_record(path, MetricStudy)


@given(place=st.floats(0, 1, exclude_max=True), byte=st.integers(0, 255), cut=st.booleans())
@settings(max_examples=150)
def test_whatever_byte_changes_it_is_a_study_or_refused(
    tmp_path_factory: pytest.TempPathFactory, place: float, byte: int, cut: bool
) -> None:
    path = tmp_path_factory.mktemp("byte") / "metric_study.json"
    write_record(path, STUDY)
    given = bytearray(path.read_bytes())
    at = int(place * len(given))
    given[at:] = given[at + 1 :] if cut else bytes([byte]) + given[at + 1 :]
    path.write_bytes(given)
    try:
        assert isinstance(read_record(path, MetricStudy), MetricStudy)
    except InputError as error:
        assert error.hint  # noqa: PT017 - both ends are good


def test_texts_of_disagreements_are_kept_apart_once_a_task(tmp_path: Path) -> None:
    rows = disagreement_texts(STUDY, TASKS)
    path = tmp_path / "disagreements.parquet"
    write_texts(path, rows)
    found = read_texts(path)
    first = STUDY.tasks[0]
    wanted = {("contest/story_gen", each.set_id) for worst in first.disagreements.values() for each in worst}
    assert set(found) == wanted
    assert len(rows) == len(wanted)
    place = TASKS[0].set_ids.index(first.disagreements["ead"][0].set_id)
    assert found["contest/story_gen", TASKS[0].set_ids[place]] == (TASKS[0].contexts[place], TASKS[0].responses[place])
    write_texts(path, [])
    assert read_texts(path) == {}


def test_damaged_texts_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "disagreements.parquet"
    with pytest.raises(InputError, match="there is no file"):
        read_texts(path)
    path.write_bytes(b"PAR1 nothing of the kind PAR1")
    with pytest.raises(Rejected):
        read_texts(path)
    columns: dict[str, list[Any]] = {"task": ["t"], "set_id": ["s"], "context": [None], "responses": [["a", None]]}
    loose = pa.schema([field.with_nullable(True) for field in TEXTS])
    pq.write_table(pa.table(columns, schema=loose), path)
    with pytest.raises(Rejected) as caught:
        read_texts(path)
    assert [(each.row, each.message) for each in caught.value.findings.problems] == [
        (1, "a field is null, or not UTF-8")
    ]
    pq.write_table(pa.table({"task": ["t"], "html": ["<b>"]}), path)
    with pytest.raises(Rejected) as caught:
        read_texts(path)
    assert {each.field for each in caught.value.findings.problems} == {"set_id", "context", "responses", "html"}
    write_texts(path, disagreement_texts(STUDY, TASKS))
    whole, rng = path.read_bytes(), random.Random(0)  # noqa: S311 - not for secrets
    for _ in range(60):
        given = bytearray(whole)
        given[rng.randrange(len(given))] ^= 1 << rng.randrange(8)
        path.write_bytes(given)
        try:
            read_texts(path)
        except InputError as error:
            assert str(error)  # noqa: PT017 - both ends are good


def _report(result: Any, *published: Block) -> GssStudy:
    how = Resampling(resamples=20)
    return evaluate(
        PAIRS, "gssbench@0", [model(result, "a <b>", "self_bleu", "ead")], REFERENCES, how, published=published
    )


def test_accuracies_on_pairs_come_back_as_the_blocks_of_the_heat_map(result: Any, tmp_path: Path) -> None:
    from benchmark.analysis.reproduce.cells import read_published

    report = _report(result, *published_blocks(read_published()["gssbench-a10"]))
    study = pair_study(report)
    path = tmp_path / "gssbench.json"
    write_record(path, study)
    assert read_record(path, PairStudy) == study
    assert [block.kind for block in study.blocks[:3]] == ["model", "references", "published"]
    assert set(study.blocks[0].signatures) == {"self_bleu", "ead"}
    back = drawn_blocks(study)
    for mine, theirs in zip(back, report.blocks[: len(back)], strict=True):
        assert (mine.title, mine.beneath) == (theirs.title, theirs.beneath)
        for one, other in zip(mine.rows, theirs.rows, strict=True):
            assert (one.metric, one.pairs) == (other.metric, other.pairs)
            assert one.cells.keys() == other.cells.keys()
            for name, cell in one.cells.items():
                assert cell.value == pytest.approx(other.cells[name].value, abs=5.1e-4)
    assert {split for block in back for row in block.rows for split in row.cells} >= {*SPLITS, MEAN}
    assert len(heat_map(report.blocks).data) == len(study.blocks) > len(back) == 2
    assert sanity_scores(PAIRS).keys() == {row.metric for row in back[1].rows}


def test_damaged_accuracies_are_refused(result: Any, tmp_path: Path) -> None:
    path = tmp_path / "gssbench.json"
    write_record(path, pair_study(_report(result)))
    changes: tuple[tuple[Change, str], ...] = (
        (lambda d: d["blocks"][0]["rows"][0]["cells"].update(sixth=[0, 0, 0]), "there is no column 'sixth'"),
        (lambda d: d["blocks"][0]["rows"][0]["cells"].update(subset=[7, 0, 0]), "subset is not a share of pairs"),
        (lambda d: d["blocks"][0].update(kind="winner"), "blocks.0.kind"),
        (lambda d: d["blocks"][0]["rows"].append(d["blocks"][0]["rows"][0]), "a metric is repeated"),
        (lambda d: d.pop("suite"), "suite: Field required"),
    )
    for change, message in changes:
        document = json.loads(path.read_text())
        change(document)
        bad = tmp_path / "bad.json"
        bad.write_text(json.dumps(document))
        with pytest.raises(InputError) as caught:
            read_record(bad, PairStudy)
        assert message in str(caught.value)
