"""Choices shared by command-line options and records. This module imports nothing heavy."""

from typing import Literal

SystemType = Literal["human", "model", "inference-time method", "trained method", "baseline"]
Mode = Literal["resample", "paraphrase", "system-prompt", "in-context", "verbalized", "verbalized-tail"]
FormName = Literal["absolute", "aspects", "similarity", "ranking"]  # rating forms
Format = Literal["noveltybench", "jsonl", "csv", "parquet", "lm-eval", "openai-batch", "inspect"]  # of imported files
AnswersIn = Literal["resps", "filtered_resps"]  # fields with texts in samples of lm-evaluation-harness
VoteAttack = Literal["loyal", "picky"]  # of simulated hostile voters
