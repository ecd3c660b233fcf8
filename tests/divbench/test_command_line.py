"""The front door, as people and programs meet it: exit status, one JSON document on stdout, nothing heavy imported."""

import errno
import json
import re
import runpy
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from textwrap import indent
from typing import Any

import pytest
import typer

from divbench.command_line import COMMANDS, _prepare_streams, _refused_by_system, build
from divbench.core.console import print_json
from tests.conftest import RUN, divbench, divbench_anew, document, import_demo

HEAVY = {
    *("torch", "datasets", "gradio", "transformers", "sentence_transformers", "pandas", "pyarrow", "sklearn", "scipy")
}
# All commands' help, one after the other in one interpreter: what none of them imports, no one imports.
EACH_HELP = """
import sys
from divbench.command_line import main
for words in {commands}:
    sys.argv = ["divbench", *words.split(), "--help"]
    try:
        main()
    except SystemExit as end:
        print(f"{{words}} ended with {{end.code}}", flush=True)
"""


def heavy_imports(code: str, *arguments: str) -> tuple[set[str], str]:
    """The heavy libraries among the modules that a program has imported when it ends, and what it printed."""
    guarded = f"try:\n{indent(code, '    ')}\nexcept SystemExit: pass"
    listing = f"import sys\n{guarded}\nprint('\\n', *sys.modules, file=sys.stderr)"
    ended = divbench_anew(*arguments, code=listing, COLUMNS="80")
    assert ended.returncode == 0, ended.stderr
    modules = ended.stderr.splitlines()[-1].split()
    assert "sys" in modules
    return HEAVY & set(modules), ended.stdout


def test_help_names_every_command_and_imports_nothing_heavy() -> None:
    heavy, printed = heavy_imports(RUN, "--help")
    assert heavy == set()
    assert all(f" {command.words.split()[0]} " in printed for command in COMMANDS)
    assert all(f" {panel} " in printed for panel in ("Start", "Score", "Study", "Service"))


def test_each_command_explains_itself_and_imports_nothing_heavy() -> None:
    commands = [command.words for command in COMMANDS]
    heavy, printed = heavy_imports(EACH_HELP.format(commands=commands))
    assert heavy == set()
    assert [line for line in printed.splitlines() if " ended with " in line] == [f"{c} ended with 0" for c in commands]


