"""What there is to see of one prompt: exactly the responses that were handed in, and the numbers of the result."""

from collections import Counter
from dataclasses import replace
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from benchmark.metrics import Unscorable
from benchmark.metrics.surprisal import curve_rate
from benchmark.scoring.profiles import find_profile
from benchmark.scoring.results import PER_PROMPT_FILE
from benchmark.surprisal.engine import ResponseSet, SetSurprisals, SurprisalReader
from divbench.core.errors import InputError
from leaderboard.data.board import REFERENCE_TYPES, Board, Entry, frame
from leaderboard.data.kinds import KINDS, kind_of
from leaderboard.data.scores import prompt_row
from leaderboard.pages.explore import ANY, matching
from leaderboard.pages.responses import (
    MOST_LETTERS,
    ListedPrompt,
    PromptView,
    curve_table,
    make_view,
    notes_of,
    prompts_of,
    remarks,
    responses_table,
    scores_table,
    summary,
)
from leaderboard.pages.systems import find_entry, first_entry, system_choices, system_ids
from submissions.checking.validate import open_submission
from tests.benchmark.fakes import HashLM
from tests.leaderboard.boards import load_boards
from tests.leaderboard.read_results import ODD, odd_results

PROMPTS = [ListedPrompt(f"p-{i}", "odd" if i % 2 else "even", f"Say {i}, <b>please</b>") for i in range(25)]


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return odd_results(tmp_path_factory.mktemp("odd"))


@pytest.fixture(scope="module")
def board(odd: Path) -> Board:
    return load_boards(odd)[0][0]


def entry_of(board: Board, name: str) -> Entry:
    return next(entry for entry in board.entries if entry.result.manifest.name == name)


def seen(board: Board, name: str, prompt_id: str = "demo-00") -> PromptView:
    entry = entry_of(board, name)
    row = prompt_row(entry, prompt_id)
    assert row is not None
    return make_view(board, entry, row)


def test_responses_are_those_of_the_submission_in_their_order(board: Board, odd: Path) -> None:
    for name in ("varied", "odd"):
        submission, _, _ = open_submission(odd.parent / "submissions" / name)
        for row in submission.rows():
            view = seen(board, name, row.prompt_id)
            assert tuple(answer.text for answer in view.responses) == row.responses
            assert [answer.number for answer in view.responses] == list(range(1, 11))
            table = responses_table(view).frame()
            numbers = [int(number) for number in table["#"]]
            assert list(table["response"]) == [row.responses[number - 1] for number in numbers]
            groups = [view.responses[number - 1].group for number in numbers]
            assert sorted(numbers) == list(range(1, 11))
            assert groups == sorted(groups, key=lambda group: (group is None, group or 0))  # one class after the other


def test_surprisals_belong_to_the_answers_around_what_is_no_answer(board: Board) -> None:
    view = seen(board, "odd")
    answers = tuple(text for text in ODD if text.strip() and text != "[Blocked]")
    profile = find_profile("offline")
    (read,) = SurprisalReader(HashLM(), profile.layout, profile.orders).read([ResponseSet(view.prompt.text, answers)])
    assert isinstance(read, SetSurprisals)
    found = iter(read.surprisals.unconditional.tolist())
    for answer in view.responses:
        if answer.number in {2, 3}:
            assert answer.bits is None
            assert answer.rate is None
        else:
            assert answer.bits == pytest.approx(next(found))
            assert answer.rate == pytest.approx((answer.bits or 0) / len(answer.text.encode()))
    assert view.curve is not None
    assert view.curve.rate == pytest.approx(curve_rate(read.surprisals).tolist())
    assert len(curve_table(view.curve).values) == len(answers)


def test_classes_are_counted_and_have_the_quality_of_their_first(board: Board, odd: Path) -> None:
    view = seen(board, "odd")
    row = prompt_row(entry_of(board, "odd"), "demo-00")
    assert row is not None
    labels = row["classes"]["labels"]
    counted = Counter(label for label in labels if label is not None)
    assert view.sizes == tuple(counted[label] for label in sorted(counted))
    assert [answer.group for answer in view.responses] == labels
    assert labels[0] == labels[4] == labels[8]
    assert labels[1] is labels[2] is labels[3] is None
    assert view.shared_classes == {labels[0]: 0}
    for answer in view.responses:
        wanted = None if answer.group is None else row["classes"]["qualities"][answer.group]
        assert answer.quality == wanted
    assert any(answer.quality is not None for answer in view.responses)
    words = responses_table(view).frame()["class"].tolist()
    assert words[:3] == [f"1 of {len(counted)}: 3 equivalent"] * 3
    none = labels.count(None)
    assert words[-none - 1].endswith(": unique")
    assert words[-none:] == ["none"] * none


