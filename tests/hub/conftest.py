"""What the tests of the server share."""

from collections.abc import Iterator

import pytest

from tests.hub import HubServer, hub


@pytest.fixture
def server() -> Iterator[HubServer]:
    """A server with two users and an organisation, and the dataset `alice/data` with a small and a large file.

    Its lists come two entries at a time, so that every client has to go on to the next page.
    """
    with hub(orgs={"lab": {"alice": "write", "bob": "read"}}, page=2) as running:
        running.add_repo(
            "alice/data", {"README.md": b"---\nlicense: mit\n---\n# Data\n", "large.bin": b"\0large" * 999}
        )
        yield running
        assert running.strange == []
