"""`divbench export dpo`: pairs by brute force from real files, the trainers' formats, and what is refused."""

import json
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmark.exports.dpo import (
    Numbers,
    centre_distances,
    choose,
    formatted,
    is_conversational,
    leave_one_out_diversities,
    measure_embeddings,
    measure_internals,
    surprises,
)
from benchmark.metrics.internals import Internals, ResponseScores
from benchmark.metrics.metric import Missing, Unscorable
from benchmark.models.embedder import SentenceTransformersEmbedder
from benchmark.scoring.internals_file import INTERNALS_FILE, open_internals
from benchmark.scoring.rewards_file import read_rewards
from divbench.core.errors import ConfigurationError, InputError
from submissions.checking.response_kinds import is_scorable
from submissions.schema import Generation, Row
from submissions.storage.submission_folders import Submission
from submissions.untrusted.findings import Rejected
from tests.benchmark.export_samples import (
    OWN,
    PROMPTS,
    WITH_BLANK,
    K,
    by_response,
    make,
    read_lines,
    responses_of,
    rewards_of,
    with_nan,
    write_own_internals,
    write_rows,
)
from tests.benchmark.fakes import HashEmbedder
from tests.benchmark.helpers import hash_internals
from tests.conftest import divbench


def looe_by_determinants(texts: Sequence[str]) -> Numbers:
    """E is the mean log10 of eigenvalues, which is a determinant's."""
    answers = [i for i, text in enumerate(texts) if is_scorable(text)]
    mean = hash_internals(texts).mean
    assert mean is not None

    def e(positions: Sequence[int]) -> float:
        parts = [matrix[np.ix_(positions, positions)] + 1e-3 * np.eye(len(positions)) for matrix in mean.matrices]
        return float(np.mean([np.linalg.slogdet(part)[1] for part in parts])) / len(positions) / math.log(10)

    if len(answers) < 3:
        return [None] * len(texts)
    return [e(answers) - e([j for j in answers if j != i]) if i in answers else None for i in range(len(texts))]


def nll_by_hand(texts: Sequence[str]) -> Numbers:
    scores = hash_internals(texts).responses
    return [
        None if score is None or not is_scorable(text) else -score.log_likelihood / score.tokens
        for text, score in zip(texts, scores, strict=True)
    ]


def brute_force(texts: Sequence[str], rewards: Numbers, diversities: Numbers, rho: float) -> tuple[int, int] | None:
    known = [(i, r, d) for i, (r, d) in enumerate(zip(rewards, diversities, strict=True)) if None not in (r, d)]
    every = sorted(float(r) for _, r, _ in known if r is not None)
    if len(known) < 2 or every[0] == every[-1]:
        return None
    least, most = every[-1] - rho * (every[-1] - every[0]), every[0] + rho * (every[-1] - every[0])
    good = [(-(d or 0.0), -(r or 0.0), i) for i, r, d in known if (r or 0.0) >= least - 1e-9]
    bad = [(d or 0.0, r or 0.0, i) for i, r, d in known if (r or 0.0) <= most + 1e-9]
    chosen, rejected = min(good)[2], min(bad)[2]
    return None if texts[chosen] == texts[rejected] else (chosen, rejected)


@pytest.fixture(scope="module")
def submission(tmp_path_factory: pytest.TempPathFactory) -> Submission:
    return make(tmp_path_factory.mktemp("subs") / "plain", seed=7)


