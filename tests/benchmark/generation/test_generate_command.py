"""`divbench generate`: what it writes, what it refuses, and what it does again; with a fake model."""

import json
from collections.abc import Callable
from datetime import date
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from benchmark.generation.prompting import Failed, Outcome, Request, Sampled, SamplingSettings
from benchmark.generation.setup import TOKENS, TOKENS_FILE
from datasets_build.load import load_suite
from submissions.checking.prompts import OWN
from submissions.checking.validate import open_submission
from submissions.schema import Generation
from tests.benchmark.generating import Command, FakeSampler, command, hasty_disk, journal_of, manifest_in, rows_in, well

__all__ = ["command", "hasty_disk"]
PARAPHRASED = [{"id": f"q{i}", "prompt": f"Say {i}.", "paraphrases": [f"Say {i}{c}" for c in "abc"]} for i in range(4)]


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "made" / "out"


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """Four prompts of one's own, with paraphrases."""
    path = tmp_path / "own.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in PARAPHRASED))
    return path


def responses_in(folder: Path) -> dict[str, tuple[str, ...]]:
    submission, _, _ = open_submission(folder)
    return {row.prompt_id: row.responses for row in submission.rows()}


def test_the_output_is_a_submission_that_says_all_about_itself(command: Command, out: Path) -> None:
    command.asks(FakeSampler())
    ended = command(
        "generate", "any", "--suite", "demo", "--out", out, "--k", 3, "--temperature", 0.7, "--top-k", 9,
        "--top-p", 0.9, "--max-tokens", 20, "--seed", 5, "--mode", "system-prompt", "--stop", r"\n\n", "--stop", "END",
        "--name", "mine", "--about", "notes=A try.", "--about", "licence=mit",
    )  # fmt: skip
    assert ended.status == 0, ended.err
    kinds = "  0 blank, 0 placeholders, 0 refusals, 0 truncated, 0 repeated\n"
    assert ended.out == f"written: {out}  (24 prompts × 3 responses)\n{kinds}next: divbench score {out}\n"
    assert [path.name for path in out.parent.iterdir()] == ["out"]
    manifest = manifest_in(out)
    assert manifest.generation == Generation(
        k=3, mode="system-prompt", temperature=0.7, top_k=9, top_p=0.9, max_tokens=20, seed=5, chat_template=True,
        prompt_template=None, stop=("\n\n", "END"), software="fake 1.0",
        system_prompt="You are a producer of unique answers, and you strive to tell each user a novel answer to their "
        "question.",
    )  # fmt: skip
    assert (manifest.name, manifest.suite, manifest.notes, manifest.origin) == ("mine", "demo", "A try.", None)
    assert (manifest.submitter.name, manifest.submitter.date) == ("not stated", date.today())
    assert manifest.system.model_dump() == {
        "type": "inference-time method", "model_id": "fake/model", "revision": "f" * 40, "parameters": 7,
        "open_weights": True, "licence": "mit",
    }  # fmt: skip
    checked = json.loads(command("validate", out, "--json").out)
    assert (checked["accepted"], checked["errors"], checked["counts"]["responses"]) == (True, 0, 72)


def test_blanks_are_told_beside_what_was_written_with_the_option_that_helps(command: Command, out: Path) -> None:
    command.asks(FakeSampler(lambda request: Sampled("", "length")))
    said = command("generate", "any", "--suite", "demo", "--out", out, "--k", 1, "--max-tokens", 9).out.splitlines()
    assert said[2] == (
        "  warning: 24 of 24 responses blank, and a blank one is not valid; a model may use all 9 tokens to reason: "
        "raise --max-tokens, or try --set thinking=false"
    )
    assert said[3].startswith("  warning: 24 of 24 responses truncated")


