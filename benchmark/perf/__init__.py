"""Benchmarks of speed and memory: `python -m benchmark.perf` runs all, `python -m benchmark.perf.lexical` one."""