@pytest.mark.parametrize(
    ("diversity", "options", "rho", "name"),
    [
        ("looe", [], 0.6, "r.jsonl"),
        ("nll", [], 0.3, "r.parquet"),
        ("nll", ["--rho", "1"], 1.0, "r.csv"),
    ],
)
def test_pairs_are_those_of_brute_force(
    submission: Submission, tmp_path: Path, diversity: str, options: list[str], rho: float, name: str
) -> None:
    rewards, out = write_rows(tmp_path / name, by_response()), tmp_path / "pairs.jsonl"
    wanted = ["--rewards", rewards, "--diversity", diversity, "--out", out, *options]
    ended = divbench("export", "dpo", submission.folder, *wanted)
    assert ended.returncode == 0, ended.stderr
    measured: Callable[[Sequence[str]], Numbers] = {"looe": looe_by_determinants, "nll": nll_by_hand}[diversity]
    expected = {}
    for place, prompt in enumerate(OWN.prompts):
        texts = responses_of(place)
        pair = brute_force(texts, rewards_of(place), measured(texts), rho)
        if pair is not None:
            expected[prompt.prompt_id] = (texts[pair[0]], texts[pair[1]], *pair)
    pairs = read_lines(out)
    assert {
        row["prompt_id"]: (row["chosen"], row["rejected"], row["meta"]["chosen_index"], row["meta"]["rejected_index"])
        for row in pairs
    } == expected
    assert [row["prompt_id"] for row in pairs] == [p.prompt_id for p in OWN.prompts if p.prompt_id in expected]
    positions = {prompt.prompt_id: position for position, prompt in enumerate(OWN.prompts)}
    margins = []
    for row in pairs:
        meta, position = row["meta"], positions[row["prompt_id"]]
        assert meta["rewards"] == rewards_of(position)
        wanted_diversities = with_nan(measured(responses_of(position)))
        assert with_nan(meta["diversities"]) == pytest.approx(wanted_diversities, rel=1e-9, abs=1e-12, nan_ok=True)
        shared = {"k": K, "metric": diversity, "rho": rho, "rule": "range", "seed": 7, "submission_id": submission.id}
        assert meta | shared == meta
        margins.append(meta["rewards"][meta["chosen_index"]] - meta["rewards"][meta["rejected_index"]])
    lower, ties = sum(margin < 0 for margin in margins), margins.count(0)
    assert (f"in {lower} of " in ended.stderr, lower > 0) == ((True, True) if rho > 0.5 else (False, False))
    assert (f"in {ties} of {len(pairs)} pairs, both responses have the same reward" in ended.stderr) == (ties > 0)
    assert "1 prompt without rewards" in ended.stderr
    assert "4 responses without a reward, to prompts that have some rewards" in ended.stderr
    assert " no pair: no rewards" in ended.stdout
    assert "Means over pairs" in ended.stdout
    assert f"written: {out}, standard" in ended.stdout


def test_what_is_no_answer_is_in_no_pool(submission: Submission, tmp_path: Path) -> None:
    rewards, out = write_rows(tmp_path / "r.jsonl", by_response()), tmp_path / "pairs.jsonl"
    divbench("export", "dpo", submission.folder, "--rewards", rewards, "--diversity", "looe", "--rho", 1, "--out", out)
    row = next(row for row in read_lines(out) if row["prompt_id"] == OWN.prompts[WITH_BLANK].prompt_id)
    assert row["meta"]["rewards"][0] == 99  # the best, and blank
    assert row["meta"]["diversities"][0] is None
    assert 0 not in (row["meta"]["chosen_index"], row["meta"]["rejected_index"])


