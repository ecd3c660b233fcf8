"""Small files of every kind that tools and people write: what is read of each, or the sentence that refuses it."""

import gzip
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from divbench.core.errors import DivBenchError
from submissions.checking.validate import Report
from submissions.importing.imported import ImportOptions
from submissions.importing.importers import detect_format, import_submission
from tests.cases import each
from tests.submissions.conftest import KNOWN, find_toy

PET, CITY = "Name a pet.", "Name a city."
SETS = {PET: ("A cat.", "A dog."), CITY: ("Lisbon", "Naples")}
PAIRS = [(prompt, text) for prompt, texts in SETS.items() for text in texts]


@dataclass(frozen=True)
class Kind:
    """A file, and what is read of it: the responses by prompt (None: those above), or a sentence."""

    content: Any  # rows of JSON Lines, or the text, bytes or table of the file
    sets: dict[str, tuple[str, ...]] | str | None = None
    notes: str = ""  # part of the sentences beside what was read; empty: there are none
    name: str = "in.jsonl"
    options: dict[str, Any] = field(default_factory=dict)
    prompts: Any = None  # rows of a second file


def apart(**names: str) -> list[dict[str, Any]]:
    """One response a row, under other names."""
    return [{names.get("prompt", "prompt"): p, names.get("response", "response"): text} for p, text in PAIRS]


def together(texts: Any = list, response: str = "responses", **more: Any) -> list[dict[str, Any]]:
    """One prompt a row, with its responses made of the texts."""
    return [{"prompt": prompt, response: texts(own)} | more for prompt, own in SETS.items()]


def turns(prompt: str, text: str | None = None, user: str = "user", said: str = "assistant") -> list[dict[str, str]]:
    return [{"role": user, "content": prompt}] + ([] if text is None else [{"role": said, "content": text}])


def choices(texts: Any, **more: Any) -> list[dict[str, Any]]:
    said = enumerate(texts)
    return [
        {"index": i, "message": {"role": "assistant", "content": t} | more, "finish_reason": "stop"} for i, t in said
    ]


def parts(text: str) -> list[dict[str, str]]:
    return [{"type": "reasoning", "text": "Hm."}, {"type": "text", "text": text}]


def gemini(text: str) -> dict[str, Any]:
    thought = {"text": "Hm.", "thought": True}
    said = {"role": "model", "parts": [thought, {"text": text}]}
    return {"candidates": [{"content": said, "finishReason": "STOP"}], "modelVersion": "gemini-x"}


def replied(body: Any) -> dict[str, Any]:
    return {"status_code": 200, "request_id": "r", "body": body}


def wide(*names: str) -> str:
    head = ",".join(("prompt", *names))
    return "\n".join([head, *(f"{prompt},{','.join(texts)}" for prompt, texts in SETS.items())])


ASKED = [{"custom_id": f"r{i}", "body": {"model": "m", "messages": turns(p)}} for i, p in enumerate(SETS)]
DEEP: Any = [0]
for _ in range(40):
    DEEP = [DEEP]
THOUGHT = "<think>\nThe user wants a pet.\n</think>\n\n"
TEN = [f"city {i}" for i in range(10)]
HELM = {
    "adapter_spec": {"method": "generation"},
    "request_states": [
        {
            "instance": {"input": {"text": prompt}, "references": [{"output": {"text": "gold"}, "tags": ["correct"]}]},
            "request": {"model": "org/m", "prompt": prompt, "temperature": 0.7},
            "result": {
                "success": True,
                "completions": [{"text": t, "finish_reason": {"reason": "stop"}} for t in texts],
            },
        }
        for prompt, texts in SETS.items()
    ],
}
PROMPTFOO = {
    "evalId": "e",
    "results": {
        "version": 3,
        "results": [
            {"prompt": {"raw": p, "label": "l"}, "response": {"output": t}, "provider": {"id": "openai:m"}, "vars": {}}
            for p, t in PAIRS
        ],
    },
}
HARNESS = [
    {
        "doc_id": i,
        "doc": {"question": prompt},
        "arguments": {"gen_args_0": {"arg_0": prompt, "arg_1": {"temperature": 0.7}}},
        "resps": [list(texts)],
        "filtered_resps": [texts[0]],
    }
    for i, (prompt, texts) in enumerate(SETS.items())
]
TABLE = pa.table(
    {"prompt": list(SETS), "responses": list(map(list, SETS.values())), "when": pa.array([1, 2], "timestamp[s]")}
)
CHAT = pa.Table.from_pylist([{"messages": turns(p, t)} for p, t in PAIRS])


