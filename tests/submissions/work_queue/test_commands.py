"""`divbench submit` and `divbench submissions`, on a folder and on a server of the Hub."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from submissions.gaming.baselines import write_demo_submissions
from submissions.storage.file_store import FolderStore
from submissions.work_queue.operations import claim, fail, finish, reject, submit
from submissions.work_queue.schema import Claim, Identity
from tests.conftest import divbench, document, write_toy
from tests.hub import HubServer, client_environment, hub
from tests.submissions.conftest import change_manifest
from tests.submissions.queueing import ERROR, HOUR, as_file, result

UNKNOWN = "0" * 16


@pytest.fixture(scope="module")
def demos(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return write_demo_submissions(tmp_path_factory.mktemp("demos"))


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "store"


def submitted(store: Path, *folders: Path) -> list[str]:
    """Submit folders one after the other; return their ids."""
    opened, by, now = FolderStore(store), Identity(name="DivBench"), datetime.now(UTC)
    receipts = [submit(opened, folder, by, now + timedelta(seconds=i)) for i, folder in enumerate(folders, start=1)]
    return [receipt.state.submission_id for receipt in receipts]


def claimed(store: Path) -> tuple[FolderStore, Claim, datetime]:
    opened, now = FolderStore(store), datetime.now(UTC) + timedelta(seconds=9)
    made = claim(opened, "[bold]worker", HOUR, now, "offline")
    assert made is not None
    return opened, made, now


def status(store: Path, name: str) -> str:
    ended = divbench("submissions", "status", name, "--store", store)
    assert ended.returncode == 0, ended.stderr
    return str(ended.stdout)


def test_from_submission_to_results(tmp_path: Path, store: Path, demos: list[Path]) -> None:
    ended = divbench("submit", demos[0], "--to", store)
    assert (ended.returncode, ended.stderr) == (0, "")
    first, position, follow = ended.stdout.splitlines()
    name = first.removeprefix("Submitted: varied as ")
    assert position == "  number 1 of 1 waiting, 0 being scored"
    assert follow == f"Follow it: divbench submissions status {name} --store {store}"
    ended = divbench("submit", demos[0], "--to", store)
    assert f"varied was already submitted as {name} on 20" in ended.stdout
    assert "UTC and is pending. Nothing was changed." in ended.stdout
    submitted(store, demos[1])
    assert "pending: number 1 of 2 waiting, 0 being scored\nno worker has been seen yet" in status(store, name)
    opened, made, now = claimed(store)
    assert "[bold]worker" in status(store, name)
    finish(opened, made, result(tmp_path, "a" * 16), now)
    report = document(divbench("submissions", "status", name, "--store", store, "--json"))
    assert [record["state"] for record in report["history"]] == ["pending", "claimed", "scored"]
    assert report["results"] == [f"results/{'a' * 16}/result.json", f"results/{'a' * 16}/per_prompt.parquet"]
    assert report["files"] == [f"submissions/{name}/generations.parquet", f"submissions/{name}/manifest.json"]
    assert f"  results/{'a' * 16}/result.json\n" in status(store, name)


def test_submissions_are_listed_with_damaged_states_left_out(store: Path, demos: list[Path]) -> None:
    store.mkdir()
    ended = divbench("submissions", "list", "--store", store)
    assert (ended.returncode, ended.stdout) == (0, f"there are no submissions in {store}\n")
    names = submitted(store, *demos[:2])
    ended = divbench("submissions", "list", "--store", store)
    assert ended.returncode == 0
    rows = [line for line in ended.stdout.splitlines() if any(name in line for name in names)]
    assert [("pending" in row, "DivBench (not verified)" in row) for row in rows] == [(True, True)] * 2
    opened = FolderStore(store)
    opened.commit(opened.head(), {f"states/{UNKNOWN}.json": as_file(name="\x1b[31mred")}, (), "by hand")
    ended = divbench("submissions", "list", "--store", store, "--json")
    assert ended.returncode == 1
    assert f"left out states/{UNKNOWN}.json: name: " in ended.stderr
    assert [state["submission_id"] for state in document(ended)["submissions"]] == names
    assert "\x1b" not in ended.stdout + ended.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["submissions", "status", UNKNOWN, "--store", "STORE"], 2, f"has no submission {UNKNOWN}"),
        (["submissions", "status", "\x1b[31m", "--store", "STORE"], 2, r"'\\x1b[31m' is not a submission id"),
        (["submissions", "list", "--store", "ftp://x"], 2, "is not a store"),
        (["submissions", "list", "--store", "nowhere"], 2, "there is no folder nowhere (give the folder of a store"),
        (["submissions", "withdraw", UNKNOWN, "--store", "STORE", "--submitter", "a\nb"], 2, "invalid name"),
        (["submissions", "retry", UNKNOWN, "--store", "STORE", "--by", "ann"], 2, f"has no submission {UNKNOWN}"),
        (["submit", "DEMO", "--to", "STORE", "--as-pull-request"], 2, "takes no pull requests"),
        (["submit", "TOY", "--to", "STORE"], 1, "no responses to 24 of 24 prompts"),
    ],
)
def test_what_cannot_be_done_is_said_and_changes_nothing(
    tmp_path: Path, store: Path, demos: list[Path], arguments: list[str], code: int, message: str
) -> None:
    toy = change_manifest(write_toy(tmp_path / "toy"), suite="demo")
    folders = {"STORE": str(store), "DEMO": str(demos[0]), "TOY": str(toy)}
    store.mkdir()
    ended = divbench(*(folders.get(word, word) for word in arguments))
    assert ended.returncode == code
    assert message in " ".join(ended.stderr.split())
    assert "\x1b" not in ended.stderr
    assert not any(store.iterdir())


def test_a_failure_and_a_rejection_are_shown_and_can_be_retried(store: Path, demos: list[Path]) -> None:
    (name,) = submitted(store, demos[0])
    opened, made, now = claimed(store)
    fail(opened, made, "Traceback:\n  in [red]f\nValueError: no", now)
    opened, made, now = claimed(store)
    reject(opened, made, [ERROR], now)
    shown = status(store, name)
    assert "The end of the log of attempt 1:\n  Traceback:\n    in [red]f\n  ValueError: no\n" in shown
    assert "attempt 1 failed: ValueError: no" in shown
    assert "1 problem, the first: wrong" in shown
    assert "give k responses" in shown
    ended = divbench(
        "submissions", "retry", name, "--store", store, "--by", "ann", "--reason", "the check was [red]wrong"
    )
    assert (ended.returncode, ended.stdout) == (0, f"{name} is pending again\n")
    shown = status(store, name)
    assert "pending: number 1 of 1 waiting" in shown
    assert "retry: the check was [red]wrong" in shown


def test_names_of_systems_are_no_markup(tmp_path: Path, store: Path, demos: list[Path]) -> None:
    evil = "[link=file:///etc/passwd]:smile: =cmd|'x'[/link]"
    folder = change_manifest(write_demo_submissions(tmp_path / "demos")[0], name=evil)
    ended = divbench("submit", folder, "--to", store)
    assert ended.returncode == 0
    assert evil in ended.stdout
    assert evil in divbench("submissions", "list", "--store", store).stdout
    twin = divbench("submit", demos[0], "--to", store)
    assert f"the store already has the same generations: {evil}, " in twin.stderr


def test_a_submission_is_withdrawn_with_its_results(tmp_path: Path, store: Path, demos: list[Path]) -> None:
    (name,) = submitted(store, demos[0])
    opened, made, now = claimed(store)
    apart = FolderStore(tmp_path / "results")
    finish(opened, made, result(tmp_path / "made", "a" * 16), now, results_store=apart)
    words = ("submissions", "withdraw", name, "--store", store, "--submitter")
    assert f"{name} is not me's to withdraw" in divbench(*words, "me").stderr
    missed = "had none of its results: if another store has, repeat this with --results-store"
    ended = divbench(*words, "me", "--operator")
    assert (ended.returncode, ended.stdout) == (0, f"{name} is withdrawn\n")
    assert missed in ended.stderr
    ended = divbench(*words, "DivBench", "--results-store", apart.folder)
    assert (ended.returncode, missed in ended.stderr) == (0, False)
    assert apart.paths(apart.head()) == []
    assert "is withdrawn. Nothing was changed." in divbench("submit", demos[0], "--to", store).stdout


def on_hub(server: HubServer, home: Path, user: str) -> dict[str, str]:
    """The environment in which the command takes a server for the Hub, as a user."""
    variables = client_environment(server, home / "hf", server.tokens[user])
    hub_variables = {key: variables[key] for key in variables if key.startswith(("HF_", "HTTP", "NO_PROXY"))}
    return hub_variables | {"HF_HUB_OFFLINE": "0"}


def test_without_write_access_a_pull_request_is_proposed(tmp_path: Path, demos: list[Path]) -> None:
    with hub() as server:
        server.add_repo("alice/store")
        words = ("submit", demos[0], "--to", "hf://datasets/alice/store")
        bob = on_hub(server, tmp_path, "bob")
        ended = divbench(*words, **bob)
        assert ended.returncode == 2
        assert "propose it with --as-pull-request" in ended.stderr
        proposed = document(divbench(*words, "--as-pull-request", "--json", **bob))
        assert proposed["new"]
        assert "/discussions/1" in proposed["pull_request"]
        server.repo("alice/store").merge(1, "alice")
        ended = divbench("submissions", "status", proposed["id"], "--store", "hf://datasets/alice/store", **bob)
        assert ended.returncode == 2
        assert f"has files of {proposed['id']}, but no worker has queued it" in " ".join(ended.stderr.split())
