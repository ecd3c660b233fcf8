"""What a result says of how its models ran: device, precision, attention, budget, and each fallback with its reason."""

import json
from dataclasses import asdict, replace
from io import StringIO
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rich.console import Console

from benchmark.commands import print_result
from benchmark.metrics import METRICS
from benchmark.models.bundled_lm import OFFLINE_LM
from benchmark.models.devices import ModelRun
from benchmark.scoring import backends as loading
from benchmark.scoring.backends import ScoringBackends
from benchmark.scoring.profiles import find_profile
from benchmark.scoring.results import Result, read_result
from benchmark.scoring.scorer import Options, Scored, score_submission
from benchmark.scoring.shards import runs_of
from benchmark.surprisal.engine import OrderPlan, SurprisalReader
from benchmark.surprisal.prompt_layout import Layout
from tests.benchmark.fakes import HashEmbedder
from tests.benchmark.helpers import rows_of, submit, suite_of
from tests.benchmark.lms import lm_of, one_thread

__all__ = ["one_thread"]  # a fixture

SMALL = suite_of(6)
SURPRISAL = tuple(metric for metric in METRICS if metric.reads == "surprisals")[:1]
PROFILE = replace(find_profile("lexical"), causal_lm=OFFLINE_LM)


def scored(folder: Path, *, fallback: str | None = None) -> Scored:
    lm = lm_of("gpt2")
    if fallback is not None:
        lm.fallbacks, lm.shares = (fallback,), False
    backends = ScoringBackends(PROFILE, reader=SurprisalReader(lm, Layout(), OrderPlan()))
    submission = submit(folder / "in", SMALL, rows_of(SMALL, k=3))
    return score_submission(submission, SMALL, backends, folder / "out", Options(resamples=200), metrics=SURPRISAL)


def test_a_result_says_how_its_models_ran_and_is_the_same_result(tmp_path: Path) -> None:
    plain, slow = scored(tmp_path / "a"), scored(tmp_path / "b", fallback="attention by groups: the kernel is missing")
    (run,) = plain.result.provenance
    assert (run.model, run.device, run.dtype, run.attention) == ("gpt2", "cpu", "float32", "grouped")
    assert (run.shares_prefixes, run.batch_tokens, run.fallbacks) == (True, 4096, ())
    assert run.prompts == len(SMALL.prompts)
    assert (run.torch or "").startswith("2.")
    (other,) = slow.result.provenance
    assert (other.attention, other.shares_prefixes) == ("alone", False)
    assert other.fallbacks == ("attention by groups: the kernel is missing",)
    assert slow.result.result_id == plain.result.result_id
    assert read_result(plain.folder) == plain.result
    assert b"divbench.runs" not in (pq.read_schema(plain.folder / "per_prompt.parquet").metadata or {})


def test_it_is_printed_in_one_line(tmp_path: Path) -> None:
    console = Console(width=80, record=True, file=StringIO())
    print_result(scored(tmp_path, fallback="attention by groups: the kernel is missing").result, console)
    (line,) = (each for each in console.export_text().splitlines() if each.startswith("models: "))
    assert line == (
        "models: gpt2 on cpu, float32, attention alone, prefixes not shared, 4,096 tokens at once; "
        "attention by groups: the kernel is missing"
    )


def test_older_results_without_it_are_read(tmp_path: Path) -> None:
    made = scored(tmp_path)
    path = made.folder / "result.json"
    document = json.loads(path.read_text())
    del document["provenance"]
    path.write_text(json.dumps(document))
    found = read_result(made.folder)
    assert isinstance(found, Result)
    assert found.provenance == []


def test_shards_of_different_machines_are_told_apart_and_equal_ones_counted_together() -> None:
    first = ModelRun("m", "cuda (NVIDIA H200)", "float16", "2.13.0+cu130", "packed", True, 65_536, (), 64)
    second = replace(first, device="cuda (NVIDIA T4)", attention="grouped", fallbacks=("attention by groups: old",))
    shards = [[first], [second], [replace(first, prompts=7)]]

    def schema(runs: list[ModelRun]) -> pa.Schema:
        return pa.schema([]).with_metadata({b"divbench.runs": json.dumps([asdict(each) for each in runs])})

    assert runs_of(map(schema, shards)) == [replace(first, prompts=71), second]
    assert runs_of([pa.schema([])]) == []  # of a run that an older version began


def test_embedder_scorers_and_classifier_are_on_the_device_that_was_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not on any GPU that they see."""
    asked: dict[str, str] = {}

    class Spec:
        signature = "spec"
        backend: Any = None

        def __init__(self, name: str) -> None:
            self.name = name

        def load(self, device: str = "any") -> Any:
            asked[self.name] = device
            return Spec(self.name)

    def embedder(spec: Any, device: str = "any") -> Any:
        asked["embedder"] = device
        return HashEmbedder()

    monkeypatch.setattr(loading, "SentenceTransformersEmbedder", embedder)
    others: Any = {"pair_scorers": {"pairs:sts": Spec("pairs:sts")}, "partition": Spec("partition")}
    profile = replace(find_profile("offline"), causal_lm=None, **others)
    for device in ("cpu", "cuda:1"):
        backends = ScoringBackends(profile.replace(device=device))
        backends.load([metric for metric in METRICS if metric.reads in {"embeddings", "pairs:sts", "partition"}])
        assert asked == {"embedder": device, "pairs:sts": device, "partition": device}
        assert {run.device for run in backends.runs()} == {device}