LINES = "".join(f"{json.dumps(row)}\n" for row in together()).encode()


READ: dict[str, Kind] = {
    "JSON Lines": Kind(together()),
    "one response a row": Kind(apart()),
    "other names": Kind(apart(prompt="Question", response="Model Output")),
    "JSON array": Kind(json.dumps(together(), indent=1), name="in.json"),
    "JSON array under .jsonl": Kind(json.dumps(together())),
    "JSON Lines under .json": Kind("\n".join(map(json.dumps, together())), name="in.json"),
    "prompts to responses": Kind(json.dumps(SETS), name="in.json"),
    "columns of pandas in JSON": Kind(
        json.dumps({"prompt": dict(enumerate(SETS)), "responses": dict(enumerate(SETS.values()))}), name="in.json"
    ),
    "responses under prompts": Kind(json.dumps({p: {"outputs": t} for p, t in SETS.items()}), name="in.json"),
    "columns of one name": Kind(wide("gen_0", "gen_1"), notes="2 columns were read", name="in.csv"),
    "system prompts in a column": Kind([row | {"system": "You are kind."} for row in apart()]),
    "a conversation by its field": Kind([{"chosen": turns(p, t)} for p, t in PAIRS], options={"field": "chosen"}),
    "columns": Kind(json.dumps({"prompt": list(SETS), "responses": list(SETS.values())}), name="in.json"),
    "rows under data": Kind(json.dumps({"meta": {}, "data": together()}), name="in.json"),
    "rows by number": Kind(json.dumps({str(i): row for i, row in enumerate(together())}), name="in.json"),
    "gzip": Kind(gzip.compress(LINES), name="in.jsonl.gz"),
    "zstd": Kind(pa.compress(LINES, "zstd", asbytes=True), name="in.jsonl.zst"),
    "CSV": Kind("Prompt,RESPONSE\n" + "\n".join(f"{p},{t}" for p, t in PAIRS), name="in.csv"),
    "TSV": Kind("instruction\tcompletion\n" + "\n".join(f"{p}\t{t}" for p, t in PAIRS), name="in.tsv"),
    "lists in CSV": Kind(
        'prompt;responses\nName a pet.;"[""A cat."", ""A dog.""]"\nName a city.;"[""Lisbon"", ""Naples""]"',
        name="in.csv",
    ),
    "a long cell": Kind(f"prompt,response\n{PET},{'x' * 200_000}\n{PET},b", {PET: ("x" * 200_000, "b")}, name="in.csv"),
    "numbered columns": Kind(wide("response_1", "response_2"), notes="2 columns were read", name="in.csv"),
    "numbered columns with spaces": Kind(wide("Response 1", "Response 2"), notes="2 columns", name="in.csv"),
    "lettered columns": Kind(wide("output_A", "output_B"), notes="2 columns", name="in.csv"),
    "repeated columns": Kind(wide("response", "response"), notes="2 columns", name="in.csv"),
    "columns of pandas": Kind(wide("completion", "completion.1"), notes="2 columns", name="in.csv"),
    "Parquet with dates": Kind(TABLE, name="in.parquet"),
    "chat in Parquet": Kind(CHAT, name="in.parquet"),
    "messages": Kind([{"messages": turns(p, t)} for p, t in PAIRS]),
    "ShareGPT": Kind(
        [
            {"id": f"c{i}", "conversations": [{"from": "human", "value": p}, {"from": "gpt", "value": t}]}
            for i, (p, t) in enumerate(PAIRS)
        ],
        notes="the ids number the rows",
    ),
    "prompt and completion as messages": Kind([{"prompt": turns(p), "completion": turns(p, t)[1:]} for p, t in PAIRS]),
    "messages and responses": Kind([{"messages": turns(p), "responses": list(texts)} for p, texts in SETS.items()]),
    "conversation with a system prompt": Kind(
        [{"conversation": [{"role": "system", "content": "Be brief."}, *turns(p, t)]} for p, t in PAIRS]
    ),
    "longer conversations": Kind(
        [{"messages": [*turns("Hi", "Ho"), *turns(p, t)]} for p, t in PAIRS],
        notes="last message of the user was taken for the prompt in 4 longer",
    ),
    "Alpaca": Kind(
        [{"instruction": "Do it.", "input": PET, "output": t} for t in SETS[PET]], {f"Do it.\n\n{PET}": SETS[PET]}
    ),
    "Alpaca without input": Kind([{"instruction": p, "input": "", "output": t} for p, t in PAIRS]),
    "AlpacaEval": Kind(
        json.dumps([{"dataset": "d", "instruction": p, "output": t, "generator": "m"} for p, t in PAIRS]),
        name="in.json",
    ),
    "MT-Bench": Kind(
        [
            {
                "question_id": 81 + i,
                "model_id": "m",
                "choices": [{"index": j, "turns": [t, "b"]} for j, t in enumerate(texts)],
            }
            for i, texts in enumerate(SETS.values())
        ],
        prompts=[{"question_id": 81 + i, "turns": [p, "And now?"]} for i, p in enumerate(SETS)],
    ),
    "HELM": Kind(json.dumps(HELM), name="scenario_state.json"),
    "promptfoo": Kind(json.dumps(PROMPTFOO), name="in.json"),
    "lm-evaluation-harness": Kind(HARNESS),
    "vLLM": Kind(
        together(
            lambda texts: [{"index": i, "text": t, "finish_reason": "stop"} for i, t in enumerate(texts)],
            "outputs",
            request_id="0",
        )
    ),
    "SGLang": Kind([{"prompt": p, "text": t, "meta_info": {"finish_reason": {"type": "stop"}}} for p, t in PAIRS]),
    "Ollama": Kind([{"model": "m", "prompt": p, "response": t, "done": True, "done_reason": "stop"} for p, t in PAIRS]),
    "chat completion": Kind(
        together(lambda texts: {"object": "chat.completion", "model": "m", "choices": choices(texts)}, "response")
    ),
    "text completion": Kind(together(lambda texts: [{"text": t, "index": i} for i, t in enumerate(texts)], "choices")),
    "Responses API": Kind(
        [
            {
                "prompt": p,
                "output": [
                    {"type": "reasoning"},
                    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": t}]},
                ],
            }
            for p, t in PAIRS
        ]
    ),
    "OpenAI batch": Kind(
        [
            {
                "id": f"b{i}",
                "custom_id": f"r{i}",
                "response": replied({"model": "m", "choices": choices(t)}),
                "error": None,
            }
            for i, t in enumerate(SETS.values())
        ],
        prompts=ASKED,
    ),
    "log-probabilities": Kind(
        [
            {
                "custom_id": f"r{i}",
                "response": replied({"choices": [c | {"logprobs": {"content": DEEP}} for c in choices(t)]}),
            }
            for i, t in enumerate(SETS.values())
        ],
        prompts=ASKED,
    ),
    "Anthropic batch": Kind(
        [
            {
                "custom_id": f"q{i}",
                "result": {
                    "type": "succeeded",
                    "message": {"model": "c", "role": "assistant", "content": parts(t), "stop_reason": "end_turn"},
                },
            }
            for i, (_, t) in enumerate(PAIRS)
        ],
        prompts=[
            {"custom_id": f"q{i}", "params": {"model": "c", "messages": turns(p)}} for i, (p, _) in enumerate(PAIRS)
        ],
    ),
    "Gemini batch": Kind(
        [{"key": f"k{i}", "response": gemini(t)} for i, (_, t) in enumerate(PAIRS)],
        prompts=[
            {"key": f"k{i}", "request": {"contents": [{"role": "user", "parts": [{"text": p}]}]}}
            for i, (p, _) in enumerate(PAIRS)
        ],
    ),
    "Gemini with requests": Kind(
        [{"request": {"contents": [{"role": "user", "parts": [{"text": p}]}]}, "response": gemini(t)} for p, t in PAIRS]
    ),
    "pipelines": Kind(
        [{"prompt": p, "generated_text": f"{p} {t}"} for p, t in PAIRS], notes="removed from the beginning of 4 of 4"
    ),
    "pipelines of chats": Kind([{"generated_text": turns(p, t), "prompt": p} for p, t in PAIRS]),
    "RAGAS": Kind(
        [{"user_input": p, "response": t, "reference": "gold", "retrieved_contexts": ["x"]} for p, t in PAIRS]
    ),
    "DeepEval": Kind([{"input": p, "actual_output": t, "expected_output": "gold"} for p, t in PAIRS]),
    "NaN": Kind([row | {"reward": float("nan")} for row in apart()]),
    "deep nesting": Kind([row | {"trace": DEEP} for row in apart()]),
    "tool calls": Kind(
        [row | {"tool_calls": [{"function": {"arguments": {"a": [[[[[[[1]]]]]]]}}}]} for row in apart()]
    ),
    "ids of rows": Kind(
        [{"id": i} | row for i, row in enumerate(apart())], notes="the ids number the rows: the 2 prompts"
    ),
    "a field by its path": Kind(
        [{"q": {"text": p}, "log": {"out": t}} for p, t in PAIRS],
        options={"field": "log.out", "prompt_field": "q.text"},
    ),
    "one system of several": Kind(
        [row | {"generator": g} for g in "ab" for row in apart()], options={"by": "generator", "only": "a"}
    ),
    "several systems as one": Kind(
        [row | {"persona": f"p{i % 2}"} for i, row in enumerate(apart())], options={"by": "none"}
    ),
    "choices of a question": Kind([row | {"choices": ["x", "y"], "answer": "x"} for row in apart()]),
    "thinking text": Kind(
        [{"prompt": p, "response": THOUGHT + t} for p, t in PAIRS],
        notes="thinking text was removed from 4 of 4 responses",
    ),
    "an orphan end of thinking": Kind(
        [{"prompt": p, "response": f"Hm.</think>{t}"} for p, t in PAIRS], notes="thinking text was removed"
    ),
    "other tags": Kind(
        [{"prompt": p, "response": f"<reasoning>Hm.</reasoning>{t}"} for p, t in PAIRS], notes="thinking text"
    ),
    "channels": Kind(
        [
            {
                "prompt": p,
                "response": f"<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>{t}",
            }
            for p, t in PAIRS
        ],
        notes="thinking text",
    ),
    "thinking kept": Kind(
        [{"prompt": PET, "response": f"<think>a</think>{t}"} for t in "xy"],
        {PET: ("<think>a</think>x", "<think>a</think>y")},
        notes="2 of 2 responses contain thinking text: '<think>a</think>x'",
        options={"keep_thinking": True},
    ),
    "control tokens": Kind(
        [{"prompt": PET, "response": f"{t}<|im_end|>"} for t in "xy"],
        {PET: ("x<|im_end|>", "y<|im_end|>")},
        notes="2 of 2 responses contain control tokens of a chat template: 'x<|im_end|>'",
    ),
    "cleaned": Kind(
        [{"prompt": PET, "response": t} for t in ("Assistant: a &amp; b</s>", '{"response": "CafÃ©"}')],
        {PET: ("a & b", "Café")},
        notes="other traces of tools were removed from 2 of 2",
        options={"clean": True},
    ),
    "a refusal of an API": Kind(
        [
            {"prompt": PET, "response": {"choices": choices([None], refusal="No.")}},
            {"prompt": PET, "response": {"choices": choices(["A cat."])}},
        ],
        {PET: ("No.", "A cat.")},
    ),
    "no content": Kind(
        [
            {
                "prompt": PET,
                "response": {"choices": [{"message": {"content": None}, "finish_reason": "content_filter"}]},
            },
            {"prompt": PET, "response": {"choices": choices(["A cat."])}},
        ],
        {PET: ("", "A cat.")},
        notes="blank",
    ),
    "blocked by Gemini": Kind(
        [
            {"prompt": PET, "response": {"promptFeedback": {"blockReason": "SAFETY"}}},
            {"prompt": PET, "response": gemini("A cat.")},
        ],
        {PET: ("", "A cat.")},
        notes="blank",
    ),
    "one response each": Kind(
        [{"prompt": PET, "response": "A cat."}],
        {PET: ("A cat.",)},
        notes="k is 1: one response to a prompt has no diversity",
    ),
    "twice in one file": Kind(
        apart() * 2, {p: t * 2 for p, t in SETS.items()}, notes="the second half of its 8 rows repeats the first"
    ),
    "gaps": Kind(
        [{"prompt": PET, "response": t, "sample_idx": i} for i, t in ((0, "a"), (1, "b"), (3, "c"))],
        {PET: ("a", "b", "c")},
        notes="has gaps in 1 prompt",
    ),
}

