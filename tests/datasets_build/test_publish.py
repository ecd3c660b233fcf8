"""Publishing to and pulling from a real Hub server on loopback, through our own commands and the real clients."""

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from datasets_build.build import build
from datasets_build.download import Fetcher
from datasets_build.load import load_table
from datasets_build.publish import publish as publish_to
from datasets_build.sources import find_config
from divbench.core.errors import ConfigurationError
from tests.hub import HubServer, client_says, hub, run_client

NAMES = ("gssbench", "gssbench_prompts", "scenarios", "demo")
REPO = "alice/divbench"
DIVBENCH = (sys.executable, "-c", "from divbench.command_line import main; main()")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What is generated here, built."""
    out = tmp_path_factory.mktemp("home") / "built"
    for name in NAMES:
        source, config = find_config(name)
        build(source, config, out, Fetcher(source, network=False))
    return out


@pytest.fixture
def server() -> Iterator[HubServer]:
    """An empty Hub with two users."""
    with hub() as running:
        yield running
        assert running.strange == []


@pytest.fixture(scope="module")
def publication(built: Path) -> Iterator[tuple[HubServer, Any]]:
    """A Hub that holds version 1.0.0, for tests that change nothing there; and what the command said."""
    with hub() as running:
        status, said, _ = publish(running, built)
        assert status == 0
        head = running.repo(REPO).head
        yield running, said
        assert running.repo(REPO).head == head
        assert running.strange == []


@pytest.fixture
def published(publication: tuple[HubServer, Any]) -> HubServer:
    """The Hub of `publication`."""
    return publication[0]


def divbench(server: HubServer, *arguments: str, home: Path, user: str | None = "alice") -> tuple[int, Any, str]:
    """Run a command against the server: exit status, what it printed as JSON, and stderr."""
    token = server.tokens[user] if user else None
    done = run_client([*DIVBENCH, *arguments, "--json"], server, token=token, env={"DIVBENCH_HOME": str(home)})
    assert "Traceback" not in done.stderr, done.stderr
    return done.returncode, json.loads(done.stdout), done.stderr


def publish(server: HubServer, built: Path, *more: str, user: str | None = "alice") -> tuple[int, Any, str]:
    return divbench(server, "data", "publish", REPO, *more, home=built.parent, user=user)


def test_one_commit_and_a_tag_hold_all_files(publication: tuple[HubServer, Any], built: Path) -> None:
    server, said = publication
    repo = server.repo(REPO)
    assert said == {"repo": REPO, "commit": repo.head, "tag": "v1.0.0", "changed": True, "removed": []}
    assert repo.tags == {"v1.0.0": repo.head}
    before = len([1 for commit in repo.history() if commit.title == "Datasets v1.0.0"])
    assert before == 1
    files = repo.files()
    for name in NAMES:
        for path in (built / "data" / name).iterdir():
            assert files[f"data/{name}/{path.name}"] == path.read_bytes()
    assert b"default: true" in files["README.md"]


def test_publishing_again_does_nothing_and_a_moved_tag_is_refused(server: HubServer, built: Path) -> None:
    publish(server, built)
    head = server.repo(REPO).head
    again = {"repo": REPO, "commit": head, "tag": "v1.0.0", "changed": False, "removed": []}
    assert publish(server, built)[1] == again
    status, said, _ = publish(server, built, "demo")
    assert status == 2
    assert "the tag v1.0.0 of alice/divbench names another version" in said["error"]["message"]
    assert server.repo(REPO).head == head  # refused before anything was committed
    status, said, _ = publish(server, built, "demo", "--tag", "v2.0.0")
    assert status == 0
    assert said["removed"] == ["gssbench", "gssbench_prompts", "scenarios"]
    assert sorted(name for name in server.repo(REPO).files() if name.startswith("data/")) == [
        "data/demo/manifest.json",
        "data/demo/prompts.parquet",
    ]
    assert any(name.startswith("data/gssbench") for name in server.repo(REPO).files("v1.0.0"))


def test_plain_datasets_gives_rows_and_types_equal_to_the_build(published: HubServer, built: Path) -> None:
    names = {"gssbench": "subset", "gssbench_prompts": "prompts", "scenarios": "mode_count", "demo": "prompts"}
    found = client_says(
        f"""
        import json
        from datasets import load_dataset
        found = {{}}
        for name, split in {names}.items():
            whole = load_dataset("{REPO}", name, split=split, revision="v1.0.0")
            streamed = load_dataset("{REPO}", name, split=split, revision="v1.0.0", streaming=True)
            assert whole.to_list() == list(streamed)
            schema = whole.data.schema.remove_metadata()
            found[name] = {{"rows": whole.to_list(), "types": {{field.name: str(field.type) for field in schema}}}}
        print(json.dumps(found))
        """,
        published,
    )
    for name, split in names.items():
        table = load_table(name, split, data=built)
        assert found[name]["rows"] == table.to_pylist()
        types = {field.name: str(field.type) for field in table.schema if not pa.types.is_list(field.type)}
        assert types.items() <= found[name]["types"].items()
    assert found["gssbench"]["types"]["a_size"] == "int32"


def test_a_pulled_repository_is_the_build(published: HubServer, built: Path, tmp_path: Path) -> None:
    status, said, _ = divbench(published, "data", "pull", f"{REPO}@v1.0.0", home=tmp_path, user=None)
    assert status == 0
    assert said["configs"] == sorted(NAMES)
    for name in NAMES:
        for path in (built / "data" / name).iterdir():
            assert (tmp_path / "built" / "data" / name / path.name).read_bytes() == path.read_bytes()
    status, said, _ = divbench(published, "data", "verify", *NAMES, home=tmp_path)
    assert (status, set(map(len, said.values()))) == (0, {0})


def test_a_lost_race_is_run_again_on_the_new_head(server: HubServer, built: Path) -> None:
    publish(server, built, "demo")
    rival = server.faults.meanwhile(lambda: server.repo(REPO).commit({"NOTES.md": b"a rival's"}), on="commit")
    status, said, _ = publish(server, built, "--tag", "v2.0.0")
    assert rival.met == 1
    assert (status, said["changed"]) == (0, True)
    files = server.repo(REPO).files()
    assert files["NOTES.md"] == b"a rival's"
    assert "data/gssbench/union.parquet" in files
    assert server.repo(REPO).tags["v2.0.0"] == server.repo(REPO).head


@pytest.mark.parametrize(
    "fault",
    [
        lambda server: server.faults.cut_upload(100, on="storage_put"),
        lambda server: server.faults.limit(0, on="lfs_batch"),
    ],
    ids=["cut in the middle", "429"],
)
def test_a_failing_hub_leaves_nothing_half_published(fault: Any, server: HubServer, built: Path) -> None:
    trouble = fault(server)
    status, _, _ = publish(server, built)
    assert trouble.met == 1
    if status != 0:  # the client gave up: then nothing of it may show, and a second call must repair it
        assert not any(name.startswith("data/") for name in server.repo(REPO).files())
        status, _, _ = publish(server, built)
    assert status == 0
    assert server.repo(REPO).tags["v1.0.0"] == server.repo(REPO).head


def test_a_commit_whose_response_is_lost_is_found_and_not_sent_again(server: HubServer, built: Path) -> None:
    lost = server.faults.lose_answer(on="commit")
    status, said, _ = publish(server, built)
    assert lost.met == 1
    repo = server.repo(REPO)
    assert (status, said["changed"], said["commit"]) == (0, True, repo.head)
    assert [commit.title for commit in repo.history()].count("Datasets v1.0.0") == 1
    assert repo.tags == {"v1.0.0": repo.head}


def test_without_the_right_to_write_it_is_refused_with_a_hint(published: HubServer, built: Path) -> None:
    head = published.repo(REPO).head
    for user in (None, "alice:read", "bob"):
        status, said, _ = publish(published, built, "demo", "--tag", "v2.0.0", user=user)
        assert status == 2
        assert "hf auth login" in said["error"]["hint"]
        assert published.repo(REPO).head == head


@pytest.mark.parametrize(
    ("repo", "tag"),
    [
        *((repo, "v1.0.0") for repo in ("not a repo", "divbench", "org/a/b")),
        *((REPO, tag) for tag in ("v 1", "", "-v1", "v1..2", "a//b", "v1.lock")),
    ],
)
def test_names_that_the_hub_would_refuse_are_refused_before_anything_is_sent(built: Path, repo: str, tag: str) -> None:
    with pytest.raises(ConfigurationError, match=re.escape(repr(tag)) if repo == REPO else "ORG/NAME"):
        publish_to(built, ["demo"], repo, tag)  # without a server: it would be reached at once


def test_missing_repositories_and_builds_are_named(published: HubServer, built: Path, tmp_path: Path) -> None:
    published.add_repo("alice/other", {"README.md": b"# Something else\n"})
    for name in ("alice/other", "alice/nothing", f"{REPO}@v9"):
        status, said, _ = divbench(published, "data", "pull", name, home=tmp_path, user=None)
        assert status == 2
        assert name.partition("@")[0] in said["error"]["message"]
    assert not (tmp_path / "built").exists()
    status, said, _ = publish(published, tmp_path / "built")
    assert status == 2
    assert "nothing is built" in said["error"]["message"]
    status, said, _ = publish(published, built, "mcdiv", "--tag", "v2")
    assert status == 1
    assert "mcdiv is not built" in said["error"]["message"]


def test_a_config_missing_from_a_repository_is_named(published: HubServer) -> None:
    said = client_says(
        f"""
        import json
        from divbench.core.errors import ConfigurationError
        from datasets_build.load import load_split
        assert len(load_split("demo", "prompts", repo="{REPO}", revision="v1.0.0")) == 24
        try:
            load_split("mcdiv", "story_gen", repo="{REPO}", revision="v1.0.0")
        except ConfigurationError as error:
            print(json.dumps(str(error)))
        """,
        published,
    )
    assert "alice/divbench at v1.0.0 has no mcdiv/story_gen" in said
