"""The front door, as people and programs meet it: exit status, one JSON document on stdout, nothing heavy imported."""

import errno
import json
import runpy
import signal
import socket
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from shutil import copyfile
from textwrap import indent

import pytest

from divbench.command_line import COMMANDS, _prepare_streams, _refused_by_system
from divbench.core.console import print_json
from leaderboard.app.navigation import GROUPS, Link, navigation
from submissions.demo.build import TEXTS
from tests.conftest import RUN, divbench, divbench_anew, document, import_demo, write_toy
from tests.submissions.conftest import change_manifest

HEAVY = {
    "torch",
    "datasets",
    "gradio",
    "transformers",
    "sentence_transformers",
    "pandas",
    "pyarrow",
    "sklearn",
    "scipy",
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
    tried = f"try:\n{indent(code, '    ')}\nexcept SystemExit: pass"
    listing = f"import sys\n{tried}\nprint('\\n', *sys.modules, file=sys.stderr)"
    ended = divbench_anew(*arguments, code=listing, COLUMNS="80")
    assert ended.returncode == 0, ended.stderr
    modules = ended.stderr.splitlines()[-1].split()
    assert "sys" in modules
    return HEAVY & set(modules), ended.stdout


def test_help_names_every_command_and_imports_nothing_heavy() -> None:
    heavy, printed = heavy_imports(RUN, "--help")
    assert heavy == set()
    names = {command.words.split()[0] for command in COMMANDS}
    assert len(names) == 14
    assert all(f" {name} " in printed for name in names)
    assert all(f" {panel} " in printed for panel in ("Start", "Score", "Study", "Service"))
    assert "<bool>" not in printed
    assert "list[" not in printed


def test_each_command_explains_itself_and_imports_nothing_heavy() -> None:
    commands = [command.words for command in COMMANDS]
    heavy, printed = heavy_imports(EACH_HELP.format(commands=commands))
    assert heavy == set()
    for words in commands:
        said, _, printed = printed.partition(f"{words} ended with 0\n")
        assert f"Usage: divbench {words}" in said
        assert "<bool>" not in said
        assert "list[" not in said
        assert "…" not in said  # rich cuts what its column cannot hold


def test_importing_a_package_imports_nothing_heavy() -> None:
    assert heavy_imports("import datasets_build, submissions, benchmark, leaderboard")[0] == set()


def test_a_heavy_import_would_be_seen() -> None:
    assert heavy_imports("import pyarrow")[0] == {"pyarrow"}


def test_importing_a_submission_needs_no_model_library(demo_file: Path) -> None:
    arguments = ["import", str(demo_file), "--from", "jsonl", "--suite", "demo", "--name", "n"]
    heavy, _ = heavy_imports(RUN, *arguments, "--submitter", "me", "--out", str(demo_file.parent / "out"))
    assert (demo_file.parent / "out" / "manifest.json").is_file()
    assert "pyarrow" in heavy
    assert heavy <= {"pyarrow", "pandas"}  # pyarrow looks for pandas by itself


def test_the_version_is_that_of_the_package() -> None:
    ended = divbench_anew("--version")
    assert (ended.returncode, ended.stdout.strip(), ended.stderr) == (0, version("divbench"), "")


def test_the_installed_command_is_the_same() -> None:
    script = Path(sys.executable).parent / "divbench"
    if not script.exists():
        pytest.skip("the package is not installed beside this Python")
    ended = subprocess.run([script, "--version"], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout.strip()) == (0, version("divbench"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["no-such-command"], "No such command 'no-such-command'"),
        (["metrics", "no-such-command"], "No such command 'no-such-command'"),
        (["submission", "import"], "did you mean divbench import?"),
        (["reproduce"], "did you mean divbench metrics reproduce?"),
        (["metaeval", "contest"], "did you mean divbench metrics metaeval?"),
        (["rate", "make", "subs/mine"], "did you mean divbench people forms?"),
        (["arena"], "did you mean divbench people votes?"),
        (["scor", "x"], "did you mean divbench score?"),
        (["validate"], "Missing argument"),
        (["board", "serve", "--port", "70000"], "Invalid value for '--port'"),
        (["board", "show", "--results", "a", "--store", "b"], "--results and --store were both given"),
        (["board", "show", "--results-store", "b"], "--results-store was given without --store (name the store of"),
        (["board", "show", "--store", "no-such-store"], "there is no folder no-such-store (give the folder of a store"),
        (["board", "space", "x", "--store", "no-such-store", "--models"], "there is no folder no-such-store"),
        (["data", "prompts", "demo", "--out", "no/x.jsonl"], "error: no/x.jsonl: the folder does not exist"),
        (["import", ".", "--name", "n", "--submitter", "m", "--out", "x"], ". is a folder"),
        (["validate", "x", "--no-such-option"], "No such option"),
        (["import", "x", "--from", "docx"], "Invalid value for '--from': 'docx' is not one of"),
        (["data", "list", "more"], "unexpected extra argument"),
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


def test_success_exits_0_and_prints_for_people(demo_file: Path) -> None:
    ended = import_demo(demo_file)
    assert ended.returncode == 0
    for part in ("Accepted: mine as ", "suite demo, k = 2", "24 prompts, 48 responses", "Next: divbench score "):
        assert part in ended.stdout
    assert ended.stderr == ""


def test_success_as_json_is_one_document(demo_file: Path) -> None:
    ended = import_demo(demo_file, "--json")
    made = document(ended)
    assert ended.returncode == 0
    assert (made["errors"], made["warnings"], made["problems"], made["fields_not_used"]) == (0, 0, [], [])
    assert made["folder"] == str(demo_file.parent / "out")

    checked = divbench("validate", demo_file.parent / "out", "--json")
    assert checked.returncode == 0
    found = document(checked)
    assert (found["accepted"], found["id"]) == (True, made["id"])
    assert (found["counts"]["prompts"], found["counts"]["responses"]) == (24, 48)


def test_a_refused_import_exits_1_and_lists_every_problem(demo_file: Path) -> None:
    lines = demo_file.read_text().splitlines()
    demo_file.write_text("\n".join([lines[0], "{", '{"prompt_id": "demo-02", "responses": [null, 1]}', *lines[3:]]))
    ended = import_demo(demo_file)
    assert ended.returncode == 1
    assert ended.stdout == ""
    for part in ("not JSON", "responses[0]", "responses[1]", "3 errors, 0 warnings", "was rejected: 3 problems"):
        assert part in ended.stderr
    assert not (demo_file.parent / "out").exists()

    ended = import_demo(demo_file, "--json")
    made = document(ended)
    assert ended.returncode == 1
    assert made["error"]["kind"] == "Rejected"
    assert [(p["row"], p["field"]) for p in made["problems"]] == [(2, None), (3, "responses[0]"), (3, "responses[1]")]
    assert (made["errors"], made["by_check"]) == (3, {"json": 3})
    assert sorted(path.name for path in demo_file.parent.iterdir()) == ["in.jsonl"]


@pytest.mark.parametrize(
    ("arguments", "kind", "message"),
    [
        (["validate", "nowhere"], "ConfigurationError", "there is no folder nowhere"),
        (["metrics", "baseline", "x", "--kind", "worst", "--out", "y"], "ConfigurationError", "no baseline 'worst'"),
        (["score", "nowhere"], "ConfigurationError", "there is no folder nowhere"),
        (["board", "export", "--results", "nowhere"], "ConfigurationError", "nowhere"),
    ],
    ids=lambda value: " ".join(value[:2]) if isinstance(value, list) else "",
)
def test_a_wrong_configuration_exits_2(
    arguments: list[str], kind: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ended = divbench(*arguments, "--json")
    made = document(ended)
    assert ended.returncode == 2
    assert made["error"]["kind"] == kind
    assert message in made["error"]["message"]
    assert made["error"]["hint"]
    assert message in ended.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_suite_without_a_mirror_exits_2_and_says_what_to_do(tmp_path: Path) -> None:
    folder = change_manifest(write_toy(tmp_path / "toy"), suite="noveltybench-curated")
    ended = divbench("validate", folder)
    assert ended.returncode == 2
    assert ended.stdout == ""
    assert "name that folder with --mirror (in Python, mirror=) or DIVBENCH_MIRROR" in ended.stderr


def test_the_datasets_are_listed_built_and_verified(tmp_path: Path) -> None:
    names = ["scenarios", "demo"]  # generated here: neither network nor mirror
    out = ["--out", str(tmp_path)]
    before = {row["name"]: row["built"] for row in document(divbench("data", "list", *out, "--json"))}
    assert set(before.values()) == {"no"}
    built = document(divbench("data", "build", *names, *out, "--json"))
    assert [manifest["config"] for manifest in built] == names
    after = {row["name"]: row["built"] for row in document(divbench("data", "list", *out, "--json"))}
    assert {name for name, state in after.items() if state == "yes"} == set(names)
    assert document(divbench("data", "verify", *names, *out, "--json")) == {name: [] for name in names}
    assert divbench("data", "verify", "mcdiv", *out).returncode == 1
    assert "DIVBENCH_HOME/built" in divbench("data", "build", "--help").stdout
    home = {"DIVBENCH_HOME": str(tmp_path / "home")}
    divbench("data", "build", "demo", "--out", str(tmp_path / "home" / "built"))
    assert divbench("data", "verify", "demo", **home).returncode == 0
    card = divbench("data", "card", *out)
    assert card.returncode == 0
    assert card.stdout.startswith("---\npretty_name: DivBench")
    assert document(divbench("data", "card", *out, "--json"))["card"] == card.stdout.removesuffix("\n")


def test_info_says_whence_a_dataset_comes_and_what_is_wrong_with_it() -> None:
    prompts = [json.loads(line) for line in divbench("data", "prompts", "demo").stdout.splitlines()]
    assert (len(prompts), prompts[0]["prompt_id"], list(prompts[0])) == (24, "demo-00", ["prompt_id", "prompt"])
    assert document(divbench("data", "prompts", "demo", "--json"))["prompts"] == prompts
    about = document(divbench("data", "info", "dectest", "--json"))
    assert about["splits"]["prompt_gen"] == 1000
    assert any("blank" in flaw for flaw in about["flaws"])
    assert {file["path"] for file in about["files"]} >= {"tevet/raw/decTest/dec_test_1000_no_hds_prompt_gen.csv"}
    shown = divbench("data", "info", "dectest").stdout
    assert "ten blank responses" in shown
    assert all(each["path"] in shown and each["sha256"] in shown for each in about["files"])


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


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["validate"], "Missing argument"),
        (["validate", "x", "--no-such-option"], "No such option: --no-such-option"),
        (["score", "x", "--k", "many"], "Invalid value for '--k'"),
        (["metrics", "no-such-command"], "No such command 'no-such-command'"),
    ],
)
def test_wrong_usage_is_a_document_for_programs(arguments: list[str], message: str) -> None:
    ended = divbench(*arguments, "--json")
    assert ended.returncode == 2
    assert document(ended)["error"]["message"].startswith(message)
    assert document(ended)["error"]["hint"]
    assert "Usage: divbench" in ended.stderr