def test_every_answer_stands_at_its_prompt_with_its_reason_and_tokens(command: Command, out: Path) -> None:
    def answer(request: Request) -> Outcome:
        return Sampled(
            f"{request.messages[0].content} {request.seed}", "length" if request.seed % 2 else "stop", tokens=8
        )

    sampler = FakeSampler(answer, shuffled=True)
    command.asks(sampler)
    found = json.loads(command("generate", "any", "--suite", "demo", "--out", out, "--k", 2, "--json").out)
    submission, suite, _ = open_submission(out)
    odd_seeds = sum(request.seed % 2 for request in sampler.asked)
    assert found == {
        "submission_id": submission.id, "folder": str(out), "prompts": 24, "k": 2, "resumed_prompts": 0,
        "counts": {"prompts": 24, "responses": 48, "blank": 0, "placeholder": 0, "refused": 0, "cut_off": odd_seeds,
                   "repeated": 0}, "model": "fake",
        "warnings": [f"{odd_seeds} of 48 responses truncated; a class that has only truncated responses does not "
                     "count; raise --max-tokens (now 256)"],
    }  # fmt: skip
    rows = list(submission.rows())
    assert [row.prompt_id for row in rows] == [prompt.prompt_id for prompt in suite.prompts]
    for row in rows:
        assert [text.rpartition(" ")[0] for text in row.responses] == [row.prompt, row.prompt]
        odd = [int(text.rpartition(" ")[2]) % 2 for text in row.responses]
        assert row.finish_reasons == tuple("length" if each else "stop" for each in odd)
    tokens = pq.read_table(out / TOKENS_FILE)
    assert tokens.schema.equals(TOKENS)
    means = {
        "mean_tokens": 8,
        "mean_reasoning_tokens": None,
        "probabilities": None,
    }  # what is not known of one is not known of their mean
    assert tokens.to_pylist() == [{"prompt_id": row.prompt_id} | means for row in rows]


@pytest.mark.parametrize(
    ("suite", "options", "settings"),
    [
        ("demo", (), SamplingSettings(1.0, None, 1.0, 256)),
        ("gssbench", (), SamplingSettings(1.0, 10, 1.0, 256)),
        ("gssbench", ("--top-k", 0, "--max-tokens", 7), SamplingSettings(1.0, None, 1.0, 7)),
        ("gssbench", ("--top-k", 4, "--temperature", 0.5, "--top-p", 0.5), SamplingSettings(0.5, 4, 0.5, 256)),
    ],
)
def test_answers_are_drawn_as_the_suites_authors_drew_unless_told_otherwise(
    suite: str, options: tuple[object, ...], settings: SamplingSettings, command: Command, out: Path
) -> None:
    sampler = FakeSampler(faults_after=1)
    command.asks(sampler)
    assert command("generate", "any", "--suite", suite, "--out", out, "--k", 1, *options).status == 2
    assert {request.settings for request in sampler.asked} == {settings}


@pytest.mark.mirror
def test_noveltybench_is_asked_as_its_authors_asked(mirror: Path, command: Command, out: Path) -> None:
    sampler = FakeSampler()
    command.asks(sampler)
    arguments = ("--suite", "noveltybench-curated", "--mirror", mirror, "--mode", "paraphrase")
    assert command("generate", "any", *arguments, "--out", out).status == 0
    manifest = manifest_in(out).generation
    assert (manifest.k, manifest.temperature, manifest.top_k, manifest.max_tokens) == (10, 1, None, 512)
    prompts = load_suite("noveltybench-curated", mirror).prompts
    asked = [request.messages[0].content for request in sampler.asked]
    assert asked == [text for prompt in prompts for text in prompt.paraphrases]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("p.txt", "Say one.\n\nSay two.\n"),
        ("p.jsonl", '{"id": "a", "prompt": "Say one."}\n{"id": 7, "prompt": "Say two."}\n'),
    ],
)
def test_prompts_of_ones_own_are_a_suite_of_their_own(
    name: str, text: str, command: Command, tmp_path: Path, out: Path
) -> None:
    path = tmp_path / name
    path.write_text(text)
    command.asks(FakeSampler())
    assert command("generate", "any", "--suite", path, "--out", out, "--k", 2).status == 0
    assert list(responses_in(out)) == (["p0001", "p0002"] if name == "p.txt" else ["a", "7"])
    submission, suite, _ = open_submission(out)
    assert submission.manifest.suite == OWN
    assert {prompt.prompt for prompt in suite.prompts} == {"Say one.", "Say two."}
    assert list(suite.position) == sorted(responses_in(out))


