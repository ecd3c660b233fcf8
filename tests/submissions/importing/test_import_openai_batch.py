"""Output files of OpenAI's Batch API become submissions, whatever the order of their lines."""

import json
from pathlib import Path
from typing import Any

import pytest

from submissions.checking.validate import open_submission
from submissions.importing.imported import ImportOptions
from submissions.importing.importers import detect_format, import_submission
from submissions.untrusted.findings import Rejected
from tests.conftest import TOY
from tests.submissions.conftest import KNOWN, find_toy

CHAT = "/v1/chat/completions"


def chat(custom_id: str, *texts: str | None, reason: str = "stop", **more: Any) -> dict[str, Any]:
    """A line that answers a request to the chat endpoint; the fields are those of its reference."""
    choices = [
        {"index": place, "message": {"role": "assistant", "content": text} | more, "finish_reason": reason}
        for place, text in enumerate(texts)
    ]
    return answered(custom_id, {"object": "chat.completion", "model": "gpt-4o-2024-08-06", "choices": choices})


def answered(custom_id: str, body: dict[str, Any], status: int = 200) -> dict[str, Any]:
    response = {"status_code": status, "request_id": "r", "body": body}
    return {"id": f"batch_req_{custom_id}", "custom_id": custom_id, "response": response, "error": None}


def asked(custom_id: str, text: str, **sampling: Any) -> dict[str, Any]:
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": text}]
    body = {"model": "gpt-4o", "messages": messages} | sampling
    return {"custom_id": custom_id, "method": "POST", "url": CHAT, "body": body}


def written(path: Path, lines: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def read(folder: Path) -> tuple[dict[str, tuple[str, ...]], dict[str, tuple[str | None, ...] | None], Any]:
    submission, _, _ = open_submission(folder, find_toy)
    rows = list(submission.rows())
    texts = {row.prompt_id: row.responses for row in rows}
    return texts, {row.prompt_id: row.finish_reasons for row in rows}, submission.manifest


def test_requests_are_known_by_their_ids_and_numbered_samples_are_put_in_order(tmp_path: Path) -> None:
    lines = [
        chat(f"{prompt.prompt_id}-{sample}", f"{sample} of {prompt.prompt_id}")
        for prompt in TOY.prompts
        for sample in (2, 0, 1)
    ]
    lines[0] = chat("toy-0-2", "2 of toy-0", reason="length")
    path = written(tmp_path / "out.jsonl", lines)
    assert detect_format(path) == "openai-batch"
    import_submission(path, "openai-batch", tmp_path / "made", KNOWN, find_toy)
    texts, reasons, manifest = read(tmp_path / "made")
    assert texts == {p.prompt_id: tuple(f"{i} of {p.prompt_id}" for i in range(3)) for p in TOY.prompts}
    assert reasons["toy-0"] == ("stop", "stop", "length")
    assert (manifest.system.model_id, manifest.generation.k) == ("gpt-4o-2024-08-06", 3)


def test_a_system_prompt_goes_into_the_manifest_and_own_prompts_are_one_message(tmp_path: Path) -> None:
    def imported(name: str, *requests: dict[str, Any]) -> Any:
        output = [chat(each["custom_id"], "a", "b") for each in requests]
        options = ImportOptions(prompts=written(tmp_path / f"{name}-requests.jsonl", list(requests)))
        path, out = written(tmp_path / f"{name}.jsonl", output), tmp_path / name
        import_submission(path, "openai-batch", out, KNOWN | {"suite": "own"}, find_toy, options)
        return open_submission(out, find_toy)[0]

    brief = imported("brief", asked("x", "Name a pet."), asked("y", "Name a city."))
    assert brief.manifest.generation.system_prompt == "Be brief."
    assert [row.prompt for row in brief.rows()] == ["Name a pet.", "Name a city."]
    instructed = {"model": "m", "instructions": "Be kind.", "input": "Name a pet."}
    told = imported("told", {"custom_id": "x", "method": "POST", "url": "/v1/responses", "body": instructed})
    assert told.manifest.generation.system_prompt == "Be kind."
    plain = asked("z", "Name a pet.")
    del plain["body"]["messages"][0]
    assert imported("plain", plain).manifest.generation.system_prompt is None
    mixed = imported("mixed", asked("x", "Name a city."), plain)  # one of two: not that of the submission
    assert mixed.manifest.generation.system_prompt is None
    with pytest.raises(Rejected) as caught:
        imported("systems", asked("x", "Name a pet."), plain)
    (problem,) = caught.value.findings.problems
    assert (problem.file, problem.message) == (
        "systems.jsonl", "the same message as in row 1, with another system prompt"
    )  # fmt: skip


def test_other_ids_are_known_by_the_requests_texts_which_tell_the_sampling_too(tmp_path: Path) -> None:
    sampling = {"n": 2, "temperature": 0.7, "max_completion_tokens": 99}
    parts = asked("req-0", "", **sampling)
    parts["body"]["messages"][1]["content"] = [{"type": "text", "text": TOY.prompts[0].prompt + "\n"}]
    requests = [parts, *(asked(f"req-{i}", TOY.prompts[i].prompt, **sampling) for i in (1, 2, 3))]
    output = [chat(f"req-{i}", f"a {i}", f"b {i}") for i in (3, 1, 0, 2)]
    options = ImportOptions(prompts=written(tmp_path / "requests.jsonl", requests))
    path = written(tmp_path / "out.jsonl", output)
    report, _ = import_submission(path, "openai-batch", tmp_path / "made", KNOWN, find_toy, options)
    texts, _, manifest = read(tmp_path / "made")
    assert texts == {f"toy-{i}": (f"a {i}", f"b {i}") for i in range(4)}
    assert (manifest.generation.temperature, manifest.generation.max_tokens) == (0.7, 99)
    assert [p.message for p in report.findings.problems if p.check == "prompt_text"] == [
        "white space at the ends differs from the suite's in 1 prompt"
    ]
    import_submission(path, "openai-batch", tmp_path / "own", KNOWN | {"suite": "own"}, find_toy, options)


def test_the_other_endpoints_and_refusals(tmp_path: Path) -> None:
    said = {"type": "message", "content": [{"type": "output_text", "text": "three"}]}
    lines = [
        chat("toy-0", None, refusal="I will not."),
        answered("toy-1", {"model": "m", "choices": [{"text": "two", "finish_reason": "length"}]}),
        answered("toy-2", {"model": "m", "output": [{"type": "reasoning"}, said]}),
        answered("toy-3", {"model": "m", "output": [said], "incomplete_details": {"reason": "max_output_tokens"}}),
    ]
    lines[0]["response"]["body"]["model"] = "m"
    import_submission(written(tmp_path / "out.jsonl", lines), "openai-batch", tmp_path / "made", KNOWN, find_toy)
    texts, reasons, _ = read(tmp_path / "made")
    assert texts == {"toy-0": ("I will not.",), "toy-1": ("two",), "toy-2": ("three",), "toy-3": ("three",)}
    assert [reasons[f"toy-{i}"] for i in range(4)] == [("refusal",), ("length",), None, ("length",)]


FAILED = answered("toy-0", {"error": {"message": "slow down"}}, 429)
EXPIRED = {"custom_id": "toy-0", "response": None, "error": {"code": "batch_expired", "message": "too late"}}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (FAILED, "the request failed with status 429: slow down"),
        (EXPIRED, "the request failed: too late"),
        (answered("toy-0", {"model": "m", "data": []}), "has no text"),
        (chat("other-7", "x"), "'other-7' is not a prompt id of toy"),
        ({"custom_id": 7, "response": {}}, "has no text"),
    ],
)
def test_what_cannot_be_imported_is_named_with_its_row(tmp_path: Path, line: dict[str, Any], message: str) -> None:
    path = written(tmp_path / "out.jsonl", [line, *(chat(f"toy-{i}", "x") for i in (1, 2, 3))])
    with pytest.raises(Rejected) as caught:
        import_submission(path, "openai-batch", tmp_path / "made", KNOWN, find_toy)
    assert [p.row for p in caught.value.findings.problems if message in p.message][:1] == [1]
    assert not (tmp_path / "made").exists()


