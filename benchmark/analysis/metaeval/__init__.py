"""Tests metrics against known labels: turns labelled sets and scores into agreement measures and their differences."""
