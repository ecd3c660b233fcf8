"""Options of the commands that score on a cluster."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from divbench.core.errors import ConfigurationError, need

if TYPE_CHECKING:
    from benchmark.cluster.connection import ActorLost, Cluster

_cluster_option = partial(typer.Option, rich_help_panel="Cluster")


@dataclass(frozen=True, slots=True)
class ClusterOptions:
    """Chosen options; each field is the option of the same name."""

    cluster: Annotated[
        str | None,
        _cluster_option(
            metavar="ADDRESS",
            help=(
                "Address of a Ray cluster: HOST:PORT, auto (a cluster on this machine) or local (a new one for "
                "this run)."
            ),
        ),
    ] = None
    actors: Annotated[int | None, _cluster_option(min=1, help="Number of actors; default: as many as fit.")] = None
    gpus_per_actor: Annotated[
        int | None,
        _cluster_option(
            min=0, help="Number of GPUs per actor; default: 1 where there are GPUs. More than 1 needs --device auto."
        ),
    ] = None
    elastic: Annotated[
        bool,
        _cluster_option(
            "--elastic", help="Autoscaling from one actor up to --actors, for machines billed by the hour."
        ),
    ] = False

    def place(self, events: "Callable[[ActorLost], None]") -> "Cluster | None":
        """Return the cluster that was named, if one was."""
        if self.cluster is None:
            for name, given in (
                ("--actors", self.actors is not None),
                ("--gpus-per-actor", self.gpus_per_actor is not None),
                ("--elastic", self.elastic),
            ):
                if given:
                    raise ConfigurationError(f"{name} needs --cluster", "name a cluster, such as --cluster local")
            return None
        need("ray", "cluster")  # before anything is written
        from benchmark.cluster.connection import Cluster

        return Cluster(self.cluster, self.actors, self.gpus_per_actor, events=events, elastic=self.elastic)
