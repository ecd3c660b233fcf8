"""Exports submissions and results to the formats of other programs: `divbench export`."""