def test_prompts_that_cannot_be_taken_are_told_before_the_model_is_loaded(
    command: Command, tmp_path: Path, out: Path
) -> None:
    path = tmp_path / "p.csv"
    path.write_text("prompt,id\nSay one.,a\n,a\n")
    ended = command("generate", "no/such@model", "--suite", path, "--out", out, "--json")
    assert ended.status == 1
    assert {problem["row"] for problem in json.loads(ended.out)["problems"]} == {3}


def failing(*ids: str) -> Callable[[Request], Outcome]:
    suite = load_suite("demo").by_id
    texts = {suite[each].prompt for each in ids}

    def answer(request: Request) -> Outcome:
        return Failed(f"refused {ids[0]}") if request.messages[0].content in texts else well(request)

    return answer


def test_what_failed_is_told_with_counts_and_tried_again_alone(command: Command, out: Path) -> None:
    arguments = ("generate", "any", "--suite", "demo", "--out", out, "--k", 2)
    command.asks(FakeSampler(failing("demo-03", "demo-07", "demo-11")))
    ended = command(*arguments, "--json")
    assert ended.status == 1
    assert "3 prompts: refused demo-03" in ended.err
    error = json.loads(ended.out)["error"]
    assert error["message"] == "3 of 24 prompts have no responses yet; most frequent reason: refused demo-03"
    assert error["hint"].startswith("the same command retries only these prompts; ")
    assert not out.exists()
    assert set(rows_in(journal_of(out), "errors")) == {"demo-03", "demo-07", "demo-11"}

    second = FakeSampler(failing("demo-07"))
    command.asks(second)
    ended = command(*arguments)
    assert (ended.status, "1 prompt: refused demo-07" in ended.err, "3 prompts" in ended.err) == (1, True, False)
    assert len(second.asked) == 6

    third = FakeSampler()
    command.asks(third)
    ended = command(*arguments)
    assert (ended.status, len(third.asked)) == (0, 2)
    assert "(24 prompts × 2 responses, 23 of them sampled before)" in ended.out
    calm = FakeSampler()
    command.asks(calm)
    command(*arguments[:-3], out.with_name("calm"), "--k", 2)
    for name in ("manifest.json", "generations.parquet", "tokens.parquet"):
        assert (out / name).read_bytes() == (out.with_name("calm") / name).read_bytes()
    assert sorted(path.name for path in out.parent.iterdir()) == ["calm", "out"]


def test_paraphrases_of_ones_own_are_asked_one_after_the_other(command: Command, own: Path, out: Path) -> None:
    sampler = FakeSampler()
    command.asks(sampler)
    arguments = ("generate", "any", "--suite", own, "--mode", "paraphrase", "--out", out)
    assert command(*arguments, "--k", 3).status == 0
    assert [request.messages[0].content for request in sampler.asked] == [
        f"Say {i}{c}" for i in range(4) for c in "abc"
    ]
    submission, suite, _ = open_submission(out)
    assert [row.prompt for row in submission.rows()] == [f"Say {i}." for i in range(4)]  # the prompt stays itself
    assert suite.name == OWN


def test_another_runs_answers_are_refused_with_what_differs(command: Command, own: Path, out: Path) -> None:
    arguments = ("generate", "any", "--suite", own, "--out", out)
    command.asks(FakeSampler(faults_after=5))
    ended = command(*arguments, "--k", 3)
    assert ended.status == 2
    assert "1 of 4 prompts have all their responses, which are kept" in ended.err
    assert "error: the model is gone (look for it)" in ended.err
    for options, says in (
        (("--k", 2), "k 3, now 2"),
        (("--k", 3, "--mode", "in-context"), "mode 'resample', now 'in-context'"),
        (("--k", 3, "--system-prompt", "Be brief."), "asked 'chat template', now"),
        (("--k", 3, "--stop", "END"), "stop [], now ['END']"),
        (("--k", 3, "--max-tokens", 9), "'max_tokens': 9"),
    ):
        idle = FakeSampler()
        command.asks(idle)
        ended = command(*arguments, *options)
        assert (ended.status, says in ended.err, idle.asked) == (2, True, []), ended.err
        assert f"remove {journal_of(out)} to discard it" in " ".join(ended.err.split())
    own.write_text(own.read_text().replace("Say 3.", "Say three."))
    assert "prompts 'own " in command(*arguments, "--k", 3).err