REFUSED: dict[str, Kind] = {
    "an unknown name": Kind(
        apart(response="said"), r"which field holds the responses\? 4 rows have 'said' \(name it: --field said\)"
    ),
    "a reference by name": Kind(
        [{"question": p, "answer": "gold", "generated": t} for p, t in PAIRS], "--field generated or --field answer"
    ),
    "a reference by its values": Kind(
        [{"question": p, "output": f"gold of {p}", "hyp": t} for p, t in PAIRS],
        r"is the same in all rows of a prompt, as a reference is, and hyp differ .*--field hyp or --field output",
    ),
    "another beside ours": Kind(
        [row | {"prediction": "b"} for row in apart()], "--field response or --field prediction"
    ),
    "preferences": Kind([{"prompt": p, "chosen": t, "rejected": "x"} for p, t in PAIRS], "--field chosen"),
    "several systems": Kind(
        [row | {"generator": g} for g in "ab" for row in apart()],
        "differ in 'generator'.*several systems: a, b .*--by generator.*--by none",
    ),
    "several conditions": Kind(
        [row | {"mood": g} for g in ("calm", "wild") for row in apart()], "differ in 'mood'.*calm, wild"
    ),
    "several temperatures": Kind(
        [row | {"temperature": t} for t in (0.5, 1) for row in apart()], "differ in 'temperature'"
    ),
    "several models": Kind(
        [row | {"model": m} for m in "ab" for row in apart()], "'b' here, but 'a' in row 1 .*--by model"
    ),
    "systems in a list": Kind(
        [{"instruction": PET, "completions": [{"model": m, "response": m} for m in "ab"]}],
        "has responses of 2 systems: a, b",
    ),
    "two conversations with one end": Kind(
        [{"messages": [*turns(a, "Ho"), *turns(PET, "A cat.")]} for a in ("Hi", "Hey")],
        "the same message as in row 1, after other messages",
    ),
    "two system prompts": Kind(
        [{"messages": [{"role": "system", "content": s}, *turns(PET, "A cat.")]} for s in "ab"],
        "with another system prompt",
    ),
    "ids without prompts": Kind(
        [{"task_id": f"T/{i}", "completion": "x"} for i in range(2)],
        r"the rows have no prompts .*--prompt-field or their file with --prompts, or score without: db.score",
    ),
    "lists without prompts": Kind(json.dumps(list(SETS.values())), "the rows have no prompts", name="in.json"),
    "a batch without its requests": Kind(
        [{"custom_id": "a", "response": replied({"choices": choices(["x", "y"])})}], "the rows have no prompts"
    ),
    "requests of a batch": Kind(
        ASKED, r"these are requests: give the file of the replies, and this one with --prompts"
    ),
    "a failed request": Kind(
        [
            {"custom_id": "a", "response": None, "error": {"message": "too late"}},
            {"custom_id": "b", "response": replied({"choices": choices(["x"])})},
        ],
        "row 1, .*the request failed: too late",
    ),
    "an errored request": Kind(
        [
            {
                "custom_id": "a",
                "result": {"type": "errored", "error": {"type": "error", "error": {"message": "Overloaded"}}},
            }
        ],
        "the request failed: Overloaded",
    ),
    "unequal numbers": Kind([*apart(), {"prompt": PET, "response": "c"}], "but k is 3.*divbench import --k 2"),
    "lists written by pandas": Kind(
        "prompt,response\np,\"['a', 'b']\"\nq,\"['c', 'd']\"", "a list that was written as a text", name="in.csv"
    ),
    "a sample number twice": Kind(
        [{"prompt": PET, "response": text, "sample_idx": 0} for text in "ab"], "'Name a pet.' has sample_idx 0 2 times"
    ),
    "lists of one prompt": Kind(together() * 2, "'Name a pet.' already appears in row 1"),
    "reasons of other responses": Kind(
        together(finish_reasons=["stop"]), "row 1 and 1 more, finish_reasons: 1 finish reason for 2 responses"
    ),
    "a wrong path": Kind(
        apart(),
        "rows have no such field; they have 'prompt', 'response' .name one of them with --field",
        options={"field": "log.out"},
    ),
    "no JSON": Kind("{'prompt': 'p'}", "not JSON: Expecting property name"),
    "a repeated key": Kind('{"prompt": "p", "prompt": "q"}', "the key 'prompt' is repeated"),
    "200 levels": Kind('{"prompt": "p", "x": ' + "[" * 200 + "]" * 200 + "}", "nested more than 100 deep"),
    "damaged gzip": Kind(b"\x1f\x8b\x08\x00nothing", "cannot be decompressed", name="in.jsonl.gz"),
    "a spreadsheet without its reader": Kind(
        b"PK\x03\x04", r"openpyxl is not installed .*divbench\[xlsx\]", name="in.xlsx"
    ),
    "a mistake in every row": Kind(
        [{"prompt": PET, "responses": [1, 2]}] * 9, r"row 1 and 8 more, responses: a whole number, expected a string"
    ),
}


