"""`divbench metrics explain`; untrusted texts stay texts."""

import io
import json
import re
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmark.analysis import explain_command
from benchmark.analysis.explain import explain
from benchmark.analysis.explain_command import from_dataset, notes
from benchmark.metrics import surprisal
from benchmark.metrics.metric import Missing
from benchmark.surprisal.engine import OrderPlan, ResponseSet, SetSurprisals, read_sets
from benchmark.surprisal.prompt_layout import Layout
from datasets_build.load import load_suite, load_table
from divbench.command_line import main
from submissions.checking.validate import open_submission
from submissions.gaming.baselines import write_demo_submissions
from submissions.storage.submission_folders import write_submission
from tests.benchmark.fakes import HashLM

PROMPT = "<img src=x onerror='window.hacked=1'> [red]Say[/red] one."
RESPONSES = (
    "<script>window.hacked=1</script>",
    "[bold]rich[/bold] </s> %{z}",
    "\x1b[31mred \u202eturned",
    "a long one " * 40,
)
Run = Callable[..., tuple[int, str, str]]
Write = Callable[..., Path]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """The command in this process, with a model that needs no weights."""
    monkeypatch.setattr(explain_command, "load_model", lambda profile: HashLM())

    def start(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["divbench", "metrics", "explain", "--device", "cpu", *map(str, arguments)])
        with pytest.raises(SystemExit) as end:
            main()
        printed = capsys.readouterr()
        return int(end.value.code or 0), printed.out, printed.err

    return start


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """A JSON file of a set, with fields changed, or with these bytes."""

    def write_set(data: bytes | None = None, **fields: Any) -> Path:
        path = tmp_path / "set.json"
        document = {"prompt": PROMPT, "responses": list(RESPONSES)} | fields
        path.write_bytes(json.dumps(document).encode() if data is None else data)
        return path

    return write_set


def expected(prompt: str, responses: tuple[str, ...], layout: Layout, plan: OrderPlan | None = None) -> float:
    (read,) = read_sets([ResponseSet(prompt, responses)], HashLM(), layout, plan)
    assert isinstance(read, SetSurprisals)
    return surprisal.d_can(read.surprisals)


def d_can_of(printed: str) -> float:
    return float(json.loads(printed)["values"]["d_can"]["value"])


def test_json_is_the_explanation_and_nothing_else(run: Run, write: Write) -> None:
    code, printed, stderr = run(write(), "--json", "--precision", "0.01")
    explanation = explain(HashLM(), ResponseSet(PROMPT, RESPONSES))
    needed = {"left_out": 0, "balanced_orders_needed": explanation.orders_for(0.01)}
    assert (code, stderr) == (0, "")
    assert json.loads(printed) == json.loads(json.dumps(explanation.as_json() | needed))


def test_the_options_decide_how_a_set_is_read(run: Run, write: Write) -> None:
    responses = ("a b c", "a b d", "a c d")
    path = write(responses=list(responses))
    for options, layout, plan in (
        (["--set", "format=completion"], Layout("completion"), OrderPlan()),
        (["--set", "boundaries=paper"], Layout("instruct", "paper", "never"), OrderPlan()),
        (["--set", "orders=endpoint", "--set", "order-count=2"], Layout(), OrderPlan("endpoint", 2)),
    ):
        code, printed, _ = run(path, *options, "--json")
        document = json.loads(printed)
        assert code == 0
        assert (document["layout"], document["orders"]["plan"]) == (str(layout), str(plan))
        assert d_can_of(printed) == expected(PROMPT, responses, layout, plan)


def test_a_set_of_a_dataset_is_read_in_its_format(run: Run) -> None:
    where = ("--dataset", "scenarios", "--split", "scenarios")
    code, printed, _ = run(*where, "--set-id", "noise-bread", "--json")
    row = load_table("scenarios", "scenarios").to_pylist()[0]
    assert row["set_id"] == "noise-bread"
    assert code == 0
    assert d_can_of(printed) == expected(row["context"], tuple(row["responses"]), Layout())
    for options, message in (
        ((*where,), "such as noise-bread"),
        ((*where, "--set-id", "no-such"), "no set 'no-such'"),
        (("--dataset", "scenarios"), "name one of scenarios with --split: scenarios, mode_count"),
        (("--dataset", "demo", "--split", "prompts"), "demo has no response sets (one of contest, "),
    ):
        code, printed, stderr = run(*options)
        assert (code, printed) == (2, "")
        assert message in stderr


@pytest.mark.mirror
def test_contexts_to_continue_are_completions(mirror: Path) -> None:
    row = load_table("contest", "prompt_gen", mirror=mirror).to_pylist()[3]
    chosen = from_dataset("contest", "prompt_gen", row["set_id"], mirror)
    assert (chosen.response_set.prompt, chosen.format) == (row["context"], "completion")
    row = load_table("olmo_stages", "nbcurated", mirror=mirror).to_pylist()[0]
    chosen = from_dataset("olmo_stages", "nbcurated", row["set_id"], mirror)
    assert (chosen.response_set.prompt, chosen.format) == (row["prompt"], "instruct")


