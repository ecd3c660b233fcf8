"""Synthetic response sets of known structure, to test whether a metric detects it.

Input: our own word banks (`banks/*.toml`) and a seed. Output: rows of three splits; nothing is downloaded:

- `scenarios` (25 sets of 10): noise, incoherent multi-mode, coherent multi-mode, one mode, mixed
- `mode_count` (200 sets of 12): exactly m = 1 to 10 formats out of 67, on one prompt
- `pos_pattern` (40 sets of 40): one part-of-speech pattern against the same words without it

The same seed gives the same rows everywhere. A changed word, bank or order changes rows and needs a new `VERSION`.
"""
