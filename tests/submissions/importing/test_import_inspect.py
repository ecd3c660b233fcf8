"""Logs that Inspect's own library writes become submissions; where it is not installed, the command says so."""

import resource
import sys
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

import pytest

from divbench.core.errors import ConfigurationError
from submissions.checking.validate import open_submission
from submissions.importing import inspect_logs
from submissions.importing.importers import detect_format, import_submission
from submissions.importing.inspect_logs import read_inspect_log
from submissions.untrusted.findings import Findings, Rejected
from submissions.untrusted.process import Limits
from tests.conftest import TOY
from tests.submissions.conftest import KNOWN, find_toy

NOW = "2026-01-01T00:00:00+00:00"


def written(path: Path, samples: list[Any]) -> Path:
    """A log of a task that was sampled at temperature 0.7."""
    log = pytest.importorskip("inspect_ai.log", reason="Inspect is not installed: pip install 'divbench[inspect]'")
    from inspect_ai.model import GenerateConfig

    spec = log.EvalSpec(
        created=NOW,
        task="t",
        dataset=log.EvalDataset(sample_ids=sorted({each.id for each in samples}, key=str)),
        model="openai/gpt-4o",
        config=log.EvalConfig(),
    )
    plan = log.EvalPlan(config=GenerateConfig(temperature=0.7, max_tokens=50))
    log.write_eval_log(log.EvalLog(eval=spec, plan=plan, status="success", samples=samples), path)
    return path


def sample(name: str | int, epoch: int, asked: str, *texts: str, reason: Any = "stop", error: str | None = None) -> Any:
    from inspect_ai.log import EvalError, EvalSample
    from inspect_ai.model import ChatCompletionChoice, ChatMessageAssistant, ChatMessageUser, ModelOutput

    choices = [ChatCompletionChoice(message=ChatMessageAssistant(content=text), stop_reason=reason) for text in texts]
    failed = EvalError(message=error, traceback="", traceback_ansi="") if error else None
    output = ModelOutput(model="openai/gpt-4o", choices=choices)
    made = EvalSample(id=name, epoch=epoch, input=asked, target="", output=output, error=failed)
    return made.model_copy(update={"input": [ChatMessageUser(content=asked)]}) if epoch == 2 else made


def test_epochs_are_the_responses_and_samples_are_known_by_id_or_text(tmp_path: Path) -> None:
    pytest.importorskip("inspect_ai")
    named: list[str | int] = ["toy-0", "toy-1", 3, 4]
    samples = [
        sample(named[i], epoch, TOY.prompts[i].prompt, f"{epoch} of {i}", reason="max_tokens" if i else "stop")
        for epoch in (2, 1)
        for i in range(4)
    ]
    path = written(tmp_path / "log.eval", samples)
    assert detect_format(path) == "inspect"
    import_submission(path, "inspect", tmp_path / "made", KNOWN, find_toy)
    submission, _, _ = open_submission(tmp_path / "made", find_toy)
    rows = list(submission.rows())
    assert {row.prompt_id: row.responses for row in rows} == {f"toy-{i}": (f"1 of {i}", f"2 of {i}") for i in range(4)}
    assert [row.finish_reasons for row in rows] == [("stop", "stop"), *[("length", "length")] * 3]
    manifest = submission.manifest
    assert (manifest.system.model_id, manifest.generation.temperature) == ("openai/gpt-4o", 0.7)
    assert (manifest.generation.max_tokens, manifest.generation.k) == (50, 2)


def test_a_system_prompt_goes_into_the_manifest_and_own_prompts_are_one_message(tmp_path: Path) -> None:
    pytest.importorskip("inspect_ai")
    from inspect_ai.model import ChatMessageAssistant, ChatMessageSystem, ChatMessageUser

    def logged(name: str, *conversations: list[Any]) -> Path:
        samples = [
            sample(i, 1, "x", "a").model_copy(update={"input": messages}) for i, messages in enumerate(conversations)
        ]
        path = written(tmp_path / f"{name}.eval", samples)
        import_submission(path, "inspect", tmp_path / name, KNOWN | {"suite": "own"}, find_toy)
        return tmp_path / name

    brief, kind, asked = ChatMessageSystem(content="Be brief."), ChatMessageSystem(content="Be kind."), "Name a pet."
    user = ChatMessageUser(content=asked)
    submission, _, _ = open_submission(logged("brief", [brief, user], [brief, user]), find_toy)
    assert submission.manifest.generation.system_prompt == "Be brief."
    assert [(row.prompt, row.responses) for row in submission.rows()] == [(asked, ("a", "a"))]
    with pytest.raises(Rejected) as caught:
        logged("systems", [brief, user], [kind, user])
    assert "with another system prompt" in caught.value.findings.problems[0].message
    logged("turns", [user, ChatMessageAssistant(content="Ho"), ChatMessageUser(content="And now?")])