def leaves(command: Any, words: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    """All commands that do something, with their words."""
    if (subcommands := getattr(command, "commands", None)) is None:
        yield " ".join(words), command
    else:
        for name, subcommand in subcommands.items():
            yield from leaves(subcommand, (*words, name))


def test_every_command_has_an_example_and_every_option_a_help_text() -> None:
    for words, command in leaves(typer.main.get_command(build())):
        assert re.search(rf"divbench {words}\b", command.help), words
        assert all(parameter.help for parameter in command.params), words


def test_datasets_are_built_without_pandas_or_torch() -> None:
    heavy, _ = heavy_imports("from datasets_build import build, load, gssbench, scenarios")
    assert heavy <= {"pyarrow", "pandas"}  # pyarrow looks for pandas by itself


def test_the_version_is_that_of_the_package() -> None:
    ended = divbench_anew("--version")
    assert (ended.returncode, ended.stdout.strip(), ended.stderr) == (0, version("divbench"), "")


def test_the_command_runs_as_a_module(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["divbench", "--version"])
    with pytest.raises(SystemExit):
        runpy.run_module("divbench", run_name="__main__")
    assert capsys.readouterr().out.strip() == version("divbench")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["no-such-command"], "No such command 'no-such-command'"),
        (["metrics", "no-such-command"], "No such command 'no-such-command'"),
        (["scor", "x"], "Did you mean 'score'?"),
        (["validate"], "Missing argument"),
        (["board", "serve", "--port", "70000"], "Invalid value for '--port'"),
        (["validate", "x", "--no-such-option"], "No such option"),
        (["data", "list", "more"], "unexpected extra argument"),
        (["data", "prompts", "demo", "--out", "no/x.jsonl"], "error: no/x.jsonl: the folder does not exist"),
        ([], "Usage: divbench"),
        (["submissions"], "Usage: divbench submissions"),
    ],
    ids=lambda value: " ".join(value) or "nothing" if isinstance(value, list) else "",
)
def test_wrong_usage_exits_2_and_says_why(arguments: list[str], message: str) -> None:
    ended = divbench(*arguments)
    assert ended.returncode == 2
    assert message in ended.stderr + ended.stdout
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize(
    ("arguments", "kind", "message"),
    [
        (["validate"], "ConfigurationError", "Missing argument"),
        (["score", "x", "--k", "many"], "ConfigurationError", "Invalid value for '--k'"),
        (["validate", "nowhere"], "ConfigurationError", "there is no folder nowhere"),
        (["score", "nowhere"], "ConfigurationError", "there is no folder nowhere"),
    ],
    ids=lambda value: " ".join(value[:2]) if isinstance(value, list) else "",
)
def test_an_error_is_a_document_for_programs(
    arguments: list[str], kind: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ended = divbench(*arguments, "--json")
    error = document(ended)["error"]
    assert (ended.returncode, error["kind"]) == (2, kind)
    assert message in error["message"]
    assert error["hint"]
    assert message in ended.stderr
    assert list(tmp_path.iterdir()) == []


def test_success_exits_0_with_text_for_people_or_one_document(demo_file: Path) -> None:
    ended = import_demo(demo_file)
    assert (ended.returncode, ended.stderr) == (0, "")
    for part in ("Accepted: mine as ", "suite demo, k = 2", "24 prompts, 48 responses", "Next: divbench score "):
        assert part in ended.stdout
    checked = divbench("validate", demo_file.parent / "out", "--json")
    assert (checked.returncode, document(checked)["accepted"]) == (0, True)


def test_a_refused_import_exits_1_and_lists_every_problem(demo_file: Path) -> None:
    lines = demo_file.read_text().splitlines()
    demo_file.write_text("\n".join([lines[0], "{", '{"prompt_id": "demo-02", "responses": [null, 1]}', *lines[3:]]))
    ended = import_demo(demo_file)
    assert (ended.returncode, ended.stdout) == (1, "")
    for part in ("not JSON", "responses[0]", "responses[1]", "3 errors, 0 warnings", "was rejected: 3 problems"):
        assert part in ended.stderr
    report = document(import_demo(demo_file, "--json"))
    assert report["error"]["kind"] == "Rejected"
    assert [(p["row"], p["field"]) for p in report["problems"]] == [(2, None), (3, "responses[0]"), (3, "responses[1]")]
    assert sorted(path.name for path in demo_file.parent.iterdir()) == ["in.jsonl"]


def test_the_datasets_are_listed_built_and_verified(tmp_path: Path) -> None:
    home = {"DIVBENCH_HOME": str(tmp_path)}
    names = ["scenarios", "demo"]  # generated here: neither network nor mirror
    before = {row["name"]: row["built"] for row in document(divbench("data", "list", "--json", **home))}
    assert set(before.values()) == {"no"}
    built = document(divbench("data", "build", *names, "--json", **home))
    assert [manifest["config"] for manifest in built] == names
    after = {row["name"]: row["built"] for row in document(divbench("data", "list", "--json", **home))}
    assert {name for name, state in after.items() if state == "yes"} == set(names)
    assert document(divbench("data", "verify", *names, "--json", **home)) == {name: [] for name in names}
    assert divbench("data", "verify", "mcdiv", **home).returncode == 1
    card = divbench("data", "card", **home)
    assert card.stdout.startswith("---\npretty_name: DivBench")
    assert document(divbench("data", "card", "--json", **home))["card"] == card.stdout.removesuffix("\n")


def test_info_and_prompts_show_a_dataset_and_a_suite() -> None:
    prompts = [json.loads(line) for line in divbench("data", "prompts", "demo").stdout.splitlines()]
    assert (len(prompts), prompts[0]["prompt_id"], list(prompts[0])) == (24, "demo-00", ["prompt_id", "prompt"])
    assert document(divbench("data", "prompts", "demo", "--json"))["prompts"] == prompts
    about = document(divbench("data", "info", "dectest", "--json"))
    assert about["splits"]["prompt_gen"] == 1000
    shown = divbench("data", "info", "dectest").stdout
    assert "ten blank responses" in shown
    assert all(file["path"] in shown and file["sha256"] in shown for file in about["files"])


def test_a_build_without_its_files_says_what_to_do_and_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "mirror").mkdir()
    ended = divbench("data", "build", "contest", "--out", str(tmp_path / "out"), "--mirror", str(tmp_path / "mirror"))
    assert ended.returncode == 2
    assert "the mirror has no file" in ended.stderr
    assert not any((tmp_path / "out" / "data").iterdir())


