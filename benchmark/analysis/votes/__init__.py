"""Statistics of people's votes: strengths of systems, agreement of metrics with people, and simulated boards.

docs/votes.md describes the model, the rules for weighting votes, and how both perform in simulation.
"""

from benchmark.analysis.votes.ballots import Ballots, ballots_of
from benchmark.analysis.votes.metrics import Agreement, Ceiling, ceiling, metric_agreement
from benchmark.analysis.votes.strengths import Strength, Strengths, strengths
from benchmark.analysis.votes.weights import Weights, weigh

__all__ = [
    "Agreement",
    "Ballots",
    "Ceiling",
    "Strength",
    "Strengths",
    "Weights",
    "ballots_of",
    "ceiling",
    "metric_agreement",
    "strengths",
    "weigh",
]
