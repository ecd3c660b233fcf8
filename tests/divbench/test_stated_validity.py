"""Validity that comes with the responses: booleans or rewards beside the texts, in Python and for submissions."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import divbench as db
from benchmark.metrics.metric import Unscorable
from benchmark.metrics.partition import JudgedPartition, Partition, pass_at_k
from benchmark.scoring.results import read_result
from leaderboard.data.board import is_stated
from submissions.checking.validate import open_submission
from tests.cases import each
from tests.conftest import divbench, document
from tests.submissions.working import demo

# Two ways of writing 4, one of them twice, a wrong answer; and a problem that nobody solved.
SUMS = {"What is 2 + 2?": ["4", "four", "5", "4."], "What is 7 · 8?": ["54", "15", "", "65"]}
CORRECT: list[list[bool | None]] = [[True, True, False, True], [False, False, None, False]]
METRICS = ("valid_distinct_k", "pass_at_1", "valid_share")


def test_different_correct_answers_are_counted() -> None:
    scores = db.score(SUMS, METRICS, profile="lexical", valid=CORRECT)
    assert scores.to_pandas().to_numpy().tolist() == [[2.0, 0.75, 0.75], [0.0, 0.0, 0.0]]
    assert all("|model:validity-as-stated,valid|" in signature for signature in scores.signatures.values())
    rows = [
        {"prompt": prompt, "response": text, "correct": right}
        for (prompt, texts), given in zip(SUMS.items(), CORRECT, strict=True)
        for text, right in zip(texts, given, strict=True)
    ]
    forms: tuple[tuple[Any, Any], ...] = (
        (SUMS, dict(zip(SUMS, CORRECT, strict=True))),
        (rows, "correct"),
        (pd.DataFrame(rows), "correct"),
        ([{"prompt": p, "responses": t, "ok": c} for (p, t), c in zip(SUMS.items(), CORRECT, strict=True)], "ok"),
    )
    for sets, valid in forms:
        assert db.score(sets, METRICS, profile="lexical", valid=valid).values == scores.values


def test_pass_at_k_is_the_published_estimate() -> None:
    """1 − Π (1 − k / i) for i from n − c + 1 to n, as HumanEval's code computes it (Chen et al. 2021, figure 3)."""
    for n, c, k in ((10, 3, 1), (10, 3, 5), (10, 0, 5), (200, 7, 100), (10, 6, 5)):
        failures = 1.0
        for i in range(n - c + 1, n + 1):
            failures *= 1 - k / i
        reasons = (None,) * c + ("wrong",) * (n - c)
        expected = 1.0 if n - c < k else 1 - failures
        assert pass_at_k(JudgedPartition(Partition((0,) * n), reasons), k) == pytest.approx(expected, abs=1e-12)
    with pytest.raises(Unscorable, match="fewer than 5 responses"):
        pass_at_k(JudgedPartition(Partition((0,)), (None,)), 5)


def test_rewards_from_a_threshold_or_a_quantile_say_what_is_valid() -> None:
    rewards = [[0.1, 0.5, 0.2, 0.3], [-1, -2, None, -3]]
    scores = db.score(SUMS, ["valid_share"], profile="lexical", rewards=rewards, threshold=0.3)
    assert scores.values["valid_share"] == (0.5, 0.0)
    assert "|model:validity-as-stated,rewards-from-0.3|" in scores.signatures["valid_share"]
    better = db.score(SUMS, ["valid_share"], profile="lexical", rewards=rewards, quantile=0.5)
    assert better.values["valid_share"] == (1.0, 0.0)
    lacking = db.score(SUMS, ["valid_share"], profile="lexical", rewards=[[0.1, None, 0.2, 0.3], [0] * 4], threshold=0)
    assert lacking.missing() == {"valid_share": {"validity is not stated for all responses": 1}}


@each(
    "given, says",
    [
        ({"rewards": [[1.0]], "threshold": 0}, "rewards has 1 rows, and there are 2 response sets"),
        ({"rewards": [[1.0], [1.0] * 4], "threshold": 0}, "rewards of 'What is 2 + 2?' has 1 of 4 responses"),
        ({"rewards": [[float("nan")] * 4] * 2, "threshold": 0}, "a reward is nan, not a finite number"),
        ({"rewards": [[1.0] * 4] * 2}, "rewards need one statement of what is valid"),
        ({"rewards": [[1.0] * 4] * 2, "quantile": 1.5}, "the quantile is 1.5"),
        ({"rewards": [[1.0] * 4] * 2, "valid": CORRECT}, "both rewards and valid are given"),
        ({"threshold": 0}, "threshold and quantile are for rewards"),
        ({"valid": [[1, 0, 1, 0]] * 2}, "a value of valid is 1"),
        ({"valid": {"What is 2 + 2?": [True] * 4}}, "valid has nothing for 'What is 7 · 8?'"),
        ({"valid": "correct"}, "there is no column 'correct'"),
        ({"finish_reasons": [[1] * 4] * 2}, "a finish reason is 1"),
        ({}, "pass_at_1 needs to know which responses are valid"),
    ],
)
def test_what_does_not_fit_the_responses_is_told(given: dict[str, Any], says: str) -> None:
    with pytest.raises(db.DivBenchError) as caught:
        db.score(SUMS, METRICS, profile="lexical", **given)
    assert says in str(caught.value)


def test_a_truncated_response_makes_no_class_of_its_own() -> None:
    sets, ended = {"Name a pet.": ["a cat", "a dog"]}, [["stop", "length"]]
    assert db.score(sets, ["distinct_k"], profile="lexical", finish_reasons=ended).values["distinct_k"] == (1.0,)


def test_a_submission_is_scored_with_what_a_file_states_of_its_responses(tmp_path: Path) -> None:
    folder = demo(tmp_path / "in", "system")
    rows = list(open_submission(folder)[0].rows())
    lines = [f"{row.prompt_id},{i},{i == 0}" for row in rows for i in range(len(row.responses))]
    (tmp_path / "checked.csv").write_text("\n".join(["prompt_id,index,valid", *lines]))

    def scored(*options: object) -> Any:
        where = (folder, "--profile", "lexical", "--out", tmp_path / "out")
        return document(divbench("score", *where, "--json", *options))["results"][0]

    by_file = scored("--rewards", tmp_path / "checked.csv")
    result = read_result(Path(by_file["folder"]))
    values = {score["metric"]: score["value"] for score in by_file["result"]["scores"]}
    assert values["valid_distinct_k"] == 1.0
    assert values["pass_at_1"] == values["valid_share"] == pytest.approx(1 / len(rows[0].responses))
    assert result.counts.invalid is not None  # type: ignore[union-attr]
    assert "|model:validity-as-stated,checked|" in str(result.scores[0].signature)  # type: ignore[union-attr]
    assert scored()["folder"] != by_file["folder"]
    assert is_stated(result.scores[0].signature)  # type: ignore[union-attr] # the board says so
