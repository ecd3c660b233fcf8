"""Connects to a Ray cluster, or starts one."""

import ctypes
import logging
import os
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from benchmark.cluster.autoscaling import IDLE_SECONDS
from divbench.core.errors import ConfigurationError, need

LOCAL = "local"  # an address: this machine alone, for one run
_STORE_BYTES = 256 * 2**20  # of Ray's object store, where we start Ray: tables of shards are small
_CONNECT_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class ActorLost:
    """An actor ended, or failed unexpectedly."""

    prompts: int  # number of prompts of the shard that it was scoring; 0: it was idle
    first: str | None  # id of the first of them
    reason: str

    def __str__(self) -> str:
        """Return the loss as a sentence."""
        again = f", and {self.prompts} prompts from {self.first} on are scored again" if self.prompts else ""
        return f"an actor was lost{again}: {self.reason}"


@dataclass(frozen=True, slots=True)
class Cluster:
    """A Ray cluster and the actors to run there."""

    address: str = LOCAL  # `HOST:PORT`, `auto` for the cluster of this machine, or `local` to start one
    # Number of actors; None: one per GPU (`gpus` each), or one per core without GPUs. Actors that do not fit wait for
    # room.
    actors: int | None = None
    gpus: int | None = None  # number of GPUs per actor; None: one where there are GPUs
    patience: float = 600.0  # seconds without a working or starting actor after which a run fails
    events: Callable[[ActorLost], None] = lambda lost: None  # function called for each lost actor, from another thread
    # Whether actors are started as they are earned and ended when idle, see `benchmark.cluster.autoscaling`.
    elastic: bool = False
    idle: float = IDLE_SECONDS  # seconds without work after which an elastic cluster ends an actor

    def share(self, resources: dict[str, float]) -> tuple[int, int]:
        """Return the GPUs per actor and the number of actors, given a cluster's resources."""
        gpus = (1 if resources.get("GPU", 0) >= 1 else 0) if self.gpus is None else self.gpus
        room = resources.get("GPU", 0) // gpus if gpus else resources.get("CPU", 0)
        return gpus, self.actors or int(room) or 1


@contextmanager
def connect(cluster: Cluster) -> Iterator[Any]:
    """Yield the module `ray`, connected to a cluster for the duration of the block."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # otherwise it sends usage statistics
    ray = need("ray", "cluster")
    logging.getLogger("ray").setLevel(logging.ERROR)
    quiet = {"log_to_driver": False, "logging_level": "ERROR"}
    try:
        with _keeping_sigterm():
            if cluster.address == LOCAL:
                cores = max(cluster.actors or 1, _cores())
                ray.init("local", num_cpus=cores, include_dashboard=False, object_store_memory=_STORE_BYTES, **quiet)
            else:
                check_reachable(cluster.address)
                ray.init(cluster.address, **quiet)
    except (OSError, RuntimeError, ValueError, ray.exceptions.RayError) as error:
        message = f"no Ray cluster at {cluster.address}: {short_message(error)}"
        raise ConfigurationError(message, _hint(error)) from error
    try:
        yield ray
    finally:
        ray.shutdown()  # and with it our actors, wherever they are


def _cores() -> int:
    """Return the number of cores that this process may use; schedulers such as Slurm lend it some of a machine's."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def _keeping_sigterm() -> Iterator[None]:
    """Keep the process's handler of SIGTERM: Ray's core installs one that aborts the process seconds later.

    Python sets handlers in its main thread only, and does not see those set in C; the system does.
    """
    if sys.platform == "win32":
        yield
        return
    system, kept = ctypes.CDLL(None), ctypes.create_string_buffer(1024)  # longer than any system's
    system.sigaction(int(signal.SIGTERM), None, kept)
    try:
        yield
    finally:
        system.sigaction(int(signal.SIGTERM), kept, None)


def check_reachable(address: str) -> None:
    """Check that something listens at an address; Ray itself would try for minutes."""
    host, _, port = address.rpartition(":")
    if host and port.isdigit():
        socket.create_connection((host.strip("[]"), int(port)), timeout=_CONNECT_SECONDS).close()


def short_message(error: BaseException) -> str:
    """Return an error's first line with text; of a remote traceback the last, which names the exception."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines[-1] if "Traceback" in str(error) else lines[0]) if lines else type(error).__name__


def _hint(error: BaseException) -> str:
    cause: BaseException | None = error
    while cause is not None:
        if "auth" in type(cause).__name__.lower() or "InvalidAuthToken" in str(cause):
            return "it requires a token: set RAY_AUTH_MODE=token and give the token here as well; see docs/scaling.md"
        cause = cause.__cause__
    return "start one with ray start --head, or use --cluster local"