def test_chosen_responses_that_are_truncated_are_warned_of(tmp_path: Path) -> None:
    cut = make(tmp_path / "cut", reasons=("length", "stop") * (K // 2) + ("stop",) * (K % 2))
    wanted = ["--rewards", write_rows(tmp_path / "r.jsonl", by_response()), "--diversity", "nll"]
    ended = divbench("export", "dpo", cut.folder, *wanted, "--out", tmp_path / "pairs.jsonl")
    chosen = [row["meta"]["chosen_index"] for row in read_lines(tmp_path / "pairs.jsonl")]
    truncated = sum(position % 2 == 0 and position < K // 2 * 2 for position in chosen)
    assert 0 < truncated < len(chosen)
    assert f"in {truncated} of {len(chosen)} pairs, the chosen response is truncated" in ended.stderr
    assert "use --conversational" in ended.stderr  # the manifest does not state how the model was prompted


def test_distances_of_embeddings_need_no_internals(
    submission: Submission, minilm: SentenceTransformersEmbedder, tmp_path: Path
) -> None:
    rewards, out = write_rows(tmp_path / "r.csv", by_response()), tmp_path / "pairs.jsonl"
    (tmp_path / "sub").mkdir()
    for name in ("manifest.json", "generations.parquet"):
        (tmp_path / "sub" / name).write_bytes((submission.folder / name).read_bytes())
    ended = divbench("export", "dpo", tmp_path / "sub", "--rewards", rewards, "--diversity", "embedding", "--out", out)
    assert ended.returncode == 0, ended.stderr
    pairs = {row["prompt_id"]: row["meta"] for row in read_lines(out)}
    for position, prompt in enumerate(OWN.prompts):
        if meta := pairs.get(prompt.prompt_id):
            texts = responses_of(position)
            answers = [i for i, text in enumerate(texts) if is_scorable(text)]
            vectors = minilm.embed([texts[i] for i in answers])
            centre = vectors.mean(axis=0)
            distances = np.full(K, np.nan)
            distances[answers] = 1 - vectors @ centre / np.linalg.norm(centre)
            # Vectors are float32, and of batches of another size.
            assert with_nan(meta["diversities"]) == pytest.approx(distances.tolist(), abs=1e-6, nan_ok=True)
            pair = brute_force(texts, rewards_of(position), meta["diversities"], 0.6)
            assert pair == (meta["chosen_index"], meta["rejected_index"])


# Choosing


@given(st.lists(st.tuples(st.integers(-20, 20), st.integers(-9, 9)), min_size=2, max_size=9), st.integers(0, 10))
def test_laws_of_choices(known: list[tuple[int, int]], tenth: int) -> None:
    rewards, diversities = [float(reward) for reward, _ in known], [float(diversity) for _, diversity in known]
    texts = [f"answer {i}" for i in range(len(known))]
    pair = choose(texts, rewards, diversities, tenth / 10)
    low, high = min(rewards), max(rewards)
    if isinstance(pair, Missing):
        assert pair.reason == ("all rewards equal" if low == high else "chosen and rejected are one response")
        return
    chosen, rejected = pair
    # Whole numbers times ten: no border is rounded.
    good = [i for i, r in enumerate(rewards) if 10 * r >= 10 * high - tenth * (high - low)]
    bad = [i for i, r in enumerate(rewards) if 10 * r <= 10 * low + tenth * (high - low)]
    assert (diversities[chosen], chosen in good) == (max(diversities[i] for i in good), True)
    assert (diversities[rejected], rejected in bad) == (min(diversities[i] for i in bad), True)
    if tenth == 0:
        assert (rewards[chosen], rewards[rejected]) == (high, low)


@pytest.mark.parametrize(
    ("rewards", "diversities", "rho", "pair"),
    [
        ([1.0, 2, 9, 10, 10], [0.0] * 5, 0.2, (3, 0)),  # ties in diversity: the reward, then the first
        ([0.1, 0.16, 0.64, 0.7], [0.0, -1, 1, 0], 0.1, (2, 1)),  # borders, however they are rounded
        ([-3.4e38, 1.0, 2.0, 3.0, 4.0], [0.0, 1, 2, 3, 4], 0.0, (4, 0)),  # a marker of invalid responses
        ([0.0, 0.45, 0.55, 1.0], [5.0, 9, 1, 5], 0.6, (1, 2)),  # in overlapping pools, the worse one may be chosen
        ([99.0, 1, 2, None, 3], [None, 0.0, 1, 50, None], 0.0, (2, 1)),  # unknown ones are in no pool
    ],
)
def test_choices_by_hand(rewards: Numbers, diversities: Numbers, rho: float, pair: tuple[int, int]) -> None:
    assert choose([f"answer {i}" for i in range(len(rewards))], rewards, diversities, rho) == pair


@pytest.mark.parametrize(
    ("texts", "rewards", "diversities", "reason"),
    [
        ("ab", [1.0, None], [1.0, 2.0], "fewer than two responses with reward and diversity"),
        ("ab", [2.0, 2.0], [1.0, 2.0], "all rewards equal"),
        (["a cat", "a  cat\n"], [0.0, 1.0], [0.0, 1.0], "chosen and rejected are the same text"),
        ("abc", [0.0, 1.0, 0.4], [2.0, 1.0, 1.5], "chosen and rejected are one response"),
    ],
)
def test_what_gives_no_pair(texts: Sequence[str], rewards: Numbers, diversities: Numbers, reason: str) -> None:
    assert choose(texts, rewards, diversities, 0.6) == Missing(reason)


# Diversities


def test_distances_from_the_centre() -> None:
    vectors = HashEmbedder().embed([str(i) for i in range(9)])
    distances = centre_distances(vectors)
    euclidean = np.linalg.norm(vectors - vectors.mean(axis=0), axis=1)
    assert np.argsort(distances).tolist() == np.argsort(euclidean).tolist()
    repeated = centre_distances(np.vstack([vectors, vectors]))
    assert repeated[:9].tolist() == repeated[9:].tolist()  # equal to the last digit
    with pytest.raises(Unscorable, match="fewer than two responses"):
        centre_distances(vectors[:1])
    with pytest.raises(Unscorable, match="mean is zero"):
        centre_distances(np.vstack([vectors, -vectors]))


def test_measures_leave_out_what_is_no_answer() -> None:
    texts = ("one", "", "two", "[Blocked]", "three", "four")
    answers = tuple(text for text in texts if is_scorable(text))
    for measure in (leave_one_out_diversities, surprises):
        values = measure(texts, hash_internals(texts))
        assert [value is None for value in values] == [not is_scorable(text) for text in texts]
        alone = measure(answers, hash_internals(answers))
        assert [value for value in values if value is not None] == pytest.approx(alone)
    rows = [Row(1, "p", None, texts), Row(2, "q", None, ("", "x")), Row(3, "r", None, ("", " "))]
    first, *others = measure_embeddings(HashEmbedder()).of(rows)
    assert isinstance(first, list)
    assert [value for value in first if value is not None] == pytest.approx(
        centre_distances(HashEmbedder().embed(answers)).tolist()
    )
    assert others == [Missing("fewer than two responses")] * 2


def test_a_response_without_tokens_is_missing_and_what_cannot_be_measured_has_a_reason() -> None:
    empty, some = ResponseScores(0, 0.0), ResponseScores(2, -3.0)
    assert surprises(("a", "b", "c"), Internals((empty, some, None))) == [None, 1.5, None]
    with pytest.raises(Unscorable, match="no response"):
        surprises(("", "[Blocked]"), hash_internals(("", "[Blocked]")))
    with pytest.raises(Unscorable, match="no likelihoods"):
        surprises(("a", "b"), Internals((None, None)))
    with pytest.raises(Unscorable, match="fewer than three responses"):
        leave_one_out_diversities(("a", "b", ""), hash_internals(("a", "b", "")))


def test_internals_without_hidden_states_have_no_looe(submission: Submission, tmp_path: Path) -> None:
    path = tmp_path / INTERNALS_FILE
    write_own_internals(path, submission, average_layers=(), original_layer=None)
    with pytest.raises(InputError, match="has no hidden states"):
        measure_internals("looe", open_internals(path, submission.id))


# Rewards


def test_all_that_is_wrong_with_rewards_is_told_at_once(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"prompt_id": "q-01", "index": 0, "reward": 1.0},
        {"prompt_id": "q-99", "index": 0, "reward": 1.0},
        {"prompt_id": "q-01", "index": 5, "reward": 1.0},
        {"prompt_id": "q-01", "index": 1.5, "reward": 1.0},
        {"prompt_id": "q-01", "index": 0, "reward": 1.0},
        {"prompt_id": "q-01", "index": 1, "reward": "high"},
        {"prompt_id": "q-01", "index": True, "reward": 1.0},
        {"prompt_id": "q-01", "index": 2, "reward": 10**400},
    ]
    with pytest.raises(Rejected) as caught:
        read_rewards(write_rows(tmp_path / "r.jsonl", rows), OWN.by_id.keys(), K)
    assert {(each.row, each.field, each.message) for each in caught.value.findings.problems} == {
        (2, "prompt_id", "'q-99' is not a prompt id of the submission"),
        (3, "index", "'5', expected a whole number in 0 … 4"),
        (4, "index", "'1.5', expected a whole number in 0 … 4"),
        (5, "index", "response 0 of 'q-01' already appears in row 1"),
        (6, "reward", "'high', expected a finite number"),
        (7, "index", "'True', expected a whole number in 0 … 4"),
        (8, "reward", f"'1{'0' * 39}', expected a finite number"),
    }


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ({"prompt_id": "q-01", "index": 0, "reward": None}, "no response has a reward"),
        ({"prompt_id": "q-01", "score": 1.0}, "there is no such column"),
    ],
)
def test_files_without_rewards_are_refused(tmp_path: Path, row: dict[str, Any], says: str) -> None:
    with pytest.raises(Rejected) as caught:
        read_rewards(write_rows(tmp_path / "r.jsonl", [row]), OWN.by_id.keys(), K)
    assert says in {each.message for each in caught.value.findings.problems}


