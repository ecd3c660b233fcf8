"""The list of benchmarks, what is read from their documents, and the report's text. Nothing heavy runs here."""

import argparse
import json
from dataclasses import asdict, replace
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from benchmark.perf import (
    cluster,
    equivalence,
    findings,
    generation,
    lexical,
    limits,
    memory,
    metaeval,
    order_errors,
    surprisal,
)
from benchmark.perf.machine import this_machine, without_paths
from benchmark.perf.report import markdown
from benchmark.perf.schema import Entry, Figure, Findings, Machine, Report, Share, Size
from benchmark.perf.simulation import Assumed, Simulated
from benchmark.perf.suite import BENCHMARKS, EXTRA_MODULES, Needs, named
from datasets_build.errors import ConfigurationError
from tests.benchmark.helpers import ROOT

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
    "lexical": asdict(lexical.Comparison("decTest", 10, 900, 0.0, [4.0, 6.0], [0.5, 0.5], 10.0)),
    "memory": MEMORY | {"embedder": "stand-in"},
    "embeddings": EMBEDDED,
    "metaeval": {
        "bootstrap": asdict(metaeval.Bootstrap(400, 100, 0.0, [5.0], [0.1], 50.0)),
        "nine_tasks": asdict(metaeval.NineTasks("lexical", 20, 3000, 20_000, {"load": 1.0, "all": 39.0})),
    },
    "surprisal": {"timings": [TIMING], "peak_memory_mib": 2000},
    "throughput": READ,
    "throughput_long": READ,
    "throughput_gpu": READ | {"device": "cuda"},
    "throughput_long_gpu": READ | {"device": "cuda"},
    "order_errors": ROWS,
    "generation": asdict(generation.Comparison("lm", 8, 10, 20, 0.0, [4.0], [1.0], 400.0, 1600.0, 4.0)),
    "equivalence": asdict(equivalence.Comparison("made up", 2, 90, 80, 100.0, 0.0, [2.0], [1.0], 45.0, 90.0, 2.0)),
    "cluster": {
        "measured": asdict(cluster.Scaling(640, 10, [4.0], [2.5], 8.0, 9.0, 1.6, [0.4] * 9)),
        "simulated": [],
    },
    "simulation": {
        "assumed": asdict(Assumed((4.0,))) | {"costs": 4.0},
        "simulated": [asdict(Simulated(10, "submissions", 9.0, 0.75, 110.0)) | {"by": "a worker a GPU"}],
    },
    "board": {"submissions": 30, "prompts": 200, "metrics": 10, "first_page_warm_s": [1.0, 3.0], "peak_mb": 650.0},
}


def test_every_benchmark_of_the_package_is_in_the_suite() -> None:
    modules = [
        path for path in (ROOT / "benchmark" / "perf").glob("*.py") if '__name__ == "__main__"' in path.read_text()
    ]
    names = {f"benchmark.perf.{path.stem}" for path in modules} | {"benchmark.perf.board"}
    assert {each.module for each in BENCHMARKS} == names
    assert len({each.name for each in BENCHMARKS}) == len(BENCHMARKS)
    assert BENCHMARKS[0].name == "limits"


class _Parsed(Exception):
    pass


