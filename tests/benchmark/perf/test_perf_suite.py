"""The list of benchmarks, the figures read from their documents, and the report."""

import argparse
import json
import os
import subprocess
import sys
from dataclasses import asdict, replace
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import typer

from benchmark.perf import __main__ as runner
from benchmark.perf import (
    alternatives,
    cluster,
    figures,
    limits,
    memory,
    metaeval,
    order_errors,
    peers,
    surprisal,
)
from benchmark.perf.figures import Figure
from benchmark.perf.script import Comparison
from benchmark.perf.simulation import Assumed, Simulated
from benchmark.perf.suite import BENCHMARKS, named
from datasets_build.errors import ConfigurationError
from tests.benchmark.helpers import ROOT
from tests.forked import run_forked

LIMITS = asdict(limits.Limits(2, 4, {"1": 50e9, "2": 100e9, "4": 200e9}, None, None, 8e9, 0.5e9, 1e9))
FIT = {"exponent": 1.01, "error": 0.02}
RUNS = [
    {"prompts": n, "responses": 10 * n, "peak_mb": 500.0, "score_seconds": 2.0 * n, "score_processor_seconds": 3.0 * n}
    for n in (10, 100)
]
GROWTH = {"score_seconds": FIT, "score_processor_seconds": FIT}
MEMORY = {"profile": "offline", "embedder": "the profile's", "runs": RUNS, "growth": GROWTH}
EMBEDDED = MEMORY | {"runs": [RUNS[0], RUNS[1] | {"embed_flops": 4e12, "embed_seconds": 80.0}]}
TIMING = asdict(surprisal.Timing("conTest-like: n = 5", 4, 600, 300, 1e-5, [4.0, 5.0], [2.0, 3.0], [0.5], 2.0, 8.0))
RATE = surprisal.Throughput("mcdiv", "balanced-1", 12, 11, 9000, 900, 9.0, 1e3, 0.3, 2**30, 500.0, 4.0, 1e-5)
READ = {
    "shape": "small",
    "dtype": "float32",
    "device": "cpu",
    "limit_flops": 60e9,
    "throughput": [asdict(RATE), asdict(replace(RATE, ratio=None))],
}
ROWS = [
    asdict(order_errors.Row("uniform 50", 5, 50, 200, 1.0, 1.0, 1.0, 1.0)),
    asdict(order_errors.Row("balanced 1", 5, 5, 25, 0.24, 0.2, 0.63, 0.6)),
]
# What each benchmark's own code makes, so that a field that is renamed there is missed here.
DOCUMENTS: dict[str, Any] = {
    "limits": LIMITS,
    "lexical": asdict(Comparison({"data": "decTest", "sets": 10, "tokens": 900}, 0.0, [4.0, 6.0], [0.5, 0.5], 10.0)),
    "peers": {"ratio": 8.5, "measures": [asdict(peers.Timing("theirs", "one", [1.0], [9.0], 9.0, 0.0, None))]},
    "memory": MEMORY | {"embedder": "stand-in"},
    "embeddings": EMBEDDED,
    "metaeval": {
        "bootstrap": asdict(Comparison({"rows": 400, "resamples": 100}, 0.0, [5.0], [0.1], 50.0)),
        "nine_tasks": asdict(metaeval.NineTasks("lexical", 20, 3000, 20_000, {"load": 1.0, "all": 39.0})),
    },
    "surprisal": {"timings": [TIMING], "peak_memory_mib": 2000},
    "throughput": READ,
    "throughput_long": READ,
    "throughput_gpu": READ | {"device": "cuda"},
    "throughput_long_gpu": READ | {"device": "cuda"},
    "order_errors": ROWS,
    "generation": asdict(Comparison({"prompts": 8, "k": 10, "tokens": 20}, 0.0, [4.0], [1.0], 4.0)),
    "alternatives": {
        "comparisons": [asdict(alternatives.Comparison("embeddings", "encode", 9, 99, 0.0, [1.0], [3.0], 3.0, 2.5))]
    },
    "learned_equivalence": {"data": "made up", "prompts": 4, "responses": 40, "cpu_seconds": {}, "ratio": 1.2},
    "cluster": {
        "measured": asdict(cluster.Scaling(640, 10, [4.0], [2.5], 8.0, 9.0, 1.6, [0.4] * 9)),
        "simulated": [],
    },
    "simulation": {
        "assumed": asdict(Assumed((4.0,))) | {"costs": 4.0},
        "simulated": [asdict(Simulated(10, "submissions", 9.0, 0.75, 110.0)) | {"by": "a worker a GPU"}],
    },
    "board": {"submissions": 30, "prompts": 200, "metrics": 10, "first_page_warm_s": [1.0, 3.0], "peak_mb": 650.0},
    "crowd": {"calls": 200, "alone_s": [1.0, 1.5], "in_a_crowd_s": [2.0, 3.0]},
}


