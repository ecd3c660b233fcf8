"""A checked submission and a profile in; a result folder out: `result.json` and `per_prompt.parquet`."""
