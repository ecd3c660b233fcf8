"""Scores a checked submission with a profile's models; writes `result.json` and `per_prompt.parquet`."""
