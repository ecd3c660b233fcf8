"""Homogeneity across systems: how similar their responses are, and how many classes two systems cover together."""
