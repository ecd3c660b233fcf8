"""Statistics of people's votes: strengths of systems, agreement of metrics with people, and simulated boards.

docs/votes.md describes the model, the rules for weighting votes, and how both perform in simulation.
"""
