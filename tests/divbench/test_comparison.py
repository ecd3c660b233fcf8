"""Comparisons of two systems: paired tests, findings in words, and the prompts that are left out."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.stats

import divbench as db
from benchmark.analysis.contrast.paired import excluded
from divbench.core.errors import InputError


def test_compare_is_the_paired_test_and_names_who_is_more_diverse() -> None:
    rng = np.random.default_rng(0)
    words = [f"w{i}" for i in range(30)]
    few, many = (
        {f"p{i}": [" ".join(rng.choice(words[:size], 6)) for _ in range(4)] for i in range(12)} for size in (4, 30)
    )
    a, b = (db.score(sets, metrics=["distinct_n", "self_bleu"]) for sets in (few, many))
    found = db.compare(a, b, names=("few", "many"))
    for name in ("distinct_n", "self_bleu"):
        wanted = scipy.stats.wilcoxon(a.to_pandas()[name], b.to_pandas()[name]).pvalue
        assert found.contrasts[name].p == pytest.approx(wanted)
        assert found.finding(name) == "many more diverse"
    assert db.compare(few, many, ["distinct_n", "self_bleu"], names=("few", "many")) == found
    means = [each.means[0].value for each in (a, b)]
    assert [found.to_pandas().loc["distinct_n", f"mean {name}"] for name in ("few", "many")] == pytest.approx(means)
    assert f"{means[0]:.3f} │ {means[1]:.3f}" in str(found)
    assert f"<td>{means[0]:.4f}</td>" in found._repr_html_()
    assert db.compare(a, a, names=("x", "y")).finding("distinct_n") != "x more diverse"
    lows = {db.compare(a, b, resamples=99, seed=seed).contrasts["distinct_n"].low for seed in (0, 0, 1)}
    assert len(lows) == 2
    with pytest.raises(InputError, match="no prompt in common"):
        db.compare(a, db.score({"other": ["a", "b"]}, metrics=["distinct_n"]))
    assert " 12 " in str(found).splitlines()[4]  # the number of prompts
    with pytest.raises(InputError, match="few has 2 sets, many 1, and there are no prompts"):
        db.compare([["a", "b"], ["c"]], [["a", "b"]], ["distinct_n"], names=("few", "many"))
    with pytest.raises(InputError, match="different numbers of responses to 1 prompt, such as 4 and 3"):
        db.compare(few, many | {"p3": many["p3"][:3]}, ["distinct_n"])
    with pytest.raises(InputError, match="profiles differ"):
        db.compare(a, db.score(few, metrics=["distinct_n"], profile="semantic"))


def test_no_system_is_named_where_its_mean_and_the_ranks_disagree() -> None:
    """A little more diverse on 30 prompts, much less on 5: the test finds a difference, but not of the means."""
    words = ["cat", "dog", "eel", "fox", "hen", "owl", "pig", "rat", "yak", "ant"]

    def of(count: int) -> list[str]:
        return [words[min(j, count - 1)] for j in range(10)]

    mine = {f"p{i}": of(3 if i < 30 else 1) for i in range(35)}
    theirs = {f"p{i}": of(2 if i < 30 else 9) for i in range(35)}
    found = db.compare(mine, theirs, ["distinct_k"], names=("mine", "theirs"))
    tested = found.contrasts["distinct_k"]
    assert (tested.difference or 0) < 0 < (tested.rank_biserial or 0)
    assert (tested.p or 1) < 0.01
    assert found.finding("distinct_k") == "means and ranks disagree"
    assert found.to_pandas().loc["distinct_k", "rank_biserial"] == pytest.approx((465 - 165) / 630)
    assert excluded(tested) == "means and ranks disagree"  # in the tables of divbench contrast, too
    assert excluded(replace(tested, difference=1.0, d_z=1.0)) == excluded(replace(tested, p=0.06)) == ""


def test_a_finding_needs_p_below_5_percent_and_a_difference() -> None:
    sets = {f"p{i}": ["a b", "c d"] for i in range(5)}
    known = db.compare(sets, sets, ["distinct_n"], names=("x", "y"))
    [tested] = known.contrasts.values()
    for p, difference, direction, said in (
        (0.05, 1.0, 1, "no significant difference"),
        (0.049, 1.0, 1, "x more diverse"),
        (0.049, -1.0, 1, "y more diverse"),
        (0.049, 1.0, -1, "y more diverse"),
        (0.049, 1.0, 0, "x higher"),
        (0.049, -1.0, 0, "x lower"),
        (0.049, 0.0, 1, "no significant difference"),  # of the means, though there is one of the ranks
        (None, 1.0, 1, "untested: few"),
    ):
        other = replace(tested, p=p, difference=difference, rank_biserial=difference, untested="few")
        made = replace(known, directions={"distinct_n": direction}, contrasts={"distinct_n": other})
        assert made.finding("distinct_n") == said
        assert f" {said} " in str(made)


def test_prompts_of_one_system_are_left_out_and_none_may_be_repeated() -> None:
    sets = {f"p{i}": [" ".join("ab"[j % (1 + i % 2)] for j in range(4)), "b"] for i in range(9)}
    mine, theirs = (dict([*sets.items()][part]) for part in (slice(0, 7), slice(1, 9)))
    found = db.compare(mine, theirs, ["distinct_n"]).contrasts["distinct_n"]
    assert (found.n, found.left_out) == (6, 3)
    assert found.reasons == {"a: prompt not there": 2, "b: prompt not there": 1}
    bare = db.compare([*mine.values()], [*theirs.values(), ["a", "b"]][:7], ["distinct_n"])  # by position
    assert bare.contrasts["distinct_n"].n == 7
    scores = db.score(mine, ["distinct_n"])
    with pytest.raises(InputError, match="b has a prompt twice"):
        db.compare(scores, replace(scores, names=("p0", *scores.names[:-1])))
    with pytest.raises(InputError, match="no metric in common"):
        db.compare(scores, db.score(mine, ["self_bleu"]))
    assert [*db.compare(db.score(mine, ["self_bleu", "distinct_n"]), scores).contrasts] == ["distinct_n"]
    assert "distinct_n: " not in str(db.compare(scores, scores))  # nothing is excluded


def test_a_comparison_says_which_prompts_it_leaves_out() -> None:
    mine = {f"p{i}": ["a b", "c d"] if i < 6 else ["", " "] for i in range(8)}
    found = str(db.compare(mine, {f"p{i}": ["a b", "a c"] for i in range(8)}, ["distinct_n"], names=("mine", "theirs")))
    assert "distinct_n: 2 excluded: mine: " in " ".join(found.split())
