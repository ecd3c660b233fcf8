"""Bytes from outside in; values within limits, or named problems, out."""
