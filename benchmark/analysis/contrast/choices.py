"""Choices of the command-line options of contrasts. Imports nothing heavy, so that the command line starts quickly."""

from typing import Literal

Expected = Literal["greater", "two-sided"]
Pairing = Literal["consecutive", "all"]
PromptSet = Literal["alpacaeval", "nbcurated"]
Length = Literal["raw", "matched", "both"]
