"""Starts the reader of Parquet files when it is imported: what is forked from here shares it.

Not a test: the fork server of `tests/forked.py` imports it.
"""

from submissions.untrusted.parquet_files import _server

_server()
