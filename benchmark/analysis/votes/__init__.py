"""Statistics of people's votes: votes in; strengths of systems, agreement of metrics with people, simulated boards out.

docs/votes.md states the model, the rules by which votes count, and what a simulation says of both.
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
