"""Ray clusters on this machine, with as many "machines" as a test wants, each by `ray start`.

They are slow, so most of their tests are marked thorough and run only with DIVBENCH_TESTS=all.
"""

import os
import secrets
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.benchmark.helpers import ROOT

# The token that a cluster requires, made here and valid as long as the cluster.
OURS = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}


def start_machine(*options: str, **environment: str) -> subprocess.Popen[bytes]:
    """One machine of a cluster, with two cores."""
    command = [sys.executable, "-m", "ray.scripts.scripts", "start", "--block", "--num-cpus=2", "--num-gpus=0"]
    command += ["--object-store-memory=100000000", "--disable-usage-stats", *options]
    made = subprocess.Popen(
        command, env=os.environ | OURS | environment, start_new_session=True, stdout=subprocess.PIPE, cwd=ROOT
    )
    assert made.stdout is not None
    for line in made.stdout:  # it says so when it is there
        if b"Ray runtime started" in line:
            return made
    pytest.fail(f"Ray did not start: {command}")


def end(machine: subprocess.Popen[bytes]) -> None:
    """With all processes of its session."""
    machine.terminate()
    try:
        machine.communicate(timeout=60)
    except subprocess.TimeoutExpired:
        os.killpg(machine.pid, signal.SIGKILL)
        machine.communicate()


def start_head(*options: str) -> tuple[subprocess.Popen[bytes], str]:
    """The first machine of a new cluster, and its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    head = start_machine("--head", f"--port={port}", "--include-dashboard=false", *options)
    return head, f"127.0.0.1:{port}"


@contextmanager
def cluster(*options: str) -> Iterator[str]:
    """The address of a new cluster of one machine."""
    head, address = start_head(*options)
    try:
        yield address
    finally:
        end(head)