def test_the_responses_of_a_submission_are_those_that_are_scored(run: Run, tmp_path: Path) -> None:
    varied = write_demo_submissions(tmp_path / "demo")[0]
    submission, _, _ = open_submission(varied)
    rows = list(submission.rows())
    folder = tmp_path / "changed"
    folder.mkdir()
    responses = ("[Blocked]", " ", *rows[0].responses[2:])
    first = replace(rows[0], prompt=None, responses=responses)
    write_submission(folder, submission.manifest, [first, *rows[1:]])
    code, printed, stderr = run(folder, "--prompt", first.prompt_id, "--json")
    prompt = load_suite("demo").by_id[first.prompt_id].prompt
    assert code == 0
    assert stderr == "left out: 2 blank responses or placeholders\n"
    assert d_can_of(printed) == expected(prompt, responses[2:], Layout())
    for options, message in ((("--prompt", "no-such"), "no prompt 'no-such'"), ((), "no prompt is named")):
        code, _, stderr = run(folder, *options)
        assert (code, message in stderr, first.prompt_id in stderr) == (2, True, True)


def test_a_set_may_come_on_stdin(run: Run, write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    data = write().read_bytes()
    _, from_file, _ = run(write(), "--json")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"\xef\xbb\xbf" + data)))
    assert run("-", "--json") == (0, from_file, "")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "not JSON"),
        (b'{"prompt": "a"}', "responses: Field required"),
        (b'{"prompt": "a", "responses": ["b", null]}', "responses.1: Input should be a valid string"),
        (b'{"prompt": "a", "responses": [], "answers": []}', "answers: unknown field"),
        (b" " * (2**20 + 1), "more than 1,048,576 bytes"),
        (json.dumps({"prompt": "a", "responses": ["b"] * 201}).encode(), "List should have at most 200 items"),
        (b'{"prompt": "a", "responses": ["b", " ", "[Blocked]"]}', "cannot be scored: fewer than two responses"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_file_that_is_no_set_exits_1_and_names_the_field(run: Run, write: Write, data: bytes, message: str) -> None:
    code, printed, stderr = run(write(data))
    assert (code, printed) == (1, "")
    assert message in stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "name exactly one response set"),
        (["set.json", "--dataset", "scenarios"], "name exactly one response set"),
        (["nowhere.json"], "there is no file nowhere.json"),
        (["set.json", "--prompt", "p"], "--prompt needs a submission"),
        (["set.json", "--split", "p"], "--split and --set-id need a dataset"),
        (["set.json", "--precision", "inf"], "a standard error of inf is impossible"),
        (["set.json", "--set", "orders=uniform", "--set", "order-count=1", "--precision", "0.1"], "too few orders"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_wrong_usage_exits_2(
    run: Run, write: Write, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str
) -> None:
    monkeypatch.chdir(write().parent)
    code, printed, stderr = run(*arguments)
    assert (code, printed) == (2, "")
    assert message in " ".join(stderr.split())


def test_the_terminal_shows_numbers_with_units_and_texts_as_they_are(run: Run, write: Write) -> None:
    code, printed, stderr = run(write(), "--precision", "0.02")
    explanation = explain(HashLM(), ResponseSet(PROMPT, RESPONSES))
    assert (code, stderr) == (0, "")
    assert f"Prompt: {PROMPT}" in printed
    for value, unit in (("d_can", "bits/byte"), ("excess_entropy", "bits")):
        assert re.search(rf"{explanation.values[value]:.3f} │ {unit}", printed)
    assert f"standard error of 0.02 bits/byte: at most about {explanation.orders_for(0.02)} balanced orders" in printed
    for text in (*RESPONSES[:2], "\\x1b[31mred \\u202eturned"):
        assert text in printed
    assert "\x1b" not in printed
    for saved in (explanation.alone - explanation.last).tolist():
        assert f" {saved:.1f} │" in printed


def test_what_saves_less_than_nothing_is_said_to_cost_more() -> None:
    explanation = explain(HashLM(), ResponseSet(PROMPT, ("a b c d", "a b c d", "e f g")))
    assert not isinstance(explanation.pairs, Missing)
    *_, costs, strongest = notes(explanation)
    assert re.fullmatch(r"Right after another response, a response costs \d+\.\d bits less on average, .*", costs)
    i, j = explanation.pairs.strongest or (0, 0)
    saved = explanation.pairs.saved[i, j]
    assert strongest.startswith(f"Response {i + 1} saves most, {saved:.1f} bits after response {j + 1}; most of")
    worse = replace(explanation.pairs, given=explanation.pairs.given + 1000)
    *_, costs = notes(replace(explanation, pairs=worse, strongest=None))
    assert re.match(r"Right after another response, a response costs \d+\.\d bits more .* 0% of", costs)


def test_long_sets_are_shown_in_part_and_without_pairs(run: Run, write: Write) -> None:
    code, printed, _ = run(write(responses=[f"word {i}." for i in range(52)]))
    assert code == 0
    assert "The first 50 positions and responses are shown" in printed
    assert "Responses were not read in pairs: more than 30 responses." in printed
    assert "word 49. " in printed
    assert "word 50" not in printed
