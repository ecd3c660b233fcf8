"""Comparisons of two systems: paired tests, findings in words, and the prompts that are left out."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import scipy.stats

import divbench as db
from benchmark.analysis.contrast.paired import excluded
from divbench.core.errors import ConfigurationError, InputError


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
    fewer = many | {"p3": many["p3"][:3]}
    with pytest.raises(InputError, match="different numbers of responses to 1 prompt, such as 4 and 3"):
        db.compare(a, db.score(fewer, metrics=["distinct_n", "self_bleu"]))
    cut = db.compare(few, fewer, ["distinct_n"]).contrasts["distinct_n"]  # the first three of both
    assert cut == db.compare(few | {"p3": few["p3"][:3]}, fewer, ["distinct_n"]).contrasts["distinct_n"]
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


def test_blanks_make_no_system_more_diverse() -> None:
    theirs = {f"p{i}": [f"the {w} of {i} is red" for w in ("cat", "dog", "eel", "fox")] for i in range(8)}
    mine = {prompt: [*texts[:2], "", " "] for prompt, texts in theirs.items()}
    found = db.compare(mine, theirs, "lexical", names=("mine", "theirs"))
    assert {c.difference for c in found.contrasts.values()} <= {0.0, None}
    assert "Without an answer: mine: 16 blank of 32 responses." in str(found)
    assert "On 8 prompts the systems have different numbers of scored responses" in " ".join(str(found).split())
    scored, other = (db.score(sets, ["distinct_n"]) for sets in (mine, theirs))
    assert db.compare(scored, other).contrasts["distinct_n"].reasons == {
        f"{name}: another number of scored responses than the other system": 8 for name in ("a", "b")
    }
    assert "16 blank of 32 responses" in str(scored)


def test_a_comparison_is_a_figure_and_a_table_for_papers(tmp_path: Path) -> None:
    few = {f"p{i}": ["a b", "a b", f"a {'bcdefg'[i]}"] for i in range(6)}
    many = {f"p{i}": ["a b", f"c {'xyzuvw'[i]}", "e f"] for i in range(6)}
    found = db.compare(few, many, ["distinct_n", "self_bleu"], names=("few_$x$", "many"))
    figure = found.plot()
    [(_, rows)] = figure.panels
    assert [row.label for row in rows] == ["distinct_n ↑", "self_bleu ↓"]
    assert all((row.low or 0) < (row.value or 0) < 0 for row in rows)  # both say that the second is more diverse
    for ending, begins in ((".pdf", b"%PDF"), (".svg", b"<?xml"), (".png", b"\x89PNG")):
        figure.save(tmp_path / f"x{ending}")
        assert (tmp_path / f"x{ending}").read_bytes().startswith(begins)
    with pytest.raises(ConfigurationError, match="no extension of a figure"):
        figure.save(tmp_path / "x.docx")
    lines = found.to_latex().splitlines()
    columns = lines[1].removeprefix("\\begin{tabular}{").removesuffix("}")
    written = [line for line in lines if line.endswith(" \\\\")]
    assert {row.count(" & ") + 1 for row in written} == {len(columns)} == {8}
    assert "few\\_\\$x\\$" in written[0]
    assert "\\texttt{self\\_bleu $\\downarrow$}" in written[2]


def test_a_comparison_says_which_prompts_it_leaves_out() -> None:
    mine = {f"p{i}": ["a b", "c d"] if i < 6 else ["", " "] for i in range(8)}
    found = str(db.compare(mine, {f"p{i}": ["a b", "a c"] for i in range(8)}, ["distinct_n"], names=("mine", "theirs")))
    assert "distinct_n: 2 excluded: mine: " in " ".join(found.split())
