"""Figures of the Python API: static files for papers by matplotlib, and for distributions an interactive one."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from io import BytesIO
from pathlib import Path
from typing import Any

from divbench.core.errors import ConfigurationError, need
from divbench.core.tables import printable

ENDINGS = (".pdf", ".svg", ".png")


@dataclass(frozen=True, slots=True)
class Row:
    """A line of a panel: a value with its interval, or the points of a distribution."""

    label: str
    value: float | None
    low: float | None = None
    high: float | None = None
    points: tuple[float, ...] = ()


@dataclass(frozen=True)
class Plot:
    """A figure: `save` writes a file, a notebook shows it.

    Attributes:
        panels: Title and rows of each panel, from the top.
        axis: What all panels show along the x-axis.
        zero: Whether a line marks 0.
        draw: Makes the interactive figure, plotly's, whose attributes the plot then has; None: there is none.
    """

    panels: tuple[tuple[str, tuple[Row, ...]], ...]
    axis: str
    zero: bool = False
    draw: Callable[[], Any] | None = None

    def save(self, path: str | Path) -> None:
        """Write the figure as PDF, SVG or PNG, by the extension of the file; equal figures give equal files.

        Raises:
            ConfigurationError: The extension is another one.
            MissingExtra: matplotlib is not installed; the extra `figures` has it.
        """
        if (ending := Path(path).suffix) not in ENDINGS:
            raise ConfigurationError(f"{path} has no extension of a figure", f"end it in {', '.join(ENDINGS)}")
        self._write(path, ending)

    def _write(self, target: Any, ending: str) -> None:
        matplotlib = need("matplotlib", "figures")
        heights = [max(1, len(rows)) + 1.5 for _, rows in self.panels]
        dates: dict[str, dict[str, None]] = {".pdf": {"CreationDate": None}, ".svg": {"Date": None}}
        with matplotlib.rc_context({"pdf.fonttype": 42, "svg.hashsalt": "divbench", "font.size": 9}):
            size = 6.3, 0.6 + 0.28 * sum(heights)
            figure = need("matplotlib.figure", "figures").Figure(figsize=size, layout="tight")
            axes = figure.subplots(len(self.panels), 1, squeeze=False, height_ratios=heights)[:, 0]
            for panel, (title, rows) in zip(axes, self.panels, strict=True):
                self._draw_panel(panel, title, rows)
            axes[-1].set_xlabel(printable(self.axis), parse_math=False)
            figure.savefig(target, format=ending[1:], metadata=dates.get(ending), dpi=200)

    def _draw_panel(self, panel: Any, title: str, rows: Sequence[Row]) -> None:
        if self.zero:
            panel.axvline(0, color="grey", linewidth=0.8)
        for y, row in enumerate(reversed(rows)):
            panel.plot(row.points, [y] * len(row.points), "o", color="tab:blue", markersize=3, alpha=0.4)
            if row.value is not None:
                panel.plot(row.value, y, "o", color="black", markersize=4)
            if row.low is not None and row.high is not None:
                panel.plot([row.low, row.high], [y, y], color="black", linewidth=1.2)
        panel.set_ylim(-0.7, max(1, len(rows)) - 0.3)
        panel.set_yticks(range(len(rows)), [printable(row.label) for row in reversed(rows)], parse_math=False)
        panel.set_title(printable(title), fontsize=9, loc="left", parse_math=False)
        panel.spines[["top", "right"]].set_visible(False)

    def _repr_png_(self) -> bytes | None:
        file = BytesIO()
        if self.draw is None:
            self._write(file, ".png")
        return file.getvalue() or None

    @cached_property
    def _interactive(self) -> Any:
        return None if self.draw is None else self.draw()

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the interactive figure."""
        if name.startswith("__") or self._interactive is None:
            raise AttributeError(f"a plot has no attribute {name!r}")
        return getattr(self._interactive, name)
