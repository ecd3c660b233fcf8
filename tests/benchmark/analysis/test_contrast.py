"""Contrasts: the OLMo study recomputed from its released numbers, and laws on made-up systems."""

import csv
import json
import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmark.analysis.contrast.equal_numbers import counts_all
from benchmark.analysis.contrast.paired import Contrast, Expected, paired_contrast, pairs_of
from benchmark.analysis.contrast.study import Study, contrast_systems, report_of
from benchmark.analysis.contrast.systems import Systems, length_matched, open_systems
from benchmark.metrics import METRICS
from benchmark.metrics.metric import Missing
from benchmark.scoring.backends import ScoringBackends
from benchmark.scoring.inputs import Value
from benchmark.scoring.profiles import find_profile
from benchmark.scoring.scorer import score_submission
from benchmark.validity.backend import ValidityJudge
from datasets_build.load import load_suite
from datasets_build.schema import Prompt, Suite
from datasets_build.sources.olmo import PROMPT_SETS, STAGES
from divbench.core.errors import ConfigurationError
from divbench.core.tables import Styled, Table
from submissions.checking.validate import open_submission
from submissions.gaming.baselines import write_demo_submissions
from submissions.schema import Manifest, Row
from submissions.storage.submission_folders import write_submission
from tests.benchmark.fakes import HashEmbedder
from tests.benchmark.helpers import HASH_READER
from tests.conftest import divbench, document
from tests.submissions.conftest import KNOWN

# arXiv:2606.01811: H1a, H1b, H1c one-sided and corrected together, H1' two-sided and not corrected.
DECLINE = {"HoneA": ("base", "sft"), "HoneB": ("sft", "dpo"), "HoneC": ("base", "instruct")}
LAST = {"Hpa": ("dpo", "instruct")}
ANALYSES = {"raw": "analysis.json", "length_matched": "analysis_length_matched.json"}
LEXICAL = find_profile("lexical")
ByStage = dict[str, dict[str, Value]]


def hypotheses(values: ByStage) -> dict[str, Contrast]:
    decline = paired_contrast(values, list(DECLINE.values()), resamples=200)
    last = paired_contrast(values, list(LAST.values()), expected="two-sided", resamples=200)
    return dict(zip([*DECLINE, *LAST], decline + last, strict=True))


def check(found: dict[str, Contrast], published: dict[str, dict[str, Any]], digits: float) -> None:
    """Against a block of the released analysis: the tests as they are, all else to the digits of the values given."""
    assert found.keys() == published.keys()
    for name, expected in published.items():
        ours = found[name]
        assert (ours.a, ours.b, ours.alternative, ours.n) == tuple(expected[x] for x in ("a", "b", "alternative", "n"))
        assert ours.statistic == expected["stat"]
        assert ours.p == pytest.approx(expected["p_raw"], rel=1e-9)
        if expected["p_bonferroni"] is None:
            assert ours.p_bonferroni == ours.p
        else:
            assert ours.p_bonferroni == pytest.approx(expected["p_bonferroni"], rel=1e-9)
        for mine, theirs in [("mean_a", "mean_a"), ("mean_b", "mean_b"), ("difference", "mean_diff")]:
            assert getattr(ours, mine) == pytest.approx(expected[theirs], abs=digits)
        assert ours.d_z == pytest.approx(expected["cohen_dz"], abs=100 * digits)