def made(folder: Path, kind: Kind) -> tuple[Path, ImportOptions]:
    path = folder / kind.name
    path.parent.mkdir(exist_ok=True)
    if isinstance(kind.content, pa.Table):
        pq.write_table(kind.content, path)
    else:
        rows = kind.content
        text = "".join(f"{json.dumps(row)}\n" for row in rows) if isinstance(rows, list) else rows
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    second = None
    if kind.prompts is not None:
        second = path.with_name("asked.jsonl")
        second.write_text("".join(f"{json.dumps(row)}\n" for row in kind.prompts))
    return path, ImportOptions(prompts=second, **kind.options)


def taken(folder: Path, kind: Kind) -> Report:
    path, options = made(folder, kind)
    return import_submission(path, detect_format(path), folder / "out", KNOWN | {"suite": "own"}, find_toy, options)[0]


@each("name", READ)
def test_a_file_is_read_as_its_tool_means_it(tmp_path: Path, name: str) -> None:
    kind = READ[name]
    report = taken(tmp_path, kind)
    assert report.submission is not None
    assert {row.prompt: row.responses for row in report.submission.rows()} == (SETS if kind.sets is None else kind.sets)
    said = [problem.message for problem in report.findings.problems]
    assert any(kind.notes in message for message in said) if kind.notes else not said, said


