"""`divbench submit`, `status` and `submissions` from the outside, on a folder and on a server of the Hub."""

import re
import shutil
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from submissions.demo.build import write_demo_submissions
from submissions.storage.commits import NoWriteAccess
from submissions.storage.folder_store import FolderStore
from submissions.work_queue import commands
from submissions.work_queue.operations import claim, fail, finish, reject, submit
from submissions.work_queue.printing import duration_text, print_receipt
from submissions.work_queue.schema import Claim, Identity
from tests.cases import each
from tests.conftest import divbench, document, import_demo, write_toy
from tests.hub import HubServer, client_environment, hub
from tests.submissions.conftest import change_manifest
from tests.submissions.queueing import ERROR, HOUR, as_file, result

UNKNOWN = "0" * 16


@pytest.fixture(scope="module")
def demos(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Submissions that the package carries the suite of."""
    return write_demo_submissions(tmp_path_factory.mktemp("demos"))


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "store"


def handed_in(store: Path, *folders: Path) -> list[str]:
    """Submissions handed in one after the other, by their ids."""
    opened, by = FolderStore(store), Identity(name="DivBench")
    now = datetime.now(UTC)
    receipts = [submit(opened, folder, by, now + timedelta(seconds=i + 1)) for i, folder in enumerate(folders)]
    return [receipt.state.submission_id for receipt in receipts]


def claimed(store: Path) -> tuple[FolderStore, Claim, datetime]:
    opened, now = FolderStore(store), datetime.now(UTC)
    made = claim(opened, "[bold]worker", HOUR, now, "offline")
    assert made is not None
    return opened, made, now


def test_from_handing_in_to_results(tmp_path: Path, store: Path, demos: list[Path]) -> None:
    ended = divbench("submit", demos[0], "--to", store)
    assert (ended.returncode, ended.stderr) == (0, "")
    first, place, follow = ended.stdout.splitlines()
    name = first.removeprefix("Submitted: varied as ")
    assert place == "  number 1 of 1 waiting, 0 being scored"
    assert follow == f"Follow it: divbench submissions status {name} --store {store}"

    ended = divbench("submit", demos[0], "--to", store, "--submitter", "somebody else")
    assert ended.returncode == 0
    assert f"varied was already submitted as {name} on 20" in ended.stdout
    assert "UTC and is pending. Nothing was changed." in ended.stdout
    handed_in(store, demos[1])

    found = document(divbench("submissions", "status", name, "--store", store, "--json"))
    assert (found["state"], found["waits"], found["submitter"]) == (
        "pending",
        True,
        {"name": "DivBench", "verified": False},
    )
    assert found["queue_position"] == {"position": 1, "waiting": 2, "claimed": 0, "worker_seen": None}
    shown = divbench("submissions", "status", name, "--store", store).stdout
    assert "pending: number 1 of 2 waiting, 0 being scored" in shown
    assert "no worker has been seen yet" in shown

    opened, made, now = claimed(store)
    shown = divbench("submissions", "status", name, "--store", store).stdout
    assert "[bold]worker" in shown
    assert "a worker was last seen " in shown
    finish(opened, made, result(tmp_path, "a" * 16), now)

    found = document(divbench("submissions", "status", name, "--store", store, "--json"))
    assert [record["state"] for record in found["history"]] == ["pending", "claimed", "scored"]
    assert found["results"] == [f"results/{'a' * 16}/result.json", f"results/{'a' * 16}/per_prompt.parquet"]
    assert found["files"] == [f"submissions/{name}/generations.parquet", f"submissions/{name}/manifest.json"]
    shown = divbench("submissions", "status", name, "--store", store).stdout
    assert f"  results/{'a' * 16}/result.json\n" in shown
    assert "varied" in shown
    assert f"In {store}:" in shown


def test_a_list_has_all_with_state_age_and_submitter(store: Path, demos: list[Path]) -> None:
    ended = divbench("submissions", "list", "--store", store)  # its name may be misspelt
    assert (ended.returncode, ended.stdout) == (2, "")
    assert f"there is no folder {store} (give the folder of a store" in ended.stderr
    store.mkdir()
    ended = divbench("submissions", "list", "--store", store)
    assert (ended.returncode, ended.stdout) == (0, f"there are no submissions in {store}\n")
    names = handed_in(store, *demos[:2])
    claimed(store)
    ended = divbench("submissions", "list", "--store", store)
    assert ended.returncode == 0
    rows = [line for line in ended.stdout.splitlines() if any(name in line for name in names)]
    assert [("claimed" in row, "DivBench (not verified)" in row, " s " in row) for row in rows] == [
        (True, True, True),
        (False, True, True),
    ]
    found = document(divbench("submissions", "list", "--store", store, "--json"))
    assert [state["submission_id"] for state in found["submissions"]] == names
    assert found["damaged"] == []
    narrow = divbench("submissions", "list", "--store", store, COLUMNS="70")
    assert all(name in narrow.stdout for name in names)


def test_a_rejected_folder_is_not_sent(tmp_path: Path, store: Path, demos: list[Path]) -> None:
    folder = change_manifest(write_toy(tmp_path / "toy"), suite="demo")
    ended = divbench("submit", folder, "--to", store, "--json")
    assert ended.returncode == 1
    made = document(ended)
    assert made["error"]["kind"] == "Rejected"
    assert made["errors"] > 0
    assert not store.exists()
    ended = divbench("submit", change_manifest(folder, more=1), "--to", store)
    assert ended.returncode == 1
    assert "unknown field" in ended.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["submissions", "status", UNKNOWN, "--store", "STORE"], f"has no submission {UNKNOWN}"),
        (["submissions", "status", "\x1b[31m", "--store", "STORE"], r"'\\x1b[31m' is not a submission id"),
        (["submissions", "status", UNKNOWN, "--store", "ftp://x"], "is not a store"),
        (["submissions", "withdraw", UNKNOWN, "--store", "STORE", "--submitter", "me"], f"has no submission {UNKNOWN}"),
        (["submissions", "withdraw", UNKNOWN, "--store", "STORE"], "Missing option '--submitter'"),
        (["submit", "DEMO", "--to", "STORE", "--as-pull-request"], "takes no pull requests"),
        (["submit", "DEMO", "--to", "STORE", "--submitter", "a\nb"], "invalid name"),
        (["submit", "nowhere", "--to", "STORE"], "there is no folder nowhere"),
    ],
)
def test_wrong_usage_exits_2_and_says_why(store: Path, demos: list[Path], arguments: list[str], message: str) -> None:
    known = {"STORE": str(store), "DEMO": str(demos[0])}
    store.mkdir()
    ended = divbench(*(known.get(word, word) for word in arguments))
    assert ended.returncode == 2
    assert message in ended.stderr
    assert "Traceback" not in ended.stderr
    assert "\x1b" not in ended.stderr
    assert not any(store.iterdir())


def test_what_rejected_it_and_how_it_failed_is_shown(store: Path, demos: list[Path]) -> None:
    (name,) = handed_in(store, demos[0])
    opened, made, now = claimed(store)
    fail(opened, made, "Traceback:\n  in [red]f\nValueError: no", now)
    opened, made, now = claimed(store)
    reject(opened, made, [ERROR], now)
    ended = divbench("submissions", "status", name, "--store", store)
    assert ended.returncode == 0
    assert "The end of the log of attempt 1:\n  Traceback:\n    in [red]f\n  ValueError: no\n" in ended.stdout
    assert "attempt 1 failed: ValueError: no" in ended.stdout
    assert "1 problem, the first: wrong" in ended.stdout
    assert "give k responses" in ended.stdout
    found = document(divbench("submissions", "status", name, "--store", store, "--json"))
    assert found["history"][-1]["problems"][0]["row"] == 3
    assert found["history"][2]["log"][-1] == "ValueError: no"


def test_names_of_strangers_are_no_markup(tmp_path: Path, store: Path, demos: list[Path]) -> None:
    folder = write_demo_submissions(tmp_path / "demos")[0]
    evil = "[link=file:///etc/passwd]:smile: =cmd|'x'[/link]"
    change_manifest(folder, name=evil)
    ended = divbench("submit", folder, "--to", store, "--submitter", "[red]eve[/red]")
    assert ended.returncode == 0
    assert evil in ended.stdout
    name = document(divbench("submissions", "list", "--store", store, "--json"))["submissions"][0]["submission_id"]
    for words in (["submissions", "list"], ["submissions", "status", name]):
        ended = divbench(*words, "--store", store)
        assert evil in ended.stdout
        assert "[red]eve[/red] (not verified)" in ended.stdout
    handed_in(store, demos[0])
    twin = divbench("submit", demos[0], "--to", store)
    assert f"the store already has the same generations: {evil}, {name}" in twin.stderr


def test_only_its_submitter_or_an_operator_withdraws(tmp_path: Path, store: Path, demos: list[Path]) -> None:
    first, second = handed_in(store, *demos[:2])
    words = ("submissions", "withdraw", first, "--store", store, "--submitter")
    ended = divbench(*words, "me", "--json")
    assert ended.returncode == 2
    assert document(ended)["error"]["kind"] == "NotAllowed"
    ended = divbench(*words, "DivBench", "--reason", "wrong\nfile")
    assert (ended.returncode, ended.stdout) == (0, f"{first} is withdrawn\n")
    ended = divbench(*words, "DivBench")
    assert ended.returncode == 2
    assert re.search(rf"{first} was already withdrawn, on 20\S+ \S+ UTC by DivBench", ended.stderr)
    ended = divbench("submit", demos[0], "--to", store)
    assert "is withdrawn. Nothing was changed.\n  To submit these responses again, change the manifest" in ended.stdout
    changed = shutil.copytree(demos[0], tmp_path / "changed")
    change_manifest(changed, notes="again")
    assert handed_in(store, changed) != [first]
    other = ("submissions", "withdraw", second, "--store", store, "--submitter", "me", "--operator", "--json")
    made = document(divbench(*other))
    assert (made["state"], made["history"][-1]["reason"]) == ("withdrawn", "by the operator: no reason given")
    assert "wrong file" in divbench("submissions", "status", first, "--store", store).stdout


def test_what_is_withdrawn_is_no_more_shown_and_its_results_leave_their_own_store(
    tmp_path: Path, store: Path, demos: list[Path]
) -> None:
    (name,) = handed_in(store, demos[0])
    opened, made, now = claimed(store)
    apart = FolderStore(tmp_path / "results")
    finish(opened, made, result(tmp_path / "made", "a" * 16), now, results_store=apart)
    words = ("submissions", "withdraw", name, "--store", store, "--submitter", "DivBench")
    missed = "had none of its results: if another store has, repeat this with --results-store"
    assert missed in divbench(*words).stderr
    ended = divbench(*words, "--results-store", apart.folder)
    assert (ended.returncode, missed in ended.stderr) == (0, False)
    assert apart.paths(apart.head()) == []
    found = document(divbench("submissions", "status", name, "--store", store, "--json"))
    assert (found["state"], found["files"], found["results"]) == ("withdrawn", [], [])


def test_files_that_no_worker_has_queued_are_told_from_an_unknown_submission(store: Path, demos: list[Path]) -> None:
    handed_in(store, demos[0])
    opened = FolderStore(store)
    opened.commit(opened.head(), {f"submissions/{UNKNOWN}/manifest.json": b"{}"}, (), "merged")
    ended = divbench("submissions", "status", UNKNOWN, "--store", store)
    assert ended.returncode == 2
    assert f"has files of {UNKNOWN}, but no worker has queued it" in ended.stderr


def test_who_runs_the_service_has_it_tried_again(store: Path, demos: list[Path]) -> None:
    (name,) = handed_in(store, demos[0])
    words = ("submissions", "retry", name, "--store", store)
    ended = divbench(*words)
    assert (ended.returncode, "Missing option '--by'" in ended.stderr) == (2, True)
    ended = divbench(*words, "--by", "ann", "--json")
    assert (ended.returncode, document(ended)["error"]["kind"]) == (2, "IllegalTransition")
    opened, made, now = claimed(store)
    reject(opened, made, [ERROR], now)
    ended = divbench(*words, "--by", "ann", "--reason", "the check was [red]wrong")
    assert (ended.returncode, ended.stdout) == (0, f"{name} is pending again\n")
    shown = divbench("submissions", "status", name, "--store", store).stdout
    assert "pending: number 1 of 1 waiting" in shown
    assert "retry: the check was [red]wrong" in shown
    assert "1 problem, the first: wrong" in shown
    assert divbench(*words, "--by", "two\nlines").returncode == 2


def test_a_damaged_state_exits_1_and_the_others_are_shown(store: Path, demos: list[Path]) -> None:
    (name,) = handed_in(store, demos[0])
    opened = FolderStore(store)
    wrong = as_file(name="\x1b[31mred")
    opened.commit(opened.head(), {f"states/{UNKNOWN}.json": wrong}, (), "by hand")
    for words in (["submissions", "list"], ["submissions", "list", "--json"]):
        ended = divbench(*words, "--store", store)
        assert ended.returncode == 1
        assert f"left out states/{UNKNOWN}.json: name: " in ended.stderr
        assert name in ended.stdout
        assert "\x1b" not in ended.stdout + ended.stderr
    for words in (["submissions", "status", UNKNOWN],):
        ended = divbench(*words, "--store", store, "--json")
        assert ended.returncode == 1
        assert document(ended)["error"]["kind"] == "DamagedState"
    assert divbench("submissions", "status", name, "--store", store).returncode == 0


def test_warnings_are_counted(tmp_path: Path, store: Path, demo_file: Path) -> None:
    demo_file.write_text(demo_file.read_text().replace('"a 3"', '"[Blocked]"'))
    assert import_demo(demo_file).returncode == 0
    ended = divbench("submit", tmp_path / "out", "--to", store)
    assert ended.returncode == 0
    assert f"1 warning: see divbench validate {tmp_path / 'out'}" in ended.stderr


def on_hub(server: HubServer, home: Path, user: str | None) -> dict[str, str]:
    """What the command's environment needs to take a server for the Hub, as a user."""
    made = client_environment(server, home / "hf", server.tokens[user] if user else None)
    return {key: made[key] for key in made if key.startswith(("HF_", "HTTP", "NO_PROXY"))} | {"HF_HUB_OFFLINE": "0"}


def test_on_the_hub_who_may_not_write_proposes(tmp_path: Path, demos: list[Path]) -> None:
    with hub() as server:
        server.add_repo("alice/store")
        alice, bob, anybody = (on_hub(server, tmp_path, user) for user in ("alice", "bob", None))
        ended = divbench("submit", demos[0], "--to", "hf://datasets/alice/store", **bob)
        assert ended.returncode == 2
        assert "propose it with --as-pull-request" in ended.stderr
        ended = divbench("submit", demos[0], "--to", "hf://datasets/alice/store", "--as-pull-request", "--json", **bob)
        assert ended.returncode == 0, ended.stderr
        proposed: dict[str, Any] = document(ended)
        assert proposed["new"]
        assert "/discussions/1" in proposed["pull_request"]
        assert document(
            divbench("submissions", "list", "--store", "hf://datasets/alice/store", "--json", **anybody)
        ) == {
            "submissions": [],
            "damaged": [],
        }
        ended = divbench("submit", demos[0], "--to", "hf://datasets/alice/store", "--json", **alice)
        assert ended.returncode == 0, ended.stderr
        assert document(ended)["id"] == proposed["id"]
        found = document(
            divbench(
                "submissions", "status", proposed["id"], "--store", "hf://datasets/alice/store", "--json", **anybody
            )
        )
        assert (found["state"], found["queue_position"]["position"]) == ("pending", 1)


@each(
    ("span", "shown"),
    [(-5, "0 s"), (119, "119 s"), (120, "2 min"), (7199, "119 min"), (7200, "2 h"), (172800, "2 days")],
)
def test_ages_are_in_one_unit(span: int, shown: str) -> None:
    assert duration_text(timedelta(seconds=span)) == shown


def test_a_proposal_can_be_followed_only_once_it_is_merged(store: Path, demos: list[Path]) -> None:
    receipt = submit(FolderStore(store), demos[0], Identity(name="me"), datetime.now(UTC))
    said = StringIO()
    print_receipt(replace(receipt, address="https://hub/1"), None, demos[0], "hf://x", Console(file=said), Console())
    first, merged, follow = said.getvalue().splitlines()
    assert first.startswith("Proposed: varied as ")
    assert merged == "Waiting to be merged: https://hub/1"
    assert follow.startswith("Follow it once it is merged and a worker has found it: divbench submissions status ")


def test_a_folder_that_denies_writing_gets_no_hint_for_the_hub(
    demos: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def denied(*_: object) -> str:
        raise NoWriteAccess("objects: Permission denied", "grant this user access, then retry")

    monkeypatch.setattr(FolderStore, "commit", denied)
    with pytest.raises(NoWriteAccess) as caught:
        commands.submit(demos[0], to=str(tmp_path / "store"))
    assert caught.value.hint == "grant this user access, then retry"
