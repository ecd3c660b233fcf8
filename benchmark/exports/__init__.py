"""Submissions and results in; files for other programs out: `divbench export`."""
