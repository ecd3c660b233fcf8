"""What a manifest can say of a system, as names. Imports nothing heavy: command-line options read it."""

from typing import Literal

SystemType = Literal["human", "model", "inference-time method", "trained method", "baseline"]
Mode = Literal["resample", "paraphrase", "system-prompt", "in-context", "verbalized", "verbalized-tail"]
