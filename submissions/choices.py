"""Names that command-line options and records share. Imports nothing heavy."""

from typing import Literal

SystemType = Literal["human", "model", "inference-time method", "trained method", "baseline"]
Mode = Literal["resample", "paraphrase", "system-prompt", "in-context", "verbalized", "verbalized-tail"]
FormName = Literal["absolute", "aspects", "similarity", "ranking"]  # of ratings
Format = Literal["noveltybench", "jsonl", "csv", "parquet", "lm-eval", "openai-batch", "inspect"]  # that are imported
AnswersIn = Literal["resps", "filtered_resps"]  # fields of lm-evaluation-harness's samples that hold texts
VoteAttack = Literal["loyal", "picky"]  # what hostile voters do