def test_a_request_has_one_line(tmp_path: Path) -> None:
    lines = [chat(f"toy-{i}-{sample}", "x") for i in range(4) for sample in (0, 1)]
    lines[3] = lines[2]  # the second sample of toy-1 is the first again
    with pytest.raises(Rejected) as caught:
        import_submission(written(tmp_path / "out.jsonl", lines), "openai-batch", tmp_path / "made", KNOWN, find_toy)
    [problem] = caught.value.findings.problems
    assert (problem.row, problem.message) == (4, "'toy-1-0' already appears in row 3")


def test_a_missing_file_of_requests_is_the_only_problem(tmp_path: Path) -> None:
    path, options = written(tmp_path / "out.jsonl", [chat("a", "x")]), ImportOptions(prompts=tmp_path / "none.jsonl")
    with pytest.raises(Rejected) as caught:
        import_submission(path, "openai-batch", tmp_path / "made", KNOWN, find_toy, options)
    assert [p.file for p in caught.value.findings.problems] == ["none.jsonl"]


def test_own_prompts_need_the_requests(tmp_path: Path) -> None:
    path = written(tmp_path / "out.jsonl", [chat("a", "x")])
    requests = written(tmp_path / "in.jsonl", [asked("a", "Say x."), asked("a", "Say y.")])
    for options, message in (
        (ImportOptions(), "the rows have no prompts"),
        (ImportOptions(prompts=requests), "'a' is repeated"),
    ):
        with pytest.raises(Rejected) as caught:
            import_submission(path, "openai-batch", tmp_path / "made", KNOWN | {"suite": "own"}, find_toy, options)
        assert caught.value.findings.problems[0].message == message
