"""Metrics fitted to labels: nothing that was fitted on is reported on, and noise stays noise."""

import json
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from benchmark.analysis.estimate import Resampling
from benchmark.analysis.learned import study
from benchmark.analysis.learned.candidates import THREE, VERSIONS, Candidate, candidates, fit, logistic, simplest
from benchmark.analysis.learned.features import pair_features, read_features, write_features
from benchmark.analysis.learned.study import (
    SCHEMES,
    Table,
    context_groups,
    fitted_weights,
    folds,
    run,
    splits_of,
    table_of,
)
from benchmark.analysis.metaeval.labelled import Labelled, load_labelled
from benchmark.analysis.metaeval.scores import Scores, unique_sets
from benchmark.metrics.learned_diversity import COLUMNS
from divbench.core.errors import ConfigurationError
from tests.conftest import divbench, document

KINDS = ("prompt_gen", "resp_gen", "story_gen")
SIGNAL, NOISE = Candidate(("signal",)), Candidate(("noise",))


def made_up(name: str, contexts: list[str], seed: int) -> Labelled:
    """Two sets of a context, of high and low diversity; their responses are short, but for one in five."""
    rng = np.random.default_rng(seed)
    names, of, texts, labels = [], [], [], []
    for i, context in enumerate(contexts):
        for label in (0.0, 1.0):
            names.append(f"{name.partition('/')[2]}-{context}-{label:g}")
            of.append(context)
            long = f"a long response that two contexts share, number {i % 7}" if i % 5 == 0 else "no idea"
            texts.append(("yes", long, f"word {rng.integers(10**6)}"))
            labels.append(label)
    return Labelled(
        name, "binary", tuple(names), tuple(of), tuple(texts), np.array(labels), np.ones(len(names)), None, None, {}
    )


@pytest.fixture(scope="module")
def tasks() -> list[Labelled]:
    """McDiv of 90 contexts a kind, some of them but for case the same; conTest and nuggets are parts of it."""
    found: list[Labelled] = []
    for kind in KINDS:
        contexts = [f"{kind} context {i}" for i in range(90)]
        contexts[1] = contexts[0].upper() + "!"
        found.append(made_up(f"mcdiv/{kind}", contexts, len(found)))
        found.append(replace(found[-1].rows(np.arange(180) < 80), name=f"contest/{kind}"))
        found.append(replace(found[-2].rows(np.arange(180) % 3 == 0), name=f"mcdiv_nuggets/{kind}"))
    return found


@pytest.fixture(scope="module")
def table(tasks: list[Labelled]) -> Table:
    label = {name: value for task in tasks for name, value in zip(task.set_ids, task.labels.tolist(), strict=True)}
    rng = np.random.default_rng(1)
    signal = {name: value + 0.4 * rng.standard_normal() for name, value in label.items()}
    noise = {name: float(rng.standard_normal()) for name in label}
    return table_of(tasks, [Scores("signal", "made up", signal), Scores("noise", "made up", noise)])


def shared(tasks: list[Labelled], table: Table, one: np.ndarray, other: np.ndarray) -> set[str]:
    """What stands on both sides, by brute force: words of contexts, ids, words of sets, long responses."""
    sets = unique_sets(tasks)

    def words(text: str) -> str:
        return " ".join("".join(c if c.isalnum() else " " for c in text.lower()).split())

    def on(side: np.ndarray) -> set[str]:
        found = set()
        for row in side:
            context, responses = sets[table.ids[row]]
            said = sorted(map(words, responses))
            found |= {"context " + words(context), "id " + table.ids[row], "set " + "/".join(said)}
            found |= {text for text in said if len(text.split()) >= study.LONG}
        return found

    return on(one) & on(other)


def test_nothing_is_on_both_sides(tasks: list[Labelled], table: Table) -> None:
    for scheme in SCHEMES:
        splits = splits_of(scheme, table, seed=0)
        for split in splits:
            assert len(split.seen)
            assert len(split.held_out)
            for one, other in ((split.seen, split.held_out), *split.inner):
                assert not shared(tasks, table, one, other), (scheme, split.name)
        for task in table.members:
            held = [row for split in splits if task in split.reported for row in split.held_out.tolist()]
            assert len(held) == len(set(held)), (scheme, task)
    # The brute force sees what is wrong: contexts that only differ in case, or share a long response, are apart here.
    by_context = replace(table, groups=tuple(unique_sets(tasks)[name][0] for name in table.ids))
    assert any(shared(tasks, table, s.seen, s.held_out) for s in splits_of("all tasks", by_context, seed=0))


def test_groups_are_the_connected_components(tasks: list[Labelled]) -> None:
    found = context_groups(tasks)
    for kind in KINDS:
        assert found[f"{kind} context 0"] == found[f"{kind} context 0".upper() + "!"]
    # Every fifth has one of seven long responses: 0 and 35 share one, in all three kinds.
    assert len({found[f"{kind} context {i}"] for kind, i in product(KINDS, (0, 35))}) == 1
    assert found["resp_gen context 2"] == "resp_gen context 2"
    assert folds(["a", "b"], 5, 0).tolist() == [folds(["a"], 5, 0)[0], folds(["b"], 5, 0)[0]]


