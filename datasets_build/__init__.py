"""Build the datasets: the first stage of the data flow.

Input: files released by other projects (pinned, checked by SHA-256) and our own word banks. Output: datasets as
Parquet files with a manifest (`build.py`), loaded by `load.py`, and suites of prompts for submissions.
"""
