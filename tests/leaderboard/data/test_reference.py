"""Reference results: the same numbers without texts, read like any others, and shown among them."""

import json
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import divbench as db
from benchmark.analysis.across import class_counts, pooled
from benchmark.metrics import METRICS, Metric
from benchmark.scoring.inputs import computed, input_of
from benchmark.scoring.per_prompt import FACTS, SURPRISALS, with_short_surprisals, write_text_free
from benchmark.scoring.results import PER_PROMPT_FILE, RESULT_FILE, Result, read_result
from benchmark.scoring.scorer import Options, result_id
from divbench.core.errors import InputError
from divbench.core.files import sha256_of
from leaderboard.data.board import Board, facts, make_boards, ranking_column
from leaderboard.data.measurements import measured_by
from leaderboard.data.reference.build import (
    PROFILE,
    Done,
    backends,
    finish,
    jobs,
    make_judged,
    make_reference,
    metrics_of,
)
from leaderboard.data.reference.results import WithReference, reference_results
from leaderboard.data.reference.systems import (
    ABOUT_FILE,
    ATTACKED,
    FOLDER,
    GROUPED,
    JUDGED,
    PEOPLE,
    REAL,
    SUITE,
    SYSTEMS,
    ReferenceSystem,
    make_submission,
)
from leaderboard.data.scores import NOT_INCLUDED, BoardScores, board_across, prompt_row
from leaderboard.data.sources import FolderSource, checked_result
from leaderboard.data.texts import NO_TEXTS
from leaderboard.pages.live_models import why_no_tokens
from leaderboard.pages.responses import make_view, prompts_of, remarks
from tests.leaderboard.boards import load_boards
from tests.leaderboard.stores import scored, scored_again


def of_name(folder: Path, name: str) -> Path:
    """The result of a system in a folder of results."""
    found = {path: read_result(path) for path in folder.iterdir()}
    return next(p for p, each in found.items() if isinstance(each, Result) and each.manifest.name == name)


