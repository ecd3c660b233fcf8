"""`divbench export dpo`: pairs by brute force from real files, why there is none, and what is refused."""

import json
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from benchmark.exports.diversities import (
    measure_internals,
)
from benchmark.exports.dpo import Files, candidates_of, check_files, export_pairs, write_table
from benchmark.exports.preference import Candidates, PoolRule
from benchmark.exports.rewards import read_rewards
from benchmark.models.embedder import ALL_MINILM_L6_V2, SentenceTransformersEmbedder
from benchmark.scoring.internals_file import INTERNALS_FILE, open_internals, write_internals
from divbench.core.errors import ConfigurationError, InputError
from submissions.checking.response_kinds import is_scorable
from submissions.checking.validate import open_submission
from submissions.storage.submission_folders import Submission
from tests.benchmark.export_samples import (
    OWN,
    PROMPTS,
    WITH_BLANK,
    K,
    by_prompt,
    by_response,
    make,
    read_lines,
    responses_of,
    rewards_of,
    with_nan,
    write_own_internals,
    write_rows,
)
from tests.benchmark.helpers import hash_internals
from tests.conftest import divbench, document

Numbers = Sequence[float | None]


def looe_by_determinants(texts: Sequence[str]) -> list[float | None]:
    """E is the mean log10 of eigenvalues, which is a determinant's."""
    answers = [i for i, text in enumerate(texts) if is_scorable(text)]
    mean = hash_internals(texts).mean
    assert mean is not None

    def e(places: Sequence[int]) -> float:
        parts = [matrix[np.ix_(places, places)] + 1e-3 * np.eye(len(places)) for matrix in mean.matrices]
        return float(np.mean([np.linalg.slogdet(part)[1] for part in parts])) / len(places) / math.log(10)

    if len(answers) < 3:
        return [None] * len(texts)
    return [e(answers) - e([j for j in answers if j != i]) if i in answers else None for i in range(len(texts))]


def nll_by_hand(texts: Sequence[str]) -> list[float | None]:
    known = hash_internals(texts).responses
    return [
        None if own is None or not is_scorable(text) else -own.log_likelihood / own.tokens
        for text, own in zip(texts, known, strict=True)
    ]


def brute_force(
    texts: Sequence[str], rewards: Numbers, diversities: Numbers, rho: float, rule: str
) -> tuple[int, int] | None:
    known = [(i, r, d) for i, (r, d) in enumerate(zip(rewards, diversities, strict=True)) if None not in (r, d)]
    every = sorted(float(r) for _, r, _ in known if r is not None)
    if len(known) < 2 or every[0] == every[-1]:
        return None

    def quantile(share: float) -> float:
        below, part = divmod(share * (len(every) - 1), 1)
        return every[int(below)] + part * (every[min(int(below) + 1, len(every) - 1)] - every[int(below)])

    if rule == "range":
        least, most = every[-1] - rho * (every[-1] - every[0]), every[0] + rho * (every[-1] - every[0])
    else:
        least, most = quantile(1 - rho), quantile(rho)
    good = [(-(d or 0.0), -(r or 0.0), i) for i, r, d in known if (r or 0.0) >= least - 1e-9]
    bad = [(d or 0.0, r or 0.0, i) for i, r, d in known if (r or 0.0) <= most + 1e-9]
    chosen, rejected = min(good)[2], min(bad)[2]
    return None if texts[chosen] == texts[rejected] else (chosen, rejected)


@pytest.fixture(scope="module")
def submission(tmp_path_factory: pytest.TempPathFactory) -> Submission:
    return make(tmp_path_factory.mktemp("subs") / "plain", seed=7)