@each("name", REFUSED)
def test_a_file_that_is_not_clear_is_refused_with_what_helps(tmp_path: Path, name: str) -> None:
    with pytest.raises(DivBenchError, match=str(REFUSED[name].sets)) as caught:
        taken(tmp_path, REFUSED[name])
    assert len(str(caught.value)) < 1200


def test_what_an_api_marks_as_refused_and_what_was_removed_are_counted(tmp_path: Path) -> None:
    report = taken(tmp_path / "a", READ["a refusal of an API"])
    assert (report.counts.refused, report.counts.blank) == (1, 0)
    assert taken(tmp_path / "b", READ["no content"]).counts.blank == 1
    cleaned = taken(tmp_path / "c", READ["thinking text"]).manifest
    assert cleaned is not None
    assert cleaned.origin is not None
    assert cleaned.origin.cleaned == ("thinking",)
    system = taken(tmp_path / "d", READ["conversation with a system prompt"]).manifest
    assert system is not None
    assert system.generation.system_prompt == "Be brief."


@pytest.mark.mirror
def test_the_files_that_were_misread_are_read_or_refused(mirror: Path, tmp_path: Path) -> None:
    folder = mirror / "inputs"
    lists = (("A cat.", "A dog.", "A hamster.", "A cat, of course."), ("Lisbon", "Naples", "Genoa", "Lisbon, I think"))
    refused = {
        "generators": "several systems: model-a, model-b .*--by generator",
        "gold_distinct": "--field answer or --field generated",
        "oai_requests": "these are requests",
    }
    for path in sorted(folder.iterdir()):
        name, asked = path.name.partition(".")[0], folder / "oai_requests.jsonl" if "logprobs" in path.name else None
        known, out = KNOWN | {"suite": "own"}, tmp_path / name
        arguments = (path, detect_format(path), out, known, find_toy, ImportOptions(prompts=asked))
        if name in refused:
            with pytest.raises(DivBenchError, match=refused[name]):
                import_submission(*arguments)
            continue
        submission = import_submission(*arguments)[0].submission
        assert submission is not None
        read = [row.responses for row in submission.rows()][:2]
        k = submission.manifest.generation.k
        first = "A rabbit." if name == "think_div" else "A fish." if name == "wide" else lists[0][k - 1]
        assert (read[0][0], read[0][-1]) == (lists[0][0], first), name
        assert read[1][0].startswith("Lisbon"), name
