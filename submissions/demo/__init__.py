"""Responses written by hand in; the demo submissions, known-bad baselines among them, out."""