def test_every_benchmark_of_the_package_is_in_the_suite() -> None:
    modules = [
        path for path in (ROOT / "benchmark" / "perf").glob("[a-z]*.py") if '__name__ == "__main__"' in path.read_text()
    ]
    names = {f"benchmark.perf.{path.stem}" for path in modules}
    assert {each.module for each in BENCHMARKS} == names - {
        "benchmark.perf.gpu_check",  # which is a check
        "benchmark.perf.d_can_costs",  # which measures errors, not time
    }
    assert len({each.name for each in BENCHMARKS}) == len(BENCHMARKS)
    assert BENCHMARKS[0].name == "limits"


class _Parsed(Exception):
    pass


def test_each_takes_the_arguments_that_it_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    parse = argparse.ArgumentParser.parse_args

    def parse_and_stop(*given: Any) -> None:
        parse(*given)
        raise _Parsed

    monkeypatch.setattr(argparse.ArgumentParser, "parse_args", parse_and_stop)
    for benchmark in BENCHMARKS:
        main = import_module(benchmark.module).main
        for arguments in (benchmark.quick, benchmark.full):
            with pytest.raises(_Parsed):
                main(list(arguments))
        with pytest.raises(SystemExit):
            main(["--no-such-option"])


def test_each_document_is_read_with_and_without_limits() -> None:
    for benchmark in BENCHMARKS:
        document = DOCUMENTS[benchmark.name]
        more = document if isinstance(document, list) else document | {"added": ["later"]}
        for each in (None, LIMITS):
            assert benchmark.read(more, each), benchmark.name


def test_ratios_are_those_of_the_documents() -> None:
    read = {each.name: each.read(DOCUMENTS[each.name], LIMITS) for each in BENCHMARKS}
    ratios = {name: [each.value for each in found if each.ratio] for name, found in read.items()}
    assert {name: values for name, values in ratios.items() if values} == {
        "lexical": [10.0],
        "peers": [8.5, 9.0],
        "memory": [1.01, 1.01],
        "embeddings": [1.01, 1.01],
        "metaeval": [50.0],
        "surprisal": [2.0, 8.0],
        "throughput": [4.0],
        "throughput_long": [4.0],
        "throughput_gpu": [4.0],
        "throughput_long_gpu": [4.0],
        "order_errors": [0.24],
        "generation": [4.0],
        "alternatives": [3.0],
        "learned_equivalence": [1.2],
        "cluster": [1.6],
    }


def limited(found: list[Figure]) -> list[tuple[float, float]]:
    """The figures that have a limit, with it."""
    return [(each.value, each.limit) for each in found if each.limit is not None]


def test_limits_are_those_on_as_many_threads() -> None:
    assert limited(figures.memory(EMBEDDED, LIMITS)) == [(50.0, 100.0)]  # 4e12 in 80 s, on two threads
    assert limited(figures.memory(EMBEDDED, None)) == limited(figures.memory(MEMORY, LIMITS)) == []
    assert limited(figures.throughput(READ, None))[0] == pytest.approx((18.0, 60.0))  # its own limit
    assert limited(figures.cluster(DOCUMENTS["cluster"], LIMITS)) == [(1.6, 2.0)]


def test_limits_are_measured() -> None:
    pytest.importorskip("torch")
    found = limits.measure(megabytes=1, rounds=1)
    assert str(found.threads) in found.gemm_flops
    assert "1" in found.gemm_flops
    assert min(*found.gemm_flops.values(), found.copy_bytes, found.disk_write_bytes, found.disk_read_bytes) > 0


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