def test_what_a_first_try_got_wrong_is_not_in_the_way_of_the_second(command: Command, out: Path) -> None:
    command.asks(FakeSampler())
    ended = command("generate", "any", "--suite", "demo", "--mode", "paraphrase", "--out", out)
    assert (ended.status, "24 prompts have fewer than 10 paraphrases" in ended.err) == (2, True), ended.err
    assert list(out.parent.iterdir()) == []
    assert command("generate", "any", "--suite", "demo", "--out", out, "--k", 1).status == 0


REFUSED: list[tuple[list[object], str]] = [
    (["--suite", "nothing"], "there is no suite 'nothing'"),
    (["--suite", "demo", "--mode", "in-context", "--template", "{prompt}"], "the mode in-context needs a chat"),
    (["--suite", "demo", "--template", "Q:"], "write {prompt}"),
    (["--suite", "demo", "--set", "thinking=perhaps"], "thinking=perhaps is not valid"),
    (["--suite", "demo", "--sweep", "top_p=0.1:1:5"], "a sweep is written to a .parquet file"),
    (["--suite", "demo", "--sweep", "top_p=5"], "is not a valid sweep"),
    (["--suite", "demo", "--name", " x"], "name = ' x': must not be blank, or begin"),
    (["--suite", "demo", "--about", "top_k=7"], "--about states top-k, which is an option (use --top-k"),
    (["--suite", "demo", "--system-prompt", ""], "generation.system_prompt = ''"),
    (["--suite", "demo", "--stop", ""], "(give another value by --stop)"),
    (["--suite", "demo", "--top-p", 0], "--top-p is 0 (give a number above 0"),
    (["--suite", "demo", "--temperature", "inf"], "--temperature is inf (give a finite number"),
]


@pytest.mark.parametrize(
    ("options", "says"), REFUSED, ids=lambda each: " ".join(map(str, each)) if isinstance(each, list) else ""
)
def test_wrong_options_are_told_before_anything_is_sampled(
    options: list[object], says: str, command: Command, out: Path
) -> None:
    sampler = FakeSampler()
    command.asks(sampler)
    ended = command("generate", "any", *options, "--out", out)
    assert (ended.status, says in ended.err, sampler.asked) == (2, True, []), ended.err
    assert not out.parent.exists() or list(out.parent.iterdir()) == []


def test_the_current_folder_is_no_output(command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sampler = FakeSampler()
    command.asks(sampler)
    monkeypatch.chdir(tmp_path)
    ended = command("generate", "any", "--suite", "demo", "--out", ".")
    assert (ended.status, "give the name of a folder to create" in ended.err, sampler.asked) == (2, True, [])


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--template", "{prompt}"], "a server is only sampled by chat"),
        (["--stop", "x"], "a server is only sampled by chat"),
        (["--internals"], "divbench metrics internals SUBMISSION --model ORG/NAME@COMMIT (wise)"),
    ],
)
def test_what_a_server_cannot_do_is_told(options: list[str], says: str, command: Command, out: Path) -> None:
    ended = command("generate", "wise@http://127.0.0.1:9", "--suite", "demo", *options, "--out", out)
    assert (ended.status, says in ended.err) == (2, True), ended.err


def test_what_is_there_is_not_written_over(command: Command, tmp_path: Path) -> None:
    command.asks(FakeSampler())
    (tmp_path / "file").write_text("mine")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "mine").touch()
    (tmp_path / "s.parquet").mkdir()
    for name, more in (("file", ()), ("folder", ()), ("s.parquet", ("--sweep", "top_p=0.1:1:5"))):
        ended = command("generate", "any", "--suite", "demo", *more, "--out", tmp_path / name)
        assert (ended.status, f"{name} exists" in ended.err) == (2, True), ended.err
    assert (tmp_path / "file").read_text() == "mine"
    (tmp_path / "empty").mkdir()
    assert command("generate", "any", "--suite", "demo", "--k", 1, "--out", tmp_path / "empty").status == 0