@pytest.mark.parametrize(
    ("diversity", "options", "rho", "rule", "name", "rows"),
    [
        ("looe", [], 0.6, "range", "r.jsonl", by_response),
        ("looe", ["--rho", "0.1"], 0.1, "range", "r.csv", by_prompt),
        ("nll", [], 0.3, "range", "r.parquet", by_prompt),
        ("nll", ["--rule", "percentile", "--rho", "0.5"], 0.5, "percentile", "r.csv", by_response),
        ("looe", ["--rule", "percentile", "--rho", "0"], 0.0, "percentile", "r.parquet", by_response),
        ("nll", ["--rho", "1"], 1.0, "range", "r.jsonl", by_prompt),
    ],
)
def test_pairs_are_those_of_brute_force(
    submission: Submission,
    tmp_path: Path,
    diversity: str,
    options: list[str],
    rho: float,
    rule: str,
    name: str,
    rows: Callable[[], list[dict[str, Any]]],
) -> None:
    given = write_rows(tmp_path / name, rows())
    out, table = tmp_path / "pairs.jsonl", tmp_path / "table.jsonl"
    wanted = ["--rewards", given, "--diversity", diversity, "--out", out, "--table", table, *options, "--json"]
    ended = divbench("export", "dpo", submission.folder, *wanted)
    assert ended.returncode == 0, ended.stderr
    found = document(ended)

    measured = {"looe": looe_by_determinants, "nll": nll_by_hand}[diversity]
    expected = {}
    for place, prompt in enumerate(OWN.prompts):
        texts = responses_of(place)
        pair = brute_force(texts, rewards_of(place), measured(texts), rho, rule)
        if pair is not None:
            expected[prompt.prompt_id] = (texts[pair[0]], texts[pair[1]], *pair)
    pairs = read_lines(out)
    assert {
        row["prompt_id"]: (row["chosen"], row["rejected"], row["meta"]["chosen_index"], row["meta"]["rejected_index"])
        for row in pairs
    } == expected
    assert [row["prompt_id"] for row in pairs] == [p.prompt_id for p in OWN.prompts if p.prompt_id in expected]

    places = {prompt.prompt_id: place for place, prompt in enumerate(OWN.prompts)}
    of_pairs = [(rewards_of(places[name]), *expected[name][2:]) for name in expected]
    margins = [(own[chosen] or 0.0) - (own[rejected] or 0.0) for own, chosen, rejected in of_pairs]
    against = sum(margin < 0 for margin in margins)
    assert found["pairs_with_lower_chosen_reward"] == against
    assert (f"in {against} of " in ended.stderr, against > 0) == ((True, True) if rho > 0.5 else (False, False))
    assert found["pairs_with_equal_rewards"] == (ties := margins.count(0))
    assert (f"in {ties} of {len(pairs)} pairs, both responses have the same reward" in ended.stderr) == (ties > 0)

    assert (found["pairs"], found["prompts"]) == (len(pairs), PROMPTS)
    assert sum(found["skipped"].values()) == PROMPTS - len(pairs)
    assert (found["rho"], found["rule"], found["metric"]) == (rho, rule, diversity)
    assert (found["submission_id"], found["seed"], found["format"]) == (submission.id, 7, "standard")
    assert found["files"] == {"pairs": str(out), "table": str(table)}
    assert found["responses_without_reward"] == K - 1
    assert "1 of 30 prompts have no rewards" in ended.stderr
    assert "4 responses without a reward, to prompts that have some rewards" in ended.stderr
    for side in ("chosen", "rejected"):
        for number, column in (("reward", "rewards"), ("diversity", "diversities")):
            mean = np.mean([row["meta"][column][row["meta"][f"{side}_index"]] for row in pairs])
            assert found["means"][side][number] == pytest.approx(mean)

    every = read_lines(table)
    assert [(row["prompt_id"], row["index"]) for row in every] == [
        (prompt.prompt_id, i) for prompt in OWN.prompts for i in range(K)
    ]
    for place in range(PROMPTS):
        part = every[place * K : (place + 1) * K]
        assert [row["response"] for row in part] == list(responses_of(place))
        assert [row["reward"] for row in part] == rewards_of(place)
        diversities = with_nan(row["diversity"] for row in part)
        assert diversities == pytest.approx(with_nan(measured(responses_of(place))), rel=1e-9, abs=1e-12, nan_ok=True)
    for row in pairs:
        assert row["meta"]["diversities"] == [e["diversity"] for e in every if e["prompt_id"] == row["prompt_id"]]
        assert row["meta"] | {"k": K, "metric": diversity, "rho": rho, "rule": rule, "seed": 7} == row["meta"]
        assert row["meta"]["signature"] == found["signature"]


