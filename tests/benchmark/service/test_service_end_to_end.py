"""The whole way of a stranger's submission on a server of the Hub: proposed, taken, scored, shown, and read back."""

import json
from pathlib import Path
from typing import Any

import pytest

from benchmark.service.lease import MAX_DENIALS
from submissions.checking.validate import open_submission
from submissions.storage.submission_folders import Submission
from tests.conftest import divbench, document
from tests.hub import HubServer, client_environment, hub, run_client
from tests.submissions.working import demo

REPO = "alice/store"
STORE = f"hf://datasets/{REPO}"
SCORING = ("--profile", "lexical", "--metric", "unique_1grams", "--metric", "distinct_k")


class Person:
    """Somebody at a machine of their own, who knows the server for the Hub."""

    def __init__(self, server: HubServer, home: Path, user: str | None) -> None:
        token = server.tokens[user] if user else None
        made = client_environment(server, home / "hf", token)
        self.environment = {key: made[key] for key in made if key.startswith(("HF_", "HTTP", "NO_PROXY"))}
        self.environment |= {"HF_HUB_OFFLINE": "0", "DIVBENCH_HOME": str(home / "divbench")}

    def says(self, *arguments: object) -> Any:
        """What a command that ends well prints as JSON."""
        ended = divbench(*arguments, "--json", **self.environment)
        assert ended.returncode == 0, ended.stderr
        return document(ended)

    def works(self, *arguments: object) -> tuple[int, list[dict[str, Any]], str]:
        """How a worker ended: its status, what it told, and its words for people."""
        ended = divbench("submissions", "score", "--store", STORE, "--once", *SCORING, *arguments, **self.environment)
        return ended.returncode, [json.loads(line) for line in ended.stdout.splitlines()], ended.stderr


def told(events: list[dict[str, Any]]) -> list[str]:
    return [event["event"] for event in events]


def texts_of(folder: Path) -> tuple[Submission, list[tuple[str, str | None, tuple[str, ...]]]]:
    submission, _, _ = open_submission(folder)
    return submission, [(row.prompt_id, row.prompt, row.responses) for row in submission.rows()]


@pytest.fixture
def people(tmp_path: Path) -> Any:
    """The server, who runs the service, a stranger with a login, and anybody."""
    with hub() as server:
        server.add_repo(REPO)
        yield (server, *(Person(server, tmp_path / str(user), user) for user in ("alice", "bob", None)))


def test_from_a_proposal_to_the_board_and_back(tmp_path: Path, people: Any) -> None:
    server, alice, bob, anybody = people
    mine = demo(tmp_path / "mine", "bobs-system")
    submission, _ = texts_of(mine)

    proposed = bob.says("submit", mine, "--to", STORE, "--as-pull-request")
    assert proposed["id"] == submission.id
    assert proposed["pull_request"].endswith("/discussions/1")
    status, events, _ = alice.works()
    assert (status, told(events)) == (0, ["ended"])  # nobody has taken it yet
    merge = f"from huggingface_hub import HfApi; HfApi().merge_pull_request('{REPO}', 1, repo_type='dataset')"
    merged = run_client(merge, server, token=server.tokens["alice"])
    assert merged.returncode == 0, merged.stderr

    status, events, words = alice.works("--name", "w")
    assert status == 0, words
    assert told(events) == ["adopted", "claimed", "scored", "ended"]
    found = anybody.says("submissions", "status", submission.id, "--store", STORE)
    assert [(record["state"], record["by"]) for record in found["history"]] == [
        ("pending", "w"),
        ("claimed", "w"),
        ("scored", "w"),
    ]
    assert found["submitter"] == {"name": "tester", "verified": False}
    shown = divbench("submissions", "status", submission.id, "--store", STORE, **anybody.environment).stdout
    assert "submitted as a pull request" in shown

    command = ["hf", "download", REPO, "--repo-type", "dataset", "--include", "results/*", "--local-dir"]
    fetched = run_client([*command, str(tmp_path / "fetched")], server)
    assert fetched.returncode == 0, fetched.stderr
    results = tmp_path / "fetched" / "results"
    [board] = anybody.says("board", "show", "--results", results)
    [entry] = board["entries"]
    scored = anybody.says("score", mine, "--out", tmp_path / "by-hand", *SCORING)["results"][0]["result"]
    assert scored["result_id"] == events[2]["result"]
    values = {score["metric"]: score["value"] for score in scored["scores"]}
    assert {label: cell["value"] for label, cell in entry["scores"].items()} == values
    for made in (tmp_path / "by-hand" / scored["result_id"]).iterdir():
        assert (results / scored["result_id"] / made.name).read_bytes() == made.read_bytes()


def test_a_worker_that_may_not_write_ends_and_says_what_to_do(tmp_path: Path, people: Any) -> None:
    _, alice, bob, _ = people
    name = alice.says("submit", demo(tmp_path / "in", "system"), "--to", STORE)["id"]
    status, events, words = bob.works()
    assert (status, told(events)) == (2, ["waiting"] * (MAX_DENIALS - 1) + ["stopped"])  # one may be a Hub fault
    assert "may not be changed" in events[-1]["reason"]
    assert "hf auth login" in events[-1]["hint"]
    assert "Traceback" not in words
    assert [record["state"] for record in alice.says("submissions", "status", name, "--store", STORE)["history"]] == [
        "pending"
    ]
