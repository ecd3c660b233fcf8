"""Responses and an open model in; sums of likelihoods and covariances of hidden states, by teacher forcing, out."""