def test_each_prompt_without_a_pair_has_its_own_reason(submission: Submission, tmp_path: Path) -> None:
    rewards = read_rewards(write_rows(tmp_path / "r.jsonl", by_prompt()), OWN.by_id.keys(), K)
    measure = measure_internals("looe", open_internals(submission.folder / INTERNALS_FILE, submission.id))
    suite = open_submission(submission.folder)[1]
    made = candidates_of(submission, suite, rewards, measure)
    found = export_pairs(submission, suite, made, measure, PoolRule(0.3), "standard", Files(tmp_path / "pairs.jsonl"))
    odd = {
        "fewer than three responses": 1,  # not "fewer than two responses with reward and diversity": two have a reward
        "chosen and rejected are the same text": 1,
        "all rewards equal": 1,
        "no rewards": 1,
        "fewer than two responses with reward and diversity": 1,
    }
    assert {reason: count for reason, count in found.pairs.skipped.items() if reason in odd} == odd
    assert sum(found.pairs.skipped.values()) == PROMPTS - len(found.pairs.rows)
    assert [each.why for each in made[:4]] == ["fewer than three responses", None, None, "no rewards"]


def test_what_is_no_answer_is_in_no_pool(submission: Submission, tmp_path: Path) -> None:
    given = write_rows(tmp_path / "r.jsonl", by_prompt())
    out = tmp_path / "pairs.jsonl"
    ended = divbench(
        "export", "dpo", submission.folder, "--rewards", given, "--diversity", "looe", "--rho", 1, "--out", out
    )
    assert ended.returncode == 0, ended.stderr
    row = next(row for row in read_lines(out) if row["prompt_id"] == OWN.prompts[WITH_BLANK].prompt_id)
    assert row["meta"]["rewards"][0] == 99  # the best, and blank
    assert row["meta"]["diversities"][0] is None
    assert 0 not in (row["meta"]["chosen_index"], row["meta"]["rejected_index"])
    for part in (" no pair: no rewards", " no pair: fewer than three responses", "Means over pairs", f"written: {out}"):
        assert part in ended.stdout
    assert "warnings: divbench validate" in ended.stderr