def test_rewards_of_any_format_are_the_same(tmp_path: Path) -> None:
    rows = [{"prompt_id": "7", "index": 0, "reward": 1.5}, {"prompt_id": "8", "index": 1, "reward": None}]
    rows += [{"prompt_id": "8", "index": 0, "reward": -3.0}]
    for name in ("r.jsonl", "r.csv", "r.parquet"):
        assert read_rewards(write_rows(tmp_path / name, rows), {"7", "8"}, 2) == {"7": [1.5, None], "8": [-3.0, None]}


# Formats


def test_pairs_are_read_by_a_library_as_texts_or_messages(tmp_path: Path) -> None:
    rewards = write_rows(tmp_path / "r.jsonl", by_response())
    chat: dict[str, Any] = {"chat_template": True, "system_prompt": "Be brief."}
    for name, about in (("plain", {}), ("chat", chat)):
        out = tmp_path / f"{name}.jsonl"
        folder = make(tmp_path / name, **about).folder
        ended = divbench("export", "dpo", folder, "--rewards", rewards, "--diversity", "nll", "--out", out)
        assert ended.returncode == 0, ended.stderr
        loaded = datasets.load_dataset("json", data_files=str(out), split="train", cache_dir=str(tmp_path / "cache"))
        assert loaded.column_names == ["prompt_id", "prompt", "chosen", "rejected", "meta"]
        prompt = OWN.by_id[loaded[0]["prompt_id"]].prompt
        texts = responses_of(int(loaded[0]["prompt_id"].removeprefix("q-")))
        chosen = texts[loaded[0]["meta"]["chosen_index"]]
        if name == "plain":
            assert (loaded[0]["prompt"], loaded[0]["chosen"]) == (prompt, chosen)
        else:
            system, user = {"role": "system", "content": "Be brief."}, {"role": "user", "content": prompt}
            assert loaded[0]["prompt"] == [system, user]
            assert loaded[0]["chosen"] == [{"role": "assistant", "content": chosen}]


