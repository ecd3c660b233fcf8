"""Benchmarks of speed and memory: scripts such as `python -m benchmark.perf.lexical` (docs/performance.md)."""
