"""The figures of docs/d_can.md, drawn from the output of `benchmark.perf.d_can_costs`."""

from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

Document = Any  # output of d_can_costs
_NAMES = {
    "pure_noise": "noise",
    "multi_incoherent": "incoherent",
    "multi_mode": "several modes",
    "one_mode": "one mode",
    "mixed": "mixed",
}
_COLOURS = {"GPT-2": "#7f7f7f", "Qwen2.5-3B": "#0072b2"}
_FROM = 5  # first position shown
_SHOWN = ("one_mode", "multi_mode")  # their responses end in full stops


def draw(document: Document, folder: Path) -> None:
    """Draw `d_can_last_position.png` and `d_can_orders.png` into a folder."""
    mpl.rcParams.update({"font.size": 9, "axes.spines.top": False, "axes.spines.right": False})
    _save(_last_position(document), folder / "d_can_last_position.png")
    _save(_orders(document), folder / "d_can_orders.png")


def _save(figure: Figure, path: Path) -> None:
    figure.savefig(path, dpi=120, metadata={"Software": None})  # the same numbers give the same bytes


def _last_position(document: Document) -> Figure:
    """Left: curves that rise at the last position under one tokeniser only. Right: the rise by endings."""
    figure = Figure(figsize=(8.2, 3.1), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(3, 2))
    for model, curves in document["curves"].items():
        for scenario, style in zip(_SHOWN, ("-", "--"), strict=True):
            curve = 100 * np.array(curves[scenario])[_FROM - 1 :] / curves[scenario][-2]
            left.plot(
                range(_FROM, _FROM + len(curve)),
                curve,
                style,
                color=_COLOURS[model],
                marker="o",
                markersize=3,
                label=f"{model}, {_NAMES[scenario]}",
            )
    left.set(xlabel="position k of 10", ylabel="a_k, % of a_9", title="Full stops merge in Qwen2.5's tokeniser alone")
    left.legend(frameon=False, fontsize=8)
    rows = document["last_position_by_ending"]
    places = range(len(rows))
    rises, errors = ([row[key] for row in rows] for key in ("rise in bits", "error"))
    right.bar(places, rises, yerr=[1.96 * e for e in errors], color=_COLOURS["Qwen2.5-3B"], width=0.6)
    right.set_xticks(places, [f"{row['end in . ! ?']}\n{row['sets']:,} sets" for row in rows])
    right.axhline(0, color="black", linewidth=0.8)
    right.set(xlabel="responses of a set that end in . ! ?", ylabel="a_n − a_(n−1), bits")
    right.set_title("McDiv and decTest, Qwen2.5-3B")
    return figure


def _orders(document: Document) -> Figure:
    """For each model, the standard error of D_Can by number of uniform orders, and with ten balanced ones."""
    figure = Figure(figsize=(8.2, 3.1), layout="constrained")
    axes = figure.subplots(1, len(document["orders"]), sharey=True)
    for axis, (model, rows) in zip(axes, document["orders"].items(), strict=True):
        counts = [row["orders"] for row in rows]
        for place, (scenario, name) in enumerate(_NAMES.items()):
            errors = [100 * row["relative error"][scenario] for row in rows]
            axis.plot(counts, errors, marker="o", markersize=3, color=f"C{place}", label=name)
            axis.plot(10, 100 * document["balanced"][model][scenario], "D", color=f"C{place}", markerfacecolor="white")
        axis.plot([], [], "D", color="black", markerfacecolor="white", label="10 balanced")
        axis.set(xscale="log", yscale="log", xlabel="orders (lines: uniform)", title=model)
        axis.set_xticks(counts, [str(count) for count in counts])
        axis.minorticks_off()
    axes[0].set_ylabel("standard error of D_Can, %")
    axes[-1].legend(frameon=False, fontsize=8, loc="lower left", bbox_to_anchor=(1, 0))
    return figure