def test_chosen_responses_that_are_truncated_are_counted_and_warned_of(tmp_path: Path) -> None:
    made = make(tmp_path / "cut", reasons=("length", "stop") * (K // 2) + ("stop",) * (K % 2))
    wanted = ["--rewards", write_rows(tmp_path / "r.jsonl", by_prompt()), "--diversity", "nll", "--json"]
    ended = divbench("export", "dpo", made.folder, *wanted, "--out", tmp_path / "pairs.jsonl")
    chosen = [row["meta"]["chosen_index"] for row in read_lines(tmp_path / "pairs.jsonl")]
    cut = sum(position % 2 == 0 and position < K // 2 * 2 for position in chosen)
    assert 0 < cut < len(chosen)
    assert document(ended)["pairs_with_truncated_chosen"] == cut
    assert f"in {cut} of {len(chosen)} pairs, the chosen response is truncated" in ended.stderr


def test_pairs_of_equal_rewards_are_counted_and_warned_of(tmp_path: Path) -> None:
    """Most rewards are 1, as with a verifier: by percentile, both pools hold responses with 1."""
    made = make(tmp_path / "verified")
    rows = [{"prompt_id": prompt.prompt_id, "rewards": [0, *[1] * (K - 1)]} for prompt in OWN.prompts]
    wanted = ["--rewards", write_rows(tmp_path / "r.jsonl", rows), "--diversity", "nll", "--rule", "percentile"]
    ended = divbench("export", "dpo", made.folder, *wanted, "--out", tmp_path / "pairs.jsonl", "--json")
    metas = [row["meta"] for row in read_lines(tmp_path / "pairs.jsonl")]
    ties = sum(meta["rewards"][meta["chosen_index"]] == meta["rewards"][meta["rejected_index"]] for meta in metas)
    assert (document(ended)["pairs_with_equal_rewards"], ties > 0) == (ties, True)
    assert f"in {ties} of {len(metas)} pairs, both responses have the same reward" in ended.stderr
    assert "use --conversational" in ended.stderr  # the manifest does not state how the model was prompted


def test_no_character_of_a_response_ends_a_line(tmp_path: Path) -> None:
    text = "one\u2028two\u2029three\x85four"
    given = Candidates("p", "Say it.", (text, "five"), (1.0, 0.0), (1.0, 0.0))
    write_table(tmp_path / "table.jsonl", [given], "embedding")
    lines = (tmp_path / "table.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["response"] for line in lines] == [text, "five"]


def test_distances_of_embeddings_need_no_internals(
    submission: Submission, minilm: SentenceTransformersEmbedder, tmp_path: Path
) -> None:
    given = write_rows(tmp_path / "r.csv", by_response())
    out, table = tmp_path / "pairs.jsonl", tmp_path / "table.parquet"
    (tmp_path / "sub").mkdir()
    for name in ("manifest.json", "generations.parquet"):
        (tmp_path / "sub" / name).write_bytes((submission.folder / name).read_bytes())
    wanted = ["--rewards", given, "--diversity", "embedding", "--out", out, "--table", table, "--json"]
    ended = divbench("export", "dpo", tmp_path / "sub", *wanted)
    assert ended.returncode == 0, ended.stderr
    assert ALL_MINILM_L6_V2.signature in document(ended)["signature"]
    every, pairs = pq.read_table(table).to_pylist(), {row["prompt_id"]: row for row in read_lines(out)}
    for place, prompt in enumerate(OWN.prompts):
        texts = responses_of(place)
        answers = [i for i, text in enumerate(texts) if is_scorable(text)]
        vectors = minilm.embed([texts[i] for i in answers])
        centre = vectors.mean(axis=0)
        distances: list[float | None] = [None] * K
        for i, vector in zip(answers, vectors, strict=True):
            distances[i] = 1 - float(vector @ centre) / float(np.linalg.norm(centre))
        found = [row["diversity"] for row in every[place * K : (place + 1) * K]]
        # Vectors are float32, and of batches of another size.
        assert with_nan(found) == pytest.approx(with_nan(distances), abs=1e-6, nan_ok=True)
        pair = brute_force(texts, rewards_of(place), found, 0.6, "range")
        meta = pairs[prompt.prompt_id]["meta"] if prompt.prompt_id in pairs else None
        assert pair == (None if meta is None else (meta["chosen_index"], meta["rejected_index"]))


def test_problems_of_rewards_are_shown_by_the_command(submission: Submission, tmp_path: Path) -> None:
    given = write_rows(tmp_path / "r.jsonl", [{"prompt_id": "q-99", "index": 9, "reward": 1}])
    wanted = ["--rewards", given, "--diversity", "nll", "--out", tmp_path / "pairs.jsonl"]
    ended = divbench("export", "dpo", submission.folder, *wanted, "--json")
    assert ended.returncode == 1
    assert {(each["row"], each["field"]) for each in document(ended)["problems"]} == {(1, "prompt_id"), (1, "index")}
    assert not (tmp_path / "pairs.jsonl").exists()


def test_internals_that_do_not_fit(submission: Submission, tmp_path: Path) -> None:
    given, out = write_rows(tmp_path / "r.jsonl", by_prompt()), tmp_path / "pairs.jsonl"
    wanted = ["--rewards", given, "--diversity", "looe", "--out", out]
    other = tmp_path / "internals.parquet"
    write_own_internals(other, submission, submission_id="f" * 16)
    ended = divbench("export", "dpo", submission.folder, *wanted, "--internals", other)
    assert ended.returncode == 1
    assert f"belongs to the submission {'f' * 16}, not to {submission.id}" in ended.stderr

    ended = divbench("export", "dpo", submission.folder, *wanted, "--internals", tmp_path / "none.parquet")
    assert ended.returncode == 2
    assert f"divbench metrics internals {submission.folder} --model MODEL" in ended.stderr
    assert not out.exists()

    write_own_internals(other, submission, original_layer=None, average_layers=())
    with pytest.raises(InputError, match="has no hidden states"):
        measure_internals("looe", open_internals(other, submission.id))
    rows = [(row.prompt_id, hash_internals(row.responses).take(range(K - 1))) for row in submission.rows()]
    how = open_internals(other, submission.id).how
    write_internals(other, how.model_copy(update={"k": K - 1}), rows)
    with pytest.raises(InputError, match=f"has {K - 1} responses to 'q-00', not {K}"):
        measure_internals("nll", open_internals(other, submission.id)).of(list(submission.rows()))


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--rho", "1.5"], "rho must be in 0 … 1"),
        (["--rho", "-0.1"], "rho must be in 0 … 1"),
        (["--rho", "nan"], "rho must be in 0 … 1"),
        (["--out", "no/such/pairs.jsonl"], "there is no folder"),
        (["--table", "no/such/table.csv"], "there is no folder"),
        (["--set", "embedder=org/name"], "reads no embeddings"),
        (["--diversity", "embedding", "--internals", "x.parquet"], "reads no internals"),
        (["--diversity", "embedding", "--profile", "lexical"], "has no embedder"),
    ],
)
def test_wrong_options_write_nothing(submission: Submission, tmp_path: Path, options: list[str], says: str) -> None:
    given = write_rows(tmp_path / "r.jsonl", by_prompt())
    wanted = ["--rewards", given, "--diversity", "nll", "--out", tmp_path / "pairs.jsonl"]
    ended = divbench("export", "dpo", submission.folder, *wanted, *options)
    assert ended.returncode == 2
    assert says in ended.stderr
    assert {path.name for path in tmp_path.iterdir()} == {"r.jsonl"}


def test_files_that_cannot_be_written_are_told_before_the_work(tmp_path: Path) -> None:
    given = tmp_path / "rewards.jsonl"
    good = Files(tmp_path / "pairs.jsonl", tmp_path / "table.csv")
    check_files(good, [given, None])
    (tmp_path / "folder.jsonl").mkdir()
    for files in (
        Files(tmp_path / "pairs.json"),
        Files(tmp_path / "pairs.jsonl", tmp_path / "table.xlsx"),
        Files(tmp_path / "none" / "pairs.jsonl"),
        Files(tmp_path / "folder.jsonl"),
        Files(given),
        Files(tmp_path / "pairs.jsonl", tmp_path / "folder.jsonl" / ".." / "pairs.jsonl"),
    ):
        with pytest.raises(ConfigurationError):
            check_files(files, [given, None])


def test_no_pair_at_all_is_an_error_with_the_reasons(submission: Submission, tmp_path: Path) -> None:
    rows = [{"prompt_id": prompt.prompt_id, "rewards": [1] * K} for prompt in OWN.prompts[6:]]
    given, out = write_rows(tmp_path / "r.jsonl", rows), tmp_path / "pairs.jsonl"
    wanted = ["--rewards", given, "--diversity", "nll", "--out", out, "--table", tmp_path / "table.csv"]
    ended = divbench("export", "dpo", submission.folder, *wanted)
    assert ended.returncode == 1
    assert "no prompt gives a pair" in ended.stderr
    assert "6 no rewards, 24 all rewards equal" in ended.stderr
    assert {path.name for path in tmp_path.iterdir()} == {"r.jsonl"}
