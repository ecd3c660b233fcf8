"""Tests of metrics against known truth: in come labelled sets and scores, out go agreement and differences."""
