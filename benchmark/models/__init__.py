"""Texts in; log-probabilities, embeddings, similarities, rewards and generated tokens out.

For each kind of model there is a protocol, a spec (which model; its signature is known without loading) and one or
more implementations.
"""
