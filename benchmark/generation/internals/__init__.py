"""Computes sums of token likelihoods and covariances of hidden states by teacher forcing, with an open model."""
