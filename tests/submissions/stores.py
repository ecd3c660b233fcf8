"""Stores for tests: in a folder, and on a server of the Hub on loopback, asked from this process or from others."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from submissions.storage.file_store import FileStore, FolderStore
from submissions.storage.hub_store import HubStore
from tests.forked import Forked, of_module
from tests.hub import HubServer, client_environment, hub
from tests.hub.server import Handler

REPO = "alice/store"


@dataclass(frozen=True)
class Place:
    """Where a store lies.

    Attributes:
        text: What `open_store` takes.
        home: A folder for what its users keep.
        server: Of the Hub, where it lies there.
    """

    text: str
    home: Path
    server: HubServer | None = None

    def open(self) -> FileStore:
        """The store, as one of several users has it."""
        if self.server is None:
            return FolderStore(Path(self.text))
        return hub_store(self.server, self.home)

    def run(self, *arguments: object) -> Forked:
        """`run_store` on the store, in a process of its own."""
        environment = dict(os.environ)
        if self.server is not None:
            environment = client_environment(self.server, self.home / "hf", self.server.tokens["alice"])
        return Forked(of_module("tests.submissions.run_store"), [self.text, *arguments], environment)


def hub_store(server: HubServer, home: Path, user: str | None = "alice", prefix: str = "") -> HubStore:
    """The store in `REPO`, as a user has it."""
    token = server.tokens[user] if user else None
    return HubStore(REPO, prefix=prefix, token=token, endpoint=server.url, cache=home / "kept")


@contextmanager
def running_hub(home: Path, page: int = 1000) -> Iterator[HubServer]:
    """A server of the Hub with an empty repository, which this process may ask, too.

    The client reads its settings when it is imported, and other tests have it offline.
    """
    from huggingface_hub import close_session, constants

    with hub(page=page) as server, pytest.MonkeyPatch.context() as patch:
        for name, value in {
            "ENDPOINT": server.url,
            "HF_HUB_OFFLINE": False,
            "HF_HUB_DISABLE_XET": True,
            "HF_TOKEN_PATH": str(home / "token"),
            "AGENT_HARNESSES_PATH": str(home / "agents.json"),
        }.items():
            patch.setattr(constants, name, value, raising=False)
        # Else each answer's body waits for the receipt of its head, 40 ms.
        patch.setattr(Handler, "disable_nagle_algorithm", True)
        patch.delenv("HF_TOKEN", raising=False)
        patch.setenv("NO_PROXY", "127.0.0.1")
        server.add_repo(REPO)
        try:
            yield server
        finally:
            close_session()
        assert server.strange == []
