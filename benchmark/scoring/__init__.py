"""Scores a checked submission under a profile and writes a result folder: `result.json` and `per_prompt.parquet`."""
