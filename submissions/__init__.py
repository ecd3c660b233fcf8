"""Submissions: define what a submission is, read it safely, check it, and import it from other formats.

Input: untrusted files and a `Suite`. Output: a checked folder with `manifest.json`, `generations.parquet` and
optionally `reported.parquet`.
"""