def test_the_format_follows_how_the_model_was_asked() -> None:
    def found(wanted: bool | None = None, **generation: Any) -> bool:
        return is_conversational(Generation.model_validate({"k": K} | generation), wanted)

    assert not found()
    assert not found(chat_template=False)
    assert found(chat_template=True)
    assert found(system_prompt="Be brief.")
    assert not found(False, chat_template=True)
    assert found(True)
    with pytest.raises(ConfigurationError, match="no field for it"):
        found(False, system_prompt="Be brief.")
    with pytest.raises(InputError, match=r"prompt_template has no \{prompt\}"):
        found(prompt_template="Q: A:")
    for mode in ("in-context", "paraphrase", "verbalized", "verbalized-tail"):
        with pytest.raises(InputError, match=rf"\(generation\.mode is {mode}\), but a pair has one prompt"):
            found(True, mode=mode)


def test_a_standard_prompt_stands_in_its_template() -> None:
    row = {"prompt_id": "p", "prompt": "Say {prompt}.", "chosen": "a", "rejected": "b", "meta": {}}
    template = Generation(k=K, chat_template=False, prompt_template="Q: {prompt}\nA:")
    assert formatted(row, template, conversational=False) == row | {"prompt": "Q: Say {prompt}.\nA:"}
    assert formatted(row, template, conversational=True)["prompt"] == [{"role": "user", "content": "Say {prompt}."}]


# Refusals of the command


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--rho", "1.5"], "Invalid value"),
        (["--out", "no/such/pairs.jsonl"], "existing folder"),
        (["--out", "pairs.json"], "does not end in .jsonl"),
        (["--diversity", "embedding", "--profile", "lexical"], "has no embedder"),
    ],
)
def test_wrong_options_write_nothing(submission: Submission, tmp_path: Path, options: list[str], says: str) -> None:
    rewards = write_rows(tmp_path / "r.jsonl", by_response())
    wanted = ["--rewards", rewards, "--diversity", "nll", "--out", tmp_path / "pairs.jsonl"]
    ended = divbench("export", "dpo", submission.folder, *wanted, *options)
    assert ended.returncode == 2
    assert says in ended.stderr
    assert {path.name for path in tmp_path.iterdir()} == {"r.jsonl"}


def test_no_pair_at_all_and_no_internals_are_errors(submission: Submission, tmp_path: Path) -> None:
    rows = [{"prompt_id": prompt.prompt_id, "index": i, "reward": 1} for prompt in OWN.prompts[6:] for i in range(K)]
    rewards, out = write_rows(tmp_path / "r.jsonl", rows), tmp_path / "pairs.jsonl"
    ended = divbench("export", "dpo", submission.folder, "--rewards", rewards, "--diversity", "nll", "--out", out)
    assert ended.returncode == 1
    assert "no prompt gives a pair" in ended.stderr
    assert f"6 no rewards, {PROMPTS - 6} all rewards equal" in ended.stderr
    assert not out.exists()
    bare = make(tmp_path / "bare")
    (bare.folder / INTERNALS_FILE).unlink()
    ended = divbench("export", "dpo", bare.folder, "--rewards", rewards, "--diversity", "nll", "--out", out)
    assert "divbench metrics internals" in ended.stderr


def test_no_character_of_a_response_ends_a_line(tmp_path: Path) -> None:
    from benchmark.exports.results import json_line

    line = json_line({"text": "one\u2028two\u2029three\x85four"})
    assert len(line.splitlines()) == 1
    assert json.loads(line) == {"text": "one\u2028two\u2029three\x85four"}
