"""`divbench metrics explain`; untrusted texts stay texts."""

import io
import json
import re
import sys
from collections.abc import Callable
from dataclasses import replace
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmark.analysis.explain import Explanation
from benchmark.analysis.explain import explain as explain_set
from benchmark.metrics import surprisal
from benchmark.metrics.metric import Missing
from benchmark.surprisal.engine import OrderPlan, ResponseSet, SetSurprisals, read_sets
from benchmark.surprisal.prompt_layout import Layout
from datasets_build.load import load_suite, load_table
from divbench.command_line import main
from divbench.core.errors import ConfigurationError, InputError
from leaderboard.reports.explain import commands, sources
from leaderboard.reports.explain.rows import figures_of, notes
from leaderboard.reports.figure_page import page
from submissions.checking.validate import open_submission
from submissions.demo.build import write_demo_submissions
from submissions.storage.submission_folders import write_submission
from tests.benchmark.fakes import HashLM
from tests.benchmark.lms import model_of, tokeniser
from tests.conftest import divbench, document
from tests.leaderboard.conftest import until
from tests.leaderboard.figures.test_plots import HOSTILE, RESPONSES

PROMPT = "<img src=x onerror='window.hacked=1'> [red]Say[/red] one."
Run = Callable[..., tuple[int, str, str]]
Write = Callable[..., Path]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """The command in this process, with a model that needs no weights."""
    monkeypatch.setattr(commands, "load_model", lambda profile: HashLM())

    def start(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["divbench", "metrics", "explain", "--device", "cpu", *map(str, arguments)])
        with pytest.raises(SystemExit) as end:
            main()
        printed = capsys.readouterr()
        return int(end.value.code or 0), printed.out, printed.err

    return start


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """A JSON file of a set, with fields changed; `None` for bytes stands for what `json` writes."""

    def write_set(data: bytes | None = None, **fields: Any) -> Path:
        path = tmp_path / "set.json"
        given = {"prompt": PROMPT, "responses": list(RESPONSES)} | fields
        path.write_bytes(json.dumps(given).encode() if data is None else data)
        return path

    return write_set


def expected(prompt: str, responses: tuple[str, ...], layout: Layout, plan: OrderPlan | None = None) -> float:
    (read,) = read_sets([ResponseSet(prompt, responses)], HashLM(), layout, plan)
    assert isinstance(read, SetSurprisals)
    return surprisal.d_can(read.surprisals)


def d_can_of(printed: str) -> float:
    return float(json.loads(printed)["values"]["d_can"]["value"])


def test_json_is_the_explanation_and_nothing_else(run: Run, write: Write) -> None:
    code, printed, said = run(write(), "--json")
    found = explain_set(HashLM(), ResponseSet(PROMPT, RESPONSES))
    assert (code, said) == (0, "")
    assert json.loads(printed) == json.loads(json.dumps(found.as_json() | {"left_out": 0}))
    _, printed, _ = run(write(), "--json", "--precision", "0.01")
    assert json.loads(printed)["balanced_orders_needed"] == found.orders_for(0.01)


def test_the_options_decide_how_a_set_is_read(run: Run, write: Write) -> None:
    path = write(responses=["a b c", "a b d", "a c d"])
    responses = ("a b c", "a b d", "a c d")
    for options, layout, plan in (
        ([], Layout(), OrderPlan()),
        (["--set", "format=completion"], Layout("completion"), OrderPlan()),
        (["--set", "boundaries=paper"], Layout("instruct", "paper", "never"), OrderPlan()),
        (["--set", "orders=uniform", "--set", "order-count=4"], Layout(), OrderPlan("uniform", 4)),
        (["--set", "orders=endpoint", "--set", "order-count=2"], Layout(), OrderPlan("endpoint", 2)),
        (["--set", "orders=exact"], Layout(), OrderPlan("exact")),
    ):
        code, printed, _ = run(path, *options, "--json")
        made = json.loads(printed)
        assert code == 0
        assert (made["layout"], made["orders"]["plan"]) == (str(layout), str(plan))
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
        (("--dataset", "scenarios", "--split", "x", "--set-id", "y"), "no split 'x'"),
        (("--dataset", "x", "--split", "x"), "no dataset 'x'"),
        (("--dataset", "demo", "--split", "prompts"), "demo has no response sets (one of contest, "),
    ):
        code, printed, said = run(*options)
        assert (code, printed) == (2, "")
        assert message in said