@pytest.mark.parametrize("size", ["quick", "full"])
@pytest.mark.parametrize("benchmark", BENCHMARKS, ids=lambda each: each.name)
def test_each_takes_the_arguments_that_it_is_given(
    benchmark: Any, size: Size, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    parse = argparse.ArgumentParser.parse_args

    def parse_and_stop(*given: Any) -> None:
        parse(*given)
        raise _Parsed

    asked = ["--json"] if benchmark.document is None else [benchmark.document, str(tmp_path / "x.json")]
    if benchmark.module == "benchmark.perf.board":
        pytest.importorskip("gradio")
    main = import_module(benchmark.module).main
    monkeypatch.setattr(argparse.ArgumentParser, "parse_args", parse_and_stop)
    with pytest.raises(_Parsed):
        main([*benchmark.arguments(size), *asked])
    with pytest.raises(SystemExit):
        main(["--no-such-option"])


@pytest.mark.parametrize("benchmark", BENCHMARKS, ids=lambda each: each.name)
def test_each_document_is_read_with_and_without_limits(benchmark: Any) -> None:
    document = DOCUMENTS[benchmark.name]
    more = document if isinstance(document, list) else document | {"added": ["later"]}
    for each in (None, LIMITS):
        found = benchmark.read(more, each)
        assert found.numbers
        assert json.loads(found.model_dump_json())


def test_ratios_are_those_of_the_documents() -> None:
    read = {each.name: each.read(DOCUMENTS[each.name], LIMITS) for each in BENCHMARKS}
    ratios = {name: [ratio.value for ratio in found.ratios] for name, found in read.items() if found.ratios}
    assert ratios == {
        "lexical": [10.0],
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
        "equivalence": [2.0],
        "cluster": [1.6],
    }


def test_shares_are_of_the_limit_on_as_many_threads() -> None:
    (share,) = findings.memory(EMBEDDED, LIMITS).shares
    assert (share.achieved, share.limit, share.share) == (50.0, 100.0, 0.5)  # 4e12 in 80 s, on two threads
    assert findings.memory(EMBEDDED, None).shares == ()
    assert findings.memory(MEMORY, LIMITS).shares == ()
    (share,) = findings.equivalence(DOCUMENTS["equivalence"], LIMITS).shares
    assert share.achieved == pytest.approx(findings.DEBERTA_FLOPS * 2 * 100 * 80 / 1.0 / 1e9)
    share, _ = findings.throughput(READ, None).shares
    assert (share.achieved, share.limit, share.share) == pytest.approx((18.0, 60.0, 0.3))  # its own limit
    (share,) = findings.cluster(DOCUMENTS["cluster"], LIMITS).shares
    assert share.share == pytest.approx(0.8)


def test_the_weights_of_a_deberta_layer_are_counted() -> None:
    transformers = pytest.importorskip("transformers")
    shape = {"hidden_size": 1024, "intermediate_size": 4096, "num_attention_heads": 16}
    config = transformers.DebertaV2Config(vocab_size=8, num_hidden_layers=1, **shape)
    layer = transformers.DebertaV2Model(config).encoder.layer[0]
    weights = sum(each.numel() for name, each in layer.named_parameters() if each.dim() == 2)
    assert 2 * weights == findings.DEBERTA_FLOPS


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


def test_needs_are_told_in_words_and_found_lacking() -> None:
    needs = Needs(("score",), ("no_such_module",), ("no-such-program",), mirror=True, memory_gb=1e9)
    assert str(needs) == "extra score, no_such_module, no-such-program, released files (--mirror), 1e+09 GB"
    told = needs.lacking(mirror=False)
    assert told is not None
    for part in ("no_such_module is not installed", "no program no-such-program", "--mirror", "it takes 1e+09 GB"):
        assert part in told
    assert Needs().lacking(mirror=False) is None
    assert {extra for each in BENCHMARKS for extra in each.needs.extras} <= EXTRA_MODULES.keys()


def test_names_choose_benchmarks_in_the_suites_order() -> None:
    assert [each.name for each in named(["memory", "lexical"])] == ["limits", "lexical", "memory"]
    assert named([]) == BENCHMARKS
    with pytest.raises(ConfigurationError, match="there is no benchmark 'x'"):
        named(["x"])


MACHINE = Machine(
    processor="Some | CPU", architecture="x86_64", system="Linux", cores=2, memory_gb=25.3, gpus=(), threads="1"
)
WHEN = datetime(2026, 1, 2, 3, 4, tzinfo=UTC)
ENTRY = Entry(
    name="sample",
    about="What it measures.",
    needs="1 GB",
    state="measured",
    command="python -m sample --sets 3",
    size="quick",
    began=WHEN,
    seconds=12.0,
    load_before=0.5,
    load_after=1.5,
    findings=Findings(
        compared="one with the other",
        ratios=(Figure(what="one over other", value=12.34, unit="times as fast", better="higher"),),
        numbers=(Figure(what="memory", value=1234.5, unit="MiB", better="lower"),),
        shares=(Share(what="operations", achieved=50.0, limit=100.0, unit="GFLOP/s", share=0.5),),
    ),
)
LACKING = Entry(
    name="other", about="Else.", needs="a GPU", state="skipped", reason="this machine has no GPU", command="python -m o"
)
REPORT = Report(made=WHEN, machine=MACHINE, versions={"numpy": "2.0"}, threads=1, entries=(ENTRY, LACKING))


def test_the_page_says_what_the_report_says() -> None:
    page = markdown(REPORT)
    assert page == markdown(Report.model_validate_json(REPORT.model_dump_json()))
    for line in (
        "| processor | Some \\| CPU (x86_64, Linux), 2 cores |",
        "| written | 2026-01-02 03:04 UTC |",
        "| threads of torch | 1 (OMP_NUM_THREADS 1) |",
        "| GPU | none |",
        "| one over other | 12.3 | times as fast | higher | **ratio** |",
        "| memory | 1,234 | MiB | lower | here |",
        "| operations | 50.0 GFLOP/s | 100 GFLOP/s | 50% |",
        "2026-01-02 03:04 UTC, quick size: `python -m sample --sets 3`; 12 s, load 0.5 before and 1.5 after.",
        "- **other** (skipped): this machine has no GPU. Else. Needs: a GPU.",
    ):
        assert line in page.splitlines()


def test_a_report_of_another_version_or_with_more_in_it_is_refused() -> None:
    good = REPORT.model_dump(mode="json")
    assert Report.model_validate(good) == REPORT
    for change in ({"schema_version": 2}, {"host": "here"}, {"made": "yesterday"}):
        with pytest.raises(ValidationError):
            Report.model_validate(good | change)
    with pytest.raises(ValidationError):
        Share.model_validate({**asdict_of(ENTRY), "share": float("nan")})


def asdict_of(entry: Entry) -> dict[str, Any]:
    assert entry.findings is not None
    found: dict[str, Any] = entry.findings.shares[0].model_dump()
    return found


def test_this_machine_is_told_without_its_name() -> None:
    told = this_machine()
    assert told.cores >= 1
    assert told.memory_gb > 0.1
    assert without_paths(told.model_dump_json()) == told.model_dump_json()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("No such file: '/a b/c.txt'", "No such file: '…'"),
        ("in ~/x/y and C:\\Users\\me", "in … and …"),
        ("7 GB/s, 3/4, n/a", "7 GB/s, 3/4, n/a"),
    ],
)
def test_paths_are_left_out(text: str, told: str) -> None:
    assert without_paths(text) == told


def test_expected_minutes_are_of_the_size() -> None:
    one = replace(BENCHMARKS[0], minutes=(1, 9))
    assert (one.expected("quick"), one.expected("full")) == (1, 9)
    assert all(each.minutes[0] <= each.minutes[1] for each in BENCHMARKS)
