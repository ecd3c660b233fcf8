"""Measurements of speed and memory: `divbench perf` runs them all, `python -m benchmark.perf.lexical` one of them."""
