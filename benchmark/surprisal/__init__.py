"""Computes the surprisals of response sets under a causal language model, in bits by order and position."""
