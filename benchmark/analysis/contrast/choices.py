"""What can be chosen of contrasts, as names. Imports nothing heavy: command-line options read it."""

from typing import Literal

Expected = Literal["greater", "two-sided"]
Pairing = Literal["consecutive", "all"]
PromptSet = Literal["alpacaeval", "nbcurated"]
Length = Literal["raw", "matched", "both"]