def test_what_is_to_be_said_of_a_response(board: Board) -> None:
    row = prompt_row(entry_of(board, "odd"), "demo-00")
    assert row is not None
    reasons = row["invalid"]
    assert [reasons[i] for i in (1, 2, 3)] == ["blank or a placeholder", "blank or a placeholder", "refusal"]
    for answer, reason in zip(seen(board, "odd").responses, reasons, strict=True):
        assert answer.is_valid == (reason is None)
        assert any(note.startswith("not valid") for note in answer.notes) == (
            bool(reason) and answer.number not in (2, 3, 4)
        )
    view = make_view(board, entry_of(board, "odd"), row | {"invalid": [None] * 9 + ["word salad"]})
    assert view.responses[9].notes == ("not valid: word salad",)
    assert summary(view) == f"10 responses in {len(view.sizes)} classes, 9 of them valid."
    for damaged in (None, 3, ["word salad"]):
        view = make_view(board, entry_of(board, "odd"), row | {"invalid": damaged})
        assert {answer.is_valid for answer in view.responses} == {None}
        assert summary(view) == f"10 responses in {len(view.sizes)} classes."
    notes = [tuple(n for n in a.notes if not n.startswith("not valid")) for a in seen(board, "odd").responses]
    assert notes == [
        (),
        ("blank, not scored",),
        ("placeholder, not scored",),
        ("refused, never counted as distinct",),
        ("repeats 1",),
        ("truncated",),
        ("3 invisible characters",),
        (),
        (),
        (),
    ]
    assert notes_of("x" * (MOST_LETTERS + 1), None, 1, 1) == ["first 20,000 of 20,001 characters"]
    assert notes_of("a 👩\u200d🚀\n\tflies", "stop", 1, 1) == []


def test_people_and_baselines_are_left_out_of_the_mean_of_ranked_systems(board: Board) -> None:
    column = next(each for each in board.columns if each.metric == "distinct_n")
    one, *others = board.entries
    manifest = one.result.manifest
    model = manifest.model_copy(update={"system": manifest.system.model_copy(update={"type": "model"})})
    ranked = replace(one, result=one.result.model_copy(update={"manifest": model}))
    mixed = replace(board, entries=(ranked, *others))
    assert mixed.ranked_means[column.signature] == one.cells[column.signature].value
    assert board.ranked_means[column.signature] != one.cells[column.signature].value


def test_scores_are_the_files_with_the_means_of_the_board(board: Board) -> None:
    table = frame(board).set_index("system")
    for name in ("varied", "odd"):
        entry = entry_of(board, name)
        stored = pq.read_table(entry.folder / PER_PROMPT_FILE).to_pandas().set_index("prompt_id").loc["demo-03"]
        view = seen(board, name, "demo-03")
        assert len(view.scores) > 20
        for score in view.scores:
            label, metric = score.column.label, score.column.metric
            assert score.system_mean == pytest.approx(table.loc[name, label], nan_ok=True)
            assert score.ranked_mean == pytest.approx(np.nanmean(table[label]))  # only baselines, so all are ranked
            if score.value is None:
                assert np.isnan(stored[metric])
                assert score.reason
            else:
                assert score.value == stored[metric]
                assert score.reason == ""
        assert scores_table(view).frame()["metric"].tolist() == [s.column.label for s in view.scores]


def test_what_is_missing_is_said(results: Path) -> None:
    board = load_boards(results)[0][0]
    view = seen(board, "varied")
    assert view.curve is None
    said = " ".join(remarks(view, board.profile))
    assert "No quality: the profile lexical has no reward model" in said
    assert "No curve: the profile lexical has no language model" in said
    assert responses_table(view).columns == ["class", "response", "#", "bytes"]


