"""The check of a GPU: its steps on this machine's CPU, without the libraries that a GPU machine may lack."""

import json
import os
from collections.abc import Iterator
from types import SimpleNamespace

import pytest
import torch

from benchmark.perf import gpu_check
from benchmark.perf.gpu_check import Check, Settings, _busy, _little_gpu_memory
from tests.benchmark.helpers import ROOT
from tests.forked import PACKAGES, run_forked

LACKING = (
    "pydantic",
    "typer",
    "rich",
    "tenacity",
    "datasets",
    "rapidfuzz",
    "rouge_score",
    "sklearn",
    "sacrebleu",
    "sentence_transformers",
)
# DivBench's modules are imported anew, without those libraries; torch and transformers are there already.
RUN = f"""
import sys
for name in [name for name in sys.modules if name.split(".")[0] in {PACKAGES}]:
    del sys.modules[name]
for name in [name for name in sys.modules if name.split(".")[0] in {LACKING}]:
    del sys.modules[name]
sys.modules.update(dict.fromkeys({LACKING}))
from benchmark.perf.gpu_check import main
sys.exit(main(["--device", "cpu", "--shape", "tiny", "--sets", "1", "--json"]))
"""


def test_every_step_passes_on_a_cpu_with_few_libraries() -> None:
    run = run_forked(RUN, (), os.environ, ROOT)
    assert run.returncode == 0, run.stdout + run.stderr
    document = json.loads(run.stdout)
    steps = [each["step"] for each in document["checks"]]
    assert document["failed"] == 0
    for begins in (
        "torch",
        "attention by groups",
        "bits, float32 grouped",
        "bits, bfloat16 alone",
        "architecture qwen2",
    ):
        assert any(step.startswith(begins) for step in steps)
    for begins in (
        "McDiv-like, batch × 1/4: bits",
        "OLMo-like, batch × 2",
    ):
        assert any(step.startswith(begins) for step in steps)


def test_what_fails_is_a_row_and_the_exit_status(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def wrong(settings: Settings) -> Iterator[Check]:
        yield Check("a step", "1", "2", ok=False)
        raise RuntimeError("CUDA error: unspecified launch failure")

    def right(settings: Settings) -> Iterator[Check]:
        yield Check("another", "1", "1", ok=True)

    monkeypatch.setattr(gpu_check, "STEPS", (wrong, right))
    assert gpu_check.main(["--device", "cpu"]) == 1
    shown = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in shown[1:4]] == ["NO", "NO", "yes"]
    assert "RuntimeError: CUDA error: unspecified launch failure" in shown[2]
    assert shown[-1].startswith("1 of 3 checks passed")
    assert gpu_check.main(["--device", "cpu", "--only", "right"]) == 0


def test_what_is_wrong_with_the_driver_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail() -> int:
        raise RuntimeError("The NVIDIA driver on your system is too old (found version 11040).")

    monkeypatch.setattr(torch.cuda, "current_device", fail)
    assert gpu_check.main(["--device", "cuda", "--only", "machine"]) == 1
    assert "RuntimeError: The NVIDIA driver on your system is too old" in capsys.readouterr().out


def test_the_time_of_a_kernel_counts_once(monkeypatch: pytest.MonkeyPatch) -> None:
    class Profile:
        def __init__(self, **options: object) -> None:
            pass

        def __enter__(self) -> "Profile":
            return self

        def __exit__(self, *error: object) -> None:
            pass

        def key_averages(self) -> list[SimpleNamespace]:
            kinds = {"cudaLaunchKernel": SimpleNamespace(name="CPU"), "gemm": SimpleNamespace(name="CUDA")}
            return [SimpleNamespace(key=key, device_type=kinds[key], self_device_time_total=9e6) for key in kinds]

    monkeypatch.setattr(torch.profiler, "profile", Profile)
    monkeypatch.setattr(torch.profiler, "supported_activities", lambda: {torch.profiler.ProfilerActivity.CUDA})
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    assert _busy("reading", lambda: None).measured.endswith("; gemm 100%")
    monkeypatch.setattr(Profile, "key_averages", lambda self: [])
    assert _busy("reading", lambda: None).measured.startswith("not measured")


def test_without_cupti_the_time_of_kernels_is_not_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.profiler, "supported_activities", lambda: {torch.profiler.ProfilerActivity.CPU})
    check = _busy("reading", lambda: pytest.fail("nothing is run"))
    assert (check.ok, check.measured.startswith("not measured")) == (True, True)


def test_memory_is_limited_on_the_current_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """With torch's own functions, some of which refuse "cuda" without a number; only its driver is stood in for."""
    limits: list[tuple[float, int]] = []
    monkeypatch.setattr(torch.cuda.memory, "_lazy_init", lambda: None)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 1)
    monkeypatch.setattr(torch._C, "_cuda_setMemoryFraction", lambda *limit: limits.append(limit), raising=False)
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda: (60 * 2**30, 80 * 2**30))
    monkeypatch.setattr(torch.cuda, "memory_reserved", lambda: 2**29)
    with _little_gpu_memory():
        assert limits == [(2 / 80, 1)]
    assert limits[1:] == [(1.0, 1)]
