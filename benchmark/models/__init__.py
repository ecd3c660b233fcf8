"""Texts in; log-probabilities, embeddings, similarities, rewards and generated tokens out.

For each kind of model a protocol, a spec (which model; its signature is known without loading) and implementations, of
which one is a deterministic fake for tests.
"""