@pytest.mark.parametrize(
    "change",
    [
        {"classes": {"labels": [0, 1], "qualities": [3.0]}},
        {"classes": [1, 2]},
        {"classes": {"labels": ["a"] * 10}},
        {"classes": {"labels": [10**9] * 10}},
        {"surprisals": {"unconditional_bits": [1.0], "curve_rate": [1.0, float("nan")], "curve_rate_se": None}},
        {"surprisals": "none"},
        {"finish_reasons": ["stop"], "missing": "nothing", "d_can": "0.5"},
    ],
)
def test_values_of_another_shape_are_not_there(board: Board, change: dict[str, Any]) -> None:
    entry = entry_of(board, "odd")
    row = prompt_row(entry, "demo-00")
    assert row is not None
    view = make_view(board, entry, row | change)
    assert [answer.text for answer in view.responses] == list(ODD)
    if "classes" in change:
        assert {answer.group for answer in view.responses} == {None}
        assert view.sizes == ()
    if "surprisals" in change:
        assert view.curve is None
        assert {answer.bits for answer in view.responses} == {None}
    if "d_can" in change:
        assert next(s for s in view.scores if s.column.metric == "d_can").value is None


@pytest.mark.parametrize("responses", [None, "a text", [1, 2], ["a", None]])
def test_a_row_without_responses_is_an_error_that_names_it(board: Board, responses: Any) -> None:
    entry = entry_of(board, "odd")
    with pytest.raises(InputError, match=rf"{entry.folder.name}.*'p'.*responses"):
        make_view(board, entry, {"prompt_id": "p", "responses": responses})


def test_prompts_are_those_of_the_result_and_found_by_words(board: Board) -> None:
    prompts = prompts_of(board.entries[0])
    stored = pq.read_table(board.entries[0].folder / PER_PROMPT_FILE, columns=["prompt_id", "prompt"]).to_pylist()
    assert [(each.prompt_id, each.text) for each in prompts] == [(r["prompt_id"], r["prompt"]) for r in stored]
    assert matching(PROMPTS) == PROMPTS
    assert [p.prompt_id for p in matching(PROMPTS, "odd", "SAY p-1")] == ["p-1", "p-11", "p-13", "p-15", "p-17", "p-19"]
    assert matching(PROMPTS, ANY, "walnut") == []
    begun = process_time()
    assert matching(PROMPTS, ANY, "say " * 2**20) == PROMPTS  # made each text anew for each word
    assert process_time() - begun < 2


def test_a_result_that_is_gone_is_told(board: Board, tmp_path: Path) -> None:
    gone = Entry(tmp_path / "gone", board.entries[0].result, {})
    with pytest.raises(InputError, match="gone"):
        prompts_of(gone)


def test_a_system_is_found_by_the_start_of_an_id_and_never_by_its_name(board: Board) -> None:
    for entry in board.entries:
        result = entry.result
        for start in (result.result_id, result.result_id[:6], result.submission_id, result.submission_id[:8]):
            assert find_entry(board, start) is entry
        assert find_entry(board, result.manifest.name) is None
    assert find_entry(board, None) is find_entry(board, "") is find_entry(board, board.entries[0].result.result_id[:5])
    assert find_entry(board, "zzzzzz") is None
    choices = system_choices(board)
    assert sorted(value for _, value in choices) == sorted(system_ids(board))
    kinds = [kind_of(found) for _, value in choices if (found := find_entry(board, value))]
    assert kinds == sorted(kinds, key=KINDS.index)  # grouped, and those without ranks say what they are
    named = [text.endswith(f" · {kind.name}") for (text, _), kind in zip(choices, kinds, strict=True)]
    assert named == [not kind.is_ranked for kind in kinds]


def test_unscorable_sets_have_no_curve_but_their_reason(board: Board, odd: Path) -> None:
    entry = entry_of(board, "odd")
    row = prompt_row(entry, "demo-00")
    assert row is not None
    blank = row | {
        "responses": [""] * 10,
        "surprisals": None,
        "a_n": None,
        "missing": [{"metric": "a_n", "reason": str(Unscorable("no response"))}],
    }
    view = make_view(board, entry, blank)
    assert "No curve: no response." in remarks(view, board.profile)
    ungrouped = row | {"classes": None, "distinct_k": None, "missing": [{"metric": "distinct_k", "reason": "too long"}]}
    assert "No classes: too long." in remarks(make_view(board, entry, ungrouped), board.profile)


def test_the_first_system_to_read_is_the_best_that_is_ranked(results: Path) -> None:
    (board,), _ = load_boards(results)
    assert {entry.result.manifest.system.type for entry in board.entries} <= set(REFERENCE_TYPES)
    assert first_entry(board) is board.entries[0]
    last = board.entries[-1]
    manifest = last.result.manifest
    system = manifest.system.model_copy(update={"type": "model"})
    result = last.result.model_copy(update={"manifest": manifest.model_copy(update={"system": system})})
    model = replace(last, result=result)
    assert first_entry(replace(board, entries=(*board.entries[:-1], model))) is model