@pytest.mark.mirror
def test_sets_that_go_on_from_a_beginning_are_completions(run: Run, mirror: Path) -> None:
    where = ("--dataset", "contest", "--split", "prompt_gen", "--mirror", mirror)
    row = load_table("contest", "prompt_gen", mirror=mirror).to_pylist()[3]
    code, printed, _ = run(*where, "--set-id", row["set_id"], "--json")
    assert code == 0
    assert json.loads(printed)["prompt"] == row["context"]
    assert d_can_of(printed) == expected(row["context"], tuple(row["responses"]), Layout("completion"))
    asked = load_table("olmo_stages", "nbcurated", mirror=mirror).to_pylist()[0]
    found = sources.from_dataset("olmo_stages", "nbcurated", asked["set_id"], mirror)
    assert (found.given.prompt, found.format) == (asked["prompt"], "instruct")


def test_the_answers_of_a_submission_are_those_that_are_scored(run: Run, tmp_path: Path) -> None:
    varied = write_demo_submissions(tmp_path / "demo")[0]
    submission, _, _ = open_submission(varied)
    rows = list(submission.rows())
    folder = tmp_path / "changed"
    folder.mkdir()
    changed = ("[Blocked]", " ", *rows[0].responses[2:])
    first = type(rows[0])(rows[0].number, rows[0].prompt_id, None, changed)
    write_submission(folder, submission.manifest, [first, *rows[1:]])

    code, printed, said = run(folder, "--prompt", first.prompt_id, "--json")
    prompt = load_suite("demo").by_id[first.prompt_id].prompt
    assert code == 0
    assert said == "left out: 2 blank responses or placeholders\n"
    assert d_can_of(printed) == expected(prompt, changed[2:], Layout())
    _, printed, _ = run(folder, "--prompt", first.prompt_id)
    assert "Left out: 2 responses, blank or placeholders such as [Blocked]. The others are numbered without" in printed

    code, _, said = run(folder, "--prompt", "no-such")
    assert (code, "no prompt 'no-such'" in said, first.prompt_id in said) == (2, True, True)
    code, _, said = run(folder)
    assert (code, "no prompt is named" in said) == (2, True)
    (folder / "manifest.json").write_text("{")
    code, _, said = run(folder, "--prompt", first.prompt_id)
    assert (code, "was rejected" in said) == (1, True)