def test_the_system_prompt_of_a_solver_is_read_from_the_conversation(tmp_path: Path) -> None:
    pytest.importorskip("inspect_ai")
    from inspect_ai.model import ChatMessageAssistant, ChatMessageSystem, ChatMessageUser

    asked = "Name a pet."
    said = [ChatMessageSystem(content="Be kind."), ChatMessageUser(content=asked), ChatMessageAssistant(content="a")]
    path = written(tmp_path / "log.eval", [sample(1, 1, asked, "a").model_copy(update={"messages": said})])
    import_submission(path, "inspect", tmp_path / "made", KNOWN | {"suite": "own"}, find_toy)
    submission, _, _ = open_submission(tmp_path / "made", find_toy)
    assert submission.manifest.generation.system_prompt == "Be kind."


def test_responses_classes_and_scores_of_novelty_bench_are_in_the_metadata(tmp_path: Path) -> None:
    pytest.importorskip("inspect_ai")
    from inspect_ai.scorer import Score

    said = {"partition": [3, 3, 5], "scores": [7, 7, 2]}
    score = Score(value={"distinct_k": 2, "utility_k": 4.5}, metadata=said)
    more = {"metadata": {"all_completions": ["a", "b", "c"]}, "scores": {"novelty": score}}
    path = written(tmp_path / "log.eval", [sample("toy-0", 1, TOY.prompts[0].prompt, "a").model_copy(update=more)])
    import_submission(path, "inspect", tmp_path / "made", KNOWN | {"suite": "own"}, find_toy)
    submission, _, _ = open_submission(tmp_path / "made", find_toy)
    assert [row.responses for row in submission.rows()] == [("a", "b", "c")]
    [values] = submission.reported()["1.0"].values()
    assert (values.partition, values.generation_scores) == ((0, 0, 1), (7.0, 0.0, 2.0))
    assert (values.distinct, values.utility) == (2, 4.5)


def test_a_log_in_json_is_detected_and_read(tmp_path: Path) -> None:
    pytest.importorskip("inspect_ai")
    path = written(tmp_path / "log.json", [sample(1, 1, "Name a pet.", "A cat.")])
    assert detect_format(path) == "inspect"
    import_submission(path, "inspect", tmp_path / "made", KNOWN | {"suite": "own"}, find_toy)
    submission, _, _ = open_submission(tmp_path / "made", find_toy)
    assert [row.responses for row in submission.rows()] == [("A cat.",)]


def test_samples_that_failed_and_damaged_logs_are_rejected(tmp_path: Path) -> None:
    pytest.importorskip("inspect_ai")
    path = written(tmp_path / "log.eval", [sample("toy-0", 1, "x", error="out of credit")])
    with pytest.raises(Rejected) as caught:
        import_submission(path, "inspect", tmp_path / "made", KNOWN, find_toy)
    assert "the request failed: out of credit" in caught.value.findings.problems[0].message
    path.write_bytes(b"PK no archive")
    with pytest.raises(Rejected) as caught:
        import_submission(path, "inspect", tmp_path / "made", KNOWN, find_toy)
    assert "Inspect cannot read it" in caught.value.findings.problems[0].message


def test_a_log_that_decompresses_to_gigabytes_takes_no_memory_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("inspect_ai")
    monkeypatch.setattr(inspect_logs, "LIMITS", Limits(2**30, 600))
    path = written(tmp_path / "log.eval", [sample("toy-0", 1, "x", "y")])
    with ZipFile(path, "a", ZIP_DEFLATED, compresslevel=1) as archive:
        assert "samples/toy-0_epoch_1.json" in archive.namelist()
        with archive.open("samples/toy-1_epoch_1.json", "w") as member:
            for _ in range(2**10):
                member.write(b" " * 2**20)
    assert path.stat().st_size < 2**23
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    findings = Findings()
    assert not read_inspect_log(path, findings).rows
    assert [problem.message for problem in findings.problems] == ["Inspect cannot read it: it takes too much memory"]
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 2**16  # KiB


def test_without_the_library_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "inspect_ai", None)
    with pytest.raises(ConfigurationError) as caught:
        read_inspect_log(tmp_path / "log.eval", Findings())
    assert "divbench[inspect]" in str(caught.value.hint)
