"""Measurements of speed and memory, to be run by hand: `python -m benchmark.perf.lexical`, `…perf.memory`."""
