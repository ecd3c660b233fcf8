"""Estimates the probability that two responses are equivalent, from an embedder's token states and shared words."""