@pytest.mark.mirror
@pytest.mark.parametrize("variant", ANALYSES)
@pytest.mark.parametrize("prompt_set", PROMPT_SETS)
def test_table_4_of_d_can_is_recomputed(mirror: Path, prompt_set: str, variant: str) -> None:
    folder = mirror / "olmo" / "reference"
    values: ByStage = {stage: {} for stage in STAGES}
    with (folder / "per_prompt_D.csv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if (row["prompt_set"], row["variant"]) == (prompt_set, variant):
                values[row["stage"]][row["prompt_id"]] = float(row["D_Can"])
    published = json.loads((folder / ANALYSES[variant]).read_text(encoding="utf-8"))
    check(hypotheses(values), published[prompt_set]["tests"]["D_Can"], digits=1e-8)


@pytest.mark.mirror
@pytest.mark.parametrize("metric", ["ead", "distinct_n", "sentbert_diversity"])
@pytest.mark.parametrize("prompt_set", PROMPT_SETS)
def test_tests_of_the_baselines_are_recomputed(mirror: Path, prompt_set: str, metric: str) -> None:
    folder = mirror / "olmo" / "reference"
    values: ByStage = {stage: {} for stage in STAGES}
    for line in (folder / "baseline_metrics.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        if row["prompt_set"] == prompt_set:
            values[row["stage"]][row["prompt_id"]] = row[metric]
    published = json.loads((folder / ANALYSES["raw"]).read_text(encoding="utf-8"))
    check(hypotheses(values), published[prompt_set]["tests"][metric], digits=1e-12)


@pytest.mark.mirror
@pytest.mark.parametrize(
    ("prompt_set", "prompts", "means", "d_z"),
    [
        ("alpacaeval", 150, [0.9222, 0.7773, 0.7264, 0.7113], [1.17, 0.54, 1.66]),
        ("nbcurated", 39, [0.9398, 0.8062, 0.7267, 0.7071], [1.10, 0.85, 1.56]),
    ],
)
def test_ead_of_length_matched_texts_separates_the_stages_too(
    mirror: Path, prompt_set: str, prompts: int, means: list[float], d_z: list[float]
) -> None:
    systems = open_systems([f"olmo_stages/{prompt_set}/{stage}" for stage in STAGES], mirror=mirror)
    ead = tuple(metric for metric in METRICS if metric.id == "ead")
    study = contrast_systems(
        systems, ScoringBackends(LEXICAL), lengths=["matched"], pairing="all", resamples=100, metrics=ead
    )
    [part] = study.parts
    found = {(each.a, each.b): each for each in part.lines[0].contrasts}
    assert part.prompts == prompts
    assert part.left_out == {"a response of under 50 bytes": len(systems.prompts) - prompts}
    consecutive = [found[pair] for pair in pairs_of(STAGES, "consecutive")]
    seen = [consecutive[0].mean_a, *(each.mean_b for each in consecutive)]
    assert seen == pytest.approx(means, abs=5e-5)
    assert [found[pair].d_z for pair in DECLINE.values()] == pytest.approx(d_z, abs=5e-3)
    for pair in DECLINE.values():
        p = found[pair].p_bonferroni  # over all six pairs, twice as many as the study's
        assert p is not None
        assert p < 1e-4


def made_up(shift: float = 0.4, prompts: int = 40) -> dict[str, dict[str, Value]]:
    base = np.random.default_rng(0).normal(size=prompts)
    noise = np.random.default_rng(1).normal(size=prompts)
    return {
        "high": {f"p{i}": float(base[i] + shift) for i in range(prompts)},
        "low": {f"p{i}": float(base[i] + 0.3 * noise[i]) for i in range(prompts)},
    }


def test_turning_a_metric_round_turns_the_alternative_and_keeps_p() -> None:
    values = made_up()
    turned: dict[str, dict[str, Value]] = {
        name: {prompt: -value for prompt, value in own.items() if isinstance(value, float)}
        for name, own in values.items()
    }
    [up], [down] = (paired_contrast(v, [("high", "low")], direction=d) for v, d in ((values, 1), (turned, -1)))
    assert (up.alternative, down.alternative) == ("greater", "less")
    assert up.p == down.p
    assert (up.difference, up.d_z, up.low) == pytest.approx(
        (-(down.difference or 0), -(down.d_z or 0), -(down.high or 0))
    )
    assert up.p is not None
    assert up.low is not None
    assert up.p < 0.01
    assert up.low > 0


def test_missing_prompts_leave_that_metric_and_are_counted() -> None:
    values = made_up()
    values["high"]["p3"] = values["low"]["p3"] = Missing("fewer than two responses")
    values["low"]["p4"] = math.nan
    del values["low"]["p5"]
    [found] = paired_contrast(values, [("high", "low")])
    assert (found.n, found.left_out) == (37, 3)
    assert found.reasons == {
        "high: fewer than two responses": 1,
        "low: fewer than two responses": 1,
        "low: not a number": 1,
        "low: prompt not there": 1,
    }
    rest = {name: {p: v for p, v in own.items() if p not in {"p3", "p4", "p5"}} for name, own in values.items()}
    [alone] = paired_contrast(rest, [("high", "low")])
    for name in ("mean_a", "mean_b", "difference", "d_z", "statistic", "p"):
        assert getattr(found, name) == getattr(alone, name)
    [one] = paired_contrast({"a": {"p": 1.0}, "b": {"p": 3.0}}, [("a", "b")])
    assert (one.n, one.mean_a, one.mean_b, one.difference, one.low, one.p) == (1, 1.0, 3.0, -2.0, None, None)


def test_corrections_count_the_pairs_that_were_tested() -> None:
    values = made_up() | {"empty": {f"p{i}": Missing("never") for i in range(40)}}
    found = paired_contrast(values, [("high", "low"), ("low", "high"), ("high", "empty")])
    assert found[0].p is not None
    assert found[0].p_bonferroni == 2 * found[0].p
    assert found[0].p_holm == 2 * found[0].p
    assert found[1].p_bonferroni == 1.0
    empty = found[2]
    assert (empty.n, empty.p, empty.p_holm, empty.mean_a, empty.difference, empty.low) == (0, *[None] * 5)
    assert empty.untested == "fewer than 5 pairs"


def systems_of(**answers: Mapping[str, tuple[str, ...]]) -> Systems:
    prompts = tuple(Prompt(p, "", f"Say {p}.") for p in next(iter(answers.values())))
    k = min(len(texts) for own in answers.values() for texts in own.values())
    return Systems(Suite("made-up", "Made up", prompts), dict.fromkeys(answers, "made up"), k, answers)


LONG = "über " * 20
MIXED = systems_of(
    one={"p": (LONG, LONG + "!"), "q": (LONG, LONG)}, two={"p": ("é" * 26, LONG), "q": ("é" * 24 + "x", LONG)}
)


def test_matched_texts_have_the_bytes_of_the_shortest_of_all_systems() -> None:
    matched = length_matched(MIXED)
    # 52 bytes; those of LONG end in the middle of no letter, q's shortest has 49 bytes.
    assert matched.responses["one"]["p"] == (LONG.encode()[:52].decode(),) * 2
    assert matched.responses["two"]["p"][0] == "é" * 26
    assert [prompt.prompt_id for prompt in matched.prompts] == ["p"]
    assert matched.left_out == {"a response of under 50 bytes": 1}
    odd = length_matched(systems_of(one={"p": ("é" * 40,)}, two={"p": ("x" * 51,)}))
    assert odd.responses["one"]["p"] == ("é" * 25,)  # a letter that the cut would split leaves


def test_numbers_of_matched_texts_name_their_lengths() -> None:
    def signature(systems: Systems, part: int) -> str:
        found = contrast_systems(systems, ScoringBackends(LEXICAL), resamples=100)
        return found.parts[part].lines[0].signature

    other = systems_of(one=MIXED.responses["one"], two={"p": ("é" * 27, LONG), "q": (LONG, LONG)})
    assert signature(MIXED, 0) == signature(other, 0)
    assert "length" not in signature(MIXED, 0)
    assert "|length:matched:" in signature(MIXED, 1)
    assert signature(MIXED, 1) != signature(other, 1)


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The demonstration's submissions: ten different answers, ten wordings of one, one repeated, …"""
    return write_demo_submissions(tmp_path_factory.mktemp("demo"))


def made_study(demo: list[Path], **options: Any) -> Study:
    systems = open_systems([str(folder) for folder in demo[:2]])
    return contrast_systems(systems, ScoringBackends(LEXICAL), resamples=100, **options)


@pytest.fixture(scope="module")
def study(demo: list[Path]) -> Study:
    return made_study(demo)


def test_every_metric_of_a_profile_is_compared_on_the_same_texts(demo: list[Path]) -> None:
    offline = find_profile("offline")
    backends = ScoringBackends(offline, embedder=HashEmbedder(), reader=HASH_READER, validity=ValidityJudge())
    systems = open_systems([str(folder) for folder in demo[:3]])
    seen: list[int] = []
    study = contrast_systems(systems, backends, pairing="all", resamples=100, progress=seen.append)
    raw, matched = study.parts
    assert (raw.length, raw.prompts, raw.left_out) == ("raw", 24, {})
    assert {line.direction for line in raw.lines} == {1, 0, -1}
    for line in raw.lines:
        assert {each.alternative for each in line.contrasts} == {"two-sided"}
    assert matched.length == "matched"
    assert matched.prompts + sum(matched.left_out.values()) == 24
    assert sum(seen) == 3 * (raw.prompts + matched.prompts)
    computed = [metric.id for metric in offline.metrics() if metric.reads != "reported"]
    for part in study.parts:
        assert [line.metric for line in part.lines] == computed
        for line in part.lines:
            assert [(each.a, each.b) for each in line.contrasts] == list(pairs_of(list(study.systems), "all"))
            assert all(each.n + each.left_out == part.prompts for each in line.contrasts)


def test_a_system_is_named_only_if_the_test_finds_it() -> None:
    ead = tuple(metric for metric in METRICS if metric.id == "ead")
    texts = {f"p{i}": tuple(f"{w} {'abcdefghi'[: i + 1]}" for w in ("cat", "dog", "eel")) for i in range(9)}
    same = {prompt: (own[0], own[0], own[0]) for prompt, own in texts.items()}
    cases: tuple[tuple[str, Expected, str], ...] = (
        ("more", "two-sided", "more more diverse"),
        ("same", "two-sided", "more more diverse"),
        ("same", "greater", "no significant difference"),
        ("more", "greater", "more more diverse"),
    )
    for first, expected, finding in cases:
        systems = systems_of(more=texts, same=same) if first == "more" else systems_of(same=same, more=texts)
        study = contrast_systems(
            systems, ScoringBackends(LEXICAL), lengths=["raw"], resamples=100, metrics=ead, expected=expected
        )
        table = report_of(study).printed[0]
        assert isinstance(table, Table)
        assert [row[2] for row in table.rows] == [finding]
        assert expected in table.title or "one-sided" in table.title


def test_equal_numbers_of_scored_responses_are_compared() -> None:
    """A system with six blanks of eight repeats itself less, but only because it says less."""
    texts = {
        f"p{i}": tuple(f"the {w} of {i} is {'red' if j % 2 else 'blue'}" for j, w in enumerate("abcdefgh"))
        for i in range(9)
    }
    mostly = {prompt: (*own[:2], *[" "] * 5, "[Blocked]") for prompt, own in texts.items()}
    mostly["p8"] = (texts["p8"][0], *[""] * 7)
    study = contrast_systems(
        systems_of(all=texts, blank=mostly), ScoringBackends(LEXICAL), lengths=["raw"], resamples=100
    )
    for line in study.parts[0].lines:
        [found] = line.contrasts
        assert (found.n, found.difference) in {(8, 0.0), (0, None)}
        assert found.reasons.get("blank: no response") == 1
    said = report_of(study).text(".md")
    assert "Without an answer: all: none; blank: 47 blank, 8 placeholders of 72 responses" in said
    assert "On 9 prompts the systems have different numbers of scored responses" in said
    assert {"valid_distinct_k", "valid_share"} <= {metric.id for metric in METRICS if counts_all(metric)}
    assert not any(counts_all(metric) for metric in METRICS if metric.reads in ("responses", "embeddings", "partition"))


def test_truncated_responses_count_as_they_do_in_a_score(tmp_path: Path) -> None:
    """One signature, one number: a class of truncated responses alone counts in neither, also across systems."""
    suite = load_suite("demo")
    texts = ("Red cats sleep in the sun.", "Mountains are tall.", "An hour by the")
    for name, last in (("cut", "length"), ("whole", "stop")):
        rows = [
            Row(i + 1, prompt.prompt_id, prompt.prompt, texts, ("stop", "stop", last))
            for i, prompt in enumerate(suite.prompts)
        ]
        manifest = Manifest.model_validate(KNOWN | {"name": name, "suite": "demo", "generation": {"k": 3}})
        (tmp_path / name).mkdir()
        write_submission(tmp_path / name, manifest, rows)
    folders = [str(tmp_path / name) for name in ("cut", "whole")]
    opened = open_systems(folders)
    metrics = tuple(each for each in METRICS if each.id == "distinct_k")
    raw, matched = (
        contrast_systems(opened, ScoringBackends(LEXICAL), lengths=[length], metrics=metrics, resamples=100)
        for length in ("raw", "matched")
    )
    scored = score_submission(
        open_submission(Path(folders[0]), load_suite)[0], suite, ScoringBackends(LEXICAL), tmp_path / "results",
        metrics=metrics,
    )  # fmt: skip
    line = raw.parts[0].lines[0]
    assert line.signature == str(scored.result.scores[0].signature)
    assert (line.contrasts[0].mean_a, line.contrasts[0].mean_b) == (scored.result.scores[0].value, 3.0) == (2.0, 3.0)
    assert not matched.parts[0].lines[0].contrasts[0].n  # too short to be matched
    assert raw.truncated == {"cut": len(suite.prompts), "whole": 0}
    assert f"Truncated responses: cut: {len(suite.prompts)}, whole: 0." in report_of(raw).text(".md")
    assert length_matched(opened).finish_reasons == {}
    assert open_systems(folders, k=2).reasons("cut", "demo-00") == ("stop", "stop")


def test_texts_too_short_to_be_matched_have_no_table(study: Study) -> None:
    raw, matched = study.parts
    none = replace(matched, prompts=0, left_out={"a response of under 50 bytes": 24}, lines=())
    shown = report_of(replace(study, parts=(raw, none))).printed
    assert isinstance(shown[1], Styled)
    assert shown[1].text.endswith("0 prompts; 24 excluded: a response of under 50 bytes")


def test_the_first_k_responses_are_compared(demo: list[Path], tmp_path: Path) -> None:
    """As many as asked for, otherwise as many as every system has."""
    submission, _, _ = open_submission(demo[0], load_suite)
    rows = [replace(row, responses=row.responses[:4]) for row in submission.rows()]
    fields = submission.manifest.model_dump() | {"generation": {"k": 4}, "origin": None}
    write_submission(tmp_path, Manifest.model_validate(fields), rows)
    for folders, asked, k in ((demo[:2], 3, 3), ([demo[1], tmp_path], None, 4), ([tmp_path, demo[1]], None, 4)):
        systems = open_systems([*map(str, folders)], k=asked)
        assert systems.k == k
        assert {len(texts) for own in systems.responses.values() for texts in own.values()} == {k}
    with pytest.raises(ConfigurationError, match="k = 5, but a system has 4 responses"):
        open_systems([str(demo[1]), str(tmp_path)], k=5)


@pytest.mark.parametrize(
    ("names", "options", "says"),
    [
        (["{0}"], {}, "one was named"),
        (["{0}", "{0}"], {}, "named twice"),
        (["{0}", "olmo_stages/base"], {}, "different prompts"),
        (["olmo_stages/base", "olmo_stages/rlhf"], {}, "no stage 'rlhf'"),
        (["olmo_stages/other/base", "olmo_stages/other/sft"], {}, "no split 'other'"),
        (["olmo_stages/nbcurated/base", "olmo_stages/sft"], {}, "are of different prompts"),
        (["{0}", "{1}"], {"k": 11}, "k = 11, but a system has 10"),
        (["{0}", "{1}"], {"k": 0}, "k = 0, but"),
        (["{0}", "nowhere"], {}, "there is no folder nowhere"),
    ],
)
def test_what_cannot_be_compared_is_refused(
    demo: list[Path], names: list[str], options: dict[str, Any], says: str
) -> None:
    with pytest.raises(ConfigurationError, match=says):
        open_systems([name.format(*demo) for name in names], **options)


def test_csv_has_every_digit_and_markdown_every_contrast(study: Study) -> None:
    rows = list(csv.DictReader(report_of(study).text(".csv").splitlines()))
    contrasts = [(line, each) for part in study.parts for line in part.lines for each in line.contrasts]
    assert len(rows) == len(contrasts)
    for row, (line, each) in zip(rows, contrasts, strict=True):
        assert (row["metric"], row["signature"]) == (line.metric, line.signature)
        assert float(row["mean_a"]) == each.mean_a
        assert row["p"] == ("" if each.p is None else repr(each.p))
    table = report_of(study).text(".md").splitlines()
    assert sum(line.startswith("| `") for line in table) == len(contrasts)
    assert len({line.count(" | ") for line in table if line.startswith("| `")}) == 1


def test_the_command(demo: list[Path], tmp_path: Path) -> None:
    arguments = ["contrast", demo[0], demo[1], "--profile", "lexical", "--length", "raw"]
    ended = divbench(*arguments, "--json", "--out", tmp_path / "table.md")
    assert ended.returncode == 0, ended.stderr
    found = document(ended)
    assert (found["k"], found["profile"], [part["length"] for part in found["parts"]]) == (10, "lexical", ["raw"])
    assert "the first 10 responses of each prompt are compared" in ended.stderr
    assert (
        (tmp_path / "table.md")
        .read_text(encoding="utf-8")
        .startswith("# Contrast of systems\n\nDifference: mean of first")
    )
    shown = divbench(*arguments)
    assert shown.returncode == 0
    assert all(line["metric"] in shown.stdout for line in found["parts"][0]["lines"])