def test_names_choose_benchmarks_in_the_suites_order() -> None:
    assert [each.name for each in named(["memory", "lexical"])] == ["lexical", "memory"]
    assert {each.name for each in BENCHMARKS} - {each.name for each in named([])} == {
        "throughput_gpu",
        "throughput_long_gpu",
    }
    with pytest.raises(ConfigurationError, match=r"no benchmark .lexica. .did you mean lexical"):
        named(["lexica"])


def forked(command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
    """What `subprocess.run` of `python -m MODULE …` gives, without a new interpreter."""
    code = "import runpy, sys; del sys.argv[0]; runpy.run_module(sys.argv[0], run_name='__main__', alter_sys=True)"
    return run_forked(code, command[2:], os.environ)


@pytest.mark.thorough
def test_benchmarks_run_and_are_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    limits_entry, lexical_entry = named(["limits", "lexical"])
    tiny = (
        limits_entry._replace(quick=("--megabytes", "1", "--rounds", "1")),
        lexical_entry._replace(quick=("--rounds", "1", "--sets", "20")),
        lexical_entry._replace(name="broken", quick=("--no-such-option",)),
    )
    monkeypatch.setattr(runner, "BENCHMARKS", tiny)
    monkeypatch.setattr(runner, "named", lambda names: tiny)
    out = tmp_path / "out"
    written: list[list[int]] = []
    for again in (False, False, True):
        if written:
            monkeypatch.setattr(subprocess, "run", forked)
        with pytest.raises(typer.Exit):  # for the one that is broken
            runner.perf(destination=out, again=again)
        written.append([path.stat().st_mtime_ns for path in sorted(out.glob("*.json"))])
    assert len(written[0]) == 2
    assert written[0] == written[1]  # what is there is not run again
    assert all(late > early for early, late in zip(written[1], written[2], strict=True))
    monkeypatch.setattr(runner, "machine", lambda: {"processor": "another one"})
    with pytest.raises(typer.Exit):
        runner.perf(destination=out)
    assert [path.stat().st_mtime_ns for path in sorted(out.glob("*.json"))] != written[2]
    kept = json.loads((tmp_path / "out" / "lexical.json").read_bytes())
    assert kept["command"] == "python -m benchmark.perf.lexical --rounds 1 --sets 20"
    assert not (tmp_path / "out" / "broken.json").exists()
    page = (tmp_path / "out" / "report.md").read_text()
    assert f"| package over plain Python | {runner.digits(kept['document']['ratio'])} | times as fast |" in page
    assert "copy" in page


def test_a_quick_run_overwrites_no_full_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tiny = (named(["lexical"])[0]._replace(quick=("--rounds", "1", "--sets", "20"), full=("--sets", "30")),)
    monkeypatch.setattr(runner, "BENCHMARKS", tiny)
    monkeypatch.setattr(runner, "named", lambda names: tiny)
    full = {"command": "python -m benchmark.perf.lexical --sets 30", "machine": {}}
    (tmp_path / "lexical.json").write_text(json.dumps(full))
    monkeypatch.setattr(runner, "report", lambda folder: "")
    monkeypatch.setattr(subprocess, "run", forked)
    for again in (False, True):
        runner.perf(destination=tmp_path, again=again)
        assert json.loads((tmp_path / "lexical.json").read_bytes()) == full


def test_a_share_of_the_limit_is_shown() -> None:
    kept = {"began": "now", "command": "python -m x", "seconds": 12.0, "load": 0.5, "machine": {"cores": "2"}}
    page = runner.section(BENCHMARKS[0], kept, [Figure("operations", 50.0, "GFLOP/s", limit=100.0)])
    assert "| operations | 50.0 | GFLOP/s | higher |  | 50% of 100 |" in page
    assert "now, `python -m x`; 12 s, load 0.5 before. cores: 2." in page


def test_the_help_names_no_types_of_python() -> None:
    run = [sys.executable, "-m", "benchmark.perf", "--help"]
    ended = subprocess.run(run, capture_output=True, text=True, check=True)
    assert "<str>" in ended.stdout
    assert "<bool>" not in ended.stdout
    assert "list[" not in ended.stdout
