"""DivBench in Python: response sets in, diversity scores with intervals out.

>>> import divbench as db
>>> scores = db.score([["a red cat", "a red cat"], ["two dogs ran", "it rained"]], metrics=["distinct_n"])
>>> scores.to_pandas()["distinct_n"].round(2).tolist()
[0.3, 0.6]

This package is a facade over four others: `datasets_build`, `submissions`, `benchmark` and `leaderboard`. Heavy
libraries are imported only when a function first needs them.
"""

from importlib.util import find_spec
from pathlib import Path

_BESIDE = ("benchmark", "datasets_build", "leaderboard", "submissions")


def _check_not_hidden() -> None:
    """Check that no folder or file of the user hides one of our packages.

    Raises:
        ImportError: Python finds one before ours.
    """
    home = Path(__file__).parents[1]
    for name in _BESIDE:
        spec = find_spec(name)
        found = [Path(each) for each in (spec.submodule_search_locations or ())] if spec else []
        if home / name not in found:
            where = found[0] if found else spec.origin if spec else "nothing"
            raise ImportError(
                f"DivBench needs its own package {name!r}, but Python finds {where} first: "
                "rename it, or run Python in another folder"
            )


_check_not_hidden()

from datasets_build.errors import ConfigurationError, DivBenchError, InputError  # noqa: E402
from divbench.agreement import Agreement, evaluate_metric  # noqa: E402
from divbench.cards import Card, metric, metrics  # noqa: E402
from divbench.comparison import Comparison, compare  # noqa: E402
from divbench.data import load, suite  # noqa: E402
from divbench.scores import Mean, Scores, score  # noqa: E402

__all__ = [
    "Agreement",
    "Card",
    "Comparison",
    "ConfigurationError",
    "DivBenchError",
    "InputError",
    "Mean",
    "Scores",
    "compare",
    "evaluate_metric",
    "load",
    "metric",
    "metrics",
    "score",
    "suite",
]


def __dir__() -> list[str]:
    """List the public names only, for completion in notebooks."""
    return __all__
