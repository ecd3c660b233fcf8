"""Submissions in; claims for workers, states and their histories out."""
