"""Make the data: the first folder of the flow.

In: other projects' released files (pinned, checked by SHA-256) and word banks of our own. Out: datasets as Parquet
files with a manifest (`build.py`), read by `load.py`; suites of prompts for submissions. Errors, atomic files, tables
and the console, which every folder uses, are here because this folder imports no other.
"""