def test_a_set_may_come_on_stdin(run: Run, write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    data = write().read_bytes()
    _, from_file, _ = run(write(), "--json")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"\xef\xbb\xbf" + data)))
    assert run("-", "--json") == (0, from_file, "")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "not JSON"),
        (b"[]", "Input should be an object"),
        (b'{"prompt": "a"}', "responses: Field required"),
        (b'{"prompt": "a", "responses": "b"}', "responses: Input should be a valid array"),
        (b'{"responses": ["b"]}', "prompt: Field required"),
        (b'{"prompt": 3, "responses": ["b"]}', "prompt: Input should be a valid string"),
        (b'{"prompt": "a", "responses": ["b", null]}', "responses.1: Input should be a valid string"),
        (b'{"prompt": "a", "responses": ["b", 4.5]}', "responses.1: Input should be a valid string"),
        (b'{"prompt": "a", "responses": ["b", "\\ud800"]}', "Invalid JSON: unexpected end of hex escape"),
        (b'{"prompt": "a", "responses": [], "answers": []}', "answers: unknown field"),
        (b'{"prompt": "a", "prompt": "b", "responses": []}', "the key 'prompt' is repeated"),
        (b'{"prompt": "a", "responses": [NaN]}', "NaN is not a JSON value"),
        (b"[" * 100_000, "nested more than"),
        (b'{"prompt": "\xff", "responses": []}', "'utf-8' codec can't decode byte 0xff in position 12"),
        (b" " * (2**20 + 1), "more than 1,048,576 bytes"),
        (
            json.dumps({"prompt": "a", "responses": ["b"] * 201}).encode(),
            "responses: List should have at most 200 items",
        ),
        (b'{"prompt": "a", "responses": []}', "set.json cannot be scored: no response"),
        (b'{"prompt": "a", "responses": ["b"]}', "cannot be scored: fewer than two responses"),
        (b'{"prompt": "a", "responses": ["b", " ", "[Blocked]"]}', "cannot be scored: fewer than two responses"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_file_that_is_no_set_exits_1_and_names_the_field(run: Run, write: Write, data: bytes, message: str) -> None:
    code, printed, said = run(write(data))
    assert (code, printed) == (1, "")
    assert message in said
    assert "Traceback" not in said
    code, printed, _ = run(write(data), "--json")
    error = json.loads(printed)["error"]
    assert (code, error["kind"]) == (1, "InputError")
    assert error["hint"]


def test_a_set_at_the_limits_is_taken(write: Write) -> None:
    text = "b" * ((2**20 - 600) // 200 - 4)
    path = write(json.dumps({"prompt": "a", "responses": [text] * 200}).encode())
    assert 2**20 - 1000 < path.stat().st_size <= 2**20
    assert len(sources.from_json(path).given.responses) == 200


def test_a_set_longer_than_the_model_reads_says_so(run: Run, write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commands, "load_model", lambda profile: HashLM(context=10))
    code, _, said = run(write())
    assert (code, "cannot be scored: longer than the model's context" in said) == (1, True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "name exactly one response set"),
        (["set.json", "--dataset", "scenarios"], "name exactly one response set"),
        (["nowhere.json"], "there is no file nowhere.json"),
        (["set.json", "--prompt", "p"], "--prompt needs a submission"),
        (["--dataset", "scenarios", "--prompt", "p"], "--prompt needs a submission"),
        (["set.json", "--split", "p"], "--split and --set-id need a dataset"),
        (["set.json", "--set-id", "p"], "--split and --set-id need a dataset"),
        (["set.json", "--out", "no/folder.html"], "cannot be written"),
        (["set.json", "--out", "."], "cannot be written"),
        (["set.json", "--set", "orders=endpoint", "--set", "order-count=0"], "order-count=0"),
        (["set.json", "--precision", "0"], "--precision"),
        (["set.json", "--precision", "nan"], "--precision"),
        (["set.json", "--precision", "inf"], "a standard error of inf is impossible"),
        (
            ["set.json", "--set", "orders=uniform", "--set", "order-count=1", "--precision", "0.1"],
            "too few orders were read",
        ),
        (["set.json", "--set", "format=chat"], "format=chat"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_wrong_usage_exits_2_before_anything_is_written(
    run: Run, write: Write, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str
) -> None:
    path = write()
    monkeypatch.chdir(path.parent)
    code, printed, said = run(*arguments)
    assert (code, printed) == (2, "")
    assert message in " ".join(re.sub(r"\x1b\[[0-9;]*m|[│╭╮╰╯─]", " ", said).split())
    assert [each.name for each in path.parent.iterdir()] == ["set.json"]


def test_exact_orders_of_a_large_set_cannot_be_had(run: Run, write: Write) -> None:
    code, _, said = run(write(responses=["a"] * 7), "--set", "orders=exact")
    assert (code, "the limit is 6 responses" in said) == (2, True)


def test_the_terminal_shows_numbers_with_units_and_texts_as_they_are(run: Run, write: Write) -> None:
    code, printed, said = run(write(), "--precision", "0.02")
    found = explain_set(HashLM(), ResponseSet(PROMPT, RESPONSES))
    assert (code, said) == (0, "")
    assert f"Prompt: {PROMPT}" in printed
    for value, unit in (("d_can", "bits/byte"), ("excess_entropy", "bits")):
        assert re.search(rf"{found.values[value]:.3f} │ {unit}", printed)
    assert f"standard error of 0.02 bits/byte: at most about {found.orders_for(0.02)} balanced orders" in printed
    for text in ("[bold]rich[/bold] </s> %{z}", "<script>window.hacked=1</script>", "\\x1b[31mred \\u202eturned"):
        assert text in printed
    assert "\x1b" not in printed
    assert "a long one a long one" in printed
    assert "…" in printed
    for saved in (found.alone - found.last).tolist():
        assert f" {saved:.1f} │" in printed


def test_what_saves_less_than_nothing_is_said_to_cost_more() -> None:
    found = explain_set(HashLM(), ResponseSet(PROMPT, ("a b c d", "a b c d", "e f g")))
    assert not isinstance(found.pairs, Missing)
    said = list(notes(found))
    assert re.fullmatch(r"Right after another response, a response costs \d+\.\d bits less on average, .*", said[-2])
    saved, (i, j) = found.pairs.saved.max(where=~np.eye(3, dtype=bool), initial=0), found.pairs.strongest or (0, 0)
    assert said[-1].startswith(f"Response {i + 1} saves most, {saved:.1f} bits after response {j + 1}; most of")
    worse = replace(
        found,
        pairs=replace(found.pairs, given=found.pairs.given + 1000),
        strongest=tuple(replace(token, given=token.given + 1000) for token in found.strongest or ()),
    )
    assert re.match(
        r"Right after another response, a response costs \d+\.\d bits more .* 0% of", list(notes(worse))[-1]
    )


def test_long_sets_are_shown_in_part_and_without_pairs(run: Run, write: Write) -> None:
    code, printed, _ = run(write(responses=[f"word {i}." for i in range(52)]))
    assert code == 0
    assert "The first 50 positions and responses are shown" in printed
    assert "Responses were not read in pairs: more than 30 responses." in printed
    assert "word 49. " in printed
    assert "word 50" not in printed
    assert "word 51" not in printed


def test_the_page_is_whole_inert_and_the_same_again(run: Run, write: Write, tmp_path: Path) -> None:
    destination = tmp_path / "page.html"
    code, printed, said = run(write(), "--out", destination, "--json")
    assert (code, said) == (0, f"written: {destination}\n")
    assert json.loads(printed)["prompt"] == PROMPT
    text = destination.read_text(encoding="utf-8")
    explained = explain_set(HashLM(), ResponseSet(PROMPT, RESPONSES))
    assert text == page(figures_of(explained), "set.json", [PROMPT, *notes(explained)])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["page.html", "set.json"]

    head, *rest = re.split(r"<script[^>]*>", text)
    data, library, drawing = (part.split("</script>", 1)[0] for part in rest)
    assert "plotly.js v" in library[:200]
    assert "Plotly.newPlot" in drawing
    assert set(json.loads(data)) == {"figure-0", "figure-1", "figure-2"}
    for attack in (PROMPT, *HOSTILE[:2]):
        assert attack not in head
    assert escape(PROMPT) in head
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', head)
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy.split(";")[1]
    assert not re.findall(r'(?:src|href)="', head)


def test_a_page_without_pairs_has_two_figures() -> None:
    found = explain_set(HashLM(), ResponseSet(PROMPT, RESPONSES), most_paired=2)
    text = page(figures_of(found), "<title>", notes(found, left_out=1))
    assert text.count('role="figure" aria-label="') == 2
    assert text.index("<main>") < text.index("<h1>") < text.index("</main>")
    assert 'name="viewport"' in text
    assert "more than 2 responses" in text
    assert "<title>&lt;title&gt;</title>" in text


def test_a_real_model_is_loaded_from_a_folder(write: Write, tmp_path: Path) -> None:
    model_of("ours").save_pretrained(tmp_path / "lm")
    tokeniser("ours").save_pretrained(tmp_path / "lm")
    ended = divbench("metrics", "explain", write(), "--set", f"lm={tmp_path / 'lm'}", "--json")
    assert ended.returncode == 0, ended.stderr
    made = document(ended)
    assert made["model"].startswith("lm@")
    for row in made["responses"]:
        assert "".join(token["text"] for token in row["tokens"]) == row["text"]
    first = made["responses"][0]
    assert sum(token["bits"] for token in first["tokens"]) == pytest.approx(first["bits_alone"], abs=1e-3)
    ended = divbench("metrics", "explain", write(), "--set", "lm=no-such-model")
    assert (ended.returncode, "is neither a folder nor the name of a model" in ended.stderr) == (2, True)


def test_sources_raise_what_the_front_door_knows(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError):
        sources.from_json(tmp_path)
    with pytest.raises(InputError):
        sources.from_json(Path(__file__))


@pytest.mark.browser
def test_the_page_draws_three_figures_and_runs_no_untrusted_script(
    tmp_path: Path,
    browser: Any,
) -> None:
    from selenium.webdriver import ActionChains
    from selenium.webdriver.common.by import By

    found: Explanation = explain_set(HashLM(), ResponseSet(PROMPT, RESPONSES))
    (tmp_path / "page.html").write_text(page(figures_of(found), HOSTILE[0]), encoding="utf-8")
    browser.get_log("browser")
    browser.get((tmp_path / "page.html").as_uri())
    until(
        lambda: len(browser.find_elements(By.CSS_SELECTOR, ".js-plotly-plot .xtick, .js-plotly-plot .ytick")) > 9,
        "the figures are not drawn",
    )
    assert len(browser.find_elements(By.CSS_SELECTOR, ".js-plotly-plot")) == 3
    assert len(browser.find_elements(By.CSS_SELECTOR, "#figure-1 .hm image, #figure-2 .hm image")) == 2
    assert HOSTILE[0] in browser.find_element(By.TAG_NAME, "h1").text
    shown = browser.find_element(By.CSS_SELECTOR, "#figure-1 .yaxislayer-above").get_attribute("textContent")
    assert "2: <b>bold</b> <a href='javascri…" in shown
    titles = [each.get_attribute("data-title") for each in browser.find_elements(By.CSS_SELECTOR, ".modebar-btn")]
    assert titles
    assert not [title for title in titles if "Share" in title]

    plot = browser.find_element(By.CSS_SELECTOR, "#figure-1 .nsewdrag")
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", plot)
    across, down = ((place + 0.5) / len(RESPONSES) - 0.5 for place in (0, 2))  # of response 3 after response 1
    offset = int(across * plot.rect["width"]), int(down * plot.rect["height"])
    ActionChains(browser).move_to_element_with_offset(plot, *offset).perform()
    until(
        lambda: bool(browser.find_elements(By.CSS_SELECTOR, "#figure-1 .hovertext")), "nothing shows under the pointer"
    )
    hover = browser.find_element(By.CSS_SELECTOR, "#figure-1 .hovertext").get_attribute("textContent")
    assert "3: [bold]rich[/bold] </s> %{z} %{customdata[0]} &lt;i&gt;" in hover
    assert "after 1: <script>window.hacked=1</script>" in hover

    browser.find_elements(By.CSS_SELECTOR, "#figure-0 .updatemenu-button")[1].click()
    title = "#figure-0 .ytitle"
    until(lambda: "bits of a response" in browser.find_element(By.CSS_SELECTOR, title).text, "the unit does not change")
    errors = [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"]
    assert errors == []
    assert browser.execute_script("return window.hacked") is None
