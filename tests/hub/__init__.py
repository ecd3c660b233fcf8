"""A server on loopback that speaks the Hugging Face Hub's API, for tests with the real clients.

A test starts it, runs a client in a process of its own, and looks at what the repositories hold:

    with hub() as server:
        server.faults.fail(503, on="storage_put")
        done = run_client("from huggingface_hub import HfApi; ...", server, token=server.tokens["alice"])
        assert server.repo("alice/data").files()["README.md"] == b"..."
"""

from tests.hub.client import NO_WAIT, client_environment, client_says, run_client
from tests.hub.server import HubServer, hub

__all__ = ["NO_WAIT", "HubServer", "client_environment", "client_says", "hub", "run_client"]
