"""Scores of GSSBench prompts in; how often each metric orders a pair of prompts correctly out."""