def test_a_closed_stdout_is_no_crash(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    _prepare_streams()
    print_json({"any": "document"})
    sys.stdout.close()


@pytest.mark.parametrize("more", [("--out", "\udcc3\udcbc"), ("--out", "x", "--name", "\udcc3\udcbc")])
def test_words_that_the_locale_cannot_read_are_told_without_a_traceback(
    more: tuple[str, ...], demo_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ended = divbench("quick", demo_file, "--suite", "demo", "--no-board", *more)
    assert ended.returncode == 2
    assert "is not text in this locale's encoding" in ended.stderr
    assert "PYTHONUTF8=1" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_a_cache_that_may_not_be_written_says_how_to_name_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DIVBENCH_HOME", "/home/me/cache")
    for path in ("/home/me/cache/downloads", "/home/me"):
        told = _refused_by_system(PermissionError(errno.EACCES, "Permission denied", path))
        assert (told.message, "DIVBENCH_HOME" in told.hint) == (f"{path}: Permission denied", True)
    assert "DIVBENCH_HOME" not in _refused_by_system(PermissionError(errno.EACCES, "no", "/home/you")).hint


def test_a_rename_that_fails_names_the_file_that_was_asked_for() -> None:
    told = _refused_by_system(OSError(errno.EBUSY, "is in use", ".out.0123", None, "out"))
    assert told.message == "out: is in use"


def test_a_file_that_the_system_refuses_exits_2_with_its_name(tmp_path: Path, demo_file: Path) -> None:
    (tmp_path / "taken").write_text("a file")
    ended = divbench(
        "import", demo_file, "--from", "jsonl", "--suite", "demo", "--name", "n", "--submitter", "me",
        "--out", tmp_path / "taken" / "out", "--json",
    )  # fmt: skip
    assert ended.returncode == 2
    assert "taken" in document(ended)["error"]["message"]
    assert document(ended)["error"]["hint"] == "choose another name, or remove it"
    assert "Traceback" not in ended.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_a_full_disk_under_the_output_is_told_without_a_traceback(demo_file: Path) -> None:
    assert import_demo(demo_file).returncode == 0
    for more in ((), ("--json",)):
        with Path("/dev/full").open("wb") as full:
            ended = subprocess.run(
                [sys.executable, "-c", RUN, "validate", str(demo_file.parent / "out"), *more],
                stdout=full, stderr=subprocess.PIPE, encoding="utf-8", check=False,
            )  # fmt: skip
        assert ended.returncode == 2
        assert ended.stderr.splitlines()[0].startswith("error: No space left on device")
        assert "Traceback" not in ended.stderr


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


def test_a_board_over_a_folder_of_submissions_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "subs").mkdir()
    copyfile(TEXTS / "varied.jsonl", tmp_path / "subs" / "varied.jsonl")
    assert import_demo(tmp_path / "subs" / "varied.jsonl").returncode == 0
    for given, what in (
        (tmp_path / "subs", "a folder of 1 submission"),
        (tmp_path / "subs" / "out", "a submission"),
    ):
        for command in ("serve", "show"):
            ended = divbench("board", command, "--results", str(given))
            assert ended.returncode == 2
            assert f"{what}, not a results folder" in " ".join(ended.stderr.split())
            assert "divbench score" in ended.stderr


def test_the_address_of_the_source_code_is_one_that_was_given() -> None:
    pages = [Link("Models", "", GROUPS[0])]
    assert ">Code<" not in navigation(pages, "")  # the package's metadata have none
    given = navigation(pages, "", 'https://example.org/code?a="b')
    assert '<a href="https://example.org/code?a=&#34;b" rel="noopener">Code</a>' in given
    ended = divbench("board", "serve", "--repository", "javascript:alert(1)")
    assert ended.returncode == 2
    assert "begins with https://" in ended.stderr


def test_the_command_runs_as_a_module(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["divbench", "--version"])
    with pytest.raises(SystemExit):
        runpy.run_module("divbench", run_name="__main__")
    assert capsys.readouterr().out.strip() == version("divbench")
