"""DivBench in Python: response sets in, diversity scores with intervals out.

>>> import divbench as db
>>> scores = db.score([["a red cat", "a red cat"], ["two dogs ran", "it rained"]], metrics=["distinct_n"])
>>> scores.to_pandas()["distinct_n"].round(2).tolist()
[0.3, 0.6]

This package is a facade over four others: `datasets_build`, `submissions`, `benchmark` and `leaderboard`. Each name
is imported when it is first used, so that the other packages can use `divbench.core`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from divbench.agreement import Agreement, evaluate_metric
    from divbench.cards import Card, metric, metrics
    from divbench.comparison import Comparison, compare
    from divbench.core.errors import ConfigurationError, DivBenchError, InputError
    from divbench.data import load, suite
    from divbench.scores import Mean, Scores, score

_MODULES = {
    "Agreement": "agreement",
    "Card": "cards",
    "Comparison": "comparison",
    "ConfigurationError": "core.errors",
    "DivBenchError": "core.errors",
    "InputError": "core.errors",
    "Mean": "scores",
    "Scores": "scores",
    "compare": "comparison",
    "evaluate_metric": "agreement",
    "load": "data",
    "metric": "cards",
    "metrics": "cards",
    "score": "scores",
    "suite": "data",
}
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


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used."""
    if name not in _MODULES:
        raise AttributeError(f"module 'divbench' has no attribute {name!r}")
    module = import_module(f"divbench.{_MODULES[name]}")
    return globals().setdefault(name, getattr(module, name))


def __dir__() -> list[str]:
    """List the public names only, for completion in notebooks."""
    return __all__
