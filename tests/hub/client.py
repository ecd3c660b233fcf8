"""Running the real clients against the server."""

import json
import os
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.forked import run_forked
from tests.hub.server import HubServer

LIMIT = 120  # seconds, far beyond what any step takes: a client that hangs fails its test
NO_WAIT = "import time; time.sleep = lambda seconds: None\n"  # before a client's code: it tries again at once
NOWHERE = "http://127.0.0.1:9"  # the discard port: whoever asks for another host is turned away at once


def client_environment(server: HubServer, home: Path, token: str | None = None) -> dict[str, str]:
    """The environment of a client that knows this server for the Hub and reaches no other host.

    The libraries read HF_ENDPOINT when they are imported, so they have to be imported in a process that has it.
    """
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("HF_", "HUGGING", "PYTEST_")) and not name.lower().endswith("_proxy")
    }
    return {
        **kept,
        # the programs that are installed beside this Python, whether or not its environment is activated
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)]),
        "HF_ENDPOINT": server.url,
        "HF_HOME": str(home),
        "HF_HUB_DISABLE_XET": "1",  # with it the client asks for a Xet server and takes no other way
        "HF_HUB_DISABLE_TELEMETRY": "1",
        "HF_HUB_DISABLE_PROGRESS_BARS": "1",
        "HF_DATASETS_DISABLE_PROGRESS_BARS": "1",
        "HTTP_PROXY": NOWHERE,
        "HTTPS_PROXY": NOWHERE,
        "NO_PROXY": "127.0.0.1,localhost",
        **({"HF_TOKEN": token} if token is not None else {}),
    }


def run_client(
    code: str | Sequence[str],
    server: HubServer,
    *,
    token: str | None = None,
    home: Path | None = None,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    timeout: float = LIMIT,
    anew: bool = False,
) -> subprocess.CompletedProcess[str]:
    """Run Python code, or a command with its arguments, in a process of its own, to its end.

    Python code is forked from a process that has imported libraries (see `tests/forked.py`), unless `anew`, as
    `datasets` needs. `home` is the folder for HF_HOME: caches stay there for the next client.
    """
    command = [sys.executable, "-c", textwrap.dedent(code)] if isinstance(code, str) else list(code)
    with tempfile.TemporaryDirectory(prefix="hub-home-") as new:
        environment = {**client_environment(server, home or Path(new), token), **(env or {})}
        if (
            command[:2] == [sys.executable, "-c"]
            and not anew
            and not any(name.startswith("PYTHON") for name in env or {})
        ):
            return run_forked(command[2], command[3:], environment, cwd, timeout)
        return subprocess.run(
            command, env=environment, cwd=cwd, capture_output=True, text=True, timeout=timeout, check=False
        )


def client_says(code: str, server: HubServer, *, token: str | None = None, home: Path | None = None) -> Any:
    """Run code that ends well, in a new interpreter, and give back the JSON value that it prints last."""
    done = run_client(NO_WAIT + textwrap.dedent(code), server, token=token, home=home, anew=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])