@pytest.fixture(scope="module")
def reference(results: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two of the demonstration's results as reference results."""
    folder = tmp_path_factory.mktemp("reference")
    for name in ("varied", "repeated"):
        source = of_name(results, name)
        write_text_free(source, folder / source.name)
    (folder / ABOUT_FILE).write_text(json.dumps({"scored_on": "2026-11-22"}), encoding="utf-8")
    return folder


def board_of(*results: tuple[Path, Result]) -> Board:
    return make_boards(results)[0]


def test_a_result_without_texts_has_all_its_numbers(results: Path, reference: Path, tmp_path: Path) -> None:
    source = of_name(results, "varied")
    whole, bare = checked_result(source), checked_result(reference / source.name)
    assert isinstance(whole, Result)
    assert isinstance(bare, Result)
    digests = {"per_prompt_sha256": ""}
    assert whole.model_copy(update=digests) == bare.model_copy(update=digests)
    table, numbers = (pq.read_table(folder / PER_PROMPT_FILE) for folder in (source, reference / source.name))
    kept = [name for name in numbers.column_names if name != FACTS]
    assert set(table.column_names) - set(kept) == {"prompt", "responses"}
    assert numbers.select(kept).equals(table.select(kept))
    lists: Any = table["responses"].to_pylist()
    texts = [text for row in lists for text in row if len(text) > 20]
    written = (reference / source.name / PER_PROMPT_FILE).read_bytes() + repr(numbers.to_pylist()).encode()
    assert texts
    assert not any(text.encode() in written for text in texts)
    ours, theirs = (BoardScores(board_of(each)) for each in ((source, whole), (reference / source.name, bare)))
    for column in ours.board.columns:
        np.testing.assert_array_equal(ours.matrix(column), theirs.matrix(column))
    assert theirs.bytes_a_response() == ours.bytes_a_response()
    write_text_free(source, tmp_path / "again")
    assert sha256_of(tmp_path / "again" / PER_PROMPT_FILE) == bare.per_prompt_sha256
    with pytest.raises(InputError, match="there is no result in"):
        write_text_free(tmp_path, tmp_path / "none")


def test_surprisals_without_texts_are_of_single_precision() -> None:
    bits = {"unconditional_bits": [0.1, 2.0], "curve_bits": [1.0], "curve_rate": [1 / 3], "curve_rate_se": [None, 0.1]}
    table = pa.table({"d_can": [1 / 3, None], SURPRISALS: [{**bits, "bytes": [3], "estimator": "rows"}, None]})
    assert with_short_surprisals(table.select(["d_can"])).equals(table.select(["d_can"]))
    first, second = with_short_surprisals(table).to_pylist()
    assert first["d_can"] == 1 / 3
    assert first[SURPRISALS]["curve_bits"] is None
    assert (first[SURPRISALS]["bytes"], first[SURPRISALS]["estimator"]) == ([3], "rows")
    assert first[SURPRISALS]["unconditional_bits"] == [float(np.float32(0.1)), 2.0]
    assert first[SURPRISALS]["curve_rate"] == [float(np.float32(1 / 3))]
    assert first[SURPRISALS]["curve_rate_se"] == [None, float(np.float32(0.1))]
    assert second == {"d_can": None, SURPRISALS: None}


def test_reference_results_stand_among_others_once(results: Path, reference: Path, tmp_path: Path) -> None:
    alone = WithReference(None, reference).read()
    (board,) = alone.boards
    assert {entry.origin for entry in board.entries} == {"scored by DivBench on 2026-11-22 from released responses"}
    assert facts(board.entries[0])["origin"] == board.entries[0].origin
    own = FolderSource(results)
    source = WithReference(own, reference)
    both = source.read()
    assert [len(each.entries) for each in both.boards] == [len(load_boards(results)[0][0].entries)]
    assert {entry.origin for each in both.boards for entry in each.entries} == {""}  # the source's own come first
    assert both.unreadable == own.read().unreadable
    assert source.read().boards is both.boards  # nothing is made anew where nothing changed
    other = tmp_path / "results"
    other.mkdir()
    (varied := of_name(results, "paraphrased")).rename(other / varied.name)
    try:
        mixed = WithReference(FolderSource(other), reference).read().boards[0]
    finally:
        (other / varied.name).rename(varied)
    assert sorted((entry.result.manifest.name, bool(entry.origin)) for entry in mixed.entries) == [
        ("paraphrased", False),
        ("repeated", True),
        ("varied", True),
    ]


def test_beside_reference_results_own_boards_come_first_and_older_results_stay_known(
    results: Path, reference: Path, tmp_path: Path
) -> None:
    mine = next(each for each in scored(results) if each.result.manifest.name == "paraphrased")
    again = scored_again(mine, tmp_path / "results", 1)
    twice = scored_again(mine, tmp_path / "results", 2)
    own = FolderSource(tmp_path / "results")
    alone, beside = own.read().boards[0], WithReference(own, reference).read().boards[0]
    assert {*alone.entries[0].results} == {again.result.result_id, twice.result.result_id}
    assert [facts(entry) for entry in beside.entries if not entry.origin] == [facts(alone.entries[0])]
    few = WithReference(own, FOLDER).read().boards[0]
    assert [entry.origin for entry in few.entries] == [""]  # although the reference results' boards have more systems


def test_damaged_reference_results_are_named_and_none_are_no_fault(reference: Path, tmp_path: Path) -> None:
    (tmp_path / "broken").mkdir()
    (tmp_path / ABOUT_FILE).write_text(json.dumps({"scored_on": "2026-11-22"}), encoding="utf-8")
    assert [path.name for path in WithReference(None, tmp_path).read().unreadable] == ["broken"]
    assert reference_results(tmp_path / "nowhere").results == {}


def test_without_texts_a_prompt_shows_its_classes_and_says_why(results: Path, reference: Path) -> None:
    source = of_name(results, "varied")
    whole, bare = (checked_result(folder) for folder in (source, reference / source.name))
    assert isinstance(whole, Result)
    assert isinstance(bare, Result)
    views = []
    for board in (board_of((source, whole)), board_of((reference / source.name, bare))):
        entry = board.entries[0]
        prompts = prompts_of(entry)
        row = prompt_row(entry, prompts[3].prompt_id)
        assert row is not None
        views.append(make_view(board, entry, row))
        assert [prompt.text for prompt in prompts] == [prompt.text for prompt in prompts_of(board.entries[0])]
    ours, theirs = views
    assert {each.text for each in theirs.responses} == {NOT_INCLUDED}
    assert [replace(each, text="", notes=()) for each in ours.responses] == [
        replace(each, text="", notes=()) for each in theirs.responses
    ]
    assert theirs.scores == ours.scores
    assert theirs.prompt == ours.prompt  # the demonstration's prompts are in the package
    assert NO_TEXTS in remarks(theirs, "lexical")
    assert NO_TEXTS not in remarks(ours, "lexical")
    texts = [each.text for each in theirs.responses]
    assert why_no_tokens("offline", "", texts) == NO_TEXTS


def _label(result: Result) -> str:
    """The name of a result in the list of those that ship."""
    suite, name = result.suite, result.manifest.name
    system = next(each for each in (*SYSTEMS, *JUDGED) if (each.suite, each.name) == (suite, name))
    return Done(system, result.k, result.result_id, recognised=True, profile=result.profile).label


def test_what_ships_is_small_whole_and_without_texts() -> None:
    shipped = reference_results()
    assert shipped.unreadable == {}
    about = json.loads((FOLDER / ABOUT_FILE).read_bytes())
    named = {each.result_id: _label(each) for each in shipped.results.values()}
    assert named == about["results"]
    assert {path.name for path in shipped.results} == set(named)
    assert {f"{system.name}, k = 8" for system in REAL} <= set(named.values())
    judged = {f"{each.name}, k = {k}, noveltybench-{v}" for each in JUDGED for v in each.judged for k in (8, each.k)}
    assert judged == {label for label in named.values() if "noveltybench-1" in label}
    assert len(judged) == 35 * 2 + 26 * 2 + 1
    assert sum(path.stat().st_size for path in FOLDER.rglob("*")) < 16_000_000
    words = {"prompt_id", "category"}  # and reasons why a value is missing or a response is not valid
    for path in shipped.results:
        schema = pq.read_schema(path / PER_PROMPT_FILE)
        texts = {field.name for field in schema if "string" in str(field.type)}
        assert texts - words <= {"missing", "invalid", "finish_reasons", "surprisals"}  # surprisals: the estimator
        reasons = (
            pq.read_table(path / PER_PROMPT_FILE).select(sorted(texts & {"invalid", "finish_reasons"})).to_pydict()
        )
        said = {reason for column in reasons.values() for row in column for reason in row or () if reason is not None}
        assert max(map(len, said), default=0) < 60


def shipped_metrics() -> tuple[Metric, ...]:
    """The metrics that the results which ship have: all but those that were added since the last release."""
    labels = json.loads((FOLDER / ABOUT_FILE).read_bytes())["results"]
    scored = next(name for name, label in labels.items() if label == f"{GROUPED[0].key}, k = 8")
    columns = pq.read_schema(FOLDER / scored / PER_PROMPT_FILE).names
    return tuple(metric for metric in METRICS if metric.id in columns)


def shipped(system: ReferenceSystem, k: int, folder: Path, mirror: Path, metrics: tuple[Metric, ...]) -> pa.Table:
    """What ships of a system, found by the identity that its result has with today's code."""
    submission, suite = make_submission(system, folder, mirror)
    name = result_id(submission, suite, backends().profile, Options(k=k), metrics=metrics)
    known = json.loads((FOLDER / ABOUT_FILE).read_bytes())["results"]
    assert known.get(name) == f"{system.key}, k = {k}", "not of this code: run divbench board reference"
    return pq.read_table(FOLDER / name / PER_PROMPT_FILE)


def named(name: str) -> ReferenceSystem:
    return next(system for system in SYSTEMS if system.key == name)


@pytest.mark.mirror
@pytest.mark.thorough
def test_every_result_that_ships_is_of_this_code(mirror: Path, tmp_path: Path) -> None:
    assert len(json.loads((FOLDER / ABOUT_FILE).read_bytes())["results"]) == len(jobs()) + 123
    for place, (system, k) in enumerate(jobs()):
        assert shipped(system, k, tmp_path / str(place), mirror, metrics_of(system)).num_rows
    assert all(done.recognised for done in make_reference(jobs()[:1], FOLDER, backends()))


@pytest.mark.mirror
@pytest.mark.parametrize("name", ["People (8 authors)", "shuffled-words"])
def test_what_ships_is_what_the_code_computes(name: str, mirror: Path, tmp_path: Path) -> None:
    known = shipped_metrics()
    table: Any = shipped(named(name), 8, tmp_path / "submission", mirror, known).to_pylist()
    of_all = {row["prompt_id"]: row for row in table}
    submission, _ = make_submission(named(name), tmp_path / "again", mirror)
    # The shortest of twenty: how long the language model takes grows with the length.
    row = min(islice(submission.rows(), 20), key=lambda row: sum(map(len, row.responses[:8])))
    profile = backends().profile
    metrics = computed(profile.metrics(known))
    scores = db.score({row.prompt: row.responses[:8]}, [m.id for m in metrics], profile=profile, resamples=100)
    for metric in metrics:
        sources = input_of(metric).sources  # a model's last digits are the processor's
        close = 1e-3 if "causal_lm" in sources else 1e-5 if sources else 1e-12
        (value,) = scores.values[metric.id]
        number = value if isinstance(value, float) else None
        wanted = of_all[row.prompt_id][metric.id]
        assert number == (wanted if wanted is None else pytest.approx(wanted, abs=close, rel=close)), metric.id


@pytest.mark.mirror
def test_judged_values_that_ship_are_remade_to_the_byte(mirror: Path, tmp_path: Path) -> None:
    done = list(make_judged(tmp_path))
    finish(done, tmp_path, "2026-11-28")
    for result in done:
        for file in (RESULT_FILE, PER_PROMPT_FILE):
            ours = (tmp_path / result.result_id / file).read_bytes()
            assert ours == (FOLDER / result.result_id / file).read_bytes(), result.label


def test_judged_values_are_boards_of_their_own_with_the_published_means() -> None:
    boards = {(board.profile, board.k): board for board in WithReference().read().boards if board.suite == SUITE}
    assert [(m.label, m.board.profile, m.column.label) for m in measured_by(list(boards.values()), SUITE, 10)] == [
        ("judged by NoveltyBench 1.1", "noveltybench-1.1", "valid_distinct_k_reported"),
        ("estimated offline", "offline", "valid_distinct_k"),
        ("judged by NoveltyBench 1.0", "noveltybench-1.0", "valid_distinct_k_reported"),
        ("words", "offline", "distinct_n"),
    ]
    newest, before = boards["noveltybench-1.1", 10], boards["noveltybench-1.0", 10]
    assert next(iter(boards)) == ("noveltybench-1.1", 10)
    assert len({entry.result.manifest.name for entry in newest.entries}) == 35
    useful = {e.result.manifest.name: e.cells[c.signature] for e in newest.entries if (c := ranking_column(newest))}
    published = {"GPT-5.6 Sol, asked for a different one": 9.38, "Claude Opus 5": 3.10, "GPT-4o (2024-11-20)": 2.59}
    for name, value in published.items():
        assert useful[name].value == pytest.approx(value)
        assert (useful[name].low or 9) < value < (useful[name].high or 0)
    # The same system on several boards, as on that of what is scored here.
    systems = [{entry.system: entry.result.manifest.name for entry in each.entries} for each in (newest, before)]
    both = systems[0].items() & systems[1].items()
    assert len(both) == 23
    assert (ATTACKED.name, PEOPLE.name) == tuple(
        next(e.result.manifest.name for e in boards["offline", 8].entries if e.system == entry.system)
        for board, name in ((newest, ATTACKED.name), (boards["noveltybench-1.0", 8], PEOPLE.name))
        for entry in board.entries
        if entry.result.manifest.name == name
    )
    bare = [entry for entry in newest.entries if (entry.system, entry.result.manifest.name) not in both]
    assert len(bare) == 12
    assert {facts(entry)["responses"] for entry in bare} == {None}
    row = prompt_row(bare[0], "curated-17")
    assert row is not None
    assert row["responses"] == [NOT_INCLUDED] * 10
    assert np.isnan(BoardScores(newest).bytes_a_response()).sum() == 12


@pytest.mark.mirror
def test_texts_come_from_released_files_where_those_are_at_hand(mirror: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    board = next(each for each in WithReference().read().boards if (each.k, each.profile) == (8, PROFILE))
    entry = next(each for each in board.entries if each.result.manifest.name == PEOPLE.name)
    monkeypatch.setenv("DIVBENCH_MIRROR", str(mirror))
    row = prompt_row(entry, "curated-17")
    assert row is not None
    assert row["responses"][0] == "Durian"
    assert len(row["responses"]) == 8
    assert row["prompt"].startswith("What is the top item")
    assert not make_view(board, entry, row).text_free
    stranger = replace(entry, result=entry.result.model_copy(update={"submission_id": "0" * 16}))
    bare = prompt_row(stranger, "curated-17")
    assert bare is not None
    assert set(bare["responses"]) == {NOT_INCLUDED}  # texts are of this very submission, or none


def test_reference_systems_of_a_board_are_compared() -> None:
    for board in WithReference().read().boards:
        found = board_across(board)
        assert (found is None) == ((board.suite, board.profile) != (SUITE, PROFILE))
        if found is None:
            continue
        across, entries = found
        assert list(across.systems) == [s.name for s in GROUPED if s.k >= board.k]
        assert across.labels.shape == (len(across.prompts), len(entries), board.k)
        # Grouped with all others' responses, a system's responses are hardly fewer: the classes are the headline's.
        column = ranking_column(board)
        assert column is not None
        headline = [entry.cells[column.signature].value or 0.0 for entry in entries]
        alone = np.diagonal(pooled(class_counts(across), across.k), axis1=1, axis2=2).mean(axis=0)
        assert np.corrcoef(headline, alone)[0, 1] > 0.95
        assert np.isfinite(across.similarity).all()
    assert board_across(replace(board, k=3)) is None
