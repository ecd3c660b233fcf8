"""Samples a model on the prompts of a suite and writes the responses as a submission. Interrupted runs resume."""