def test_an_interrupted_command_says_that_it_can_go_on() -> None:
    code = (
        "import divbench.command_line as cli, submissions.checking.validate as v, os, signal, time\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # a job in the background starts with it ignored
        "v.validate = lambda *a, **k: (os.kill(os.getpid(), signal.SIGINT), time.sleep(60))\n"
        "cli.main()"
    )
    ended = divbench("validate", ".", code=code)
    assert ended.returncode == 128 + signal.SIGINT
    assert "interrupted" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_a_closed_stdout_is_no_crash(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    _prepare_streams()
    print_json({"any": "document"})
    sys.stdout.close()


def test_words_that_the_locale_cannot_read_are_named(
    demo_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ended = divbench("quick", demo_file, "--suite", "demo", "--no-board", "--out", "\udcc3\udcbc")
    assert ended.returncode == 2
    assert "is not text in this locale's encoding" in ended.stderr
    assert "PYTHONUTF8=1" in ended.stderr


def test_what_the_system_refuses_is_named_with_a_hint(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DIVBENCH_HOME", "/home/me/cache")
    for path in ("/home/me/cache/downloads", "/home/me"):
        error = _refused_by_system(PermissionError(errno.EACCES, "Permission denied", path))
        assert (error.message, "DIVBENCH_HOME" in error.hint) == (f"{path}: Permission denied", True)
    assert "DIVBENCH_HOME" not in _refused_by_system(PermissionError(errno.EACCES, "no", "/home/you")).hint
    renamed = _refused_by_system(OSError(errno.EBUSY, "is in use", ".out.0123", None, "out"))
    assert renamed.message == "out: is in use"


def test_a_file_that_the_system_refuses_exits_2_with_its_name(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("a file")
    ended = divbench("data", "prompts", "demo", "--out", tmp_path / "taken" / "out", "--json")
    assert ended.returncode == 2
    assert "taken" in document(ended)["error"]["message"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_a_full_disk_under_the_output_is_told_without_a_traceback() -> None:
    with Path("/dev/full").open("wb") as full:
        ended = subprocess.run(
            [sys.executable, "-c", RUN, "data", "prompts", "demo", "--json"],
            stdout=full, stderr=subprocess.PIPE, encoding="utf-8", check=False,
        )  # fmt: skip
    assert ended.returncode == 2
    assert ended.stderr.splitlines()[0].startswith("error: No space left on device")


def test_a_port_in_use_is_told_in_our_words() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        ended = divbench("board", "serve", "--port", port)
    assert ended.returncode == 2
    assert f"the board cannot listen on 127.0.0.1:{port} (another program uses it" in ended.stderr


def test_a_terminal_without_our_letters_gets_others() -> None:
    ended = divbench("metrics", "list", PYTHONIOENCODING="ascii")
    assert ended.returncode == 0, ended.stderr
    assert "distinct_k" in ended.stdout
    assert ended.stdout.isascii()
