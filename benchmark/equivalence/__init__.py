"""Partitions the responses to a prompt into equivalence classes.

A backend compares two responses at a time, or judges a whole response set; `partitioning` makes classes from its
decisions.
"""