def test_a_signal_is_found_and_holds_and_noise_does_not(tasks: list[Labelled], table: Table) -> None:
    reference = Scores("reference", "made up", dict(zip(table.ids, table.features["noise"].tolist(), strict=True)))
    how = Resampling(resamples=50)
    for scheme in SCHEMES:
        found = run("both", scheme, tasks, table, [NOISE, SIGNAL], reference, resampling=how)
        assert {each.candidate for each in found.choices} == {str(SIGNAL)}, scheme
        assert found.wins == len(found.tasks) == (3 if scheme == "across datasets" else 9), scheme
        assert found.tried == 2
        assert all(
            each.holm is not None and each.less.p is not None and each.holm >= each.less.p for each in found.tasks
        )
        of_noise = run("noise", scheme, tasks, table, [NOISE], reference, resampling=how)
        assert of_noise.mean.value is not None
        assert of_noise.mean.value < 0.72, scheme  # the best of many thresholds on few sets is above one half


def test_the_simplest_of_the_nearly_best_is_chosen() -> None:
    one, two, trees = Candidate(("a",)), Candidate(("a", "b")), Candidate(("a",), "trees")
    assert simplest([(two, 0.900), (one, 0.896), (trees, 0.899)]) == one
    assert simplest([(two, 0.900), (one, 0.894)]) == two
    assert len(candidates()) == len(set(candidates())) == len(VERSIONS["surprisals"])


def test_weights_are_those_of_the_fit(table: Table) -> None:
    features = np.column_stack([table.features["signal"], table.features["noise"]])
    intercept, by_feature = logistic(1.0, features, table.high)
    both = Candidate(("signal", "noise"))
    assert fit(both, features, table.high)(features) == pytest.approx(features @ by_feature + intercept)
    assert by_feature[0] > 10 * abs(by_feature[1])
    falling = fit(Candidate(("signal",), "trees"), -features[:, :1], table.high)(-features[:, :1])
    assert np.ptp(falling) < 1e-6  # monotone: what should rise and falls is of no use


def test_a_task_without_features_is_told(tasks: list[Labelled]) -> None:
    with pytest.raises(ConfigurationError, match="no set has every feature"):
        table_of(tasks, [Scores("none", "made up", {})])


@pytest.mark.mirror
def test_the_command_reports_and_writes_weights(mirror: Path, tmp_path: Path) -> None:
    task = load_labelled("contest/story_gen", mirror=mirror)
    few = task.rows(np.arange(len(task.set_ids)) < 2)
    real = pair_features([few])
    write_features(tmp_path / "few.parquet", real)
    for first, again in zip(real, read_features(tmp_path / "few.parquet", [few]), strict=True):
        assert first.name == again.name
        assert again.column(few.set_ids).tolist() == first.column(few.set_ids).tolist()
    everything = [load_labelled(f"{config}/{kind}", mirror=mirror) for config in ("mcdiv", "contest") for kind in KINDS]
    rng = np.random.default_rng(0)
    label = {name: value for task in everything for name, value in zip(task.set_ids, task.labels, strict=True)}
    made = [Scores(each.name, "", {n: v + rng.standard_normal() for n, v in label.items()}) for each in real]
    write_features(tmp_path / "pairs.parquet", made)
    ended = divbench(
        *("metrics", "learn", "--version", "open", "--scheme", "across datasets", "--resamples", 100, "--json"),
        *("--features", tmp_path / "pairs.parquet", "--scores", "leaderboard/measured/scores.parquet"),
        *("--weights", tmp_path / "w.json"),
        DIVBENCH_MIRROR=str(mirror),
    )
    assert ended.returncode == 0, ended.stderr
    [outcome] = document(ended)["outcomes"]
    assert (outcome["tried"], len(outcome["tasks"]), outcome["wins"]) == (25, 3, 3)
    assert tuple(json.loads((tmp_path / "w.json").read_text())["weights"]) == COLUMNS
    for output in ("--weights", "--features"):  # told before the work of minutes
        wrong = divbench("metrics", "learn", output, tmp_path / "none" / "file", DIVBENCH_MIRROR=str(mirror))
        assert (wrong.returncode, "does not end in" in wrong.stderr) == (2, True)
    wrong = divbench("metrics", "learn", "--weights", tmp_path / "none" / "w.json", DIVBENCH_MIRROR=str(mirror))
    assert "w.json cannot be written" in wrong.stderr
    wrong = divbench("metrics", "learn", "--scheme", "across task", DIVBENCH_MIRROR=str(mirror))
    assert (wrong.returncode, "across tasks" in wrong.stderr or "across generation tasks" in wrong.stderr) == (2, True)


def test_the_json_of_weights(table: Table) -> None:
    made = json.loads(fitted_weights(replace(table, features=dict.fromkeys(THREE, table.features["signal"]))))
    assert tuple(made["weights"]) == COLUMNS
    assert made["fitted_on"].startswith(f"{len(table.ids)} sets")
