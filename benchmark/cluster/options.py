"""Options of the commands that score on a cluster."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Annotated

import typer

from divbench.core.errors import ConfigurationError, need

LOCAL = "local"  # an address: this machine alone, for one run
_cluster_option = partial(typer.Option, rich_help_panel="Cluster")


@dataclass(frozen=True, slots=True)
class ActorLost:
    """An actor ended, or failed unexpectedly."""

    prompts: int  # number of prompts of the shard that it was scoring; 0: it was idle
    reason: str

    def __str__(self) -> str:
        """Return the loss as a sentence."""
        again = f", and {self.prompts} prompts are scored again" if self.prompts else ""
        return f"an actor was lost{again}: {self.reason}"


@dataclass(frozen=True, slots=True)
class Cluster:
    """A Ray cluster and the actors to run there."""

    address: str = LOCAL  # `HOST:PORT`, `auto` for the cluster of this machine, or `local` to start one
    actors: int | None = None  # None: one per GPU, or one per core without GPUs; those that do not fit wait for room
    on_loss: Callable[[ActorLost], None] = lambda lost: None  # from any thread that scores
    patience: float = 600.0  # seconds without an actor that has its models, after which a run fails

    def share(self, resources: dict[str, float]) -> tuple[int, int]:
        """Return the GPUs per actor and the number of actors, given a cluster's resources."""
        gpus = 1 if resources.get("GPU", 0) >= 1 else 0
        return gpus, self.actors or int(resources.get("GPU" if gpus else "CPU", 0)) or 1


@dataclass(frozen=True, slots=True)
class ClusterOptions:
    """Chosen options; each field is the option of the same name."""

    cluster: Annotated[
        str | None,
        _cluster_option(
            metavar="ADDRESS",
            help="Address of a Ray cluster: HOST:PORT, auto (a cluster on this machine) or local (a new one for this "
            "run).",
        ),
    ] = None
    actors: Annotated[
        int | None, _cluster_option(min=1, help="Number of actors; default: one per GPU, or per core without GPUs.")
    ] = None

    def chosen(self, on_loss: Callable[[ActorLost], None]) -> Cluster | None:
        """Return the cluster that was named, if one was."""
        if self.cluster is None:
            if self.actors is not None:
                raise ConfigurationError("--actors needs --cluster", "name a cluster, such as --cluster local")
            return None
        need("ray", "cluster")  # before anything is written
        return Cluster(self.cluster, self.actors, on_loss)
