"""The responses to a prompt in; their partition into equivalence classes out.

A backend decides two responses at a time, or judges a whole response set; `partitioning` makes classes of its
decisions, and `partition_columns` says how a result keeps them.
"""
